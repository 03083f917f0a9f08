//! The scenario fixtures hold what they are said to hold, and are what the generator makes.

#![expect(
    clippy::float_cmp,
    reason = "the generator is exact, and so are its tests"
)]

use std::path::{Path, PathBuf};

use gpulens::simulate::scenario;
use gpulens::snapshot::{
    Batch, GpuObservation, Holding, Inventory, NodeObservation, Observation, PodPhase, Recording,
    Signal, SourceId, TargetState,
};
use gpulens::source::recording::{batches, read, read_all};
use jiff::{SignedDuration, Timestamp};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures")
}

/// A fixture as history gets it.
struct Fixture {
    recording: Recording,
    gpus: Vec<GpuObservation>,
    nodes: Vec<NodeObservation>,
    inventory: Inventory,
}

fn fixture(stem: &str) -> Fixture {
    let recording = read(&directory().join(format!("{stem}.json"))).expect(stem);
    assert_eq!(recording.cluster.as_str(), stem);
    let mut fixture = Fixture {
        gpus: Vec::new(),
        nodes: Vec::new(),
        inventory: Inventory::default(),
        recording,
    };
    let batches = batches(&fixture.recording);
    let ids: Vec<_> = batches.iter().map(|batch: &Batch| batch.source).collect();
    assert_eq!(ids, SourceId::ALL);
    for observation in batches.into_iter().flat_map(|batch| batch.observations) {
        match observation {
            Observation::Gpu(seen) => fixture.gpus.push(seen),
            Observation::Node(seen) => fixture.nodes.push(seen),
            Observation::Inventory { at, inventory } => {
                assert_eq!(at, fixture.recording.now);
                fixture.inventory = (*inventory).clone();
            }
            Observation::Termination(_) => {}
        }
    }
    fixture
}

impl Fixture {
    fn ago(&self, seconds: i64) -> Timestamp {
        self.recording.now - SignedDuration::from_secs(seconds)
    }

    fn age(&self, at: Timestamp) -> i64 {
        self.recording.now.duration_since(at).as_secs()
    }

    fn boards(&self) -> Vec<&str> {
        let mut uuids: Vec<_> = self.gpus.iter().map(|seen| seen.uuid.as_str()).collect();
        uuids.sort_unstable();
        uuids.dedup();
        uuids
    }

    /// One signal of one board, oldest first.
    fn points(&self, uuid: &str, signal: Signal) -> Vec<(Timestamp, f64)> {
        let of_board = self.gpus.iter().filter(|seen| seen.uuid.as_str() == uuid);
        of_board
            .filter_map(|seen| Some((seen.at, value(seen, signal)?)))
            .collect()
    }

    fn last(&self, uuid: &str, signal: Signal) -> f64 {
        self.points(uuid, signal).last().expect("a reading").1
    }

    fn newest(&self, node: &str) -> Timestamp {
        let of_node = self.gpus.iter().filter(|seen| {
            seen.identity
                .node
                .as_ref()
                .map(gpulens::snapshot::NodeName::as_str)
                == Some(node)
        });
        of_node.map(|seen| seen.at).max().expect("telemetry")
    }

    fn allocatable(&self, node: &str) -> Vec<(Timestamp, f64)> {
        let of_node = self.nodes.iter().filter(|seen| seen.node.as_str() == node);
        of_node
            .map(|seen| (seen.at, seen.allocatable[0].1))
            .collect()
    }

    fn held(&self) -> impl Iterator<Item = &Holding> {
        let end = self.recording.now - SignedDuration::from_secs(60);
        self.recording
            .holders
            .iter()
            .filter(move |held| held.to > end)
    }

    fn assert_all_up(&self) {
        for source in &self.recording.sources {
            for target in &source.targets {
                assert_eq!(target.state, TargetState::Up);
                assert_eq!(target.gpus, 4);
                assert!(self.age(target.last_success.expect("answered")) <= 15);
            }
            if let Some(lists) = source.lists {
                for list in [lists.nodes, lists.pods, lists.events] {
                    assert!(list.is_complete(self.recording.now, SignedDuration::from_secs(30)));
                }
            }
        }
    }
}

