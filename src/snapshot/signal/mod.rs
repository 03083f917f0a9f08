//! The canonical signals: what a series means, whatever its exporter called it.
//!
//! [`table`] has one line a signal; everything else (scanner, history, evidence,
//! metrics, documentation) knows a signal from that line.

mod part;
mod table;

pub use part::{ClockEvent, HealthWatch, Part, SeriesKey};
pub use table::{DcgmName, PartLabel, Signal, dcgm_names};

use std::collections::HashMap;
use std::sync::LazyLock;

/// How a signal's values behave in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A level that goes up and down.
    Gauge,
    /// Grows, and falls only when the driver, the exporter or the board starts anew.
    Counter,
    /// Grows for the board's whole life: kept in its `InfoROM`.
    Lifetime,
    /// The last error code; says nothing of when or how often.
    Code,
    /// A set of bits.
    Bits,
    /// A small enumeration whose meaning the rule knows; 0 is always "nothing wrong".
    State,
}

impl Kind {
    /// The kind in a word or two.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Lifetime => "lifetime counter",
            Self::Code => "last code",
            Self::Bits => "bits",
            Self::State => "state",
        }
    }
}

/// Whose value it is when a board is split into MIG instances.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// The board's: an instance series only repeats it.
    Board,
    /// The instance's own where there are instances, else the board's.
    Instance,
    /// Meaningless on an instance series: ignored there (`GPU_UTIL` under MIG is 0 or absent).
    BoardOnly,
}

/// What is fixed about a signal.
#[derive(Clone, Copy, Debug)]
pub struct SignalSpec {
    /// Our name, with its unit as suffix where it has one.
    pub name: &'static str,
    /// Unit for people (`°C`, `W`, `bytes`); empty for counts and codes.
    pub unit: &'static str,
    /// How it behaves in time.
    pub kind: Kind,
    /// Whose it is under MIG.
    pub scope: Scope,
    /// Smallest believable value, in our unit.
    pub min: f64,
    /// Largest believable value, in our unit.
    pub max: f64,
    /// What it is, in a few words.
    pub help: &'static str,
}

/// Why a value was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rejected {
    /// DCGM's "blank": not supported, not found, not permitted.
    Sentinel,
    /// A number that the signal cannot have.
    OutOfBounds,
}

impl Rejected {
    /// The label value under which it is counted.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sentinel => "sentinel",
            Self::OutOfBounds => "out_of_bounds",
        }
    }
}

/// A ratio just above 1 is rounding; beyond this it is something else.
const RATIO_ROUNDING: f64 = 1.01;

impl DcgmName {
    /// The value in our unit, or why it cannot be one.
    pub fn convert(&self, raw: f64) -> Result<f64, Rejected> {
        let spec = self.signal.spec();
        if is_sentinel(raw, spec.kind) {
            return Err(Rejected::Sentinel);
        }
        let mut value = raw * self.factor;
        // DCGM 4.6 fills GPU_UTIL_RATIO from the per cent field, 4.7 from the ratio field:
        // above 1 it can only be per cent.
        if self.percent_if_above_one && raw > RATIO_ROUNDING {
            value = raw * 0.01;
        }
        if spec.unit == "ratio" && value > 1.0 && value <= RATIO_ROUNDING {
            value = 1.0;
        }
        let whole = matches!(spec.kind, Kind::Code | Kind::Bits | Kind::State);
        if value >= spec.min && value <= spec.max && !(whole && value.fract() != 0.0) {
            Ok(value)
        } else {
            Err(Rejected::OutOfBounds)
        }
    }
}

/// DCGM's blank values (`dcgm_structs.h`), as exporters up to 2.1 and relays print them.
///
/// The int32 ones are matched exactly and never on counters: energy in millijoules
/// passes 2147483632 on its way.
fn is_sentinel(raw: f64, kind: Kind) -> bool {
    let counter = matches!(kind, Kind::Counter | Kind::Lifetime);
    (!counter && (2_147_483_632.0..=2_147_483_635.0).contains(&raw))
        || raw >= 9.223_372_036_854_77e18
        || (140_737_488_355_328.0..=140_737_488_355_331.0).contains(&raw)
}

/// The row of a metric name, whatever its case or exporter generation, with its rank among
/// the names of its signal (lower is preferred) and the link that the name itself carries.
#[must_use]
pub fn dcgm_name(metric: &str) -> Option<Named> {
    let upper = metric.to_ascii_uppercase();
    if let Some(named) = by_name(&upper) {
        return Some(named);
    }
    // `…_COUNT_L3` and `…_L3_TOTAL` are one link of what `…_COUNT_TOTAL` and `…_TOTAL` sum up.
    let stem = upper.strip_suffix("_TOTAL").unwrap_or(&upper);
    let (stem, link) = stem.rsplit_once("_L")?;
    let link = link.parse().ok().filter(|link| *link < Part::WHOLE.0)?;
    by_name(&format!("{stem}_TOTAL"))
        .filter(|named| named.row.part == Some(PartLabel::NvLink))
        .map(|named| Named {
            link: Some(link),
            ..named
        })
}

