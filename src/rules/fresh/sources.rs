//! The Kubernetes API as a source: refused, or silent.

use jiff::Timestamp;

use super::remedy;
use super::scene::{Scene, fires, merged};
use crate::finding::{
    Cause, Evidence, Fact, Finding, Grade, Judgement, Key, Reason, Severity, Subject, Verdict,
};
use crate::rules::steps;
use crate::snapshot::{Completeness, ErrorKind, ListState, SourceId, SourceState, SourceStatus};

/// One list, by its name.
type List = (&'static str, ListState);

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let status = scene
        .snapshot
        .sources
        .iter()
        .find(|status| status.id == SourceId::Kubernetes);
    let Some(status) = status else {
        return Vec::new();
    };
    let lists: Vec<List> = status.lists.map_or(Vec::new(), lists);
    let refused = refusal(status, &lists);
    let old: Vec<List> = lists
        .iter()
        .copied()
        .filter(|(_, state)| is_old(scene, status, *state))
        .collect();
    let pending = lists.iter().any(|(_, state)| *state == ListState::Pending);
    let fresh = !lists.is_empty()
        && lists.iter().all(|(_, state)| {
            matches!(state, ListState::Synced(at) if scene.age(*at) <= scene.thresholds.kubernetes_stale_after.get())
        });
    let forbidden_verdict = match refused {
        Some(refused) => fires(forbidden(scene, status, &lists, refused)),
        None if fresh => Verdict::Clear,
        None if pending => Verdict::Undecided(Reason::WarmUp),
        None => Verdict::Undecided(Reason::InventoryIncomplete),
    };
    let stale_verdict = if refused.is_some() {
        merged([key(Cause::KubernetesForbidden)])
    } else if !old.is_empty() {
        fires(stale(scene, status, &lists, &old))
    } else if fresh {
        Verdict::Clear
    } else if pending {
        Verdict::Undecided(Reason::WarmUp)
    } else {
        Verdict::Undecided(Reason::InventoryIncomplete)
    };
    vec![
        scene.judgement(key(Cause::KubernetesForbidden), forbidden_verdict),
        scene.judgement(key(Cause::KubernetesStale), stale_verdict),
    ]
}

fn key(cause: Cause) -> Key {
    Scene::key(Subject::Source(SourceId::Kubernetes), cause)
}

fn lists(lists: Completeness) -> Vec<List> {
    [
        ("nodes", lists.nodes),
        ("pods", lists.pods),
        ("events", lists.events),
    ]
    .into_iter()
    .filter(|(_, state)| *state != ListState::NotConfigured)
    .collect()
}

/// How it is known that the API refuses.
#[derive(Clone, Copy)]
enum Refusal {
    /// By the source's error now.
    Now(ErrorKind),
    /// A list failed, and refusals were counted since the start.
    Counted(ErrorKind),
}

fn refusal(status: &SourceStatus, lists: &[List]) -> Option<Refusal> {
    let is_refusal =
        |kind: &ErrorKind| matches!(kind, ErrorKind::Forbidden | ErrorKind::Unauthorized);
    if let Some(error) = &status.error {
        return is_refusal(&error.kind).then_some(Refusal::Now(error.kind));
    }
    if !lists.iter().any(|(_, state)| *state == ListState::Failed) {
        return None;
    }
    let counted = status.errors.iter().find(|(kind, _)| is_refusal(kind));
    counted.map(|(kind, _)| Refusal::Counted(*kind))
}

/// The list's last word, or the time from which one was waited for.
fn last_word(status: &SourceStatus, state: ListState) -> Timestamp {
    match state {
        ListState::Synced(at) => at,
        ListState::NotConfigured | ListState::Pending | ListState::Failed => status.since,
    }
}

fn is_old(scene: &Scene<'_>, status: &SourceStatus, state: ListState) -> bool {
    scene.age(last_word(status, state)) > scene.thresholds.kubernetes_stale_after.get()
}

