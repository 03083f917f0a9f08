//! What a rule says: findings, the evidence on both sides, and the keys of incidents.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Serialize, Serializer};

use crate::snapshot::{ClusterName, GpuUuid, NodeName, PodUid, SourceId};

/// The rules by their published ids. The order is that of the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RuleId {
    /// GPU-HEALTH-002.
    Health,
    /// GPU-FRESH-005.
    Fresh,
    /// GPU-THERM-006.
    Therm,
}

impl RuleId {
    /// The published id, a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Health => "GPU-HEALTH-002",
            Self::Fresh => "GPU-FRESH-005",
            Self::Therm => "GPU-THERM-006",
        }
    }
}

impl fmt::Display for RuleId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for RuleId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

/// How bad it is; ordered, the worst is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Worth knowing; nobody is woken.
    Info,
    /// A ticket.
    Warning,
    /// Capacity or data is at risk now.
    Critical,
}

impl Severity {
    /// Every severity, mildest first.
    pub const ALL: [Self; 3] = [Self::Info, Self::Warning, Self::Critical];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Critical => "critical",
        }
    }
}

/// How good the evidence is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// What would be needed to decide is missing.
    Inconclusive,
    /// Evidence speaks against it as well.
    Contradicted,
    /// One kind of evidence, or evidence of unknown age.
    Moderate,
    /// Independent or direct evidence.
    Strong,
}

impl Grade {
    /// Every grade, weakest first.
    pub const ALL: [Self; 4] = [
        Self::Inconclusive,
        Self::Contradicted,
        Self::Moderate,
        Self::Strong,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Inconclusive => "inconclusive",
            Self::Contradicted => "contradicted",
            Self::Moderate => "moderate",
            Self::Strong => "strong",
        }
    }
}

/// Declares the closed vocabulary of causes with the rule each belongs to.
macro_rules! causes {
    ($( $(#[$doc:meta])* $variant:ident $rule:ident $label:literal )*) => {
        /// What a finding is about: a closed vocabulary per rule.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Cause {
            /// HEALTH: an XID, by its code.
            Xid(u16),
            $( $(#[$doc])* $variant, )*
        }

        impl Cause {
            /// Every cause but the XIDs, which are one a code.
            pub const NAMED: &'static [Self] = &[$( Self::$variant, )*];

            /// The label value: `xid_79`, `row_remap_failure` …
            #[must_use]
            pub fn as_str(self) -> Cow<'static, str> {
                match self {
                    Self::Xid(code) => Cow::Owned(format!("xid_{code}")),
                    $( Self::$variant => Cow::Borrowed($label), )*
                }
            }

            /// The rule whose vocabulary it belongs to.
            #[must_use]
            pub const fn rule(self) -> RuleId {
                match self {
                    Self::Xid(_) => RuleId::Health,
                    $( Self::$variant => RuleId::$rule, )*
                }
            }
        }
    };
}

causes! {
    /// A memory row could not be remapped.
    RowRemapFailure Health "row_remap_failure"
    /// A row remap waits for a reset.
    RowRemapPending Health "row_remap_pending"
    /// Uncorrectable memory errors.
    EccDoubleBit Health "ecc_double_bit"
    /// Corrected memory errors far above the fleet's rate.
    EccSingleBitRate Health "ecc_single_bit_rate"
    /// NVLink errors or a lost link.
    Nvlink Health "nvlink"
    /// PCIe packets sent again more often than the link allows.
    PcieReplay Health "pcie_replay"
    /// Fewer GPUs allocatable than the node has.
    AllocatableDrop Health "allocatable_drop"
    /// Counts of GPUs that should agree do not.
    GpuCountMismatch Health "gpu_count_mismatch"
    /// The device plugin withholds every GPU of a node.
    DevicePluginDown Health "device_plugin_down"
    /// A node condition reports a GPU problem.
    NodeCondition Health "node_condition"
    /// DCGM's own health check.
    DcgmHealth Health "dcgm_health"
    /// A target does not answer.
    TargetUnreachable Fresh "target_unreachable"
    /// Readings are old.
    TelemetryStale Fresh "telemetry_stale"
    /// Readings repeat.
    TelemetryFrozen Fresh "telemetry_frozen"
    /// A target answers without a GPU.
    TargetEmpty Fresh "target_empty"
    /// A board is gone while its target answers.
    GpuVanished Fresh "gpu_vanished"
    /// A node offers GPUs and no target covers it.
    NodeWithoutTelemetry Fresh "node_without_telemetry"
    /// GPUs are allocated, series name no pod.
    PodsUnlabelled Fresh "pods_unlabelled"
    /// Series name a pod that is elsewhere or gone.
    LabelsDisagree Fresh "labels_disagree"
    /// Signals of one GPU contradict each other.
    SignalDisagreement Fresh "signal_disagreement"
    /// The Kubernetes API's word is old.
    KubernetesStale Fresh "kubernetes_stale"
    /// The Kubernetes API refuses a list.
    KubernetesForbidden Fresh "kubernetes_forbidden"
    /// Much of the fleet is blind at once.
    FleetBlind Fresh "fleet_blind"
    /// The core is close to or at its limit.
    CoreTemperature Therm "core_temperature"
    /// The memory is close to or at its limit.
    MemoryTemperature Therm "memory_temperature"
    /// Clocks are held down by temperature.
    ThermalThrottle Therm "thermal_throttle"
    /// The power brake holds clocks down.
    PowerBrake Therm "power_brake"
    /// The framebuffer is nearly full.
    MemoryPressure Therm "memory_pressure"
}

impl Serialize for Cause {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.as_str())
    }
}

