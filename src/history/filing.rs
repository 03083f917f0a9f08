//! How the series of a history are filed.

use std::collections::BTreeMap;

use crate::snapshot::{Limits, Manner, Signal, Span};

/// What the rules need, and the shared thresholds.
pub(super) struct Filing<'a> {
    pub(super) needs: &'a BTreeMap<Signal, Span>,
    pub(super) limits: &'a Limits,
}

impl Filing<'_> {
    /// How a signal's series are filed: those that no rule asks for keep their newest value only.
    pub(super) fn manner(&self, signal: Signal) -> Manner {
        let back = match self.needs.get(&signal) {
            Some(needed) => (*needed).max(self.limits.reorder),
            None => Span::seconds(0),
        };
        Manner {
            kind: signal.spec().kind,
            back: back.get(),
            gap: self.limits.stale_after.get(),
            collection: self.limits.collection_interval.get(),
        }
    }
}
