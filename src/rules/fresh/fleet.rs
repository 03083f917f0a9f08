//! The fleet: how many GPUs are blind at once.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::remedy;
use super::scene::{Scene, fires, merged};
use super::target::{Look, gone_key};
use crate::finding::{
    Cause, Evidence, Fact, Finding, Judgement, Reason, Severity, Subject, Verdict,
};
use crate::rules::steps;
use crate::rules::words;
use crate::snapshot::NodeName;

/// The GPUs of one node or, where that is not known, of one target.
#[derive(Default)]
struct Place {
    /// GPUs that are known there.
    known: u64,
    /// GPUs that the targets' last good answers named.
    named: u64,
    /// Boards with live readings.
    live: u64,
    /// Boards that are not live, by the time when they last were.
    blind: Vec<Timestamp>,
    /// Since when its target has been silent, where one is.
    silent: Option<Timestamp>,
}

impl Place {
    fn total(&self) -> u64 {
        self.known.max(self.named)
    }

    /// GPUs that are not live at present.
    fn dark(&self) -> u64 {
        self.total() - self.live.min(self.total())
    }

    /// GPUs that have been blind for longer than the hold.
    fn long_dark(&self, scene: &Scene<'_>) -> u64 {
        let long = |since: &Timestamp| scene.age(*since) >= scene.thresholds.fleet_after.get();
        let boards = self.blind.iter().filter(|since| long(since)).count() as u64;
        let unseen = self.named.saturating_sub(self.known);
        boards
            + if self.silent.as_ref().is_some_and(long) {
                unseen
            } else {
                0
            }
    }
}

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let key = Scene::key(Subject::Cluster, Cause::FleetBlind);
    let places = places(scene);
    let total: u64 = places.values().map(Place::total).sum();
    let count = |dark: &dyn Fn(&Place) -> u64| {
        let of: Vec<u64> = places
            .values()
            .map(dark)
            .filter(|count| *count > 0)
            .collect();
        (of.iter().sum::<u64>(), of.len() as u64)
    };
    let much = |(gpus, nodes): (u64, u64)| {
        gpus as f64 >= scene.thresholds.fleet_share.get() * total as f64
            && nodes as f64 >= scene.thresholds.fleet_nodes.get()
    };
    let long = count(&|place| place.long_dark(scene));
    let verdict = if let Some(gone) = gone_key(scene) {
        merged([gone])
    } else if total == 0 {
        Verdict::Undecided(Reason::TooFewSamples)
    } else if much(long) {
        fires(blind(scene, &places, long, total))
    } else if much(count(&Place::dark)) {
        Verdict::Holds
    } else {
        Verdict::Clear
    };
    vec![scene.judgement(key, verdict)]
}

/// GPUs by place. Nodes that nobody asked to watch (no target, no board ever named) are their own
/// findings and not part of the fleet; excluded ones and those under planned work do not count.
fn places(scene: &Scene<'_>) -> BTreeMap<String, Place> {
    let mut places: BTreeMap<String, Place> = BTreeMap::new();
    for gpu in scene.placed() {
        let identity = &gpu.identity;
        let Some(name) = name(scene, identity.node.as_ref(), identity.target.as_deref()) else {
            continue;
        };
        let place = places.entry(name).or_default();
        place.known += 1;
        if gpu.is_blind() {
            place.blind.push(gpu.live_at);
        } else {
            place.live += 1;
        }
    }
    for (target, look) in &scene.targets {
        let Some(name) = name(scene, target.node.as_ref(), Some(&target.url)) else {
            continue;
        };
        let place = places.entry(name).or_default();
        // Two targets may name the same boards, so they are not added up.
        place.named = place.named.max(u64::from(target.gpus));
        if matches!(look, Look::Silent | Look::Unreachable) {
            let since = target.last_success.unwrap_or(target.since);
            place.silent = Some(place.silent.map_or(since, |known| known.max(since)));
        }
    }
    places
}

/// The name of a place that counts.
fn name(scene: &Scene<'_>, node: Option<&NodeName>, url: Option<&str>) -> Option<String> {
    let Some(node) = node else {
        return Some(url.unwrap_or_default().to_owned());
    };
    let subject = Subject::Node(node.clone());
    let excluded = scene.thresholds.exclude.covers(&subject, scene.snapshot);
    let at_work = scene
        .node(node)
        .is_some_and(|node| scene.planned_work(node).is_some());
    (!excluded && !at_work).then(|| node.to_string())
}

fn blind(
    scene: &Scene<'_>,
    places: &BTreeMap<String, Place>,
    (gpus, nodes): (u64, u64),
    total: u64,
) -> Finding {
    let dark = places
        .iter()
        .filter(|(_, place)| place.long_dark(scene) > 0);
    let ended = |place: &Place| place.blind.iter().copied().chain(place.silent).min();
    let since = dark.clone().filter_map(|(_, place)| ended(place)).min();
    let since = since.unwrap_or(scene.snapshot.now);
    let share = words::quantity(gpus as f64 / total as f64, "ratio");
    let mut finding = scene.finding(
        Cause::FleetBlind,
        None,
        format!(
            "{gpus} of {total} GPUs ({share}) on {nodes} nodes have had no live reading for {} or longer",
            scene.thresholds.fleet_after
        ),
        since,
    );
    finding.severity = Severity::Critical;
    for (name, place) in dark.take(16) {
        finding.facts.push(Fact {
            name: name.clone().into(),
            value: format!("{} of {} GPUs blind", place.long_dark(scene), place.total()),
            source: "dcgm".into(),
            at: ended(place),
        });
    }
    finding.supporting.push(Evidence::of(
        "several nodes at once: consistent with something they share, such as a rollout of exporter or driver, a network policy or the monitoring network",
        "dcgm",
    ));
    let live: u64 = places.values().map(|place| place.live).sum();
    if live > 0 {
        finding.contradicting.push(Evidence::of(
            format!("{live} GPUs are live, so telemetry works elsewhere"),
            "dcgm",
        ));
    }
    finding.missing.push(Evidence::of(
        "every reading of these GPUs: no other finding about them is the present",
        "dcgm",
    ));
    let event = Evidence::at("first of them last seen live", "dcgm", since);
    finding.timeline.push(event);
    finding.checklist.push(steps::look(
        "Look at what these nodes have in common (zone, rack, image, driver) before looking at single nodes; each has its own finding.",
    ));
    finding.checklist.extend(remedy::exporter(scene, None));
    finding
}
