//! Two nodes, eight boards, six of them at work: nothing is wrong.

use super::NOW;
use crate::simulate::{Fleet, H100_SXM, Host, Load, Workload};

pub(super) const STEM: &str = "scenario_1_healthy";

/// Four boards train at 92 %, two serve at 67.7 %: 83.9 % over the six.
pub(super) fn fleet() -> Fleet {
    Fleet::new(STEM, NOW)
        .host(Host::new("gpu-node-01", &H100_SXM, 4))
        .host(Host::new("gpu-node-02", &H100_SXM, 4))
        .workload(
            Workload::running(
                "ml-research",
                "llama3-pretrain-rank-0",
                "gpu-node-01",
                &[0, 1, 2, 3],
                Load::training(0.92),
            )
            .container("trainer")
            .owner("PyTorchJob", "llama3-pretrain"),
        )
        .workload(
            Workload::running(
                "inference",
                "vllm-mistral-serve-0",
                "gpu-node-02",
                &[0, 1],
                Load::serving(0.677),
            )
            .container("vllm")
            .owner("StatefulSet", "vllm-mistral-serve"),
        )
}