/// A metric name that was understood.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The name's row.
    pub row: &'static DcgmName,
    /// Rank among all names; of two names of one signal in one body the lower is taken.
    pub rank: u16,
    /// The NVLink that the name is about, where it says so.
    pub link: Option<u16>,
}

fn by_name(upper: &str) -> Option<Named> {
    static BY_NAME: LazyLock<HashMap<String, Named>> = LazyLock::new(|| {
        dcgm_names()
            .iter()
            .zip(0..)
            .map(|(row, rank)| {
                (
                    row.name.to_ascii_uppercase(),
                    Named {
                        row,
                        rank,
                        link: None,
                    },
                )
            })
            .collect()
    });
    BY_NAME.get(upper).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn convert(name: &str, raw: f64) -> Result<f64, Rejected> {
        dcgm_name(name).expect(name).row.convert(raw)
    }

    #[test]
    fn every_name_is_listed_once() {
        let mut seen = std::collections::BTreeSet::new();
        for row in dcgm_names() {
            assert!(
                seen.insert(row.name.to_ascii_uppercase()),
                "{} twice",
                row.name
            );
        }
    }

    #[test]
    fn generations_of_one_signal_give_the_same_value() {
        let near = |a: Result<f64, _>, b: f64| {
            assert!((a.expect("value") - b).abs() < 1e-6 * b.abs().max(1.0));
        };
        near(convert("DCGM_FI_DEV_GPU_UTIL", 83.0), 0.83);
        near(convert("DCGM_FI_DEV_GPU_UTIL_RATIO", 0.83), 0.83);
        near(convert("DCGM_FI_DEV_GPU_UTIL_RATIO", 83.0), 0.83);
        near(convert("dcgm_gpu_utilization", 83.0), 0.83);
        near(convert("DCGM_FI_DEV_SM_CLOCK", 1980.0), 1.98e9);
        near(convert("dcgm_fi_dev_sm_clock_hertz", 1.98e9), 1.98e9);
        near(
            convert("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 921_563_412.0),
            921_563.412,
        );
        near(
            convert("DCGM_FI_DEV_FB_USED", 31_000.0),
            31_000.0 * 1_048_576.0,
        );
        near(convert("DCGM_FI_DEV_THERMAL_VIOLATION", 2_000_000.0), 0.002);
        near(convert("DCGM_FI_PROF_GR_ENGINE_ACTIVE", 1.000_001), 1.0);
    }

    #[test]
    fn blanks_and_absurd_values_are_missing() {
        for (name, raw, why) in [
            (
                "DCGM_FI_DEV_MEMORY_TEMP",
                9_223_372_036_854_775_794.0,
                Rejected::Sentinel,
            ),
            ("DCGM_FI_DEV_FB_USED", 2_147_483_634.0, Rejected::Sentinel),
            (
                "DCGM_FI_DEV_POWER_USAGE",
                140_737_488_355_330.0,
                Rejected::Sentinel,
            ),
            (
                "DCGM_FI_DEV_GPU_UTIL",
                4_294_967_295.0,
                Rejected::OutOfBounds,
            ),
            ("DCGM_FI_DEV_GPU_UTIL", 808_334_905.0, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_GPU_UTIL", 101.5, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_GPU_TEMP", 345.0, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_GPU_TEMP", -1.0, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_MEMORY_TEMP", 0.0, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_XID_ERRORS", 79.5, Rejected::OutOfBounds),
            ("DCGM_FI_DEV_GPU_TEMP", f64::NAN, Rejected::OutOfBounds),
            (
                "DCGM_FI_DEV_GPU_TEMP",
                f64::NEG_INFINITY,
                Rejected::OutOfBounds,
            ),
        ] {
            assert_eq!(convert(name, raw), Err(why), "{name} {raw}");
        }
        // Energy in millijoules passes the int32 blanks legitimately.
        assert!(convert("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", 2_147_483_634.0).is_ok());
    }

    #[test]
    fn names_are_found_in_any_case() {
        let signal = |name| dcgm_name(name).map(|named| (named.row.signal, named.link));
        assert_eq!(
            signal("dcgm_fi_prof_gr_engine_active"),
            Some((Signal::GraphicsEngineActive, None))
        );
        assert_eq!(signal("DCGM_POWER_USAGE"), Some((Signal::PowerUsage, None)));
        assert_eq!(
            signal("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L11"),
            Some((Signal::NvlinkCrcFlit, Some(11)))
        );
        assert_eq!(
            signal("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_L0_TOTAL"),
            Some((Signal::NvlinkReplay, Some(0)))
        );
        assert_eq!(
            signal("DCGM_FI_DEV_NVLINK_BANDWIDTH_L0"),
            Some((Signal::NvlinkThroughput, Some(0)))
        );
        assert_eq!(signal("DCGM_FI_DEV_SM_CLOCK_L0"), None);
        assert_eq!(signal("go_gc_duration_seconds"), None);
    }

    #[test]
    fn signal_names_are_distinct_and_parse_back() {
        for &signal in Signal::ALL {
            assert_eq!(Signal::from_name(signal.spec().name), Some(signal));
            assert!(signal.spec().min <= signal.spec().max);
        }
    }
}
