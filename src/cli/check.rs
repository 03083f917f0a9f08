//! `gpulens check`: recordings in, reports out, and an exit code that says what was found.

use std::path::PathBuf;

use clap::ValueEnum;

use super::Done;
use super::flags::{FileFlag, a_path};
use super::outcome::{Failure, Outcome, print};
use super::report::{self, Report};
use crate::config::{self, Overrides};
use crate::finding::Severity;
use crate::source::recording;

const AFTER: &str = "\
Examples:
  gpulens check cluster.json
  gpulens check --fail-on=critical --format=json recordings/ | jq '.clusters[].incidents[].finding.summary'

Several files of one cluster are steps in time, in the order of their own clocks.

Exit codes:
  0  nothing was found
  1  something was found that is at least as severe as --fail-on
  2  wrong usage, or a recording or configuration that cannot be read
  3  nothing as severe was found, but not everything could be decided: not the same as healthy";

#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// Recordings, or directories of recordings (*.json)
    #[arg(required = true, value_name = "FILE|DIR")]
    paths: Vec<PathBuf>,

    /// The mildest severity that makes the exit code 1
    #[arg(long, value_name = "SEVERITY", default_value = "info")]
    fail_on: FailOn,

    /// How the reports look
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    file: FileFlag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Info,
    Warning,
    Critical,
}

impl From<FailOn> for Severity {
    fn from(level: FailOn) -> Self {
        match level {
            FailOn::Info => Self::Info,
            FailOn::Warning => Self::Warning,
            FailOn::Critical => Self::Critical,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

pub(super) fn run(args: &Args) -> Done {
    let config = config::load(args.file.path()?, Overrides::default())?;
    for path in &args.paths {
        a_path("FILE", path)?;
    }
    let timelines =
        recording::read_all(&args.paths).map_err(|error| Failure::Input(error.into()))?;
    let views = crate::app::check(timelines, &config);
    let reports: Vec<Report> = views.iter().map(Report::from).collect();
    print(&match args.format {
        Format::Text => report::text(&reports),
        Format::Json => report::json(&reports),
    })?;
    Ok(outcome(&reports, args.fail_on.into()))
}

fn outcome(reports: &[Report], fail_on: Severity) -> Outcome {
    let worst = reports.iter().filter_map(Report::worst).max();
    if worst.is_some_and(|worst| worst >= fail_on) {
        Outcome::Findings
    } else if reports.iter().any(|report| report.undecided_total() > 0) {
        Outcome::Undecided
    } else {
        Outcome::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::report::example;
    use crate::finding::{Reason, RuleId};

    #[test]
    fn the_exit_code_says_what_was_found() {
        let quiet = |undecided: u64| Report {
            open: Vec::new(),
            undecided: [((RuleId::Health, Reason::Blind), undecided)].into(),
            ..example::report()
        };
        let critical = example::report();
        assert_eq!(critical.worst(), Some(Severity::Critical));
        assert_eq!(outcome(&[], Severity::Info), Outcome::Done);
        assert_eq!(outcome(&[quiet(0)], Severity::Info), Outcome::Done);
        assert_eq!(outcome(&[quiet(2)], Severity::Info), Outcome::Undecided);
        for level in Severity::ALL {
            assert_eq!(
                outcome(&[quiet(2), critical.clone()], level),
                Outcome::Findings
            );
        }
        let mut warning = critical;
        warning.open = vec![std::sync::Arc::new(crate::incident::Incident {
            severity: Severity::Warning,
            ..(*warning.open[0]).clone()
        })];
        warning.undecided.clear();
        assert_eq!(
            outcome(std::slice::from_ref(&warning), Severity::Warning),
            Outcome::Findings
        );
        assert_eq!(outcome(&[warning], Severity::Critical), Outcome::Done);
    }
}
