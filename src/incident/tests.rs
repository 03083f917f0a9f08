use jiff::SignedDuration;

use super::*;
use crate::finding::{Cause, RuleId};
use crate::snapshot::{Completeness, ListState, TargetState};
use crate::testing::{Cluster, at};

const HOLD: SignedDuration = SignedDuration::from_secs(120);

fn gpu_key() -> Key {
    Key {
        rule: RuleId::Therm,
        subject: Subject::Gpu {
            node: Some("n1".into()),
            uuid: "GPU-1".into(),
        },
        aspect: None,
    }
}

fn finding(severity: Severity) -> Finding {
    Finding {
        cause: Cause::CoreTemperature,
        severity,
        grade: Grade::Moderate,
        summary: String::new(),
        started: at(-300),
        gpu: None,
        facts: Vec::new(),
        supporting: Vec::new(),
        contradicting: Vec::new(),
        missing: Vec::new(),
        timeline: Vec::new(),
        checklist: Vec::new(),
    }
}

fn fires(severity: Severity) -> Verdict {
    Verdict::Fires(Box::new(finding(severity)))
}

/// The state of one incident after a series of `(seconds, verdict)`, `None` for no judgement.
fn play(
    cluster: &Cluster,
    key: &Key,
    verdicts: Vec<(i64, Option<Verdict>)>,
) -> (Open, Vec<Transition>) {
    let mut snapshot = cluster.snapshot();
    let mut open = Open::new();
    let mut all = Vec::new();
    for (seconds, verdict) in verdicts {
        snapshot.now = at(seconds);
        let judgements: Vec<_> = verdict
            .into_iter()
            .map(|verdict| Judgement {
                key: key.clone(),
                clear_hold: HOLD,
                verdict,
            })
            .collect();
        let (next, transitions) = fold(&open, &judgements, &snapshot);
        open = next;
        all.extend(transitions);
    }
    (open, all)
}

fn cluster() -> Cluster {
    Cluster::new().gpu("GPU-1", "n1", |_| {})
}

fn how(transitions: &[Transition]) -> Option<Closing> {
    transitions.iter().find_map(|transition| match transition {
        Transition::Closed(incident) => incident.closed.as_ref().map(|closed| closed.how),
        _ => None,
    })
}

#[test]
fn only_a_lasting_clear_resolves() {
    use Verdict::{Clear, Holds, Undecided};
    let warning = || Some(fires(Severity::Warning));
    let blind = || Some(Undecided(Reason::Blind));
    for (name, verdicts, closed) in [
        (
            "clear for less than the hold",
            vec![(0, warning()), (15, Some(Clear)), (134, Some(Clear))],
            None,
        ),
        (
            "clear for the hold",
            vec![(0, warning()), (15, Some(Clear)), (135, Some(Clear))],
            Some(Closing::Resolved),
        ),
        (
            "firing in between",
            vec![
                (0, warning()),
                (15, Some(Clear)),
                (60, warning()),
                (140, Some(Clear)),
            ],
            None,
        ),
        (
            "holding in between",
            vec![
                (0, warning()),
                (15, Some(Clear)),
                (60, Some(Holds)),
                (140, Some(Clear)),
            ],
            None,
        ),
        (
            "blind in between",
            vec![
                (0, warning()),
                (15, Some(Clear)),
                (60, blind()),
                (140, Some(Clear)),
            ],
            None,
        ),
        (
            "no judgement in between",
            vec![
                (0, warning()),
                (15, Some(Clear)),
                (60, None),
                (140, Some(Clear)),
            ],
            None,
        ),
        (
            "undecided for ever",
            vec![(0, warning()), (15, blind()), (86_400, blind())],
            None,
        ),
        (
            "expired",
            vec![(0, warning()), (15, Some(Verdict::Expired))],
            Some(Closing::Expired),
        ),
        (
            "merged",
            vec![(0, warning()), (15, Some(Verdict::Merged(vec![gpu_key()])))],
            Some(Closing::Merged),
        ),
    ] {
        let (open, transitions) = play(&cluster(), &gpu_key(), verdicts);
        assert_eq!(how(&transitions), closed, "{name}");
        assert_eq!(open.is_empty(), closed.is_some(), "{name}");
    }
}

#[test]
fn nothing_but_firing_opens() {
    for verdict in [
        Verdict::Clear,
        Verdict::Holds,
        Verdict::Expired,
        Verdict::Undecided(Reason::Blind),
        Verdict::Merged(Vec::new()),
    ] {
        let (open, transitions) = play(&cluster(), &gpu_key(), vec![(0, Some(verdict))]);
        assert!(open.is_empty() && transitions.is_empty());
    }
}

#[test]
fn severity_rises_at_once_and_falls_after_the_hold() {
    let (info, warning, critical) = (Severity::Info, Severity::Warning, Severity::Critical);
    for (verdicts, shown, changes) in [
        (vec![(0, warning), (15, critical)], critical, 1),
        (
            vec![(0, critical), (15, warning), (134, warning)],
            critical,
            0,
        ),
        (
            vec![(0, critical), (15, warning), (135, warning)],
            warning,
            1,
        ),
        (
            vec![(0, critical), (15, warning), (60, critical), (140, warning)],
            critical,
            0,
        ),
        (vec![(0, critical), (15, info), (135, warning)], warning, 1),
    ] {
        let verdicts = verdicts
            .into_iter()
            .map(|(seconds, severity)| (seconds, Some(fires(severity))))
            .collect();
        let (open, transitions) = play(&cluster(), &gpu_key(), verdicts);
        assert_eq!(open[&gpu_key()].severity, shown);
        let changed = transitions
            .iter()
            .filter(|t| matches!(t, Transition::Severity { .. }))
            .count();
        assert_eq!(changed, changes);
    }
}

