use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::snapshot::{
    BoardIdentity, ClockEvent, Edge, GpuObservation, Holder, Liveness, NodeAttribution,
    NodeObservation, PodRef, Reading, SeriesKey, SourceState, Track,
};
use crate::testing::{Board, Cluster, at, now};

fn needs() -> BTreeMap<Signal, Span> {
    BTreeMap::from([
        (Signal::CoreTemperature, Span::minutes(5)),
        (Signal::PcieReplay, Span::minutes(5)),
        (Signal::RowRemapUncorrectable, Span::seconds(0)),
        (Signal::Xid, Span::seconds(0)),
        (Signal::GpuUtilization, Span::seconds(0)),
    ])
}

fn status() -> SourceStatus {
    SourceStatus {
        id: SourceId::Dcgm,
        state: SourceState::Up,
        since: at(-600),
        last_attempt: Some(at(0)),
        last_success: Some(at(0)),
        error: None,
        targets: Vec::new(),
        lists: None,
        errors: BTreeMap::new(),
        rejected: BTreeMap::new(),
        duration_seconds: 0.0,
    }
}

fn seen_by(observations: &[Observation]) -> ClusterSnapshot {
    let mut history = History::new(needs(), Limits::default());
    for observation in observations {
        // One batch an observation: batches are no unit of meaning.
        let batch = Batch {
            source: SourceId::Dcgm,
            observations: vec![observation.clone()],
            status: status(),
        };
        history.absorb(&batch);
    }
    history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[])
}

fn gpu(snapshot: &ClusterSnapshot) -> &crate::snapshot::Gpu {
    &snapshot.gpus[0]
}

fn one(build: impl FnOnce(&mut Board)) -> ClusterSnapshot {
    Cluster::new().gpu("GPU-1", "n1", build).snapshot()
}

fn observation() -> impl Strategy<Value = Observation> {
    let signals = prop::sample::select(vec![
        Signal::CoreTemperature,
        Signal::PcieReplay,
        Signal::RowRemapUncorrectable,
        Signal::Xid,
        Signal::GpuUtilization,
    ]);
    let readings = prop::collection::btree_map(
        signals.prop_map(SeriesKey::from),
        (0_u8..4).prop_map(f64::from),
        0..4,
    );
    let pods = prop::collection::vec(prop::sample::select(vec!["a", "b"]), 0..3);
    (
        0_i64..85,
        prop::sample::select(vec!["GPU-1", "GPU-2"]),
        readings,
        pods,
        prop::bool::ANY,
        prop::sample::select(vec![None, Some("http://a/"), Some("http://b/")]),
    )
        .prop_map(|(second, uuid, readings, pods, xid_absent, target)| {
            let readings = readings
                .into_iter()
                .map(|(key, value)| {
                    (
                        key,
                        if key.signal == Signal::GpuUtilization {
                            value / 4.0
                        } else {
                            value
                        },
                    )
                })
                .collect();
            Observation::Gpu(GpuObservation {
                at: at(second - 85),
                uuid: uuid.into(),
                identity: Arc::new(BoardIdentity {
                    node: Some("n1".into()),
                    node_by: NodeAttribution::Configured,
                    index: None,
                    pci: None,
                    model: None,
                    driver: None,
                    target: target.map(Into::into),
                }),
                instance: None,
                holders: pods
                    .into_iter()
                    .map(|pod| Holder {
                        pod: PodRef {
                            namespace: "ml".into(),
                            pod: pod.into(),
                        },
                        container: "main".into(),
                        uid: None,
                    })
                    .collect(),
                xid_absent,
                readings,
            })
        })
}

fn nodes() -> impl Strategy<Value = Observation> {
    (
        0_i64..85,
        3_u8..5,
        prop::bool::ANY,
        prop::sample::select(vec!["boot-1", "boot-2"]),
    )
        .prop_map(|(second, allocatable, cordoned, boot)| {
            Observation::Node(NodeObservation {
                at: at(second - 85),
                node: "n1".into(),
                allocatable: vec![("nvidia.com/gpu".into(), f64::from(allocatable))],
                capacity: vec![("nvidia.com/gpu".into(), 4.0)],
                unschedulable: Some(cordoned),
                boot_id: Some(boot.into()),
            })
        })
}