fn value(seen: &GpuObservation, signal: Signal) -> Option<f64> {
    seen.readings
        .iter()
        .find(|(key, _)| *key == signal.into())
        .map(|(_, value)| *value)
}

/// A board on which no hardware or thermal rule has anything to say.
fn assert_board_is_healthy(fixture: &Fixture, uuid: &str) {
    let all = |signal, ok: &dyn Fn(f64) -> bool| {
        for (at, value) in fixture.points(uuid, signal) {
            assert!(ok(value), "{uuid} {signal:?} {value} at {at}");
        }
    };
    let zero = |value: f64| value == 0.0;
    for signal in [
        Signal::Xid,
        Signal::RowRemapFailure,
        Signal::RowRemapPending,
        Signal::RowRemapUncorrectable,
        Signal::EccDoubleBitVolatile,
        Signal::NvlinkCrcFlit,
    ] {
        all(signal, &zero);
    }
    all(Signal::CoreTemperature, &|celsius| celsius < 75.0);
    all(Signal::MemoryTemperature, &|celsius| celsius < 80.0);
    all(Signal::ClockEventReasons, &|bits| bits < 2.0);
    for growing in [Signal::PcieReplay, Signal::ThermalViolation] {
        let points = fixture.points(uuid, growing);
        assert!(
            points
                .windows(2)
                .all(|pair| pair[0].1.to_bits() == pair[1].1.to_bits())
        );
    }
    let last = |signal| fixture.last(uuid, signal);
    let used = last(Signal::FramebufferUsed);
    let total = used + last(Signal::FramebufferFree) + last(Signal::FramebufferReserved);
    assert!(used / total < 0.95, "{uuid}");
    let energy = fixture.points(uuid, Signal::Energy);
    assert!(
        energy.windows(2).all(|pair| pair[0].1 < pair[1].1),
        "{uuid} is frozen"
    );
}

#[test]
fn the_generator_makes_the_same_bytes_again() {
    for scenario in scenario::ALL {
        let path = directory().join(format!("{}.json", scenario.stem));
        let kept = std::fs::read_to_string(&path).expect(scenario.stem);
        let made = (scenario.fleet)().record();
        made.check().expect(scenario.stem);
        // Not assert_eq: a difference would print two whole files.
        assert!(
            kept == made.to_json(),
            "{} is out of date: cargo run --quiet --example fixtures",
            path.display()
        );
        assert!(kept.len() < 1_500_000, "{} bytes", kept.len());
        assert_eq!(
            Recording::parse(kept.as_bytes()).expect(scenario.stem),
            made
        );
    }
}

#[test]
fn fixtures_are_clusters_of_their_own() {
    let timelines = read_all(&[directory()]).expect("fixtures");
    for scenario in scenario::ALL {
        let own = timelines
            .iter()
            .find(|timeline| timeline.cluster.as_str() == scenario.stem);
        assert_eq!(own.map(|timeline| timeline.steps.len()), Some(1));
    }
}

#[test]
fn scenario_1_is_healthy() {
    let fixture = fixture("scenario_1_healthy");
    fixture.assert_all_up();
    let boards = fixture.boards();
    assert_eq!(boards.len(), 8);
    for uuid in boards {
        assert_board_is_healthy(&fixture, uuid);
    }
    let models: Vec<_> = fixture
        .gpus
        .iter()
        .map(|seen| seen.identity.model.as_deref())
        .collect();
    assert!(
        models
            .iter()
            .all(|model| *model == Some("NVIDIA H100 80GB HBM3"))
    );
    assert_eq!(fixture.age(fixture.newest("gpu-node-01")), 15);
    assert_eq!(fixture.age(fixture.newest("gpu-node-02")), 15);

    let allocatable: i64 = fixture
        .inventory
        .nodes
        .values()
        .map(|n| n.allocatable["nvidia.com/gpu"])
        .sum();
    let requested = |name: &str| {
        let pod = fixture
            .inventory
            .pods
            .values()
            .find(|pod| &*pod.name == name)
            .expect(name);
        assert_eq!(pod.phase, PodPhase::Running);
        pod.gpu_requests["nvidia.com/gpu"]
    };
    assert_eq!(allocatable, 8);
    assert_eq!(requested("llama3-pretrain-rank-0"), 4);
    assert_eq!(requested("vllm-mistral-serve-0"), 2);
    assert_eq!(fixture.inventory.pods.len(), 2);
    assert_eq!(fixture.held().count(), 6);
    assert!(fixture.recording.terminations.is_empty());
}

