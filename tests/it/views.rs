//! Small builders of what a cycle publishes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use gpulens::cycle::{ClusterView, EntityRow, Fleet, GpuRow, Zero};
use gpulens::finding::{
    Cause, Evidence, Fact, Finding, Grade, Key, Reason, Severity, Step, Subject,
};
use gpulens::incident::{Closed, Closing, Incident};
use gpulens::publish::{PublishOptions, Publisher};
use gpulens::rules::{self, RuleRun};
use gpulens::snapshot::{
    ClusterName, Completeness, ErrorKind, InstanceId, ListState, Liveness, PodRef, Signal,
    SourceError, SourceId, SourceState, SourceStatus, TargetState, TargetStatus,
};
use jiff::{SignedDuration, Timestamp};

/// A pod name that no API server would take: an exporter's label may hold anything.
pub(crate) const HOSTILE: &str = "<script>alert(\"x\")</script>\\ '\n\u{1b}[31m\u{202e}";

pub(crate) fn now() -> Timestamp {
    at(0)
}

/// Seconds after the moment that the views are about.
pub(crate) fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_796_032_800 + seconds).expect("in range")
}

pub(crate) fn publisher(views: impl IntoIterator<Item = ClusterView>) -> Arc<Publisher> {
    let views: Vec<_> = views.into_iter().collect();
    let names = views.iter().map(|view| view.cluster.clone());
    let publisher = Publisher::new(names, PublishOptions::default());
    for view in views {
        publisher.replace(view);
    }
    Arc::new(publisher)
}

pub(crate) fn source(id: SourceId) -> SourceStatus {
    SourceStatus {
        id,
        state: SourceState::Up,
        since: at(-3600),
        last_attempt: Some(at(-2)),
        last_success: Some(at(-2)),
        error: None,
        targets: Vec::new(),
        lists: None,
        errors: BTreeMap::new(),
        rejected: BTreeMap::new(),
        duration_seconds: 0.05,
    }
}

pub(crate) fn target(node: &str, state: TargetState) -> TargetStatus {
    TargetStatus {
        url: format!("http://{node}:9400/metrics").into(),
        node: Some(node.into()),
        state,
        since: at(-3600),
        last_attempt: (state != TargetState::Pending).then(|| at(-2)),
        last_success: (state == TargetState::Up).then(|| at(-2)),
        error: None,
        gpus: if state == TargetState::Up { 2 } else { 0 },
        empty_since: None,
        rolling_out: false,
        samples: 40,
        unlabelled: None,
        duration_seconds: 0.01,
        notes: Vec::new(),
    }
}

/// A warm cluster of two GPUs on one node where nothing is found.
pub(crate) fn healthy(cluster: &str) -> ClusterView {
    let mut dcgm = source(SourceId::Dcgm);
    dcgm.targets = vec![target("n1", TargetState::Up)];
    let mut kubernetes = source(SourceId::Kubernetes);
    let synced = ListState::Synced(at(-2));
    kubernetes.lists = Some(Completeness {
        nodes: synced,
        pods: synced,
        events: synced,
    });
    let runs = rules::ALL.iter().map(|entry| RuleRun {
        rule: entry.id,
        success: true,
        duration: Duration::from_micros(400),
        excluded: 0,
    });
    ClusterView {
        cluster: cluster.into(),
        now: now(),
        evaluated: now(),
        recorded: false,
        interval: SignedDuration::from_secs(15),
        duration: Duration::from_millis(3),
        warm: true,
        open: Vec::new(),
        closed: Vec::new(),
        zeros: Vec::new(),
        opened_total: BTreeMap::new(),
        closed_total: BTreeMap::new(),
        undecided: BTreeMap::new(),
        signals: vec![(Signal::GpuUtilization, 2, 0), (Signal::ALL[7], 0, 2)],
        fleet: Fleet {
            ok: 2,
            finding: 0,
            unknown: 0,
        },
        gpus: vec![gpu("GPU-0", 0), gpu("GPU-1", 1)],
        sources: vec![dcgm, kubernetes],
        rules: runs.collect(),
        tracked_pods: 3,
        too_late_total: 0,
    }
}

pub(crate) fn gpu(uuid: &str, index: u32) -> GpuRow {
    GpuRow {
        uuid: uuid.into(),
        node: Some("n1".into()),
        index: Some(index),
        model: Some("NVIDIA H100 80GB HBM3".into()),
        liveness: Liveness::Live,
        live_at: at(-2),
        throttle_seconds: vec![("power_cap", 1.5), ("sw_thermal", 0.0)],
        entities: vec![EntityRow {
            instance: None,
            xid_total: Some(0),
            last_xid: None,
            mean_utilization: Some(0.83),
            pod: Some(PodRef {
                namespace: "ml".into(),
                pod: "trainer-0".into(),
            }),
        }],
    }
}

pub(crate) fn on_gpu(node: &str, uuid: &str) -> Subject {
    Subject::Gpu {
        node: Some(node.into()),
        uuid: uuid.into(),
    }
}

pub(crate) fn on_pod(pod: &str) -> Subject {
    Subject::Pod {
        uid: format!("uid-{pod}").into(),
        namespace: "ml".into(),
        pod: pod.into(),
        workload: "Job/train".into(),
    }
}

