//! Boards and their MIG instances: filing their readings, and the view of them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::filing::Filing;
use crate::snapshot::{
    BoardIdentity, Entity, Filed, Gpu, GpuObservation, GpuUuid, Hold, Holder, Instance, InstanceId,
    Limits, Liveness, NodeName, Part, Point, SeriesKey, Signal, Slots, Track,
};

/// Pods that are remembered as holders of one board or instance.
const MAX_HOLDS: usize = 32;
/// Series of one board or instance: 18 links and some XIDs of every parted signal.
const MAX_SERIES: usize = 512;

/// Collections or scrapes, whichever are rarer, in which its siblings were named and a board was
/// not until it has vanished.
const VANISHED_AFTER: i32 = 3;

/// MIG instances of one board that are remembered: nine times what a board can have at once.
const MAX_INSTANCES: usize = 64;

/// A board that telemetry has named.
#[derive(Clone)]
pub(super) struct Board {
    /// The newest identity and its time.
    pub(super) identity: (Timestamp, Arc<BoardIdentity>),
    pub(super) whole: Arc<Entity>,
    pub(super) instances: BTreeMap<InstanceId, (Option<Arc<str>>, Arc<Entity>)>,
}

impl Board {
    pub(super) fn new(seen: &GpuObservation) -> Self {
        Self {
            identity: (seen.at, seen.identity.clone()),
            whole: Arc::default(),
            instances: BTreeMap::new(),
        }
    }

    /// When any of its series was last seen.
    pub(super) fn last_seen(&self) -> Timestamp {
        let instances = self
            .instances
            .values()
            .filter_map(|(_, entity)| entity.last_seen);
        self.whole
            .last_seen
            .into_iter()
            .chain(instances)
            .max()
            .unwrap_or(self.identity.0)
    }

    /// When any of its series was first seen.
    pub(super) fn first_seen(&self) -> Option<Timestamp> {
        let instances = self
            .instances
            .values()
            .filter_map(|(_, entity)| entity.first_seen);
        self.whole.first_seen.into_iter().chain(instances).min()
    }

    /// Files one observation; returns how many of its values came too late.
    pub(super) fn file(&mut self, seen: &GpuObservation, filing: &Filing<'_>) -> u64 {
        // Of two words for one moment the target's name decides, so that the order cannot.
        let (at, known) = &self.identity;
        if (seen.at, &seen.identity.target) >= (*at, &known.target) {
            self.identity = (seen.at, seen.identity.clone());
        }
        if let Some((id, _)) = &seen.instance
            && !self.has_room(*id, seen.at, filing.limits)
        {
            return seen.readings.len().max(1) as u64;
        }
        let entity = match &seen.instance {
            None => &mut self.whole,
            Some((id, profile)) => {
                let (known, entity) = self.instances.entry(*id).or_default();
                if profile.is_some() {
                    known.clone_from(profile);
                }
                entity
            }
        };
        // Nobody else holds the entity once the last snapshot is gone, so nothing is copied.
        let entity = Arc::make_mut(entity);
        entity.first_seen = Some(
            entity
                .first_seen
                .map_or(seen.at, |first| first.min(seen.at)),
        );
        entity.last_seen = Some(entity.last_seen.map_or(seen.at, |last| last.max(seen.at)));
        let mut late = 0;
        for (key, value) in &seen.readings {
            late += u64::from(
                read(
                    entity,
                    *key,
                    Point {
                        at: seen.at,
                        value: *value,
                    },
                    filing,
                ) == Filed::TooLate,
            );
        }
        if seen.xid_absent {
            let absent = Point {
                at: seen.at,
                value: Track::ABSENT,
            };
            read(entity, Signal::Xid.into(), absent, filing);
        }
        utilization(entity, seen);
        for holder in &seen.holders {
            hold(&mut entity.holds, holder, seen.at, filing);
        }
        let mut pods: Vec<_> = seen.holders.iter().map(|holder| &holder.pod).collect();
        pods.sort();
        pods.dedup();
        if pods.len() > 1 {
            entity.shared_at = Some(entity.shared_at.map_or(seen.at, |at| at.max(seen.at)));
        }
        late
    }
}

