//! Tables of small clusters and what the rule says of them.

mod conditions;
mod incidents;
mod links;
mod memory;
mod nodes;
mod removal;
mod size;
mod xids;

use super::{Health, Thresholds};
use crate::finding::{Cause, Finding, Grade, Reason, Severity, Subject, Verdict};
use crate::rules::Rule;
use crate::snapshot::{SeriesKey, Signal};
use crate::testing::{Board, Cluster};

/// What the rule says of every subject, by the board's UUID or the node's name.
fn judge(cluster: &Cluster) -> std::collections::BTreeMap<String, Verdict> {
    judge_with(cluster, Thresholds::default())
}

fn judge_with(
    cluster: &Cluster,
    thresholds: Thresholds,
) -> std::collections::BTreeMap<String, Verdict> {
    let judgements = Health::new(thresholds).judge(&cluster.snapshot());
    let count = judgements.len();
    let by_name: std::collections::BTreeMap<_, _> = judgements
        .into_iter()
        .map(|judgement| {
            let name = match &judgement.key.subject {
                Subject::Gpu { uuid, .. } => uuid.to_string(),
                Subject::Node(node) => node.to_string(),
                other => panic!("{other:?} is no subject of this rule"),
            };
            (name, judgement.verdict)
        })
        .collect();
    assert_eq!(by_name.len(), count, "two judgements of one subject");
    by_name
}

/// What the rule says of one subject.
fn verdict(cluster: &Cluster, name: &str) -> Verdict {
    judge(cluster)
        .remove(name)
        .unwrap_or_else(|| panic!("{name} is not judged"))
}

/// The finding on one subject.
#[track_caller]
fn finding(cluster: &Cluster, name: &str) -> Finding {
    match verdict(cluster, name) {
        Verdict::Fires(finding) => {
            check(&finding);
            *finding
        }
        other => panic!("{name}: {other:?}"),
    }
}

/// What holds for every finding.
fn check(finding: &Finding) {
    assert!(
        finding.summary.contains("consistent with"),
        "{}",
        finding.summary
    );
    assert_eq!(finding.summary.matches("consistent with").count(), 1);
    assert!(!finding.summary.contains('\n'));
    assert!(!finding.supporting.is_empty() && !finding.checklist.is_empty());
    let text = format!("{finding:?}");
    assert!(
        !text.contains("caused by") && !text.contains("latch"),
        "{text}"
    );
    for step in &finding.checklist {
        let command = step.command.as_deref().unwrap_or_default();
        for word in ["delete", "drain", "cordon", "reset", "reboot", "-r "] {
            assert!(!command.contains(word), "{command}");
        }
    }
    assert!(
        finding
            .timeline
            .windows(2)
            .all(|pair| pair[0].at <= pair[1].at)
    );
}

/// Cause, severity and grade in one line.
#[track_caller]
fn outcome(cluster: &Cluster, name: &str) -> String {
    let finding = finding(cluster, name);
    said(finding.cause, finding.severity, finding.grade)
}

fn said(cause: Cause, severity: Severity, grade: Grade) -> String {
    format!(
        "{} {} {}",
        cause.as_str(),
        severity.as_str(),
        grade.as_str()
    )
}

/// Any verdict in one line.
fn line(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Fires(finding) => said(finding.cause, finding.severity, finding.grade),
        Verdict::Holds => "holds".to_owned(),
        Verdict::Clear => "clear".to_owned(),
        Verdict::Expired => "expired".to_owned(),
        Verdict::Merged(_) => "merged".to_owned(),
        Verdict::Undecided(reason) => format!("undecided {}", reason.as_str()),
    }
}

/// The signals of the exporter's default counter file that tell of health, all quiet.
fn quiet(board: &mut Board) {
    for signal in [
        Signal::Xid,
        Signal::RowRemapFailure,
        Signal::RowRemapUncorrectable,
        Signal::PcieReplay,
    ] {
        board.steady(signal, -600, 0.0);
    }
}

fn index(board: &mut Board, index: u32) {
    board.identity.index = Some(index);
    board.identity.pci = Some(format!("00000000:{index:02}:00.0").into());
}

/// A node of quiet boards `n1-0`, `n1-1` …, with all its GPUs allocatable for ten minutes, of
/// which one board is built further.
fn node_of(gpus: u32, which: u32, build: impl FnOnce(&mut Board)) -> Cluster {
    node_with(
        gpus,
        i64::from(gpus),
        &[(-600, i64::from(gpus))],
        which,
        build,
    )
}

