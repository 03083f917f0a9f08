//! Which of several values of one thing in a body is taken.

use jiff::Timestamp;

use crate::snapshot::{GpuObservation, SeriesKey};

/// How far ahead of us an exporter's clock may be.
const FUTURE_MS: i64 = 60_000;
/// An older sample's time is taken for a mistaken unit: seconds read as milliseconds are 1970.
const PAST_MS: i64 = 366 * 86_400_000;

/// A value of the current body that may be taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pick {
    pub(super) entity: u32,
    pub(super) key: SeriesKey,
    pub(super) rank: u16,
    pub(super) told_by: ToldBy,
    /// Milliseconds since 1970.
    pub(super) at: i64,
    pub(super) value: f64,
}

/// Which of several copies of a value is the original; the first is preferred.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ToldBy {
    /// The entity's own series.
    Itself,
    /// A copy for one of the pods that share it.
    PodCopy,
    /// A copy on an instance's series.
    InstanceCopy,
}

/// Whether a sample's own time can be true. Both in milliseconds since 1970.
pub(super) fn is_plausible(own: i64, scraped_at: i64) -> bool {
    (-PAST_MS..=FUTURE_MS).contains(&own.saturating_sub(scraped_at))
}

/// Leaves one value for each entity and key, sorted by entity, time and key: that of the preferred
/// name, then of the original rather than a copy, then the latest, then the greatest. Never a sum.
pub(super) fn settle(picks: &mut Vec<Pick>) {
    picks.sort_unstable_by(|a, b| {
        let place = |pick: &Pick| (pick.entity, pick.key, pick.rank, pick.told_by);
        place(a)
            .cmp(&place(b))
            .then_with(|| b.at.cmp(&a.at))
            .then_with(|| b.value.total_cmp(&a.value))
    });
    picks.dedup_by_key(|pick| (pick.entity, pick.key));
    // Stable: the values of one time stay in the order of their keys.
    picks.sort_by_key(|pick| (pick.entity, pick.at));
}

/// Adds an entity's observations, one for each time that its values have.
pub(super) fn fill(
    blank: &GpuObservation,
    picks: &[Pick],
    scraped_at: i64,
    observations: &mut Vec<GpuObservation>,
) {
    if picks.is_empty() {
        observations.push(blank.clone());
    }
    for same_time in picks.chunk_by(|a, b| a.at == b.at) {
        let mut observation = blank.clone();
        if same_time[0].at != scraped_at {
            // Within a year of the scrape, so it is a time that can be written.
            observation.at = Timestamp::from_millisecond(same_time[0].at).unwrap_or(blank.at);
        }
        let readings = same_time.iter().map(|pick| (pick.key, pick.value));
        observation.readings = readings.collect();
        observations.push(observation);
    }
}
