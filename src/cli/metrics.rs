//! `gpulens metrics`: what is exposed, and what is understood of what exporters expose.

use std::fmt::Write;

use clap::ValueEnum;

use super::Done;
use super::outcome::{Failure, Outcome, print};
use crate::snapshot::{Kind, Scope, Signal, dcgm_names};

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
        (true, Format::Markdown) => signals_markdown(),
        (false, format) => {
            crate::app::metrics_catalogue(format == Format::Markdown).map_err(Failure::Runtime)?
        }
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

fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Gauge => "gauge",
        Kind::Counter => "counter",
        Kind::Lifetime => "lifetime counter",
        Kind::Code => "error code",
        Kind::Bits => "set of bits",
        Kind::State => "state",
    }
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
            kind(spec.kind),
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

fn signals_markdown() -> String {
    let mut text = String::from(
        "| signal | unit | kind | scope | what it is | names, preferred first |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for &signal in Signal::ALL {
        let spec = signal.spec();
        let names: Vec<_> = names(signal).map(|name| format!("`{name}`")).collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} | {} |",
            spec.name,
            spec.unit,
            kind(spec.kind),
            scope(spec.scope),
            spec.help,
            names.join(", ")
        );
    }
    text
}
