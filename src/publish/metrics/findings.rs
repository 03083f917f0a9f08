//! The families of findings.

use std::collections::BTreeMap;
use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::Page;
use super::budget::{Shown, choose};
use super::label::Label;
use super::row::{Row, family};
use crate::finding::{Grade, IncidentId, Key, Reason, RuleId, Severity};
use crate::publish::catalogue as c;
use crate::publish::published::seconds;
use crate::rules;

pub(super) fn encode(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let shares = (page.clusters.len() * rules::ALL.len()).max(1);
    let share = page.options.series_budget / shares;
    let shown: Vec<_> = page.warm().map(|view| choose(view, share)).collect();

    active(&shown, encoder)?;
    attributes(&shown, encoder)?;
    let dropped = shown.iter().flat_map(|shown| {
        let cluster = shown.view.cluster.as_str();
        shown
            .dropped
            .iter()
            .map(move |(rule, count)| Row::new(cluster, [rule.as_str().into()], *count))
    });
    counts(page, encoder)?;
    undecided(page, encoder)?;
    family(encoder, &c::INCIDENTS_DROPPED, dropped)?;
    fleet(page, encoder)
}

fn active(shown: &[Shown<'_>], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = shown.iter().flat_map(|shown| {
        let cluster = shown.view.cluster.as_str();
        let open = shown
            .open
            .iter()
            .map(move |i| active_row(cluster, &i.key, i.severity, i.id, 1));
        let ended = shown
            .zeros
            .iter()
            .map(move |zero| active_row(cluster, &zero.key, zero.severity, zero.id, 0));
        open.chain(ended)
    });
    family(encoder, &c::INCIDENT_ACTIVE, rows)
}

fn active_row<'a>(
    cluster: &'a str,
    key: &'a Key,
    severity: Severity,
    id: IncidentId,
    value: u64,
) -> Row<'a, 9> {
    let place = key.subject.place();
    let labels = [
        key.rule.as_str().into(),
        severity.as_str().into(),
        place.namespace.into(),
        place.workload.into(),
        place.pod.into(),
        place.container.into(),
        place.node.into(),
        place.uuid.into(),
        Label::Incident(id),
    ];
    Row::new(cluster, labels, value)
}

fn attributes(shown: &[Shown<'_>], encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let open = || {
        shown.iter().flat_map(|shown| {
            let cluster = shown.view.cluster.as_str();
            shown.open.iter().map(move |incident| (cluster, *incident))
        })
    };
    let info = open().map(|(cluster, incident)| {
        let labels = [
            Label::Incident(incident.id),
            incident.key.rule.as_str().into(),
            Label::Cause(incident.finding.cause),
            incident.grade().as_str().into(),
            Label::Number(incident.finding.gpu),
        ];
        Row::new(cluster, labels, 1)
    });
    family(encoder, &c::INCIDENT_INFO, info)?;
    let starts = open().map(|(cluster, incident)| {
        let labels = [
            Label::Incident(incident.id),
            incident.key.rule.as_str().into(),
        ];
        Row::new(cluster, labels, seconds(incident.started))
    });
    family(encoder, &c::INCIDENT_START_TIMESTAMP_SECONDS, starts)
}

fn counts(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let open = page.warm().flat_map(|view| {
        let mut counts: BTreeMap<(RuleId, Severity, Grade), u64> = BTreeMap::new();
        for incident in &view.open {
            let key = (incident.key.rule, incident.severity, incident.grade());
            *counts.entry(key).or_default() += 1;
        }
        let mut rows = Vec::new();
        for entry in rules::ALL {
            for severity in Severity::ALL {
                for grade in Grade::ALL {
                    let count = counts.get(&(entry.id, severity, grade));
                    let labels = [entry.id.as_str(), severity.as_str(), grade.as_str()];
                    let labels = labels.map(Label::Text);
                    rows.push(Row::new(
                        view.cluster.as_str(),
                        labels,
                        count.copied().unwrap_or(0),
                    ));
                }
            }
        }
        rows
    });
    family(encoder, &c::INCIDENTS, open)
}

fn undecided(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = page.warm().flat_map(|view| {
        rules::ALL.iter().flat_map(move |entry| {
            Reason::ALL.into_iter().map(move |reason| {
                let count = view.undecided.get(&(entry.id, reason)).copied();
                let labels = [entry.id.as_str().into(), reason.as_str().into()];
                Row::new(view.cluster.as_str(), labels, count.unwrap_or(0))
            })
        })
    });
    family(encoder, &c::RULE_UNDECIDED, rows)?;
    let signals = page.warm().flat_map(|view| {
        view.signals
            .iter()
            .flat_map(move |(signal, available, missing)| {
                [("available", *available), ("missing", *missing)].map(|(state, count)| {
                    let labels = [signal.spec().name.into(), state.into()];
                    Row::new(view.cluster.as_str(), labels, count)
                })
            })
    });
    family(encoder, &c::SIGNAL_GPUS, signals)
}

fn fleet(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = page.warm().flat_map(|view| {
        let states = [
            ("ok", view.fleet.ok),
            ("finding", view.fleet.finding),
            ("unknown", view.fleet.unknown),
        ];
        states.map(|(state, count)| Row::new(view.cluster.as_str(), [state.into()], count))
    });
    family(encoder, &c::FLEET_GPUS, rows)
}
