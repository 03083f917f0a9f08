//! The Kubernetes side of a recording, and how the sources are doing.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{GPU_RESOURCE, target_url};
use crate::simulate::{Fault, Fleet, Host, Scheduled, Workload};
use crate::snapshot::{
    Completeness, ListState, Node, NodeCondition, Pod, PodPhase, SourceId, SourceState,
    SourceStatus, TargetState, TargetStatus, Termination, TerminationKind,
};

/// The kubelet's own conditions: type, status, reason, message.
const KUBELET: [(&str, &str, &str, &str); 4] = [
    (
        "MemoryPressure",
        "False",
        "KubeletHasSufficientMemory",
        "kubelet has sufficient memory available",
    ),
    (
        "DiskPressure",
        "False",
        "KubeletHasNoDiskPressure",
        "kubelet has no disk pressure",
    ),
    (
        "PIDPressure",
        "False",
        "KubeletHasSufficientPID",
        "kubelet has sufficient PID available",
    ),
    (
        "Ready",
        "True",
        "KubeletReady",
        "kubelet is posting ready status",
    ),
];

impl Fleet {
    fn before(&self, seconds: i64) -> Timestamp {
        self.now - SignedDuration::from_secs(seconds)
    }

    pub(super) fn nodes(&self) -> Vec<Node> {
        self.hosts.iter().map(|host| self.node(host)).collect()
    }

    fn node(&self, host: &Host) -> Node {
        let mut random = self.seed.stream(&format!("node {}", host.name));
        let uid = random.uuid();
        // Joined some weeks ago; the kubelet posts its conditions every five minutes.
        let created = self.before(40 * 86_400 + (random.unit() * 1e6) as i64);
        let heartbeat = self.before(10 + (random.unit() * 280.0) as i64);
        let kubelet = KUBELET.map(|(kind, status, reason, message)| NodeCondition {
            kind: kind.into(),
            status: status.into(),
            reason: reason.into(),
            message: message.into(),
            heartbeat: Some(heartbeat),
            changed: Some(created + SignedDuration::from_secs(45)),
        });
        Node {
            name: host.name.clone(),
            uid: uid.into(),
            created,
            labels: labels(host),
            allocatable: pieces(host.allocatable_at(self.now)),
            capacity: pieces(i64::from(host.gpus)),
            conditions: kubelet
                .into_iter()
                .chain(host.conditions.iter().cloned())
                .collect(),
            taints: Vec::new(),
            unschedulable: false,
            boot_id: Some(self.boot_id(host)),
        }
    }

    pub(super) fn pods(&self) -> Vec<Pod> {
        let pod = |work: &Workload| Pod {
            uid: self.pod_uid(work),
            namespace: work.namespace.clone(),
            name: work.name.clone(),
            node: work.node.clone(),
            phase: self.phase(work),
            created: work.created_before(self.now),
            // Nothing queues in these fleets: a bound pod was taken up when it was made.
            started: work.node.as_ref().map(|_| work.created_before(self.now)),
            deleting: None,
            owner: work.owner.clone(),
            gpu_requests: pieces(i64::from(work.request)),
        };
        self.workloads.iter().map(pod).collect()
    }

    fn phase(&self, work: &Workload) -> PodPhase {
        match &work.end {
            Some(end) if end.at <= self.now && end.exit_code == 0 => PodPhase::Succeeded,
            Some(end) if end.at <= self.now => PodPhase::Failed,
            _ if work.node.is_some() => PodPhase::Running,
            _ => PodPhase::Pending,
        }
    }

    pub(super) fn terminations(&self) -> Vec<Termination> {
        let ended = |work: &Workload| {
            let end = work.end.as_ref().filter(|end| end.at <= self.now)?;
            Some(Termination {
                kind: TerminationKind::Container,
                uid: self.pod_uid(work),
                namespace: work.namespace.clone(),
                pod: work.name.clone(),
                container: work.container.clone(),
                node: work.node.clone(),
                owner: work.owner.clone(),
                exit_code: Some(end.exit_code),
                reason: end.reason.clone(),
                message: "".into(),
                started: Some(work.created_before(self.now) + SignedDuration::from_secs(20)),
                finished: Some(end.at),
                restarts: 0,
            })
        };
        let mut ends: Vec<_> = self.workloads.iter().filter_map(ended).collect();
        ends.sort_by_key(|end| end.finished);
        ends
    }

    /// Both sources, up; the last scrape was one interval ago.
    pub(super) fn sources(&self, samples: &BTreeMap<usize, u64>) -> Vec<SourceStatus> {
        let scraped = self.now - self.interval.get();
        let targets = self.hosts.iter().enumerate().map(|(number, host)| {
            let vanished = |fault: &Scheduled| fault.fault == Fault::Vanish && fault.lasts(scraped);
            let named = |gpu: &u32| !host.faults_of(*gpu).iter().any(vanished);
            TargetStatus {
                url: target_url(number),
                node: Some(host.name.clone()),
                state: TargetState::Up,
                since: self.now - self.window.get(),
                last_attempt: Some(scraped),
                last_success: Some(scraped),
                error: None,
                gpus: (0..host.gpus).filter(named).count() as u32,
                empty_since: None,
                rolling_out: false,
                samples: samples.get(&number).copied().unwrap_or_default(),
                unlabelled: None,
                duration_seconds: 0.012,
                notes: Vec::new(),
            }
        });
        let dcgm = SourceStatus {
            targets: targets.collect(),
            ..self.up(SourceId::Dcgm, scraped)
        };
        let synced = ListState::Synced(self.now);
        let kubernetes = SourceStatus {
            lists: Some(Completeness {
                nodes: synced,
                pods: synced,
                events: synced,
            }),
            ..self.up(SourceId::Kubernetes, self.now)
        };
        vec![dcgm, kubernetes]
    }

    fn up(&self, id: SourceId, last: Timestamp) -> SourceStatus {
        SourceStatus {
            id,
            state: SourceState::Up,
            since: self.now - self.window.get(),
            last_attempt: Some(last),
            last_success: Some(last),
            error: None,
            targets: Vec::new(),
            lists: None,
            errors: BTreeMap::new(),
            rejected: BTreeMap::new(),
            duration_seconds: 0.015,
        }
    }
}

fn pieces(gpus: i64) -> BTreeMap<Arc<str>, i64> {
    BTreeMap::from([(GPU_RESOURCE.into(), gpus)])
}

/// Kubernetes' own labels and those of GPU feature discovery.
fn labels(host: &Host) -> BTreeMap<Arc<str>, Arc<str>> {
    let product = host.product;
    let own = [
        ("kubernetes.io/arch", "amd64"),
        ("kubernetes.io/hostname", host.name.as_str()),
        ("kubernetes.io/os", "linux"),
        ("nvidia.com/gpu.family", product.family),
        ("nvidia.com/gpu.present", "true"),
        ("nvidia.com/gpu.product", product.label),
        ("nvidia.com/gpu.replicas", "1"),
        ("nvidia.com/gpu.sharing-strategy", "none"),
        ("nvidia.com/mig.strategy", "single"),
    ];
    let numbers = [
        ("nvidia.com/gpu.count", host.gpus),
        ("nvidia.com/gpu.memory", product.framebuffer_mib),
    ];
    let numbers = numbers.map(|(name, number)| (name.into(), number.to_string().into()));
    own.into_iter()
        .map(|(name, value)| (name.into(), value.into()))
        .chain(numbers)
        .collect()
}
