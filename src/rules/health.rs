//! GPU-HEALTH-002: hardware fault or degradation.
//!
//! # Detects
//!
//! A GPU that shows signs of a hardware fault or of degradation, and a node that offers fewer GPUs
//! than it has. One finding for each GPU, named by its worst cause, with the others as support.
//! Signs of a node (allocatable, counts, conditions) join the finding of a GPU where exactly one of
//! the node's GPUs can explain them; else they make a finding of the node.
//!
//! # Needs
//!
//! `DCGM_FI_DEV_XID_ERRORS`, row-remap, ECC, PCIe replay and NVLink error fields; better with
//! `DCGM_EXP_XID_ERRORS_COUNT`, `DCGM_EXP_GPU_HEALTH_STATUS`, `DCGM_EXP_P2P_STATUS` and
//! `DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION`. The exporter's default counter file has XID, PCIe replay,
//! remapped rows and remap failure only; each finding names what is missing. Nodes from the
//! Kubernetes API; without Kubernetes the comparisons of nodes are left out.
//!
//! # Condition
//!
//! | cause | critical | warning |
//! | --- | --- | --- |
//! | `xid_N` | catalogue severity critical | high, warning, uncatalogued (others are info) |
//! | `row_remap_failure` | failure = 1 | |
//! | `row_remap_pending` | | pending = 1, a new uncorrectable remap, page retirement pending |
//! | `ecc_double_bit` | volatile count above 0 | the board's lifetime count grew |
//! | `ecc_single_bit_rate` | | far above the fleet's median and above a floor |
//! | `nvlink` | a path that was up goes down; fatal NVLink event | CRC errors a second; a replay or recovery; event that asks for recovery |
//! | `pcie_replay` | | more replays a minute than the link's permitted error rate explains |
//! | `allocatable_drop`, `gpu_count_mismatch` | lasting, outside planned work | after the hold |
//! | `device_plugin_down` | lasting | every GPU withheld at once, or GPU labels without the resource, and no sign on any GPU |
//! | `node_condition` | | a GPU condition reports a problem, with a heartbeat younger than 3 periods |
//! | `dcgm_health` | FAIL | WARN |
//!
//! The XID gauge is sticky: only a change to a code is an event, with the time of the reading before
//! it. A code that is there at first sight has unknown age and is at most a moderate warning, unless
//! the node lacks a GPU or the GPU itself is gone. A family that is absent on a live GPU and then has
//! a code is a dated event. The same code after a silence is a new event only if the node booted or
//! the energy counter started anew meanwhile. The counting families reveal repeats and codes that
//! were overwritten. One code on all MIG instances at one time is one event of the board. Counters
//! count by their growth; what they show at first sight is history. Pieces of a resource at 0 of 0
//! are not offered, which is no fault.
//!
//! # Clears
//!
//! Codes whose remedy is a reset: when the node booted, the energy counter started anew or the gauge
//! went back to 0, and the GPU reports since (an absent family is not 0); without that they expire.
//! A counter started anew once the collection after its fall confirms it; one reading that is taken
//! back is neither a reset nor growth. A gauge that is 0 after a silence is no reset by itself.
//! Other codes: some time after the event. Levels and counters: when they are live and quiet. *Clear*
//! needs a live GPU whose health signals, as far as it ever had them and as far as its siblings on
//! the same exporter have them, are all there. A loss of telemetry never ends a finding: what was
//! seen stays seen. An XID family that disappeared closes its findings as expired, never as resolved:
//! after an hour, and a code whose remedy is a reset after a week. A level or counter that told of
//! trouble when its series ended stays undecided for as long as the board is known.
//!
//! # Not reported when
//!
//! The signal is not exported; the board was exchanged; the node's list is incomplete (undecided).
//! Counts are not compared with capacity under MIG, sharing by replicas or DRA. During planned work
//! (cordon, autoscaler or Karpenter disruption, paused GPU operator components, MIG reconfiguration, a
//! node that just joined) lost capacity is info for a while; XID, ECC and remaps never are. A lost
//! NVLink path to a GPU that is itself in trouble is info.
//!
//! # Evidence
//!
//! Strong: a dated XID of a hardware class, a level that says it by itself, or signs of independent
//! kinds. Moderate: one sign, or unknown age. Contradicted: codes of programs seen on several GPUs,
//! capacity that is withheld while every board reports without a fault, a link whose other end is in
//! trouble. Inconclusive: 43 or 45 alone, as an earlier code may be hidden. DCGM's own check reads the
//! same fields and is no independent witness. Power, PCIe, heat and board are never told apart.
//!
//! # Severity
//!
//! As in the table; the worst sign decides. Codes whose catalogue entry asks for agreement (109, 144 to
//! 150 …) are at most a warning without a repeat, XID 154, a recovery action or lost capacity. Codes of
//! programs (13, 31 …) are info, and a warning when they repeat on one GPU under different jobs and
//! on no other GPU. `xid_severity` overrides single codes.
//!
//! # What to look at
//!
//! The node's status and events, the device plugin's log, the kernel log, ECC and remap state, link
//! state: each finding lists read-only commands.
//!
//! # References
//!
//! NVIDIA's XID catalogue and GPU memory error management guide; DCGM's health checks (replay and CRC
//! limits); NVIDIA's device plugin (`internal/rm/health.go`); conditions of AKS, EKS, GKE, OKE and
//! NVSentinel.

