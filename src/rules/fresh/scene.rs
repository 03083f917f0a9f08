//! What all causes share: who tells about what, and how a judgement and a finding begin.

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};

use super::Thresholds;
use super::target::Look;
use crate::finding::{
    Cause, Evidence, Finding, Grade, Judgement, Key, RuleId, Severity, Subject, Verdict,
};
use crate::rules::{planned_work, words};
use crate::snapshot::{
    ClusterSnapshot, Gpu, ListState, Node, NodeName, SourceId, SourceStatus, TargetStatus,
};

/// A snapshot with what is looked up in it again and again.
pub(super) struct Scene<'a> {
    pub(super) snapshot: &'a ClusterSnapshot,
    pub(super) thresholds: &'a Thresholds,
    /// The dcgm source, where one is configured.
    pub(super) dcgm: Option<&'a SourceStatus>,
    /// Its targets, and how each looks.
    pub(super) targets: Vec<(&'a TargetStatus, Look)>,
    by_url: BTreeMap<&'a str, usize>,
    by_node: BTreeMap<&'a NodeName, Vec<usize>>,
    /// Boards that still have their place, by node; boards of no known node are not here.
    pub(super) boards: BTreeMap<&'a NodeName, Vec<&'a Gpu>>,
}

impl<'a> Scene<'a> {
    pub(super) fn new(snapshot: &'a ClusterSnapshot, thresholds: &'a Thresholds) -> Self {
        let dcgm = snapshot
            .sources
            .iter()
            .find(|status| status.id == SourceId::Dcgm);
        let mut scene = Self {
            snapshot,
            thresholds,
            dcgm,
            targets: Vec::new(),
            by_url: BTreeMap::new(),
            by_node: BTreeMap::new(),
            boards: BTreeMap::new(),
        };
        for target in dcgm.iter().flat_map(|status| &status.targets) {
            let place = scene.targets.len();
            if scene.by_url.insert(&target.url, place).is_some() {
                continue;
            }
            if let Some(node) = &target.node {
                scene.by_node.entry(node).or_default().push(place);
            }
            scene.targets.push((target, Look::at(target, &scene)));
        }
        for gpu in scene.placed() {
            if let Some(node) = &gpu.identity.node {
                scene.boards.entry(node).or_default().push(gpu);
            }
        }
        scene
    }

    /// The boards that have not been exchanged for others.
    pub(super) fn placed(&self) -> impl Iterator<Item = &'a Gpu> + use<'a> {
        self.snapshot
            .gpus
            .iter()
            .filter(|gpu| gpu.replaced_by.is_none())
    }

    /// The targets that tell about a node.
    pub(super) fn targets_of(
        &self,
        node: &NodeName,
    ) -> impl Iterator<Item = (&'a TargetStatus, Look)> {
        self.by_node
            .get(node)
            .into_iter()
            .flatten()
            .map(|place| self.targets[*place])
    }

    /// The target that tells about a board: the one that last named it, else one of its node
    /// (an exporter that restarted has a new address), an answering one first.
    pub(super) fn target_of(&self, gpu: &Gpu) -> Option<(&'a TargetStatus, Look)> {
        let named = gpu.identity.target.as_deref();
        if let Some(place) = named.and_then(|url| self.by_url.get(url)) {
            return Some(self.targets[*place]);
        }
        let mut others: Vec<_> = self.targets_of(gpu.identity.node.as_ref()?).collect();
        others.sort_by_key(|(_, look)| !look.answers());
        others.into_iter().next()
    }

    pub(super) fn age(&self, since: Timestamp) -> SignedDuration {
        self.snapshot.now.duration_since(since)
    }

    /// A time that many seconds long, in words, up to the judged moment.
    pub(super) fn ago(&self, since: Timestamp) -> String {
        words::length(self.age(since))
    }

    /// Three intervals, and at least the threshold.
    pub(super) fn silence(&self) -> SignedDuration {
        let intervals =
            self.snapshot.interval.as_secs_f64() * self.thresholds.unreachable_scrapes.get();
        SignedDuration::from_secs(intervals as i64).max(self.thresholds.unreachable_after.get())
    }

    /// Whether a list is whole and fresh; `None` where Kubernetes is not a source.
    pub(super) fn is_complete(&self, list: ListState) -> Option<bool> {
        let limit = self.snapshot.limits.stale_after.get();
        (list != ListState::NotConfigured).then(|| list.is_complete(self.snapshot.now, limit))
    }

