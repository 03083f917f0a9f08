//! The scenarios that ship as fixtures: one file each, all ending at the same moment.

mod hardware_thermal;
mod healthy;
mod stale_telemetry;

use jiff::Timestamp;

use super::Fleet;

/// The moment at which every scenario is judged: 2026-03-14T02:07:00Z.
pub const NOW: Timestamp = before(0);

/// So many seconds before that moment.
const fn before(seconds: i64) -> Timestamp {
    Timestamp::constant(1_773_454_020 - seconds, 0)
}

/// A scenario.
#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    /// The fixture's file name without its extension, and the cluster's name.
    pub stem: &'static str,
    /// The fleet that it records.
    pub fleet: fn() -> Fleet,
}

/// Every scenario.
pub const ALL: &[Scenario] = &[
    Scenario {
        stem: healthy::STEM,
        fleet: healthy::fleet,
    },
    Scenario {
        stem: hardware_thermal::STEM,
        fleet: hardware_thermal::fleet,
    },
    Scenario {
        stem: stale_telemetry::STEM,
        fleet: stale_telemetry::fleet,
    },
];
