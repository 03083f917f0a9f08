//! Public incidents (by the numbers of our collection), as far as this rule's inputs can express
//! them, with the conclusion that the truth demands. Above all: no false hardware verdict.

use super::{finding, judge, line, node_of, node_with, outcome, quiet, verdict};
use crate::finding::{Grade, Severity};
use crate::snapshot::{NodeCondition, Signal};
use crate::testing::{Board, at};

const HOUR: i64 = 3600;

fn code(board: &mut Board, seconds: i64, code: f64) {
    board.read(Signal::Xid, &[(seconds - 30, 0.0), (seconds, code)]);
    board.steady(Signal::Xid, seconds.max(-600), code);
}

/// 01: a contained memory error; the plugin keeps the GPU away for days.
#[test]
fn inc_01_contained_error_leaves_a_gpu_out_of_service() {
    for lasted in [400, 1500] {
        let history = [(-1800, 8), (-lasted, 7)];
        let cluster = node_with(8, 7, &history, 3, |board| code(board, -lasted - 30, 94.0));
        let found = finding(&cluster, "n1-3");
        assert_eq!(
            outcome(&cluster, "n1-3"),
            "allocatable_drop critical strong"
        );
        assert!(found.summary.contains("XID 94"), "{}", found.summary);
        assert!(
            found.summary.contains("only when it is restarted"),
            "{}",
            found.summary
        );
        assert!(!format!("{found:?}").contains("replace"));
        assert_eq!(line(&verdict(&cluster, "n1")), "merged");
    }
    // Days later the XID itself is over; it still explains what the plugin holds.
    let history = [(-2 * 86_400 - 600, 8), (-2 * 86_400, 7), (-600, 7)];
    let cluster = node_with(8, 7, &history, 3, |board| {
        code(board, -2 * 86_400 - 30, 94.0);
    });
    let found = finding(&cluster, "n1-3");
    assert!(
        found.summary.contains("about when XID 94 came"),
        "{}",
        found.summary
    );
    assert_eq!(line(&verdict(&cluster, "n1")), "merged");
}

/// 03: XID 69 takes a GPU away although the program was at fault.
#[test]
fn inc_03_a_program_code_withholds_capacity() {
    let cluster = node_with(8, 7, &[(-600, 8), (-400, 7)], 5, |board| {
        code(board, -420, 69.0);
    });
    let found = finding(&cluster, "n1-5");
    assert_eq!(found.grade, Grade::Contradicted);
    assert!(found.summary.contains("program"), "{}", found.summary);
    assert!(
        found.summary.contains("no reason to replace"),
        "{}",
        found.summary
    );
    let plugin = found
        .facts
        .iter()
        .find(|fact| fact.name == "XID 69: device plugin");
    assert!(plugin.is_some_and(|fact| fact.value.contains("restart of the plugin")));
}

/// 05, 11, 13, 15: trouble of containers, kubelet and accounting leaves the GPUs quiet.
#[test]
fn inc_05_to_15_quiet_hardware_is_no_finding() {
    let cluster = node_of(8, 0, |_| {}).node_event("n1", "Starting", -60);
    let said = judge(&cluster);
    assert!(
        said.values().all(|verdict| line(verdict) == "clear"),
        "{said:?}"
    );
}

/// 07: GPUs fall off the bus under load; the wall circuit was to blame.
#[test]
fn inc_07_no_root_cause_is_picked() {
    let cluster = node_with(4, 3, &[(-600, 4), (-300, 3)], 1, |board| {
        code(board, -330, 79.0);
    })
    .silence("n1-1", Some(-320));
    let found = finding(&cluster, "n1-1");
    assert_eq!(outcome(&cluster, "n1-1"), "xid_79 critical strong");
    assert!(
        found
            .summary
            .contains("power, PCIe, heat and the GPU itself cannot be told apart")
    );
    assert!(
        found.supporting.len() >= 3,
        "XID, capacity, count: {found:?}"
    );
    assert_eq!(line(&verdict(&cluster, "n1")), "merged");
}

/// 09: a GPU is gone without any XID.
#[test]
fn inc_09_a_missing_gpu_is_found_by_counting() {
    let cluster = node_of(8, 0, |_| {}).silence("n1-6", Some(-330));
    assert_eq!(
        outcome(&cluster, "n1"),
        "gpu_count_mismatch critical moderate"
    );
    assert_eq!(line(&verdict(&cluster, "n1-6")), "undecided blind");
    // The plugin noticed as well: two witnesses.
    let both = node_with(8, 7, &[(-600, 8), (-320, 7)], 0, |_| {}).silence("n1-6", Some(-330));
    assert_eq!(outcome(&both, "n1"), "gpu_count_mismatch critical strong");
}

