//! Missing is never healthy: taking evidence away never makes anything read clear.

use std::collections::BTreeMap;

use super::{index, judge, line, node_with, quiet};
use crate::finding::Verdict;
use crate::snapshot::{Completeness, HealthWatch, ListState, Signal};
use crate::testing::{Board, Cluster, at};

type Fault = (&'static str, fn(&mut Board));

/// Each way in which a board can fire, with series that its sibling has as well.
const FAULTS: &[Fault] = &[
    ("dated fatal XID", |board| {
        board.steady(Signal::Xid, -240, 79.0);
    }),
    ("XID at first sight", |board| {
        board.steady(Signal::Xid, -600, 48.0);
    }),
    ("program XID", |board| {
        board.steady(Signal::Xid, -240, 31.0);
    }),
    ("XID and its count", |board| {
        board.steady(Signal::Xid, -240, 63.0);
        board.steady(super::part(Signal::XidWindowCount, 63), -240, 1.0);
    }),
    ("remap failure", |board| {
        board.steady(Signal::RowRemapFailure, -600, 1.0);
    }),
    ("remap pending", |board| {
        board.steady(Signal::RowRemapPending, -600, 1.0);
    }),
    ("new remap", |board| {
        board.steady(Signal::RowRemapUncorrectable, -240, 2.0);
    }),
    ("uncorrectable errors", |board| {
        board.steady(Signal::EccDoubleBitVolatile, -600, 3.0);
    }),
    ("uncorrectable errors of its life", |board| {
        board.steady(Signal::EccDoubleBitAggregate, -240, 3.0);
    }),
    ("NVLink event", |board| {
        board.steady(Signal::NvlinkFault, -240, 2.0);
    }),
    ("NVLink path", |board| {
        board.steady(super::part(Signal::P2pStatus, 1), -240, 6.0);
    }),
    ("NVLink replay", |board| {
        board.steady(Signal::NvlinkReplay, -240, 6.0);
    }),
    ("CRC errors", |board| {
        for at in (-600..0).step_by(30) {
            board.read(Signal::NvlinkCrcFlit, &[(at, (600 + at) as f64 * 200.0)]);
        }
    }),
    ("PCIe replays", |board| {
        for at in (-600..0).step_by(30) {
            board.read(Signal::PcieReplay, &[(at, (600 + at) as f64 * 2.0)]);
        }
    }),
    ("DCGM's check", |board| {
        let part = HealthWatch::Mem.part().0;
        board.steady(super::part(Signal::HealthStatus, part), -240, 20.0);
    }),
];

/// Everything that these tests break, unbroken.
fn all_quiet(board: &mut Board) {
    quiet(board);
    for signal in [
        Signal::RowRemapPending,
        Signal::EccDoubleBitVolatile,
        Signal::EccDoubleBitAggregate,
        Signal::NvlinkFault,
        Signal::NvlinkReplay,
        Signal::NvlinkCrcFlit,
    ] {
        board.steady(signal, -600, 0.0);
    }
    board.steady(super::part(Signal::P2pStatus, 1), -600, 0.0);
    board.steady(
        super::part(Signal::HealthStatus, HealthWatch::Mem.part().0),
        -600,
        0.0,
    );
}

/// Two boards, of which the first fails; with the loss of capacity that goes with it, or without.
fn cluster(fault: fn(&mut Board), lost: bool) -> Cluster {
    let history = [(-600, 2), (-210, if lost { 1 } else { 2 })];
    let allocatable = if lost { 1 } else { 2 };
    node_with(2, allocatable, &history, 9, |_| {})
        .silence("n1-0", None)
        .silence("n1-1", None)
        .gpu("n1-0", "n1", |board| {
            index(board, 0);
            all_quiet(board);
            fault(board);
        })
        .gpu("n1-1", "n1", |board| {
            index(board, 1);
            all_quiet(board);
        })
        .target("n1", |target| target.gpus = 2)
        .change_node("n1", |node| {
            node.labels
                .insert("nvidia.com/gpu.count".into(), "2".into());
            node.labels
                .insert("nvidia.com/gpu.product".into(), "H100".into());
        })
        .node_event("n1", "NodeNotReady", -220)
}

/// Asserts that what did not read clear before does not read clear now. A subject that is no
/// longer judged is neither.
#[track_caller]
fn nothing_heals(before: &BTreeMap<String, Verdict>, after: &Cluster, what: &str) {
    let after = judge(after);
    for (subject, was) in before {
        let now = after.get(subject);
        if !matches!(was, Verdict::Clear) {
            assert!(
                !matches!(now, Some(Verdict::Clear)),
                "{what}: {subject} was {} and is clear",
                line(was)
            );
        }
    }
}

#[test]
fn every_fault_fires() {
    for (name, fault) in FAULTS {
        for lost in [false, true] {
            let said = judge(&cluster(*fault, lost));
            assert!(
                matches!(said["n1-0"], Verdict::Fires(_)),
                "{name}: {said:?}"
            );
            assert_eq!(line(&said["n1-1"]), "clear", "{name}");
        }
    }
}

#[test]
fn taking_series_away_heals_nothing() {
    for (name, fault) in FAULTS {
        for lost in [false, true] {
            let cluster_now = cluster(*fault, lost);
            let whole = judge(&cluster_now);
            for signal in cluster_now.signals_of("n1-0") {
                for from in [
                    None,
                    Some(-500),
                    Some(-239),
                    Some(-200),
                    Some(-90),
                    Some(-30),
                ] {
                    let less = cluster(*fault, lost).without("n1-0", signal, from);
                    nothing_heals(
                        &whole,
                        &less,
                        &format!("{name} without {signal:?} {from:?}"),
                    );
                }
            }
            for from in [None, Some(-500), Some(-239), Some(-200), Some(-30)] {
                for board in ["n1-0", "n1-1"] {
                    let less = cluster(*fault, lost).silence(board, from);
                    nothing_heals(&whole, &less, &format!("{name}, {board} silent {from:?}"));
                }
                let less = cluster(*fault, lost)
                    .silence("n1-0", from)
                    .silence("n1-1", from);
                nothing_heals(&whole, &less, &format!("{name}, all silent {from:?}"));
            }
        }
    }
}

#[test]
fn taking_inventory_away_heals_nothing() {
    for (name, fault) in FAULTS {
        for lost in [false, true] {
            let whole = judge(&cluster(*fault, lost));
            for key in ["nvidia.com/gpu.count", "nvidia.com/gpu.product"] {
                let less = cluster(*fault, lost).change_node("n1", |node| {
                    node.labels.remove(key);
                });
                nothing_heals(&whole, &less, &format!("{name} without {key}"));
            }
            for nodes in [ListState::Pending, ListState::Synced(at(-400))] {
                let lists = Completeness {
                    nodes,
                    pods: nodes,
                    events: nodes,
                };
                let less = cluster(*fault, lost).with_lists(lists);
                nothing_heals(&whole, &less, &format!("{name} with {nodes:?}"));
            }
        }
    }
}

#[test]
fn a_board_that_was_lost_by_count_does_not_heal_with_the_label() {
    let gone = |label: bool| {
        let cluster = cluster(|_| {}, false).change_node("n1", |node| {
            node.labels
                .insert("nvidia.com/gpu.count".into(), "3".into());
        });
        cluster.change_node("n1", |node| {
            if !label {
                node.labels.remove("nvidia.com/gpu.count");
            }
        })
    };
    assert!(line(&judge(&gone(true))["n1"]).starts_with("gpu_count_mismatch"));
    nothing_heals(&judge(&gone(true)), &gone(false), "without the label");
}

#[test]
fn no_level_is_over_for_want_of_its_series() {
    const HOUR: i64 = 3600;
    let check = super::part(Signal::HealthStatus, HealthWatch::Mem.part().0);
    let path = super::part(Signal::P2pStatus, 1);
    for (key, before, last) in [
        (Signal::RowRemapFailure.into(), 1.0, 1.0),
        (Signal::RowRemapPending.into(), 1.0, 1.0),
        (Signal::RetiredPagesPending.into(), 1.0, 1.0),
        (Signal::EccDoubleBitVolatile.into(), 2.0, 2.0),
        (Signal::EccDoubleBitAggregate.into(), 2.0, 3.0),
        (Signal::NvlinkFault.into(), 2.0, 2.0),
        (Signal::NvlinkReplay.into(), 2.0, 9.0),
        (Signal::PcieReplay.into(), 2.0, 900.0),
        (path, 0.0, 6.0),
        (check, 20.0, 20.0),
    ] {
        for hours in [1, 25, 49, 24 * 8] {
            let said = super::alone(|board| {
                let ended = -hours * HOUR;
                board.read(key, &[(ended - 30, before), (ended, last)]);
            })
            .without("a", key.signal, Some(-HOUR + 1));
            let said = line(&super::verdict(&said, "a"));
            assert_eq!(said, "undecided not_exported", "{key:?} {hours}");
        }
    }
    // What was quiet at its end is no longer exported, and nothing more.
    let quiet = super::alone(|board| {
        board.read(Signal::RowRemapPending, &[(-25 * HOUR, 0.0)]);
        board.read(
            Signal::NvlinkReplay,
            &[(-27 * HOUR, 1.0), (-25 * HOUR, 1.0)],
        );
        board.read(path, &[(-25 * HOUR, 6.0)]);
    });
    assert_eq!(line(&super::verdict(&quiet, "a")), "clear");
}

#[test]
fn a_fatal_code_whose_family_disappeared_counts_for_a_week() {
    const HOUR: i64 = 3600;
    for (hours, said) in [
        (2, "xid_79 critical strong"),
        (30, "xid_79 critical strong"),
        (24 * 7 - 1, "xid_79 critical strong"),
        (24 * 7 + 1, "expired"),
    ] {
        let cluster = super::alone(|board| {
            let at = -hours * HOUR;
            board.read(Signal::Xid, &[(at - 30, 0.0), (at, 79.0)]);
            board.read(Signal::RowRemapFailure, &[(at + 30, 0.0)]);
        })
        .without("a", Signal::Xid, Some(-hours * HOUR + 1));
        assert_eq!(line(&super::verdict(&cluster, "a")), said, "{hours}");
    }
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig::with_cases(128))]

    /// Any faults together, any series cut at any time, in any order of arrival of the faults.
    #[test]
    fn no_cut_heals(
        faults in proptest::collection::btree_set(0..FAULTS.len(), 1..4),
        cuts in proptest::collection::vec((0_usize..18, proptest::option::of(-600_i64..0)), 1..4),
        tail in proptest::option::of(-600_i64..-30),
        lost: bool,
    ) {
        let build = || {
            let cluster = cluster(|_| {}, lost).silence("n1-0", None);
            cluster.gpu("n1-0", "n1", |board| {
                index(board, 0);
                all_quiet(board);
                for fault in &faults {
                    (FAULTS[*fault].1)(board);
                }
            })
        };
        let whole = build();
        let signals = whole.signals_of("n1-0");
        let mut less = build();
        for (signal, from) in &cuts {
            less = less.without("n1-0", signals[signal % signals.len()], *from);
        }
        if let Some(from) = tail {
            less = less.silence("n1-1", Some(from));
        }
        nothing_heals(&judge(&whole), &less, &format!("{faults:?} {cuts:?} {tail:?}"));
    }
}
