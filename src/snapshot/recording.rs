//! A cluster written down: inventory and series, as fixtures and snapshots hold them.
//!
//! A recording is not a snapshot: it is played into history like any source, so that a file
//! and a live cluster go the same way. The format is described in docs/RECORDING.md.

mod check;
mod name;
mod values;
mod write;

pub use name::{NodeSeries, gpu_series, gpu_series_name, node_series};
pub use values::SeriesValues;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::Timestamp;
use serde::de::{self, Deserializer};
use serde::{Deserialize, Serialize};

use super::{
    ClusterName, Event, GpuUuid, InstanceId, Node, NodeAttribution, NodeName, Pod, PodRef, PodUid,
    SourceStatus, Span, Termination,
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
    #[serde(deserialize_with = "values::unique")]
    pub values: BTreeMap<String, SeriesValues>,
}

impl Series {
    /// The time of a slot.
    #[must_use]
    pub fn time_of(&self, slot: u32) -> Timestamp {
        // A checked series ends inside the calendar; of others the end stands still.
        i32::try_from(slot)
            .ok()
            .and_then(|slot| self.every.get().checked_mul(slot))
            .and_then(|offset| self.from.checked_add(offset).ok())
            .unwrap_or(Timestamp::MAX)
    }
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

impl Recording {
    /// Reads a recording. Errors name line and column, or the place and what is allowed.
    pub fn parse(json: &[u8]) -> Result<Self, RecordingError> {
        let recording: Self = serde_json::from_slice(json)?;
        recording.check()?;
        Ok(recording)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = r#"{
      "schema": "gpulens/recording/v1", "cluster": "c", "now": "2026-03-14T02:07:00Z", "interval": "15s", "sources": [{ "id": "dcgm", "state": "up", "since": "2026-03-14T02:00:00Z" }],
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
