//! Nodes: what they offer, and whether a target covers them.

use std::sync::Arc;

use jiff::Timestamp;

use super::remedy;
use super::scene::{Scene, fires, last_seen, merged};
use super::target::gone_key;
use crate::finding::{Cause, Evidence, Fact, Finding, Judgement, Reason, Verdict};
use crate::rules::steps;
use crate::snapshot::{Gpu, Node, NodeName, Track, is_gpu_resource};

/// The GPU resources that a node's capacity names, also those at 0.
pub(super) fn offered(node: &Node) -> impl Iterator<Item = (&Arc<str>, i64)> {
    node.capacity
        .iter()
        .filter(|(resource, _)| is_gpu_resource(resource))
        .map(|(resource, count)| (resource, *count))
}

/// Whether a target tells about a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coverage {
    /// A target, or a live reading.
    Covered,
    /// None.
    Uncovered {
        /// Since when.
        since: Timestamp,
        /// Beyond the hold.
        fires: bool,
    },
    /// The node says that it offers no GPU.
    NoGpus,
    /// It cannot be said.
    Unknown,
}

/// Whether a target tells about a node that speaks of GPUs; `None` for any other node, and
/// without Kubernetes or targets to compare.
pub(super) fn coverage(scene: &Scene<'_>, name: &NodeName) -> Option<Coverage> {
    let complete = scene.is_complete(scene.snapshot.inventory.complete.nodes)?;
    let dcgm = scene.dcgm?;
    let node = scene.node(name)?;
    offered(node).next()?;
    let boards: &[&Gpu] = scene.boards.get(name).map_or(&[], Vec::as_slice);
    if scene.targets_of(name).next().is_some() || boards.iter().any(|gpu| !gpu.is_blind()) {
        return Some(Coverage::Covered);
    }
    // A target of which the node is not known may be the one that covers it.
    let nameless = dcgm.targets.iter().any(|target| target.node.is_none());
    if !complete || nameless {
        return Some(Coverage::Unknown);
    }
    if offered(node).all(|(_, count)| count <= 0) {
        return Some(Coverage::NoGpus);
    }
    let seen = boards.iter().filter_map(|gpu| last_seen(gpu)).max();
    let since = [
        Some(node.created),
        Some(dcgm.since),
        seen,
        offered_since(scene, node),
    ]
    .into_iter()
    .flatten()
    .max()?;
    let hold = if scene.is_new(name) {
        scene.thresholds.new_node_hold
    } else {
        scene.thresholds.rollout_hold
    };
    Some(Coverage::Uncovered {
        since,
        fires: scene.age(since) >= hold.get(),
    })
}

/// When the node began to offer GPUs, if it was seen without.
fn offered_since(scene: &Scene<'_>, node: &Node) -> Option<Timestamp> {
    let tracks = &scene.snapshot.nodes.get(&node.name)?.capacity;
    let began = |track: &Track| {
        let start = track.run_start(|count| count > 0.0)?;
        let first = track.points().next()?;
        (start > first.at).then_some(start)
    };
    let offering = offered(node).filter(|(_, count)| *count > 0);
    let began: Vec<_> = offering
        .filter_map(|(resource, _)| Some(began(tracks.get(resource)?)))
        .collect();
    // One resource that was there all along is enough for an early start.
    began.into_iter().min().flatten()
}

pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let nodes = scene.snapshot.inventory.nodes.keys();
    nodes
        .filter_map(|name| {
            let verdict = match coverage(scene, name)? {
                Coverage::Covered | Coverage::NoGpus => Verdict::Clear,
                Coverage::Unknown => Verdict::Undecided(Reason::InventoryIncomplete),
                Coverage::Uncovered { since, fires: true } => match gone_key(scene) {
                    // Targets come and go with the source that finds them.
                    Some(key) => merged([key]),
                    None => fires(uncovered(scene, name, since)),
                },
                Coverage::Uncovered { .. } => Verdict::Holds,
            };
            let key = Scene::node_key(name, Cause::NodeWithoutTelemetry);
            Some(scene.judgement(key, verdict))
        })
        .collect()
}

fn uncovered(scene: &Scene<'_>, name: &NodeName, since: Timestamp) -> Finding {
    let mut finding = scene.finding(
        Cause::NodeWithoutTelemetry,
        Some(name),
        format!(
            "{name}: it offers GPUs, and no telemetry target has covered it for {}",
            scene.ago(since)
        ),
        since,
    );
    let node = scene.node(name);
    for (resource, count) in node.into_iter().flat_map(offered) {
        finding.facts.push(Fact {
            name: "capacity".into(),
            value: format!("{count} {resource}"),
            source: "kubernetes".into(),
            at: None,
        });
    }
    finding.supporting.push(Evidence::of(
        format!(
            "none of the {} targets is on this node",
            scene.targets.len()
        ),
        "discovery",
    ));
    let boards: &[&Gpu] = scene.boards.get(name).map_or(&[], Vec::as_slice);
    super::board_findings::last_xid(boards, &mut finding);
    match boards.iter().filter_map(|gpu| last_seen(gpu)).max() {
        Some(at) => finding.timeline.push(Evidence::at(
            format!("last reading of its {} known GPUs", boards.len()),
            "dcgm",
            at,
        )),
        None => finding
            .missing
            .push(Evidence::of("any reading of its GPUs", "dcgm")),
    }
    if let Some(node) = node {
        let joined = Evidence::at("the node joined", "kubernetes", node.created);
        finding.timeline.push(joined);
    }
    finding.checklist.push(steps::run(
        "See where the exporter runs: it must have a pod on this node. Compare its node selector and tolerations with the node's labels and taints.",
        "kubectl get daemonset -A -l app=nvidia-dcgm-exporter -o wide".to_owned(),
    ));
    finding
        .checklist
        .extend(remedy::exporter(scene, Some(name)));
    finding.checklist.push(steps::look(
        "If the node is not to be watched, exclude it: rules.fresh.exclude takes node names and labels.",
    ));
    finding
}
