//! What one board can only be compared with when all are seen: the fleet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::node::gpu_resources;
use super::xid::{Event, events};
use super::{Thresholds, export};
use crate::snapshot::{ClusterSnapshot, Gpu, Node, NodeName, Signal};

/// For how long the same code on other boards is compared.
const CODES_COMPARED: SignedDuration = SignedDuration::from_hours(24);

/// Boards that should export the same: one target, one product, split alike.
type Siblings = (Option<Arc<str>>, Option<Arc<str>>, bool);

/// The snapshot with what all detections share.
pub(super) struct Fleet<'a> {
    /// The snapshot.
    pub snapshot: &'a ClusterSnapshot,
    /// The thresholds.
    pub thresholds: &'a Thresholds,
    /// The XIDs of each board, in the snapshot's order of boards.
    pub events: Vec<Vec<Event>>,
    /// The boards of each node that have not been exchanged, by their place in the snapshot.
    pub boards: BTreeMap<&'a NodeName, Vec<usize>>,
    /// Whether any node offers GPUs as a resource.
    pub offered: bool,
    /// Median of the corrected-error rates a minute, over boards that export them, and how many.
    pub single_bit: Option<(f64, usize)>,
    codes: BTreeMap<u16, BTreeSet<usize>>,
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
            codes: BTreeMap::new(),
            exported: BTreeMap::new(),
        };
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
            rates.extend(super::memory::single_bit_per_minute(gpu, thresholds).map(|rate| rate.0));
        }
        fleet.single_bit = median(rates);
        fleet
    }

    /// When the board's node was last seen to boot anew.
    pub(super) fn rebooted(&self, gpu: &Gpu) -> Option<Timestamp> {
        let node = gpu.identity.node.as_ref()?;
        self.snapshot.nodes.get(node)?.rebooted()
    }

    /// How many other boards had the code within a day.
    pub(super) fn others_with(&self, code: u16, gpu: &Gpu) -> usize {
        let boards = self.codes.get(&code);
        boards.map_or(0, |boards| {
            let others = |at: &&usize| self.snapshot.gpus[**at].uuid != gpu.uuid;
            boards.iter().filter(others).count()
        })
    }

    /// What boards that should export the same do export.
    pub(super) fn exported_beside(&self, gpu: &Gpu) -> Option<&BTreeSet<Signal>> {
        self.exported.get(&siblings(gpu))
    }
}

fn offers(node: &Node) -> bool {
    gpu_resources(node).any(|(_, capacity, _)| capacity > 0)
}

fn siblings(gpu: &Gpu) -> Siblings {
    (
        gpu.identity.target.clone(),
        gpu.identity.model.clone(),
        gpu.instances.is_empty(),
    )
}

/// The lower of the two middle values where there are two, so that one board cannot be its
/// own measure.
fn median(mut rates: Vec<f64>) -> Option<(f64, usize)> {
    rates.sort_by(f64::total_cmp);
    let middle = rates.len().checked_sub(1)? / 2;
    Some((rates[middle], rates.len()))
}
