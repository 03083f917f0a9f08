//! How the series of a history are filed.

use std::collections::BTreeMap;

use crate::snapshot::{Limits, Manner, Signal, Span};

/// What the rules need, and the shared thresholds.
pub(super) struct Filing<'a> {
    pub(super) needs: &'a BTreeMap<Signal, Span>,
    pub(super) limits: &'a Limits,
    /// Who tells, as a number.
    pub(super) teller: u32,
}

/// A target as a number; two that fall together are taken for one.
pub(super) fn teller(target: Option<&str>) -> u32 {
    // FNV-1a.
    target.map_or(0, |target| {
        target.bytes().fold(0x811c_9dc5, |hash, byte| {
            (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
        })
    })
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
            teller: self.teller,
            collection: self.limits.collection_interval.get(),
        }
    }
}
