//! Moves everything along when the clock is set: what happened ten minutes ago happened ten
//! minutes ago by the new time, too.
//!
//! Times that the Kubernetes API tells (creation, heartbeats, ends of containers) follow the
//! cluster's clock, not ours, and stay.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::History;
use crate::snapshot::{Entity, NodeTrack, Track, moved};

fn shift(at: &mut Timestamp, by: SignedDuration) {
    *at = moved(*at, by);
}

fn shift_some(at: &mut Option<Timestamp>, by: SignedDuration) {
    *at = at.map(|at| moved(at, by));
}

impl History {
    /// Moves every time of our own clock.
    pub fn shift(&mut self, by: SignedDuration) {
        shift_some(&mut self.start, by);
        if let Some((at, _)) = &mut self.inventory {
            shift(at, by);
        }
        for board in self.boards.values_mut() {
            shift(&mut board.identity.0, by);
            entity(Arc::make_mut(&mut board.whole), by);
            for (_, instance) in board.instances.values_mut() {
                entity(Arc::make_mut(instance), by);
            }
        }
        for node in self.nodes.values_mut() {
            node_track(Arc::make_mut(node), by);
        }
        for status in self.sources.values_mut() {
            status.shift(by);
        }
    }
}

fn entity(entity: &mut Entity, by: SignedDuration) {
    shift_some(&mut entity.first_seen, by);
    shift_some(&mut entity.last_seen, by);
    shift_some(&mut entity.shared_at, by);
    for hold in &mut entity.holds {
        shift(&mut hold.from, by);
        shift(&mut hold.to, by);
    }
    entity
        .tracks
        .iter_mut()
        .for_each(|(_, series)| series.shift(by));
    if let Some(slots) = &mut entity.utilization {
        slots.shift(by);
    }
}

fn node_track(node: &mut NodeTrack, by: SignedDuration) {
    shift_some(&mut node.first_seen, by);
    shift_some(&mut node.last_seen, by);
    let numbers = |numbers: &mut BTreeMap<Arc<str>, Track>| {
        for series in numbers.values_mut() {
            series.shift(by);
        }
    };
    numbers(&mut node.allocatable);
    numbers(&mut node.capacity);
    node.unschedulable
        .iter_mut()
        .for_each(|series| series.shift(by));
    node.boots.iter_mut().for_each(|(_, at)| shift(at, by));
}
