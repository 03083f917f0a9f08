//! What was not taken, by reason: a closed set, a metric label.

use std::collections::BTreeMap;

use crate::snapshot::Rejected;
use crate::source::exposition::Rejection;

/// A known metric on a series that names no board.
pub(super) const NO_GPU: &str = "no_gpu";
/// Boards or instances beyond the limit of a target.
pub(super) const TOO_MANY_GPUS: &str = "too_many_gpus";
/// Sets of labels beyond the limit of a target.
pub(super) const TOO_MANY_SERIES: &str = "too_many_series";
/// A link, XID, peer, watch or event that is not understood.
pub(super) const UNKNOWN_PART: &str = "unknown_part";
/// Observations that a busy cycle did not fetch before newer ones took their place.
pub(super) const NOT_TAKEN: &str = "not_taken";
/// Observations of boards that another target tells about, too.
pub(super) const OTHER_TARGET: &str = "other_target";

/// Every reason: unreadable lines, then values, then what is beyond limits.
pub(super) fn reasons() -> impl Iterator<Item = &'static str> {
    let lines = Rejection::ALL.into_iter().map(Rejection::as_str);
    let values = [Rejected::Sentinel, Rejected::OutOfBounds].map(Rejected::as_str);
    lines.chain(values).chain([
        NO_GPU,
        TOO_MANY_GPUS,
        TOO_MANY_SERIES,
        UNKNOWN_PART,
        NOT_TAKEN,
        OTHER_TARGET,
    ])
}

/// Counts by reason; reasons that did not occur are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts(BTreeMap<&'static str, u64>);

impl Counts {
    /// Adds to a reason.
    pub(super) fn add(&mut self, reason: &'static str, count: u64) {
        if count > 0 {
            *self.0.entry(reason).or_default() += count;
        }
    }

    /// Adds all of another's.
    pub(super) fn merge(&mut self, other: &Self) {
        for (reason, count) in other.iter() {
            self.add(reason, count);
        }
    }

    /// How often a reason occurred.
    #[must_use]
    pub fn get(&self, reason: &str) -> u64 {
        self.0.get(reason).copied().unwrap_or_default()
    }

    /// Reasons that occurred, with their counts.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, u64)> + '_ {
        self.0.iter().map(|(reason, count)| (*reason, *count))
    }
}
