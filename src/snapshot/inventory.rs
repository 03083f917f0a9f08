//! Nodes, pods and events as far as GPUs are concerned.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{NodeName, PodRef, PodUid};

/// What the Kubernetes API last told. Without Kubernetes it is empty and says so.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Inventory {
    /// Nodes by name.
    pub nodes: BTreeMap<NodeName, Arc<Node>>,
    /// Pods that hold or want GPUs, by UID.
    pub pods: BTreeMap<PodUid, Arc<Pod>>,
    /// Events kept for their reason, oldest first.
    pub events: Vec<Arc<Event>>,
    /// How far each list can be trusted.
    pub complete: Completeness,
}

/// How far the lists of the inventory can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Completeness {
    /// The list of nodes.
    pub nodes: ListState,
    /// The list of pods.
    pub pods: ListState,
    /// The events.
    pub events: ListState,
}

/// The state of one list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ListState {
    /// Kubernetes is not a source here.
    #[default]
    NotConfigured,
    /// Not yet listed.
    Pending,
    /// Refused or failed, and never listed.
    Failed,
    /// Listed as a whole and kept up to date until the given time.
    Synced(Timestamp),
}

impl ListState {
    /// Whether the list is whole and its last word younger than `limit`: only then does
    /// something's absence from it mean that the thing is gone.
    #[must_use]
    pub fn is_complete(self, now: Timestamp, limit: SignedDuration) -> bool {
        matches!(self, Self::Synced(at) if now.duration_since(at) <= limit)
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name.
    pub name: NodeName,
    /// Its UID.
    pub uid: Arc<str>,
    /// When it joined.
    pub created: Timestamp,
    /// Labels (GPU feature discovery's among them).
    #[serde(default)]
    pub labels: BTreeMap<Arc<str>, Arc<str>>,
    /// Allocatable extended resources, in pieces.
    #[serde(default)]
    pub allocatable: BTreeMap<Arc<str>, i64>,
    /// Capacity of extended resources, in pieces.
    #[serde(default)]
    pub capacity: BTreeMap<Arc<str>, i64>,
    /// Conditions.
    #[serde(default)]
    pub conditions: Vec<NodeCondition>,
    /// Taints.
    #[serde(default)]
    pub taints: Vec<Taint>,
    /// Cordoned.
    #[serde(default)]
    pub unschedulable: bool,
    /// `status.nodeInfo.bootID`: changes at every boot.
    #[serde(default)]
    pub boot_id: Option<Arc<str>>,
}

/// Whether an extended resource stands for NVIDIA GPUs or parts of them.
#[must_use]
pub fn is_gpu_resource(name: &str) -> bool {
    name == "nvidia.com/gpu"
        || name == "nvidia.com/gpu.shared"
        || name.starts_with("nvidia.com/mig-")
}

/// A node's condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NodeCondition {
    /// Type (`Ready`, `GPUXIDErrors` …).
    #[serde(rename = "type")]
    pub kind: Arc<str>,
    /// `True`, `False` or `Unknown`.
    pub status: Arc<str>,
    /// Machine-readable reason.
    #[serde(default)]
    pub reason: Arc<str>,
    /// Text for people.
    #[serde(default)]
    pub message: Arc<str>,
    /// Last word of whoever sets it.
    #[serde(default)]
    pub heartbeat: Option<Timestamp>,
    /// Last change of status.
    #[serde(default)]
    pub changed: Option<Timestamp>,
}

/// A node's taint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Taint {
    /// Key.
    pub key: Arc<str>,
    /// Value; may be empty.
    #[serde(default)]
    pub value: Arc<str>,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: Arc<str>,
    /// When it was added, where the API says so.
    #[serde(default)]
    pub added: Option<Timestamp>,
}

/// A pod's phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum PodPhase {
    /// Accepted, not running.
    Pending,
    /// Bound and started.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// The node does not say.
    Unknown,
}

/// The controller that owns a pod.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerRef {
    /// Kind (`Job`, `StatefulSet`, `PyTorchJob` …).
    pub kind: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// A pod that holds or wants GPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Pod {
    /// Its UID.
    pub uid: PodUid,
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// The node it is bound to.
    #[serde(default)]
    pub node: Option<NodeName>,
    /// Phase.
    pub phase: PodPhase,
    /// When it was created.
    pub created: Timestamp,
    /// When the kubelet took it up (`status.startTime`): it may have waited long before.
    #[serde(default)]
    pub started: Option<Timestamp>,
    /// When its deletion was asked for.
    #[serde(default)]
    pub deleting: Option<Timestamp>,
    /// Its controller.
    #[serde(default)]
    pub owner: Option<OwnerRef>,
    /// Effective request of GPU resources, in pieces.
    #[serde(default)]
    pub gpu_requests: BTreeMap<Arc<str>, i64>,
}

impl Pod {
    /// The pod by name.
    #[must_use]
    pub fn pod_ref(&self) -> PodRef {
        PodRef {
            namespace: self.namespace.clone(),
            pod: self.name.clone(),
        }
    }

    /// Whether it still holds what it was given: bound and not ended (terminating ones do).
    #[must_use]
    pub fn holds_resources(&self) -> bool {
        self.node.is_some() && !matches!(self.phase, PodPhase::Succeeded | PodPhase::Failed)
    }
}

/// An event, kept for its reason.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Event {
    /// Its UID.
    pub uid: Arc<str>,
    /// Reason (`NodeNotReady`, `TriggeredScaleUp` …).
    pub reason: Arc<str>,
    /// Text; cut at 1024 bytes by the API.
    pub message: Arc<str>,
    /// Kind of what it is about.
    pub kind: Arc<str>,
    /// Namespace of what it is about; empty for nodes.
    #[serde(default)]
    pub namespace: Arc<str>,
    /// Name of what it is about.
    pub name: Arc<str>,
    /// First seen.
    pub first: Timestamp,
    /// Last seen.
    pub last: Timestamp,
    /// How often.
    #[serde(default)]
    pub count: u32,
}
