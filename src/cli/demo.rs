//! `gpulens demo`: the built-in clusters.

use super::flags::{LogFlags, MetricsFlags, WebFlags};
use super::{Done, serve};
use crate::config::{self, Overrides};

const AFTER: &str = "\
Then look at http://localhost:9836/ and http://localhost:9836/metrics. The clusters are recordings:
their clock stands still, and pages say as of when.

Exit code 1: it could not serve, such as a port that is taken; 2: wrong usage.";

#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    #[command(flatten)]
    web: WebFlags,
    #[command(flatten)]
    metrics: MetricsFlags,
    #[command(flatten)]
    log: LogFlags,
}

pub(super) fn run(args: Args) -> Done {
    let mut overrides = Overrides::default();
    args.web.put(&mut overrides);
    args.metrics.put(&mut overrides);
    args.log.put(&mut overrides);
    let config = config::load(None, overrides)?;
    serve::block_on(&config, crate::app::demo(config.clone()))
}
