//! Nodes against targets, pods against labels.

use super::*;
use crate::finding::Reason;
use crate::snapshot::{Completeness, ListState, Node, PodPhase};

/// A node with two live boards that name nobody.
fn unlabelled() -> Cluster {
    Cluster::new()
        .with_kubernetes()
        .gpu("GPU-1", "n1", live)
        .gpu("GPU-2", "n1", live)
        .node("n1", 2, &[], |_| {})
}

fn of(cluster: &Cluster, cause: Cause) -> &'static str {
    word(&judge(&cluster.snapshot()), &node("n1"), cause)
}

#[test]
fn unlabelled_from_its_hold_on() {
    for (started, created, want) in [
        (Some(-599), -7200, "holds"),
        (Some(-600), -7200, "fires"),
        (Some(-601), -7200, "fires"),
        // Without a start the creation counts.
        (None, -599, "holds"),
        (None, -600, "fires"),
    ] {
        let cluster = unlabelled().pod("train", "n1", 2, |p| {
            p.started = started.map(at);
            p.created = at(created);
        });
        assert_eq!(of(&cluster, Cause::PodsUnlabelled), want, "{started:?}");
    }
}

#[test]
fn unlabelled_only_while_pods_hold_gpus_and_no_series_names_one() {
    for (what, cluster, want) in [
        ("no pod", unlabelled(), "clear"),
        (
            "a pending pod",
            unlabelled().pod("train", "n1", 2, |p| p.phase = PodPhase::Pending),
            "clear",
        ),
        (
            "a pod without GPUs",
            unlabelled().pod("train", "n1", 0, |p| p.gpu_requests.clear()),
            "clear",
        ),
        (
            "one board names a pod",
            unlabelled()
                .gpu("GPU-3", "n1", |b| {
                    live(b);
                    b.held_by("train", -600, 0);
                })
                .pod("train", "n1", 2, |_| {}),
            "clear",
        ),
        (
            "labels were lost five minutes ago",
            unlabelled()
                .gpu("GPU-3", "n1", |b| {
                    live(b);
                    b.held_by("train", -900, -300);
                })
                .pod("train", "n1", 2, |_| {}),
            "holds",
        ),
        (
            "one board is silent",
            unlabelled()
                .gpu("GPU-3", "n1", silent_since(-300))
                .pod("train", "n1", 2, |_| {}),
            "undecided",
        ),
        (
            "readings came back five minutes ago",
            unlabelled()
                .gpu("GPU-3", "n1", |b| {
                    moving(b, -300, -30).read(Signal::PowerUsage, &[(-900, 299.0)]);
                })
                .pod("train", "n1", 2, |_| {}),
            "holds",
        ),
    ] {
        assert_eq!(of(&cluster, Cause::PodsUnlabelled), want, "{what}");
    }
}

type Change = Box<dyn FnOnce(&mut Node)>;

#[test]
fn sharing_makes_missing_labels_undecided() {
    let label = |key: &'static str, value: &'static str| {
        move |n: &mut Node| {
            n.labels.insert(key.into(), value.into());
        }
    };
    let shared = |n: &mut Node| {
        n.capacity.insert("nvidia.com/gpu.shared".into(), 8);
    };
    let cases: Vec<(Change, &str)> = vec![
        (
            Box::new(label("nvidia.com/gpu.sharing-strategy", "none")),
            "fires",
        ),
        (Box::new(label("nvidia.com/gpu.replicas", "1")), "fires"),
        (
            Box::new(label("nvidia.com/gpu.sharing-strategy", "time-slicing")),
            "undecided",
        ),
        (Box::new(label("nvidia.com/gpu.replicas", "4")), "undecided"),
        (
            Box::new(label(
                "nvidia.com/gpu.product",
                "NVIDIA-H100-80GB-HBM3-SHARED",
            )),
            "undecided",
        ),
        (Box::new(shared), "undecided"),
    ];
    for (row, (change, want)) in cases.into_iter().enumerate() {
        let cluster = unlabelled()
            .node("n1", 2, &[], change)
            .pod("train", "n1", 2, |_| {});
        assert_eq!(of(&cluster, Cause::PodsUnlabelled), want, "row {row}");
    }
}

#[test]
fn under_mig_the_likely_cause_is_named() {
    let snapshot = unlabelled()
        .node("n1", 0, &[], |n| {
            n.capacity.insert("nvidia.com/mig-1g.10gb".into(), 7);
        })
        .pod("train", "n1", 0, |p| {
            p.gpu_requests.insert("nvidia.com/mig-1g.10gb".into(), 1);
        })
        .snapshot();
    let judgements = judge(&snapshot);
    let finding = only(&judgements);
    assert!(finding.supporting.iter().any(|e| e.text.contains("MIG")));
}

/// A node whose board has named `train` for two hours.
fn labelled(from: i64) -> Cluster {
    Cluster::new()
        .with_kubernetes()
        .gpu("GPU-1", "n1", |b| {
            moving(b, -7200, -30).held_by("train", from, 0);
        })
        .node("n1", 1, &[], |_| {})
        .node("n2", 0, &[], |n| n.capacity.clear())
}

