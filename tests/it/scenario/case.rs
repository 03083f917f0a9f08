//! Small fleets in which one thing goes wrong, with seeds of their own.

use gpulens::simulate::{Export, Fault, Fleet, H100_SXM, Host, L4, Load, Product, Seed, Workload};
use gpulens::snapshot::{Event, InstanceId, Recording, Series, SeriesSubject, SeriesValues, Span};
use jiff::{SignedDuration, Timestamp};

/// When every case is judged first.
pub(super) const NOW: Timestamp = Timestamp::constant(1_773_454_020, 0);

/// So many seconds before that.
pub(super) fn before(seconds: i64) -> Timestamp {
    NOW - SignedDuration::from_secs(seconds)
}

/// Every kind of fault that the simulator knows.
pub(super) const FAULTS: [Fault; 15] = [
    Fault::Xid(48),
    Fault::Xid(79),
    Fault::Xid(31),
    Fault::EccDoubleBit(2),
    Fault::EccSingleBit(400.0),
    Fault::RowRemapFailure,
    Fault::RowRemapPending,
    Fault::NvlinkCrc(160.0),
    Fault::PcieReplays(150.0),
    Fault::Hot(91.0),
    Fault::PowerBrake,
    Fault::Freeze,
    Fault::Vanish,
    Fault::LosePodLabels,
    Fault::Stop,
];

/// Those of them that an exporter with the default counter file tells of.
const TOLD_BY_DEFAULT: [Fault; 8] = [
    Fault::Xid(79),
    Fault::RowRemapFailure,
    Fault::PcieReplays(150.0),
    Fault::Hot(91.0),
    Fault::Freeze,
    Fault::Vanish,
    Fault::LosePodLabels,
    Fault::Stop,
];

/// A node of two boards at work and one of one, where the first board goes wrong: every fault in
/// turn, on both products, with both counter files.
pub(super) fn every() -> impl Iterator<Item = Fleet> {
    let extended = FAULTS.map(|fault| (fault, Export::Extended));
    let default = TOLD_BY_DEFAULT.map(|fault| (fault, Export::Default));
    let cases = extended.into_iter().chain(default).enumerate();
    cases.map(|(number, (fault, export))| pair(fault, 700, export, number as u64))
}

/// One of them.
pub(super) fn pair(fault: Fault, since: i64, export: Export, seed: u64) -> Fleet {
    // L4 has no NVLink.
    let odd = seed % 2 == 1 || matches!(fault, Fault::NvlinkCrc(_));
    let product: &'static Product = if odd { &H100_SXM } else { &L4 };
    let host = Host::new("n1", product, 2).export(export);
    let failing = if fault == Fault::LosePodLabels {
        host.fault_of_all(before(since), fault)
    } else {
        host.fault(0, before(since), fault)
    };
    let name = format!("{fault:?} {} {export:?} seed {seed}", product.short);
    let work = |name: &str, node: &str, gpus: &[u32], load| {
        Workload::running("ml", name, node, gpus, load)
    };
    Fleet {
        window: Span::minutes(16),
        seed: Seed(seed),
        ..Fleet::new(&name, NOW)
    }
    .host(failing)
    .host(Host::new("n2", product, 1).export(export))
    .workload(work("a", "n1", &[0, 1], Load::training(0.9)))
    .workload(work("b", "n2", &[0], Load::serving(0.7)))
}

