//! A large fleet: nothing here may look at every board or target for each board or node.

use super::{index, judge, line};
use crate::snapshot::{Signal, TargetState};
use crate::testing::Cluster;

/// With every board compared with every other this takes many minutes; else seconds.
const NODES: i64 = 20_000;

#[test]
fn a_large_fleet_with_one_code_everywhere_is_judged() {
    let mut cluster = Cluster::new().with_kubernetes();
    for at in 0..NODES {
        let name = format!("n{at}");
        let answers = at % 2 == 0;
        cluster = cluster
            .node(&name, 1, &[(-600, 1), (-400, 0), (-370, 0)], |node| {
                node.allocatable.insert("nvidia.com/gpu".into(), 0);
            })
            .node_event(&name, "NodeNotReady", -400)
            .gpu(&format!("g{at}"), &name, |board| {
                board.silent();
                index(board, 0);
                let last = if answers { -30 } else { -390 };
                board.read(Signal::PcieReplay, &[(last - 30, 0.0), (last, 0.0)]);
                board.read(Signal::Xid, &[(last - 30, 0.0), (last, 45.0)]);
            })
            .target(&name, |target| {
                if !answers {
                    target.state = TargetState::Down;
                }
            });
    }
    let said = judge(&cluster);
    assert_eq!(said.len() as i64, 2 * NODES);
    assert_eq!(line(&said["g0"]), "xid_45 info inconclusive");
    let silent = ["n1", "g1"].map(|name| line(&said[name]));
    let down = "device_plugin_down warning moderate";
    assert_eq!(silent, [down, "xid_45 info inconclusive"]);
}
