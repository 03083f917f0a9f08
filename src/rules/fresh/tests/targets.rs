//! Targets and the source that they make up.

use super::*;
use crate::snapshot::SourceState;

fn unreachable(cluster: &Cluster, name: &str) -> &'static str {
    word(
        &judge(&cluster.snapshot()),
        &target(name),
        Cause::TargetUnreachable,
    )
}

#[test]
fn unreachable_from_its_hold_on() {
    for (quiet, state, rolling, node_age, want) in [
        (-89, TargetState::Down, false, 86_400, "holds"),
        (-90, TargetState::Down, false, 86_400, "fires"),
        (-91, TargetState::Down, false, 86_400, "fires"),
        (-599, TargetState::Down, true, 86_400, "holds"),
        (-600, TargetState::Down, true, 86_400, "fires"),
        (-600, TargetState::Down, false, 1199, "holds"),
        (-899, TargetState::Down, true, 1199, "holds"),
        (-900, TargetState::Down, true, 1199, "fires"),
        (-600, TargetState::Down, false, 1200, "fires"),
        (-5, TargetState::Up, false, 86_400, "clear"),
        (-90, TargetState::Up, false, 86_400, "clear"),
        // Nobody has asked for a while: neither well nor unreachable.
        (-91, TargetState::Up, false, 86_400, "undecided"),
        (-5, TargetState::Pending, false, 86_400, "undecided"),
    ] {
        let cluster = beside_a_healthy_node()
            .with_kubernetes()
            .node("n1", 1, &[], |n| n.created = at(-node_age))
            .target("n1", |t| {
                t.state = state;
                t.last_success = Some(at(quiet));
                t.rolling_out = rolling;
            });
        assert_eq!(
            unreachable(&cluster, "n1"),
            want,
            "{quiet} {state:?} {rolling} {node_age}"
        );
    }
}

#[test]
fn three_intervals_where_they_are_longer() {
    let mut snapshot = beside_a_healthy_node().target("n1", down(-100)).snapshot();
    snapshot.interval = jiff::SignedDuration::from_secs(60);
    let got = |snapshot: &ClusterSnapshot| {
        word(&judge(snapshot), &target("n1"), Cause::TargetUnreachable)
    };
    assert_eq!(got(&snapshot), "holds");
    snapshot.interval = jiff::SignedDuration::from_secs(30);
    assert_eq!(got(&snapshot), "fires");
}

#[test]
fn a_target_that_never_answered_counts_from_when_it_became_one() {
    for (since, want) in [(-89, "holds"), (-90, "fires")] {
        let cluster = beside_a_healthy_node().target("n1", |t| {
            t.state = TargetState::Down;
            t.since = at(since);
            t.last_success = None;
        });
        assert_eq!(unreachable(&cluster, "n1"), want);
    }
}

#[test]
fn every_kind_of_error_is_told_in_words() {
    for kind in ErrorKind::ALL {
        let snapshot = beside_a_healthy_node()
            .target("n1", |t| {
                down(-300)(t);
                t.error = Some(SourceError {
                    kind,
                    message: "GET http://n1:9400/metrics: it failed".to_owned(),
                });
            })
            .snapshot();
        let judgements = judge(&snapshot);
        let finding = only(&judgements);
        let (what, advice) = super::super::remedy::words(kind);
        assert_eq!(
            finding.summary,
            format!("n1: its telemetry target has not answered for 5 min: {what}")
        );
        assert_eq!(finding.checklist[0].text, advice);
        assert_eq!(finding.severity, Severity::Warning);
        assert_eq!(finding.started, at(-300));
    }
}

#[test]
fn empty_beyond_its_hold() {
    for (since, want) in [(-59, "holds"), (-60, "holds"), (-61, "fires")] {
        let snapshot = beside_a_healthy_node()
            .target("n1", empty(since))
            .snapshot();
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &target("n1"), Cause::TargetEmpty),
            want,
            "{since}"
        );
        assert_eq!(
            word(&judgements, &target("n1"), Cause::TargetUnreachable),
            "clear"
        );
    }
}

