//! The fold: judgements in, the life of incidents out.
//!
//! A pure function. Only `Clear` can resolve an incident, and only after it has lasted for the
//! rule's clear-hold. No judgement at all, or an undecided one, leaves the incident open and
//! marks it inconclusive: taking evidence away never makes anything healthy.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::finding::{
    Finding, Grade, IncidentId, Judgement, Key, Reason, Severity, Subject, Verdict,
};
use crate::snapshot::{ClusterSnapshot, ListState, NodeName, SourceId, SourceStatus, moved};

/// One incident: a subject's trouble under one rule, from its opening to its end.
#[derive(Clone, Debug, PartialEq)]
pub struct Incident {
    /// Its stable name.
    pub id: IncidentId,
    /// Its identity.
    pub key: Key,
    /// The latest finding.
    pub finding: Arc<Finding>,
    /// The severity that is shown: rises at once, falls only after the clear-hold.
    pub severity: Severity,
    /// The cycle that opened it.
    pub opened: Timestamp,
    /// The first evidence, over all its findings.
    pub started: Timestamp,
    /// The last cycle that found it.
    pub last_fired: Timestamp,
    /// Why it cannot be decided at present. The finding is then the last that could be made.
    pub undecided: Option<Reason>,
    /// Since when every judgement has been `Clear`.
    pub clear_since: Option<Timestamp>,
    /// Since when the findings have been milder than the severity shown.
    pub milder_since: Option<Timestamp>,
    /// How it ended, once it has.
    pub closed: Option<Closed>,
}

impl Incident {
    /// The evidence grade at present.
    #[must_use]
    pub fn grade(&self) -> Grade {
        if self.undecided.is_some() {
            Grade::Inconclusive
        } else {
            self.finding.grade
        }
    }
}

/// The end of an incident.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Closed {
    /// When.
    pub at: Timestamp,
    /// How.
    pub how: Closing,
    /// The incidents that it became part of.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub into: Vec<IncidentId>,
}

/// How an incident ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Closing {
    /// It was looked at and nothing was there, for as long as the rule asks.
    Resolved,
    /// Its subject is no more. Not a recovery.
    SubjectGone,
    /// It is over by its age. Not a recovery.
    Expired,
    /// It became part of another.
    Merged,
}

impl Closing {
    /// Every way to end.
    pub const ALL: [Self; 4] = [
        Self::Resolved,
        Self::SubjectGone,
        Self::Expired,
        Self::Merged,
    ];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Resolved => "resolved",
            Self::SubjectGone => "subject_gone",
            Self::Expired => "expired",
            Self::Merged => "merged",
        }
    }
}

/// What happened to an incident in one cycle.
#[derive(Clone, Debug, PartialEq)]
pub enum Transition {
    /// It was opened.
    Opened(Arc<Incident>),
    /// Its severity changed; the incident is as it is after the change.
    Severity {
        /// The incident.
        incident: Arc<Incident>,
        /// The severity before.
        from: Severity,
    },
    /// It ended.
    Closed(Arc<Incident>),
}

/// The open incidents of a cluster.
pub type Open = BTreeMap<Key, Arc<Incident>>;