proptest! {
    /// Inside the time in which late observations are filed, order and repetition change nothing.
    #[test]
    fn absorbing_is_idempotent_and_independent_of_order(
        seen in prop::collection::vec(prop_oneof![3 => observation(), 1 => nodes()], 1..40),
        order in prop::collection::vec(0_usize..1000, 80),
    ) {
        let mut shuffled = seen.clone();
        for (i, j) in order.iter().enumerate() {
            let len = shuffled.len();
            shuffled.swap(i % len, j % len);
        }
        shuffled.extend(seen.iter().rev().take(7).cloned());
        prop_assert_eq!(seen_by(&seen), seen_by(&shuffled));
    }
}

#[test]
fn edges_of_the_sticky_code() {
    let edge = |code, seconds, after: Option<i64>| Edge {
        code,
        at: at(seconds),
        after: after.map(at),
    };
    let absent = Track::ABSENT;
    for (points, edges, dated) in [
        // First sight has no date; a repeat is invisible.
        (vec![(-90, 79.0), (-60, 79.0)], vec![edge(79, -90, None)], 0),
        (
            vec![(-90, 0.0), (-60, 79.0), (-30, 79.0)],
            vec![edge(79, -60, Some(-90))],
            1,
        ),
        (
            vec![(-90, 48.0), (-60, 79.0)],
            vec![edge(48, -90, None), edge(79, -60, Some(-90))],
            1,
        ),
        // DCGM 4.5: no family until there is an XID.
        (
            vec![(-90, absent), (-60, 79.0)],
            vec![edge(79, -60, Some(-90))],
            1,
        ),
        // A family that comes and goes is the same sticky value.
        (
            vec![(-90, 0.0), (-60, 79.0), (-45, absent), (-30, 79.0)],
            vec![edge(79, -60, Some(-90))],
            1,
        ),
        // Back to 0 and again is another.
        (
            vec![(-90, 79.0), (-60, 0.0), (-30, 79.0)],
            vec![edge(79, -90, None), edge(79, -30, Some(-60))],
            1,
        ),
    ] {
        let snapshot = one(|board| {
            board.silent();
            for (seconds, code) in &points {
                board.read(Signal::PowerUsage, &[(*seconds, 300.0)]);
                if *code != absent {
                    board.read(Signal::Xid, &[(*seconds, *code)]);
                }
            }
        });
        let track = gpu(&snapshot).board.track(Signal::Xid).expect("tracked");
        assert_eq!(
            (track.edges(), track.dated_edges()),
            (&*edges, dated),
            "{points:?}"
        );
    }
}

/// The edges of a board that several targets tell about, and since when its value is the present
/// one: `(seconds, target, code)`.
fn told(points: &[(i64, &str, f64)]) -> (Vec<Edge>, u64, Timestamp) {
    let cluster = Cluster::new().gpu("GPU-1", "n1", |board| {
        board.silent();
        for (seconds, _, code) in points {
            board.read(Signal::PowerUsage, &[(*seconds, 300.0)]);
            if *code != Track::ABSENT {
                board.read(Signal::Xid, &[(*seconds, *code)]);
            }
        }
    });
    let mut history = History::new(needs(), Limits::default());
    for mut batch in cluster.batches() {
        for observation in &mut batch.observations {
            if let Observation::Gpu(seen) = observation {
                let told = |(seconds, ..): &&(i64, &str, f64)| at(*seconds) == seen.at;
                let (_, target, _) = points.iter().find(told).expect("told");
                Arc::make_mut(&mut seen.identity).target = Some((*target).into());
            }
        }
        history.absorb(&batch);
    }
    let snapshot = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
    let track = gpu(&snapshot).board.track(Signal::Xid).expect("tracked");
    (track.edges().to_vec(), track.dated_edges(), track.changed())
}

