//! One board with failing memory and a noisy NVLink, another that has lost its cooling.
//!
//! The exporters of this cluster run a custom counter file: ECC, NVLink errors, throttling and
//! limits do not exist on a default install. The job on the failing board lives on: its elastic
//! agent starts the worker process again inside the container, so no container ends.

use jiff::{SignedDuration, Timestamp};

use super::{NOW, before};
use crate::simulate::{Export, Fault, Fleet, H100_SXM, Host, Load, Workload};
use crate::snapshot::NodeCondition;

pub(super) const STEM: &str = "scenario_3_hardware_thermal";

/// Index of the board whose memory fails, and of the one that is hot, both on the first node.
const FAULTY: u32 = 1;
const HOT: u32 = 3;

/// Links grow noisy first; then XID 48 (double-bit error) with its counters, a collection later
/// the remap that fails, then the device plugin and the node problem detector react.
const LINK_NOISY: Timestamp = before(34 * 60);
const DOUBLE_BIT: Timestamp = before(31 * 60);
const REMAP_FAILED: Timestamp = before(30 * 60 + 30);
const WITHHELD: Timestamp = before(30 * 60 + 48);
const REPORTED: Timestamp = before(29 * 60 + 40);
const COOLING_LOST: Timestamp = before(18 * 60);

pub(super) fn fleet() -> Fleet {
    Fleet::new(STEM, NOW)
        .host(failing_host())
        .host(
            Host::new("gpu-node-02", &H100_SXM, 4)
                .export(Export::Extended)
                .condition(xid_condition("False", before(20 * 86_400), 95)),
        )
        .workload(
            training("moe-pretrain-worker-0", "gpu-node-01", &[0, FAULTY])
                .owner("PyTorchJob", "moe-pretrain"),
        )
        .workload(
            training("moe-pretrain-worker-1", "gpu-node-02", &[0, 1, 2, 3])
                .owner("PyTorchJob", "moe-pretrain"),
        )
        .workload(
            Workload::running(
                "inference",
                "vllm-mixtral-serve-0",
                "gpu-node-01",
                &[HOT],
                Load::serving(0.74),
            )
            .container("vllm")
            .owner("StatefulSet", "vllm-mixtral-serve"),
        )
}

fn training(name: &str, node: &str, gpus: &[u32]) -> Workload {
    Workload::running("ml-research", name, node, gpus, Load::training(0.90)).container("pytorch")
}

fn failing_host() -> Host {
    Host::new("gpu-node-01", &H100_SXM, 4)
        .export(Export::Extended)
        .fault(FAULTY, LINK_NOISY, Fault::NvlinkCrc(140.0))
        .fault(FAULTY, DOUBLE_BIT, Fault::Xid(48))
        .fault(FAULTY, DOUBLE_BIT, Fault::EccDoubleBit(2))
        .fault(FAULTY, REMAP_FAILED, Fault::RowRemapFailure)
        .fault(HOT, COOLING_LOST, Fault::Hot(91.0))
        .allocatable(WITHHELD, 3)
        .condition(xid_condition("True", REPORTED, 80))
}

/// The node problem detector's word on XIDs, some seconds old.
fn xid_condition(status: &str, changed: Timestamp, age_seconds: i64) -> NodeCondition {
    let (reason, message) = if status == "True" {
        ("GPUXIDErrorsDetected", "GPU XID errors detected: 48")
    } else {
        ("NoGPUXIDErrors", "No GPU XID errors")
    };
    NodeCondition {
        kind: "GPUXIDErrors".into(),
        status: status.into(),
        reason: reason.into(),
        message: message.into(),
        heartbeat: Some(NOW - SignedDuration::from_secs(age_seconds)),
        changed: Some(changed),
    }
}
