//! The JSON API: Prometheus' envelope, times as RFC 3339 in UTC, keys in a fixed order.

use std::collections::BTreeMap;
use std::sync::Arc;

use hyper::StatusCode;
use jiff::Timestamp;
use serde::Serialize;

use super::filter::{Filter, State};
use super::published::Published;
use super::response::{Answer, JSON, answer};
use crate::cycle::ClusterView;
use crate::finding::{Cause, Evidence, Fact, Grade, IncidentId, Reason, RuleId, Severity, Step};
use crate::incident::{Closed, Incident};
use crate::rules;
use crate::snapshot::{ClusterName, SourceStatus, Threshold};

/// Prometheus' envelope of an answer.
#[derive(Serialize)]
struct Success<T> {
    status: &'static str,
    data: T,
}

#[derive(Serialize)]
struct Failure<'a> {
    status: &'static str,
    #[serde(rename = "errorType")]
    kind: &'static str,
    error: &'a str,
}

fn success<T: Serialize>(data: T) -> Answer {
    let success = Success {
        status: "success",
        data,
    };
    match serde_json::to_vec(&success) {
        Ok(body) => answer(StatusCode::OK, JSON, body),
        Err(error) => failure(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string()),
    }
}

/// An error in the envelope.
pub(super) fn failure(status: StatusCode, error: &str) -> Answer {
    let kind = match status {
        StatusCode::BAD_REQUEST => "bad_data",
        StatusCode::NOT_FOUND => "not_found",
        StatusCode::SERVICE_UNAVAILABLE => "unavailable",
        _ => "internal",
    };
    let failure = Failure {
        status: "error",
        kind,
        error,
    };
    answer(
        status,
        JSON,
        serde_json::to_vec(&failure).unwrap_or_default(),
    )
}

#[derive(Serialize)]
struct Incidents<'a> {
    /// How many match, which may be more than are listed.
    total: usize,
    incidents: Vec<IncidentJson<'a>>,
}

#[derive(Serialize)]
struct IncidentJson<'a> {
    id: IncidentId,
    cluster: &'a ClusterName,
    rule: RuleId,
    title: &'static str,
    cause: Cause,
    state: &'static str,
    severity: Severity,
    evidence: Grade,
    undecided: Option<Reason>,
    summary: &'a str,
    place: PlaceJson<'a>,
    gpu: Option<u32>,
    start: Timestamp,
    opened: Timestamp,
    last_fired: Timestamp,
    clear_since: Option<Timestamp>,
    closed: Option<&'a Closed>,
    facts: &'a [Fact],
    supporting: &'a [Evidence],
    contradicting: &'a [Evidence],
    missing: &'a [Evidence],
    timeline: &'a [Evidence],
    checklist: &'a [Step],
}

#[derive(Serialize)]
struct PlaceJson<'a> {
    namespace: &'a str,
    workload: &'a str,
    pod: &'a str,
    container: &'a str,
    node: &'a str,
    uuid: &'a str,
}

impl<'a> IncidentJson<'a> {
    fn new(cluster: &'a ClusterName, incident: &'a Incident) -> Self {
        let finding = &*incident.finding;
        let place = incident.key.subject.place();
        Self {
            id: incident.id,
            cluster,
            rule: incident.key.rule,
            title: rules::entry(incident.key.rule).map_or("", |entry| entry.title),
            cause: finding.cause,
            state: match incident.closed {
                Some(_) => "closed",
                None => "open",
            },
            severity: incident.severity,
            evidence: incident.grade(),
            undecided: incident.undecided,
            summary: &finding.summary,
            place: PlaceJson {
                namespace: place.namespace,
                workload: place.workload,
                pod: place.pod,
                container: place.container,
                node: place.node,
                uuid: place.uuid,
            },
            gpu: finding.gpu,
            start: incident.started,
            opened: incident.opened,
            last_fired: incident.last_fired,
            clear_since: incident.clear_since,
            closed: incident.closed.as_ref(),
            facts: &finding.facts,
            supporting: &finding.supporting,
            contradicting: &finding.contradicting,
            missing: &finding.missing,
            timeline: &finding.timeline,
            checklist: &finding.checklist,
        }
    }
}

