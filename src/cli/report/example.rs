//! A report made by hand.

use std::sync::Arc;

use jiff::Timestamp;

use super::Report;
use crate::cycle::Fleet;
use crate::finding::{
    Cause, Evidence, Fact, Finding, Grade, Key, Reason, RuleId, Severity, Step, Subject,
};
use crate::incident::Incident;

fn at(text: &str) -> Timestamp {
    text.parse().expect("a time")
}

pub(crate) fn quiet() -> Report {
    Report {
        cluster: "lab".into(),
        now: at("2026-03-14T02:07:00Z"),
        fleet: Fleet::default(),
        open: Vec::new(),
        undecided: [].into(),
    }
}

pub(crate) fn report() -> Report {
    let key = Key {
        rule: RuleId::Health,
        subject: Subject::Gpu {
            node: Some("gpu-node-01".into()),
            uuid: "GPU-5f3c".into(),
        },
        aspect: None,
    };
    let started = at("2026-03-14T02:05:15Z");
    let finding = Finding {
        cause: Cause::Xid(79),
        severity: Severity::Critical,
        grade: Grade::Strong,
        summary: "GPU 3 of gpu-node-01 reported XID 79 (fallen off the bus), which is consistent with a failed board, slot or power feed".into(),
        started,
        gpu: Some(3),
        facts: vec![
            Fact {
                name: "last XID".into(),
                value: "79".into(),
                source: "DCGM_FI_DEV_XID_ERRORS".into(),
                at: Some(started),
            },
            Fact {
                name: "core temperature".into(),
                value: "61 °C".into(),
                source: "DCGM_FI_DEV_GPU_TEMP".into(),
                at: Some(started),
            },
        ],
        supporting: vec![Evidence::at("the code changed from 0 to 79 between two scrapes, so that its time is known to within half a minute", "DCGM_FI_DEV_XID_ERRORS", started)],
        contradicting: vec![Evidence::of("the other seven GPUs of the node are healthy", "dcgm-exporter")],
        missing: vec![Evidence::of("PCIe replays are not exported", "pcie_replays")],
        timeline: vec![Evidence::at("XID 79 first seen", "", started)],
        checklist: vec![Step {
            text: "Read the node's conditions and events.".into(),
            command: Some("kubectl describe node gpu-node-01".into()),
        }],
    };
    let cluster = "prod-eu".into();
    let incident = Incident {
        id: key.incident_id(&cluster),
        key,
        severity: Severity::Critical,
        opened: at("2026-03-14T02:05:30Z"),
        started,
        last_fired: at("2026-03-14T02:07:00Z"),
        undecided: None,
        clear_since: None,
        milder_since: None,
        closed: None,
        finding: Arc::new(finding),
    };
    Report {
        cluster,
        now: at("2026-03-14T02:07:00Z"),
        fleet: Fleet {
            ok: 6,
            finding: 1,
            unknown: 1,
        },
        open: vec![Arc::new(incident)],
        undecided: [((RuleId::Therm, Reason::Blind), 1)].into(),
    }
}
