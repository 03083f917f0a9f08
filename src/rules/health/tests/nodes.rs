use super::{
    Health, Thresholds, finding, index, judge, line, node_of, node_with, outcome, quiet, verdict,
};
use crate::finding::{Cause, Key, RuleId, Subject, Verdict};
use crate::incident::{Open, Transition, fold};
use crate::rules::Rule;
use crate::snapshot::{Completeness, ListState, Signal, Taint, TargetState};
use crate::testing::{Cluster, at};

/// A node of four that has offered three for so many seconds.
fn short(seconds: i64) -> Cluster {
    node_with(4, 3, &[(-1800, 4), (-seconds, 3)], 0, |_| {})
}

#[test]
fn allocatable_drop_by_how_long() {
    for (seconds, said) in [
        (60, "holds"),
        (119, "holds"),
        (120, "allocatable_drop warning contradicted"),
        (299, "allocatable_drop warning contradicted"),
        (300, "allocatable_drop critical contradicted"),
        (1700, "allocatable_drop critical contradicted"),
    ] {
        assert_eq!(line(&verdict(&short(seconds), "n1")), said, "{seconds}");
    }
    // Two observations, not one old one.
    let once = node_with(4, 3, &[], 0, |_| {});
    assert_eq!(line(&verdict(&once, "n1")), "holds");
    let found = finding(&short(400), "n1");
    assert!(
        found
            .summary
            .starts_with("node n1: 3 of 4 GPUs allocatable since")
    );
    assert!(
        found
            .contradicting
            .iter()
            .any(|e| e.text.contains("all 4 boards"))
    );
}

#[test]
fn planned_work_makes_lost_capacity_info_for_an_hour() {
    let cordoned = |seconds| short(seconds).change_node("n1", |node| node.unschedulable = true);
    assert!(outcome(&cordoned(400), "n1").starts_with("allocatable_drop info"));
    let long = node_with(4, 3, &[(-7200, 4), (-3600, 3)], 0, |_| {});
    let long = long.change_node("n1", |node| node.unschedulable = true);
    assert!(outcome(&long, "n1").starts_with("allocatable_drop critical"));
    for (key, value) in [
        (
            "nvidia.com/gpu.deploy.device-plugin",
            "paused-for-driver-upgrade",
        ),
        ("nvidia.com/gpu.deploy.dcgm", "paused-for-mig-change"),
        ("nvidia.com/mig.config.state", "pending"),
        ("nvidia.com/mig.config.state", "rebooting"),
    ] {
        let cluster = short(400).change_node("n1", |node| {
            node.labels.insert(key.into(), value.into());
        });
        assert!(outcome(&cluster, "n1").contains(" info "), "{key}={value}");
    }
    for key in ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"] {
        let cluster = short(400).change_node("n1", |node| {
            node.taints.push(Taint {
                key: key.into(),
                value: "".into(),
                effect: "NoSchedule".into(),
                added: None,
            });
        });
        assert!(outcome(&cluster, "n1").contains(" info "), "{key}");
    }
    for (age, severity) in [(1199, " info "), (1200, " critical ")] {
        let young = short(400).change_node("n1", |node| node.created = at(-age));
        assert!(outcome(&young, "n1").contains(severity), "{age}");
    }
    // XID, ECC and remaps are never mild for it.
    let fault = node_with(4, 3, &[(-600, 4), (-400, 3)], 1, |board| {
        board
            .read(Signal::Xid, &[(-420, 79.0)])
            .steady(Signal::Xid, -390, 79.0);
    })
    .change_node("n1", |node| node.unschedulable = true);
    assert_eq!(outcome(&fault, "n1-1"), "xid_79 critical strong");
}