#[test]
fn what_another_target_tells_is_at_first_sight() {
    let edge = |code, seconds, after: Option<i64>| Edge {
        code,
        at: at(seconds),
        after: after.map(at),
    };
    let absent = Track::ABSENT;
    for (points, edges, changed) in [
        // One with an old sticky code fails for a while, and another counts.
        (
            &[
                (-90, "a", 79.0),
                (-60, "b", 0.0),
                (-45, "b", 0.0),
                (-30, "a", 79.0),
            ][..],
            vec![edge(79, -90, None)],
            -90,
        ),
        // Its 0 is no reset, at once or after a body that had no XID yet.
        (
            &[(-90, "a", 79.0), (-60, "b", 0.0)],
            vec![edge(79, -90, None)],
            -90,
        ),
        (
            &[(-90, "a", 79.0), (-60, "b", absent), (-45, "b", 0.0)],
            vec![edge(79, -90, None)],
            -90,
        ),
        // What happened before stays.
        (
            &[
                (-90, "a", 0.0),
                (-75, "a", 79.0),
                (-60, "b", 0.0),
                (-30, "a", 79.0),
            ],
            vec![edge(79, -75, Some(-90))],
            -90,
        ),
        // An exporter with a new address: a code of unknown age.
        (
            &[(-90, "a", 0.0), (-60, "b", 79.0)],
            vec![edge(79, -60, None)],
            -90,
        ),
        // A reset that was seen, then another's code.
        (
            &[(-90, "a", 79.0), (-75, "a", 0.0), (-60, "b", 79.0)],
            vec![edge(79, -90, None), edge(79, -60, None)],
            -90,
        ),
        // From its second word on its changes count.
        (
            &[(-90, "a", 0.0), (-60, "b", 0.0), (-30, "b", 79.0)],
            vec![edge(79, -30, Some(-60))],
            -30,
        ),
        (
            &[(-90, "a", 0.0), (-60, "b", absent), (-30, "b", 79.0)],
            vec![edge(79, -30, Some(-60))],
            -30,
        ),
        (
            &[(-90, "a", 79.0), (-60, "b", 79.0), (-30, "b", 0.0)],
            vec![edge(79, -90, None)],
            -30,
        ),
        // Two old codes in turn are two, not one more each time.
        (
            &[
                (-90, "a", 79.0),
                (-60, "b", 48.0),
                (-45, "a", 79.0),
                (-30, "b", 48.0),
            ],
            vec![edge(79, -90, None), edge(48, -60, None)],
            -90,
        ),
    ] {
        let dated = edges.iter().filter(|edge| edge.is_dated()).count() as u64;
        assert_eq!(told(points), (edges, dated, at(changed)), "{points:?}");
    }
}

#[test]
fn counters_grow_over_resets() {
    let snapshot = one(|board| {
        board.read(
            Signal::PcieReplay,
            &[(-120, 100.0), (-90, 110.0), (-60, 5.0), (-30, 7.0)],
        );
    });
    let track = gpu(&snapshot)
        .board
        .track(Signal::PcieReplay)
        .expect("tracked");
    assert_eq!(track.growth(), 17.0);
    assert_eq!(track.reset(), Some(at(-60)));
    let growth = track.growth_since(at(-60)).expect("two points");
    assert_eq!((growth.amount, growth.over.as_secs()), (2.0, 30));
}

/// Growth since the first point, growth since ten minutes ago, and the reset.
fn climbed(signal: Signal, points: &[(i64, f64)]) -> (f64, f64, Option<Timestamp>) {
    let snapshot = one(|board| {
        board.silent().read(signal, points);
    });
    let track = gpu(&snapshot).board.track(signal).expect("tracked");
    let growth = track.growth_since(at(-600)).expect("two points");
    (track.growth(), growth.amount, track.reset())
}

#[test]
fn a_fall_is_a_reset_once_the_next_collection_confirms_it() {
    let replays = |points: &[(i64, f64)]| climbed(Signal::PcieReplay, points);
    // One that is taken back is neither a reset nor growth.
    let glitch = [(-90, 100.0), (-60, 0.0), (-30, 101.0)];
    assert_eq!(replays(&glitch), (1.0, 1.0, None));
    // Nothing is known before the next collection; a scrape in between repeats the value.
    let open = [(-90, 100.0), (-60, 4.0), (-45, 4.0)];
    assert_eq!(replays(&open), (0.0, 0.0, None));
    let twice = [(-90, 100.0), (-60, 0.0), (-45, 0.0), (-30, 100.0)];
    assert_eq!(replays(&twice), (0.0, 0.0, None));
    let stays = [(-90, 100.0), (-60, 4.0), (-45, 4.0), (-30, 4.0)];
    assert_eq!(replays(&stays), (4.0, 4.0, Some(at(-60))));
    let again = [(-120, 100.0), (-90, 50.0), (-60, 0.0), (-30, 7.0)];
    assert_eq!(replays(&again), (57.0, 57.0, Some(at(-60))));
}

