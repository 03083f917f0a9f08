//! What went wrong with a request in words, and what to do about each kind. Commands only look.

use super::scene::Scene;
use crate::finding::Step;
use crate::rules::steps::{describe_node, look, quoted, run};
use crate::snapshot::{ErrorKind, NodeName};

/// What happened, and what it is consistent with.
pub(super) fn words(kind: ErrorKind) -> (&'static str, &'static str) {
    match kind {
        ErrorKind::Dns => (
            "its name does not resolve",
            "check the target's host name and the cluster's DNS; a removed node keeps its name in static targets",
        ),
        ErrorKind::Refused => (
            "the connection is refused",
            "consistent with an exporter that is not running or crashes at start; look at its pod and restarts, and at the port",
        ),
        ErrorKind::Timeout => (
            "no complete answer before the deadline",
            "consistent with a network policy, a hung driver or a slow collection (many MIG instances, an ECC storm); measure how long an answer takes",
        ),
        ErrorKind::Tls => (
            "the TLS handshake fails",
            "compare http and https in the target, and check the certificate's authority, name and dates",
        ),
        ErrorKind::Unauthorized => (
            "it answers 401",
            "the exporter's web configuration asks for credentials (its /health too); configure them for the target",
        ),
        ErrorKind::Forbidden => (
            "it answers 403",
            "a proxy or an authorising sidecar refuses this client; check the service account and its grants",
        ),
        ErrorKind::Redirect => (
            "it answers with a redirect, which is not followed",
            "set the target to the final address (often https instead of http, or /metrics)",
        ),
        ErrorKind::ClientError => (
            "it answers with a 4xx error",
            "check the path of the target; dcgm-exporter serves /metrics",
        ),
        ErrorKind::ServerError => (
            "it answers with a 5xx error",
            "read the body: 503 is the limit of concurrent scrapes from 4.8.4 (too many scrapers), 500 is a failed collection or, from 4.8.3, duplicate series (dcgm-exporter issue 728)",
        ),
        ErrorKind::TooLarge => (
            "its answer is larger than the limit",
            "check that the target is dcgm-exporter, or raise the limit for very dense MIG nodes",
        ),
        ErrorKind::Truncated => (
            "its answer ends in the middle",
            "consistent with the exporter's 10 s write time-out or a proxy in between; measure how long an answer takes",
        ),
        ErrorKind::NotMetrics => (
            "it answers 200 with something other than metrics",
            "check address and path: a login page or another service listens there",
        ),
        ErrorKind::Protocol => (
            "the HTTP exchange fails",
            "check that an HTTP server, not something else, listens there",
        ),
    }
}

/// Asks a target what it answers, and how long that takes.
pub(super) fn ask(url: &str) -> Step {
    run(
        "Ask the target from inside the cluster: first lines, status, time and size. /health proves nothing.",
        format!(
            "curl -sS -m 20 -w '%{{http_code}} %{{time_total}}s %{{size_download}}B\\n' {} | sed -n '1,5p;$p'",
            quoted(url)
        ),
    )
}

/// Looks at the exporter of a node, and at the node.
pub(super) fn exporter(scene: &Scene<'_>, node: Option<&NodeName>) -> Vec<Step> {
    if !scene.snapshot.has_kubernetes() {
        return vec![look(
            "Look at the exporter's process and log on the host, and whether nvidia-smi answers there.",
        )];
    }
    let on_node = node.map_or(String::new(), |node| {
        format!(
            " --field-selector {}",
            quoted(&format!("spec.nodeName={node}"))
        )
    });
    let mut steps = vec![
        run(
            "Look at the exporter's pod: phase, restarts, age (the Helm chart's label is app.kubernetes.io/name=dcgm-exporter).",
            format!("kubectl get pods -A -o wide -l app=nvidia-dcgm-exporter{on_node}"),
        ),
        run(
            "Read the exporter's log, and with --previous that of the run before.",
            "kubectl logs -n gpu-operator -l app=nvidia-dcgm-exporter --prefix --tail=50"
                .to_owned(),
        ),
    ];
    if let Some(node) = node {
        steps.push(describe_node(node.as_str()));
    }
    steps
}