#[test]
fn labels_disagree_from_their_hold_on() {
    for (what, cluster, want) in [
        (
            "agree",
            labelled(-7000).pod("train", "n1", 1, |_| {}),
            "clear",
        ),
        (
            "elsewhere",
            labelled(-7200).pod("train", "n2", 1, |p| p.started = Some(at(-2699))),
            "holds",
        ),
        (
            "elsewhere",
            labelled(-7200).pod("train", "n2", 1, |p| p.started = Some(at(-2700))),
            "fires",
        ),
        (
            "named a moment ago only",
            labelled(-300).pod("train", "n2", 1, |p| p.started = Some(at(-7200))),
            "holds",
        ),
        (
            "finished, nobody saw when",
            labelled(-7200).pod("train", "n1", 1, |p| p.phase = PodPhase::Succeeded),
            "undecided",
        ),
        ("gone, nobody saw when", labelled(-7200), "undecided"),
        (
            "perhaps its predecessor's label",
            labelled(-7200).pod("train", "n1", 1, |p| p.created = at(-60)),
            "undecided",
        ),
    ] {
        assert_eq!(of(&cluster, Cause::LabelsDisagree), want, "{what}");
    }
}

#[test]
fn the_end_of_a_gone_pod_dates_its_label() {
    for (ended, want) in [(-2699, "holds"), (-2700, "fires")] {
        let mut snapshot = labelled(-7200).snapshot();
        snapshot.terminations.push(crate::snapshot::Termination {
            kind: crate::snapshot::TerminationKind::Container,
            uid: "uid-train".into(),
            namespace: "ml".into(),
            pod: "train".into(),
            container: "main".into(),
            node: Some("n1".into()),
            owner: None,
            exit_code: Some(0),
            reason: "Completed".into(),
            message: "".into(),
            started: None,
            finished: Some(at(ended)),
            restarts: 0,
        });
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &node("n1"), Cause::LabelsDisagree),
            want,
            "{ended}"
        );
    }
}

#[test]
fn a_node_without_a_target_from_its_hold_on() {
    for (watched, age, want) in [
        (-599, 86_400, "holds"),
        (-600, 86_400, "fires"),
        (-86_400, 599, "holds"),
        (-86_400, 899, "holds"),
        (-86_400, 900, "fires"),
        (-86_400, 1200, "fires"),
    ] {
        let mut snapshot = beside_a_healthy_node()
            .with_kubernetes()
            .node("n1", 8, &[], |n| n.created = at(-age))
            .snapshot();
        status(&mut snapshot, SourceId::Dcgm).since = at(watched);
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &node("n1"), Cause::NodeWithoutTelemetry),
            want,
            "{watched} {age}"
        );
    }
}

#[test]
fn nodes_are_compared_with_targets_only_where_that_can_be() {
    let base = || beside_a_healthy_node().with_kubernetes();
    for (what, cluster, want) in [
        (
            "covered",
            base().node("n1", 8, &[], |_| {}).target("n1", |_| {}),
            "clear",
        ),
        (
            "covered by one that is down",
            base().node("n1", 8, &[], |_| {}).target("n1", down(-300)),
            "clear",
        ),
        (
            "MIG profile at 0",
            base().node("n1", 0, &[], |_| {}),
            "clear",
        ),
        (
            "no GPU at all",
            base().node("n1", 0, &[], |n| n.capacity.clear()),
            "",
        ),
        (
            "another device",
            base().node("n1", 0, &[], |n| {
                n.capacity.clear();
                n.capacity.insert("nvidia.com/hostdev".into(), 8);
            }),
            "",
        ),
        (
            "a target of no known node",
            base()
                .node("n1", 8, &[], |_| {})
                .target("x", |t| t.node = None),
            "undecided",
        ),
        (
            "an old list",
            base().node("n1", 8, &[], |_| {}).with_lists(Completeness {
                nodes: ListState::Synced(at(-181)),
                ..Completeness::default()
            }),
            "undecided",
        ),
        (
            "GPUs offered for five minutes",
            base()
                .node("n1", 8, &[], |_| {})
                .capacity("n1", &[(-660, 0), (-300, 8)]),
            "holds",
        ),
    ] {
        assert_eq!(of(&cluster, Cause::NodeWithoutTelemetry), want, "{what}");
    }
}

#[test]
fn a_node_that_lost_its_target_is_one_finding() {
    for (age, stale, uncovered) in [(-300, "holds", "holds"), (-700, "merged", "fires")] {
        let snapshot = beside_a_healthy_node()
            .with_kubernetes()
            .gpu("GPU-1", "n1", silent_since(age))
            .without_target("n1")
            .node("n1", 1, &[], |_| {})
            .snapshot();
        let judgements = judge(&snapshot);
        let of = |cause| word(&judgements, &node("n1"), cause);
        assert_eq!(of(Cause::TelemetryStale), stale);
        assert_eq!(of(Cause::NodeWithoutTelemetry), uncovered);
    }
}

#[test]
fn without_kubernetes_nodes_and_pods_are_not_compared() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", live)
        .node("n1", 2, &[], |_| {})
        .pod("train", "n1", 2, |_| {})
        .snapshot();
    for judgement in judge(&snapshot) {
        assert!(!matches!(
            judgement.key.aspect,
            Some(
                Cause::PodsUnlabelled
                    | Cause::LabelsDisagree
                    | Cause::NodeWithoutTelemetry
                    | Cause::KubernetesStale
                    | Cause::KubernetesForbidden
            )
        ));
    }
}

#[test]
fn incomplete_lists_decide_nothing_about_pods() {
    for pods in [
        ListState::Pending,
        ListState::Failed,
        ListState::Synced(at(-181)),
    ] {
        let snapshot = unlabelled()
            .pod("train", "n1", 2, |_| {})
            .with_lists(Completeness {
                nodes: ListState::Synced(at(0)),
                pods,
                events: ListState::Synced(at(0)),
            })
            .snapshot();
        for judgement in judge(&snapshot) {
            if matches!(
                judgement.key.aspect,
                Some(Cause::PodsUnlabelled | Cause::LabelsDisagree)
            ) {
                assert_eq!(
                    judgement.verdict,
                    Verdict::Undecided(Reason::InventoryIncomplete)
                );
            }
        }
    }
}