#[test]
fn a_glitch_at_the_edge_of_a_window_or_look_back_is_no_growth() {
    let mut points: Vec<(i64, f64)> = (-900..0)
        .step_by(30)
        .map(|seconds| (seconds, 100.0))
        .collect();
    for glitch in 0..points.len() - 1 {
        points[glitch].1 = if glitch == 0 { 100.0 } else { 0.0 };
        let snapshot = one(|board| {
            board.silent().read(Signal::PcieReplay, &points);
        });
        let track = gpu(&snapshot)
            .board
            .track(Signal::PcieReplay)
            .expect("tracked");
        for from in (-400..-30).step_by(10) {
            let growth = track.growth_since(at(from)).expect("two points");
            assert_eq!(growth.amount, 0.0, "{glitch} {from}");
        }
        assert_eq!((track.growth(), track.reset()), (0.0, None), "{glitch}");
        points[glitch].1 = 100.0;
    }
}

#[test]
fn a_counter_of_the_boards_life_grows_above_its_highest_value_only() {
    let remaps = |points: &[(i64, f64)]| climbed(Signal::RowRemapUncorrectable, points).0;
    for (points, growth) in [
        (&[(-90, 12.0), (-60, 0.0), (-30, 12.0)][..], 0.0),
        (&[(-90, 12.0), (-60, 0.0), (-30, 13.0)], 1.0),
        (
            &[
                (-150, 12.0),
                (-120, 0.0),
                (-90, 0.0),
                (-60, 1.0),
                (-30, 12.0),
            ],
            0.0,
        ),
    ] {
        assert_eq!(remaps(points), growth, "{points:?}");
        let reset = climbed(Signal::EccDoubleBitAggregate, points).2;
        assert_eq!(reset, None, "{points:?}");
    }
}

#[test]
fn a_code_turns_into_0_only_where_nothing_is_missing_in_between() {
    let zero = |points: &[(i64, f64)], from: i64| {
        let snapshot = one(|board| {
            board.silent().steady(Signal::PowerUsage, from, 300.0);
            board.read(Signal::Xid, points);
        });
        gpu(&snapshot)
            .board
            .track(Signal::Xid)
            .expect("tracked")
            .reset()
    };
    assert_eq!(zero(&[(-60, 79.0), (-30, 0.0)], -30), Some(at(-30)));
    assert_eq!(zero(&[(-120, 79.0), (-30, 0.0)], -30), None, "a silence");
    let absent = [(-90, 79.0), (-30, 0.0)];
    assert_eq!(zero(&absent, -90), None, "an absent family");
}

#[test]
fn points_settle_and_what_is_older_is_too_late() {
    let mut history = History::new(needs(), Limits::default());
    let mut batches = Vec::new();
    for seconds in [-1000, -900, -600, -300, -30] {
        let cluster = Cluster::new().gpu("GPU-1", "n1", |board| {
            board.silent().read(
                Signal::CoreTemperature,
                &[(seconds, 60.0 - seconds as f64 / 100.0)],
            );
        });
        batches.extend(cluster.batches());
    }
    let late = batches.remove(1);
    for batch in &batches {
        history.absorb(batch);
    }
    let before = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
    let track = gpu(&before)
        .board
        .track(Signal::CoreTemperature)
        .expect("tracked");
    assert_eq!(
        track.points().len(),
        2,
        "-300 and -30 are inside five minutes"
    );
    assert_eq!(track.first().at, at(-1000));
    history.absorb(&late);
    assert_eq!(history.too_late(), 1);
}

