//! Tables of the rule, one module a subject.

mod boards;
mod pods;
mod removal;
mod signals;
mod sources;
mod targets;

use super::{Fresh, Thresholds};
use crate::finding::{Cause, Finding, Judgement, Severity, Subject, Verdict};
use crate::rules::Rule;
use crate::snapshot::{
    ClusterSnapshot, ErrorKind, Signal, SourceError, SourceId, SourceStatus, TargetState,
    TargetStatus,
};
use crate::testing::{Board, Cluster, at};

fn judge(snapshot: &ClusterSnapshot) -> Vec<Judgement> {
    let judgements = Fresh::new(Thresholds::default()).judge(snapshot);
    let mut keys: Vec<_> = judgements.iter().map(|judgement| &judgement.key).collect();
    keys.sort();
    let count = keys.len();
    keys.dedup();
    assert_eq!(keys.len(), count, "one judgement a key");
    judgements
}

/// The verdict on a subject and cause, in one word; empty where there is none.
fn word(judgements: &[Judgement], subject: &Subject, cause: Cause) -> &'static str {
    let of = judgements
        .iter()
        .find(|judgement| judgement.key.subject == *subject && judgement.key.aspect == Some(cause));
    of.map_or("", |judgement| match judgement.verdict {
        Verdict::Fires(_) => "fires",
        Verdict::Holds => "holds",
        Verdict::Clear => "clear",
        Verdict::Expired => "expired",
        Verdict::Merged(_) => "merged",
        Verdict::Undecided(_) => "undecided",
    })
}

fn findings(judgements: &[Judgement]) -> Vec<(&Subject, &Finding)> {
    judgements
        .iter()
        .filter_map(|judgement| match &judgement.verdict {
            Verdict::Fires(finding) => Some((&judgement.key.subject, &**finding)),
            _ => None,
        })
        .collect()
}

/// Causes that fire, in order.
fn causes(judgements: &[Judgement]) -> Vec<Cause> {
    let mut causes: Vec<_> = findings(judgements)
        .iter()
        .map(|(_, finding)| finding.cause)
        .collect();
    causes.sort();
    causes
}

fn only(judgements: &[Judgement]) -> &Finding {
    let found = findings(judgements);
    assert_eq!(found.len(), 1, "{found:#?}");
    found[0].1
}

fn node(name: &str) -> Subject {
    Subject::Node(name.into())
}

fn gpu(node: &str, uuid: &str) -> Subject {
    Subject::Gpu {
        node: Some(node.into()),
        uuid: uuid.into(),
    }
}

fn target(node: &str) -> Subject {
    Subject::Target {
        node: Some(node.into()),
        url: format!("http://{node}:9400/metrics").into(),
    }
}

fn dcgm() -> Subject {
    Subject::Source(SourceId::Dcgm)
}

fn status(snapshot: &mut ClusterSnapshot, id: SourceId) -> &mut SourceStatus {
    snapshot
        .sources
        .iter_mut()
        .find(|status| status.id == id)
        .expect("configured")
}

/// A target that last answered so many seconds ago and fails since.
fn down(seconds: i64) -> impl FnOnce(&mut TargetStatus) {
    move |target| {
        target.state = TargetState::Down;
        target.last_success = Some(at(seconds));
    }
}

/// A target without a GPU since.
fn empty(seconds: i64) -> impl FnOnce(&mut TargetStatus) {
    move |target| {
        target.gpus = 0;
        target.empty_since = Some(at(seconds));
    }
}

/// Readings that move: power wavers, energy grows, utilisation and engine agree. From the first
/// to the last time, every 30 s.
fn moving(board: &mut Board, from: i64, to: i64) -> &mut Board {
    board.silent();
    for seconds in (from..=to).step_by(30) {
        let step = (seconds - from) / 30;
        let power = 300.0 + (step % 3) as f64;
        board.read(Signal::PowerUsage, &[(seconds, power)]);
        board.read(
            Signal::Energy,
            &[(seconds, 1e6 + (seconds - from) as f64 * 301.0)],
        );
        board.read(Signal::GpuUtilization, &[(seconds, 0.8)]);
        board.read(Signal::GraphicsEngineActive, &[(seconds, 0.7)]);
        board.read(Signal::Xid, &[(seconds, 0.0)]);
    }
    board
}

fn live(board: &mut Board) {
    moving(board, -900, -30);
}