#[test]
fn a_page_of_other_things_is_told_from_an_empty_one() {
    for (samples, want) in [
        (0, "a host engine that started before the driver"),
        (12, "the page has samples (12), none with the UUID of a GPU"),
    ] {
        let with = |target: &mut TargetStatus| {
            empty(-300)(target);
            target.samples = samples;
        };
        let snapshot = beside_a_healthy_node().target("n1", with).snapshot();
        let judgements = judge(&snapshot);
        let text = &only(&judgements).supporting[0].text;
        assert!(text.contains(want), "{text}");
    }
}

#[test]
fn labels_that_were_aggregated_away_are_told() {
    let with = |target: &mut TargetStatus| {
        empty(-300)(target);
        target.samples = 3;
        target.unlabelled = Some(crate::snapshot::Unlabelled {
            samples: 3,
            example: "DCGM_FI_DEV_XID_ERRORS".into(),
        });
    };
    let snapshot = beside_a_healthy_node().target("n1", with).snapshot();
    let judgements = judge(&snapshot);
    let texts = only(&judgements).supporting.iter().map(|e| &*e.text);
    let texts: Vec<_> = texts.collect();
    assert_eq!(
        texts,
        [
            "3 samples of known metrics carry no GPU label (e.g. DCGM_FI_DEV_XID_ERRORS): labels \
             may have been aggregated away"
        ]
    );
}

#[test]
fn empty_beside_no_gpu_is_contradicted() {
    let snapshot = beside_a_healthy_node()
        .with_kubernetes()
        .node("n1", 0, &[], |n| n.capacity.clear())
        .target("n1", empty(-300))
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(only(&judgements).grade, crate::finding::Grade::Contradicted);
}

#[test]
fn an_unreachable_target_takes_its_emptiness_and_its_gpus_with_it() {
    let snapshot = beside_a_healthy_node()
        .gpu("GPU-1", "n1", silent_since(-840))
        .gpu("GPU-2", "n1", silent_since(-840))
        .target("n1", |t| {
            empty(-840)(t);
            down(-800)(t);
        })
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(causes(&judgements), [Cause::TargetUnreachable]);
    for (subject, cause) in [
        (target("n1"), Cause::TargetEmpty),
        (gpu("n1", "GPU-1"), Cause::TelemetryStale),
        (gpu("n1", "GPU-1"), Cause::TelemetryFrozen),
        (gpu("n1", "GPU-1"), Cause::GpuVanished),
        (node("n1"), Cause::TelemetryStale),
        (node("n1"), Cause::TelemetryFrozen),
    ] {
        assert_eq!(word(&judgements, &subject, cause), "merged", "{cause:?}");
    }
    assert_eq!(
        word(&judgements, &dcgm(), Cause::TargetUnreachable),
        "merged"
    );
}

#[test]
fn staleness_waits_with_a_target_inside_its_hold() {
    let snapshot = beside_a_healthy_node()
        .gpu("GPU-1", "n1", silent_since(-300))
        .target("n1", |t| {
            down(-300)(t);
            t.rolling_out = true;
        })
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(causes(&judgements), []);
    for subject in [node("n1"), gpu("n1", "GPU-1")] {
        assert_eq!(word(&judgements, &subject, Cause::TelemetryStale), "holds");
    }
}

#[test]
fn of_two_targets_on_a_node_the_answering_one_speaks_against_it() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", live)
        .target("n1-old", |t| {
            down(-300)(t);
            t.node = Some("n1".into());
        })
        .snapshot();
    let judgements = judge(&snapshot);
    let finding = only(&judgements);
    assert!(
        finding
            .contradicting
            .iter()
            .any(|evidence| evidence.text.contains("another target")),
        "{finding:#?}"
    );
    assert_eq!(
        word(&judgements, &gpu("n1", "GPU-1"), Cause::TelemetryStale),
        "clear"
    );
}

