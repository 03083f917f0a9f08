//! A cluster written down: inventory and series, as fixtures and snapshots hold them.
//!
//! A recording is not a snapshot: it is played into history like any source, so that a file
//! and a live cluster go the same way. The format is described in docs/RECORDING.md.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::{self, Deserializer, SeqAccess, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::{
    ClusterName, Event, GpuUuid, InstanceId, Node, NodeAttribution, NodeName, Part, Pod, PodRef,
    PodUid, SeriesKey, Signal, SourceStatus, Span, Termination,
};

/// The schema that this build reads and writes.
pub const SCHEMA: &str = "gpulens/recording/v1";

/// A cluster written down.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recording {
    /// Always [`SCHEMA`].
    #[serde(deserialize_with = "schema")]
    pub schema: String,
    /// The cluster's name.
    #[serde(default)]
    pub cluster: ClusterName,
    /// The moment to judge.
    pub now: Timestamp,
    /// Cycle and scrape interval.
    pub interval: Span,
    /// State of every source at `now`.
    #[serde(default)]
    pub sources: Vec<SourceStatus>,
    /// Nodes at `now`.
    #[serde(default)]
    pub nodes: Vec<Node>,
    /// Pods at `now`.
    #[serde(default)]
    pub pods: Vec<Pod>,
    /// Events at `now`.
    #[serde(default)]
    pub events: Vec<Event>,
    /// Who held which GPU, as series labels told it.
    #[serde(default)]
    pub holders: Vec<Holding>,
    /// Ends of containers and pods.
    #[serde(default)]
    pub terminations: Vec<Termination>,
    /// Series of GPUs and nodes.
    #[serde(default)]
    pub series: Vec<Series>,
}

/// A stretch of time for which the series of a GPU named a container.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// The board.
    pub gpu: GpuUuid,
    /// The MIG instance.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<InstanceId>,
    /// Namespace.
    pub namespace: Arc<str>,
    /// Pod.
    pub pod: Arc<str>,
    /// Container.
    #[serde(default)]
    pub container: Arc<str>,
    /// The pod's UID.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uid: Option<PodUid>,
    /// First named.
    pub from: Timestamp,
    /// Last named.
    pub to: Timestamp,
}

impl Holding {
    /// The pod by name.
    #[must_use]
    pub fn pod_ref(&self) -> PodRef {
        PodRef {
            namespace: self.namespace.clone(),
            pod: self.pod.clone(),
        }
    }
}

/// Series of one subject on one time grid.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Series {
    /// What the series are about.
    pub subject: SeriesSubject,
    /// Time of the first slot.
    pub from: Timestamp,
    /// Distance of the slots.
    pub every: Span,
    /// How many slots there are.
    pub slots: u32,
    /// Values by series name: `core_temperature_celsius`, `xid_window_count[79]`;
    /// for nodes `allocatable[nvidia.com/gpu]`, `capacity[nvidia.com/gpu]`, `unschedulable`.
    pub values: BTreeMap<String, SeriesValues>,
}

/// What series are about.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum SeriesSubject {
    /// A board or a MIG instance.
    Gpu {
        /// The board.
        uuid: GpuUuid,
        /// The MIG instance.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        instance: Option<InstanceId>,
        /// The instance's profile.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        profile: Option<Arc<str>>,
        /// The node it sits on.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        node: Option<NodeName>,
        /// How that is known.
        #[serde(default = "configured")]
        node_by: NodeAttribution,
        /// DCGM's index.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        index: Option<u32>,
        /// PCI address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pci: Option<Arc<str>>,
        /// Product name.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        model: Option<Arc<str>>,
        /// Driver version.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        driver: Option<Arc<str>>,
        /// URL of the target that tells about it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        target: Option<Arc<str>>,
    },
    /// A node.
    Node {
        /// Its name.
        name: NodeName,
        /// Boot ids with the slot in which each was first seen.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        boots: Vec<(u32, Arc<str>)>,
    },
}

