//! Boards: vanished, frozen, stale, alone and together.

use super::*;
use crate::finding::Grade;
use crate::rules::RuleConfig;

#[test]
fn stale_beyond_its_limit() {
    for (age, want) in [(-179, "clear"), (-180, "clear"), (-181, "fires")] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", |b| silent_since(age)(b))
            .snapshot();
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &node("n1"), Cause::TelemetryStale),
            want,
            "{age}"
        );
        let own = word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryStale);
        assert_eq!(own, if want == "fires" { "merged" } else { "clear" });
    }
}

#[test]
fn frozen_beyond_its_limit() {
    for (age, want) in [(-180, "clear"), (-210, "fires")] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", frozen_since(age))
            .gpu("GPU-2", "n1", live)
            .snapshot();
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryFrozen),
            want,
            "{age}"
        );
        assert_ne!(
            word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryStale),
            "fires"
        );
    }
}

#[test]
fn one_of_eight_is_its_own_finding_and_all_are_the_nodes() {
    for (blind, want) in [
        (1, vec![Cause::TelemetryFrozen]),
        (7, vec![Cause::TelemetryFrozen; 7]),
        (8, vec![Cause::TelemetryFrozen]),
    ] {
        let mut cluster = Cluster::new();
        for index in 0..8 {
            let uuid = format!("GPU-{index}");
            cluster = if index < blind {
                cluster.gpu(&uuid, "n1", frozen_since(-600))
            } else {
                cluster.gpu(&uuid, "n1", live)
            };
        }
        let judgements = judge(&cluster.snapshot());
        assert_eq!(causes(&judgements), want, "{blind}");
        let of_node = word(&judgements, &node("n1"), Cause::TelemetryFrozen);
        assert_eq!(of_node, if blind == 8 { "fires" } else { "merged" });
    }
}

#[test]
fn stale_and_frozen_together_are_one_stale_node() {
    // Two exporters on one node: one repeats, the other no longer names its board.
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", frozen_since(-600))
        .gpu("GPU-2", "n1-b", |b| {
            silent_since(-900)(b);
            b.identity.node = Some("n1".into());
        })
        .target("n1-b", |t| t.node = Some("n1".into()))
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(
        only(&judgements).summary,
        "n1: the newest reading of its 2 GPUs is 10 min old"
    );
    assert_eq!(
        word(&judgements, &node("n1"), Cause::TelemetryFrozen),
        "merged"
    );
}

#[test]
fn boards_of_no_known_node_go_together_by_target() {
    let nameless = |age| {
        move |b: &mut Board| {
            silent_since(age)(b);
            b.identity.node = None;
        }
    };
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", nameless(-600))
        .gpu("GPU-2", "n1", nameless(-600))
        .target("n1", |t| t.node = None)
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(
        only(&judgements).summary,
        "http://n1:9400/metrics: the newest reading of its 2 GPUs is 10 min old"
    );
}

#[test]
fn vanished_from_its_hold_on_while_its_target_answers() {
    for (age, want) in [
        // Its sibling was last named 30 s ago: three collections without it are 120 s.
        (-60, "clear"),
        (-120, "clear"),
        (-121, "fires"),
    ] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", |b| silent_since(age)(b))
            .gpu("GPU-2", "n1", live)
            .snapshot();
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &gpu("n1", "GPU-1"), Cause::GpuVanished),
            want,
            "{age}"
        );
        assert_eq!(
            word(&judgements, &gpu("n1", "GPU-2"), Cause::GpuVanished),
            "clear"
        );
    }
}

#[test]
fn a_vanished_board_is_told_with_its_last_xid() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", |b| {
            silent_since(-600)(b);
            b.read(Signal::Xid, &[(-600, 79.0)]);
        })
        .gpu("GPU-2", "n1", live)
        .snapshot();
    let judgements = judge(&snapshot);
    let finding = only(&judgements);
    assert_eq!(finding.cause, Cause::GpuVanished);
    assert!(
        finding
            .supporting
            .iter()
            .any(|evidence| evidence.text.contains("XID 79")),
        "{finding:#?}"
    );
    assert_eq!(
        word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryStale),
        "merged"
    );
}

#[test]
fn silence_after_an_xid_is_told_with_it() {
    for (seconds, dated) in [(-600, true), (-1500, false)] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", |b| {
                silent_since(-600)(b);
                for later in (seconds..=-600).step_by(30) {
                    b.read(Signal::Xid, &[(later, 119.0)]);
                }
            })
            .target("n1", empty(-570))
            .snapshot();
        let judgements = judge(&snapshot);
        let finding = only(&judgements);
        assert_eq!(finding.cause, Cause::TargetEmpty);
        let quoted = |list: &[crate::finding::Evidence]| {
            list.iter()
                .any(|evidence| evidence.text.contains("XID 119"))
        };
        // What was there at first sight may be old: told, not counted as support.
        assert_eq!(quoted(&finding.supporting), dated);
        assert!(quoted(&finding.timeline));
    }
}

