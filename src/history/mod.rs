//! What was seen, filed so that the order of its arrival does not matter.
//!
//! Every observation comes in through [`History::absorb`], whatever its source; a rule sees
//! what [`History::view`] makes of it. Inside a signal's look-back every point is kept, and a
//! late one is filed in its place. What leaves the look-back is folded, in time order and once,
//! into what the series amounts to; anything older than that is too late, and counted.

mod boards;
mod filing;
mod nodes;
mod shift;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::snapshot::{
    Batch, ClusterName, ClusterSnapshot, GpuUuid, Inventory, Limits, NodeName, NodeTrack,
    Observation, Signal, SourceId, SourceStatus, Span, Termination,
};
use boards::Board;
use filing::{Filing, teller};

/// Boards that one cluster may have, so that invented UUIDs cannot fill the memory: eight times
/// the 128,000 that GPU Lens is measured with.
const MAX_BOARDS: usize = 1 << 20;
/// Terminations that are kept for their 24 hours.
const MAX_TERMINATIONS: usize = 20_000;
/// How long the end of a container is remembered.
const TERMINATIONS_KEPT: SignedDuration = SignedDuration::from_hours(24);

/// Everything that is known of one cluster.
#[derive(Clone)]
pub struct History {
    limits: Limits,
    /// How far back each signal is looked at; a signal that is not listed keeps its last values.
    needs: BTreeMap<Signal, Span>,
    boards: BTreeMap<GpuUuid, Board>,
    nodes: BTreeMap<NodeName, Arc<NodeTrack>>,
    inventory: Option<(Timestamp, Arc<Inventory>)>,
    terminations: BTreeMap<(Timestamp, String), Termination>,
    sources: BTreeMap<SourceId, SourceStatus>,
    start: Option<Timestamp>,
    too_late: u64,
}

impl History {
    /// An empty history that looks back on each signal as far as the rules need.
    #[must_use]
    pub fn new(needs: BTreeMap<Signal, Span>, limits: Limits) -> Self {
        Self {
            limits,
            needs,
            boards: BTreeMap::new(),
            nodes: BTreeMap::new(),
            inventory: None,
            terminations: BTreeMap::new(),
            sources: BTreeMap::new(),
            start: None,
            too_late: 0,
        }
    }

    /// Files what a source has seen. The same batch again changes nothing.
    pub fn absorb(&mut self, batch: &Batch) {
        for observation in &batch.observations {
            self.file(observation);
        }
        let newer = self
            .sources
            .get(&batch.source)
            .is_none_or(|known| known.last_attempt <= batch.status.last_attempt);
        if newer {
            self.sources.insert(batch.source, batch.status.clone());
        }
    }

    fn file(&mut self, observation: &Observation) {
        match observation {
            Observation::Gpu(gpu) => {
                self.saw(gpu.at);
                if !self.boards.contains_key(&gpu.uuid) && self.boards.len() >= MAX_BOARDS {
                    self.too_late += 1;
                    return;
                }
                let (needs, limits) = (&self.needs, &self.limits);
                let filing = Filing {
                    needs,
                    limits,
                    teller: teller(gpu.identity.target.as_deref()),
                };
                let board = self
                    .boards
                    .entry(gpu.uuid.clone())
                    .or_insert_with(|| Board::new(gpu));
                self.too_late += board.file(gpu, &filing);
            }
            Observation::Node(node) => {
                self.saw(node.at);
                let track = self.nodes.entry(node.node.clone()).or_default();
                self.too_late += nodes::file(Arc::make_mut(track), node, &self.limits);
            }
            Observation::Inventory { at, inventory } => {
                self.saw(*at);
                for node in inventory.nodes.values() {
                    let track = self.nodes.entry(node.name.clone()).or_default();
                    let seen = nodes::observed(*at, node);
                    self.too_late += nodes::file(Arc::make_mut(track), &seen, &self.limits);
                }
                if self.inventory.as_ref().is_none_or(|(known, _)| known <= at) {
                    self.inventory = Some((*at, inventory.clone()));
                }
            }
            Observation::Termination(end) => {
                if let Some(at) = end.finished {
                    let name = format!("{}/{}/{}", end.uid, end.container, end.restarts);
                    self.terminations
                        .insert((at, name), Termination::clone(end));
                    if self.terminations.len() > MAX_TERMINATIONS {
                        self.terminations.pop_first();
                        self.too_late += 1;
                    }
                }
            }
        }
    }

    fn saw(&mut self, at: Timestamp) {
        self.start = Some(self.start.map_or(at, |start| start.min(at)));
    }

    /// Observations that came too late to be filed, since the beginning.
    #[must_use]
    pub fn too_late(&self) -> u64 {
        self.too_late
    }

    /// Forgets what nobody has named for the time that the limits set.
    pub fn forget(&mut self, now: Timestamp) {
        let kept = self.limits.forget_after.get();
        self.boards
            .retain(|_, board| now.duration_since(board.last_seen()) <= kept);
        for board in self.boards.values_mut() {
            board.forget(&self.limits);
        }
        self.nodes.retain(|_, node| {
            node.last_seen
                .is_none_or(|seen| now.duration_since(seen) <= kept)
        });
        self.terminations
            .retain(|(at, _), _| now.duration_since(*at) <= TERMINATIONS_KEPT);
    }

    /// The cluster as it is known at `now`. `expected` are the sources that must have been
    /// tried before anything is judged.
    #[must_use]
    pub fn view(
        &self,
        cluster: &ClusterName,
        now: Timestamp,
        interval: SignedDuration,
        expected: &[SourceId],
    ) -> ClusterSnapshot {
        let warm = expected
            .iter()
            .all(|id| self.sources.get(id).is_some_and(SourceStatus::is_tried));
        ClusterSnapshot {
            cluster: cluster.clone(),
            now,
            interval,
            history_start: self.start.unwrap_or(now),
            warm,
            inventory: self.inventory(),
            nodes: self.nodes.clone(),
            gpus: boards::view(&self.boards, &self.targets(), now, interval, &self.limits),
            terminations: self.terminations.values().cloned().collect(),
            sources: self.sources.values().cloned().collect(),
            limits: self.limits,
        }
    }

    /// The URLs of the present targets.
    fn targets(&self) -> BTreeSet<&str> {
        let dcgm = self.sources.get(&SourceId::Dcgm);
        dcgm.into_iter()
            .flat_map(|status| &status.targets)
            .map(|target| &*target.url)
            .collect()
    }

    /// The inventory as last told; how far it can be trusted is the source's latest word.
    fn inventory(&self) -> Inventory {
        let mut inventory = self
            .inventory
            .as_ref()
            .map_or_else(Inventory::default, |(_, inventory)| {
                Inventory::clone(inventory)
            });
        if let Some(lists) = self
            .sources
            .get(&SourceId::Kubernetes)
            .and_then(|status| status.lists)
        {
            inventory.complete = lists;
        }
        inventory
    }
}

#[cfg(test)]
mod tests;