#[test]
fn bits_add_up_the_time_they_were_set() {
    let mask = f64::from(1_u32 << ClockEvent::HwThermal as u16);
    let snapshot = one(|board| {
        board.read(
            Signal::ClockEventReasons,
            &[
                (-600, mask),
                (-300, mask),
                (-270, mask),
                (-240, 0.0),
                (-210, mask),
            ],
        );
    });
    let track = gpu(&snapshot)
        .board
        .track(Signal::ClockEventReasons)
        .expect("tracked");
    // The 300 s of silence between the first two are no evidence of anything.
    assert_eq!(
        track.bit_seconds().expect("bits")[ClockEvent::HwThermal as usize],
        60.0
    );
    assert_eq!(track.gap(), Some((at(-600), at(-300))));
}

#[test]
fn liveness_is_decided_by_age_movement_and_siblings() {
    let live = one(|_| {});
    assert_eq!(gpu(&live).liveness, Liveness::Live);
    assert_eq!(gpu(&live).live_at, at(-30));

    let stale = one(|board| {
        board
            .silent()
            .read(Signal::CoreTemperature, &[(-181, 50.0)]);
    });
    assert_eq!(gpu(&stale).liveness, Liveness::Stale { since: at(-181) });
    assert!(matches!(
        gpu(&stale).reading(Signal::CoreTemperature),
        Reading::Stale(_)
    ));

    let frozen = |power: f64| {
        one(|board| {
            board
                .silent()
                .read(Signal::Energy, &[(-300, 1.0)])
                .steady(Signal::Energy, -270, 2.0);
            board.steady(Signal::PowerUsage, -300, power);
        })
    };
    assert_eq!(
        gpu(&frozen(300.0)).liveness,
        Liveness::Frozen { since: at(-270) }
    );
    assert_eq!(
        gpu(&frozen(0.0)).liveness,
        Liveness::Live,
        "a board without power gains no energy"
    );

    let vanished = Cluster::new()
        .gpu("GPU-1", "n1", |_| {})
        .gpu("GPU-2", "n1", |board| {
            board.silent().steady(Signal::PowerUsage, -600, 300.0);
            board.silent().read(Signal::PowerUsage, &[(-121, 300.0)]);
        })
        .snapshot();
    assert_eq!(
        vanished.gpus[1].liveness,
        Liveness::Vanished { since: at(-121) }
    );
}

#[test]
fn a_reading_from_the_future_is_not_live() {
    let read = |seconds| {
        let snapshot = one(|board| {
            board.read(Signal::CoreTemperature, &[(seconds, 50.0)]);
        });
        gpu(&snapshot).reading(Signal::CoreTemperature)
    };
    assert!(matches!(read(180), Reading::Live(_)));
    assert!(matches!(read(181), Reading::Stale(_)));
}

#[test]
fn a_board_has_vanished_after_three_rounds_of_its_siblings() {
    // The sibling was last named 30 s ago.
    let seen = |age: i64, interval: i64| {
        let cluster = Cluster::new()
            .gpu("GPU-1", "n1", |_| {})
            .gpu("GPU-2", "n1", |board| {
                board.silent().read(Signal::PowerUsage, &[(age, 300.0)]);
            });
        let mut history = History::new(needs(), Limits::default());
        for batch in cluster.batches() {
            history.absorb(&batch);
        }
        let interval = SignedDuration::from_secs(interval);
        history.view(&"c".into(), now(), interval, &[]).gpus[1].liveness
    };
    for (age, interval, want) in [
        (-120, 15, Liveness::Live),
        (-121, 15, Liveness::Vanished { since: at(-121) }),
        // One or two rare scrapes without it: its readings are getting old.
        (-90, 60, Liveness::Live),
        (-180, 60, Liveness::Live),
        (-200, 60, Liveness::Stale { since: at(-200) }),
        (-211, 60, Liveness::Vanished { since: at(-211) }),
    ] {
        assert_eq!(seen(age, interval), want, "{age} {interval}");
    }
}

#[test]
fn a_frozen_board_does_not_thaw_because_energy_or_power_ends() {
    let since = |gone: Signal, moves: bool| {
        let snapshot = one(|board| {
            board.silent();
            for seconds in (-600..0).step_by(30) {
                let last = if moves { seconds } else { seconds.min(-420) };
                for signal in [Signal::Energy, Signal::PowerUsage, Signal::CoreTemperature] {
                    if signal != gone || seconds < -300 {
                        board.read(signal, &[(seconds, 5000.0 + last as f64)]);
                    }
                }
            }
        });
        gpu(&snapshot).liveness
    };
    for gone in [Signal::Energy, Signal::PowerUsage, Signal::CoreTemperature] {
        assert_eq!(
            since(gone, false),
            Liveness::Frozen { since: at(-420) },
            "{gone:?}"
        );
        assert_eq!(since(gone, true), Liveness::Live, "{gone:?}");
    }
}

