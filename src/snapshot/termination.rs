//! The ends of containers and pods.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{NodeName, OwnerRef, PodUid};

/// What ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TerminationKind {
    /// A container, with an exit code.
    Container,
    /// A pod as a whole (evicted, refused by the kubelet, lost with its node).
    Pod,
}

/// The end of a container or pod.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Termination {
    /// What ended.
    pub kind: TerminationKind,
    /// The pod's UID.
    pub uid: PodUid,
    /// The pod's namespace.
    pub namespace: Arc<str>,
    /// The pod's name.
    pub pod: Arc<str>,
    /// The container; empty for a pod as a whole.
    #[serde(default)]
    pub container: Arc<str>,
    /// The node it ran on.
    #[serde(default)]
    pub node: Option<NodeName>,
    /// The pod's controller.
    #[serde(default)]
    pub owner: Option<OwnerRef>,
    /// Exit code, where there is one.
    #[serde(default)]
    pub exit_code: Option<i32>,
    /// Kubernetes' reason (`Error`, `OOMKilled`, `UnexpectedAdmissionError` …).
    #[serde(default)]
    pub reason: Arc<str>,
    /// Kubernetes' message.
    #[serde(default)]
    pub message: Arc<str>,
    /// Start, where known.
    #[serde(default)]
    pub started: Option<Timestamp>,
    /// End, where known.
    #[serde(default)]
    pub finished: Option<Timestamp>,
    /// The container's restart count at that time.
    #[serde(default)]
    pub restarts: u32,
}
