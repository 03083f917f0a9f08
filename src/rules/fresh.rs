//! GPU-FRESH-005: telemetry is unavailable, stale or cannot be tied to its pods.
//!
//! # Detects
//! A dashboard that is green because the readings stopped: targets that do not answer or answer
//! without a GPU, boards that disappeared, readings that are old or repeat, nodes that no target
//! covers, series that name no pod or the wrong one, signals that contradict each other, and sources
//! that are gone. The subject is a target, node, GPU (board), source or the cluster; one subject can
//! have several incidents at once, one a cause.
//!
//! # Needs
//! State of every target and source; times of all readings; `power_watts` and `energy_joules` (is the
//! exporter frozen?); `gpu_utilization_ratio` and `graphics_engine_active_ratio` (do they agree?);
//! `xid` (fault first, then silence); with Kubernetes nodes and pods. Without Kubernetes nodes and
//! pods are not compared at all.
//!
//! # Condition
//! | cause | when |
//! | --- | --- |
//! | `target_unreachable` | the last attempt failed and none succeeded for 3 intervals and at least 90 s (a target that never answered: since it became one); 10 min in a rollout, 15 min on a node younger than 20 min. Every target at once: one finding for the source |
//! | `target_empty` | it answers without a GPU for more than 60 s |
//! | `gpu_vanished` | a board is no longer named for 90 s while its target answers; per board, never per MIG instance |
//! | `telemetry_frozen` | energy stands still for more than 180 s while power is drawn; or power stands still for more than 10 min at a value that the growth of energy contradicts |
//! | `telemetry_stale` | the newest reading is older than 180 s |
//! | `node_without_telemetry` | a node offers GPUs and no target covers it, 10 min (15 min on a new node) |
//! | `pods_unlabelled` | running pods hold GPUs of the node and no series of the node names a pod, 10 min |
//! | `labels_disagree` | series name a pod that is on another node, finished, replaced or deleted, 45 min (labels outlive a pod by about 30 min) |
//! | `signal_disagreement` | 10 min of `GPU_UTIL` ≥ 90 % with an idle graphics engine or of `GPU_UTIL` 0 with an engine busy ≥ 50 %; or the engine's series stopped 10 min ago while `GPU_UTIL` goes on |
//! | `kubernetes_forbidden` | the API refuses a list (401, 403) |
//! | `kubernetes_stale` | a list is older than 5 min, or was never had |
//! | `fleet_blind` | at least 20 % of the GPUs on at least 3 nodes are blind for 10 min |
//!
//! For one GPU or node the first that holds stands alone, in this order: `target_unreachable` (or
//! `node_without_telemetry`), `target_empty`, `gpu_vanished`, `telemetry_frozen`, `telemetry_stale`;
//! the others are merged into it. Where all GPUs of a node are stale or frozen there is one finding
//! for the node (of the target, where the node is not known); when some recover, it splits again.
//!
//! # Clears
//! After 2 min of present proof: an answer, a live reading, energy that moves, a board that is named
//! again, a target on the node, a complete pod list that agrees with the labels, fresh lists. What
//! only became unknown is never clear. A profiling series that stopped expires with the board's memory
//! (24 h), because a changed counter list looks the same.
//!
//! # Not reported when
//! - GPUs of the node are shared (time-slicing, MPS): missing pod labels are undecided there.
//! - a target is down but inside its hold: its GPUs' staleness waits with it.
//! - a node that offers GPUs lost its target: its GPUs' staleness waits for `node_without_telemetry`.
//! - a value merely stays the same: an idle GPU's 0 % is no freeze, and without energy nothing is
//!   called frozen.
//! - the end of a pod is not known: how long its label has been wrong is then undecided.
//! - until every source was tried once: only sources and targets are judged.
//! - there is no GPU node and no target: an idle cluster is healthy.
//!
//! # Evidence
//! Last answer, error and what to do about its kind; age of the newest reading; the last XID, because
//! on a fatal one DCGM stops asking the driver and all series of its engine end while the exporter
//! answers 200; siblings that are live; the node's `Ready` condition; rollouts and planned work.
//! Exporters before 4.4.2-4.7.0 hide free GPUs in DRA and virtual-GPU mode: said where it may apply.
//!
//! # Severity
//! Warning. Critical: `fleet_blind`, and a source that is gone (every target unreachable, no word
//! from the Kubernetes API). Info for the first 60 min where work on the node is planned (cordoned, about to be
//! removed, driver or MIG change, younger than 20 min); of a source that is gone, on the nodes of all
//! its targets.
//!
//! # What to look at
//! The target itself with curl, the exporter's pod and its log, the node's conditions. `/health`
//! proves nothing: it answers 200 without a GPU, and 200 "KO" in exporters 4.0 to 4.7.1.
//!
//! # References
//! dcgm-exporter issues 96, 140, 151, 164, 272, 342, 569, 635, 646, 662, 728; DCGM issue 202;
//! gpu-monitoring-tools issue 188.

