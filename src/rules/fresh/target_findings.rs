//! What is told of targets that do not answer or answer without a GPU.

use jiff::Timestamp;

use super::nodes::offered;
use super::remedy;
use super::scene::Scene;
use super::target::last_word;
use crate::finding::{Cause, Evidence, Fact, Finding, Grade, Severity};
use crate::rules::steps;
use crate::rules::words;
use crate::snapshot::{Gpu, TargetStatus};

/// The source as a whole.
pub(super) fn gone(scene: &Scene<'_>, since: Timestamp) -> Finding {
    let count = scene.targets.len();
    let mut finding = scene.finding(
        Cause::TargetUnreachable,
        None,
        if count == 0 {
            format!("No GPU telemetry at all for {}", scene.ago(since))
        } else {
            format!(
                "No GPU telemetry at all: none of the {count} targets has answered for {}",
                scene.ago(since)
            )
        },
        since,
    );
    let explained = |target: &TargetStatus| {
        let node = target.node.as_ref();
        node.is_some_and(|node| scene.explained(node, since))
    };
    finding.severity = if count > 0 && scene.targets.iter().all(|(target, _)| explained(target)) {
        finding.contradicting.push(Evidence::of(
            "work is planned on the node of every target",
            "kubernetes",
        ));
        Severity::Info
    } else {
        Severity::Critical
    };
    if let Some(error) = scene.dcgm.and_then(|status| status.error.as_ref()) {
        finding
            .supporting
            .push(Evidence::of(error.message.clone(), "dcgm"));
    }
    for (target, _) in scene.targets.iter().take(8) {
        let why = target
            .error
            .as_ref()
            .map_or("no answer", |error| remedy::words(error.kind).0);
        finding.facts.push(Fact {
            name: "target".into(),
            value: format!("{}: {why}", target.url),
            source: "scrape".into(),
            at: target.last_attempt,
        });
    }
    finding.missing.push(Evidence::of(
        "every reading since then: no other rule can judge",
        "dcgm",
    ));
    finding
        .timeline
        .push(Evidence::at("last answer of any target", "scrape", since));
    finding.checklist.push(steps::look(
        "All targets at once: look first at what they share, that is the network policy towards the exporters, the exporter's DaemonSet and its image.",
    ));
    if let Some((target, _)) = scene.targets.first() {
        finding.checklist.push(remedy::ask(&target.url));
    }
    finding.checklist.extend(remedy::exporter(scene, None));
    finding
}

fn name(target: &TargetStatus) -> String {
    target
        .node
        .as_ref()
        .map_or_else(|| target.url.to_string(), ToString::to_string)
}

pub(super) fn unreachable(scene: &Scene<'_>, target: &TargetStatus) -> Finding {
    let since = last_word(target);
    let kind = target.error.as_ref().map(|error| error.kind);
    let what = kind.map_or("it does not answer", |kind| remedy::words(kind).0);
    let never = target.last_success.is_none();
    let mut finding = scene.finding(
        Cause::TargetUnreachable,
        target.node.as_ref(),
        format!(
            "{}: its telemetry target {} for {}: {what}",
            name(target),
            if never {
                "has never answered"
            } else {
                "has not answered"
            },
            scene.ago(since)
        ),
        since,
    );
    let explained = |node| scene.explained(node, since);
    if scene.targets.len() == 1 && !target.node.as_ref().is_some_and(explained) {
        finding.severity = Severity::Critical;
    }
    finding.facts = facts(scene, target);
    match &target.error {
        Some(error) => finding.supporting.push(Evidence {
            text: error.message.clone(),
            source: "scrape".into(),
            at: target.last_attempt,
        }),
        None => finding
            .missing
            .push(Evidence::of("the error of the last attempt", "scrape")),
    }
    against(scene, target, &mut finding);
    finding.missing.push(Evidence::of(
        "what its GPUs do: their last readings are not the present",
        "dcgm",
    ));
    times(target, &mut finding);
    xid_before(scene, target, &mut finding);
    if let Some(kind) = kind {
        finding.checklist.push(steps::look(remedy::words(kind).1));
    }
    finding.checklist.push(remedy::ask(&target.url));
    finding
        .checklist
        .extend(remedy::exporter(scene, target.node.as_ref()));
    finding
}

