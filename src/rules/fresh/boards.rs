//! Boards: vanished, frozen or stale, each by itself or all of a node together.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::board_findings;
use super::nodes::{self, Coverage};
use super::scene::{Scene, fires, merged};
use super::signals::{self, Moves};
use super::target::{self, Look};
use crate::finding::{Cause, Judgement, Key, Reason, Subject, Verdict};
use crate::snapshot::{Gpu, Liveness};

/// How a board looks: the first that holds.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sight {
    /// Another finding stands for it.
    Covered(Key),
    /// Its target is silent, inside the hold: what follows from that waits as well.
    Waiting,
    /// Its target answers without it.
    Vanished {
        /// When it was last named.
        since: Timestamp,
        /// Beyond the hold.
        settled: bool,
    },
    /// Its readings repeat.
    Frozen(Timestamp),
    /// Its readings are old.
    Stale(Timestamp),
    /// Its readings are the present.
    Live,
}

/// A board and how it looks.
pub(super) struct Member<'a> {
    pub(super) gpu: &'a Gpu,
    pub(super) sight: Sight,
}

impl Member<'_> {
    /// Since when nothing is known of it, where that is a matter of the board and not of its target.
    pub(super) fn blind_since(&self) -> Option<Timestamp> {
        match self.sight {
            Sight::Frozen(since) | Sight::Stale(since) => Some(since),
            _ => None,
        }
    }
}

/// What boards are taken together by: their node, else their target.
pub(super) struct Group<'a> {
    pub(super) subject: Option<Subject>,
    pub(super) members: Vec<Member<'a>>,
    /// The cause that stands for all of them, where none of them is live.
    pub(super) whole: Option<Cause>,
}

impl Group<'_> {
    fn key(&self, cause: Cause) -> Option<Key> {
        let subject = self.subject.clone()?;
        Some(Scene::key(subject, cause))
    }

    /// The boards that the group's finding is about.
    pub(super) fn blind(&self) -> impl Iterator<Item = &Member<'_>> {
        self.members
            .iter()
            .filter(|member| member.blind_since().is_some())
    }
}

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    for group in groups(scene) {
        let mut frozen = Vec::new();
        for member in &group.members {
            let own = |cause| Scene::gpu_key(member.gpu, cause);
            let verdict = frozen_verdict(scene, &group, member);
            frozen.push((own(Cause::TelemetryFrozen), verdict.clone()));
            for (cause, verdict) in [
                (Cause::GpuVanished, vanished_verdict(scene, &group, member)),
                (Cause::TelemetryFrozen, verdict),
                (Cause::TelemetryStale, stale_verdict(scene, &group, member)),
                (Cause::SignalDisagreement, signals::judge(scene, member)),
            ] {
                judgements.push(scene.judgement(own(cause), verdict));
            }
        }
        for cause in [Cause::TelemetryFrozen, Cause::TelemetryStale] {
            if let Some(key) = group.key(cause) {
                let verdict = together(scene, &group, cause, &frozen);
                judgements.push(scene.judgement(key, verdict));
            }
        }
    }
    judgements
}

fn groups<'a>(scene: &Scene<'a>) -> Vec<Group<'a>> {
    let mut by_subject: BTreeMap<Option<Subject>, Vec<&'a Gpu>> = BTreeMap::new();
    for gpu in scene.placed() {
        let identity = &gpu.identity;
        let subject = match (&identity.node, &identity.target) {
            (Some(node), _) => Some(Subject::Node(node.clone())),
            (None, Some(url)) => Some(Subject::Target {
                node: None,
                url: url.clone(),
            }),
            (None, None) => None,
        };
        by_subject.entry(subject).or_default().push(gpu);
    }
    by_subject
        .into_iter()
        .map(|(subject, gpus)| {
            let any_live = gpus.iter().any(|gpu| !gpu.is_blind());
            let members: Vec<_> = gpus
                .into_iter()
                .map(|gpu| Member {
                    gpu,
                    sight: sight(scene, gpu, any_live),
                })
                .collect();
            let whole = subject.as_ref().and_then(|_| whole(&members));
            Group {
                subject,
                members,
                whole,
            }
        })
        .collect()
}

