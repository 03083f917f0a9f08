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

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::snapshot::{
    Batch, ClusterName, ClusterSnapshot, GpuObservation, GpuUuid, Inventory, Limits, NodeName,
    NodeTrack, Observation, Signal, SourceId, SourceStatus, Span, Termination,
};
use boards::Board;
use filing::{Filing, teller};

/// Boards that one cluster may have, so that invented UUIDs cannot fill the memory: eight times
/// the 128,000 that GPU Lens is measured with.
const MAX_BOARDS: usize = 1 << 20;
/// Boards that are remembered of one target: as many as one body may have. One that is named anew
/// takes the place of the one that was longest unseen, so a target that invents UUIDs crowds out
/// its own and nobody else's.
const MAX_BOARDS_OF_TARGET: usize = 256;
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
    /// The boards by the target that told of them last.
    told_by: BTreeMap<Arc<str>, BTreeSet<GpuUuid>>,
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
            told_by: BTreeMap::new(),
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
                self.file_gpu(gpu);
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

    fn file_gpu(&mut self, gpu: &GpuObservation) {
        if !self.boards.contains_key(&gpu.uuid) && !self.has_room(gpu) {
            self.too_late += 1;
            return;
        }
        let filing = Filing {
            needs: &self.needs,
            limits: &self.limits,
            teller: teller(gpu.identity.target.as_deref()),
        };
        let known = self.boards.get(&gpu.uuid);
        let before = known.map(|board| board.identity.1.target.clone());
        let board = self
            .boards
            .entry(gpu.uuid.clone())
            .or_insert_with(|| Board::new(gpu));
        self.too_late += board.file(gpu, &filing);
        let target = board.identity.1.target.clone();
        if before.as_ref() == Some(&target) {
            return;
        }
        if let Some(before) = before.flatten() {
            self.no_longer_tells(&before, &gpu.uuid);
        }
        if let Some(target) = target {
            let boards = self.told_by.entry(target).or_default();
            boards.insert(gpu.uuid.clone());
        }
    }

    fn forget_board(&mut self, uuid: &GpuUuid) {
        if let Some(board) = self.boards.remove(uuid)
            && let Some(target) = &board.identity.1.target
        {
            self.no_longer_tells(target, uuid);
        }
    }

    fn no_longer_tells(&mut self, target: &Arc<str>, uuid: &GpuUuid) {
        if let Some(boards) = self.told_by.get_mut(target) {
            boards.remove(uuid);
            if boards.is_empty() {
                self.told_by.remove(target);
            }
        }
    }

    /// Whether a new board may be remembered; makes room where its target has too many, the one
    /// that was longest unseen first, and of those the one that is known for the shortest time.
    fn has_room(&mut self, new: &GpuObservation) -> bool {
        let told = new.identity.target.as_ref();
        if let Some(boards) = told.and_then(|target| self.told_by.get(target))
            && boards.len() >= MAX_BOARDS_OF_TARGET
        {
            let seen = |uuid: &&GpuUuid| {
                let board = self.boards.get(*uuid)?;
                Some((board.last_seen(), Reverse(board.first_seen())))
            };
            let longest = boards.iter().min_by_key(seen);
            let longest = longest.filter(|uuid| seen(uuid).is_none_or(|(last, _)| last < new.at));
            let Some(longest) = longest.cloned() else {
                return false;
            };
            self.forget_board(&longest);
        }
        self.boards.len() < MAX_BOARDS
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
        let is_old = |(_, board): &(&GpuUuid, &Board)| now.duration_since(board.last_seen()) > kept;
        let old = self.boards.iter().filter(is_old);
        for uuid in old.map(|(uuid, _)| uuid.clone()).collect::<Vec<_>>() {
            self.forget_board(&uuid);
        }
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