#[test]
fn a_nodes_signs_join_the_one_board_that_can_explain_them() {
    let fault = |which| {
        node_with(4, 3, &[(-600, 4), (-400, 3)], which, |board| {
            board
                .read(Signal::Xid, &[(-420, 48.0)])
                .steady(Signal::Xid, -390, 48.0);
        })
    };
    let cluster = fault(2);
    let found = finding(&cluster, "n1-2");
    assert_eq!(found.supporting.len(), 2, "{found:?}");
    assert!(
        found.summary.contains("3 of 4 GPUs allocatable"),
        "{}",
        found.summary
    );
    let board = Key {
        rule: RuleId::Health,
        subject: Subject::Gpu {
            node: Some("n1".into()),
            uuid: "n1-2".into(),
        },
        aspect: None,
    };
    assert_eq!(verdict(&cluster, "n1"), Verdict::Merged(vec![board]));
    // A second board in trouble: the loss is the node's again.
    let two = fault(2).gpu("n1-9", "n1", |board| {
        quiet(board);
        index(board, 9);
        board.steady(Signal::RowRemapPending, -300, 1.0);
    });
    let found = finding(&two, "n1");
    assert_eq!(found.cause, Cause::AllocatableDrop);
    assert!(
        found
            .missing
            .iter()
            .any(|e| e.text.contains("GPU 2 of n1, GPU 9 of n1"))
    );
    assert_eq!(finding(&two, "n1-2").supporting.len(), 1);
}

#[test]
fn every_gpu_withheld_at_once_is_the_plugin() {
    let none = |seconds: i64| node_with(8, 0, &[(-1800, 8), (-seconds, 0)], 0, |_| {});
    for (seconds, said) in [
        (119, "holds"),
        (120, "device_plugin_down warning moderate"),
        (599, "device_plugin_down warning moderate"),
        (600, "device_plugin_down critical moderate"),
    ] {
        assert_eq!(line(&verdict(&none(seconds), "n1")), said, "{seconds}");
    }
    // A mild sign on one board does not explain it; an XID on one does.
    let mild = node_with(8, 0, &[(-600, 8), (-400, 0)], 0, |board| {
        board.steady(Signal::RowRemapPending, -300, 1.0);
    });
    assert!(outcome(&mild, "n1").starts_with("device_plugin_down"));
    let xid = node_with(8, 0, &[(-600, 8), (-400, 0)], 0, |board| {
        board
            .read(Signal::Xid, &[(-420, 79.0)])
            .steady(Signal::Xid, -390, 79.0);
    });
    assert_eq!(line(&verdict(&xid, "n1")), "merged");
}

#[test]
fn gpu_labels_without_the_resource() {
    let labelled = |label: (&str, &str)| {
        node_with(2, 0, &[(-1800, 0)], 9, |_| {}).change_node("n1", |node| {
            node.capacity.clear();
            node.allocatable.clear();
            node.labels
                .insert("nvidia.com/gpu.count".into(), "2".into());
            node.labels.insert(label.0.into(), label.1.into());
        })
    };
    let key = "nvidia.com/gpu.deploy.device-plugin";
    let expected = labelled((key, "true"));
    assert_eq!(
        outcome(&expected, "n1"),
        "device_plugin_down critical moderate"
    );
    assert_eq!(line(&verdict(&labelled((key, "false")), "n1")), "clear");
}

#[test]
fn zero_of_zero_is_not_offered() {
    let cluster = node_of(2, 9, |_| {}).change_node("n1", |node| {
        node.capacity.insert("nvidia.com/mig-1g.10gb".into(), 0);
        node.allocatable.insert("nvidia.com/mig-1g.10gb".into(), 0);
    });
    assert_eq!(line(&verdict(&cluster, "n1")), "clear");
}

#[test]
fn counts_that_disagree() {
    let gone = |seconds: i64| node_of(4, 9, |_| {}).silence("n1-3", Some(-seconds));
    for (seconds, said) in [
        (60, "clear"),
        (90, "clear"),
        (120, "gpu_count_mismatch warning moderate"),
        (240, "gpu_count_mismatch warning moderate"),
        (270, "gpu_count_mismatch critical moderate"),
    ] {
        assert_eq!(line(&verdict(&gone(seconds), "n1")), said, "{seconds}");
    }
    let found = finding(&gone(330), "n1");
    assert!(
        found.facts.iter().any(|fact| fact.value == "n1-3"),
        "{found:?}"
    );
    // Feature discovery counts one more than telemetry shows.
    let label = node_of(4, 9, |_| {}).change_node("n1", |node| {
        node.labels
            .insert("nvidia.com/gpu.count".into(), "5".into());
    });
    assert_eq!(
        outcome(&label, "n1"),
        "gpu_count_mismatch critical moderate"
    );
    // More boards than Kubernetes knows are no lost board.
    let more = node_of(4, 9, |_| {}).gpu("n1-9", "n1", |board| {
        quiet(board);
        index(board, 9);
    });
    assert_eq!(outcome(&more, "n1"), "gpu_count_mismatch warning moderate");
}