/// The cause that all boards share which nothing else stands for.
fn whole(members: &[Member<'_>]) -> Option<Cause> {
    let is_live = |member: &Member<'_>| member.sight == Sight::Live;
    let is_blind = |member: &Member<'_>| member.blind_since().is_some();
    if members.iter().any(is_live) || !members.iter().any(is_blind) {
        return None;
    }
    let stale = |member: &Member<'_>| matches!(member.sight, Sight::Stale(_));
    Some(if members.iter().any(stale) {
        Cause::TelemetryStale
    } else {
        Cause::TelemetryFrozen
    })
}

fn sight(scene: &Scene<'_>, gpu: &Gpu, any_live: bool) -> Sight {
    if !gpu.is_blind() {
        return Sight::Live;
    }
    let look = match scene.target_of(gpu) {
        Some((status, Look::Unreachable)) => return Sight::Covered(target::home(scene, status)),
        Some((status, Look::Empty)) => {
            return Sight::Covered(target::key(status, Cause::TargetEmpty));
        }
        Some((_, Look::Silent | Look::Emptying)) => return Sight::Waiting,
        Some((_, look)) => look,
        None => match uncovered(scene, gpu) {
            Some(sight) => return sight,
            None => Look::Unknown,
        },
    };
    match gpu.liveness {
        Liveness::Vanished { since } if look.answers() || any_live => Sight::Vanished {
            since,
            settled: scene.age(since) >= scene.thresholds.vanished_after.get(),
        },
        Liveness::Vanished { since } | Liveness::Stale { since } => {
            if scene.age(since) > scene.snapshot.limits.stale_after.get() {
                Sight::Stale(since)
            } else {
                Sight::Waiting
            }
        }
        Liveness::Frozen { since } => Sight::Frozen(since),
        Liveness::Live => Sight::Live,
    }
}

/// A board that no target tells about any more: the source that is gone or the node that is not
/// covered stands for it.
fn uncovered(scene: &Scene<'_>, gpu: &Gpu) -> Option<Sight> {
    if let Some(key) = target::gone_key(scene) {
        return Some(Sight::Covered(key));
    }
    let node = gpu.identity.node.as_ref()?;
    match nodes::coverage(scene, node)? {
        Coverage::Uncovered { fires: true, .. } => Some(Sight::Covered(Scene::node_key(
            node,
            Cause::NodeWithoutTelemetry,
        ))),
        Coverage::Uncovered { .. } => Some(Sight::Waiting),
        Coverage::Covered | Coverage::NoGpus | Coverage::Unknown => None,
    }
}

/// The finding that a frozen or stale board belongs to.
fn blind_home(group: &Group<'_>, member: &Member<'_>) -> Key {
    let own = if matches!(member.sight, Sight::Frozen(_)) {
        Cause::TelemetryFrozen
    } else {
        Cause::TelemetryStale
    };
    group
        .whole
        .and_then(|cause| group.key(cause))
        .unwrap_or_else(|| Scene::gpu_key(member.gpu, own))
}

fn vanished_verdict(scene: &Scene<'_>, group: &Group<'_>, member: &Member<'_>) -> Verdict {
    match &member.sight {
        Sight::Covered(key) => merged([key.clone()]),
        Sight::Waiting | Sight::Vanished { settled: false, .. } => Verdict::Holds,
        Sight::Vanished { since, .. } => {
            fires(board_findings::vanished(scene, group, member.gpu, *since))
        }
        // Old or repeated readings do not prove that the board is still there.
        Sight::Frozen(_) | Sight::Stale(_) => Verdict::Undecided(Reason::Blind),
        Sight::Live => Verdict::Clear,
    }
}

fn frozen_verdict(scene: &Scene<'_>, group: &Group<'_>, member: &Member<'_>) -> Verdict {
    match &member.sight {
        Sight::Covered(key) => merged([key.clone()]),
        Sight::Waiting | Sight::Vanished { settled: false, .. } => Verdict::Holds,
        Sight::Vanished { .. } => merged([Scene::gpu_key(member.gpu, Cause::GpuVanished)]),
        Sight::Frozen(since) if group.whole.is_none() || group.subject.is_none() => {
            fires(board_findings::frozen(scene, group, member.gpu, *since))
        }
        Sight::Frozen(_) | Sight::Stale(_) => merged([blind_home(group, member)]),
        Sight::Live => match signals::moves(scene, member.gpu) {
            Moves::Yes => Verdict::Clear,
            Moves::Stuck(stuck) => fires(board_findings::stuck(scene, member.gpu, &stuck)),
            Moves::Unknown(reason) => Verdict::Undecided(reason),
        },
    }
}

fn stale_verdict(scene: &Scene<'_>, group: &Group<'_>, member: &Member<'_>) -> Verdict {
    match &member.sight {
        Sight::Covered(key) => merged([key.clone()]),
        Sight::Waiting | Sight::Vanished { settled: false, .. } => Verdict::Holds,
        Sight::Vanished { .. } => merged([Scene::gpu_key(member.gpu, Cause::GpuVanished)]),
        Sight::Stale(since) if group.whole.is_none() => {
            fires(board_findings::stale(scene, group, member.gpu, *since))
        }
        Sight::Frozen(_) | Sight::Stale(_) => merged([blind_home(group, member)]),
        Sight::Live => Verdict::Clear,
    }
}

/// The verdict on a node's (or target's) boards as a whole.
fn together(
    scene: &Scene<'_>,
    group: &Group<'_>,
    cause: Cause,
    frozen: &[(Key, Verdict)],
) -> Verdict {
    if let Some(whole) = group.whole {
        return if whole == cause {
            fires(board_findings::whole(scene, group, cause))
        } else {
            merged(group.key(whole))
        };
    }
    let homes: Vec<Key> = group
        .members
        .iter()
        .filter_map(|member| match &member.sight {
            Sight::Covered(key) => Some(key.clone()),
            Sight::Vanished { settled: true, .. } => {
                Some(Scene::gpu_key(member.gpu, Cause::GpuVanished))
            }
            Sight::Frozen(_) | Sight::Stale(_) => Some(blind_home(group, member)),
            Sight::Waiting | Sight::Vanished { .. } | Sight::Live => None,
        })
        .collect();
    let all_live = group
        .members
        .iter()
        .all(|member| member.sight == Sight::Live);
    if !homes.is_empty() {
        return merged(homes);
    }
    if !all_live {
        return Verdict::Holds;
    }
    if cause == Cause::TelemetryStale {
        return Verdict::Clear;
    }
    // Each board must prove for itself that it moves.
    let fired = frozen
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Fires(_)))
        .map(|(key, _)| key.clone())
        .collect::<Vec<_>>();
    if !fired.is_empty() {
        return merged(fired);
    }
    frozen
        .iter()
        .map(|(_, verdict)| verdict)
        .find(|verdict| **verdict != Verdict::Clear)
        .cloned()
        .unwrap_or(Verdict::Clear)
}