#[test]
fn a_new_board_at_the_same_address_ends_the_old_one() {
    let at_slot = |board: &mut Board| board.identity.pci = Some("00000000:07:00.0".into());
    let exchanged = Cluster::new()
        .gpu("GPU-old", "n1", |board| {
            at_slot(board);
            board.silent().read(Signal::PowerUsage, &[(-400, 300.0)]);
        })
        .gpu("GPU-new", "n1", |board| {
            at_slot(board);
            board
                .silent()
                .read(Signal::PowerUsage, &[(-60, 300.0), (-30, 300.0)]);
        })
        .snapshot();
    let old = exchanged
        .gpus
        .iter()
        .find(|gpu| gpu.uuid.as_str() == "GPU-old")
        .expect("known");
    assert_eq!(
        old.replaced_by
            .as_ref()
            .map(crate::snapshot::GpuUuid::as_str),
        Some("GPU-new")
    );
    // Exporters that print one address for every board exchange nothing.
    let together = Cluster::new()
        .gpu("GPU-1", "n1", at_slot_only)
        .gpu("GPU-2", "n1", at_slot_only)
        .snapshot();
    assert!(together.gpus.iter().all(|gpu| gpu.replaced_by.is_none()));
}

#[test]
fn without_an_address_a_new_board_at_the_same_index_ends_the_old_one() {
    // The board that is gone, and the one beside it: when each was seen, index, address.
    let heir = |old: (i64, i64), new: (i64, i64), indexes: [u32; 2], pci: [Option<&str>; 2]| {
        let seen = |(from, to): (i64, i64), place: usize| {
            let (index, pci) = (indexes[place], pci[place].map(Into::into));
            move |board: &mut Board| {
                board.identity.index = Some(index);
                board.identity.pci = pci;
                board.silent();
                for seconds in (from..=to).step_by(30) {
                    board.read(Signal::PowerUsage, &[(seconds, 300.0)]);
                }
            }
        };
        let snapshot = Cluster::new()
            .gpu("GPU-new", "n1", seen(new, 1))
            .gpu("GPU-old", "n1", seen(old, 0))
            .snapshot();
        assert_eq!(snapshot.gpus[0].replaced_by, None);
        snapshot.gpus[1].replaced_by.is_some()
    };
    let (same, none) = ([3, 3], [None, None]);
    let slot = Some("00000000:07:00.0");
    assert!(heir((-900, -300), (-240, -30), same, none));
    assert!(heir((-900, -300), (-240, -30), same, [slot, None]));
    assert!(heir((-900, -300), (-240, -30), same, [None, slot]));
    // Not gone for long enough, by another index, in another slot.
    assert!(!heir((-900, -150), (-120, -30), same, none));
    assert!(!heir((-900, -300), (-240, -30), [3, 4], none));
    let other = Some("00000000:08:00.0");
    assert!(!heir((-900, -300), (-240, -30), same, [slot, other]));
    // The other one was there before, and only its index has shifted.
    assert!(!heir((-900, -300), (-900, -30), same, none));
    // The old one came back.
    assert!(!heir((-900, -30), (-240, -60), same, none));
}

fn at_slot_only(board: &mut Board) {
    board.identity.pci = Some("00000000:07:00.0".into());
}

#[test]
fn holders_that_come_and_go_between_scrapes_are_one() {
    let snapshot = one(|board| {
        board
            .held_by("train-0", -600, -420)
            .held_by("train-0", -300, -30)
            .held_by("other", -90, -30);
    });
    let holds = &gpu(&snapshot).board.holds;
    let train: Vec<_> = holds
        .iter()
        .filter(|hold| &*hold.pod.pod == "train-0")
        .collect();
    assert_eq!(
        train.len(),
        1,
        "a silence of two minutes is shorter than the stale limit"
    );
    assert_eq!((train[0].from, train[0].to), (at(-600), at(-30)));
    assert_eq!(gpu(&snapshot).board.shared_at, Some(at(-30)));
}

