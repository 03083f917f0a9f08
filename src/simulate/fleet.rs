//! A fleet to be recorded: hosts, the work on them, and what goes wrong when.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::{Export, Fault, Load, Product, Scheduled, Seed};
use crate::snapshot::{ClusterName, NodeCondition, NodeName, OwnerRef, Span};

/// A virtual cluster. [`record`](Self::record) writes down what its sources would have told.
#[derive(Clone, Debug)]
pub struct Fleet {
    /// The cluster's name.
    pub cluster: ClusterName,
    /// The moment at which the recording ends.
    pub now: Timestamp,
    /// How far back the series go. Default 75 min.
    pub window: Span,
    /// Cycle and scrape interval. Default 15 s.
    pub interval: Span,
    /// How often the exporters collect. Default 30 s, dcgm-exporter's own.
    pub collection: Span,
    /// Where all chance starts. Default 1.
    pub seed: Seed,
    /// The nodes.
    pub hosts: Vec<Host>,
    /// The pods.
    pub workloads: Vec<Workload>,
}

impl Fleet {
    /// An empty cluster.
    #[must_use]
    pub fn new(cluster: &str, now: Timestamp) -> Self {
        Self {
            cluster: cluster.into(),
            now,
            window: Span::minutes(75),
            interval: Span::seconds(15),
            collection: Span::seconds(30),
            seed: Seed(1),
            hosts: Vec::new(),
            workloads: Vec::new(),
        }
    }

    /// With a node.
    #[must_use]
    pub fn host(mut self, host: Host) -> Self {
        self.hosts.push(host);
        self
    }

    /// With a pod.
    #[must_use]
    pub fn workload(mut self, workload: Workload) -> Self {
        self.workloads.push(workload);
        self
    }
}

/// A node with boards of one product.
#[derive(Clone, Debug)]
pub struct Host {
    /// Its name.
    pub name: NodeName,
    /// What its boards are.
    pub product: &'static Product,
    /// How many there are.
    pub gpus: u32,
    /// Its exporter's counter file.
    pub export: Export,
    /// Age of the newest collection at the end of the recording. Default 15 s.
    pub sample_age: Span,
    /// What goes wrong, with which board (`None`: all).
    pub faults: Vec<(Option<u32>, Scheduled)>,
    /// Changes of the allocatable GPUs, oldest first; before the first all are allocatable.
    pub allocatable: Vec<(Timestamp, i64)>,
    /// Conditions besides the kubelet's own.
    pub conditions: Vec<NodeCondition>,
}

impl Host {
    /// A healthy node.
    #[must_use]
    pub fn new(name: &str, product: &'static Product, gpus: u32) -> Self {
        Self {
            name: name.into(),
            product,
            gpus,
            export: Export::Default,
            sample_age: Span::seconds(15),
            faults: Vec::new(),
            allocatable: Vec::new(),
            conditions: Vec::new(),
        }
    }

    /// With another counter file.
    #[must_use]
    pub fn export(self, export: Export) -> Self {
        Self { export, ..self }
    }

    /// With another age of the newest collection, which shifts the whole grid.
    #[must_use]
    pub fn sample_age(self, sample_age: Span) -> Self {
        Self { sample_age, ..self }
    }

    /// With a fault of one board, from a time on.
    #[must_use]
    pub fn fault(mut self, gpu: u32, from: Timestamp, fault: Fault) -> Self {
        self.faults.push((Some(gpu), Scheduled::from(from, fault)));
        self
    }

    /// With a fault of every board, from a time on.
    #[must_use]
    pub fn fault_of_all(mut self, from: Timestamp, fault: Fault) -> Self {
        self.faults.push((None, Scheduled::from(from, fault)));
        self
    }

    /// With another number of allocatable GPUs, from a time on.
    #[must_use]
    pub fn allocatable(mut self, from: Timestamp, gpus: i64) -> Self {
        self.allocatable.push((from, gpus));
        self
    }

