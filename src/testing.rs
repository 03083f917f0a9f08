//! Small clusters for tests of rules, by the one door that every source uses.
//!
//! Times are seconds relative to the judged moment, so `-120` is two minutes ago.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use crate::history::History;
use crate::rules::{RuleConfig, RuleSet};
use crate::snapshot::{
    Batch, BoardIdentity, ClusterSnapshot, Completeness, Event, GpuObservation, Holder, InstanceId,
    Inventory, Limits, ListState, Node, NodeAttribution, NodeObservation, Observation, Pod,
    PodPhase, PodRef, SeriesKey, Signal, SourceId, SourceState, SourceStatus, TargetState,
    TargetStatus,
};

/// The moment that tests judge.
pub(crate) fn now() -> Timestamp {
    "2026-03-14T02:07:00Z".parse().expect("a time")
}

/// A time relative to [`now`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

/// A cluster under construction.
pub(crate) struct Cluster {
    pub(crate) limits: Limits,
    observations: Vec<Observation>,
    targets: BTreeMap<String, TargetStatus>,
    kubernetes: Option<Completeness>,
    inventory: Inventory,
}

impl Cluster {
    /// A cluster without Kubernetes and without a GPU.
    pub(crate) fn new() -> Self {
        Self {
            limits: Limits::default(),
            observations: Vec::new(),
            targets: BTreeMap::new(),
            kubernetes: None,
            inventory: Inventory::default(),
        }
    }

    /// Kubernetes is a source and its lists are complete as of now.
    pub(crate) fn with_kubernetes(mut self) -> Self {
        let list = ListState::Synced(now());
        self.kubernetes = Some(Completeness {
            nodes: list,
            pods: list,
            events: list,
        });
        self
    }

    /// Kubernetes is a source with lists in the given states.
    pub(crate) fn with_lists(mut self, lists: Completeness) -> Self {
        self.kubernetes = Some(lists);
        self
    }

    /// A board. It draws 300 W and its energy grows every 30 s of the last ten minutes, so it
    /// is live, unless the builder says otherwise. Its node's target is up.
    pub(crate) fn gpu(mut self, uuid: &str, node: &str, build: impl FnOnce(&mut Board)) -> Self {
        let mut board = Board::new(uuid, node);
        build(&mut board);
        let url = format!("http://{node}:9400/metrics");
        let gpus = self.targets.get(&url).map_or(0, |target| target.gpus) + 1;
        self.targets.insert(
            url.clone(),
            TargetStatus {
                gpus,
                ..target(&url, node)
            },
        );
        self.observations.extend(board.observations(&url));
        self
    }

    /// Changes or adds a node's target.
    pub(crate) fn target(mut self, node: &str, change: impl FnOnce(&mut TargetStatus)) -> Self {
        let url = format!("http://{node}:9400/metrics");
        let status = self
            .targets
            .entry(url.clone())
            .or_insert_with(|| target(&url, node));
        change(status);
        self
    }

    /// Takes a node's target away; what it told stays.
    pub(crate) fn without_target(mut self, node: &str) -> Self {
        self.targets.remove(&format!("http://{node}:9400/metrics"));
        self
    }

    /// A node with `gpus` allocatable and of capacity, as the API tells it now, and its history:
    /// `(seconds, allocatable)`.
    pub(crate) fn node(
        mut self,
        name: &str,
        gpus: i64,
        history: &[(i64, i64)],
        change: impl FnOnce(&mut Node),
    ) -> Self {
        let resource: Arc<str> = "nvidia.com/gpu".into();
        let mut node = Node {
            name: name.into(),
            uid: format!("uid-{name}").into(),
            created: at(-86_400),
            labels: BTreeMap::new(),
            allocatable: BTreeMap::from([(resource.clone(), gpus)]),
            capacity: BTreeMap::from([(resource.clone(), gpus)]),
            conditions: Vec::new(),
            taints: Vec::new(),
            unschedulable: false,
            boot_id: Some("boot-1".into()),
        };
        change(&mut node);
        for (seconds, allocatable) in history {
            self.observations.push(Observation::Node(NodeObservation {
                at: at(*seconds),
                node: node.name.clone(),
                allocatable: vec![(resource.clone(), *allocatable as f64)],
                capacity: vec![(resource.clone(), gpus as f64)],
                unschedulable: Some(false),
                boot_id: None,
            }));
        }
        self.inventory
            .nodes
            .insert(node.name.clone(), Arc::new(node));
        self
    }

    /// What a node's capacity was over time: `(seconds, gpus)`.
    pub(crate) fn capacity(mut self, name: &str, history: &[(i64, i64)]) -> Self {
        for (seconds, gpus) in history {
            self.observations.push(Observation::Node(NodeObservation {
                at: at(*seconds),
                node: name.into(),
                allocatable: Vec::new(),
                capacity: vec![("nvidia.com/gpu".into(), *gpus as f64)],
                unschedulable: None,
                boot_id: None,
            }));
        }
        self
    }

