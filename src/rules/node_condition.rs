//! Node conditions that speak of GPU trouble, by provider.
//!
//! Polarity differs: most conditions are a problem when `True`, EKS's and Kubernetes' `Ready` when
//! not. A condition type outside the table is not judged. Absent on purpose: what providers publish
//! as events, labels or taints only (GKE's `XIDError` event, IBM autopilot and Google's cluster health
//! scanner labels, `NVSentinel`'s taints), and gpud, which sets no condition.
//!
//! A condition outlives the agent that set it, so a problem needs a fresh heartbeat
//! ([`NodeCondition::heartbeat`]); yet an agent can keep beating for days over a condition that
//! nothing re-checks, so a fresh heartbeat does not date the fault.

use std::time::Duration;

use self::About::{DevicePlugin, Gpu, Host, Network, NodeCore, Telemetry, Workload};
use self::Problem::{False, FalseOrUnknown, True};
use self::Provider::{Aks, Azurehpc, Eks, Gke, Kubernetes, NvSentinel, Oke};

/// A condition type and how to read it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCondition {
    /// The condition's type, as in `status.conditions[].type`.
    pub name: &'static str,
    /// Who sets a condition of this type; more than one where names coincide.
    pub providers: &'static [Provider],
    /// The part of the node it speaks of.
    pub about: About,
    /// Which status is the problem.
    pub problem: Problem,
    /// How often `lastHeartbeatTime` moves while the agent lives.
    pub heartbeat: Heartbeat,
    /// A caution in reading it.
    pub note: Option<&'static str>,
}

impl NodeCondition {
    /// What a status of this condition means.
    ///
    /// `Unknown`, and any status Kubernetes does not define, means that the check did not work: that
    /// is no problem of the hardware and no sign of health either. `Ready` is the exception: a node
    /// nobody hears from is a node that is down.
    #[must_use]
    pub fn is_problem(&self, status: &str) -> Verdict {
        match (status, self.problem) {
            ("True", True) | ("False", False | FalseOrUnknown) | ("Unknown", FalseOrUnknown) => {
                Verdict::Problem
            }
            ("True", False | FalseOrUnknown) | ("False", True) => Verdict::Healthy,
            _ => Verdict::Unknown,
        }
    }

    /// The condition is healthy when `True`, against the habit of problem conditions.
    #[must_use]
    pub const fn is_inverted(&self) -> bool {
        !matches!(self.problem, True)
    }
}

/// What a condition's status says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The condition reports a problem.
    Problem,
    /// The condition reports health.
    Healthy,
    /// The check is unreliable: neither.
    Unknown,
}

/// The status that means trouble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Problem {
    /// `True`.
    True,
    /// `False`.
    False,
    /// `False` or `Unknown`.
    FalseOrUnknown,
}

/// The part of a node that a condition speaks of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum About {
    /// A GPU, its links or memory, or the fabric between GPUs.
    Gpu,
    /// The way GPU readings are collected, not the GPU.
    Telemetry,
    /// NVIDIA's device plugin, not the GPU.
    DevicePlugin,
    /// The network; lowers suspicion of the GPU.
    Network,
    /// The machine around the GPU.
    Host,
    /// The node as Kubernetes sees it.
    NodeCore,
    /// The programs on the GPU rather than the GPU.
    Workload,
}

/// Who sets a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Provider {
    /// Kubernetes itself: kubelet, node controller, network plugin.
    Kubernetes,
    /// Azure Kubernetes Service's node problem detector.
    Aks,
    /// The node problem detector configuration of Azure's HPC project.
    Azurehpc,
    /// Google Kubernetes Engine's GPU health checker.
    Gke,
    /// Amazon EKS's node monitoring agent.
    Eks,
    /// Oracle's HPC health checks on its Kubernetes engine.
    Oke,
    /// NVIDIA's `NVSentinel`.
    NvSentinel,
}

impl Provider {
    /// The provider's name, for display.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Kubernetes => "Kubernetes",
            Self::Aks => "AKS",
            Self::Azurehpc => "Azure HPC",
            Self::Gke => "GKE",
            Self::Eks => "EKS",
            Self::Oke => "OKE",
            Self::NvSentinel => "NVSentinel",
        }
    }
}