    /// With a further condition.
    #[must_use]
    pub fn condition(mut self, condition: NodeCondition) -> Self {
        self.conditions.push(condition);
        self
    }

    /// What goes wrong with one board.
    pub(super) fn faults_of(&self, gpu: u32) -> Vec<Scheduled> {
        self.faults
            .iter()
            .filter(|(of, _)| of.is_none_or(|of| of == gpu))
            .map(|(_, scheduled)| *scheduled)
            .collect()
    }

    /// Allocatable GPUs at a time.
    pub(super) fn allocatable_at(&self, at: Timestamp) -> i64 {
        let past = self.allocatable.iter().rev().find(|(from, _)| *from <= at);
        past.map_or(i64::from(self.gpus), |(_, gpus)| *gpus)
    }
}

/// How a container ended.
#[derive(Clone, Debug, PartialEq)]
pub struct End {
    /// When.
    pub at: Timestamp,
    /// Exit code.
    pub exit_code: i32,
    /// Kubernetes' reason.
    pub reason: Arc<str>,
}

/// A pod with one container that wants GPUs.
#[derive(Clone, Debug)]
pub struct Workload {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// Container.
    pub container: Arc<str>,
    /// Controller.
    pub owner: Option<OwnerRef>,
    /// Whole GPUs that it asks for.
    pub request: u32,
    /// Where it runs; `None`: it is pending.
    pub node: Option<NodeName>,
    /// Which boards of the node it was given.
    pub gpus: Vec<u32>,
    /// What it asks of them.
    pub load: Load,
    /// When it was created (and, if placed, started). `None`: a day before the recording's end.
    pub created: Option<Timestamp>,
    /// How it ended.
    pub end: Option<End>,
}

impl Workload {
    /// A pod that asks for some GPUs and has none.
    #[must_use]
    pub fn pending(namespace: &str, name: &str, request: u32) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            container: "main".into(),
            owner: None,
            request,
            node: None,
            gpus: Vec::new(),
            load: Load::IDLE,
            created: None,
            end: None,
        }
    }

    /// A pod that runs on some boards of a node.
    #[must_use]
    pub fn running(namespace: &str, name: &str, node: &str, gpus: &[u32], load: Load) -> Self {
        Self {
            node: Some(node.into()),
            gpus: gpus.to_vec(),
            load,
            ..Self::pending(namespace, name, gpus.len() as u32)
        }
    }

    /// With a container name.
    #[must_use]
    pub fn container(self, container: &str) -> Self {
        let container = container.into();
        Self { container, ..self }
    }

    /// With a controller.
    #[must_use]
    pub fn owner(self, kind: &str, name: &str) -> Self {
        let owner = Some(OwnerRef {
            kind: kind.into(),
            name: name.into(),
        });
        Self { owner, ..self }
    }

    /// With a time of creation.
    #[must_use]
    pub fn created(self, at: Timestamp) -> Self {
        let created = Some(at);
        Self { created, ..self }
    }

    /// With an end.
    #[must_use]
    pub fn ended(self, at: Timestamp, exit_code: i32, reason: &str) -> Self {
        let end = Some(End {
            at,
            exit_code,
            reason: reason.into(),
        });
        Self { end, ..self }
    }

    /// When it was created, in a recording that ends at `now`.
    pub(super) fn created_before(&self, now: Timestamp) -> Timestamp {
        self.created
            .unwrap_or_else(|| now - SignedDuration::from_hours(26))
    }

    /// Whether it works on a board of a node at a time.
    pub(super) fn works_on(&self, node: &NodeName, gpu: u32, at: Timestamp) -> bool {
        self.node.as_ref() == Some(node)
            && self.gpus.contains(&gpu)
            && self.created.is_none_or(|created| created <= at)
            && self.end.as_ref().is_none_or(|end| at < end.at)
    }
}
