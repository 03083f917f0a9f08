//! One node's samples end 14 minutes before the recording does, and a job dies in the silence;
//! on the other node the series no longer name a pod.
//!
//! The samples come through a relay that goes on answering and hands out what it last got, with
//! its time: the target is up, its readings are old.

use jiff::{SignedDuration, Timestamp};

use super::{NOW, before};
use crate::simulate::{Fault, Fleet, H100_SXM, Host, Load, Workload};
use crate::snapshot::Span;

pub(super) const STEM: &str = "scenario_6_stale_telemetry";

/// The first collection that is missing: the one before it, 840 s before the end, is the last.
const SILENT: Timestamp = before(840 - 30);

/// The job's end lies so that its whole look-around is over and reaches into the silence.
const DIED: Timestamp = before(7 * 60 + 30);

/// The exporter loses the kubelet's pod-resources socket.
const LABELS_LOST: Timestamp = before(36 * 60);

pub(super) fn fleet() -> Fleet {
    let hours = SignedDuration::from_hours;
    Fleet::new(STEM, NOW)
        .host(
            Host::new("gpu-node-01", &H100_SXM, 4).fault_of_all(LABELS_LOST, Fault::LosePodLabels),
        )
        .host(
            // On the half minute, so that one collection is 840 s old to the second.
            Host::new("gpu-node-02", &H100_SXM, 4)
                .sample_age(Span::seconds(30))
                .fault_of_all(SILENT, Fault::Stop),
        )
        .workload(rlhf("distributed-rlhf-worker-0", "gpu-node-01", &[0, 1]).created(NOW - hours(9)))
        .workload(
            rlhf("distributed-rlhf-worker-1", "gpu-node-02", &[0, 1, 2, 3])
                .created(NOW - hours(9))
                .ended(DIED, 1, "Error"),
        )
        .workload(
            Workload::running(
                "inference",
                "reward-model-serve-0",
                "gpu-node-01",
                &[2, 3],
                Load::serving(0.58),
            )
            .container("server")
            .owner("StatefulSet", "reward-model-serve"),
        )
}

fn rlhf(name: &str, node: &str, gpus: &[u32]) -> Workload {
    Workload::running("ml-research", name, node, gpus, Load::training(0.81))
        .container("trainer")
        .owner("PyTorchJob", "distributed-rlhf")
}