mod board_findings;
mod boards;
mod fleet;
mod labels;
mod nodes;
mod pods;
mod remedy;
mod scene;
mod signals;
mod sources;
mod target;
mod target_findings;
#[cfg(test)]
mod tests;

use super::{Count, Ratio, Rule};
use crate::finding::{Cause, Judgement, Reason, Verdict};
use crate::rules::threshold::thresholds;
use crate::snapshot::{ClusterSnapshot, Signal, Span, Threshold};
use scene::Scene;

thresholds! {
    /// Failed scrapes in a row before a target counts as unreachable
    unreachable_scrapes: Count = Count::new(3.0), "one or two lost scrapes are normal; Prometheus' own habit";
    /// Shortest time without an answer before a target counts as unreachable
    unreachable_after: Span = Span::seconds(90), "three of dcgm-exporter's default collections of 30 s";
    /// Shortest time without an answer while the exporter is being rolled out, or without a target on a node, before it counts
    rollout_hold: Span = Span::minutes(10), "image pull and DCGM start on GPU nodes take minutes";
    /// Shortest time without an answer or a target on a node younger than `limits.young_node` before it counts
    new_node_hold: Span = Span::minutes(15), "the GPU operator installs the driver first";
    /// How long a target may answer without a GPU
    empty_after: Span = Span::seconds(60), "exporters up to 3.3.9 answer empty for the first 30 s, later ones for 2-3 s at a reload";
    /// How long a board may go unnamed while its target answers
    vanished_after: Span = Span::seconds(90), "three collections of 30 s: one that failed for a board is no loss";
    /// How long power may stand still while energy tells of another power
    frozen_family_after: Span = Span::minutes(10), "twenty collections of 30 s with the same milliwatts";
    /// How long all series of a node may name no pod while pods hold its GPUs
    unlabelled_after: Span = Span::minutes(10), "twice the gap of 5 min seen in dcgm-exporter issue 342";
    /// How long series may name the wrong pod
    labels_disagree_after: Span = Span::minutes(45), "labels outlive a finished pod by about 30 min (dcgm-exporter issue 140)";
    /// How long signals must contradict each other
    disagreement_after: Span = Span::minutes(10), "they are sampled over different windows; twenty collections are no chance";
    /// Age at which a Kubernetes list is stale
    kubernetes_stale_after: Span = Span::minutes(5), "a watch tells something about once a minute, and is made anew within two";
    /// Share of all GPUs that must be blind at once
    fleet_share: Ratio = Ratio::new(0.2), "above what one rack or one rolling update takes";
    /// Nodes that must have blind GPUs at once
    fleet_nodes: Count = Count::new(3.0), "one or two nodes are their own findings";
    /// How long so many GPUs must be blind at once
    fleet_after: Span = Span::minutes(10), "the hold of a rollout";
    /// How long proof must last before an incident is resolved
    clear_hold: Span = Span::minutes(2), "four collections of 30 s";
}

/// The rule.
pub struct Fresh {
    thresholds: Thresholds,
}

impl Fresh {
    /// The rule with its thresholds.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }
}

impl Rule for Fresh {
    fn needs(&self) -> Vec<(Signal, Span)> {
        // A little more than the hold, so that a run as long as the hold is still there as a whole.
        let longer = |hold: Span| Span::seconds(hold.get().as_secs() + 120);
        let (frozen, agree) = (
            longer(self.thresholds.frozen_family_after),
            longer(self.thresholds.disagreement_after),
        );
        vec![
            (Signal::PowerUsage, frozen),
            (Signal::Energy, frozen),
            (Signal::GpuUtilization, agree),
            (Signal::GraphicsEngineActive, agree),
            (Signal::Xid, Span::seconds(0)),
        ]
    }

    fn judge(&self, snapshot: &ClusterSnapshot) -> Vec<Judgement> {
        let scene = Scene::new(snapshot, &self.thresholds);
        let mut judgements = sources::judge(&scene);
        judgements.extend(target::judge(&scene));
        judgements.extend(boards::judge(&scene));
        judgements.extend(nodes::judge(&scene));
        judgements.extend(pods::judge(&scene));
        judgements.extend(fleet::judge(&scene));
        if !snapshot.warm {
            for judgement in &mut judgements {
                if !judgement.key.aspect.is_some_and(judged_from_the_start) {
                    judgement.verdict = Verdict::Undecided(Reason::WarmUp);
                }
            }
        }
        judgements
    }

    fn thresholds(&self) -> Vec<Threshold> {
        self.thresholds.describe()
    }
}

/// The causes that are about sources themselves: they need no picture of the whole cluster.
fn judged_from_the_start(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::TargetUnreachable | Cause::KubernetesStale | Cause::KubernetesForbidden
    )
}