mod assemble;
mod capacity;
mod code;
mod condition;
mod count;
mod dcgm;
mod export;
mod fleet;
mod join;
mod links;
mod memory;
mod node;
mod severity;
mod sign;
#[cfg(test)]
mod tests;
mod xid;

use std::collections::{BTreeMap, BTreeSet};

use super::{Count, Rate, Ratio, Rule};
use crate::finding::{Judgement, Key, Reason, RuleId, Subject, Verdict};
use crate::rules::threshold::thresholds;
use crate::snapshot::{ClusterSnapshot, Signal, Span, Threshold};
use assemble::{Place, finding};
use export::Export;
use fleet::Fleet;
pub use severity::XidSeverity;
use sign::Found;

thresholds! {
    /// How long a quiet GPU or node must stay quiet before its incident is resolved.
    clear_hold: Span = Span::minutes(2), "longer than a scrape and a collection together";
    /// How long capacity must be short, or counts differ, before it is a finding.
    hold: Span = Span::minutes(2), "a kubelet or plugin restart is over by then";
    /// How long capacity must be short, or counts differ, to be critical outside planned work.
    capacity_critical_after: Span = Span::minutes(5), "kubelet's grace for a stopped plugin";
    /// How long every GPU of a node must be withheld to be critical.
    plugin_critical_after: Span = Span::minutes(10), "a rollout of the plugin is over by then";
    /// How long a GPU must be unnamed, while its target answers, for its XIDs to be taken at full weight.
    vanished_after: Span = Span::seconds(90), "as long as telemetry waits before it calls a GPU vanished";
    /// How long an XID counts that asks for no reset, and how long an XID family may be gone.
    xid_clear_after: Span = Span::minutes(60), "an hour of work without another";
    /// How long an XID that asks for a reset counts without one.
    xid_expire_after: Span = Span::minutes(7 * 24 * 60), "a week";
    /// How often a program's code must be seen on one GPU, under different jobs, to be a warning.
    xid_repeats: Count = Count::new(2.0), "NVIDIA's workflow for 13 and 31";
    /// Severities of single codes that differ from the catalogue's.
    xid_severity: XidSeverity = XidSeverity::default(), "NVIDIA's XID catalogue";
    /// How long a new uncorrectable error or remap of the board's life is reported.
    memory_growth_window: Span = Span::minutes(60), "as long as an XID that asks for no reset";
    /// Corrected memory errors: multiple of the fleet's median.
    ecc_single_bit_factor: Count = Count::new(100.0), "no authority sets one; far outside the fleet";
    /// Corrected memory errors a minute that are never worth a finding.
    ecc_single_bit_per_minute: Rate = Rate::new(1.0), "single corrected errors are normal";
    /// Over which time corrected memory errors are counted.
    ecc_single_bit_window: Span = Span::minutes(10), "20 collections";
    /// GPUs that must export corrected errors before they are compared.
    ecc_single_bit_boards: Count = Count::new(3.0), "fewer have no median";
    /// Over which time CRC errors and PCIe replays are counted.
    rate_window: Span = Span::minutes(5), "DCGM looks at one minute, which over-alerts";
    /// NVLink CRC errors a second, of one kind, over all links.
    nvlink_crc_per_second: Rate = Rate::new(100.0), "DCGM's health check fails there";
    /// NVLink replays or recoveries inside their window.
    nvlink_events: Count = Count::new(1.0), "DCGM's health check fails at the first";
    /// Over which time NVLink replays and recoveries are counted.
    nvlink_event_window: Span = Span::minutes(10), "two of DCGM's usual looks";
    /// PCIe replays a minute that a link of an unknown product may show.
    pcie_replays_per_minute: Rate = Rate::new(8.0), "PCIe 3 at x16, the slowest in use";
    /// Share of a rate's threshold at or below which it is quiet again.
    leave_ratio: Ratio = Ratio::new(0.5), "keeps a rate at its threshold from flapping";
    /// How many heartbeat periods a node condition may be old.
    heartbeat_periods: Count = Count::new(3.0), "conditions outlive the agents that set them";
}

