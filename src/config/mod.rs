//! The configuration: one validated [`Config`], whatever it was given by.
//!
//! Flags and their environment variables win over the file, the file over the defaults. The
//! file is strict: a key that is not known is an error, and every problem of a file is listed
//! with line, column and what is allowed.

mod check;
mod decode;
mod load;
mod tree;
mod value;

use std::path::PathBuf;

use serde::Deserialize;

use crate::rules::RuleConfig;
use crate::snapshot::{ClusterName, Limits, Span};
use crate::source::dcgm::DcgmConfig;

pub use load::{ConfigError, Overrides, Problem, load};
pub use value::{KubernetesMode, ListenAddress, LogFormat, LogLevel, TelemetryPath, target};

/// Everything that can be set.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The evaluation.
    pub cycle: Cycle,
    /// The HTTP server.
    pub web: Web,
    /// The log.
    pub log: Log,
    /// What `/metrics` holds.
    pub metrics: Metrics,
    /// Thresholds of telemetry itself.
    pub limits: Limits,
    /// Thresholds and exclusions of each rule.
    pub rules: RuleConfig,
    /// The clusters to watch.
    pub clusters: Vec<Cluster>,
    /// Recordings that are served instead of live sources. A flag only: a file describes a
    /// service, a recording is somebody's question of the day.
    #[serde(skip)]
    pub recordings: Vec<PathBuf>,
}

/// The evaluation.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cycle {
    /// How often clusters are evaluated and targets scraped: 1 s to 10 min. Default 15 s.
    pub interval: Span,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            interval: Span::seconds(15),
        }
    }
}

/// The HTTP server.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Web {
    /// Where to listen. Default `:9836`.
    pub listen_address: ListenAddress,
    /// Where metrics are. Default `/metrics`.
    pub telemetry_path: TelemetryPath,
}

/// The log.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// How much. Default `info`.
    pub level: LogLevel,
    /// How it looks. Default `logfmt`.
    pub format: LogFormat,
}

impl Default for Log {
    fn default() -> Self {
        Self {
            level: LogLevel::Info,
            format: LogFormat::Logfmt,
        }
    }
}

/// What `/metrics` holds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Metrics {
    /// Whether there are series for each GPU and target. Default true.
    pub per_gpu: bool,
    /// How many incidents have series; the mildest are left out beyond it. Default 10,000.
    pub max_incident_series: u32,
}

impl Default for Metrics {
    fn default() -> Self {
        Self {
            per_gpu: true,
            max_incident_series: 10_000,
        }
    }
}

/// One cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Cluster {
    /// Its name, the `cluster` label. May be left out where there is one cluster.
    pub name: ClusterName,
    /// The Kubernetes API.
    pub kubernetes: Kubernetes,
    /// dcgm-exporter: the section belongs to the source, its contradictions are found here.
    #[serde(deserialize_with = "value::dcgm")]
    pub dcgm: DcgmConfig,
}

/// The Kubernetes API as a source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Kubernetes {
    /// Whether it is one. Default `off`.
    pub enabled: KubernetesMode,
}

impl Config {
    /// Whether there is anything to look at.
    #[must_use]
    pub fn has_source(&self) -> bool {
        !self.recordings.is_empty()
            || self
                .clusters
                .iter()
                .any(|cluster| !cluster.dcgm.targets.is_empty())
    }
}
