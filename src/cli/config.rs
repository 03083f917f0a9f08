//! `gpulens config`: configuration files.

use std::fmt::Write;
use std::path::PathBuf;

use clap::ValueHint;

use super::Done;
use super::flags::a_path;
use super::outcome::{Outcome, print};
use crate::config::{self, Overrides};
use crate::printable::printable;

#[derive(clap::Args, Clone, Debug)]
#[command(arg_required_else_help = true)]
pub(super) struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(clap::Subcommand, Clone, Debug)]
enum Command {
    /// Validate a file: every problem with its line, its column and what is allowed
    #[command(after_help = "Exit code 0: valid; 2: not valid, or it cannot be read.")]
    Check {
        /// The file
        #[arg(value_name = "FILE", value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
}

pub(super) fn run(args: Args) -> Done {
    let Command::Check { file } = args.command;
    a_path("FILE", &file)?;
    let config = config::load(Some(&file), Overrides::default())?;
    let mut text = format!("{}: valid\n", printable(&file.to_string_lossy()));
    for cluster in &config.clusters {
        let name = match cluster.name.as_str() {
            "" => "unnamed cluster".into(),
            name => format!("cluster {}", printable(name)),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            text,
            "  {name}: {} dcgm-exporter target(s), scraped every {}",
            cluster.dcgm.targets.len(),
            config.cycle.interval
        );
    }
    if !config.has_source() {
        text.push_str("  no target: `gpulens serve` needs one by --dcgm.target as well\n");
    }
    print(&text)?;
    Ok(Outcome::Done)
}
