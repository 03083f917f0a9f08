//! `gpulens rules`: the rules as they are in force.

use std::fmt::Write;

use anyhow::anyhow;
use clap::ValueEnum;
use serde_json::json;

use super::Done;
use super::flags::FileFlag;
use super::outcome::{Failure, Outcome, print};
use crate::config::{self, Overrides};
use crate::rules::{ALL, Entry, RuleConfig, markdown, section, specification};
use crate::snapshot::{Limits, Threshold};

const AFTER: &str = "\
Examples:
  gpulens rules                        the table of rules and their thresholds
  gpulens rules GPU-HEALTH-002         one rule's specification (its key, `health`, will do)
  gpulens rules --config.file=F        with the thresholds of a configuration file
  gpulens rules --format=markdown      what RULES.md is made of";

#[derive(clap::Args, Clone, Debug)]
#[command(after_help = AFTER)]
pub(super) struct Args {
    /// One rule, by its id or its key in the configuration
    #[arg(value_name = "RULE")]
    rule: Option<String>,

    /// How they are shown
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    file: FileFlag,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Markdown,
    Json,
}

pub(super) fn run(args: &Args) -> Done {
    let loaded = config::load(args.file.path()?, Overrides::default())?;
    let config = loaded.rules;
    let one = args.rule.as_deref().map(find).transpose()?;
    print(&match (args.format, one) {
        (Format::Text, None) => table(&config, &loaded.limits),
        (Format::Text, Some(entry)) => page(entry, &config, &loaded.limits),
        (Format::Markdown, None) => markdown(&config, &loaded.limits),
        (Format::Markdown, Some(entry)) => section(entry, &config),
        (Format::Json, one) => json_of(one, &config, &loaded.limits),
    })?;
    Ok(Outcome::Done)
}

fn find(name: &str) -> Result<&'static Entry, Failure> {
    let wanted = |entry: &&Entry| {
        name.eq_ignore_ascii_case(entry.id.as_str()) || name.eq_ignore_ascii_case(entry.name)
    };
    ALL.iter().find(wanted).ok_or_else(|| {
        let known: Vec<_> = ALL
            .iter()
            .map(|entry| format!("{} ({})", entry.id, entry.name))
            .collect();
        Failure::Input(anyhow!(
            "there is no such rule; want one of {}",
            known.join(", ")
        ))
    })
}

fn table(config: &RuleConfig, limits: &Limits) -> String {
    let mut text = String::new();
    for entry in ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{}  {}\n", entry.id, entry.title);
        text.push_str(&thresholds(entry, config));
        text.push('\n');
    }
    text.push_str(&shared(limits));
    text.push_str(
        "\n`gpulens rules RULE` shows what a rule looks at and when it reports nothing.\n",
    );
    text
}

fn thresholds(entry: &Entry, config: &RuleConfig) -> String {
    let section = format!("rules.{}", entry.name);
    listed(&section, (entry.build)(config).thresholds())
}

/// Rules refer to them by `limits.NAME`.
fn shared(limits: &Limits) -> String {
    let rows = listed("limits", limits.describe());
    format!("Thresholds that rules share\n\n{rows}")
}

/// `rules.health.hold = 2m   How long it must last.`
fn listed(section: &str, rows: Vec<Threshold>) -> String {
    let rows: Vec<_> = rows
        .into_iter()
        .map(|row| {
            let mut left = format!("{section}.{} = {}", row.name, row.value);
            if row.value != row.default {
                let _ = write!(left, " (default {})", row.default);
            }
            (left, row.meaning)
        })
        .collect();
    let width = rows
        .iter()
        .map(|(left, _)| left.chars().count())
        .max()
        .unwrap_or(0);
    let mut text = String::new();
    for (left, meaning) in rows {
        let _ = writeln!(text, "  {left:width$}  {meaning}");
    }
    text
}

fn page(entry: &Entry, config: &RuleConfig, limits: &Limits) -> String {
    format!(
        "{}  {}\n\n{}\nThresholds in force\n\n{}\n{}",
        entry.id,
        entry.title,
        specification(entry),
        thresholds(entry, config),
        shared(limits)
    )
}

fn json_of(one: Option<&Entry>, config: &RuleConfig, limits: &Limits) -> String {
    let value = |entry: &Entry| {
        json!({
            "id": entry.id,
            "name": entry.name,
            "title": entry.title,
            "thresholds": (entry.build)(config).thresholds(),
            "limits": limits.describe(),
            "specification": specification(entry),
        })
    };
    let value = match one {
        Some(entry) => value(entry),
        None => ALL.iter().map(value).collect(),
    };
    format!("{value:#}\n")
}
