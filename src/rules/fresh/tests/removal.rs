//! Missing is never healthy: whatever evidence is taken away, nothing that fires becomes clear.

use super::*;
use crate::finding::Key;
use crate::snapshot::{Completeness, ListState};
use std::sync::Arc;

/// One piece of evidence, and how to take it away.
type Removal = (String, Box<dyn Fn(&mut ClusterSnapshot)>);

/// Clusters in which something fires.
#[allow(clippy::too_many_lines, reason = "a table")]
fn firing() -> Vec<(&'static str, ClusterSnapshot)> {
    let base = || beside_a_healthy_node().with_kubernetes();
    let disagree = |b: &mut Board| {
        live(b);
        b.steady(Signal::GpuUtilization, -900, 0.99);
        b.steady(Signal::GraphicsEngineActive, -900, 0.0);
    };
    let stuck = |b: &mut Board| {
        live(b);
        b.steady(Signal::PowerUsage, -900, 70.0);
    };
    let mut fleet = base();
    for index in 0..4 {
        let name = format!("f{index}");
        fleet = fleet.gpu(&format!("GPU-{name}"), &name, silent_since(-840));
        if index > 1 {
            fleet = fleet.target(&name, down(-840));
        }
    }
    let refused = {
        let failed = ListState::Failed;
        let mut snapshot = base()
            .with_lists(Completeness {
                nodes: failed,
                pods: failed,
                events: failed,
            })
            .snapshot();
        status(&mut snapshot, SourceId::Kubernetes).error = Some(SourceError {
            kind: ErrorKind::Forbidden,
            message: "list pods: 403".to_owned(),
        });
        snapshot
    };
    let old = ListState::Synced(at(-900));
    let wrong = base()
        .gpu("GPU-1", "n1", |b| {
            moving(b, -7200, -30).held_by("train", -7200, 0);
        })
        .node("n1", 1, &[], |_| {})
        .pod("train", "n2", 1, |_| {});
    vec![
        (
            "unreachable",
            base()
                .gpu("GPU-1", "n1", silent_since(-840))
                .target("n1", down(-840))
                .snapshot(),
        ),
        (
            "source gone",
            Cluster::new()
                .target("n1", down(-840))
                .target("n2", down(-840))
                .snapshot(),
        ),
        (
            "empty",
            base()
                .gpu("GPU-1", "n1", silent_since(-840))
                .target("n1", empty(-840))
                .snapshot(),
        ),
        (
            "vanished",
            base()
                .gpu("GPU-1", "n1", silent_since(-840))
                .gpu("GPU-2", "n1", live)
                .snapshot(),
        ),
        (
            "frozen",
            base()
                .gpu("GPU-1", "n1", frozen_since(-840))
                .gpu("GPU-2", "n1", live)
                .snapshot(),
        ),
        (
            "frozen node",
            base().gpu("GPU-1", "n1", frozen_since(-840)).snapshot(),
        ),
        ("stuck", base().gpu("GPU-1", "n1", stuck).snapshot()),
        (
            "stale node",
            base()
                .gpu("GPU-1", "n1", silent_since(-840))
                .gpu("GPU-2", "n1", silent_since(-840))
                .snapshot(),
        ),
        (
            "disagreement",
            base().gpu("GPU-1", "n1", disagree).snapshot(),
        ),
        ("uncovered", base().node("n1", 8, &[], |_| {}).snapshot()),
        (
            "unlabelled",
            base()
                .gpu("GPU-1", "n1", live)
                .node("n1", 1, &[], |_| {})
                .pod("train", "n1", 1, |_| {})
                .snapshot(),
        ),
        ("labels", wrong.snapshot()),
        ("fleet", fleet.snapshot()),
        (
            "api stale",
            base()
                .with_lists(Completeness {
                    nodes: old,
                    pods: old,
                    events: old,
                })
                .snapshot(),
        ),
        ("api refuses", refused),
    ]
}

