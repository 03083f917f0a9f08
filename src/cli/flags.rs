//! The flags that several subcommands share. Each has an environment variable of its name.
//!
//! A flag that was not given is `None`: the configuration file then decides, and the default
//! only after it. So the defaults in the help are text; a test holds them against the
//! configuration's own.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, ValueHint};

use super::outcome::Failure;
use crate::config::{
    KubernetesMode, ListenAddress, LogFormat, LogLevel, Overrides, TelemetryPath, target,
};
use crate::snapshot::Span;

fn level() -> impl TypedValueParser<Value = LogLevel> {
    PossibleValuesParser::new(LogLevel::WORDS).try_map(|word| word.parse::<LogLevel>())
}

fn format() -> impl TypedValueParser<Value = LogFormat> {
    PossibleValuesParser::new(LogFormat::WORDS).try_map(|word| word.parse::<LogFormat>())
}

/// The configuration file.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Configuration")]
pub(super) struct FileFlag {
    /// YAML file; flags win over what it says
    #[arg(long = "config.file", value_name = "FILE", env = "GPULENS_CONFIG_FILE")]
    #[arg(hide_env_values = true, value_hint = ValueHint::FilePath)]
    file: Option<PathBuf>,
}

/// The HTTP server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Web")]
pub(super) struct WebFlags {
    /// Where to listen: [HOST]:PORT, all interfaces without HOST [default: :9836]
    #[arg(long = "web.listen-address", value_name = "ADDRESS")]
    #[arg(env = "GPULENS_WEB_LISTEN_ADDRESS", hide_env_values = true)]
    listen_address: Option<ListenAddress>,

    /// Path under which metrics are served [default: /metrics]
    #[arg(long = "web.telemetry-path", value_name = "PATH")]
    #[arg(env = "GPULENS_WEB_TELEMETRY_PATH", hide_env_values = true)]
    telemetry_path: Option<TelemetryPath>,
}

/// The log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub(super) struct LogFlags {
    /// How much is logged, to standard error [default: info]
    #[arg(long = "log.level", value_name = "LEVEL", value_parser = level())]
    #[arg(env = "GPULENS_LOG_LEVEL", hide_env_values = true)]
    level: Option<LogLevel>,

    /// How a line looks [default: logfmt]
    #[arg(long = "log.format", value_name = "FORMAT", value_parser = format())]
    #[arg(env = "GPULENS_LOG_FORMAT", hide_env_values = true)]
    format: Option<LogFormat>,
}

/// What `/metrics` holds.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Metrics")]
pub(super) struct MetricsFlags {
    /// Series for each GPU and target; turn it off where another exporter has them [default: true]
    #[arg(long = "metrics.per-gpu", value_name = "BOOL", num_args = 0..=1)]
    #[arg(require_equals = true, default_missing_value = "true")]
    #[arg(env = "GPULENS_METRICS_PER_GPU", hide_env_values = true)]
    per_gpu: Option<bool>,
}

/// The evaluation.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Cycle")]
pub(super) struct CycleFlags {
    /// How often targets are scraped and rules judge: 1s to half of the time after which readings are stale [default: 15s]
    #[arg(long = "cycle.interval", value_name = "DURATION")]
    #[arg(env = "GPULENS_CYCLE_INTERVAL", hide_env_values = true)]
    interval: Option<Span>,
}

/// The one cluster that flags can describe.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sources (flags describe one cluster; several need a file)")]
pub(super) struct SourceFlags {
    /// A dcgm-exporter to scrape, and the node that it tells about; repeatable, and the
    /// variable takes several with white space between them
    #[arg(long = "dcgm.target", value_name = "URL[,node=NAME]")]
    #[arg(env = "GPULENS_DCGM_TARGET", hide_env_values = true)]
    targets: Vec<String>,

    /// Whether the targets came by the variable.
    #[arg(skip)]
    by_variable: bool,

    /// Read the Kubernetes API; only `off` until a later version [default: off]
    #[arg(long = "kubernetes", value_name = "MODE")]
    #[arg(env = "GPULENS_KUBERNETES", hide_env_values = true)]
    kubernetes: Option<KubernetesMode>,

    /// Serve a recording, or each *.json of a directory, instead of live sources; repeatable
    #[arg(long = "recording", value_name = "PATH", value_hint = ValueHint::AnyPath)]
    #[arg(
        env = "GPULENS_RECORDING",
        hide_env_values = true,
        conflicts_with = "targets"
    )]
    recordings: Vec<PathBuf>,
}

impl WebFlags {
    pub(super) fn put(self, overrides: &mut Overrides) {
        overrides.listen_address = self.listen_address;
        overrides.telemetry_path = self.telemetry_path;
    }
}

impl LogFlags {
    pub(super) fn put(self, overrides: &mut Overrides) {
        overrides.log_level = self.level;
        overrides.log_format = self.format;
    }
}

impl MetricsFlags {
    pub(super) fn put(self, overrides: &mut Overrides) {
        overrides.per_gpu = self.per_gpu;
    }
}

impl CycleFlags {
    pub(super) fn put(self, overrides: &mut Overrides) {
        overrides.interval = self.interval;
    }
}

impl SourceFlags {
    /// Says where the targets came from: the variable takes several with white space between
    /// them, the flag takes one.
    pub(super) fn note(&mut self, matches: &ArgMatches) {
        self.by_variable = matches.value_source("targets") == Some(ValueSource::EnvVariable);
    }

    /// Targets are read here and not by clap, which repeats a value that it refuses: a URL may
    /// hold a password or a token.
    pub(super) fn put(self, overrides: &mut Overrides) -> Result<(), Failure> {
        let (name, texts): (_, Vec<&str>) = if self.by_variable {
            let texts = self.targets.iter().flat_map(|text| text.split_whitespace());
            ("GPULENS_DCGM_TARGET", texts.collect())
        } else {
            let texts = self.targets.iter().map(String::as_str);
            ("--dcgm.target", texts.collect())
        };
        for text in texts {
            let target = target(text).map_err(|why| Failure::Input(anyhow!("{name}: {why}")))?;
            overrides.targets.push(target);
        }
        for path in &self.recordings {
            a_path("--recording", path)?;
        }
        overrides.kubernetes = self.kubernetes;
        overrides.recordings = self.recordings;
        Ok(())
    }
}

/// Refuses a URL where a path is wanted: what cannot be read is named, and a URL may hold a
/// password.
pub(super) fn a_path(what: &str, path: &Path) -> Result<(), Failure> {
    if path.to_string_lossy().contains("://") {
        return Err(Failure::Input(anyhow!(
            "{what}: this is a URL; want the path of a file"
        )));
    }
    Ok(())
}

impl FileFlag {
    /// The path, if there is one.
    pub(super) fn path(&self) -> Result<Option<&Path>, Failure> {
        if let Some(file) = &self.file {
            a_path("--config.file", file)?;
        }
        Ok(self.file.as_deref())
    }
}
