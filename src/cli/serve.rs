//! `gpulens serve`: the service.

use anyhow::{Context, anyhow};

use super::Done;
use super::flags::{CycleFlags, FileFlag, LogFlags, MetricsFlags, SourceFlags, WebFlags};
use super::outcome::{Failure, Outcome};
use crate::config::{self, Config, Overrides};
use crate::source::recording::ReadError;

const AFTER: &str = "\
Examples:
  gpulens serve --kubernetes=off --dcgm.target=http://gpu-node-01:9400/metrics,node=gpu-node-01
  gpulens serve --config.file=gpulens.yaml --web.listen-address=127.0.0.1:9836
  gpulens serve --recording=recordings/          look at what was recorded elsewhere

It stops on SIGTERM and SIGINT. Exit code 1: it could not serve, such as a port that is taken;
2: wrong usage or configuration, or a recording that cannot be read.";

#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    #[command(flatten)]
    file: FileFlag,
    #[command(flatten)]
    pub(super) sources: SourceFlags,
    #[command(flatten)]
    cycle: CycleFlags,
    #[command(flatten)]
    web: WebFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) fn run(args: Args) -> Done {
    let mut overrides = Overrides::default();
    args.sources.put(&mut overrides)?;
    args.cycle.put(&mut overrides);
    args.web.put(&mut overrides);
    args.metrics.put(&mut overrides);
    args.log.put(&mut overrides);
    let config = config::load(args.file.path()?, overrides)?;
    if !config.has_source() {
        return Err(Failure::Input(anyhow!(NO_SOURCE)));
    }
    block_on(&config, crate::app::serve(config.clone()))
}

const NO_SOURCE: &str = "\
there is nothing to look at: no target is configured, and the Kubernetes API is off
  give a dcgm-exporter:   gpulens serve --dcgm.target=http://gpu-node-01:9400/metrics,node=gpu-node-01
  or a file with targets: gpulens serve --config.file=gpulens.yaml
  or a recording:         gpulens serve --recording=FILE
  or see it work first:   gpulens demo";

/// Starts the log and runs a service to its end.
pub(super) fn block_on(config: &Config, service: impl Future<Output = anyhow::Result<()>>) -> Done {
    crate::log::init(&config.log)
        .context("cannot start the log")
        .map_err(Failure::Runtime)?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .context("cannot start the runtime")
        .map_err(Failure::Runtime)?;
    // A recording that cannot be read is bad input, as it is to `gpulens check`.
    let failure = |error: anyhow::Error| match error.downcast_ref::<ReadError>() {
        Some(_) => Failure::Input(error),
        None => Failure::Runtime(error),
    };
    runtime.block_on(service).map_err(failure)?;
    Ok(Outcome::Done)
}
