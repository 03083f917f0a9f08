//! The query of the incident list: strict, for a filter that is silently ignored shows too much.

use jiff::Timestamp;

use super::published::Published;
use crate::finding::{Cause, Severity};
use crate::incident::Incident;
use crate::rules;
use crate::snapshot::ClusterName;

/// Incidents in one answer, unless the query says otherwise.
const DEFAULT_LIMIT: usize = 1_000;
/// The most incidents in one answer.
const LARGEST_LIMIT: usize = 10_000;

/// Which incidents are asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Filter {
    pub state: State,
    pub rule: Option<String>,
    pub cause: Option<String>,
    pub severity: Option<String>,
    pub namespace: Option<String>,
    pub workload: Option<String>,
    pub pod: Option<String>,
    pub node: Option<String>,
    pub uuid: Option<String>,
    pub cluster: Option<String>,
    /// Opened or ended since.
    pub since: Option<Timestamp>,
    pub limit: usize,
}

impl Default for Filter {
    fn default() -> Self {
        Self {
            state: State::Open,
            rule: None,
            cause: None,
            severity: None,
            namespace: None,
            workload: None,
            pod: None,
            node: None,
            uuid: None,
            cluster: None,
            since: None,
            limit: DEFAULT_LIMIT,
        }
    }
}

/// Which incidents, by their state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    Open,
    Closed,
    All,
}

const PARAMETERS: &str =
    "state, rule, cause, severity, namespace, workload, pod, node, uuid, cluster, since, limit";

impl Filter {
    /// Reads a query string. The error names the parameter and what is allowed.
    pub(super) fn parse(query: &str, published: &Published) -> Result<Self, String> {
        let mut filter = Self::default();
        let mut seen = Vec::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name)?;
            let value = decode(value)?;
            if seen.contains(&name) {
                return Err(format!(
                    "parameter `{name}` is given twice; once is allowed"
                ));
            }
            filter.set(&name, value, published)?;
            seen.push(name);
        }
        Ok(filter)
    }

    fn set(&mut self, name: &str, value: String, published: &Published) -> Result<(), String> {
        let wants = |allowed: &str| format!("`{name}` is `{}`; allowed: {allowed}", shown(&value));
        let one_of = |allowed: &[&str]| {
            let known = allowed.contains(&value.as_str());
            let value = known.then(|| Some(value.clone()));
            value.ok_or_else(|| wants(&allowed.join(", ")))
        };
        match name {
            "state" => {
                self.state = match value.as_str() {
                    "open" => State::Open,
                    "closed" => State::Closed,
                    "all" => State::All,
                    _ => return Err(wants("open, closed, all")),
                }
            }
            "rule" => {
                let ids: Vec<_> = rules::ALL.iter().map(|entry| entry.id.as_str()).collect();
                self.rule = one_of(&ids)?;
            }
            "cause" => self.cause = Some(cause(&value).map_err(|allowed| wants(&allowed))?),
            "severity" => self.severity = one_of(&Severity::ALL.map(Severity::as_str))?,
            "cluster" => {
                let known = published.cycles.iter().map(|(name, _)| name.as_str());
                self.cluster = one_of(&known.collect::<Vec<_>>())?;
            }
            "since" => {
                let at = time(&value);
                self.since =
                    Some(at.ok_or_else(|| wants("2026-01-31T08:00:00Z, or seconds since 1970"))?);
            }
            "limit" => {
                let limit = value
                    .parse()
                    .ok()
                    .filter(|n| (1..=LARGEST_LIMIT).contains(n));
                self.limit = limit.ok_or_else(|| wants(&format!("1 to {LARGEST_LIMIT}")))?;
            }
            "namespace" => self.namespace = Some(value),
            "workload" => self.workload = Some(value),
            "pod" => self.pod = Some(value),
            "node" => self.node = Some(value),
            "uuid" => self.uuid = Some(value),
            _ => {
                return Err(format!(
                    "unknown parameter `{}`; allowed: {PARAMETERS}",
                    shown(name)
                ));
            }
        }
        Ok(())
    }

    /// Whether an incident of a cluster is asked for.
    pub(super) fn takes(&self, cluster: &ClusterName, incident: &Incident) -> bool {
        let is = |want: &Option<String>, have: &str| want.as_ref().is_none_or(|want| want == have);
        let place = incident.key.subject.place();
        let latest = incident
            .closed
            .as_ref()
            .map_or(incident.opened, |closed| closed.at.max(incident.opened));
        is(&self.cluster, cluster.as_str())
            && is(&self.rule, incident.key.rule.as_str())
            && is(&self.cause, &incident.finding.cause.as_str())
            && is(&self.severity, incident.severity.as_str())
            && is(&self.namespace, place.namespace)
            && is(&self.workload, place.workload)
            && is(&self.pod, place.pod)
            && is(&self.node, place.node)
            && is(&self.uuid, place.uuid)
            && self.since.is_none_or(|since| latest >= since)
    }
}

