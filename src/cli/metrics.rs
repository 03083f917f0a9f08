//! `gpulens metrics`: what is exposed, and what is understood of what exporters expose.

use std::fmt::Write;

use clap::ValueEnum;

use super::Done;
use super::outcome::{Outcome, print};
use crate::publish::catalogue;
use crate::snapshot::{Scope, Signal, dcgm_names};

const AFTER: &str = "\
Examples:
  gpulens metrics                                 every family of /metrics
  gpulens metrics --signals                       every signal, and the names that exporters give it
  gpulens metrics --signals --format=markdown";

#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// Show the signals that are read instead of the metrics that are exposed
    #[arg(long)]
    signals: bool,

    /// How they are shown
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
}

pub(super) fn run(args: &Args) -> Done {
    let text = match (args.signals, args.format) {
        (true, Format::Text) => signals_text(),
        (false, Format::Text) => families_text(),
        (true, Format::Markdown) => catalogue::signals(),
        (false, Format::Markdown) => catalogue::markdown(),
    };
    print(&text)?;
    Ok(Outcome::Done)
}

fn names(signal: Signal) -> impl Iterator<Item = &'static str> {
    dcgm_names()
        .iter()
        .filter(move |row| row.signal == signal)
        .map(|row| row.name)
}

fn scope(scope: Scope) -> &'static str {
    match scope {
        Scope::Board => "board",
        Scope::Instance => "instance",
        Scope::BoardOnly => "board only",
    }
}

fn signals_text() -> String {
    let mut text = String::new();
    for &signal in Signal::ALL {
        let spec = signal.spec();
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n    {}", spec.name, spec.help);
        let _ = writeln!(
            text,
            "    {} of the {}, {} to {} {}",
            spec.kind.as_str(),
            scope(spec.scope),
            spec.min,
            spec.max,
            spec.unit
        );
        for name in names(signal) {
            let _ = writeln!(text, "      {name}");
        }
    }
    text
}

fn families_text() -> String {
    let mut text = String::new();
    for family in catalogue::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}\n    {}", family.name, family.help);
        let _ = writeln!(
            text,
            "    {}; labels: {}",
            family.kind.as_str(),
            or_none(&family.labels.join(", "))
        );
        if !family.condition.is_empty() {
            let _ = writeln!(text, "    exists when: {}", family.condition);
        }
    }
    text
}

fn or_none(text: &str) -> &str {
    if text.is_empty() { "none" } else { text }
}