fn configured() -> NodeAttribution {
    NodeAttribution::Configured
}

/// The values of one series: one number for every slot, or one a slot with `null` for a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesValues {
    /// The same value in every slot.
    Constant(f64),
    /// One value a slot.
    Column(Vec<Option<f64>>),
}

impl SeriesValues {
    /// The value in a slot, if there is one.
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Column(values) => values.get(slot as usize).copied().flatten(),
        }
    }
}

impl Serialize for SeriesValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(value) => serializer.serialize_f64(*value),
            Self::Column(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SeriesValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = SeriesValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number for all slots, or an array with a number or null for each")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SeriesValues, A::Error> {
                let mut values = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(1 << 16));
                while let Some(value) = seq.next_element::<Option<f64>>()? {
                    values.push(value);
                }
                Ok(SeriesValues::Column(values))
            }
        }
        deserializer.deserialize_any(Values)
    }
}

fn schema<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text == SCHEMA {
        return Ok(text);
    }
    Err(de::Error::custom(format!(
        "schema `{text}` is not known; this build reads `{SCHEMA}`"
    )))
}

/// Why a file is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// Not the JSON that a recording has. The message names line and column.
    #[error("{0}")]
    Json(#[from] serde_json::Error),
    /// Well-formed, but it cannot be: the place as a path, and what is allowed.
    #[error("{place}: {problem}")]
    Content {
        /// Where, such as `series[3].values`.
        place: String,
        /// What is wrong and what is allowed.
        problem: String,
    },
}

/// Slots that one file may hold in all: a day of 10,000 series at 15 s.
const MAX_VALUES: u64 = 60_000_000;

impl Recording {
    /// Reads a recording. Errors name line and column, or the place and what is allowed.
    pub fn parse(json: &[u8]) -> Result<Self, RecordingError> {
        let recording: Self = serde_json::from_slice(json)?;
        recording.check()?;
        Ok(recording)
    }

    fn check(&self) -> Result<(), RecordingError> {
        let fail = |place: String, problem: String| Err(RecordingError::Content { place, problem });
        if self.interval.get().as_secs() < 1 {
            return fail("interval".into(), format!("{} is below 1s", self.interval));
        }
        let mut total = 0;
        for (at, series) in self.series.iter().enumerate() {
            let place = format!("series[{at}]");
            if series.every.get().as_secs() < 1 {
                return fail(
                    format!("{place}.every"),
                    format!("{} is below 1s", series.every),
                );
            }
            total += u64::from(series.slots) * series.values.len() as u64;
            if total > MAX_VALUES {
                return fail(place, format!("more than {MAX_VALUES} values in one file"));
            }
            for (name, values) in &series.values {
                let place = format!("{place}.values[\"{name}\"]");
                if let SeriesValues::Column(column) = values
                    && column.len() != series.slots as usize
                {
                    let problem = format!("{} values for {} slots", column.len(), series.slots);
                    return fail(place, problem);
                }
                series
                    .subject
                    .check_name(name)
                    .or_else(|problem| fail(place, problem))?;
            }
        }
        for (at, holding) in self.holders.iter().enumerate() {
            if holding.to < holding.from {
                return fail(format!("holders[{at}]"), "`to` lies before `from`".into());
            }
        }
        Ok(())
    }
}

impl SeriesSubject {
    fn check_name(&self, name: &str) -> Result<(), String> {
        match self {
            Self::Gpu { .. } => gpu_series(name).map(|_| ()),
            Self::Node { .. } => node_series(name).map(|_| ()),
        }
    }
}

/// The key of a GPU's series name: `name`, or `name[part]`.
pub fn gpu_series(name: &str) -> Result<SeriesKey, String> {
    let (signal, part) = split_part(name);
    let signal = Signal::from_name(signal).ok_or_else(|| {
        format!("`{signal}` is not a signal; `gpulens metrics --signals` lists them")
    })?;
    let part = match part {
        None => Part::WHOLE,
        Some(text) => Part(
            text.parse()
                .map_err(|_| format!("`{text}` is not a part number"))?,
        ),
    };
    Ok(SeriesKey { signal, part })
}