/// The incidents that a filter takes: clusters by name, open ones first and worst first.
pub(super) fn chosen<'a>(
    published: &'a Published,
    filter: &'a Filter,
) -> impl Iterator<Item = (&'a ClusterView, &'a Arc<Incident>)> {
    let shown = published.clusters.iter().filter(|view| view.warm);
    shown.flat_map(move |view| {
        let open = (filter.state != State::Closed).then_some(&view.open);
        let closed = (filter.state != State::Open).then_some(&view.closed);
        let all = open.into_iter().chain(closed).flatten();
        all.filter(|incident| filter.takes(&view.cluster, incident))
            .map(|incident| (&**view, incident))
    })
}

/// `/api/v1/incidents`
pub(super) fn incidents(published: &Published, filter: &Filter) -> Answer {
    let mut total = 0;
    let mut incidents = Vec::new();
    for (view, incident) in chosen(published, filter) {
        total += 1;
        if incidents.len() < filter.limit {
            incidents.push(IncidentJson::new(&view.cluster, incident));
        }
    }
    success(Incidents { total, incidents })
}

/// `/api/v1/incidents/{id}`: the open one, else the last that ended.
pub(super) fn incident(published: &Published, id: &str) -> Answer {
    let views = published.clusters.iter().filter(|view| view.warm);
    let found = parse_id(id).and_then(|id| {
        views
            .clone()
            .flat_map(|view| view.open.iter().map(move |incident| (view, incident)))
            .chain(
                views
                    .clone()
                    .flat_map(|view| view.closed.iter().map(move |incident| (view, incident))),
            )
            .find(|(_, incident)| incident.id == id)
    });
    match found {
        Some((view, incident)) => success(IncidentJson::new(&view.cluster, incident)),
        None => failure(
            StatusCode::NOT_FOUND,
            "no incident with this id is open or ended in the last 24 hours; \
             an id is 12 hex digits, see /api/v1/incidents?state=all",
        ),
    }
}

/// 12 lower-case hex digits, the one spelling of an id.
fn parse_id(text: &str) -> Option<IncidentId> {
    let hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let valid = text.len() == 12 && text.bytes().all(hex);
    let id = valid.then(|| u64::from_str_radix(text, 16))?;
    id.ok().map(IncidentId)
}

#[derive(Serialize)]
struct SourcesJson<'a> {
    clusters: Vec<ClusterSources<'a>>,
}

#[derive(Serialize)]
struct ClusterSources<'a> {
    cluster: &'a ClusterName,
    as_of: Timestamp,
    evaluated: Timestamp,
    recorded: bool,
    warm: bool,
    sources: &'a [SourceStatus],
}

/// `/api/v1/sources`
pub(super) fn sources(published: &Published) -> Answer {
    let clusters = published.clusters.iter().map(|view| ClusterSources {
        cluster: &view.cluster,
        as_of: view.now,
        evaluated: view.evaluated,
        recorded: view.recorded,
        warm: view.warm,
        sources: &view.sources,
    });
    success(SourcesJson {
        clusters: clusters.collect(),
    })
}

#[derive(Serialize)]
struct RulesJson<'a> {
    rules: Vec<RuleJson<'a>>,
}

#[derive(Serialize)]
struct RuleJson<'a> {
    id: RuleId,
    name: &'static str,
    title: &'static str,
    thresholds: Vec<Threshold>,
    clusters: Vec<RuleRunJson<'a>>,
    specification: String,
}

#[derive(Serialize)]
struct RuleRunJson<'a> {
    cluster: &'a ClusterName,
    success: bool,
    duration_seconds: f64,
    excluded: u64,
    undecided: BTreeMap<&'static str, u64>,
}

/// `/api/v1/rules`
pub(super) fn all_rules(published: &Published) -> Answer {
    let rules = rules::ALL.iter().map(|entry| RuleJson {
        id: entry.id,
        name: entry.name,
        title: entry.title,
        thresholds: (entry.build)(&published.options.rules).thresholds(),
        clusters: published
            .clusters
            .iter()
            .filter_map(|view| run(view, entry.id))
            .collect(),
        specification: rules::specification(entry),
    });
    success(RulesJson {
        rules: rules.collect(),
    })
}

fn run(view: &ClusterView, rule: RuleId) -> Option<RuleRunJson<'_>> {
    let run = view.rules.iter().find(|run| run.rule == rule)?;
    let undecided = view.undecided.iter().filter(|((of, _), _)| *of == rule);
    Some(RuleRunJson {
        cluster: &view.cluster,
        success: run.success,
        duration_seconds: run.duration.as_secs_f64(),
        excluded: run.excluded,
        undecided: undecided
            .map(|((_, reason), count)| (reason.as_str(), *count))
            .collect(),
    })
}