/// Applies one cycle's judgements to the open incidents.
///
/// `judgements` are sorted by key, one a key. The result depends on nothing but the arguments.
#[must_use]
pub fn fold(
    open: &Open,
    judgements: &[Judgement],
    snapshot: &ClusterSnapshot,
) -> (Open, Vec<Transition>) {
    let now = snapshot.now;
    let ends = Ends::new(snapshot);
    let by_key: BTreeMap<&Key, &Judgement> = judgements.iter().map(|j| (&j.key, j)).collect();
    let mut next = Open::new();
    let mut transitions = Vec::new();

    for (key, incident) in open {
        let judgement = by_key.get(key).copied();
        let mut incident = Incident::clone(incident);
        let before = incident.severity;
        if let Some(closed) = step(&mut incident, judgement, &ends) {
            incident.closed = Some(closed);
            transitions.push(Transition::Closed(Arc::new(incident)));
        } else {
            let incident = Arc::new(incident);
            if incident.severity != before {
                transitions.push(Transition::Severity {
                    incident: incident.clone(),
                    from: before,
                });
            }
            next.insert(key.clone(), incident);
        }
    }
    for judgement in judgements {
        if let Verdict::Fires(finding) = &judgement.verdict
            && !open.contains_key(&judgement.key)
        {
            let incident = Arc::new(opened(judgement, finding, snapshot, now));
            transitions.push(Transition::Opened(incident.clone()));
            next.insert(judgement.key.clone(), incident);
        }
    }
    (next, transitions)
}

fn opened(
    judgement: &Judgement,
    finding: &Finding,
    snapshot: &ClusterSnapshot,
    now: Timestamp,
) -> Incident {
    Incident {
        id: judgement.key.incident_id(&snapshot.cluster),
        key: judgement.key.clone(),
        finding: Arc::new(finding.clone()),
        severity: finding.severity,
        opened: now,
        started: finding.started.min(now),
        last_fired: now,
        undecided: None,
        clear_since: None,
        milder_since: None,
        closed: None,
    }
}

/// Moves an incident's own times along with a clock that was set. What it found keeps the times
/// that were observed.
pub(crate) fn shift(incident: &mut Incident, by: SignedDuration) {
    for at in [
        &mut incident.opened,
        &mut incident.started,
        &mut incident.last_fired,
    ] {
        *at = moved(*at, by);
    }
    for at in [&mut incident.clear_since, &mut incident.milder_since]
        .into_iter()
        .flatten()
    {
        *at = moved(*at, by);
    }
    if let Some(closed) = &mut incident.closed {
        closed.at = moved(closed.at, by);
    }
}

/// One cycle in the life of an open incident; `Some` where it ends.
fn step(incident: &mut Incident, judgement: Option<&Judgement>, ends: &Ends<'_>) -> Option<Closed> {
    let now = ends.snapshot.now;
    let end = |how| {
        Some(Closed {
            at: now,
            how,
            into: Vec::new(),
        })
    };
    let subject = &incident.key.subject;
    let Some(judgement) = judgement else {
        if ends.is_gone(subject) {
            return end(Closing::SubjectGone);
        }
        return undecided(incident, Reason::Blind);
    };
    if moved_away(subject, &judgement.key.subject) {
        return end(Closing::SubjectGone);
    }
    match &judgement.verdict {
        Verdict::Fires(finding) => {
            fires(incident, finding, judgement.clear_hold, now);
            None
        }
        Verdict::Holds => {
            incident.undecided = None;
            incident.clear_since = None;
            None
        }
        Verdict::Clear => {
            incident.undecided = None;
            let since = *incident.clear_since.get_or_insert(now);
            if now.duration_since(since) >= judgement.clear_hold {
                end(Closing::Resolved)
            } else {
                None
            }
        }
        Verdict::Expired => end(Closing::Expired),
        Verdict::Merged(into) => Some(Closed {
            at: now,
            how: Closing::Merged,
            into: into
                .iter()
                .map(|key| key.incident_id(&ends.snapshot.cluster))
                .collect(),
        }),
        Verdict::Undecided(_) if ends.is_gone(subject) => end(Closing::SubjectGone),
        Verdict::Undecided(reason) => undecided(incident, *reason),
    }
}

/// What cannot be decided stays as it was, and starts the wait for `Clear` anew.
fn undecided(incident: &mut Incident, reason: Reason) -> Option<Closed> {
    incident.undecided = Some(reason);
    incident.clear_since = None;
    None
}

