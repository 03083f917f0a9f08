//! A board, its MIG instances, and what is known of each right now.

use std::sync::Arc;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{Limits, NodeName, Part, PodRef, PodUid, Point, SeriesKey, Signal, Slots, Track};

/// A board's UUID as NVIDIA prints it (`GPU-…`): the one stable key of a GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct GpuUuid(Arc<str>);

impl GpuUuid {
    /// The UUID as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for GpuUuid {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Display for GpuUuid {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// A MIG GPU instance's id on its board (`GPU_I_ID`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct InstanceId(pub u32);

/// How it is known on which node a board sits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeAttribution {
    /// `spec.nodeName` of the exporter's pod.
    ExporterPod,
    /// The node configured for the target.
    Configured,
    /// The exporter's `Hostname` label, which names a known node.
    HostnameLabel,
    /// Not known.
    Unknown,
}

/// What a board is, apart from its UUID. None of it is a key: indexes change at reboots.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoardIdentity {
    /// The node it sits on.
    pub node: Option<NodeName>,
    /// How that is known.
    pub node_by: NodeAttribution,
    /// DCGM's index on that node.
    pub index: Option<u32>,
    /// PCI address (`00000000:07:00.0`).
    pub pci: Option<Arc<str>>,
    /// Product name as the driver gives it.
    pub model: Option<Arc<str>>,
    /// Driver version.
    pub driver: Option<Arc<str>>,
    /// URL of the target that told us, without credentials.
    pub target: Option<Arc<str>>,
}

/// Who held a GPU, and from when to when that was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hold {
    /// The pod.
    pub pod: PodRef,
    /// Its container.
    pub container: Arc<str>,
    /// The pod's UID, where the source knows it.
    pub uid: Option<PodUid>,
    /// First seen.
    pub from: Timestamp,
    /// Last seen.
    pub to: Timestamp,
}

/// The series of a board or of one MIG instance.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Entity {
    /// When it was first seen in telemetry.
    pub first_seen: Option<Timestamp>,
    /// When it was last seen in telemetry.
    pub last_seen: Option<Timestamp>,
    /// The series, sorted by key.
    pub tracks: Vec<(SeriesKey, Track)>,
    /// Who was named on its series, oldest first; bounded.
    pub holds: Vec<Hold>,
    /// When more than one pod was last named on it at once (time-slicing, MPS, a shared claim).
    pub shared_at: Option<Timestamp>,
    /// Utilisation inside the window: the board's, or the engine activity of an instance.
    pub utilization: Option<Slots>,
}

impl Entity {
    /// The series with a key.
    #[must_use]
    pub fn track(&self, key: impl Into<SeriesKey>) -> Option<&Track> {
        let key = key.into();
        let at = self
            .tracks
            .binary_search_by(|(have, _)| have.cmp(&key))
            .ok()?;
        Some(&self.tracks[at].1)
    }

    /// All series of a signal, one a part, in the order of the parts.
    pub fn parts(&self, signal: Signal) -> impl Iterator<Item = (Part, &Track)> {
        let start = self.tracks.partition_point(|(key, _)| key.signal < signal);
        self.tracks[start..]
            .iter()
            .take_while(move |(key, _)| key.signal == signal)
            .map(|(key, track)| (key.part, track))
    }
}

/// One MIG instance of a board.
#[derive(Clone, Debug, PartialEq)]
pub struct Instance {
    /// Its id on the board.
    pub id: InstanceId,
    /// Its profile (`1g.10gb`).
    pub profile: Option<Arc<str>>,
    /// Its series.
    pub entity: Arc<Entity>,
}

/// Whether what is known of a board is the present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Readings arrive and move.
    Live,
    /// The newest reading is older than the stale limit.
    Stale {
        /// Time of the newest reading.
        since: Timestamp,
    },
    /// Readings arrive but repeat: energy stands still while power is drawn.
    Frozen {
        /// When the readings last moved.
        since: Timestamp,
    },
    /// Its target answers, and no longer names it.
    Vanished {
        /// When it was last named.
        since: Timestamp,
    },
}

/// What is known of a signal right now.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// A present value.
    Live(Point),
    /// A value that was true once.
    Stale(Point),
    /// Nothing: never 0, never healthy.
    Missing(MissingReason),
}