fn against(scene: &Scene<'_>, target: &TargetStatus, finding: &mut Finding) {
    if target.rolling_out {
        finding.contradicting.push(Evidence::of(
            "the exporter is being rolled out, where an absence is expected for a while",
            "kubernetes",
        ));
    }
    let others = target
        .node
        .iter()
        .flat_map(|node| scene.targets_of(node))
        .find(|(other, look)| other.url != target.url && look.answers());
    if let Some((other, _)) = others {
        finding.contradicting.push(Evidence::of(
            format!("another target of the node answers: {}", other.url),
            "scrape",
        ));
    }
}

pub(super) fn empty(scene: &Scene<'_>, target: &TargetStatus) -> Finding {
    let since = target.empty_since.unwrap_or_else(|| last_word(target));
    let mut finding = scene.finding(
        Cause::TargetEmpty,
        target.node.as_ref(),
        format!(
            "{}: its telemetry target answers, and has named no GPU for {}",
            name(target),
            scene.ago(since)
        ),
        since,
    );
    finding.facts = facts(scene, target);
    finding.supporting.push(match (&target.unlabelled, target.samples) {
        (Some(unlabelled), _) => Evidence::of(unlabelled.to_string(), "scrape"),
        (None, 0) => Evidence::of(
            "consistent with a host engine that started before the driver (the page stays empty until the exporter restarts), or with DCGM having stopped after a fatal XID",
            "dcgm-exporter",
        ),
        (None, samples) => Evidence::of(
            format!(
                "the page has samples ({samples}), none with the UUID of a GPU: consistent with an exporter of CPUs or switches only, with another program's page, or with labels that were aggregated away on the way"
            ),
            "scrape",
        ),
    });
    if let Some(at) = target.last_success {
        finding.contradicting.push(Evidence::at(
            "the target answers HTTP 200: network and process work",
            "scrape",
            at,
        ));
    }
    let node = target.node.as_ref().and_then(|name| scene.node(name));
    let has_gpus = node.is_some_and(|node| offered(node).any(|(_, count)| count > 0));
    if node.is_some() && !has_gpus {
        finding.grade = Grade::Contradicted;
        finding.contradicting.push(Evidence::of(
            "the API tells of no GPU on this node: an exporter there has nothing to name (with DRA the API tells of none either, and exporters before 4.4.2-4.7.0 hide free GPUs)",
            "capacity",
        ));
    }
    if target.unlabelled.is_some() {
        finding.checklist.push(steps::look(
            "Compare the page with the exporter's own: a recording rule, a federation or a relay in between that sums over GPUs drops their labels. Point the target at dcgm-exporter itself.",
        ));
    }
    times(target, &mut finding);
    finding
        .timeline
        .push(Evidence::at("first answer without a GPU", "scrape", since));
    xid_before(scene, target, &mut finding);
    finding.checklist.push(remedy::ask(&target.url));
    finding
        .checklist
        .extend(remedy::exporter(scene, target.node.as_ref()));
    finding
}

/// The last XID of any board that the target told about.
fn xid_before(scene: &Scene<'_>, target: &TargetStatus, finding: &mut Finding) {
    let told = |gpu: &&Gpu| gpu.identity.target.as_ref() == Some(&target.url);
    let boards: Vec<_> = match &target.node {
        Some(node) => scene.boards.get(node).cloned().unwrap_or_default(),
        None => scene.placed().filter(told).collect(),
    };
    super::board_findings::last_xid(&boards, finding);
}

fn facts(scene: &Scene<'_>, target: &TargetStatus) -> Vec<Fact> {
    let fact = |name: &'static str, value: String, at| Fact {
        name: name.into(),
        value,
        source: "scrape".into(),
        at,
    };
    let mut facts = vec![fact("target", target.url.to_string(), target.last_attempt)];
    if let Some(at) = target.last_success {
        let ago = format!("{} ago", scene.ago(at));
        facts.push(fact("last answer", ago, Some(at)));
        let boards = target.gpus.to_string();
        facts.push(fact("GPUs in the last good answer", boards, Some(at)));
    }
    if let Some(error) = &target.error {
        let kind = error.kind.as_str().to_owned();
        facts.push(fact("error", kind, target.last_attempt));
    }
    let took = format!("{} s", words::short(target.duration_seconds));
    facts.push(fact("time of the last attempt", took, target.last_attempt));
    facts
}

fn times(target: &TargetStatus, finding: &mut Finding) {
    let mut event = |text: &'static str, at: Option<Timestamp>| {
        finding
            .timeline
            .extend(at.map(|at| Evidence::at(text, "scrape", at)));
    };
    event("became a target", Some(target.since));
    event("last good answer", target.last_success);
    event("last attempt", target.last_attempt);
}
