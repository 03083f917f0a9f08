//! The nodes that have a judgement of their own, and what their signs are about.

use std::collections::BTreeSet;

use jiff::SignedDuration;

use super::fleet::Fleet;
use super::sign::{Found, Sign};
use crate::finding::{Evidence, Reason};
use crate::rules::planned_work;
use crate::rules::sharing::shares_gpus;
use crate::snapshot::{Gpu, ListState, Node, NodeName, NodeTrack, is_gpu_resource};

/// Which board a node's sign belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Claim {
    /// The one board of the node that has trouble of its own, if it is one.
    OneInTrouble,
    /// These boards; the sign joins where it is a single one that has trouble of its own.
    Boards(Vec<usize>),
    /// A board that the sign names itself.
    Named(usize),
    /// The node.
    Node,
}

/// A node with what is known of it.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    /// The node as the API tells it.
    pub node: &'a Node,
    /// Its numbers over time.
    pub track: Option<&'a NodeTrack>,
    /// Its boards, by their place in the snapshot.
    pub boards: &'a [usize],
}

impl View<'_> {
    /// A label's value.
    pub(super) fn label(&self, key: &str) -> Option<&str> {
        self.node.labels.get(key).map(|value| &**value)
    }

    /// GPUs that GPU feature discovery counts.
    pub(super) fn labelled_gpus(&self) -> Option<i64> {
        self.label("nvidia.com/gpu.count")?.parse().ok()
    }

    /// Capacity of all GPU resources, in pieces.
    pub(super) fn capacity(&self) -> i64 {
        gpu_resources(self.node)
            .map(|(_, capacity, _)| capacity)
            .sum()
    }

    /// Whether boards are split by MIG.
    pub(super) fn is_mig(&self, fleet: &Fleet<'_>) -> bool {
        let by_label = self
            .label("nvidia.com/gpu.product")
            .is_some_and(|product| product.contains("-MIG-"));
        let by_resource = gpu_resources(self.node)
            .any(|(name, capacity, _)| name.starts_with("nvidia.com/mig-") && capacity > 0);
        by_label || by_resource || self.gpus(fleet).any(|gpu| !gpu.instances.is_empty())
    }

    /// Whether the plugin multiplies boards by replicas.
    pub(super) fn is_shared(&self) -> bool {
        shares_gpus(self.node)
    }

    /// Its boards.
    pub(super) fn gpus<'f>(&self, fleet: &'f Fleet<'_>) -> impl Iterator<Item = &'f Gpu> {
        self.boards.iter().map(|at| &fleet.snapshot.gpus[*at])
    }

    /// Why fewer GPUs are expected for a while, if they are.
    pub(super) fn planned_work(&self, fleet: &Fleet<'_>) -> Option<String> {
        let young = fleet.snapshot.limits.young_node.get();
        planned_work(self.node, fleet.snapshot.now, young)
    }
}

/// GPU resources of a node: name, capacity, allocatable. 0/0 means not offered.
pub(super) fn gpu_resources(node: &Node) -> impl Iterator<Item = (&str, i64, i64)> {
    node.capacity
        .iter()
        .filter(|(name, _)| is_gpu_resource(name))
        .map(|(name, capacity)| {
            let allocatable = node.allocatable.get(name).copied().unwrap_or(0);
            (&**name, *capacity, allocatable)
        })
}

/// What was found on a node.
#[derive(Default)]
pub(super) struct NodeFound {
    /// What does not concern a single sign.
    pub found: Found,
    /// The signs, with what each is about.
    pub signs: Vec<(Sign, Claim)>,
    /// Why the node cannot be called quiet.
    pub undecided: Option<Reason>,
    /// Boards that cannot be called quiet for that reason either.
    pub doubted: Vec<usize>,
}

impl NodeFound {
    pub(super) fn undecided(&mut self, reason: Reason) {
        self.undecided.get_or_insert(reason);
    }
}

/// Whether Kubernetes is a source here.
pub(super) fn has_kubernetes(fleet: &Fleet<'_>) -> bool {
    fleet.snapshot.inventory.complete.nodes != ListState::NotConfigured
}

/// Whether the list of nodes is whole and fresh.
pub(super) fn is_complete(fleet: &Fleet<'_>) -> bool {
    let limit = fleet.snapshot.limits.stale_after.get();
    let nodes = fleet.snapshot.inventory.complete.nodes;
    nodes.is_complete(fleet.snapshot.now, limit)
}

/// The GPU nodes, sorted by name: from the inventory, and while that is incomplete also those
/// that only telemetry knows. A node that a complete list no longer has is judged (undecided) only
/// as long as its boards report.
pub(super) fn names(fleet: &Fleet<'_>) -> BTreeSet<NodeName> {
    let snapshot = fleet.snapshot;
    let offers = |node: &Node| {
        let labelled = ["nvidia.com/gpu.present", "nvidia.com/gpu.count"]
            .iter()
            .any(|key| node.labels.contains_key(*key));
        let offered = snapshot.nodes.get(&node.name).is_some_and(|track| {
            track
                .capacity
                .iter()
                .any(|(name, track)| is_gpu_resource(name) && track.first().value > 0.0)
        });
        let capacity = gpu_resources(node).any(|(_, capacity, _)| capacity > 0);
        labelled || offered || capacity || fleet.boards.contains_key(&node.name)
    };
    let listed = snapshot.inventory.nodes.values();
    let mut names: BTreeSet<NodeName> = listed
        .filter(|node| offers(node))
        .map(|node| node.name.clone())
        .collect();
    let complete = is_complete(fleet);
    let only_telemetry = fleet.boards.iter().filter(|(name, boards)| {
        let live = |at: &usize| !snapshot.gpus[*at].is_blind();
        !complete || (snapshot.nodes.contains_key(**name) && boards.iter().any(live))
    });
    names.extend(only_telemetry.map(|(name, _)| (*name).clone()));
    names
}

/// What tells of a restart of the kubelet or the node near a time: then a loss of capacity is
/// the device plugin registering anew more often than a GPU.
pub(super) fn restarts(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    since: jiff::Timestamp,
) -> Vec<Evidence> {
    const NEAR: SignedDuration = SignedDuration::from_mins(10);
    let near = |at: jiff::Timestamp| at.duration_since(since).abs() <= NEAR;
    let told = fleet.events_of(&view.node.name).iter().filter(|event| {
        matches!(&*event.reason, "Starting" | "Rebooted" | "NodeNotReady")
            && (near(event.first) || near(event.last))
    });
    let mut restarts: Vec<_> = told
        .map(|event| {
            let text = format!("{} near it: {}", event.reason, event.message);
            Evidence::at(text, "event", event.last)
        })
        .collect();
    if let Some(boot) = view
        .track
        .and_then(NodeTrack::rebooted)
        .filter(|at| near(*at))
    {
        restarts.push(Evidence::at("the node booted near it", "boot id", boot));
    }
    restarts
}
