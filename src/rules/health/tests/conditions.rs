use super::{line, node_of, outcome, verdict};
use crate::snapshot::NodeCondition;
use crate::testing::at;

fn condition(kind: &str, status: &str, heartbeat: i64) -> NodeCondition {
    NodeCondition {
        kind: kind.into(),
        status: status.into(),
        reason: "".into(),
        message: "".into(),
        heartbeat: Some(at(heartbeat)),
        changed: Some(at(-1000)),
    }
}

#[test]
fn node_conditions() {
    let fires = "node_condition warning moderate";
    for (kind, status, heartbeat, said) in [
        ("GPUXIDErrors", "True", -100, fires),
        ("GPUXIDErrors", "True", -899, fires),
        ("GPUXIDErrors", "True", -900, "undecided blind"),
        ("GPUXIDErrors", "False", -100, "clear"),
        ("GpuEcc", "Unknown", -100, "undecided blind"),
        ("AcceleratedHardwareReady", "False", -100, fires),
        ("AcceleratedHardwareReady", "True", -100, "clear"),
        ("XidCriticalError", "True", -90_000, fires),
        ("UnhealthyNvidiaDevicePlugin", "True", -100, "clear"),
        ("IBLinkFlapping", "True", -100, "clear"),
        ("GPUClockThrottling", "True", -100, "clear"),
        ("RepeatedXID31OnDifferentGPU", "True", -100, "clear"),
        ("Ready", "Unknown", -100, "clear"),
        ("SomethingElse", "True", -100, "clear"),
    ] {
        let cluster = node_of(2, 9, |_| {}).change_node("n1", |node| {
            node.conditions.push(condition(kind, status, heartbeat));
        });
        assert_eq!(
            line(&verdict(&cluster, "n1")),
            said,
            "{kind} {status} {heartbeat}"
        );
    }
    // GKE's message is the boot id: another boot's codes are history.
    let other_boot = node_of(2, 9, |_| {}).change_node("n1", |node| {
        let mut condition = condition("XidCriticalError", "True", -100);
        condition.message = "boot-0".into();
        node.conditions.push(condition);
    });
    assert_eq!(line(&verdict(&other_boot, "n1")), "undecided blind");
    // EKS could not ask DCGM: telemetry, not a GPU.
    let telemetry = node_of(2, 9, |_| {}).change_node("n1", |node| {
        let mut condition = condition("AcceleratedHardwareReady", "False", -100);
        condition.reason = "DCGMError".into();
        node.conditions.push(condition);
    });
    assert_eq!(line(&verdict(&telemetry, "n1")), "clear");
}

#[test]
fn a_condition_that_names_a_board_is_about_it() {
    let cluster = |heartbeat| {
        node_of(2, 9, |_| {}).change_node("n1", |node| {
            let mut condition = condition("GpuMemWatch", "True", heartbeat);
            condition.message = "ErrorCode:DBE GPU:1 GPU_UUID:n1-1 Recommended Action=NONE".into();
            node.conditions.push(condition);
        })
    };
    assert_eq!(
        outcome(&cluster(-100), "n1-1"),
        "node_condition warning moderate"
    );
    assert_eq!(line(&verdict(&cluster(-100), "n1")), "merged");
    // Its agent died: that is no recovery of the board.
    assert_eq!(line(&verdict(&cluster(-2000), "n1-1")), "undecided blind");
    assert_eq!(line(&verdict(&cluster(-2000), "n1-0")), "clear");
}
