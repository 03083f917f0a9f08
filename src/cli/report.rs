//! The report of `gpulens check`: what was found in each cluster, with the evidence on both sides.
//!
//! Plain text without colours, the same on a terminal and in a file. Everything that came from
//! outside is made safe to print.

mod write;

#[cfg(test)]
pub(crate) mod example;

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::cycle::{ClusterView, Fleet};
use crate::finding::{Reason, RuleId, Severity};
use crate::incident::Incident;
use crate::printable::is_unsafe;
use crate::snapshot::ClusterName;

/// What was found in one cluster.
#[derive(Clone, Debug)]
pub struct Report {
    /// The cluster; empty where it has no name.
    pub cluster: ClusterName,
    /// The moment that was judged.
    pub now: Timestamp,
    /// GPUs by state.
    pub fleet: Fleet,
    /// Open incidents, worst first.
    pub open: Vec<Arc<Incident>>,
    /// Judgements that could not be made: a GPU can lack several.
    pub undecided: BTreeMap<(RuleId, Reason), u64>,
}

impl From<&ClusterView> for Report {
    fn from(view: &ClusterView) -> Self {
        Self {
            cluster: view.cluster.clone(),
            now: view.now,
            fleet: view.fleet,
            open: view.open.clone(),
            undecided: view.undecided.clone(),
        }
    }
}

impl Report {
    /// The worst severity that was found.
    #[must_use]
    pub fn worst(&self) -> Option<Severity> {
        self.open.iter().map(|incident| incident.severity).max()
    }

    /// How many judgements could not be made.
    #[must_use]
    pub fn undecided_total(&self) -> u64 {
        self.undecided.values().sum()
    }
}

/// The reports for people. The last line sums them up.
#[must_use]
pub fn text(reports: &[Report]) -> String {
    let mut text = String::new();
    for report in reports {
        write::cluster(&mut text, report);
        text.push('\n');
    }
    text.push_str(&total(reports));
    text.push('\n');
    text
}

/// `2 clusters: 3 incidents (1 critical, 2 warning), 4 judgements undecided`
fn total(reports: &[Report]) -> String {
    let incidents: usize = reports.iter().map(|report| report.open.len()).sum();
    let mut line = format!(
        "{}: {}",
        counted(reports.len() as u64, "cluster"),
        counted(incidents as u64, "incident")
    );
    let by_severity: Vec<_> = Severity::ALL
        .iter()
        .rev()
        .filter_map(|severity| {
            let open = reports.iter().flat_map(|report| &report.open);
            let count = open
                .filter(|incident| incident.severity == *severity)
                .count();
            (count > 0).then(|| format!("{count} {}", severity.as_str()))
        })
        .collect();
    // Writing to a String cannot fail.
    if !by_severity.is_empty() {
        let _ = write!(line, " ({})", by_severity.join(", "));
    }
    let undecided = reports.iter().map(Report::undecided_total).sum();
    let _ = write!(line, ", {} undecided", counted(undecided, "judgement"));
    line
}

