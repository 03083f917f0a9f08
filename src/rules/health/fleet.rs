//! What one board can only be compared with when all are seen: the fleet.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::node::gpu_resources;
use super::xid::{self, events};
use super::{Thresholds, export, memory};
use crate::rules::siblings::{Siblings, siblings};
use crate::snapshot::{ClusterSnapshot, Event, Gpu, Node, NodeName, Signal, TargetState};

/// For how long the same code on other boards is compared.
const CODES_COMPARED: SignedDuration = SignedDuration::from_hours(24);

/// The snapshot with what all detections share.
pub(super) struct Fleet<'a> {
    /// The snapshot.
    pub snapshot: &'a ClusterSnapshot,
    /// The thresholds.
    pub thresholds: &'a Thresholds,
    /// The XIDs of each board, in the snapshot's order of boards.
    pub events: Vec<Vec<xid::Event>>,
    /// The boards of each node that have not been exchanged, by their place in the snapshot.
    pub boards: BTreeMap<&'a NodeName, Vec<usize>>,
    /// Whether any node offers GPUs as a resource.
    pub offered: bool,
    /// Median of the corrected-error rates a minute, over boards that export them, and how many.
    pub single_bit: Option<(f64, usize)>,
    /// Whether a board that has exported corrected errors gives no rate now: the median is then
    /// that of a part of the fleet.
    pub single_bit_partial: bool,
    codes: BTreeMap<u16, BTreeSet<usize>>,
    /// URLs of the targets that do not answer.
    silent: BTreeSet<&'a str>,
    /// What the API reported of nodes, by name.
    node_events: BTreeMap<&'a str, Vec<&'a Event>>,
    exported: BTreeMap<Siblings, BTreeSet<Signal>>,
}

impl<'a> Fleet<'a> {
    pub(super) fn new(snapshot: &'a ClusterSnapshot, thresholds: &'a Thresholds) -> Self {
        let mut fleet = Self {
            snapshot,
            thresholds,
            events: Vec::with_capacity(snapshot.gpus.len()),
            boards: BTreeMap::new(),
            offered: snapshot.inventory.nodes.values().any(|node| offers(node)),
            single_bit: None,
            single_bit_partial: false,
            codes: BTreeMap::new(),
            silent: silent(snapshot),
            node_events: BTreeMap::new(),
            exported: BTreeMap::new(),
        };
        for event in &snapshot.inventory.events {
            if &*event.kind == "Node" {
                fleet
                    .node_events
                    .entry(&event.name)
                    .or_default()
                    .push(event);
            }
        }
        let mut rates = Vec::new();
        for (at, gpu) in snapshot.gpus.iter().enumerate() {
            let events = events(gpu, fleet.rebooted(gpu));
            for event in &events {
                if snapshot.now.duration_since(event.at) <= CODES_COMPARED {
                    fleet.codes.entry(event.code).or_default().insert(at);
                }
            }
            fleet.events.push(events);
            if let (Some(node), None) = (&gpu.identity.node, &gpu.replaced_by) {
                fleet.boards.entry(node).or_default().push(at);
            }
            if gpu.replaced_by.is_none() {
                let known = fleet.exported.entry(siblings(gpu)).or_default();
                known.extend(export::exported(gpu));
            }
            let rate = memory::single_bit_per_minute(gpu, thresholds).map(|rate| rate.0);
            fleet.single_bit_partial |=
                rate.is_none() && gpu.replaced_by.is_none() && memory::counts_single_bits(gpu);
            rates.extend(rate);
        }
        fleet.single_bit = median(rates);
        fleet
    }

    /// When the board's node was last seen to boot anew.
    pub(super) fn rebooted(&self, gpu: &Gpu) -> Option<Timestamp> {
        let node = gpu.identity.node.as_ref()?;
        self.snapshot.nodes.get(node)?.rebooted()
    }

    /// How many other boards than the one at a place had the code within a day.
    pub(super) fn others_with(&self, code: u16, at: usize) -> usize {
        self.codes
            .get(&code)
            .map_or(0, |boards| boards.len() - usize::from(boards.contains(&at)))
    }

    /// Whether a board's target is there and does not answer.
    pub(super) fn is_silent(&self, gpu: &Gpu) -> bool {
        let target = gpu.identity.target.as_deref();
        target.is_some_and(|url| self.silent.contains(url))
    }

    /// What the API reported of a node.
    pub(super) fn events_of(&self, node: &NodeName) -> &[&'a Event] {
        self.node_events
            .get(node.as_str())
            .map_or(&[], Vec::as_slice)
    }

    /// What boards that should export the same do export.
    pub(super) fn exported_beside(&self, gpu: &Gpu) -> Option<&BTreeSet<Signal>> {
        self.exported.get(&siblings(gpu))
    }
}

fn silent(snapshot: &ClusterSnapshot) -> BTreeSet<&str> {
    let targets = snapshot.sources.iter().flat_map(|source| &source.targets);
    targets
        .filter(|target| target.state != TargetState::Up)
        .map(|target| &*target.url)
        .collect()
}

fn offers(node: &Node) -> bool {
    gpu_resources(node).any(|(_, capacity, _)| capacity > 0)
}

/// The lower of the two middle values where there are two, so that one board cannot be its
/// own measure.
fn median(mut rates: Vec<f64>) -> Option<(f64, usize)> {
    rates.sort_by(f64::total_cmp);
    let middle = rates.len().checked_sub(1)? / 2;
    Some((rates[middle], rates.len()))
}