/// What a judgement is about. Two are the same if they have the same identity: a target its URL,
/// a GPU its UUID, a pod its UID. Where it is (its node, its names) belongs to it and is shown, but
/// may be learned later or change, and makes no other subject of it.
#[derive(Clone, Debug)]
pub enum Subject {
    /// The cluster as a whole.
    Cluster,
    /// A source.
    Source(SourceId),
    /// One endpoint of a source.
    Target {
        /// The node it tells about, where known.
        node: Option<NodeName>,
        /// Its URL.
        url: Arc<str>,
    },
    /// A node.
    Node(NodeName),
    /// A board.
    Gpu {
        /// The node it sits on, where known.
        node: Option<NodeName>,
        /// Its UUID.
        uuid: GpuUuid,
    },
    /// A pod.
    Pod {
        /// Its UID.
        uid: PodUid,
        /// Namespace.
        namespace: Arc<str>,
        /// Name.
        pod: Arc<str>,
        /// Owner kind/name.
        workload: Arc<str>,
    },
}

/// The label values by which a subject is found; empty where one does not apply.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place<'a> {
    /// Namespace of the workload.
    pub namespace: &'a str,
    /// Owner kind/name.
    pub workload: &'a str,
    /// Pod.
    pub pod: &'a str,
    /// Container.
    pub container: &'a str,
    /// Node.
    pub node: &'a str,
    /// GPU.
    pub uuid: &'a str,
}

impl Subject {
    /// The subject's label values.
    #[must_use]
    pub fn place(&self) -> Place<'_> {
        let empty = Place::default();
        match self {
            Self::Cluster | Self::Source(_) => empty,
            Self::Target { node, .. } => Place {
                node: node.as_ref().map_or("", NodeName::as_str),
                ..empty
            },
            Self::Node(node) => Place {
                node: node.as_str(),
                ..empty
            },
            Self::Gpu { node, uuid } => Place {
                node: node.as_ref().map_or("", NodeName::as_str),
                uuid: uuid.as_str(),
                ..empty
            },
            Self::Pod {
                namespace,
                pod,
                workload,
                ..
            } => Place {
                namespace,
                workload,
                pod,
                ..empty
            },
        }
    }

    /// What makes it the same subject: its kind, and a text that is unique within it.
    fn identity(&self) -> (&'static str, &str) {
        match self {
            Self::Cluster => ("cluster", ""),
            Self::Source(source) => ("source", source.as_str()),
            Self::Target { url, .. } => ("target", url),
            Self::Node(node) => ("node", node.as_str()),
            Self::Gpu { uuid, .. } => ("gpu", uuid.as_str()),
            Self::Pod { uid, .. } => ("pod", uid.as_str()),
        }
    }
}

impl PartialEq for Subject {
    fn eq(&self, other: &Self) -> bool {
        self.identity() == other.identity()
    }
}

impl Eq for Subject {}

impl PartialOrd for Subject {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Subject {
    fn cmp(&self, other: &Self) -> Ordering {
        self.identity().cmp(&other.identity())
    }
}

impl Hash for Subject {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.identity().hash(state);
    }
}

/// The identity of an incident: rule, subject and, where one subject can have several
/// incidents of a rule at once, the aspect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// The rule.
    pub rule: RuleId,
    /// The subject.
    pub subject: Subject,
    /// The aspect: FRESH's cause.
    pub aspect: Option<Cause>,
}

impl Key {
    /// 12 hex digits that stand for the incident in labels and links: the same in every
    /// replica and after every restart.
    #[must_use]
    pub fn incident_id(&self, cluster: &ClusterName) -> IncidentId {
        let aspect = self.aspect.map_or(Cow::Borrowed(""), Cause::as_str);
        let (kind, name) = self.subject.identity();
        let text = format!("{cluster}\0{}\0{kind}\0{name}\0{aspect}", self.rule);
        // FNV-1a with a final mix: 48 bits keep 10,000 incidents apart with room to spare, and
        // the constants are fixed for ever, unlike the standard library's hasher.
        let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
        for byte in text.bytes() {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        hash = (hash ^ (hash >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        hash ^= hash >> 32;
        IncidentId(hash & 0xffff_ffff_ffff)
    }
}

/// The stable name of an incident.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IncidentId(pub u64);

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:012x}", self.0)
    }
}