#[test]
fn a_board_missing_after_its_exporter_restarted_has_vanished() {
    // The new exporter pod has a new address, and names one board of two.
    let mut snapshot = Cluster::new()
        .gpu("GPU-2", "new", |b| {
            live(b);
            b.identity.node = Some("n1".into());
        })
        .target("new", |t| t.node = Some("n1".into()))
        .gpu("GPU-1", "old", |b| {
            silent_since(-300)(b);
            b.identity.node = Some("n1".into());
        })
        .target("old", |t| t.node = Some("n1".into()))
        .without_target("old")
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(causes(&judgements), [Cause::GpuVanished]);
    // The board that sits in its slot now ends the old one: nothing is said of it.
    let heir = snapshot.gpus[1].uuid.clone();
    snapshot.gpus[0].replaced_by = Some(heir);
    assert_eq!(causes(&judge(&snapshot)), []);
}

#[test]
fn mig_counts_by_the_board() {
    let with_instances = |last: i64| {
        move |b: &mut Board| {
            moving(b, -900, last);
            for id in 1..=7 {
                b.instance(id, Signal::GraphicsEngineActive, &[(last, 0.5)]);
            }
            // One instance was deleted long ago: no finding.
            b.instance(9, Signal::GraphicsEngineActive, &[(-800, 0.5)]);
        }
    };
    let cluster = |last| {
        Cluster::new()
            .gpu("GPU-1", "n1", with_instances(last))
            .gpu("GPU-2", "n1", live)
    };
    assert_eq!(causes(&judge(&cluster(-30).snapshot())), []);
    assert_eq!(
        causes(&judge(&cluster(-300).snapshot())),
        [Cause::GpuVanished]
    );
}

#[test]
fn hidden_free_gpus_speak_against_a_vanished_one() {
    for (sharing, want) in [(false, Grade::Strong), (true, Grade::Contradicted)] {
        let snapshot = Cluster::new()
            .with_kubernetes()
            .gpu("GPU-1", "n1", silent_since(-300))
            .gpu("GPU-2", "n1", live)
            .node("n1", 2, &[], |n| {
                if sharing {
                    n.labels
                        .insert("nvidia.com/gpu.sharing-strategy".into(), "mps".into());
                }
            })
            .snapshot();
        assert_eq!(only(&judge(&snapshot)).grade, want);
    }
}

#[test]
fn the_fleet_is_blind_from_a_fifth_on_three_nodes() {
    let fleet = |blind: usize, of: usize, age: i64| {
        let mut cluster = Cluster::new();
        for index in 0..of {
            let (uuid, name) = (format!("GPU-{index}"), format!("n{index}"));
            cluster = if index < blind {
                cluster
                    .gpu(&uuid, &name, silent_since(age))
                    .target(&name, down(age))
            } else {
                cluster.gpu(&uuid, &name, live)
            };
        }
        word(
            &judge(&cluster.snapshot()),
            &Subject::Cluster,
            Cause::FleetBlind,
        )
    };
    for (blind, of, age, want) in [
        (3, 15, -600, "fires"),
        (3, 15, -599, "holds"),
        (3, 16, -600, "clear"),
        (2, 5, -600, "clear"),
        (4, 4, -840, "merged"),
    ] {
        assert_eq!(fleet(blind, of, age), want, "{blind} of {of}, {age}");
    }
}

#[test]
fn the_fleet_counts_gpus_that_only_targets_tell_of() {
    let mut cluster = beside_a_healthy_node();
    for name in ["n1", "n2", "n3"] {
        cluster = cluster.target(name, |t| {
            down(-700)(t);
            t.gpus = 8;
        });
    }
    let snapshot = cluster.snapshot();
    let judgements = judge(&snapshot);
    let found = findings(&judgements);
    let fleet = found
        .iter()
        .find(|(subject, _)| **subject == Subject::Cluster)
        .expect("blind");
    assert_eq!(fleet.1.severity, Severity::Critical);
    assert!(
        fleet
            .1
            .summary
            .starts_with("24 of 25 GPUs (96 %) on 3 nodes"),
        "{}",
        fleet.1.summary
    );
}

#[test]
fn other_rules_wait_until_every_source_was_tried() {
    let rules = crate::rules::RuleSet::new(&RuleConfig::default());
    let cluster = Cluster::new().target("n1", |t| t.state = TargetState::Pending);
    let judged =
        crate::rules::judge_all(&rules, &cluster.snapshot(), &|| std::time::Duration::ZERO);
    let waiting: Vec<_> = judged
        .undecided
        .keys()
        .filter(|(_, reason)| *reason == crate::finding::Reason::WarmUp)
        .map(|(rule, _)| *rule)
        .collect();
    assert_eq!(
        waiting,
        crate::rules::ALL
            .iter()
            .map(|row| row.id)
            .collect::<Vec<_>>()
    );
    assert!(judged.runs.iter().all(|run| run.success));
}