#[test]
fn scenario_1_uses_its_allocated_gpus_at_83_9_per_cent() {
    let fixture = fixture("scenario_1_healthy");
    let from = fixture.ago(3600);
    let values: Vec<_> = fixture
        .gpus
        .iter()
        .filter(|seen| seen.at >= from && !seen.holders.is_empty())
        .filter_map(|seen| value(seen, Signal::GpuUtilization))
        .collect();
    assert_eq!(values.len(), 6 * 120);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    assert_eq!(format!("{:.1}", mean * 100.0), "83.9", "{mean}");
}

#[test]
fn scenario_1_exports_a_default_install() {
    let fixture = fixture("scenario_1_healthy");
    for signal in [
        Signal::EccDoubleBitVolatile,
        Signal::ThermalViolation,
        Signal::NvlinkCrcFlit,
        Signal::SlowdownTemperature,
        Signal::ClockEventReasons,
        Signal::EnforcedPowerLimit,
        Signal::SmActive,
    ] {
        assert!(
            fixture
                .gpus
                .iter()
                .all(|seen| value(seen, signal).is_none()),
            "{signal:?}"
        );
    }
    assert!(fixture.gpus.iter().all(|seen| seen.readings.len() == 24));
}

#[test]
fn scenario_3_has_a_failing_board() {
    const FAULTY: &str = "GPU-h100-n01-1";
    let fixture = fixture("scenario_3_hardware_thermal");
    fixture.assert_all_up();
    let xids = fixture.points(FAULTY, Signal::Xid);
    let edge = xids
        .windows(2)
        .find(|pair| pair[0].1.to_bits() != pair[1].1.to_bits())
        .expect("an edge");
    assert_eq!((edge[0].1, edge[1].1), (0.0, 48.0));
    assert!((1500..2100).contains(&fixture.age(edge[1].0)));
    assert_eq!(fixture.last(FAULTY, Signal::Xid), 48.0);
    assert_eq!(fixture.last(FAULTY, Signal::RowRemapFailure), 1.0);
    assert_eq!(fixture.last(FAULTY, Signal::EccDoubleBitVolatile), 2.0);
    assert_eq!(
        fixture.points(FAULTY, Signal::EccDoubleBitVolatile)[0].1,
        0.0
    );
    let crc = fixture.points(FAULTY, Signal::NvlinkCrcFlit);
    for pair in crc.windows(2).filter(|pair| fixture.age(pair[0].0) < 2000) {
        let rate = (pair[1].1 - pair[0].1) / pair[1].0.duration_since(pair[0].0).as_secs_f64();
        assert!(rate >= 100.0, "{rate}/s at {}", pair[1].0);
    }
    let node = &fixture.inventory.nodes[&"gpu-node-01".into()];
    let condition = node
        .conditions
        .iter()
        .find(|c| &*c.kind == "GPUXIDErrors")
        .expect("condition");
    assert_eq!(&*condition.status, "True");
    assert!(fixture.age(condition.heartbeat.expect("heartbeat")) < 300);
    assert_eq!(node.allocatable["nvidia.com/gpu"], 3);
    assert_eq!(node.capacity["nvidia.com/gpu"], 4);
    let allocatable = fixture.allocatable("gpu-node-01");
    assert_eq!(allocatable[0].1, 4.0);
    let drop = allocatable
        .iter()
        .find(|(_, gpus)| *gpus < 4.0)
        .expect("a drop");
    assert!(fixture.age(drop.0) > 300);
    assert!(fixture.recording.terminations.is_empty());
}

