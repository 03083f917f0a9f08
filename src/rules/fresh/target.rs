//! Targets: do they answer, and do they answer with GPUs? And the source that they make up.

use jiff::{SignedDuration, Timestamp};

use super::scene::{Scene, fires, merged};
use super::target_findings;
use crate::finding::{Cause, Judgement, Key, Reason, Subject, Verdict};
use crate::snapshot::{SourceId, SourceState, TargetState, TargetStatus};

/// How a target looks at the judged moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// Not tried yet, or not tried lately.
    Unknown,
    /// The last attempt failed, inside the hold.
    Silent,
    /// The last attempt failed, beyond the hold.
    Unreachable,
    /// It answers without a GPU, beyond the hold.
    Empty,
    /// It answers without a GPU, inside the hold.
    Emptying,
    /// It answers, and nothing is said of its GPUs.
    Bare,
    /// It answers with GPUs.
    Full,
}

impl Look {
    pub(super) fn at(target: &TargetStatus, scene: &Scene<'_>) -> Self {
        let quiet = scene.age(last_word(target));
        match target.state {
            TargetState::Pending => Self::Unknown,
            TargetState::Down if quiet >= hold(target, scene) => Self::Unreachable,
            TargetState::Down => Self::Silent,
            TargetState::Up if target.last_success.is_none() || quiet > scene.silence() => {
                Self::Unknown
            }
            TargetState::Up => match target.empty_since {
                Some(since) if scene.age(since) > scene.thresholds.empty_after.get() => Self::Empty,
                Some(_) => Self::Emptying,
                None if target.gpus > 0 => Self::Full,
                None => Self::Bare,
            },
        }
    }

    /// Whether it answered lately.
    pub(super) fn answers(self) -> bool {
        matches!(self, Self::Empty | Self::Emptying | Self::Bare | Self::Full)
    }
}

/// The last answer; of a target that never answered, when it became one.
pub(super) fn last_word(target: &TargetStatus) -> Timestamp {
    target.last_success.unwrap_or(target.since)
}

/// How long a target may be silent.
fn hold(target: &TargetStatus, scene: &Scene<'_>) -> SignedDuration {
    let mut hold = scene.silence();
    if target.rolling_out {
        hold = hold.max(scene.thresholds.rollout_hold.get());
    }
    if target.node.as_ref().is_some_and(|node| scene.is_new(node)) {
        hold = hold.max(scene.thresholds.new_node_hold.get());
    }
    hold
}

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    for (target, look) in &scene.targets {
        let unreachable = match look {
            Look::Unreachable if is_gone(scene) => merged([source_key()]),
            Look::Unreachable => fires(target_findings::unreachable(scene, target)),
            Look::Silent => Verdict::Holds,
            Look::Unknown if target.state == TargetState::Pending => {
                Verdict::Undecided(Reason::WarmUp)
            }
            Look::Unknown => Verdict::Undecided(Reason::Blind),
            Look::Empty | Look::Emptying | Look::Bare | Look::Full => Verdict::Clear,
        };
        let empty = match look {
            Look::Unreachable => merged([home(scene, target)]),
            Look::Empty => fires(target_findings::empty(scene, target)),
            Look::Emptying | Look::Silent => Verdict::Holds,
            Look::Unknown | Look::Bare => Verdict::Undecided(Reason::Blind),
            Look::Full => Verdict::Clear,
        };
        judgements.push(scene.judgement(key(target, Cause::TargetUnreachable), unreachable));
        judgements.push(scene.judgement(key(target, Cause::TargetEmpty), empty));
    }
    judgements.extend(source(scene));
    judgements
}

pub(super) fn key(target: &TargetStatus, cause: Cause) -> Key {
    let subject = Subject::Target {
        node: target.node.clone(),
        url: target.url.clone(),
    };
    Scene::key(subject, cause)
}

fn source_key() -> Key {
    Scene::key(Subject::Source(SourceId::Dcgm), Cause::TargetUnreachable)
}

/// The finding that stands for an unreachable target.
pub(super) fn home(scene: &Scene<'_>, target: &TargetStatus) -> Key {
    if is_gone(scene) {
        source_key()
    } else {
        key(target, Cause::TargetUnreachable)
    }
}

/// Whether the source as a whole is gone. A single target speaks for itself, with its node.
pub(super) fn is_gone(scene: &Scene<'_>) -> bool {
    match scene.targets.len() {
        0 => scene.dcgm.is_some_and(|status| {
            let word = status.last_success.unwrap_or(status.since);
            status.state == SourceState::Down && scene.age(word) >= scene.silence()
        }),
        1 => false,
        _ => all(scene, |look| look == Look::Unreachable),
    }
}

/// The key of the source while it is gone.
pub(super) fn gone_key(scene: &Scene<'_>) -> Option<Key> {
    is_gone(scene).then(source_key)
}

fn all(scene: &Scene<'_>, is: impl Fn(Look) -> bool) -> bool {
    scene.targets.iter().all(|(_, look)| is(*look))
}

fn any(scene: &Scene<'_>, is: impl Fn(Look) -> bool) -> bool {
    scene.targets.iter().any(|(_, look)| is(*look))
}

fn source(scene: &Scene<'_>) -> Option<Judgement> {
    let status = scene.dcgm?;
    let down = |look| look == Look::Unreachable;
    let verdict = if is_gone(scene) {
        fires(target_findings::gone(scene, last_answer(scene)))
    } else if scene.targets.is_empty() {
        match status.state {
            SourceState::Down => Verdict::Holds,
            SourceState::Pending => Verdict::Undecided(Reason::WarmUp),
            SourceState::Up => Verdict::Undecided(Reason::TooFewSamples),
        }
    } else if any(scene, down) && (any(scene, Look::answers) || all(scene, down)) {
        let still = scene.targets.iter().filter(|(_, look)| down(*look));
        merged(still.map(|(target, _)| key(target, Cause::TargetUnreachable)))
    } else if all(scene, Look::answers) {
        Verdict::Clear
    } else if any(scene, |look| {
        matches!(look, Look::Silent | Look::Unreachable)
    }) {
        Verdict::Holds
    } else {
        Verdict::Undecided(Reason::Blind)
    };
    Some(scene.judgement(source_key(), verdict))
}

/// The last answer of any target, else the time from which one was waited for.
fn last_answer(scene: &Scene<'_>) -> Timestamp {
    let targets = scene.targets.iter().map(|(target, _)| last_word(target));
    let own = scene
        .dcgm
        .map(|status| status.last_success.unwrap_or(status.since));
    targets.max().or(own).unwrap_or(scene.snapshot.now)
}