#[test]
fn a_source_without_any_target_left_is_one_critical_finding() {
    let mut cluster = Cluster::new();
    for name in ["n1", "n2", "n3", "n4"] {
        cluster = cluster
            .gpu(&format!("GPU-{name}"), name, silent_since(-840))
            .target(name, down(-840));
    }
    let snapshot = cluster.snapshot();
    let judgements = judge(&snapshot);
    let finding = only(&judgements);
    assert_eq!(finding.severity, Severity::Critical);
    assert_eq!(
        word(&judgements, &dcgm(), Cause::TargetUnreachable),
        "fires"
    );
    assert_eq!(
        word(&judgements, &target("n1"), Cause::TargetUnreachable),
        "merged"
    );
    assert_eq!(
        word(&judgements, &Subject::Cluster, Cause::FleetBlind),
        "merged"
    );

    // One comes back: the others stand for themselves again.
    let some = cluster.target("n1", |t| {
        t.state = TargetState::Up;
        t.last_success = Some(at(-5));
    });
    let judgements = judge(&some.snapshot());
    assert_eq!(
        word(&judgements, &dcgm(), Cause::TargetUnreachable),
        "merged"
    );
    assert_eq!(
        word(&judgements, &target("n2"), Cause::TargetUnreachable),
        "fires"
    );
    assert_eq!(
        word(&judgements, &Subject::Cluster, Cause::FleetBlind),
        "fires"
    );
}

#[test]
fn a_single_target_speaks_for_its_source() {
    let snapshot = Cluster::new().target("n1", down(-300)).snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(only(&judgements).severity, Severity::Critical);
    assert_eq!(
        word(&judgements, &dcgm(), Cause::TargetUnreachable),
        "merged"
    );
}

#[test]
fn a_source_that_finds_no_target_any_more_is_gone() {
    let mut snapshot = Cluster::new()
        .gpu("GPU-1", "n1", silent_since(-300))
        .snapshot();
    let source = status(&mut snapshot, SourceId::Dcgm);
    source.targets.clear();
    source.state = SourceState::Down;
    source.last_success = Some(at(-89));
    let judgements = judge(&snapshot);
    assert_eq!(
        word(&judgements, &dcgm(), Cause::TargetUnreachable),
        "holds"
    );
    status(&mut snapshot, SourceId::Dcgm).last_success = Some(at(-90));
    let judgements = judge(&snapshot);
    assert_eq!(only(&judgements).severity, Severity::Critical);
    assert_eq!(
        word(&judgements, &node("n1"), Cause::TelemetryStale),
        "merged"
    );
}

#[test]
fn planned_work_is_info_for_an_hour() {
    for (quiet, cordoned, want) in [
        (-3599, true, Severity::Info),
        (-3600, true, Severity::Warning),
        (-300, false, Severity::Warning),
    ] {
        let snapshot = beside_a_healthy_node()
            .with_kubernetes()
            .node("n1", 8, &[], |n| n.unschedulable = cordoned)
            .target("n1", down(quiet))
            .snapshot();
        assert_eq!(only(&judge(&snapshot)).severity, want, "{quiet}");
    }
}

#[test]
fn planned_work_is_info_where_it_takes_the_last_target_too() {
    for (quiet, names, planned, want) in [
        (-3599, &["n1"][..], &["n1"][..], Severity::Info),
        (-3600, &["n1"], &["n1"], Severity::Critical),
        (-300, &["n1"], &[], Severity::Critical),
        (-300, &["n1", "n2"], &["n1", "n2"], Severity::Info),
        (-300, &["n1", "n2"], &["n1"], Severity::Critical),
        (-3600, &["n1", "n2"], &["n1", "n2"], Severity::Critical),
    ] {
        let mut cluster = Cluster::new().with_kubernetes();
        for name in names {
            cluster = cluster
                .node(name, 8, &[], |n| n.unschedulable = planned.contains(name))
                .target(name, down(quiet));
        }
        let judgements = judge(&cluster.snapshot());
        assert_eq!(
            only(&judgements).severity,
            want,
            "{quiet} {names:?} {planned:?}"
        );
    }
}