#[test]
fn a_clock_that_is_set_changes_no_distance() {
    for hours in [-1, 1] {
        let by = SignedDuration::from_hours(hours);
        let cluster = Cluster::new()
            .with_kubernetes()
            .node("n1", 4, &[(-300, 3)], |_| {})
            .gpu("GPU-1", "n1", |board| {
                board.read(Signal::Xid, &[(-90, 0.0), (-60, 79.0)]).steady(
                    Signal::GpuUtilization,
                    -3600,
                    0.5,
                );
                board
                    .held_by("a", -600, -30)
                    .steady(Signal::ClockEventReasons, -300, 64.0);
            });
        let mut history = History::new(needs(), Limits::default());
        for batch in cluster.batches() {
            history.absorb(&batch);
        }
        let before = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
        history.shift(by);
        let mut after = history.view(&"c".into(), now() + by, SignedDuration::from_secs(15), &[]);
        let (old, new) = (gpu(&before), gpu(&after));
        assert_eq!(old.liveness, new.liveness);
        assert_eq!(
            old.board
                .utilization
                .as_ref()
                .map(|u| u.mean(old.now, before.interval, 0.8)),
            new.board
                .utilization
                .as_ref()
                .map(|u| u.mean(new.now, after.interval, 0.8))
        );
        // Back again, everything is as it was: no time was left behind.
        history.shift(-by);
        after = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
        assert_eq!(before, after);
        assert_ne!(before.gpus[0].board, {
            history.shift(by);
            history.view(&"c".into(), now(), before.interval, &[]).gpus[0]
                .board
                .clone()
        });
    }
}

/// The ids of a board's instances, as viewed and as remembered: every 30 s the layout of that time.
fn instances(layouts: &[(std::ops::Range<i64>, &[u32])]) -> (Vec<u32>, usize) {
    let cluster = Cluster::new().gpu("GPU-1", "n1", |board| {
        for (times, ids) in layouts {
            for seconds in times.clone().step_by(30) {
                for id in *ids {
                    board.instance(*id, Signal::GraphicsEngineActive, &[(seconds, 0.5)]);
                }
            }
        }
    });
    let mut history = History::new(needs(), Limits::default());
    for batch in cluster.batches() {
        history.absorb(&batch);
    }
    let snapshot = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
    let ids = gpu(&snapshot)
        .instances
        .iter()
        .map(|instance| instance.id.0);
    let ids = ids.collect();
    history.forget(now());
    let again = history.view(&"c".into(), now(), SignedDuration::from_secs(15), &[]);
    assert_eq!(snapshot, again, "forgetting takes nothing that is shown");
    (ids, history.boards[&"GPU-1".into()].instances.len())
}

#[test]
fn instances_end_while_their_board_goes_on() {
    let seven: &[u32] = &[7, 8, 9, 10, 11, 12, 13];
    for (layouts, want) in [
        (&[(-600..-240, seven)][..], &[][..]),
        // Unnamed for less than readings stay fresh.
        (&[(-600..-180, seven)], seven),
        (&[(-600..-240, seven), (-240..0, &[1, 2])], &[1, 2]),
        (&[(-600..-240, seven), (-240..0, &[7, 8])], &[7, 8]),
    ] {
        assert_eq!(
            instances(layouts),
            (want.to_vec(), want.len()),
            "{layouts:?}"
        );
    }
}

#[test]
fn instances_of_a_silent_board_stay() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", |board| {
            board.silent();
            board.instance(1, Signal::GraphicsEngineActive, &[(-900, 0.5)]);
        })
        .snapshot();
    assert_eq!(gpu(&snapshot).instances.len(), 1);
}

#[test]
fn an_instance_whose_last_word_was_an_xid_is_remembered() {
    let kept = |codes: &[(i64, f64)]| {
        let snapshot = one(|board| {
            board.instance(1, Signal::Xid, codes);
        });
        gpu(&snapshot).instances.len()
    };
    assert_eq!(kept(&[(-600, 0.0), (-570, 94.0)]), 1);
    assert_eq!(kept(&[(-600, 94.0), (-570, 0.0)]), 0);
    assert_eq!(kept(&[(-600, 0.0)]), 0);
    assert_eq!(kept(&[(-2 * 86_400, 94.0)]), 0);
}

