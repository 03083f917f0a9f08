//! The numbers of a node over time.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;

use super::Track;

/// What history knows of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTrack {
    /// When the node was first heard of.
    pub first_seen: Option<Timestamp>,
    /// When it was last heard of.
    pub last_seen: Option<Timestamp>,
    /// Allocatable quantity by extended resource.
    pub allocatable: BTreeMap<Arc<str>, Track>,
    /// Capacity by extended resource.
    pub capacity: BTreeMap<Arc<str>, Track>,
    /// 1 while cordoned.
    pub unschedulable: Option<Track>,
    /// Boot ids with the time each was first seen, oldest first.
    pub boots: Vec<(Arc<str>, Timestamp)>,
}

impl NodeTrack {
    /// When the node was last seen to have booted anew, if that happened under our eyes.
    #[must_use]
    pub fn rebooted(&self) -> Option<Timestamp> {
        (self.boots.len() > 1)
            .then(|| self.boots.last().map(|(_, at)| *at))
            .flatten()
    }
}