/// Everything that can be missing from a snapshot, piece by piece.
#[allow(clippy::too_many_lines, reason = "a table")]
fn removals(snapshot: &ClusterSnapshot) -> Vec<Removal> {
    let mut removals: Vec<Removal> = Vec::new();
    let mut add = |name: String, remove: Box<dyn Fn(&mut ClusterSnapshot)>| {
        removals.push((name, remove));
    };
    for (place, source) in snapshot.sources.iter().enumerate() {
        add(
            format!("source {place}"),
            Box::new(move |s| _ = s.sources.remove(place)),
        );
        add(
            format!("lists of {place}"),
            Box::new(move |s| s.sources[place].lists = None),
        );
        add(
            format!("error of {place}"),
            Box::new(move |s| s.sources[place].error = None),
        );
        add(
            format!("success of {place}"),
            Box::new(move |s| s.sources[place].last_success = None),
        );
        add(
            format!("targets of {place}"),
            Box::new(move |s| s.sources[place].targets.clear()),
        );
        for at in 0..source.targets.len() {
            let name = |what| format!("{what} of target {at}");
            add(
                name("status"),
                Box::new(move |s| _ = s.sources[place].targets.remove(at)),
            );
            add(
                name("success"),
                Box::new(move |s| s.sources[place].targets[at].last_success = None),
            );
            add(
                name("emptiness"),
                Box::new(move |s| s.sources[place].targets[at].empty_since = None),
            );
            add(
                name("error"),
                Box::new(move |s| s.sources[place].targets[at].error = None),
            );
            add(
                name("node"),
                Box::new(move |s| s.sources[place].targets[at].node = None),
            );
            add(
                name("GPUs"),
                Box::new(move |s| s.sources[place].targets[at].gpus = 0),
            );
            add(
                name("attempt"),
                Box::new(move |s| s.sources[place].targets[at].state = TargetState::Pending),
            );
        }
    }
    for list in [
        ListState::Pending,
        ListState::Failed,
        ListState::Synced(at(-3600)),
        ListState::NotConfigured,
    ] {
        add(
            format!("nodes {list:?}"),
            Box::new(move |s| s.inventory.complete.nodes = list),
        );
        add(
            format!("pods {list:?}"),
            Box::new(move |s| s.inventory.complete.pods = list),
        );
    }
    add("nodes".into(), Box::new(|s| s.inventory.nodes.clear()));
    add(
        "capacities".into(),
        Box::new(|s| {
            for node in s.inventory.nodes.values_mut() {
                Arc::make_mut(node).capacity.clear();
            }
        }),
    );
    add("node history".into(), Box::new(|s| s.nodes.clear()));
    add("terminations".into(), Box::new(|s| s.terminations.clear()));
    add("warmth".into(), Box::new(|s| s.warm = false));
    for (place, gpu) in snapshot.gpus.iter().enumerate() {
        add(
            format!("board {place}"),
            Box::new(move |s| _ = s.gpus.remove(place)),
        );
        for (at, (key, track)) in gpu.board.tracks.iter().enumerate() {
            let name = |what| format!("{what} of {} of board {place}", key.signal.spec().name);
            add(
                name("series"),
                Box::new(move |s| {
                    _ = Arc::make_mut(&mut s.gpus[place].board).tracks.remove(at);
                }),
            );
            let keep = track.points().len() / 2;
            add(
                name("older points"),
                Box::new(move |s| {
                    let (_, track) = &mut Arc::make_mut(&mut s.gpus[place].board).tracks[at];
                    track.lose(keep);
                }),
            );
        }
    }
    removals
}

#[test]
fn taking_evidence_away_never_clears() {
    for (what, snapshot) in firing() {
        let fired = |snapshot: &ClusterSnapshot| -> Vec<Key> {
            judge(snapshot)
                .into_iter()
                .filter(|judgement| matches!(judgement.verdict, Verdict::Fires(_)))
                .map(|judgement| judgement.key)
                .collect()
        };
        let keys = fired(&snapshot);
        assert!(!keys.is_empty(), "{what} fires");
        for (name, remove) in removals(&snapshot) {
            let mut less = snapshot.clone();
            remove(&mut less);
            for judgement in judge(&less) {
                if keys.contains(&judgement.key) {
                    assert_ne!(
                        judgement.verdict,
                        Verdict::Clear,
                        "{what} without {name}: {:?}",
                        judgement.key
                    );
                }
            }
        }
    }
}

/// The same through history: a series that is not exported at all, where another board's are.
#[test]
fn what_is_not_exported_is_neither_frozen_nor_moving() {
    for signal in [Signal::Energy, Signal::PowerUsage] {
        let other = if signal == Signal::Energy {
            Signal::PowerUsage
        } else {
            Signal::Energy
        };
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", |b| {
                b.silent().steady(other, -900, 300.0);
            })
            .snapshot();
        let judgements = judge(&snapshot);
        assert_eq!(causes(&judgements), []);
        assert_eq!(
            word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryFrozen),
            "undecided"
        );
    }
}

/// A history that began five minutes ago has not seen what fired before, nor that it is over.
#[test]
fn a_short_history_proves_no_movement() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", |b| {
            moving(b, -300, -30).steady(Signal::PowerUsage, -300, 70.0);
        })
        .snapshot();
    let judgements = judge(&snapshot);
    for subject in [node("n1"), gpu("n1", "GPU-1")] {
        assert_eq!(
            word(&judgements, &subject, Cause::TelemetryFrozen),
            "undecided"
        );
    }
}
