//! The nouns of GPU Lens: what a cluster's telemetry and inventory look like
//! once they are free of their sources' dialects.
//!
//! Everything here is plain, sorted, serialisable data. No I/O, no clock, no
//! randomness: a rule that sees only these types cannot depend on anything else.

mod batch;
mod gpu;
mod inventory;
mod limits;
mod names;
mod recording;
mod signal;
mod slots;
mod source;
mod termination;
mod track;

pub use batch::{Batch, GpuObservation, Holder, NodeObservation, Observation};
pub use gpu::{
    BoardIdentity, Entity, Gpu, GpuUuid, Hold, Instance, InstanceId, Liveness, MissingReason,
    NodeAttribution, Reading,
};
pub use inventory::{
    Completeness, Event, Inventory, ListState, Node, NodeCondition, OwnerRef, Pod, PodPhase, Taint,
    is_gpu_resource,
};
pub use limits::{Limits, Span, Threshold};
pub use names::{ClusterName, NodeName, PodRef, PodUid};
pub use recording::{
    Holding, NodeSeries, Recording, RecordingError, SCHEMA, Series, SeriesSubject, SeriesValues,
    gpu_series, gpu_series_name, node_series,
};
pub use signal::{
    ClockEvent, DcgmName, HealthWatch, Kind, Named, Part, PartLabel, Rejected, Scope, SeriesKey,
    Signal, SignalSpec, dcgm_name, dcgm_names,
};
pub use slots::Slots;
pub use source::{
    ErrorKind, SourceError, SourceId, SourceState, SourceStatus, TargetState, TargetStatus,
    Unlabelled,
};
pub use termination::{Termination, TerminationKind};
pub use track::{Edge, Filed, Growth, Manner, NodeTrack, Point, Track};

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// One cluster at one moment: everything a rule may look at.
///
/// Built by [`history::view`](crate::history), never changed afterwards.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSnapshot {
    /// The cluster's configured name; empty for a single unnamed cluster.
    pub cluster: ClusterName,
    /// The moment that is judged. In a recording, the recording's own clock.
    pub now: Timestamp,
    /// How often this cluster is evaluated and its targets are scraped.
    pub interval: SignedDuration,
    /// The first moment that history knows anything about.
    pub history_start: Timestamp,
    /// True once every list is synced or has failed and every target was tried.
    pub warm: bool,
    /// Nodes, pods and events as the Kubernetes API last told them.
    pub inventory: Inventory,
    /// What history knows of each node, by name.
    pub nodes: BTreeMap<NodeName, Arc<NodeTrack>>,
    /// Every board that telemetry has named, sorted by UUID.
    pub gpus: Vec<Gpu>,
    /// Container and pod ends of the last 24 hours, oldest first.
    pub terminations: Vec<Termination>,
    /// State of every configured source, sorted by id.
    pub sources: Vec<SourceStatus>,
    /// Thresholds that several rooms share.
    pub limits: Limits,
}

impl ClusterSnapshot {
    /// Whether Kubernetes is a source here: without it there is nothing to compare nodes and pods with.
    #[must_use]
    pub fn has_kubernetes(&self) -> bool {
        let kubernetes = |status: &SourceStatus| status.id == SourceId::Kubernetes;
        self.sources.iter().any(kubernetes)
    }
}

/// A time moved by a length of time; at the ends of time it stays.
#[must_use]
pub fn moved(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(at)
}