#[test]
fn counts_are_not_compared_where_the_resource_counts_something_else() {
    let shared = node_with(4, 16, &[], 9, |_| {}).change_node("n1", |node| {
        node.capacity.insert("nvidia.com/gpu".into(), 16);
        node.labels
            .insert("nvidia.com/gpu.replicas".into(), "4".into());
        node.labels
            .insert("nvidia.com/gpu.count".into(), "4".into());
    });
    assert_eq!(line(&verdict(&shared, "n1")), "clear");
    let mig = node_with(4, 28, &[], 9, |_| {}).change_node("n1", |node| {
        node.capacity.insert("nvidia.com/gpu".into(), 28);
        node.labels
            .insert("nvidia.com/gpu.count".into(), "28".into());
        let product = "NVIDIA-H100-80GB-HBM3-MIG-1g.10gb";
        node.labels
            .insert("nvidia.com/gpu.product".into(), product.into());
    });
    assert_eq!(line(&verdict(&mig, "n1")), "clear");
}

#[test]
fn a_new_machine_of_the_same_name_owes_nobody_a_board() {
    let cluster = node_of(2, 9, |_| {})
        .gpu("old", "n1", |board| {
            quiet(board);
            index(board, 12);
        })
        .silence("old", Some(-400));
    assert!(outcome(&cluster, "n1").starts_with("gpu_count_mismatch"));
    let newer = cluster.change_node("n1", |node| node.created = at(-350));
    assert_eq!(line(&verdict(&newer, "n1")), "clear");
}

#[test]
fn an_incomplete_list_decides_nothing() {
    let stale = ListState::Synced(at(-300));
    for (nodes, board) in [
        (stale, "undecided inventory_incomplete"),
        (ListState::Failed, "clear"),
    ] {
        let mut cluster = short(400);
        if nodes == ListState::Failed {
            cluster = Cluster::new().gpu("n1-0", "n1", quiet);
        }
        let cluster = cluster.with_lists(Completeness {
            nodes,
            pods: nodes,
            events: nodes,
        });
        let said = judge(&cluster);
        assert_eq!(
            line(&said["n1"]),
            "undecided inventory_incomplete",
            "{nodes:?}"
        );
        assert_eq!(line(&said["n1-0"]), board, "{nodes:?}");
    }
}

#[test]
fn a_kubelet_restart_speaks_against_the_gpu() {
    let cluster = short(400).node_event("n1", "Starting", -410);
    let found = finding(&cluster, "n1");
    assert!(
        found
            .contradicting
            .iter()
            .any(|e| e.text.contains("Starting")),
        "{found:?}"
    );
}

#[test]
fn a_loss_moves_between_node_and_board_and_no_incident_is_resolved_by_that() {
    let history = [(-1800, 4), (-400, 3)];
    let xid = |seconds: i64, zero: bool| {
        node_with(4, 3, &history, 2, move |board| {
            board
                .read(Signal::Xid, &[(seconds - 30, 0.0)])
                .steady(Signal::Xid, seconds, 48.0);
            if zero {
                board.steady(Signal::Xid, -60, 0.0);
            }
        })
    };
    let mut open = Open::new();
    let mut step = |cluster: &Cluster| {
        let snapshot = cluster.snapshot();
        let judgements = Health::new(Thresholds::default()).judge(&snapshot);
        let (next, transitions) = fold(&open, &judgements, &snapshot);
        open = next;
        transitions
            .iter()
            .filter_map(|transition| match transition {
                Transition::Opened(incident) => {
                    Some(format!("opened {}", incident.key.subject.place().uuid))
                }
                Transition::Closed(incident) => Some(format!(
                    "closed {} {:?}",
                    incident.key.subject.place().uuid,
                    incident.closed.as_ref().map(|closed| closed.how)
                )),
                Transition::Severity { .. } => None,
            })
            .collect::<Vec<_>>()
    };
    // First the loss alone: the node's.
    assert_eq!(step(&node_with(4, 3, &history, 9, |_| {})), ["opened "]);
    // Then an XID is told late: the board's.
    assert_eq!(
        step(&xid(-390, false)),
        ["closed  Some(Merged)", "opened n1-2"]
    );
    // The board was reset, and the plugin still holds it: the XID explains it.
    assert!(step(&xid(-390, true)).is_empty());
    // A code that came long after the loss does not explain it any more once it is over.
    assert_eq!(
        step(&xid(-120, true)),
        ["closed n1-2 Some(Merged)", "opened "]
    );
}