fn counted(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// The reports for programs.
#[must_use]
pub fn json(reports: &[Report]) -> String {
    let clusters: Vec<_> = reports.iter().map(cluster_json).collect();
    let mut text = String::new();
    // JSON leaves characters alone that steer a terminal all the same. They can only stand
    // inside of strings, where an escape means the same.
    for c in format!("{:#}\n", json!({ "clusters": clusters })).chars() {
        if c != '\n' && is_unsafe(c) {
            let _ = write!(text, "\\u{:04x}", c as u32);
        } else {
            text.push(c);
        }
    }
    text
}

fn cluster_json(report: &Report) -> Value {
    let fleet = report.fleet;
    let undecided: Vec<_> = report
        .undecided
        .iter()
        .filter(|(_, subjects)| **subjects > 0)
        .map(|((rule, reason), subjects)| {
            json!({ "rule": rule, "reason": reason, "judgements": subjects })
        })
        .collect();
    json!({
        "cluster": report.cluster,
        "as_of": report.now,
        "gpus": { "ok": fleet.ok, "finding": fleet.finding, "unknown": fleet.unknown },
        "incidents": report.open.iter().map(|incident| incident_json(incident)).collect::<Vec<_>>(),
        "undecided": undecided,
    })
}

fn incident_json(incident: &Incident) -> Value {
    let place = incident.key.subject.place();
    json!({
        "incident": incident.id,
        "rule": incident.key.rule,
        "severity": incident.severity,
        "evidence": incident.grade(),
        "undecided": incident.undecided,
        "started": incident.started,
        "opened": incident.opened,
        "subject": write::subject(incident),
        "labels": {
            "namespace": place.namespace, "workload": place.workload, "pod": place.pod,
            "container": place.container, "node": place.node, "uuid": place.uuid,
        },
        "finding": *incident.finding,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_like_this() {
        insta::assert_snapshot!(text(&[example::report(), example::quiet()]), @r"
        Cluster prod-eu as of 2026-03-14 02:07:00 UTC
        8 GPUs observed: 6 ok, 1 with findings, 1 unknown

        CRITICAL  GPU-HEALTH-002  xid_79
          GPU 3 of node gpu-node-01 (GPU-5f3c)
          GPU 3 of gpu-node-01 reported XID 79 (fallen off the bus), which is consistent with a failed
          board, slot or power feed
          since 2026-03-14 02:05:15 UTC (1 min 45 s), evidence strong, incident 840879b5b84d

          Observed
            last XID          79     DCGM_FI_DEV_XID_ERRORS at 2026-03-14 02:05:15 UTC
            core temperature  61 °C  DCGM_FI_DEV_GPU_TEMP at 2026-03-14 02:05:15 UTC

          Supporting
            + the code changed from 0 to 79 between two scrapes, so that its time is known to within half a
              minute (DCGM_FI_DEV_XID_ERRORS, 2026-03-14 02:05:15 UTC)

          Contradicting
            - the other seven GPUs of the node are healthy (dcgm-exporter)

          Missing
            ? PCIe replays are not exported (pcie_replays)

          Time line
            2026-03-14 02:05:15 UTC  XID 79 first seen

          What to look at
            1. Read the node's conditions and events.
                 kubectl describe node gpu-node-01

        Not decided (neither a finding nor healthy)
          GPU-THERM-006  blind: 1 judgement

        Cluster lab as of 2026-03-14 02:07:00 UTC
        0 GPUs observed

        Nothing was found, and nothing seen.

        2 clusters: 1 incident (1 critical), 1 judgement undecided
        ");
    }

    #[test]
    fn hostile_text_reaches_no_terminal() {
        let mut report = example::report();
        let mut incident = (*report.open[0]).clone();
        let mut finding = (*incident.finding).clone();
        finding.summary = "gone\u{1b}[2J\u{9b}m\u{202e}".into();
        finding.facts[0].value = "1\n2".into();
        incident.finding = Arc::new(finding);
        report.open = vec![Arc::new(incident)];
        let text = text(std::slice::from_ref(&report));
        let json = json(&[report]);
        for c in ['\u{1b}', '\u{9b}', '\u{202e}'] {
            assert!(!text.contains(c) && !json.contains(c), "{c:?}");
        }
        assert!(text.contains("gone\\u{1b}[2J\\u{9b}m\\u{202e}"), "{text}");
        let value: Value = serde_json::from_str(&json).expect("JSON");
        let summary = &value["clusters"][0]["incidents"][0]["finding"]["summary"];
        assert_eq!(*summary, "gone\u{1b}[2J\u{9b}m\u{202e}");
    }

    #[test]
    fn json_has_what_the_text_has() {
        let value: Value = serde_json::from_str(&json(&[example::report()])).expect("JSON");
        let cluster = &value["clusters"][0];
        assert_eq!(cluster["as_of"], "2026-03-14T02:07:00Z");
        assert_eq!(cluster["gpus"]["finding"], 1);
        assert_eq!(cluster["undecided"][0]["reason"], "blind");
        let incident = &cluster["incidents"][0];
        assert_eq!(incident["severity"], "critical");
        assert_eq!(incident["labels"]["node"], "gpu-node-01");
        assert_eq!(incident["finding"]["cause"], "xid_79");
        assert_eq!(
            incident["finding"]["checklist"][0]["command"],
            "kubectl describe node gpu-node-01"
        );
    }
}
