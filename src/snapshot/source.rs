//! How a source and its targets are doing. A source's failure is data, never a crash.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::{Completeness, NodeName, moved};

/// The kinds of source; a cluster has each at most once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceId {
    /// dcgm-exporter endpoints.
    Dcgm,
    /// The Kubernetes API.
    Kubernetes,
}

impl SourceId {
    /// Every kind.
    pub const ALL: [Self; 2] = [Self::Dcgm, Self::Kubernetes];

    /// The label value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dcgm => "dcgm",
            Self::Kubernetes => "kubernetes",
        }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a source is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SourceState {
    /// Configured, not yet tried.
    Pending,
    /// At least one of its endpoints answers.
    Up,
    /// None of its endpoints answers.
    Down,
}

/// How a target is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetState {
    /// Not yet tried.
    Pending,
    /// The last attempt succeeded.
    Up,
    /// The last attempt failed.
    Down,
}

impl TargetState {
    /// Every state.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Up, Self::Down];

    /// The label value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Up => "up",
            Self::Down => "down",
        }
    }
}

/// What went wrong with a request, as a closed set (a metric label).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorKind {
    /// The name does not resolve.
    Dns,
    /// Nothing listens there.
    Refused,
    /// No answer, or not all of it, inside the deadline.
    Timeout,
    /// The TLS handshake failed.
    Tls,
    /// 401.
    Unauthorized,
    /// 403.
    Forbidden,
    /// A redirect; none is followed.
    Redirect,
    /// Another 4xx.
    ClientError,
    /// 5xx.
    ServerError,
    /// The body is larger than the limit.
    TooLarge,
    /// The connection ended inside the body.
    Truncated,
    /// A 200 whose body is not exposition text (an HTML page, binary data).
    NotMetrics,
    /// Anything else below HTTP.
    Protocol,
}

impl ErrorKind {
    /// Every kind.
    pub const ALL: [Self; 13] = [
        Self::Dns,
        Self::Refused,
        Self::Timeout,
        Self::Tls,
        Self::Unauthorized,
        Self::Forbidden,
        Self::Redirect,
        Self::ClientError,
        Self::ServerError,
        Self::TooLarge,
        Self::Truncated,
        Self::NotMetrics,
        Self::Protocol,
    ];

    /// The label value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Refused => "refused",
            Self::Timeout => "timeout",
            Self::Tls => "tls",
            Self::Unauthorized => "unauthorized",
            Self::Forbidden => "forbidden",
            Self::Redirect => "redirect",
            Self::ClientError => "client_error",
            Self::ServerError => "server_error",
            Self::TooLarge => "too_large",
            Self::Truncated => "truncated",
            Self::NotMetrics => "not_metrics",
            Self::Protocol => "protocol",
        }
    }
}

/// What went wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceError {
    /// The kind.
    pub kind: ErrorKind,
    /// For people: what was attempted and what came back. Never holds a credential.
    pub message: String,
}

/// One endpoint of a source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetStatus {
    /// Its URL, without credentials.
    pub url: Arc<str>,
    /// The node whose GPUs it tells about, where known.
    #[serde(default)]
    pub node: Option<NodeName>,
    /// How it is doing.
    pub state: TargetState,
    /// When it became a target.
    pub since: Timestamp,
    /// The last attempt.
    #[serde(default)]
    pub last_attempt: Option<Timestamp>,
    /// The last attempt that succeeded.
    #[serde(default)]
    pub last_success: Option<Timestamp>,
    /// The last error, while it is down.
    #[serde(default)]
    pub error: Option<SourceError>,
    /// Boards named in the last good body.
    #[serde(default)]
    pub gpus: u32,
    /// Since when good bodies have named no GPU.
    #[serde(default)]
    pub empty_since: Option<Timestamp>,
    /// Its exporter is being rolled out: an absence is expected for a while.
    #[serde(default)]
    pub rolling_out: bool,
    /// Samples of the last good body.
    #[serde(default)]
    pub samples: u64,
    /// Samples of known metrics in it that name no GPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unlabelled: Option<Unlabelled>,
    /// Seconds that the last attempt took.
    #[serde(default)]
    pub duration_seconds: f64,
    /// Things worth knowing that are not errors (two targets name one GPU …), for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
}

/// Samples of known metrics whose labels name no GPU: consistent with a recording rule or a relay
/// that aggregated the labels away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unlabelled {
    /// How many.
    pub samples: u64,
    /// The name of one such metric.
    pub example: Arc<str>,
}

impl fmt::Display for Unlabelled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, example) = (self.samples, &self.example);
        let (samples, carry) = if count == 1 {
            ("sample", "carries")
        } else {
            ("samples", "carry")
        };
        write!(
            f,
            "{count} {samples} of known metrics {carry} no GPU label (e.g. {example}): labels may \
             have been aggregated away"
        )
    }
}

/// How a source as a whole is doing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SourceStatus {
    /// Which source.
    pub id: SourceId,
    /// How it is doing.
    pub state: SourceState,
    /// Since when the source has been watched.
    pub since: Timestamp,
    /// The last attempt.
    #[serde(default)]
    pub last_attempt: Option<Timestamp>,
    /// The last attempt that succeeded somewhere.
    #[serde(default)]
    pub last_success: Option<Timestamp>,
    /// The last error of the source as a whole, while it is down.
    #[serde(default)]
    pub error: Option<SourceError>,
    /// Its targets, sorted by node and URL.
    #[serde(default)]
    pub targets: Vec<TargetStatus>,
    /// How far its lists can be trusted. Kubernetes only.
    #[serde(default)]
    pub lists: Option<Completeness>,
    /// Failed attempts by kind, since start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<ErrorKind, u64>,
    /// Lines and values that were not taken, by reason, since start.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub rejected: BTreeMap<String, u64>,
    /// Seconds that the last round took, from its first request to its last answer; of attempts
    /// that are spread over the interval, the longest.
    #[serde(default)]
    pub duration_seconds: f64,
}

impl TargetStatus {
    /// Moves its own times along with a clock that was set.
    pub fn shift(&mut self, by: SignedDuration) {
        self.since = moved(self.since, by);
        for at in [
            &mut self.last_attempt,
            &mut self.last_success,
            &mut self.empty_since,
        ] {
            *at = at.map(|at| moved(at, by));
        }
    }
}

impl SourceStatus {
    /// Moves its own times along with a clock that was set.
    pub fn shift(&mut self, by: SignedDuration) {
        self.since = moved(self.since, by);
        for at in [&mut self.last_attempt, &mut self.last_success] {
            *at = at.map(|at| moved(at, by));
        }
        for target in &mut self.targets {
            target.shift(by);
        }
        if let Some(lists) = &mut self.lists {
            for list in [&mut lists.nodes, &mut lists.pods, &mut lists.events] {
                if let super::ListState::Synced(at) = list {
                    *at = moved(*at, by);
                }
            }
        }
    }

    /// Whether everything was tried once, with whatever outcome.
    #[must_use]
    pub fn is_tried(&self) -> bool {
        let lists_known = self.lists.is_none_or(|lists| {
            [lists.nodes, lists.pods, lists.events]
                .iter()
                .all(|list| *list != super::ListState::Pending)
        });
        self.state != SourceState::Pending
            && lists_known
            && self
                .targets
                .iter()
                .all(|target| target.state != TargetState::Pending)
    }
}
