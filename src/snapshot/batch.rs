//! What a source hands over: the one way into history.

use std::sync::Arc;

use jiff::Timestamp;

use super::{
    BoardIdentity, GpuUuid, InstanceId, Inventory, NodeName, PodRef, PodUid, SeriesKey, SourceId,
    SourceStatus, Termination,
};

/// What a source has seen since it was last asked, and how it is doing.
#[derive(Clone, Debug)]
pub struct Batch {
    /// The source.
    pub source: SourceId,
    /// What it saw; each observation has its own time, the order does not matter.
    pub observations: Vec<Observation>,
    /// How the source is doing now.
    pub status: SourceStatus,
}

/// Something seen at a time.
#[derive(Clone, Debug)]
pub enum Observation {
    /// Readings of a board or MIG instance.
    Gpu(GpuObservation),
    /// A node's numbers at some time; the present ones come with the inventory as well.
    Node(NodeObservation),
    /// The whole of what the Kubernetes API tells, as of a time.
    Inventory {
        /// As of when.
        at: Timestamp,
        /// Nodes, pods and events.
        inventory: Arc<Inventory>,
    },
    /// The end of a container or pod.
    Termination(Arc<Termination>),
}

/// The readings of one board or MIG instance from one body.
#[derive(Clone, Debug)]
pub struct GpuObservation {
    /// When they were read.
    pub at: Timestamp,
    /// The board.
    pub uuid: GpuUuid,
    /// What is known of the board.
    pub identity: Arc<BoardIdentity>,
    /// The MIG instance, with its profile, where the series are an instance's.
    pub instance: Option<(InstanceId, Option<Arc<str>>)>,
    /// The pods that the series name.
    pub holders: Vec<Holder>,
    /// The values, in the signals' units.
    pub readings: Vec<(SeriesKey, f64)>,
    /// The XID family is known to have been absent: everything that was told was read, and nothing
    /// of it was an XID. Where something could not be read, its absence says nothing.
    pub xid_absent: bool,
}

/// A container that a series names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// The pod.
    pub pod: PodRef,
    /// The container.
    pub container: Arc<str>,
    /// The pod's UID, where the exporter prints it.
    pub uid: Option<PodUid>,
}

/// A node's numbers at one time.
#[derive(Clone, Debug)]
pub struct NodeObservation {
    /// When.
    pub at: Timestamp,
    /// The node.
    pub node: NodeName,
    /// Allocatable pieces by resource.
    pub allocatable: Vec<(Arc<str>, f64)>,
    /// Capacity in pieces by resource.
    pub capacity: Vec<(Arc<str>, f64)>,
    /// Cordoned.
    pub unschedulable: Option<bool>,
    /// Boot id.
    pub boot_id: Option<Arc<str>>,
}
