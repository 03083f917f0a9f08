//! What is published of a cluster after a cycle.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::finding::{IncidentId, Key, Reason, RuleId, Severity};
use crate::incident::{Closing, Incident};
use crate::rules::RuleRun;
use crate::snapshot::{
    ClusterName, GpuUuid, InstanceId, Liveness, NodeName, PodRef, Signal, SourceStatus,
};

/// Everything that is published of a cluster after a cycle. Never changed, only replaced.
#[derive(Clone, Debug)]
pub struct ClusterView {
    /// The cluster's name; empty where one unnamed cluster is watched.
    pub cluster: ClusterName,
    /// The moment that was judged, on the cluster's own clock: a recording's stands still.
    pub now: Timestamp,
    /// When the cycle ran, on the wall clock.
    pub evaluated: Timestamp,
    /// Whether the cluster is a recording: pages then say "as of".
    pub recorded: bool,
    /// The cycle interval.
    pub interval: SignedDuration,
    /// How long the cycle took.
    pub duration: Duration,
    /// True once every source was tried; before that nothing but the self metrics is shown.
    pub warm: bool,
    /// Open incidents: worst first, then by rule, place and id.
    pub open: Vec<Arc<Incident>>,
    /// Incidents that ended in the last 24 hours, latest first; bounded.
    pub closed: Vec<Arc<Incident>>,
    /// Label sets that show 0 for a while: closed incidents, and severities that were left.
    pub zeros: Vec<Zero>,
    /// Incidents opened since start, by rule.
    pub opened_total: BTreeMap<RuleId, u64>,
    /// Incidents closed since start.
    pub closed_total: BTreeMap<(RuleId, Closing), u64>,
    /// Subjects that could not be decided.
    pub undecided: BTreeMap<(RuleId, Reason), u64>,
    /// For each signal that a rule needs: GPUs for which it arrives, and for which not.
    pub signals: Vec<(Signal, u64, u64)>,
    /// GPUs by state.
    pub fleet: Fleet,
    /// One row a board, sorted by UUID.
    pub gpus: Vec<GpuRow>,
    /// State of every source.
    pub sources: Vec<SourceStatus>,
    /// How each rule fared.
    pub rules: Vec<RuleRun>,
    /// Pods that are tracked.
    pub tracked_pods: u64,
    /// Observations that came too late to be filed, since start.
    pub too_late_total: u64,
}

/// A label set of `gpulens_incident_active` that shows 0.
#[derive(Clone, Debug, PartialEq)]
pub struct Zero {
    /// The incident.
    pub id: IncidentId,
    /// Its identity.
    pub key: Key,
    /// The severity it had.
    pub severity: Severity,
    /// When the series ends, on the wall clock.
    pub until: Timestamp,
}

/// GPUs by state: unknown is a state of its own, never ok.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fleet {
    /// Readings are live, its health could be decided, and nothing is found.
    pub ok: u64,
    /// An incident above info is open for it.
    pub finding: u64,
    /// Its readings are not the present, or its health could not be decided.
    pub unknown: u64,
}

/// What is published of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct GpuRow {
    /// Its UUID.
    pub uuid: GpuUuid,
    /// Its node.
    pub node: Option<NodeName>,
    /// DCGM's index.
    pub index: Option<u32>,
    /// Product name.
    pub model: Option<Arc<str>>,
    /// Whether its readings are the present.
    pub liveness: Liveness,
    /// When a reading was last known to be live.
    pub live_at: Timestamp,
    /// Seconds of throttling since first seen, by reason, where a signal tells.
    pub throttle_seconds: Vec<(&'static str, f64)>,
    /// The board itself (without MIG) or its instances.
    pub entities: Vec<EntityRow>,
}

/// What is published of a board's or an instance's own series.
#[derive(Clone, Debug, PartialEq)]
pub struct EntityRow {
    /// The MIG instance.
    pub instance: Option<InstanceId>,
    /// Dated XIDs since first seen: at least this many. `None` where no XID can be known.
    pub xid_total: Option<u64>,
    /// The last XID, once one was seen.
    pub last_xid: Option<u16>,
    /// Mean utilisation over the window, where enough was seen.
    pub mean_utilization: Option<f64>,
    /// The pod that its series name, if exactly one.
    pub pod: Option<PodRef>,
}