/// 17: 45 has overwritten 62.
#[test]
fn inc_17_a_consequence_code_may_hide_another() {
    let cluster = node_of(4, 2, |board| code(board, -120, 45.0));
    let found = finding(&cluster, "n1-2");
    assert_eq!(outcome(&cluster, "n1-2"), "xid_45 info inconclusive");
    assert!(
        found.summary.contains("an earlier code may be hidden"),
        "{}",
        found.summary
    );
    // With the earlier code seen, that one names the finding.
    let cluster = node_of(4, 2, |board| {
        code(board, -180, 62.0);
        board.steady(Signal::Xid, -120, 45.0);
    });
    assert_eq!(outcome(&cluster, "n1-2"), "xid_62 critical strong");
}

/// 25: names of MIG resources stay at 0 of 0 after a change.
#[test]
fn inc_25_resources_left_at_zero_are_no_loss() {
    let cluster = node_of(2, 0, |_| {}).change_node("n1", |node| {
        for resource in ["nvidia.com/mig-3g.40gb", "nvidia.com/mig-1g.10gb"] {
            node.capacity.insert(resource.into(), 0);
            node.allocatable.insert(resource.into(), 0);
        }
    });
    assert_eq!(line(&verdict(&cluster, "n1")), "clear");
}

/// 27: a kernel of an LLM server reads out of bounds, on every worker.
#[test]
fn inc_27_one_program_code_on_several_gpus_is_the_program() {
    for program in [13.0, 31.0] {
        let mut cluster = node_of(1, 9, |_| {});
        for at in 0..4 {
            cluster = cluster.gpu(&format!("w{at}"), &format!("w{}", at % 2), |board| {
                quiet(board);
                code(board, -120 - at * 40, program);
            });
        }
        for at in 0..4 {
            let found = finding(&cluster, &format!("w{at}"));
            assert_eq!(found.severity, Severity::Info);
            assert_eq!(found.grade, Grade::Contradicted);
            assert!(
                found.contradicting[0].text.contains("3 other GPUs"),
                "{found:?}"
            );
            assert!(
                found.summary.contains("a fault of the program"),
                "{}",
                found.summary
            );
        }
    }
}

/// 29, 39: peers that abort have no signal of their own.
#[test]
fn inc_29_peers_without_a_code_have_no_finding() {
    let cluster = node_of(4, 0, |board| code(board, -HOUR / 4, 79.0));
    for peer in ["n1-1", "n1-2", "n1-3"] {
        assert_eq!(line(&verdict(&cluster, peer)), "clear");
    }
}

/// The third scenario: everything about one GPU in one finding, the throttling one left to THERM.
#[test]
fn all_signs_of_one_gpu_are_one_finding() {
    let cluster = node_with(4, 3, &[(-1800, 4), (-380, 3)], 2, |board| {
        code(board, -420, 48.0);
        board.steady(Signal::RowRemapFailure, -420, 1.0);
        board.steady(Signal::EccDoubleBitVolatile, -600, 0.0);
        board.steady(Signal::EccDoubleBitVolatile, -420, 2.0);
        for at in (-600..0).step_by(30) {
            board.read(Signal::NvlinkCrcFlit, &[(at, (600 + at) as f64 * 150.0)]);
        }
    })
    .change_node("n1", |node| {
        node.conditions.push(NodeCondition {
            kind: "GPUXIDErrors".into(),
            status: "True".into(),
            reason: "XID48".into(),
            message: "GPU has XID errors".into(),
            heartbeat: Some(at(-60)),
            changed: Some(at(-400)),
        });
    });
    let found = finding(&cluster, "n1-2");
    assert_eq!(outcome(&cluster, "n1-2"), "xid_48 critical strong");
    assert_eq!(found.supporting.len(), 6, "{found:?}");
    assert_eq!(found.started, at(-420));
    let said = judge(&cluster);
    assert_eq!(line(&said["n1"]), "merged");
    assert_eq!(
        line(&said["n1-0"]),
        "undecided not_exported",
        "its sibling exports ECC"
    );
}