    /// A node as the API tells it.
    pub(super) fn node(&self, name: &NodeName) -> Option<&'a Node> {
        self.snapshot.inventory.nodes.get(name).map(|node| &**node)
    }

    /// Whether a node is younger than the limit for new ones.
    pub(super) fn is_new(&self, node: &NodeName) -> bool {
        self.node(node)
            .is_some_and(|node| self.age(node.created) < self.snapshot.limits.young_node.get())
    }

    /// What work is planned on a node, if any.
    pub(super) fn planned_work(&self, node: &Node) -> Option<String> {
        let young = self.snapshot.limits.young_node.get();
        planned_work(node, self.snapshot.now, young)
    }

    /// Whether planned work on a node explains what began then, for the present.
    pub(super) fn explained(&self, node: &NodeName, since: Timestamp) -> bool {
        let planned = |node| self.planned_work(node).is_some();
        self.node(node).is_some_and(planned)
            && self.age(since) < self.snapshot.limits.planned_work.get()
    }

    pub(super) fn key(subject: Subject, cause: Cause) -> Key {
        Key {
            rule: RuleId::Fresh,
            subject,
            aspect: Some(cause),
        }
    }

    pub(super) fn gpu_key(gpu: &Gpu, cause: Cause) -> Key {
        let subject = Subject::Gpu {
            node: gpu.identity.node.clone(),
            uuid: gpu.uuid.clone(),
        };
        Self::key(subject, cause)
    }

    pub(super) fn node_key(node: &NodeName, cause: Cause) -> Key {
        Self::key(Subject::Node(node.clone()), cause)
    }

    pub(super) fn judgement(&self, key: Key, verdict: Verdict) -> Judgement {
        Judgement {
            key,
            clear_hold: self.thresholds.clear_hold.get(),
            verdict,
        }
    }

    /// A finding with what the node itself tells: planned work, and whether it is ready.
    pub(super) fn finding(
        &self,
        cause: Cause,
        node: Option<&NodeName>,
        summary: String,
        started: Timestamp,
    ) -> Finding {
        let mut finding = Finding {
            cause,
            severity: Severity::Warning,
            grade: Grade::Strong,
            summary,
            started,
            gpu: None,
            facts: Vec::new(),
            supporting: Vec::new(),
            contradicting: Vec::new(),
            missing: Vec::new(),
            timeline: Vec::new(),
            checklist: Vec::new(),
        };
        let Some(name) = node else {
            return finding;
        };
        let Some(node) = self.node(name) else {
            if self.snapshot.has_kubernetes() {
                finding.missing.push(Evidence::of(
                    format!("the API's view of node {name}"),
                    "kubernetes",
                ));
            }
            return finding;
        };
        if let Some(work) = self.planned_work(node) {
            if self.age(started) < self.snapshot.limits.planned_work.get() {
                finding.severity = Severity::Info;
            }
            finding.contradicting.push(Evidence::of(
                format!("work is planned: {name} {work}"),
                "kubernetes",
            ));
        }
        finding.contradicting.extend(not_ready(node));
        finding
    }
}

/// A node that is not ready explains much by itself.
fn not_ready(node: &Node) -> Option<Evidence> {
    let ready = node
        .conditions
        .iter()
        .find(|condition| &*condition.kind == "Ready" && &*condition.status != "True")?;
    let reason = if ready.reason.is_empty() {
        String::new()
    } else {
        format!(", {}", ready.reason)
    };
    Some(Evidence {
        text: format!(
            "the node itself is not ready (Ready={}{reason}), which would explain it",
            ready.status
        ),
        source: "condition Ready".into(),
        at: ready.changed,
    })
}

/// When any series of a board was last seen.
pub(super) fn last_seen(gpu: &Gpu) -> Option<Timestamp> {
    gpu.entities()
        .filter_map(|(_, entity)| entity.last_seen)
        .max()
}

/// `fires` with the time line in order.
pub(super) fn fires(mut finding: Finding) -> Verdict {
    finding.timeline.sort_by_key(|event| event.at);
    Verdict::Fires(Box::new(finding))
}

/// Merged into keys, each once and in order.
pub(super) fn merged(keys: impl IntoIterator<Item = Key>) -> Verdict {
    let mut keys: Vec<_> = keys.into_iter().collect();
    keys.sort();
    keys.dedup();
    Verdict::Merged(keys)
}