/// The rule.
pub struct Health {
    thresholds: Thresholds,
}

impl Health {
    /// The rule with its thresholds.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }

    fn judgement(&self, subject: Subject, verdict: Verdict) -> Judgement {
        Judgement {
            key: key(subject),
            clear_hold: self.thresholds.clear_hold.get(),
            verdict,
        }
    }
}

/// A margin so that a window has a point at or before its beginning.
const MARGIN: i64 = 60;

impl Rule for Health {
    fn needs(&self) -> Vec<(Signal, Span)> {
        let t = &self.thresholds;
        let longer = |span: Span| Span::seconds(span.get().as_secs() + MARGIN);
        let none = Span::seconds(0);
        vec![
            (Signal::Xid, longer(t.nvlink_event_window)),
            (Signal::XidWindowCount, longer(t.nvlink_event_window)),
            (Signal::XidTotal, none),
            (Signal::Energy, none),
            (Signal::PowerUsage, none),
            (
                Signal::EccSingleBitVolatile,
                longer(t.ecc_single_bit_window),
            ),
            (
                Signal::EccSingleBitAggregate,
                longer(t.ecc_single_bit_window),
            ),
            (Signal::EccDoubleBitVolatile, none),
            (Signal::EccDoubleBitAggregate, none),
            (Signal::RetiredPagesPending, none),
            (Signal::RowRemapUncorrectable, none),
            (Signal::RowRemapFailure, none),
            (Signal::RowRemapPending, none),
            (Signal::PcieReplay, longer(t.rate_window)),
            (Signal::NvlinkCrcFlit, longer(t.rate_window)),
            (Signal::NvlinkCrcData, longer(t.rate_window)),
            (Signal::NvlinkReplay, longer(t.nvlink_event_window)),
            (Signal::NvlinkRecovery, longer(t.nvlink_event_window)),
            (Signal::NvlinkFault, none),
            (Signal::P2pStatus, longer(t.nvlink_event_window)),
            (Signal::HealthStatus, none),
            (Signal::RecoveryAction, none),
        ]
    }