impl fmt::Debug for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for IncidentId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Something observed, with its value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fact {
    /// What, in a few words.
    pub name: Cow<'static, str>,
    /// The value as people read it, with its unit.
    pub value: String,
    /// Where it comes from: a signal's, label's or field's name.
    pub source: Cow<'static, str>,
    /// When it was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// A sentence of evidence.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Evidence {
    /// The sentence.
    pub text: String,
    /// Where it comes from.
    pub source: Cow<'static, str>,
    /// When it was observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl Evidence {
    /// Evidence observed at a time.
    #[must_use]
    pub fn at(
        text: impl Into<String>,
        source: impl Into<Cow<'static, str>>,
        at: Timestamp,
    ) -> Self {
        Self {
            text: text.into(),
            source: source.into(),
            at: Some(at),
        }
    }

    /// Evidence without a time of its own: above all what is missing.
    #[must_use]
    pub fn of(text: impl Into<String>, source: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: text.into(),
            source: source.into(),
            at: None,
        }
    }
}

/// A step of the checklist: looks, never changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// What to look at and why.
    pub text: String,
    /// A read-only command, ready to paste.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}

/// What a rule found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// What it is about.
    pub cause: Cause,
    /// How bad.
    pub severity: Severity,
    /// How good the evidence.
    pub grade: Grade,
    /// One line for people. "Consistent with", never "caused by".
    pub summary: String,
    /// Time of the first evidence, no later than the first cycle that saw it; earlier evidence may
    /// have left the look-back.
    pub started: Timestamp,
    /// DCGM's index of the GPU at present, for dashboards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gpu: Option<u32>,
    /// What was observed.
    pub facts: Vec<Fact>,
    /// What speaks for it.
    pub supporting: Vec<Evidence>,
    /// What speaks against it.
    pub contradicting: Vec<Evidence>,
    /// What would help to decide and is not there.
    pub missing: Vec<Evidence>,
    /// What happened when, oldest first.
    pub timeline: Vec<Evidence>,
    /// What to look at.
    pub checklist: Vec<Step>,
}

/// Why a subject could not be decided; a closed set (a metric label).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// Its telemetry is stale, frozen, gone or unreachable.
    Blind,
    /// The signals that would decide are not exported.
    NotExported,
    /// Too little was seen yet.
    TooFewSamples,
    /// The inventory is incomplete.
    InventoryIncomplete,
    /// Several pods share the GPU.
    Shared,
    /// It ended before our history began.
    BeforeHistory,
    /// The rule failed on this snapshot.
    RuleFailed,
    /// Sources are still being read for the first time.
    WarmUp,
}

impl Reason {
    /// Every reason.
    pub const ALL: [Self; 8] = [
        Self::Blind,
        Self::NotExported,
        Self::TooFewSamples,
        Self::InventoryIncomplete,
        Self::Shared,
        Self::BeforeHistory,
        Self::RuleFailed,
        Self::WarmUp,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Blind => "blind",
            Self::NotExported => "not_exported",
            Self::TooFewSamples => "too_few_samples",
            Self::InventoryIncomplete => "inventory_incomplete",
            Self::Shared => "shared",
            Self::BeforeHistory => "before_history",
            Self::RuleFailed => "rule_failed",
            Self::WarmUp => "warm_up",
        }
    }
}

/// What a rule says about one subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Judgement {
    /// Whom it is about.
    pub key: Key,
    /// How long `Clear` must last before the incident is resolved.
    pub clear_hold: SignedDuration,
    /// What it says.
    pub verdict: Verdict,
}

/// The verdict on one subject. Only [`Verdict::Clear`] can resolve anything.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// There is something.
    Fires(Box<Finding>),
    /// Between the thresholds for entering and leaving: keeps what is open, opens nothing.
    Holds,
    /// Looked at, and nothing is there.
    Clear,
    /// What was found is over by its age, not by recovery.
    Expired,
    /// The subject became part of others.
    Merged(Vec<Key>),
    /// It cannot be decided.
    Undecided(Reason),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incident_ids_never_change() {
        let key = Key {
            rule: RuleId::Health,
            subject: Subject::Gpu {
                node: Some("n1".into()),
                uuid: "GPU-1".into(),
            },
            aspect: None,
        };
        // Alerts, links and stores of earlier versions hold these digits.
        assert_eq!(key.incident_id(&"prod".into()).to_string(), "a7a4ffe23683");
    }

    #[test]
    fn causes_have_distinct_labels() {
        let labels: std::collections::BTreeSet<_> =
            Cause::NAMED.iter().map(|c| c.as_str()).collect();
        assert_eq!(labels.len(), Cause::NAMED.len());
        assert_eq!(Cause::Xid(79).as_str(), "xid_79");
    }
}