impl Board {
    /// Whether an instance is known or may become known; one that is no longer named makes room.
    fn has_room(&mut self, id: InstanceId, at: Timestamp, limits: &Limits) -> bool {
        if self.instances.len() >= MAX_INSTANCES && !self.instances.contains_key(&id) {
            let (named, fresh) = (self.last_seen().max(at), limits.stale_after.get());
            self.instances
                .retain(|_, (_, entity)| !is_unnamed_for(entity, named, fresh));
        }
        self.instances.len() < MAX_INSTANCES || self.instances.contains_key(&id)
    }

    /// Forgets what is no more while the board goes on.
    pub(super) fn forget(&mut self, limits: &Limits) {
        let named = self.last_seen();
        self.instances
            .retain(|_, (_, entity)| !has_ended(entity, named, limits));
    }
}

/// Whether an instance is no more: MIG was switched off or divided anew. Its board was named, by
/// itself or by other instances, for longer than readings stay fresh, and it was not. One whose
/// last word was an XID is remembered like a board: its silence heals nothing.
fn has_ended(instance: &Entity, named: Timestamp, limits: &Limits) -> bool {
    let xid = instance.track(Signal::Xid);
    let stands = xid.is_some_and(|xid| !xid.edges().is_empty() && xid.last().value != 0.0);
    let kept = if stands {
        limits.forget_after
    } else {
        limits.stale_after
    };
    is_unnamed_for(instance, named, kept.get())
}

fn is_unnamed_for(instance: &Entity, named: Timestamp, length: SignedDuration) -> bool {
    instance
        .last_seen
        .is_none_or(|seen| named.duration_since(seen) > length)
}

fn read(entity: &mut Entity, key: SeriesKey, point: Point, filing: &Filing<'_>) -> Filed {
    let manner = filing.manner(key.signal);
    match entity.tracks.binary_search_by(|(have, _)| have.cmp(&key)) {
        Ok(at) => entity.tracks[at].1.file(point, manner),
        Err(_) if entity.tracks.len() >= MAX_SERIES => Filed::TooLate,
        Err(at) => {
            entity.tracks.insert(at, (key, Track::begin(point, manner)));
            Filed::Taken
        }
    }
}

/// Utilisation is `GPU_UTIL` on a board; on an instance, where that is not measured, the share of
/// time in which its engine was busy.
fn utilization(entity: &mut Entity, seen: &GpuObservation) {
    let signal = if seen.instance.is_some() {
        Signal::GraphicsEngineActive
    } else {
        Signal::GpuUtilization
    };
    let whole = SeriesKey {
        signal,
        part: Part::WHOLE,
    };
    let Some((_, ratio)) = seen.readings.iter().find(|(key, _)| *key == whole) else {
        return;
    };
    match &mut entity.utilization {
        Some(slots) => {
            slots.file(seen.at, *ratio);
        }
        none => *none = Some(Slots::new(seen.at, *ratio)),
    }
}