    fn judge(&self, snapshot: &ClusterSnapshot) -> Vec<Judgement> {
        let fleet = Fleet::new(snapshot, &self.thresholds);
        let mut founds: Vec<Found> = (0..snapshot.gpus.len())
            .map(|at| board(&fleet, at, false))
            .collect();
        let mut judgements = Vec::new();
        let mut found_on = BTreeSet::new();
        let mut doubted = BTreeMap::new();
        if node::has_kubernetes(&fleet) {
            for name in node::names(&fleet) {
                let verdict = join::node_verdict(&fleet, &name, &mut founds, &mut doubted);
                if matches!(verdict, Verdict::Fires(_)) {
                    found_on.insert(name.clone());
                }
                judgements.push(self.judgement(Subject::Node(name), verdict));
            }
        }
        for (at, found) in founds.into_iter().enumerate() {
            if !is_judged(&fleet, at) {
                continue;
            }
            let gpu = &snapshot.gpus[at];
            let mut verdict = board_verdict(&fleet, at, found);
            let node = gpu.identity.node.clone();
            if matches!(verdict, Verdict::Clear | Verdict::Expired) {
                if let Some(reason) = doubted.get(&at) {
                    verdict = Verdict::Undecided(*reason);
                } else if let Some(name) = node.as_ref().filter(|name| found_on.contains(*name))
                    && !fleet.events[at].is_empty()
                {
                    // What was left of its incident is the node's now.
                    verdict = Verdict::Merged(vec![key(Subject::Node(name.clone()))]);
                }
            }
            let uuid = gpu.uuid.clone();
            judgements.push(self.judgement(Subject::Gpu { node, uuid }, verdict));
        }
        judgements.sort_by(|a, b| a.key.cmp(&b.key));
        judgements
    }

    fn thresholds(&self) -> Vec<Threshold> {
        self.thresholds.describe()
    }
}

fn key(subject: Subject) -> Key {
    Key {
        rule: RuleId::Health,
        subject,
        aspect: None,
    }
}

/// Whether a board is still a subject: not once another sits in its place, nor when it is silent
/// and a complete list no longer has its node. Its incidents then end as those of a subject that
/// is gone.
fn is_judged(fleet: &Fleet<'_>, at: usize) -> bool {
    let gpu = &fleet.snapshot.gpus[at];
    let node_is_gone = gpu.identity.node.as_ref().is_some_and(|node| {
        node::is_complete(fleet) && !fleet.snapshot.inventory.nodes.contains_key(node)
    });
    gpu.replaced_by.is_none() && !(node_is_gone && gpu.is_blind())
}

/// Everything that a board shows by itself. `capacity_lost`: its node lacks a GPU, and this is it.
fn board(fleet: &Fleet<'_>, at: usize, capacity_lost: bool) -> Found {
    let gpu = &fleet.snapshot.gpus[at];
    let mut found = Found::default();
    if !fleet.snapshot.warm {
        return found;
    }
    code::look(fleet, at, capacity_lost, &mut found);
    memory::look(fleet, gpu, &mut found);
    links::look(fleet, gpu, &mut found);
    dcgm::look(fleet, at, &mut found);
    found
}

fn board_verdict(fleet: &Fleet<'_>, at: usize, mut found: Found) -> Verdict {
    let gpu = &fleet.snapshot.gpus[at];
    if !fleet.snapshot.warm {
        return Verdict::Undecided(Reason::WarmUp);
    }
    let holds = found.holds;
    if !found.signs.is_empty() {
        found.missing.extend(export::missing(gpu));
    }
    let place = Place {
        title: gpu.title(),
        kubernetes_node: Some(gpu.node())
            .filter(|node| fleet.snapshot.has_kubernetes() && !node.is_empty()),
        gpu: Some(gpu),
    };
    if let Some(finding) = finding(&place, found) {
        return Verdict::Fires(Box::new(finding));
    }
    if gpu.is_blind() {
        return Verdict::Undecided(Reason::Blind);
    }
    if holds {
        return Verdict::Holds;
    }
    match export::state(fleet, at) {
        Export::Lost | Export::Nothing => Verdict::Undecided(Reason::NotExported),
        Export::LongLost => Verdict::Expired,
        Export::Whole if code::has_expired(fleet, at) => Verdict::Expired,
        Export::Whole => Verdict::Clear,
    }
}