/// How a condition's `lastHeartbeatTime` moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heartbeat {
    /// At least this often while its agent lives.
    Every(Duration),
    /// Only when the condition changes: its age says nothing about the agent.
    OnChange,
    /// Not known.
    Unknown,
}

impl Heartbeat {
    /// The period, where there is one.
    #[must_use]
    pub const fn period(self) -> Option<Duration> {
        match self {
            Self::Every(period) => Some(period),
            Self::OnChange | Self::Unknown => None,
        }
    }
}

/// The entry of a condition type; types are case-sensitive.
#[must_use]
pub fn lookup(condition_type: &str) -> Option<&'static NodeCondition> {
    CONDITIONS
        .iter()
        .find(|condition| condition.name == condition_type)
}

/// The whole table, by provider.
#[must_use]
pub fn all() -> &'static [NodeCondition] {
    CONDITIONS
}

/// The default of the kubelet (`nodeStatusReportFrequency`), of node-problem-detector
/// (`--k8s-exporter-heartbeat-period`) and of the EKS agent alike.
const FIVE_MINUTES: Heartbeat = Heartbeat::Every(Duration::from_mins(5));

const fn on(
    providers: &'static [Provider],
    heartbeat: Heartbeat,
    name: &'static str,
    about: About,
) -> NodeCondition {
    NodeCondition {
        name,
        providers,
        about,
        problem: True,
        heartbeat,
        note: None,
    }
}

const fn kubernetes(name: &'static str, about: About) -> NodeCondition {
    on(&[Kubernetes], FIVE_MINUTES, name, about)
}

const fn aks(name: &'static str, about: About) -> NodeCondition {
    on(&[Aks], FIVE_MINUTES, name, about)
}

const fn eks(name: &'static str, about: About) -> NodeCondition {
    NodeCondition {
        problem: False,
        ..on(&[Eks], FIVE_MINUTES, name, about)
    }
}

const fn oke(name: &'static str, about: About) -> NodeCondition {
    on(&[Oke], FIVE_MINUTES, name, about)
}

/// A name that Oracle's and Azure's configurations share, with the same meaning.
const fn oke_and_azure(name: &'static str) -> NodeCondition {
    on(&[Oke, Azurehpc], FIVE_MINUTES, name, Gpu)
}

const fn nvsentinel(name: &'static str, about: About) -> NodeCondition {
    on(&[NvSentinel], Heartbeat::Unknown, name, about)
}

impl NodeCondition {
    const fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }
}

const AKS_XID: &str = "two names are documented for this condition; any code may raise it";
const PERFORMANCE: &str = "performance only: the GPU works, more slowly";
const FABRIC: &str = "a service of the GPU fabric, not one GPU";
const PROGRAM: &str = "the same code on different parts points at the program";