/// The same with another number of allocatable GPUs now and before.
fn node_with(
    gpus: u32,
    allocatable: i64,
    history: &[(i64, i64)],
    which: u32,
    build: impl FnOnce(&mut Board),
) -> Cluster {
    let mut cluster =
        Cluster::new()
            .with_kubernetes()
            .node("n1", i64::from(gpus), history, |node| {
                node.allocatable
                    .insert("nvidia.com/gpu".into(), allocatable);
            });
    let mut build = Some(build);
    for at in 0..gpus {
        cluster = cluster.gpu(&format!("n1-{at}"), "n1", |board| {
            quiet(board);
            index(board, at);
            if at == which
                && let Some(build) = build.take()
            {
                build(board);
            }
        });
    }
    cluster
}

/// One quiet board without Kubernetes, built further.
fn alone(build: impl FnOnce(&mut Board)) -> Cluster {
    Cluster::new().gpu("a", "n1", |board| {
        quiet(board);
        build(board);
    })
}

fn part(signal: Signal, part: u16) -> SeriesKey {
    SeriesKey {
        signal,
        part: crate::snapshot::Part(part),
    }
}

#[test]
fn quiet_boards_and_nodes_are_clear() {
    let said: Vec<_> = judge(&node_of(4, 0, |_| {}))
        .into_iter()
        .map(|(name, verdict)| format!("{name} {}", line(&verdict)))
        .collect();
    assert_eq!(
        said,
        [
            "n1 clear",
            "n1-0 clear",
            "n1-1 clear",
            "n1-2 clear",
            "n1-3 clear"
        ]
    );
}

#[test]
fn nothing_is_judged_before_everything_was_tried() {
    let cluster = alone(|board| {
        board.read(Signal::Xid, &[(-60, 79.0)]);
    })
    .target("n2", |target| {
        target.state = crate::snapshot::TargetState::Pending;
    });
    assert_eq!(verdict(&cluster, "a"), Verdict::Undecided(Reason::WarmUp));
}

#[test]
fn without_kubernetes_no_node_is_judged() {
    let said = judge(&alone(|_| {}));
    assert_eq!(said.keys().collect::<Vec<_>>(), ["a"]);
}

#[test]
fn a_gpu_without_any_health_signal_is_undecided() {
    let cluster = Cluster::new().gpu("a", "n1", |_| {});
    assert_eq!(line(&verdict(&cluster, "a")), "undecided not_exported");
    // One is enough to decide, as far as it goes.
    let cluster = Cluster::new().gpu("a", "n1", |board| {
        board.steady(Signal::RowRemapFailure, -600, 0.0);
    });
    assert_eq!(line(&verdict(&cluster, "a")), "clear");
}

#[test]
fn the_order_of_arrival_does_not_matter() {
    let build = |board: &mut Board| {
        board.read(Signal::Xid, &[(-60, 48.0), (-30, 48.0)]);
        board.steady(Signal::RowRemapFailure, -90, 1.0);
    };
    let cluster = node_with(4, 3, &[(-600, 4), (-400, 3)], 2, build);
    let rule = Health::new(Thresholds::default());
    let snapshot = cluster.snapshot();
    assert_eq!(rule.judge(&snapshot), rule.judge(&snapshot));
}

#[test]
fn severities_of_codes_can_be_configured() {
    let read = |text: &str| serde_json::from_str::<Thresholds>(text);
    let thresholds = read(r#"{"xid_severity": {"63": "info"}}"#).expect("valid");
    let cluster = alone(|board| {
        board.read(Signal::Xid, &[(-60, 63.0), (-30, 63.0)]);
    });
    assert_eq!(outcome(&cluster, "a"), "xid_63 warning strong");
    let said = judge_with(&cluster, thresholds)
        .remove("a")
        .expect("judged");
    assert!(line(&said).starts_with("xid_63 info"), "{said:?}");
    // What the operator says stands, also for a code that the catalogue does not know.
    let thresholds = read(r#"{"xid_severity": {"777": "critical"}}"#).expect("valid");
    assert_eq!(thresholds.xid_severity.to_string(), "777: critical");
    let unknown = alone(|board| {
        board.read(Signal::Xid, &[(-60, 777.0), (-30, 777.0)]);
    });
    let said = judge_with(&unknown, thresholds)
        .remove("a")
        .expect("judged");
    assert_eq!(line(&said), "xid_777 critical moderate");
    let error = read(r#"{"xid_severity": {"63": "bad"}}"#).expect_err("no severity");
    assert!(error.to_string().contains("want info, warning or critical"));
}
