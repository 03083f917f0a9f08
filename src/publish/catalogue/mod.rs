//! The catalogue of metrics: the one place that knows a family's name, type, labels and help.
//!
//! The encoder takes them from here, and `gpulens metrics --format markdown` prints it.

mod families;
mod markdown;

pub use families::*;
pub use markdown::{markdown, signals};

/// The type of a family, as `# TYPE` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// A level that goes up and down.
    Gauge,
    /// Starts at 0 and grows.
    Counter,
    /// Observations counted by size.
    Histogram,
}

impl Type {
    /// The word in `# TYPE`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Gauge => "gauge",
            Self::Counter => "counter",
            Self::Histogram => "histogram",
        }
    }
}

/// The part of the catalogue that a family belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Section {
    /// What the rules found. Only of clusters that are warm.
    Findings,
    /// Telemetry with its semantics repaired. Only of clusters that are warm.
    PerGpu,
    /// How the evaluation of a cluster fares.
    Itself,
    /// The process, which may watch several clusters.
    Process,
}

/// One family.
#[derive(Debug, PartialEq, Eq)]
pub struct Family {
    /// Its name as samples carry it (for a histogram without `_bucket`, `_sum`, `_count`).
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Its labels, in the order in which they are printed, without `cluster` and `le`.
    pub labels: &'static [&'static str],
    /// One line, without a backslash.
    pub help: &'static str,
    /// Where it belongs.
    pub section: Section,
    /// When its series exist, beyond what the section says; empty for always.
    pub condition: &'static str,
}

/// The base units that a name's last word can be.
const UNITS: [&str; 3] = ["seconds", "bytes", "ratio"];

impl Family {
    /// Whether its series carry `cluster` where clusters have names.
    #[must_use]
    pub fn has_cluster(&self) -> bool {
        self.section != Section::Process
    }

    /// Its base unit, the last word of its name; empty where it has none.
    #[must_use]
    pub fn unit(&self) -> &'static str {
        let name = self.stem();
        let unit = UNITS.into_iter().find(|unit| {
            name.strip_suffix(unit)
                .is_some_and(|rest| rest.ends_with('_'))
        });
        unit.unwrap_or("")
    }

    /// Its name as OpenMetrics has it in `# TYPE`: a counter's without `_total`.
    #[must_use]
    pub fn stem(&self) -> &'static str {
        match self.kind {
            Type::Counter => self.name.strip_suffix("_total").unwrap_or(self.name),
            Type::Gauge | Type::Histogram => self.name,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn families_keep_the_conventions() {
        let mut names = std::collections::BTreeSet::new();
        for family in ALL {
            let name = family.name;
            assert!(names.insert(name), "{name} twice");
            assert_eq!(
                family.kind == Type::Counter,
                name.ends_with("_total"),
                "{name}"
            );
            assert!(
                !family.help.is_empty() && !family.help.contains(['\\', '\n']),
                "{name}"
            );
            assert!(
                family.help.ends_with('.') && !family.condition.ends_with('.'),
                "{name}"
            );
            for label in ["cluster", "le", "quantile", "instance", "job"] {
                assert!(!family.labels.contains(&label), "{name} {label}");
            }
        }
    }

    #[test]
    fn units_come_from_the_name() {
        assert_eq!(GPU_THROTTLE_SECONDS_TOTAL.unit(), "seconds");
        assert_eq!(
            GPU_THROTTLE_SECONDS_TOTAL.stem(),
            "gpulens_gpu_throttle_seconds"
        );
        assert_eq!(PROCESS_RESIDENT_MEMORY_BYTES.unit(), "bytes");
        assert_eq!(GPU_MEAN_UTILIZATION_RATIO.unit(), "ratio");
        assert_eq!(FLEET_GPUS.unit(), "");
    }
}