/// A board whose last reading is so many seconds old.
fn silent_since(seconds: i64) -> impl FnOnce(&mut Board) {
    move |board| {
        moving(board, seconds - 900, seconds);
    }
}

/// A board whose readings arrive, and have repeated since.
fn frozen_since(seconds: i64) -> impl FnOnce(&mut Board) {
    move |board| {
        moving(board, seconds - 900, seconds);
        for later in (seconds + 30..0).step_by(30) {
            board.read(Signal::PowerUsage, &[(later, 300.0)]);
            board.read(Signal::Energy, &[(later, 1e6 + 900.0 * 301.0)]);
        }
    }
}

/// A cluster whose other node is well, so that no source as a whole is gone.
fn beside_a_healthy_node() -> Cluster {
    Cluster::new().gpu("GPU-ok", "ok", live)
}

#[test]
fn a_healthy_cluster_is_clear_in_everything() {
    let snapshot = Cluster::new()
        .with_kubernetes()
        .gpu("GPU-1", "n1", |b| {
            live(b);
            b.held_by("train", -600, 0);
        })
        .gpu("GPU-2", "n2", live)
        .node("n1", 1, &[], |_| {})
        .node("n2", 1, &[], |_| {})
        .pod("train", "n1", 1, |p| p.created = at(-7200))
        .snapshot();
    for judgement in judge(&snapshot) {
        assert_eq!(judgement.verdict, Verdict::Clear, "{:?}", judgement.key);
    }
}

#[test]
fn an_idle_cluster_is_healthy() {
    let snapshot = Cluster::new().with_kubernetes().snapshot();
    assert_eq!(causes(&judge(&snapshot)), []);
}

#[test]
fn two_findings_where_one_node_is_silent_and_another_unlabelled() {
    let mut cluster = Cluster::new().with_kubernetes();
    for index in 0..4 {
        let name = |node| format!("GPU-{node}-{index}");
        cluster = cluster.gpu(&name("01"), "gpu-node-01", live).gpu(
            &name("02"),
            "gpu-node-02",
            silent_since(-840),
        );
    }
    let snapshot = cluster
        .node("gpu-node-01", 4, &[], |_| {})
        .node("gpu-node-02", 4, &[], |_| {})
        .pod("vllm", "gpu-node-01", 4, |_| {})
        .pod("rlhf", "gpu-node-02", 4, |_| {})
        .snapshot();
    let judgements = judge(&snapshot);
    let found = findings(&judgements);
    let shown: Vec<_> = found
        .iter()
        .map(|(subject, finding)| (*subject, finding.cause, finding.severity, &*finding.summary))
        .collect();
    assert_eq!(
        shown,
        [
            (
                &node("gpu-node-02"),
                Cause::TelemetryStale,
                Severity::Warning,
                "gpu-node-02: the newest reading of its 4 GPUs is 14 min old"
            ),
            (
                &node("gpu-node-01"),
                Cause::PodsUnlabelled,
                Severity::Warning,
                "gpu-node-01: pods hold 4 GPU resources, and no series of its 4 GPUs has named a pod for 15 min"
            ),
        ]
    );
    assert_eq!(found[0].1.started, at(-840));
}

#[test]
fn before_every_source_was_tried_only_sources_are_judged() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", silent_since(-840))
        .gpu("GPU-2", "n2", silent_since(-840))
        .target("n1", down(-840))
        .target("n3", |t| t.state = TargetState::Pending)
        .snapshot();
    assert!(!snapshot.warm);
    let judgements = judge(&snapshot);
    assert_eq!(causes(&judgements), [Cause::TargetUnreachable]);
    assert_eq!(
        word(&judgements, &node("n2"), Cause::TelemetryStale),
        "undecided"
    );
}

#[test]
fn findings_never_claim_a_cause() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", silent_since(-840))
        .target("n2", |t| {
            down(-840)(t);
            t.error = Some(SourceError {
                kind: ErrorKind::Refused,
                message: "GET http://n2:9400/metrics: connection refused".to_owned(),
            });
        })
        .target("n3", empty(-840))
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(findings(&judgements).len(), 3);
    for (_, finding) in findings(&judgements) {
        let text = serde_json::to_string(finding).expect("serialisable");
        assert!(!text.contains("caused by"), "{text}");
        assert!(text.contains("consistent with"), "{text}");
        assert!(!finding.checklist.is_empty() && !finding.timeline.is_empty());
    }
}
