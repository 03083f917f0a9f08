//! Series that name a pod which the API knows to be elsewhere or gone.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::nodes::offered;
use super::pods::Place;
use super::remedy;
use super::scene::{Scene, fires};
use crate::finding::{Cause, Evidence, Fact, Finding, Reason, Verdict};
use crate::rules::steps;
use crate::snapshot::{Gpu, Hold, Pod, PodPhase, PodRef};

/// Pods and ends of pods by the names that labels carry.
pub(super) struct Named<'a> {
    pods: BTreeMap<PodRef, Vec<&'a Pod>>,
    ends: BTreeMap<PodRef, Timestamp>,
}

impl<'a> Named<'a> {
    pub(super) fn index(scene: &Scene<'a>) -> Self {
        let mut pods: BTreeMap<PodRef, Vec<&Pod>> = BTreeMap::new();
        for pod in scene.snapshot.inventory.pods.values() {
            pods.entry(pod.pod_ref()).or_default().push(pod);
        }
        let mut ends: BTreeMap<PodRef, Timestamp> = BTreeMap::new();
        for end in &scene.snapshot.terminations {
            let name = PodRef {
                namespace: end.namespace.clone(),
                pod: end.pod.clone(),
            };
            if let Some(at) = end.finished {
                let last = ends.entry(name).or_insert(at);
                *last = at.max(*last);
            }
        }
        Self { pods, ends }
    }
}

/// What the API says of one label.
enum Word {
    Agrees,
    /// The label is wrong, since when, and why.
    Wrong(Option<Timestamp>, String),
    /// It cannot be said.
    Unknown,
}

pub(super) fn judge(scene: &Scene<'_>, place: &Place<'_>, known: &Named<'_>) -> Verdict {
    if !place.complete || place.node.is_none() {
        return Verdict::Undecided(Reason::InventoryIncomplete);
    }
    let mut wrong = Vec::new();
    let (mut unknown, mut undated) = (false, false);
    let named = place.named(scene);
    for (gpu, hold) in &named {
        match word(place, hold, known) {
            Word::Agrees => {}
            Word::Wrong(Some(since), why) => wrong.push((since.max(hold.from), *gpu, *hold, why)),
            Word::Wrong(None, _) => undated = true,
            Word::Unknown => unknown = true,
        }
    }
    wrong.sort_by(|(a, gpu_a, ..), (b, gpu_b, ..)| (a, &gpu_a.uuid).cmp(&(b, &gpu_b.uuid)));
    if let Some((since, ..)) = wrong.first() {
        return if scene.age(*since) >= scene.thresholds.labels_disagree_after.get() {
            fires(disagree(scene, place, &wrong))
        } else {
            Verdict::Holds
        };
    }
    if undated {
        return Verdict::Undecided(Reason::BeforeHistory);
    }
    if unknown {
        return Verdict::Undecided(Reason::TooFewSamples);
    }
    if !place.all_live() {
        return Verdict::Undecided(Reason::Blind);
    }
    // Without a label there is agreement only where the API knows of no pod either.
    if named.is_empty() && !place.holding.is_empty() {
        return Verdict::Undecided(Reason::TooFewSamples);
    }
    Verdict::Clear
}

fn word(place: &Place<'_>, hold: &Hold, known: &Named<'_>) -> Word {
    let pods = known.pods.get(&hold.pod).map_or(&[][..], Vec::as_slice);
    let ended = known.ends.get(&hold.pod).copied();
    let is_ended = |pod: &Pod| matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
    let same = |pod: &Pod| hold.uid.as_ref().is_none_or(|uid| *uid == pod.uid);
    let here = |pod: &Pod| pod.node.as_ref() == Some(place.name);
    if let Some(pod) = pods
        .iter()
        .find(|pod| same(pod) && here(pod) && !is_ended(pod))
    {
        // A label that is older than the pod may be that of its predecessor by the same name.
        return if hold.uid.is_some() || hold.from >= pod.created {
            Word::Agrees
        } else {
            Word::Unknown
        };
    }
    if let Some(pod) = pods.iter().find(|pod| same(pod) && is_ended(pod)) {
        return Word::Wrong(ended, format!("it has ended ({:?})", pod.phase));
    }
    if let Some(pod) = pods.first() {
        let began = pod.started.unwrap_or(pod.created);
        return Word::Wrong(
            Some(began),
            match &pod.node {
                Some(node) if here(pod) => {
                    format!("another pod of that name has run on {node} since")
                }
                Some(node) => format!("the pod of that name is on {node}"),
                None => "the pod of that name is not bound to a node".to_owned(),
            },
        );
    }
    // Pods with resource claims are not in the list, so their absence says nothing.
    let by_claims = place
        .node
        .is_none_or(|node| offered(node).all(|(_, count)| count <= 0));
    if by_claims {
        Word::Unknown
    } else {
        Word::Wrong(ended, "the API knows no such pod".to_owned())
    }
}

type Wrong<'a> = (Timestamp, &'a Gpu, &'a Hold, String);

fn disagree(scene: &Scene<'_>, place: &Place<'_>, wrong: &[Wrong<'_>]) -> Finding {
    let name = place.name;
    // The caller has at least one.
    let since = wrong
        .first()
        .map_or(scene.snapshot.now, |(since, ..)| *since);
    let mut pods: Vec<_> = wrong.iter().map(|(_, _, hold, _)| &hold.pod).collect();
    pods.sort();
    pods.dedup();
    let whom = match pods.as_slice() {
        [one] => format!("pod {one}"),
        several => format!("{} pods", several.len()),
    };
    let mut finding = scene.finding(
        Cause::LabelsDisagree,
        Some(name),
        format!(
            "{name}: series have named {whom} for {} although the API says otherwise",
            scene.ago(since)
        ),
        since,
    );
    for (since, gpu, hold, why) in wrong.iter().take(8) {
        finding.facts.push(Fact {
            name: format!("{} names", gpu.title()).into(),
            value: hold.pod.to_string(),
            source: "dcgm".into(),
            at: Some(hold.to),
        });
        finding.supporting.push(Evidence::at(
            format!("{}: {why}", hold.pod),
            "kubernetes",
            *since,
        ));
        finding.timeline.push(Evidence::at(
            format!("{} first named by {}", hold.pod, gpu.title()),
            "dcgm",
            hold.from,
        ));
    }
    finding.contradicting.push(Evidence::of(
        "labels outlive a finished pod by about 30 min in some exporters (issue 140)",
        "dcgm-exporter",
    ));
    finding.missing.push(Evidence::of(
        "who uses these GPUs now: utilisation is not judged by these labels",
        "dcgm",
    ));
    finding.checklist.push(steps::run(
        "See which pods the API has on the node.",
        format!(
            "kubectl get pods -A -o wide --field-selector {}",
            steps::quoted(&format!("spec.nodeName={name}"))
        ),
    ));
    finding
        .checklist
        .extend(remedy::exporter(scene, Some(name)));
    finding
}