pub(crate) fn incident(
    cluster: &str,
    subject: Subject,
    cause: Cause,
    severity: Severity,
) -> Incident {
    let key = Key {
        rule: cause.rule(),
        subject,
        aspect: None,
    };
    let finding = Finding {
        cause,
        severity,
        grade: Grade::Strong,
        summary: format!(
            "{} on a GPU, consistent with a hardware fault",
            cause.as_str()
        ),
        started: at(-300),
        gpu: Some(3),
        facts: vec![Fact {
            name: "last XID".into(),
            value: "79".into(),
            source: "DCGM_FI_DEV_XID_ERRORS".into(),
            at: Some(at(-300)),
        }],
        supporting: vec![Evidence::at("XID 79 was seen", "xid_errors", at(-300))],
        contradicting: vec![Evidence::of(
            "the temperature is normal",
            "gpu_temperature_celsius",
        )],
        missing: vec![Evidence::of(
            "no ECC counters are exported",
            "ecc_double_bit",
        )],
        timeline: Vec::new(),
        checklist: vec![Step {
            text: "Look at the node's kernel log.".to_owned(),
            command: Some("kubectl get events -A".to_owned()),
        }],
    };
    Incident {
        id: key.incident_id(&cluster.into()),
        key,
        finding: Arc::new(finding),
        severity,
        opened: at(-240),
        started: at(-300),
        last_fired: now(),
        undecided: None,
        clear_since: None,
        milder_since: None,
        closed: None,
    }
}

pub(crate) fn zero(incident: &Incident, severity: Severity, until: Timestamp) -> Zero {
    Zero {
        id: incident.id,
        key: incident.key.clone(),
        severity,
        until,
    }
}

/// A cluster with one of everything: each family has a series.
pub(crate) fn rich(cluster: &str) -> ClusterView {
    let name: &str = cluster;
    let mut view = healthy(name);
    let xid = incident(
        name,
        on_gpu("n1", "GPU-0"),
        Cause::Xid(79),
        Severity::Critical,
    );
    let mut hot = incident(
        name,
        on_gpu("n1", "GPU-1"),
        Cause::CoreTemperature,
        Severity::Warning,
    );
    hot.undecided = Some(Reason::Blind);
    let mut hostile = incident(name, on_pod(HOSTILE), Cause::MemoryPressure, Severity::Info);
    Arc::make_mut(&mut hostile.finding).summary = format!("Pod {HOSTILE} is odd");
    let node = Subject::Node("n1".into());
    let drop = incident(name, node, Cause::AllocatableDrop, Severity::Warning);
    let mut closed = incident(
        name,
        on_pod("gone-0"),
        Cause::MemoryPressure,
        Severity::Warning,
    );
    closed.closed = Some(Closed {
        at: at(-60),
        how: Closing::Resolved,
        into: Vec::new(),
    });

    view.zeros = vec![
        zero(&closed, Severity::Warning, at(840)),
        zero(&xid, Severity::Warning, at(600)),
        // Open again at this severity, and over: neither is printed.
        zero(&hot, Severity::Warning, at(600)),
        zero(&closed, Severity::Info, at(0)),
    ];
    view.opened_total.insert(xid.key.rule, 2);
    view.closed_total
        .insert((closed.key.rule, Closing::Resolved), 1);
    view.undecided.insert((hot.key.rule, Reason::Blind), 1);
    view.open = [xid, drop, hot, hostile].map(Arc::new).into();
    view.closed = vec![Arc::new(closed)];
    view.fleet = Fleet {
        ok: 0,
        finding: 1,
        unknown: 1,
    };
    view.gpus[0].entities[0].xid_total = Some(1);
    view.gpus[0].entities[0].last_xid = Some(79);
    view.gpus[1].entities[0] = EntityRow {
        instance: Some(InstanceId(7)),
        xid_total: None,
        last_xid: None,
        mean_utilization: Some(f64::NAN),
        pod: None,
    };
    trouble(&mut view.sources[0]);
    view
}

/// Makes a source one that has had its errors.
fn trouble(dcgm: &mut SourceStatus) {
    dcgm.errors.insert(ErrorKind::Timeout, 4);
    dcgm.rejected.insert("sentinel".to_owned(), 9);
    let mut down = target("n2", TargetState::Down);
    down.error = Some(SourceError {
        kind: ErrorKind::Refused,
        message: "GET http://n2:9400/metrics: connection refused".to_owned(),
    });
    dcgm.targets.push(down);
}

/// A cluster whose sources are still being tried.
pub(crate) fn cold(cluster: &str) -> ClusterView {
    let mut view = rich(cluster);
    view.warm = false;
    view.sources[0]
        .targets
        .push(target("n3", TargetState::Pending));
    view
}

/// `count` open incidents of one rule, each of a pod of its own, opened one after the other.
pub(crate) fn many(cluster: &str, count: i64, severity: Severity) -> Vec<Arc<Incident>> {
    let one = |n: i64| {
        let subject = on_pod(&format!("worker-{n}"));
        let mut incident = incident(cluster, subject, Cause::MemoryPressure, severity);
        incident.opened = at(n - count);
        Arc::new(incident)
    };
    (0..count).map(one).collect()
}

/// The cluster's name as the views have it.
pub(crate) fn name(cluster: &str) -> ClusterName {
    cluster.into()
}