/// The name of a GPU's series in a recording.
#[must_use]
pub fn gpu_series_name(key: SeriesKey) -> String {
    match key.part.number() {
        None => key.signal.spec().name.to_owned(),
        Some(part) => format!("{}[{part}]", key.signal.spec().name),
    }
}

/// What a node's series is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSeries {
    /// Allocatable pieces of a resource.
    Allocatable(Arc<str>),
    /// Capacity in pieces of a resource.
    Capacity(Arc<str>),
    /// 1 while cordoned.
    Unschedulable,
}

/// The meaning of a node's series name.
pub fn node_series(name: &str) -> Result<NodeSeries, String> {
    match split_part(name) {
        ("allocatable", Some(resource)) => Ok(NodeSeries::Allocatable(resource.into())),
        ("capacity", Some(resource)) => Ok(NodeSeries::Capacity(resource.into())),
        ("unschedulable", None) => Ok(NodeSeries::Unschedulable),
        _ => Err(format!(
            "`{name}` is not a node's series; want allocatable[resource], capacity[resource] or unschedulable"
        )),
    }
}

fn split_part(name: &str) -> (&str, Option<&str>) {
    name.strip_suffix(']')
        .and_then(|rest| rest.split_once('['))
        .map_or((name, None), |(name, part)| (name, Some(part)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{
      "schema": "gpulens/recording/v1", "cluster": "c", "now": "2026-03-14T02:07:00Z", "interval": "15s",
      "series": [
        { "subject": { "gpu": { "uuid": "GPU-1", "node": "n1", "index": 0 } },
          "from": "2026-03-14T02:06:00Z", "every": "30s", "slots": 3,
          "values": { "core_temperature_celsius": [61, null, 62.5], "row_remap_failure": 0, "xid_window_count[79]": 1 } }
      ]
    }"#;

    #[test]
    fn reads_columns_constants_and_gaps() {
        let recording = Recording::parse(SMALL.as_bytes()).expect("valid");
        let values = &recording.series[0].values;
        assert_eq!(values["core_temperature_celsius"].get(1), None);
        assert_eq!(values["core_temperature_celsius"].get(2), Some(62.5));
        assert_eq!(values["row_remap_failure"].get(2), Some(0.0));
        let json = serde_json::to_vec(&recording).expect("serialisable");
        assert_eq!(Recording::parse(&json).expect("own output"), recording);
    }

    #[test]
    fn errors_name_the_place() {
        for (from, to, place) in [
            ("recording/v1", "recording/v9", "line 2 column"),
            ("\"cluster\"", "\"clusters\"", "line 2 column"),
            (
                "\"now\": \"2026-03-14T02:07:00Z\"",
                "\"now\": \"yesterday\"",
                "line 2 column",
            ),
            ("\"30s\"", "\"soon\"", "line 5 column"),
            (
                "[61, null, 62.5]",
                "[61, null]",
                "series[0].values[\"core_temperature_celsius\"]: 2 values for 3 slots",
            ),
            ("[61, null, 62.5]", "[61, \"hot\", 62.5]", "line 6 column"),
            (
                "core_temperature_celsius",
                "core_heat",
                "series[0].values[\"core_heat\"]: `core_heat` is not a signal",
            ),
            ("\"30s\"", "\"10ms\"", "series[0].every"),
            ("}\n      ]", "}\n      ", "line 8 column"),
        ] {
            let text = SMALL.replace(from, to);
            assert_ne!(text, SMALL, "{from}");
            let error = Recording::parse(text.as_bytes()).expect_err(to).to_string();
            assert!(error.contains(place), "{to}: {error}");
        }
    }
}