#[test]
fn a_cluster_that_hands_gpus_out_another_way_is_not_judged_by_the_plugin() {
    let cluster = node_with(2, 0, &[], 9, |_| {}).change_node("n1", |node| {
        node.capacity.clear();
        node.allocatable.clear();
        node.labels
            .insert("nvidia.com/gpu.count".into(), "2".into());
    });
    assert_eq!(line(&verdict(&cluster, "n1")), "undecided not_exported");
    // Another node offers the resource, so this one should.
    let other = cluster.node("n2", 4, &[], |_| {});
    assert_eq!(
        line(&verdict(&other, "n1")),
        "holds",
        "for less than the hold"
    );
}

#[test]
fn lost_replicas_are_counted_as_replicas() {
    let cluster = node_with(4, 12, &[(-600, 12)], 9, |_| {}).change_node("n1", |node| {
        node.capacity.insert("nvidia.com/gpu".into(), 16);
        node.labels
            .insert("nvidia.com/gpu.replicas".into(), "4".into());
    });
    let found = finding(&cluster, "n1");
    assert!(
        found.summary.contains("12 of 16 replicas of GPUs"),
        "{}",
        found.summary
    );
}

#[test]
fn boards_outside_of_kubernetes_have_no_node_to_compare() {
    let cluster = node_of(1, 9, |_| {}).gpu("static", "rack-7", quiet);
    let said = judge(&cluster);
    assert_eq!(line(&said["static"]), "clear");
    assert!(!said.contains_key("rack-7"), "{said:?}");
    // A node that the list once had and has no more: its board is not clear either.
    let scaled_in = cluster.boot("rack-7", -300, "a");
    assert_eq!(
        line(&judge(&scaled_in)["static"]),
        "undecided inventory_incomplete"
    );
    let silent = scaled_in.silence("static", Some(-300));
    assert!(!judge(&silent).contains_key("static"));
}

#[test]
fn a_board_that_did_not_come_back_with_its_exporter_is_missing() {
    let moved = |state: TargetState| {
        node_of(3, 9, |_| {})
            .change_node("n1", |node| {
                for numbers in [&mut node.capacity, &mut node.allocatable] {
                    numbers.insert("nvidia.com/gpu".into(), 4);
                }
            })
            .gpu("lost", "earlier-address", |board| {
                quiet(board);
                index(board, 3);
                board.identity.node = Some("n1".into());
            })
            .silence("lost", Some(-400))
            .target("earlier-address", |target| target.state = state)
    };
    let found = finding(&moved(TargetState::Up), "n1");
    assert_eq!(found.cause, Cause::GpuCountMismatch);
    assert!(
        found.facts.iter().any(|fact| fact.value == "lost"),
        "{found:?}"
    );
    // Where that target does not answer, nothing is known of its board.
    assert_eq!(
        line(&verdict(&moved(TargetState::Down), "n1")),
        "undecided blind"
    );
}

#[test]
fn a_product_that_is_named_shared_counts_replicas() {
    for (product, said) in [("NVIDIA-H100-SHARED", "clear"), ("NVIDIA-H100", "holds")] {
        let cluster = node_with(2, 8, &[(-600, 8)], 0, |_| {}).change_node("n1", |node| {
            node.capacity.insert("nvidia.com/gpu".into(), 8);
            node.labels
                .insert("nvidia.com/gpu.product".into(), product.into());
            node.labels
                .insert("nvidia.com/gpu.count".into(), "2".into());
        });
        assert_eq!(line(&verdict(&cluster, "n1")), said, "{product}");
    }
}