#[test]
fn invented_instances_are_bounded() {
    let invented: Vec<u32> = (100..1100).collect();
    let (ids, kept) = instances(&[(-60..0, &[1, 2]), (-30..0, &invented)]);
    assert_eq!((ids.len(), kept), (64, 64));
    assert!(ids.starts_with(&[1, 2]));
    // Others every time: what has ended makes room.
    let later: Vec<u32> = (2000..2064).collect();
    let (ids, _) = instances(&[(-600..-570, &invented), (-30..0, &later)]);
    assert_eq!(ids, later);
}

/// What a target tells about boards at a time.
fn batch_of(target: &str, seconds: i64, uuids: impl Iterator<Item = String>) -> Batch {
    let identity = Arc::new(BoardIdentity {
        node: Some("n1".into()),
        node_by: NodeAttribution::Configured,
        index: None,
        pci: None,
        model: None,
        driver: None,
        target: Some(target.into()),
    });
    let seen = |uuid: String| {
        Observation::Gpu(GpuObservation {
            at: at(seconds),
            uuid: uuid.as_str().into(),
            identity: identity.clone(),
            instance: None,
            holders: Vec::new(),
            readings: vec![(Signal::PowerUsage.into(), 300.0)],
            xid_absent: false,
        })
    };
    Batch {
        source: SourceId::Dcgm,
        observations: uuids.map(seen).collect(),
        status: status(),
    }
}

#[test]
fn a_target_that_invents_boards_crowds_out_its_own_inventions_only() {
    let names = |prefix: &str, range: std::ops::Range<u32>| {
        let prefix = prefix.to_owned();
        range.map(move |number| format!("GPU-{prefix}{number:05}"))
    };
    let mut history = History::new(needs(), Limits::default());
    for round in 0..100_u32 {
        let seconds = -1500 + 15 * i64::from(round);
        let invented = names("m", 200 * round..200 * (round + 1));
        // Its real boards come in the midst of the others.
        let real = names("a", 0..4).chain(invented).chain(names("z", 0..4));
        history.absorb(&batch_of("http://bad/", seconds, real));
        history.absorb(&batch_of("http://good/", seconds, names("good", 0..8)));
        history.forget(at(seconds));
    }
    let count = |start: &str| {
        let boards = history.boards.keys();
        boards
            .filter(|uuid| uuid.as_str().starts_with(start))
            .count()
    };
    assert_eq!(
        (
            count("GPU-m"),
            count("GPU-a"),
            count("GPU-z"),
            count("GPU-good")
        ),
        (248, 4, 4, 8)
    );
    let first = |uuid: &str| history.boards[&uuid.into()].first_seen();
    for uuid in ["GPU-a00000", "GPU-z00003", "GPU-good00000"] {
        assert_eq!(first(uuid), Some(at(-1500)), "{uuid} was never forgotten");
    }
    assert_eq!(history.too_late(), 0);
}

#[test]
fn boards_that_move_to_another_target_are_its_own() {
    let all = || (0..256).map(|number| format!("GPU-{number:03}"));
    let mut history = History::new(needs(), Limits::default());
    history.absorb(&batch_of("http://a/", -90, all()));
    // All at one time: there is none to give way.
    history.absorb(&batch_of(
        "http://a/",
        -90,
        ["GPU-x".to_owned()].into_iter(),
    ));
    assert_eq!((history.boards.len(), history.too_late()), (256, 1));
    // The exporter has a new address, and one board was exchanged.
    history.absorb(&batch_of("http://b/", -60, all().skip(1)));
    history.absorb(&batch_of(
        "http://b/",
        -60,
        ["GPU-x".to_owned()].into_iter(),
    ));
    let told = |target: &str| history.told_by.get(target).map_or(0, BTreeSet::len);
    assert_eq!((told("http://a/"), told("http://b/")), (1, 256));
    assert_eq!(history.boards.len(), 257);
    // Everything is forgotten in the end.
    history.forget(at(86_400));
    assert!(history.boards.is_empty() && history.told_by.is_empty());
}
