//! The Kubernetes API as a source.

use super::*;
use crate::snapshot::{Completeness, ListState, SourceState};

fn lists(nodes: ListState, pods: ListState) -> Completeness {
    Completeness {
        nodes,
        pods,
        events: ListState::Synced(at(-5)),
    }
}

fn error(kind: ErrorKind) -> SourceError {
    SourceError {
        kind,
        message: "list pods: it failed".to_owned(),
    }
}

fn api() -> Subject {
    Subject::Source(SourceId::Kubernetes)
}

#[test]
fn lists_are_stale_beyond_their_limit() {
    use ListState::{Failed, Pending, Synced};
    for (pods, watched, want) in [
        (Synced(at(-5)), -86_400, "clear"),
        (Synced(at(-300)), -86_400, "clear"),
        (Synced(at(-301)), -86_400, "fires"),
        (Failed, -300, "undecided"),
        (Failed, -301, "fires"),
        (Pending, -60, "undecided"),
    ] {
        let mut snapshot = beside_a_healthy_node()
            .with_lists(lists(Synced(at(-5)), pods))
            .snapshot();
        status(&mut snapshot, SourceId::Kubernetes).since = at(watched);
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &api(), Cause::KubernetesStale),
            want,
            "{pods:?}"
        );
        assert_ne!(
            word(&judgements, &api(), Cause::KubernetesForbidden),
            "fires"
        );
    }
}

#[test]
fn a_gone_api_is_critical() {
    for (state, want) in [
        (SourceState::Up, Severity::Warning),
        (SourceState::Down, Severity::Critical),
    ] {
        let old = ListState::Synced(at(-420));
        let mut snapshot = beside_a_healthy_node()
            .with_lists(lists(old, old))
            .snapshot();
        let source = status(&mut snapshot, SourceId::Kubernetes);
        source.state = state;
        source.error = Some(error(ErrorKind::Timeout));
        let judgements = judge(&snapshot);
        let finding = only(&judgements);
        assert_eq!(finding.severity, want);
        assert_eq!(
            finding.summary,
            "The Kubernetes API's last word on nodes, pods is 7 min old"
        );
    }
}

#[test]
fn a_refusal_is_told_as_one() {
    for (now, counted, state, want) in [
        (Some(ErrorKind::Forbidden), None, ListState::Failed, "fires"),
        (
            Some(ErrorKind::Unauthorized),
            None,
            ListState::Failed,
            "fires",
        ),
        // A token that was revoked later.
        (
            Some(ErrorKind::Unauthorized),
            None,
            ListState::Synced(at(-400)),
            "fires",
        ),
        (None, Some(ErrorKind::Forbidden), ListState::Failed, "fires"),
        (
            Some(ErrorKind::Timeout),
            None,
            ListState::Failed,
            "undecided",
        ),
        (
            None,
            Some(ErrorKind::Forbidden),
            ListState::Synced(at(-5)),
            "clear",
        ),
        (None, None, ListState::Failed, "undecided"),
    ] {
        let mut snapshot = beside_a_healthy_node()
            .with_lists(lists(ListState::Synced(at(-5)), state))
            .snapshot();
        let source = status(&mut snapshot, SourceId::Kubernetes);
        source.error = now.map(error);
        source.errors.extend(counted.map(|kind| (kind, 3)));
        let judgements = judge(&snapshot);
        assert_eq!(
            word(&judgements, &api(), Cause::KubernetesForbidden),
            want,
            "{now:?} {counted:?} {state:?}"
        );
        if want == "fires" {
            assert_eq!(word(&judgements, &api(), Cause::KubernetesStale), "merged");
        }
    }
}
