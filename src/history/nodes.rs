//! The numbers of nodes over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::snapshot::{
    Filed, Kind, Limits, Manner, Node, NodeObservation, NodeTrack, Point, Track,
};

/// How far back a node's numbers are kept apart: above every rule's hold for capacity, the
/// longest of which is ten minutes.
const LOOK_BACK: SignedDuration = SignedDuration::from_mins(12);
/// Boots that are remembered.
const MAX_BOOTS: usize = 16;

/// A node as an observation.
pub(super) fn observed(at: Timestamp, node: &Node) -> NodeObservation {
    // Extended resources have a domain; `cpu` and `memory` are not GPU Lens' business.
    let extended = |have: &BTreeMap<Arc<str>, i64>| {
        have.iter()
            .filter(|(name, _)| name.contains('/'))
            .map(|(name, count)| (name.clone(), *count as f64))
            .collect()
    };
    NodeObservation {
        at,
        node: node.name.clone(),
        allocatable: extended(&node.allocatable),
        capacity: extended(&node.capacity),
        unschedulable: Some(node.unschedulable),
        boot_id: node.boot_id.clone(),
    }
}

/// Files a node's numbers; returns how many came too late.
pub(super) fn file(track: &mut NodeTrack, seen: &NodeObservation, limits: &Limits) -> u64 {
    let at = seen.at;
    track.first_seen = Some(track.first_seen.map_or(at, |first| first.min(at)));
    track.last_seen = Some(track.last_seen.map_or(at, |last| last.max(at)));
    let manner = Manner {
        kind: Kind::Gauge,
        back: LOOK_BACK,
        gap: limits.stale_after.get(),
        teller: 0,
        collection: limits.collection_interval.get(),
    };
    let mut late = 0;
    for (have, filed) in [
        (&seen.allocatable, &mut track.allocatable),
        (&seen.capacity, &mut track.capacity),
    ] {
        for (resource, value) in have {
            let point = Point { at, value: *value };
            match filed.get_mut(resource) {
                Some(track) => {
                    late += u64::from(track.file(point, manner) == Filed::TooLate);
                }
                None => {
                    filed.insert(resource.clone(), Track::begin(point, manner));
                }
            }
        }
    }
    if let Some(cordoned) = seen.unschedulable {
        let point = Point {
            at,
            value: f64::from(u8::from(cordoned)),
        };
        match &mut track.unschedulable {
            Some(track) => late += u64::from(track.file(point, manner) == Filed::TooLate),
            None => track.unschedulable = Some(Track::begin(point, manner)),
        }
    }
    if let Some(id) = &seen.boot_id {
        boot(&mut track.boots, id, at);
    }
    late
}

/// Each boot id with the earliest time at which it was seen, in time order.
fn boot(boots: &mut Vec<(Arc<str>, Timestamp)>, id: &Arc<str>, at: Timestamp) {
    match boots.iter_mut().find(|(known, _)| known == id) {
        Some((_, first)) => *first = (*first).min(at),
        None => boots.push((id.clone(), at)),
    }
    boots.sort_by(|a, b| (a.1, &a.0).cmp(&(b.1, &b.0)));
    if boots.len() > MAX_BOOTS {
        boots.remove(0);
    }
}