/// A recording whose failing board is split in two MIG instances, one of which has an XID and a
/// full framebuffer, on a node that was not ready for a while: what the simulator does not make.
pub(super) fn split() -> Recording {
    let mut recording = pair(Fault::Hot(91.0), 700, Export::Extended, 1).record();
    recording.cluster = "split in instances".into();
    let board = recording.series[0].clone();
    for id in [1, 2] {
        let mut part = board.clone();
        let SeriesSubject::Gpu {
            instance, profile, ..
        } = &mut part.subject
        else {
            panic!("a board comes first");
        };
        (*instance, *profile) = (Some(InstanceId(id)), Some("3g.40gb".into()));
        let kept = [
            "graphics_engine_active_ratio",
            "framebuffer_used_bytes",
            "framebuffer_free_bytes",
        ];
        part.values.retain(|name, _| kept.contains(&&**name));
        assert_eq!(part.values.len(), kept.len());
        let slots = 0..part.slots;
        let faulty = |slot| id == 1 && slot > part.slots / 3;
        let column = |value: &dyn Fn(u32) -> f64| {
            SeriesValues::Column(slots.clone().map(|slot| Some(value(slot))).collect())
        };
        let xid = column(&|slot| if faulty(slot) { 94.0 } else { 0.0 });
        let full = |used: f64, free: f64| column(&|slot| if faulty(slot) { used } else { free });
        let (used, free) = (full(39e9, 2e10), full(1e9, 2e10));
        part.values.insert("xid".to_owned(), xid);
        part.values
            .insert("framebuffer_used_bytes".to_owned(), used);
        part.values
            .insert("framebuffer_free_bytes".to_owned(), free);
        recording.series.push(part);
    }
    recording.events.push(Event {
        uid: "event-1".into(),
        reason: "NodeNotReady".into(),
        message: "Node n1 status is now: NodeNotReady".into(),
        kind: "Node".into(),
        namespace: "".into(),
        name: "n1".into(),
        first: before(720),
        last: before(720),
        count: 1,
    });
    recording.check().expect("valid");
    recording
}

/// A fleet's recording, and what its sources tell next: steps of `every` up to `last` later.
pub(super) fn continued(fleet: &Fleet, every: i64, last: i64) -> (Recording, Vec<Recording>) {
    let first = fleet.record();
    let whole = later(fleet, last, fleet.window).record();
    let mut steps = Vec::new();
    for seconds in (every..=last).step_by(every as usize) {
        let mut step = later(fleet, seconds, Span::seconds(30)).record();
        for (source, before) in step.sources.iter_mut().zip(&first.sources) {
            source.since = before.since;
            for target in &mut source.targets {
                target.since = before.since;
            }
        }
        let from = fleet.now + SignedDuration::from_secs(seconds - every);
        step.holders.clone_from(&whole.holders);
        step.series = whole
            .series
            .iter()
            .filter_map(|series| between(series, from, step.now))
            .collect();
        steps.push(step);
    }
    (first, steps)
}

/// The fleet some seconds later, seen from the beginning of its window or for a stretch alone.
fn later(fleet: &Fleet, seconds: i64, window: Span) -> Fleet {
    let by = SignedDuration::from_secs(seconds);
    let mut later = Fleet {
        now: fleet.now + by,
        window: if window == fleet.window {
            Span::seconds(window.get().as_secs() + seconds)
        } else {
            window
        },
        ..fleet.clone()
    };
    for host in &mut later.hosts {
        for condition in &mut host.conditions {
            condition.heartbeat = condition.heartbeat.map(|at| at + by);
        }
    }
    later
}

/// The slots after one moment, up to another; `None` where there is none.
pub(super) fn between(series: &Series, after: Timestamp, to: Timestamp) -> Option<Series> {
    let inside = |slot: &u32| {
        let at = series.time_of(*slot);
        after < at && at <= to
    };
    let slots: Vec<u32> = (0..series.slots).filter(inside).collect();
    let first = *slots.first()?;
    let mut part = series.clone();
    part.from = series.time_of(first);
    part.slots = slots.len() as u32;
    for values in part.values.values_mut() {
        if let SeriesValues::Column(column) = values {
            *column = column[first as usize..first as usize + slots.len()].to_vec();
        }
    }
    if let SeriesSubject::Node { boots, .. } = &mut part.subject {
        for (slot, _) in boots {
            *slot = slot.saturating_sub(first);
        }
    }
    Some(part)
}