    /// A running pod that was given GPUs.
    pub(crate) fn pod(
        mut self,
        name: &str,
        node: &str,
        gpus: i64,
        change: impl FnOnce(&mut Pod),
    ) -> Self {
        let mut pod = Pod {
            uid: format!("uid-{name}").into(),
            namespace: "ml".into(),
            name: name.into(),
            node: Some(node.into()),
            phase: PodPhase::Running,
            created: at(-7200),
            started: Some(at(-7200)),
            deleting: None,
            owner: None,
            gpu_requests: BTreeMap::from([("nvidia.com/gpu".into(), gpus)]),
        };
        change(&mut pod);
        self.inventory.pods.insert(pod.uid.clone(), Arc::new(pod));
        self
    }

    /// The batches, as sources would hand them over.
    pub(crate) fn batches(&self) -> Vec<Batch> {
        let mut observations = self.observations.clone();
        let mut batches = Vec::new();
        if let Some(lists) = self.kubernetes {
            let inventory = Inventory {
                complete: lists,
                ..self.inventory.clone()
            };
            observations.push(Observation::Inventory {
                at: now(),
                inventory: Arc::new(inventory),
            });
            let status = SourceStatus {
                lists: Some(lists),
                ..status(SourceId::Kubernetes)
            };
            batches.push(Batch {
                source: SourceId::Kubernetes,
                observations: Vec::new(),
                status,
            });
        }
        let targets = self.targets.values().cloned().collect();
        let status = SourceStatus {
            targets,
            ..status(SourceId::Dcgm)
        };
        batches.push(Batch {
            source: SourceId::Dcgm,
            observations,
            status,
        });
        batches
    }

    /// What the rules are shown.
    pub(crate) fn snapshot(&self) -> ClusterSnapshot {
        let needs = RuleSet::new(&RuleConfig::default()).needs();
        let mut history = History::new(needs, self.limits);
        for batch in self.batches() {
            history.absorb(&batch);
        }
        history.view(
            &"test".into(),
            now(),
            SignedDuration::from_secs(15),
            &[SourceId::Dcgm],
        )
    }
}

fn status(id: SourceId) -> SourceStatus {
    SourceStatus {
        id,
        state: SourceState::Up,
        since: at(-86_400),
        last_attempt: Some(at(-5)),
        last_success: Some(at(-5)),
        error: None,
        targets: Vec::new(),
        lists: None,
        errors: BTreeMap::new(),
        rejected: BTreeMap::new(),
        duration_seconds: 0.1,
    }
}

fn target(url: &str, node: &str) -> TargetStatus {
    TargetStatus {
        url: url.into(),
        node: Some(node.into()),
        state: TargetState::Up,
        since: at(-86_400),
        last_attempt: Some(at(-5)),
        last_success: Some(at(-5)),
        error: None,
        gpus: 0,
        empty_since: None,
        rolling_out: false,
        samples: 0,
        unlabelled: None,
        duration_seconds: 0.01,
        notes: Vec::new(),
    }
}

/// Readings of one board or instance by time.
type Readings = BTreeMap<i64, BTreeMap<SeriesKey, f64>>;

/// A board under construction.
pub(crate) struct Board {
    uuid: String,
    /// What is known of it.
    pub(crate) identity: BoardIdentity,
    whole: Readings,
    instances: BTreeMap<u32, (String, Readings)>,
    holders: Vec<(i64, i64, Holder)>,
}

impl Board {
    fn new(uuid: &str, node: &str) -> Self {
        let mut board = Self {
            uuid: uuid.to_owned(),
            identity: BoardIdentity {
                node: Some(node.into()),
                node_by: NodeAttribution::Configured,
                index: Some(0),
                pci: None,
                model: Some("NVIDIA H100 80GB HBM3".into()),
                driver: Some("550.90.07".into()),
                target: None,
            },
            whole: Readings::new(),
            instances: BTreeMap::new(),
            holders: Vec::new(),
        };
        for seconds in (-600..0).step_by(30) {
            board.read(Signal::PowerUsage, &[(seconds, 300.0)]);
            board.read(
                Signal::Energy,
                &[(seconds, 1e6 + (600 + seconds) as f64 * 300.0)],
            );
        }
        board
    }

    /// Forgets every reading so far, the ones that make it live as well.
    pub(crate) fn silent(&mut self) -> &mut Self {
        self.whole.clear();
        self
    }

    /// Readings of the board: `(seconds, value)`.
    pub(crate) fn read(&mut self, key: impl Into<SeriesKey>, points: &[(i64, f64)]) -> &mut Self {
        let key = key.into();
        for (seconds, value) in points {
            self.whole.entry(*seconds).or_default().insert(key, *value);
        }
        self
    }

    /// The same reading every 30 s from a time until now.
    pub(crate) fn steady(&mut self, key: impl Into<SeriesKey>, from: i64, value: f64) -> &mut Self {
        let key = key.into();
        for seconds in (from..0).step_by(30) {
            self.read(key, &[(seconds, value)]);
        }
        self
    }

