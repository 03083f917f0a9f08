//! Node conditions that speak of GPUs.

use jiff::{SignedDuration, Timestamp};

use super::fleet::Fleet;
use super::node::{Claim, NodeFound, View};
use super::sign::{Kind, Sign};
use crate::finding::{Cause, Evidence, Fact, Reason, Severity};
use crate::rules::node_condition::{self, About, Heartbeat, Verdict};
use crate::snapshot::NodeCondition;

/// The period of an agent whose own is not known: what most agents use.
const USUAL_PERIOD: SignedDuration = SignedDuration::from_mins(5);
/// Speaks of performance, not of a fault: THERM's business.
const PERFORMANCE: &str = "GPUClockThrottling";
/// EKS's reason for "DCGM could not be asked".
const TELEMETRY_REASON: &str = "DCGMError";

/// Looks at a node's conditions.
pub(super) fn look(fleet: &Fleet<'_>, view: &View<'_>, node: &mut NodeFound) {
    for condition in &view.node.conditions {
        let Some(known) = node_condition::lookup(&condition.kind) else {
            continue;
        };
        let about = if &*condition.reason == TELEMETRY_REASON {
            About::Telemetry
        } else {
            known.about
        };
        let hardware = about == About::Gpu && known.name != PERFORMANCE;
        match known.is_problem(&condition.status) {
            Verdict::Healthy => {}
            // The check did not work: no problem, and no sign of health either.
            Verdict::Unknown if hardware => {
                doubt(fleet, view, condition, node);
                node.found.missing.push(Evidence::of(
                    format!(
                        "condition {} is {}: its check did not work",
                        known.name, condition.status
                    ),
                    "node condition",
                ));
            }
            Verdict::Unknown => {}
            Verdict::Problem if !hardware => other(condition, about, node),
            Verdict::Problem if is_current(fleet, view, known, condition) => {
                let sign = sign(fleet, known, condition);
                node.signs.push((sign, named_board(fleet, view, condition)));
            }
            Verdict::Problem => {
                doubt(fleet, view, condition, node);
                node.found.missing.push(Evidence::of(
                    format!(
                        "condition {} reports a problem, but nobody has confirmed it lately",
                        known.name
                    ),
                    "node condition",
                ));
            }
        }
    }
}

/// A check that no longer works: neither the node nor a board that it names is quiet.
fn doubt(fleet: &Fleet<'_>, view: &View<'_>, condition: &NodeCondition, node: &mut NodeFound) {
    node.undecided(Reason::Blind);
    if let Claim::Named(at) = named_board(fleet, view, condition) {
        node.doubted.push(at);
    }
}

/// Whether whoever sets the condition still lives; conditions outlive their agents.
fn is_current(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    known: &node_condition::NodeCondition,
    condition: &NodeCondition,
) -> bool {
    let period = match known.heartbeat {
        // GKE's message is the boot id: another boot has other codes.
        Heartbeat::OnChange => {
            let boot = view.node.boot_id.as_deref();
            return boot.is_none_or(|boot| {
                condition.message.is_empty() || condition.message.contains(boot)
            });
        }
        Heartbeat::Every(period) => SignedDuration::try_from(period).unwrap_or(USUAL_PERIOD),
        Heartbeat::Unknown => USUAL_PERIOD,
    };
    let limit = period.as_secs_f64() * fleet.thresholds.heartbeat_periods.get();
    condition
        .heartbeat
        .is_some_and(|at| fleet.snapshot.now.duration_since(at).as_secs_f64() < limit)
}

fn sign(
    fleet: &Fleet<'_>,
    known: &node_condition::NodeCondition,
    condition: &NodeCondition,
) -> Sign {
    let since = since(fleet, condition);
    let reason = if condition.reason.is_empty() {
        String::new()
    } else {
        format!(", reason {}", condition.reason)
    };
    let text = format!("condition {}={}{reason}", known.name, condition.status);
    let evidence = Evidence::at(text.clone(), "node condition", since);
    let mut sign = Sign::new(
        Cause::NodeCondition,
        Severity::Warning,
        Kind::Condition,
        since,
        text,
        evidence,
    )
    .reading("a GPU problem that an agent on the node reports")
    .fact(Fact {
        name: format!("condition {}", known.name).into(),
        value: format!("{}: {}", condition.status, condition.message),
        source: "node condition".into(),
        at: condition.heartbeat,
    });
    sign.missing.push(Evidence::of(
        "what the agent saw: a fresh heartbeat does not date the fault",
        "node condition",
    ));
    if let Some(note) = known.note {
        sign.facts.push(Fact {
            name: "note".into(),
            value: note.to_owned(),
            source: "table of conditions".into(),
            at: None,
        });
    }
    sign
}

fn since(fleet: &Fleet<'_>, condition: &NodeCondition) -> Timestamp {
    let now = fleet.snapshot.now;
    condition
        .changed
        .or(condition.heartbeat)
        .map_or(now, |at| at.min(now))
}

/// A condition whose message names a board of this node is about that board.
fn named_board(fleet: &Fleet<'_>, view: &View<'_>, condition: &NodeCondition) -> Claim {
    let named = view.boards.iter().find(|at| {
        condition
            .message
            .contains(fleet.snapshot.gpus[**at].uuid.as_str())
    });
    named.map_or(Claim::OneInTrouble, |at| Claim::Named(*at))
}

/// Trouble that is not the GPU's lowers suspicion of it.
fn other(condition: &NodeCondition, about: About, node: &mut NodeFound) {
    let what = match about {
        About::DevicePlugin => "the device plugin",
        About::Telemetry => "the collection of readings",
        About::Network => "the network",
        About::Workload => "programs",
        About::Host => "the machine",
        About::NodeCore => "the node as Kubernetes sees it",
        About::Gpu => "performance only",
    };
    let text = format!(
        "condition {}={} speaks of {what}",
        condition.kind, condition.status
    );
    let lowers = matches!(
        about,
        About::DevicePlugin | About::Telemetry | About::Network | About::Workload
    );
    if lowers {
        node.found.against.push(Evidence::of(
            format!("{text}, not of a GPU"),
            "node condition",
        ));
    } else {
        node.found.facts.push(Fact {
            name: "other condition".into(),
            value: text,
            source: "node condition".into(),
            at: condition.heartbeat,
        });
    }
}