/// A cause's label, or what is allowed instead.
fn cause(value: &str) -> Result<String, String> {
    let named: Vec<_> = Cause::NAMED.iter().map(|cause| cause.as_str()).collect();
    // The one spelling of a code: no sign, no leading zero.
    let code = value.strip_prefix("xid_").map(str::parse::<u16>);
    let is_xid = matches!(code, Some(Ok(code)) if Cause::Xid(code).as_str() == value);
    if is_xid || named.iter().any(|cause| *cause == value) {
        return Ok(value.to_owned());
    }
    Err(format!("xid_<code>, {}", named.join(", ")))
}

/// RFC 3339, or seconds since 1970 as Prometheus' API takes them.
fn time(text: &str) -> Option<Timestamp> {
    let seconds = text.parse::<f64>().ok().filter(|s| s.is_finite());
    match seconds {
        Some(seconds) => Timestamp::from_millisecond((seconds * 1000.0) as i64).ok(),
        None => text.parse().ok(),
    }
}

/// A value as an error shows it.
fn shown(value: &str) -> String {
    value.chars().take(64).collect()
}

/// Undoes the percent-encoding of a query's name or value.
fn decode(text: &str) -> Result<String, String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        bytes.push(match byte {
            b'+' => b' ',
            b'%' => match (hex(rest.next()), hex(rest.next())) {
                (Some(high), Some(low)) => (high * 16 + low) as u8,
                _ => return Err("the query has a `%` without two hex digits".to_owned()),
            },
            byte => byte,
        });
    }
    String::from_utf8(bytes).map_err(|_| "the query is not UTF-8".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::publish::{PublishOptions, Publisher};

    fn parse(query: &str) -> Result<Filter, String> {
        let publisher = Publisher::new(["prod".into()], PublishOptions::default());
        Filter::parse(query, &publisher.load())
    }

    #[test]
    fn good_queries() {
        assert_eq!(parse(""), Ok(Filter::default()));
        let filter = parse(
            "state=all&rule=GPU-HEALTH-002&cause=xid_79&severity=critical&namespace=ml%2Da&node=n+1\
             &cluster=prod&since=1764500000&limit=5&workload=Job%2Ftrain&pod=p&uuid=GPU-1",
        )
        .expect("all is known");
        assert_eq!(filter.state, State::All);
        assert_eq!(filter.namespace.as_deref(), Some("ml-a"));
        assert_eq!(filter.node.as_deref(), Some("n 1"));
        assert_eq!(filter.workload.as_deref(), Some("Job/train"));
        assert_eq!(filter.limit, 5);
        assert_eq!(
            filter.since,
            parse("since=2025-11-30T10:53:20Z").expect("a time").since
        );
        assert!(parse("cause=row_remap_failure").is_ok());
    }

    #[test]
    fn bad_queries_name_the_parameter_and_what_is_allowed() {
        for (query, want) in [
            (
                "stat=open",
                "unknown parameter `stat`; allowed: state, rule",
            ),
            ("state=opn", "`state` is `opn`; allowed: open, closed, all"),
            (
                "rule=HEALTH",
                "`rule` is `HEALTH`; allowed: GPU-HEALTH-002, ",
            ),
            (
                "cause=xid_x",
                "`cause` is `xid_x`; allowed: xid_<code>, row_remap_failure",
            ),
            (
                "severity=",
                "`severity` is ``; allowed: info, warning, critical",
            ),
            ("cluster=dev", "`cluster` is `dev`; allowed: prod"),
            ("since=yesterday", "`since` is `yesterday`; allowed: 2026-"),
            ("since=NaN", "`since` is `NaN`"),
            ("since=1e300", "`since` is `1e300`"),
            ("limit=0", "`limit` is `0`; allowed: 1 to 10000"),
            ("limit=10001", "`limit` is `10001`"),
            ("limit=-1", "`limit` is `-1`"),
            ("state=open&state=all", "parameter `state` is given twice"),
            ("node=%zz", "`%` without two hex digits"),
            ("node=%f", "`%` without two hex digits"),
            ("node=%ff", "not UTF-8"),
        ] {
            let error = parse(query).expect_err(query);
            assert!(error.contains(want), "{query}: {error}");
        }
    }
}