    /// Readings of a MIG instance.
    pub(crate) fn instance(
        &mut self,
        id: u32,
        key: impl Into<SeriesKey>,
        points: &[(i64, f64)],
    ) -> &mut Self {
        let key = key.into();
        let (_, readings) = self
            .instances
            .entry(id)
            .or_insert_with(|| ("1g.10gb".to_owned(), Readings::new()));
        for (seconds, value) in points {
            readings.entry(*seconds).or_default().insert(key, *value);
        }
        self
    }

    /// A pod that the series name for a while.
    pub(crate) fn held_by(&mut self, pod: &str, from: i64, to: i64) -> &mut Self {
        let pod = PodRef {
            namespace: "ml".into(),
            pod: pod.into(),
        };
        self.holders.push((
            from,
            to,
            Holder {
                pod,
                container: "main".into(),
                uid: None,
            },
        ));
        self
    }

    fn observations(self, url: &str) -> Vec<Observation> {
        let identity = Arc::new(BoardIdentity {
            target: Some(url.into()),
            ..self.identity
        });
        let board = self
            .whole
            .into_iter()
            .map(|(seconds, readings)| (None, seconds, readings));
        let instances = self
            .instances
            .into_iter()
            .flat_map(|(id, (profile, readings))| {
                let profile: Arc<str> = profile.into();
                readings.into_iter().map(move |(seconds, values)| {
                    (
                        Some((InstanceId(id), Some(profile.clone()))),
                        seconds,
                        values,
                    )
                })
            });
        board
            .chain(instances)
            .map(|(instance, seconds, readings)| {
                Observation::Gpu(GpuObservation {
                    at: at(seconds),
                    uuid: self.uuid.as_str().into(),
                    identity: identity.clone(),
                    instance,
                    holders: self
                        .holders
                        .iter()
                        .filter(|(from, to, _)| (*from..=*to).contains(&seconds))
                        .map(|(.., holder)| holder.clone())
                        .collect(),
                    xid_absent: !readings.contains_key(&Signal::Xid.into()),
                    readings: readings.into_iter().collect(),
                })
            })
            .collect()
    }
}

/// What a cluster goes through, and what is taken away from it.
impl Cluster {
    /// An event about a node, seen once.
    pub(crate) fn node_event(mut self, node: &str, reason: &str, seconds: i64) -> Self {
        self.inventory.events.push(Arc::new(Event {
            uid: format!("event-{node}-{reason}-{seconds}").into(),
            reason: reason.into(),
            message: format!("{reason} {node}").into(),
            kind: "Node".into(),
            namespace: "".into(),
            name: node.into(),
            first: at(seconds),
            last: at(seconds),
            count: 1,
        }));
        self
    }

    /// A node's boot id as it was at a time.
    pub(crate) fn boot(mut self, node: &str, seconds: i64, id: &str) -> Self {
        self.observations.push(Observation::Node(NodeObservation {
            at: at(seconds),
            node: node.into(),
            allocatable: Vec::new(),
            capacity: Vec::new(),
            unschedulable: None,
            boot_id: Some(id.into()),
        }));
        self
    }

    /// Changes a node as the API tells it.
    pub(crate) fn change_node(mut self, name: &str, change: impl FnOnce(&mut Node)) -> Self {
        if let Some(node) = self.inventory.nodes.get_mut(&name.into()) {
            change(Arc::make_mut(node));
        }
        self
    }

    /// Takes a signal of a board and its instances away: all of it, or from a time on.
    pub(crate) fn without(mut self, uuid: &str, signal: Signal, from: Option<i64>) -> Self {
        for observation in &mut self.observations {
            if let Observation::Gpu(seen) = observation
                && seen.uuid.as_str() == uuid
                && from.is_none_or(|from| seen.at >= at(from))
            {
                seen.readings.retain(|(key, _)| key.signal != signal);
                seen.xid_absent |= signal == Signal::Xid;
            }
        }
        self
    }

    /// Takes everything that telemetry says of a board away: all of it, or from a time on.
    pub(crate) fn silence(mut self, uuid: &str, from: Option<i64>) -> Self {
        self.observations.retain(|observation| match observation {
            Observation::Gpu(seen) => {
                seen.uuid.as_str() != uuid || from.is_some_and(|from| seen.at < at(from))
            }
            _ => true,
        });
        self
    }

    /// Every signal that a board's readings have.
    pub(crate) fn signals_of(&self, uuid: &str) -> Vec<Signal> {
        let readings = self
            .observations
            .iter()
            .filter_map(|observation| match observation {
                Observation::Gpu(seen) if seen.uuid.as_str() == uuid => Some(&seen.readings),
                _ => None,
            });
        let mut signals: Vec<_> = readings.flatten().map(|(key, _)| key.signal).collect();
        signals.sort();
        signals.dedup();
        signals
    }
}