impl Reading {
    /// The present value, if there is one.
    #[must_use]
    pub fn live(self) -> Option<Point> {
        match self {
            Self::Live(point) => Some(point),
            Self::Stale(_) | Self::Missing(_) => None,
        }
    }
}

/// Why a signal has no reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum MissingReason {
    /// The exporter does not export it for this GPU.
    NotExported,
}

/// One board at the snapshot's moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Gpu {
    /// Its key.
    pub uuid: GpuUuid,
    /// Where it sits and what it is.
    pub identity: Arc<BoardIdentity>,
    /// Whether its readings are the present.
    pub liveness: Liveness,
    /// When a reading of it was last known to be live.
    pub live_at: Timestamp,
    /// The board's own series.
    pub board: Arc<Entity>,
    /// Its MIG instances, by id; empty without MIG.
    pub instances: Vec<Instance>,
    /// The board that sits at its PCI address now, if it was exchanged.
    pub replaced_by: Option<GpuUuid>,
    /// The moment that is judged.
    pub now: Timestamp,
    /// The shared thresholds.
    pub limits: Limits,
}

impl Gpu {
    /// What is known of a board's signal right now: decided here and nowhere else.
    #[must_use]
    pub fn reading(&self, key: impl Into<SeriesKey>) -> Reading {
        self.reading_of(&self.board, key)
    }

    /// What is known of an instance's (or the board's) signal right now.
    #[must_use]
    pub fn reading_of(&self, entity: &Entity, key: impl Into<SeriesKey>) -> Reading {
        let Some(track) = entity.track(key) else {
            return Reading::Missing(MissingReason::NotExported);
        };
        let last = track.last();
        if last.value == Track::ABSENT {
            return Reading::Missing(MissingReason::NotExported);
        }
        // A time that is far ahead is of another clock: nothing is known of its age.
        let age = self.now.duration_since(last.at).abs();
        let fresh = age <= self.limits.stale_after.get();
        if fresh && self.liveness == Liveness::Live {
            Reading::Live(last)
        } else {
            Reading::Stale(last)
        }
    }

    /// The present value of a board's signal.
    #[must_use]
    pub fn live(&self, key: impl Into<SeriesKey>) -> Option<Point> {
        self.reading(key).live()
    }

    /// Whether nothing about the board can be judged from its present readings.
    #[must_use]
    pub fn is_blind(&self) -> bool {
        self.liveness != Liveness::Live
    }

    /// In how many distinct collections of the exporter the board was read since a time. Scrapes
    /// in between repeat values; energy tells collections apart, else the time that passed does.
    #[must_use]
    pub fn collections_since(&self, from: Timestamp) -> usize {
        if let Some(track) = self.board.track(Signal::Energy) {
            let moved = |(before, after): &(Point, Point)| before.value != after.value;
            track.steps_since(from).filter(moved).count() + track.since(from).len().min(1)
        } else {
            let newest = self
                .entities()
                .filter_map(|(_, entity)| entity.last_seen)
                .max();
            let passed = newest.map_or(0, |newest| newest.duration_since(from).as_secs());
            let every = self.limits.collection_interval.get().as_secs().max(1);
            1 + usize::try_from(passed / every).unwrap_or(0)
        }
    }

    /// The board's entity and those of its instances.
    pub fn entities(&self) -> impl Iterator<Item = (Option<&Instance>, &Entity)> {
        std::iter::once((None, &*self.board)).chain(
            self.instances
                .iter()
                .map(|instance| (Some(instance), &*instance.entity)),
        )
    }

    /// The name of its node, or an empty text.
    #[must_use]
    pub fn node(&self) -> &str {
        self.identity.node.as_ref().map_or("", NodeName::as_str)
    }

    /// How people name it: `GPU 3 of gpu-node-01`, else by UUID.
    #[must_use]
    pub fn title(&self) -> String {
        match (self.identity.index, &self.identity.node) {
            (Some(index), Some(node)) => format!("GPU {index} of {node}"),
            (Some(index), None) => format!("GPU {index} ({})", self.uuid),
            (None, Some(node)) => format!("{} of {node}", self.uuid),
            (None, None) => self.uuid.to_string(),
        }
    }
}