static CONDITIONS: &[NodeCondition] = &[
    NodeCondition {
        problem: FalseOrUnknown,
        ..kubernetes("Ready", NodeCore)
    }
    .note("the node is down or not heard from: missing telemetry is then expected"),
    kubernetes("MemoryPressure", NodeCore),
    kubernetes("DiskPressure", NodeCore),
    kubernetes("PIDPressure", NodeCore),
    NodeCondition {
        heartbeat: Heartbeat::OnChange,
        ..kubernetes("NetworkUnavailable", Network)
    },
    aks("GPUMissing", Gpu).note("only on some sizes with A100 or H100"),
    aks("NVLinkStatusInactive", Gpu),
    aks("XIDErrors", Gpu).note(AKS_XID),
    aks("GPUXIDErrors", Gpu).note(AKS_XID),
    aks("IBLinkFlapping", Network),
    aks("GPUClockThrottling", Gpu).note(PERFORMANCE),
    aks("UnhealthyNvidiaDevicePlugin", DevicePlugin),
    on(&[Azurehpc], FIVE_MINUTES, "GpuNvlink", Gpu),
    on(&[Gke], Heartbeat::OnChange, "XidCriticalError", Gpu).note(
        "the reason is a JSON map of codes, the message the boot id; it stays until the next boot",
    ),
    eks("AcceleratedHardwareReady", Gpu)
        .note("the reason names the fault; DCGMError speaks of telemetry, not of a GPU"),
    eks("KernelReady", Host),
    eks("NetworkingReady", Network),
    eks("StorageReady", Host),
    eks("ContainerRuntimeReady", Host),
    oke_and_azure("GpuCount"),
    oke_and_azure("GpuEcc"),
    oke_and_azure("GpuXid"),
    oke("GpuRowRemap", Gpu),
    oke("GpuBus", Gpu),
    oke("GpuPcie", Gpu),
    oke("GpuFabricMgr", Gpu).note(FABRIC),
    oke("GpuImex", Gpu).note(FABRIC),
    oke("NvlinkSpeed", Gpu),
    oke("DcgmiHealth", Gpu),
    oke("RdmaLink", Network),
    oke("RdmaLinkFlapping", Network),
    oke("RdmaWpaAuth", Network),
    oke("RdmaRttcc", Network),
    oke("RdmaVfRoutes", Network),
    oke("RdmaVfCounters", Network),
    oke("IpAddress", Network),
    oke("OcaVersion", Host),
    oke("CpuProfile", Host),
    oke("NodeHasPcieErrors", Host).note("PCIe errors anywhere on the node, a GPU's link included"),
    nvsentinel("GpuThermalWatch", Gpu),
    nvsentinel("GpuThermalMarginWatch", Gpu),
    nvsentinel("GpuPcieWatch", Gpu),
    nvsentinel("GpuPowerWatch", Gpu),
    nvsentinel("GpuMemWatch", Gpu),
    nvsentinel("GpuNvlinkWatch", Gpu),
    nvsentinel("GpuInforomWatch", Gpu),
    nvsentinel("GpuSmWatch", Gpu),
    nvsentinel("GpuNvswitchFatalWatch", Gpu).note(FABRIC),
    nvsentinel("GpuNvswitchNonFatalWatch", Gpu).note(FABRIC),
    nvsentinel("GpuPmuWatch", Gpu),
    nvsentinel("GpuMcuWatch", Gpu),
    nvsentinel("GpuDriverWatch", Gpu),
    nvsentinel("GpuCpusetWatch", Host),
    nvsentinel("GpuDcgmConnectivityFailure", Telemetry),
    nvsentinel("SysLogsXIDError", Gpu),
    nvsentinel("SysLogsSXIDError", Gpu),
    nvsentinel("SysLogsGPUFallenOff", Gpu),
    nvsentinel("SysLogsNICDriverError", Network),
    nvsentinel("RepeatedXIDErrorOnSameGPU", Gpu),
    nvsentinel("RepeatedXID31OnSameGPU", Gpu),
    nvsentinel("RepeatedXID31OnDifferentGPU", Workload).note(PROGRAM),
    nvsentinel("RepeatedXID13OnSameGPCAndTPC", Gpu),
    nvsentinel("RepeatedXID13OnDifferentGPCAndTPC", Workload).note(PROGRAM),
    nvsentinel("MultipleRemediations", Host).note("repairs of this node did not last"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn known(name: &str) -> &'static NodeCondition {
        lookup(name).unwrap_or_else(|| panic!("{name} is not in the table"))
    }

    #[test]
    fn status_by_provider() {
        use Verdict::{Healthy, Problem, Unknown};
        let cases = [
            // type, then the verdict on True, False and Unknown
            ("Ready", [Healthy, Problem, Problem]),
            ("MemoryPressure", [Problem, Healthy, Unknown]),
            ("NetworkUnavailable", [Problem, Healthy, Unknown]),
            ("AcceleratedHardwareReady", [Healthy, Problem, Unknown]),
            ("KernelReady", [Healthy, Problem, Unknown]),
            ("ContainerRuntimeReady", [Healthy, Problem, Unknown]),
            ("GpuEcc", [Problem, Healthy, Unknown]),
            ("GpuRowRemap", [Problem, Healthy, Unknown]),
            ("RdmaLink", [Problem, Healthy, Unknown]),
            ("XIDErrors", [Problem, Healthy, Unknown]),
            ("GPUXIDErrors", [Problem, Healthy, Unknown]),
            ("XidCriticalError", [Problem, Healthy, Unknown]),
            ("GpuMemWatch", [Problem, Healthy, Unknown]),
            ("RepeatedXID31OnSameGPU", [Problem, Healthy, Unknown]),
        ];
        for (name, expected) in cases {
            let condition = known(name);
            let seen = ["True", "False", "Unknown"].map(|status| condition.is_problem(status));
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn a_status_that_kubernetes_does_not_define_is_unknown() {
        for name in ["Ready", "GPUMissing", "AcceleratedHardwareReady"] {
            for status in ["", "true", "FALSE", "Maybe"] {
                assert_eq!(
                    known(name).is_problem(status),
                    Verdict::Unknown,
                    "{name} {status}"
                );
            }
        }
    }

    #[test]
    fn only_ready_and_the_eks_conditions_are_inverted() {
        for condition in all() {
            let expected = condition.name == "Ready" || condition.providers == [Eks];
            assert_eq!(condition.is_inverted(), expected, "{}", condition.name);
        }
    }

    #[test]
    fn what_conditions_speak_of() {
        let cases = [
            ("Ready", NodeCore),
            ("NetworkUnavailable", Network),
            ("GPUMissing", Gpu),
            ("IBLinkFlapping", Network),
            ("UnhealthyNvidiaDevicePlugin", DevicePlugin),
            ("AcceleratedHardwareReady", Gpu),
            ("StorageReady", Host),
            ("NetworkingReady", Network),
            ("RdmaVfCounters", Network),
            ("NodeHasPcieErrors", Host),
            ("GpuDcgmConnectivityFailure", Telemetry),
            ("SysLogsGPUFallenOff", Gpu),
            ("SysLogsNICDriverError", Network),
            ("RepeatedXID13OnSameGPCAndTPC", Gpu),
            ("RepeatedXID13OnDifferentGPCAndTPC", Workload),
        ];
        for (name, about) in cases {
            assert_eq!(known(name).about, about, "{name}");
        }
    }

    #[test]
    fn a_shared_name_lists_both_providers() {
        for name in ["GpuCount", "GpuEcc", "GpuXid"] {
            assert_eq!(known(name).providers, [Oke, Azurehpc], "{name}");
        }
        assert_eq!(known("GpuNvlink").providers, [Azurehpc]);
    }

    #[test]
    fn heartbeats() {
        let five_minutes = Some(Duration::from_mins(5));
        for name in [
            "Ready",
            "AcceleratedHardwareReady",
            "GPUXIDErrors",
            "GpuBus",
        ] {
            assert_eq!(known(name).heartbeat.period(), five_minutes, "{name}");
        }
        assert_eq!(known("XidCriticalError").heartbeat, Heartbeat::OnChange);
        assert_eq!(known("GpuMemWatch").heartbeat, Heartbeat::Unknown);
        assert_eq!(known("GpuMemWatch").heartbeat.period(), None);
    }

    #[test]
    fn names_are_distinct_and_entries_complete() {
        let distinct: BTreeSet<_> = all().iter().map(|condition| condition.name).collect();
        assert_eq!(distinct.len(), all().len());
        for condition in all() {
            assert!(!condition.name.is_empty() && !condition.name.contains(' '));
            assert!(!condition.providers.is_empty(), "{}", condition.name);
            for provider in condition.providers {
                assert!(!provider.as_str().is_empty());
            }
            if let Some(note) = condition.note {
                assert!(note.len() <= 160 && !note.is_empty(), "{}", condition.name);
                assert!(
                    !note.contains("caused by") && !note.ends_with('.'),
                    "{}",
                    condition.name
                );
            }
        }
    }

    #[test]
    fn unknown_types_are_not_judged() {
        for name in ["", "ready", "GpuThing", "XIDError", "AcceleratedHardware"] {
            assert_eq!(lookup(name), None, "{name}");
        }
    }
}