/// Adds a time at which a holder was named. Stretches closer than the stale limit are one, so
/// labels that come and go between scrapes do not make a new holder each time.
fn hold(holds: &mut Vec<Hold>, holder: &Holder, at: Timestamp, filing: &Filing<'_>) {
    let join = filing.manner(Signal::Xid).gap;
    let same = |hold: &Hold| {
        hold.pod == holder.pod && hold.container == holder.container && hold.uid == holder.uid
    };
    let near = |hold: &Hold| {
        at.saturating_sub(join).is_ok_and(|from| from <= hold.to)
            && hold.from.saturating_sub(join).is_ok_and(|from| from <= at)
    };
    let mut merged = Hold {
        pod: holder.pod.clone(),
        container: holder.container.clone(),
        uid: holder.uid.clone(),
        from: at,
        to: at,
    };
    holds.retain(|hold| {
        let joins = same(hold) && near(hold);
        if joins {
            merged.from = merged.from.min(hold.from);
            merged.to = merged.to.max(hold.to);
        }
        !joins
    });
    let order = |hold: &Hold| {
        (
            hold.to,
            hold.from,
            hold.pod.clone(),
            hold.container.clone(),
            hold.uid.clone(),
        )
    };
    let place = holds.partition_point(|hold| order(hold) < order(&merged));
    holds.insert(place, merged);
    if holds.len() > MAX_HOLDS {
        holds.remove(0);
    }
}

/// Every board as it is known at `now`, sorted by UUID. `targets` are the URLs of the present
/// targets.
pub(super) fn view(
    boards: &BTreeMap<GpuUuid, Board>,
    targets: &BTreeSet<&str>,
    now: Timestamp,
    interval: SignedDuration,
    limits: &Limits,
) -> Vec<Gpu> {
    // One body without a board, or a collection between two scrapes, proves nothing.
    let vanished_after = limits.collection_interval.get().max(interval) * VANISHED_AFTER;
    let newest = Newest::new(boards, targets);
    let replaced = replacements(boards, now, limits);
    boards
        .iter()
        .map(|(uuid, board)| {
            let named = board.last_seen();
            let (liveness, live_at) = liveness(board, &newest, now, vanished_after, limits);
            Gpu {
                uuid: uuid.clone(),
                identity: board.identity.1.clone(),
                liveness,
                live_at,
                board: board.whole.clone(),
                instances: board
                    .instances
                    .iter()
                    .filter(|(_, (_, entity))| !has_ended(entity, named, limits))
                    .map(|(id, (profile, entity))| Instance {
                        id: *id,
                        profile: profile.clone(),
                        entity: entity.clone(),
                    })
                    .collect(),
                replaced_by: replaced.get(uuid).cloned(),
                now,
                limits: *limits,
            }
        })
        .collect()
}

/// When boards were last named, by who names them.
struct Newest<'a> {
    targets: &'a BTreeSet<&'a str>,
    by_target: BTreeMap<&'a str, Timestamp>,
    by_node: BTreeMap<&'a NodeName, Timestamp>,
}

impl<'a> Newest<'a> {
    fn new(boards: &'a BTreeMap<GpuUuid, Board>, targets: &'a BTreeSet<&'a str>) -> Self {
        let mut newest = Self {
            targets,
            by_target: BTreeMap::new(),
            by_node: BTreeMap::new(),
        };
        for board in boards.values() {
            let (seen, identity) = (board.last_seen(), &board.identity.1);
            if let Some(target) = &identity.target {
                let last = newest.by_target.entry(target).or_insert(seen);
                *last = seen.max(*last);
            }
            if let Some(node) = &identity.node {
                let last = newest.by_node.entry(node).or_insert(seen);
                *last = seen.max(*last);
            }
        }
        newest
    }

    /// When the target that names a board last named any. An exporter that restarts has a new
    /// address: where the old one is no target any more, its node's other boards tell.
    fn beside(&self, board: &Board) -> Option<Timestamp> {
        let identity = &board.identity.1;
        let target = identity.target.as_deref()?;
        let by_target = self.by_target.get(target).copied();
        if self.targets.is_empty() || self.targets.contains(target) {
            return by_target;
        }
        let by_node = self.by_node.get(identity.node.as_ref()?).copied();
        by_target.max(by_node)
    }
}

