//! The command line: one file a subcommand, and the tree of all of them here.

mod check;
mod config;
mod demo;
mod flags;
mod metrics;
mod outcome;
pub mod report;
mod rules;
mod serve;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use outcome::Outcome;

const ABOUT: &str = "Finds what is wrong with a cluster's GPUs, and shows how it knows";

const LONG_ABOUT: &str = "\
GPU Lens scrapes dcgm-exporter, runs deterministic diagnostic rules over what it reads and exposes
what it finds: gauges for Prometheus, and a report with the evidence for people.

It only ever reads. What is missing is never taken for healthy, and every finding lists what speaks
for it, what speaks against it and what could not be seen.";

const AFTER: &str = "\
Examples:
  gpulens demo                        built-in clusters, one a scenario: no GPU needed
  gpulens serve --dcgm.target=http://gpu-node-01:9400/metrics,node=gpu-node-01
  gpulens check recordings/           judge recordings once, print the reports
  gpulens rules GPU-HEALTH-002        what a rule looks at, and its thresholds

Exit codes:
  0  done (check: nothing was found)
  1  it could not be done, such as a port that is taken (check: something was found)
  2  wrong usage or configuration, or a recording that cannot be read
  3  check only: nothing was found, but not everything could be decided";

#[derive(Parser)]
#[command(
    name = "gpulens",
    version = crate::version::LONG,
    about = ABOUT,
    long_about = LONG_ABOUT,
    after_help = AFTER,
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Watch clusters and serve what is found
    Serve(Box<serve::Args>),
    /// Judge recordings once and print the reports
    Check(check::Args),
    /// Serve the built-in clusters, one a scenario: no cluster and no GPU needed
    Demo(demo::Args),
    /// Show the rules, their thresholds and their specification
    Rules(rules::Args),
    /// Show the metric families, or the signals that are understood
    Metrics(metrics::Args),
    /// Work with configuration files
    Config(config::Args),
}

/// Runs the program: arguments in, exit code out.
#[must_use]
pub fn main() -> ExitCode {
    let cli = match parse() {
        Ok(cli) => cli,
        Err(error) => return refuse(&error),
    };
    let result = match cli.command {
        Command::Serve(args) => serve::run(*args),
        Command::Check(args) => check::run(&args),
        Command::Demo(args) => demo::run(args),
        Command::Rules(args) => rules::run(&args),
        Command::Metrics(args) => metrics::run(&args),
        Command::Config(args) => config::run(args),
    };
    match result {
        Ok(outcome) => outcome.into(),
        Err(failure) => failure.report(),
    }
}

fn parse() -> Result<Cli, clap::Error> {
    let matches = Cli::command().try_get_matches()?;
    let mut cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut Cli::command()))?;
    if let (Command::Serve(args), Some((_, matches))) = (&mut cli.command, matches.subcommand()) {
        args.sources.note(matches);
    }
    Ok(cli)
}

/// Prints what is wrong with the command line, or the help that was asked for.
fn refuse(error: &clap::Error) -> ExitCode {
    let said = error.render().to_string();
    let told = without(&said, given());
    // Where nobody reads to its end, or standard error is closed, the exit code still tells.
    let _ = if told == said {
        error.print()
    } else {
        io::stderr().write_all(told.as_bytes())
    };
    ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2))
}

/// Everything that was given: by arguments and by our variables.
fn given() -> impl Iterator<Item = String> {
    let ours = |(name, _): &(OsString, OsString)| name.as_encoded_bytes().starts_with(b"GPULENS_");
    let variables = std::env::vars_os().filter(ours).map(|(_, value)| value);
    let arguments = std::env::args_os().skip(1);
    let all = arguments.chain(variables);
    all.map(|text| text.to_string_lossy().into_owned())
}

/// A message without what may be a URL with a password or a token in it, whatever flag, or
/// place without a flag, it was given for.
fn without(message: &str, given: impl Iterator<Item = String>) -> String {
    let mut message = message.to_owned();
    for text in given {
        let value = text.split_once('=').map_or("", |(_, value)| value);
        for part in [text.as_str(), value] {
            if part.len() > 1 && (part.contains("://") || part.contains(['@', '?'])) {
                message = message.replace(part, "(not shown)");
            }
        }
    }
    message
}

/// The definition of the command line, for what is made from it: the README's table of flags.
#[must_use]
pub fn command() -> clap::Command {
    let mut command = Cli::command();
    command.build();
    command
}

type Done = Result<Outcome, outcome::Failure>;
