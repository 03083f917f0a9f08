//! From a file and flags to a [`Config`], or to everything that is wrong with them.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::printable::printable;
use crate::snapshot::Span;
use crate::source::dcgm::Target;

use super::check::check;
use super::decode::decode;
use super::tree::{Node, Place};
use super::{Cluster, Config, KubernetesMode, ListenAddress, LogFormat, LogLevel, TelemetryPath};

/// What flags and environment variables say. They describe one cluster and win over the file.
#[derive(Clone, Debug, Default)]
pub struct Overrides {
    /// `--cycle.interval`
    pub interval: Option<Span>,
    /// `--web.listen-address`
    pub listen_address: Option<ListenAddress>,
    /// `--web.telemetry-path`
    pub telemetry_path: Option<TelemetryPath>,
    /// `--log.level`
    pub log_level: Option<LogLevel>,
    /// `--log.format`
    pub log_format: Option<LogFormat>,
    /// `--metrics.per-gpu`
    pub per_gpu: Option<bool>,
    /// `--kubernetes`
    pub kubernetes: Option<KubernetesMode>,
    /// `--dcgm.target`; replaces the file's targets.
    pub targets: Vec<Target>,
    /// `--recording`
    pub recordings: Vec<PathBuf>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Problem {
    /// Where in the file; `None` for what came by a flag.
    pub(super) place: Option<Place>,
    /// The key as a path; empty for the file as a whole.
    pub(super) key: String,
    /// What is wrong and what is allowed.
    pub(super) message: String,
}

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read the configuration {}: {source}", printable(&path.to_string_lossy()))]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// What it says cannot be.
    #[error("{}", listed(path.as_deref(), problems))]
    Invalid {
        /// The file, if there is one.
        path: Option<PathBuf>,
        /// Everything that is wrong, in the order of the file.
        problems: Vec<Problem>,
    },
}

/// One line a problem: `FILE:LINE:COLUMN: key: what is wrong`, as compilers do it.
fn listed(path: Option<&Path>, problems: &[Problem]) -> String {
    let file = path.map_or("configuration".into(), Path::to_string_lossy);
    let line = |problem: &Problem| {
        let mut parts = vec![printable(&file).into_owned()];
        if let Some(Place { line, column }) = problem.place {
            parts[0] = format!("{}:{line}:{column}", parts[0]);
        }
        if !problem.key.is_empty() {
            parts.push(printable(&problem.key).into_owned());
        }
        parts.push(printable(&problem.message).into_owned());
        parts.join(": ")
    };
    problems.iter().map(line).collect::<Vec<_>>().join("\n")
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&listed(None, std::slice::from_ref(self)))
    }
}

/// The configuration of a file, if one is given, with the flags over it.
pub fn load(path: Option<&Path>, overrides: Overrides) -> Result<Config, ConfigError> {
    let invalid = |problems| ConfigError::Invalid {
        path: path.map(Path::to_owned),
        problems,
    };
    let mut root = match path {
        None => None,
        Some(path) => Some(read(path)?),
    };
    let (mut config, mut problems) = match &mut root {
        None => (Config::default(), Vec::new()),
        Some(root) => decode::<Config>(root),
    };
    problems.extend(apply(&mut config, overrides));
    problems.extend(check(&config, root.as_ref()));
    if problems.is_empty() {
        return Ok(config);
    }
    problems.sort_by_key(|problem| (problem.place.is_none(), problem.place));
    Err(invalid(problems))
}

fn read(path: &Path) -> Result<Node, ConfigError> {
    let bytes = std::fs::read(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })?;
    parse(&bytes).map_err(|problem| ConfigError::Invalid {
        path: Some(path.to_owned()),
        problems: vec![problem],
    })
}

fn parse(bytes: &[u8]) -> Result<Node, Problem> {
    let whole = |place, message: String| Problem {
        place: Some(place),
        key: String::new(),
        message,
    };
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let before = &bytes[..error.valid_up_to()];
        let before = String::from_utf8_lossy(before);
        let last = before.rsplit('\n').next().unwrap_or_default();
        let place = Place {
            line: before.split('\n').count() as u64,
            column: 1 + last.chars().count() as u64,
        };
        whole(place, "not UTF-8; want YAML in UTF-8".into())
    })?;
    Node::parse(text).map_err(|error| {
        let place = error
            .location()
            .map_or(Place { line: 1, column: 1 }, Place::from);
        let text = error
            .without_snippet()
            .render_with_formatter(&serde_saphyr::UserMessageFormatter);
        // The library repeats the place behind its message.
        let text = text.split(" at line ").next().unwrap_or_default();
        whole(place, format!("not valid YAML: {text}"))
    })
}

/// Puts the flags over the file. The problems are those of flags that the file leaves no room for.
fn apply(config: &mut Config, flags: Overrides) -> Vec<Problem> {
    set(&mut config.cycle.interval, flags.interval);
    set(&mut config.web.listen_address, flags.listen_address);
    set(&mut config.web.telemetry_path, flags.telemetry_path);
    set(&mut config.log.level, flags.log_level);
    set(&mut config.log.format, flags.log_format);
    set(&mut config.metrics.per_gpu, flags.per_gpu);
    config.recordings = flags.recordings;

    let mut given = Vec::new();
    if flags.kubernetes.is_some() {
        given.push("--kubernetes");
    }
    if !flags.targets.is_empty() {
        given.push("--dcgm.target");
    }
    if given.is_empty() {
        return Vec::new();
    }
    if config.clusters.len() > 1 {
        let message = format!(
            "the file has {} clusters, and flags describe one; set it under `clusters` in the file",
            config.clusters.len()
        );
        let problem = |flag: &str| Problem {
            place: None,
            key: flag.to_owned(),
            message: message.clone(),
        };
        return given.into_iter().map(problem).collect();
    }
    if config.clusters.is_empty() {
        config.clusters.push(Cluster::default());
    }
    let cluster = &mut config.clusters[0];
    set(&mut cluster.kubernetes.enabled, flags.kubernetes);
    if !flags.targets.is_empty() {
        cluster.dcgm.targets = flags.targets;
    }
    Vec::new()
}

fn set<T>(value: &mut T, given: Option<T>) {
    if let Some(given) = given {
        *value = given;
    }
}

#[cfg(test)]
mod tests;