/// Boards whose place has been taken over by another board since they were last seen. The place is
/// the PCI address; where an exporter tells none, it is the index. Indexes shift at reboots, so a
/// board must then be gone for longer than readings stay fresh; one that was first seen before
/// that moved, and took over nothing.
fn replacements(
    boards: &BTreeMap<GpuUuid, Board>,
    now: Timestamp,
    limits: &Limits,
) -> BTreeMap<GpuUuid, GpuUuid> {
    let mut by_pci: BTreeMap<(&NodeName, &str), Vec<(&GpuUuid, &Board)>> = BTreeMap::new();
    let mut by_index: BTreeMap<(&NodeName, u32), Vec<(&GpuUuid, &Board)>> = BTreeMap::new();
    for (uuid, board) in boards {
        let identity = &board.identity.1;
        let Some(node) = &identity.node else {
            continue;
        };
        if let Some(pci) = &identity.pci {
            by_pci.entry((node, pci)).or_default().push((uuid, board));
        }
        if let Some(index) = identity.index {
            by_index
                .entry((node, index))
                .or_default()
                .push((uuid, board));
        }
    }
    let has_pci = |board: &Board| board.identity.1.pci.is_some();
    let mut replaced = BTreeMap::new();
    for sharing in by_index.values().filter(|sharing| sharing.len() > 1) {
        for (uuid, board) in sharing {
            if now.duration_since(board.last_seen()) < limits.stale_after.get() {
                continue;
            }
            let heir = heir(board, sharing, |other| !has_pci(board) || !has_pci(other));
            replaced.extend(heir.map(|heir| ((*uuid).clone(), heir)));
        }
    }
    for sharing in by_pci.values().filter(|sharing| sharing.len() > 1) {
        for (uuid, board) in sharing {
            let heir = heir(board, sharing, |_| true);
            replaced.extend(heir.map(|heir| ((*uuid).clone(), heir)));
        }
    }
    replaced
}

/// The board that is seen in a place, of those that were first seen after another was last.
fn heir(
    gone: &Board,
    sharing: &[(&GpuUuid, &Board)],
    counts: impl Fn(&Board) -> bool,
) -> Option<GpuUuid> {
    let last = gone.last_seen();
    let later = |other: &Board| other.first_seen().is_some_and(|first| first > last);
    let heirs = sharing
        .iter()
        .filter(|(_, other)| later(other) && counts(other));
    heirs
        .max_by_key(|(_, other)| other.last_seen())
        .map(|(heir, _)| (*heir).clone())
}

/// Whether a board's readings are the present, and when they last were.
fn liveness(
    board: &Board,
    newest: &Newest<'_>,
    now: Timestamp,
    vanished_after: SignedDuration,
    limits: &Limits,
) -> (Liveness, Timestamp) {
    let seen = board.last_seen();
    let newest = newest.beside(board).unwrap_or(seen);
    if newest.duration_since(seen) > vanished_after {
        return (Liveness::Vanished { since: seen }, seen);
    }
    let moved = last_movement(board).unwrap_or(seen);
    if now.duration_since(seen) > limits.stale_after.get() {
        return (Liveness::Stale { since: seen }, moved);
    }
    if now.duration_since(moved) > limits.frozen_after.get() {
        return (Liveness::Frozen { since: moved }, moved);
    }
    (Liveness::Live, moved)
}

/// When the board's energy last grew, if it was ever exported and the board draws power by its
/// last word: a board that draws power and gains no energy is not being read. Where the energy
/// itself is what ended, any reading that changed since shows that the board is read. `None` where
/// nothing can be said.
fn last_movement(board: &Board) -> Option<Timestamp> {
    let value = |signal: Signal| board.whole.track(signal);
    let (energy, power) = (value(Signal::Energy)?, value(Signal::PowerUsage)?);
    if power.last().value <= 0.0 {
        return None;
    }
    if energy.last().at >= board.last_seen() {
        return Some(energy.changed());
    }
    let entities = board.instances.values().map(|(_, entity)| entity);
    entities
        .chain([&board.whole])
        .flat_map(|entity| &entity.tracks)
        .map(|(_, track)| track.changed())
        .max()
}