#[test]
fn scenario_3_has_a_hot_board_and_healthy_others() {
    const HOT: &str = "GPU-h100-n01-3";
    let fixture = fixture("scenario_3_hardware_thermal");
    let recent = |signal| -> Vec<f64> {
        let points = fixture.points(HOT, signal);
        let recent = points.into_iter().filter(|(at, _)| fixture.age(*at) <= 600);
        recent.map(|(_, value)| value).collect()
    };
    assert!(
        recent(Signal::CoreTemperature)
            .iter()
            .all(|celsius| *celsius >= 90.0)
    );
    assert_eq!(fixture.last(HOT, Signal::CoreTemperature), 91.0);
    assert_eq!(fixture.last(HOT, Signal::SlowdownTemperature), 89.0);
    // The memory on the hot package follows it, below its own warning.
    assert!(
        recent(Signal::MemoryTemperature)
            .iter()
            .all(|celsius| (70.0..80.0).contains(celsius))
    );
    let clocks = fixture.points(HOT, Signal::SmClock);
    assert!(fixture.last(HOT, Signal::SmClock) < 0.8 * clocks[0].1);
    let thermal = 0x20 | 0x40;
    assert!(
        recent(Signal::ClockEventReasons)
            .iter()
            .all(|bits| (*bits as u64) & thermal != 0)
    );
    let throttled = recent(Signal::ThermalViolation);
    let share = (throttled[throttled.len() - 1] - throttled[0]) / 600.0;
    assert!(share > 0.5, "{share}");
    for uuid in fixture.boards() {
        if !["GPU-h100-n01-1", HOT].contains(&uuid) {
            assert_board_is_healthy(&fixture, uuid);
        }
    }
}

#[test]
fn scenario_6_is_stale_on_one_node_and_unlabelled_on_the_other() {
    let fixture = fixture("scenario_6_stale_telemetry");
    fixture.assert_all_up();
    for uuid in fixture.boards() {
        assert_board_is_healthy(&fixture, uuid);
    }
    assert_eq!(fixture.age(fixture.newest("gpu-node-02")), 840);
    assert!(fixture.age(fixture.newest("gpu-node-01")) <= 15);
    for gpu in 0..4 {
        let points = fixture.points(&format!("GPU-h100-n02-{gpu}"), Signal::PowerUsage);
        assert_eq!(fixture.age(points.last().expect("a reading").0), 840);
    }

    let allocated: i64 = fixture
        .inventory
        .pods
        .values()
        .filter(|pod| pod.holds_resources() && pod.node == Some("gpu-node-01".into()))
        .inspect(|pod| assert_eq!(pod.phase, PodPhase::Running))
        .map(|pod| pod.gpu_requests["nvidia.com/gpu"])
        .sum();
    assert_eq!(allocated, 4);
    let unlabelled = fixture.ago(600);
    assert!(
        fixture
            .gpus
            .iter()
            .all(|seen| seen.at < unlabelled || seen.holders.is_empty())
    );
    assert!(fixture.gpus.iter().any(|seen| !seen.holders.is_empty()));
}

#[test]
fn scenario_6_has_a_job_that_died_in_the_silence() {
    let fixture = fixture("scenario_6_stale_telemetry");
    let [end] = &fixture.recording.terminations[..] else {
        panic!("one termination");
    };
    assert_eq!(&*end.pod, "distributed-rlhf-worker-1");
    assert_eq!(end.node, Some("gpu-node-02".into()));
    assert_eq!(end.exit_code, Some(1));
    let finished = end.finished.expect("an end");
    assert!(finished > fixture.newest("gpu-node-02"));
    // Judged after 5 min: the whole look-around is over.
    assert!(fixture.age(finished) > 300);
    let pod = &fixture.inventory.pods[&end.uid];
    assert_eq!(
        (&*pod.name, pod.phase),
        ("distributed-rlhf-worker-1", PodPhase::Failed)
    );
    let held = fixture.gpus.iter().filter(|seen| {
        let names = seen
            .holders
            .iter()
            .any(|holder| *holder.pod.pod == *end.pod);
        names && fixture.age(seen.at) == 840
    });
    assert_eq!(held.count(), 4);
}