fn fires(incident: &mut Incident, finding: &Finding, hold: SignedDuration, now: Timestamp) {
    incident.undecided = None;
    incident.clear_since = None;
    incident.last_fired = now;
    incident.started = incident.started.min(finding.started);
    if finding.severity >= incident.severity {
        incident.severity = finding.severity;
        incident.milder_since = None;
    } else {
        let since = *incident.milder_since.get_or_insert(now);
        if now.duration_since(since) >= hold {
            incident.severity = finding.severity;
            incident.milder_since = None;
        }
    }
    // The same finding again is the common case: keep the one that is shared already.
    if *incident.finding != *finding {
        incident.finding = Arc::new(finding.clone());
    }
}

/// What the lists tell of subjects that are no more, looked up once a cycle.
struct Ends<'a> {
    snapshot: &'a ClusterSnapshot,
    urls: BTreeSet<&'a str>,
    nodes_with_target: BTreeSet<&'a NodeName>,
    /// Every target's node is known: none can be the one that told of a node without a target.
    all_named: bool,
}

impl<'a> Ends<'a> {
    fn new(snapshot: &'a ClusterSnapshot) -> Self {
        let dcgm = |status: &&SourceStatus| status.id == SourceId::Dcgm;
        let targets = || {
            snapshot
                .sources
                .iter()
                .filter(dcgm)
                .flat_map(|status| &status.targets)
        };
        Self {
            snapshot,
            urls: targets().map(|target| &*target.url).collect(),
            nodes_with_target: targets()
                .filter_map(|target| target.node.as_ref())
                .collect(),
            all_named: snapshot.sources.iter().any(|status| dcgm(&status))
                && targets().all(|target| target.node.is_some()),
        }
    }

    /// Whether a subject is known to exist no more: absence from a complete and fresh list, never
    /// absence of telemetry.
    fn is_gone(&self, subject: &Subject) -> bool {
        let snapshot = self.snapshot;
        match subject {
            Subject::Cluster => false,
            Subject::Source(source) => !snapshot.sources.iter().any(|status| status.id == *source),
            Subject::Target { url, .. } => !self.urls.contains(&**url),
            Subject::Node(node) => self.node_is_gone(node),
            Subject::Gpu { node, uuid } => {
                let board = snapshot.gpus.binary_search_by(|gpu| gpu.uuid.cmp(uuid));
                // Another board sits in its place, or nobody has named it for so long that even
                // history, which must know more than its own beginning, has forgotten it.
                let ended = if let Ok(at) = board {
                    snapshot.gpus[at].replaced_by.is_some()
                } else {
                    let watched = snapshot.now.duration_since(snapshot.history_start);
                    watched > snapshot.limits.forget_after.get()
                };
                ended || node.as_ref().is_some_and(|node| self.node_is_gone(node))
            }
            Subject::Pod { uid, .. } => {
                let pods = snapshot.inventory.complete.pods;
                self.is_complete(pods) && !snapshot.inventory.pods.contains_key(uid)
            }
        }
    }

    fn is_complete(&self, list: ListState) -> bool {
        list.is_complete(self.snapshot.now, self.snapshot.limits.stale_after.get())
    }

    /// A node is gone when no complete list has it: the API's, where Kubernetes is a source, and
    /// the configured targets', which are always complete.
    fn node_is_gone(&self, node: &NodeName) -> bool {
        let inventory = &self.snapshot.inventory;
        let nodes = inventory.complete.nodes;
        let not_listed = match nodes {
            ListState::NotConfigured => self.all_named,
            _ => self.is_complete(nodes) && !inventory.nodes.contains_key(node),
        };
        not_listed && !self.nodes_with_target.contains(node)
    }
}

/// Whether a board that is judged now sits on another node than where the incident was opened.
fn moved_away(opened: &Subject, judged: &Subject) -> bool {
    match (opened, judged) {
        (
            Subject::Gpu {
                node: Some(from), ..
            },
            Subject::Gpu { node: Some(to), .. },
        ) => from != to,
        _ => false,
    }
}

#[cfg(test)]
mod tests;