#[test]
fn what_cannot_be_decided_stays_open_as_inconclusive() {
    let (open, _) = play(
        &cluster(),
        &gpu_key(),
        vec![(0, Some(fires(Severity::Critical))), (15, None)],
    );
    let incident = &open[&gpu_key()];
    assert_eq!(
        (incident.grade(), incident.undecided),
        (Grade::Inconclusive, Some(Reason::Blind))
    );
    assert_eq!(
        incident.severity,
        Severity::Critical,
        "less knowledge is not less trouble"
    );
    let (open, _) = play(
        &cluster(),
        &gpu_key(),
        vec![
            (0, Some(fires(Severity::Info))),
            (15, None),
            (30, Some(fires(Severity::Info))),
        ],
    );
    assert_eq!(open[&gpu_key()].grade(), Grade::Moderate, "decided again");
    assert_eq!(
        open[&gpu_key()].started,
        at(-300),
        "the first evidence, not the first cycle"
    );
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn subjects_end_by_complete_lists_alone() {
    let pod = Key {
        rule: RuleId::Health,
        subject: Subject::Pod {
            uid: "uid-a".into(),
            namespace: "ml".into(),
            pod: "a".into(),
            workload: "".into(),
        },
        aspect: None,
    };
    let lists = |pods| Completeness {
        nodes: ListState::Synced(at(0)),
        pods,
        events: ListState::Pending,
    };
    let node = Key {
        rule: RuleId::Health,
        subject: Subject::Node("n1".into()),
        aspect: None,
    };
    let target = Key {
        rule: RuleId::Fresh,
        subject: Subject::Target {
            node: Some("n1".into()),
            url: "http://n1:9400/metrics".into(),
        },
        aspect: Some(Cause::TargetUnreachable),
    };
    let gone = Some(Closing::SubjectGone);
    for (name, cluster, key, closed) in [
        (
            "the pod is listed",
            cluster().with_kubernetes().pod("a", "n1", 1, |_| {}),
            &pod,
            None,
        ),
        (
            "the pod is not listed",
            cluster().with_kubernetes(),
            &pod,
            gone,
        ),
        (
            "the list is old",
            cluster().with_lists(lists(ListState::Synced(at(-600)))),
            &pod,
            None,
        ),
        (
            "the list failed",
            cluster().with_lists(lists(ListState::Failed)),
            &pod,
            None,
        ),
        (
            "the node is listed",
            cluster().with_kubernetes().node("n1", 4, &[], |_| {}),
            &node,
            None,
        ),
        (
            "the node is not listed but has a target",
            cluster().with_kubernetes(),
            &node,
            None,
        ),
        (
            "the node has neither",
            Cluster::new().gpu("GPU-2", "n2", |_| {}).with_kubernetes(),
            &node,
            gone,
        ),
        (
            "no target for the node any more",
            Cluster::new().gpu("GPU-2", "n2", |_| {}),
            &gpu_key(),
            gone,
        ),
        (
            "the target is there",
            cluster().target("n1", |t| t.state = TargetState::Down),
            &target,
            None,
        ),
        (
            "the target is gone",
            Cluster::new().gpu("GPU-2", "n2", |_| {}),
            &target,
            gone,
        ),
    ] {
        let verdicts = vec![(0, Some(fires(Severity::Warning))), (15, None)];
        let (_, transitions) = play(&cluster, key, verdicts);
        assert_eq!(how(&transitions), closed, "{name}");
    }
}

#[test]
fn a_board_that_moved_is_another_incident_and_a_learned_node_is_not() {
    let on = |node: Option<&str>| Key {
        subject: Subject::Gpu {
            node: node.map(Into::into),
            uuid: "GPU-1".into(),
        },
        ..gpu_key()
    };
    let judged = |key: Key, verdict| Judgement {
        key,
        clear_hold: HOLD,
        verdict,
    };
    let snapshot = cluster().snapshot();
    let (open, _) = fold(
        &Open::new(),
        &[judged(on(None), fires(Severity::Warning))],
        &snapshot,
    );
    let learned = [judged(on(Some("n1")), fires(Severity::Warning))];
    let (open, transitions) = fold(&open, &learned, &snapshot);
    assert!(transitions.is_empty() && open.len() == 1, "the same board");

    let (open, _) = fold(&Open::new(), &learned, &snapshot);
    let elsewhere = [judged(on(Some("n2")), fires(Severity::Warning))];
    let (open, transitions) = fold(&open, &elsewhere, &snapshot);
    assert_eq!(how(&transitions), Some(Closing::SubjectGone));
    let (open, _) = fold(&open, &elsewhere, &snapshot);
    assert_eq!(
        open.keys().next().map(|key| key.subject.place().node),
        Some("n2")
    );
}