/// A finding about the source with the state of its lists. A source of which nothing is heard
/// at all is gone.
fn finding(
    scene: &Scene<'_>,
    status: &SourceStatus,
    cause: Cause,
    lists: &[List],
    summary: String,
    since: Timestamp,
) -> Finding {
    let mut finding = scene.finding(cause, None, summary, since);
    if status.state == SourceState::Down {
        finding.severity = Severity::Critical;
    }
    for (name, state) in lists {
        let (value, at) = match state {
            ListState::Synced(at) => (format!("up to date {} ago", scene.ago(*at)), Some(*at)),
            ListState::Failed => ("never listed".to_owned(), None),
            ListState::Pending => ("not yet listed".to_owned(), None),
            ListState::NotConfigured => ("not asked for".to_owned(), None),
        };
        finding.facts.push(Fact {
            name: format!("list of {name}").into(),
            value,
            source: "kubernetes".into(),
            at,
        });
    }
    match &status.error {
        Some(error) => finding.supporting.push(Evidence {
            text: error.message.clone(),
            source: "kubernetes".into(),
            at: status.last_attempt,
        }),
        None => finding
            .missing
            .push(Evidence::of("the error of the last attempt", "kubernetes")),
    }
    finding.missing.push(Evidence::of(
        "nodes and pods as they are now: comparisons with them are undecided",
        "kubernetes",
    ));
    for (text, at) in [
        ("last answer of the API", status.last_success),
        ("last attempt", status.last_attempt),
    ] {
        finding
            .timeline
            .extend(at.map(|at| Evidence::at(text, "kubernetes", at)));
    }
    finding
}

fn forbidden(
    scene: &Scene<'_>,
    status: &SourceStatus,
    lists: &[List],
    refusal: Refusal,
) -> Finding {
    let (kind, grade) = match refusal {
        Refusal::Now(kind) => (kind, Grade::Strong),
        Refusal::Counted(kind) => (kind, Grade::Moderate),
    };
    let failed: Vec<&str> = lists
        .iter()
        .filter(|(_, state)| *state == ListState::Failed)
        .map(|(name, _)| *name)
        .collect();
    let what = if failed.is_empty() {
        "its lists".to_owned()
    } else {
        failed.join(", ")
    };
    let code = if kind == ErrorKind::Unauthorized {
        401
    } else {
        403
    };
    let since = lists
        .iter()
        .map(|(_, state)| last_word(status, *state))
        .min()
        .unwrap_or(status.since);
    let summary = format!("The Kubernetes API refuses {what} ({code})");
    let cause = Cause::KubernetesForbidden;
    let mut finding = finding(scene, status, cause, lists, summary, since);
    finding.grade = grade;
    let advice = if code == 401 {
        "The credentials are not accepted: look at the age of the token and at the kubeconfig."
    } else {
        "The service account lacks a grant: it needs get, list and watch on nodes, pods and events in every namespace, and nothing more."
    };
    finding.checklist.push(steps::look(advice));
    finding.checklist.push(steps::run(
        "Ask the API what the service account may do.",
        "kubectl auth can-i list pods --all-namespaces --as=system:serviceaccount:gpulens:gpulens"
            .to_owned(),
    ));
    finding
}

fn stale(scene: &Scene<'_>, status: &SourceStatus, lists: &[List], old: &[List]) -> Finding {
    let since = old
        .iter()
        .map(|(_, state)| last_word(status, *state))
        .min()
        .unwrap_or(status.since);
    let names: Vec<&str> = old.iter().map(|(name, _)| *name).collect();
    let never = old
        .iter()
        .all(|(_, state)| !matches!(state, ListState::Synced(_)));
    let summary = if never {
        format!(
            "The Kubernetes API has not told of {} for {}, since it is watched",
            names.join(", "),
            scene.ago(since)
        )
    } else {
        format!(
            "The Kubernetes API's last word on {} is {} old",
            names.join(", "),
            scene.ago(since)
        )
    };
    let cause = Cause::KubernetesStale;
    let mut finding = finding(scene, status, cause, lists, summary, since);
    if old.len() < lists.len() {
        finding.contradicting.push(Evidence::of(
            "other lists are fresh, so the API itself answers",
            "kubernetes",
        ));
    }
    if let Some(error) = &status.error {
        finding
            .checklist
            .push(steps::look(remedy::words(error.kind).1));
    }
    finding.checklist.push(steps::run(
        "Ask the API whether it is ready, and how fast it answers.",
        "kubectl get --raw='/readyz?verbose'".to_owned(),
    ));
    finding
}
