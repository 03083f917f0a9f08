//! The published specification: the head of each rule's file, and its thresholds.

use std::fmt::Write;

use super::xid::{self, DevicePlugin};
use super::{ALL, Entry, RuleConfig};
use crate::snapshot::{Limits, Threshold};

/// A rule's specification as Markdown: the doc comment at the head of its file.
#[must_use]
pub fn specification(entry: &Entry) -> String {
    let mut text = String::new();
    for line in entry
        .source
        .lines()
        .map_while(|line| line.strip_prefix("//!"))
    {
        text.push_str(line.strip_prefix(' ').unwrap_or(line));
        text.push('\n');
    }
    text
}

/// A rule's section of RULES.md: its specification with its thresholds.
#[must_use]
pub fn section(entry: &Entry, config: &RuleConfig) -> String {
    let mut text = format!("## {}\n\n**{}**\n\n", entry.id, entry.title);
    let page = specification(entry);
    // The file's first line names the rule for its reader; here the heading does.
    for line in page.lines().skip_while(|line| !line.starts_with("# ")) {
        if line.starts_with("# ") {
            text.push_str("##");
        }
        text.push_str(line);
        text.push('\n');
    }
    text.push_str("\n### Thresholds\n\n");
    table(&mut text, &(entry.build)(config).thresholds());
    text
}

/// RULES.md: every rule's specification with its thresholds.
#[must_use]
pub fn markdown(config: &RuleConfig, limits: &Limits) -> String {
    let mut text = String::from(
        "# Rules\n\n\
         Made by `gpulens rules --format markdown` from the head of each rule's file; edit there.\n\n\
         Every threshold can be set in the configuration file under `rules.<rule>.<threshold>`, and\n\
         `rules.<rule>.exclude` (`namespaces`, `nodes`, `node_labels`) takes subjects out of a rule's sight.\n\n\
         | rule | key | finds |\n| --- | --- | --- |\n",
    );
    for entry in ALL {
        let anchor = entry.id.as_str().to_ascii_lowercase();
        let _ = writeln!(
            text,
            "| [{}](#{anchor}) | `{}` | {} |",
            entry.id, entry.name, entry.title
        );
    }
    for entry in ALL {
        text.push('\n');
        text.push_str(&section(entry, config));
    }
    text.push_str(SHARED);
    table(&mut text, &limits.describe());
    catalogue(&mut text);
    text
}

const SHARED: &str = "\n## Shared thresholds\n\n\
    Thresholds of telemetry itself and of planned work, used by several rules: `limits.<threshold>`\n\
    in the configuration file.\n\n";

fn table(text: &mut String, rows: &[Threshold]) {
    text.push_str("| threshold | default | decides | origin |\n| --- | --- | --- | --- |\n");
    for row in rows {
        let Threshold {
            name,
            default,
            meaning,
            origin,
            ..
        } = row;
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| `{name}` | {default} | {meaning} | {origin} |");
    }
}

/// The XIDs that today's boards raise.
fn catalogue(text: &mut String) {
    let (source, date) = (xid::SOURCE, xid::SOURCE_DATE);
    let _ = write!(
        text,
        "\n## XID catalogue\n\n{source}; read {date}. Severities can be overridden code by code \
         (`rules.health.xid_severity`). Codes that boards since A100 no longer raise are known, too, \
         and info.\n\n\
         | XID | meaning | class | severity | what to do | device plugin | where authorities disagree |\n\
         | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for xid in xid::all().iter().filter(|xid| xid.is_current()) {
        let plugin = match xid.plugin {
            DevicePlugin::Ignores => "ignores it",
            DevicePlugin::Withholds => "withholds the GPU",
        };
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {plugin} | {} |",
            xid.code,
            xid.meaning,
            xid.class.as_str(),
            xid.severity.as_str(),
            xid.action,
            xid.disputed.unwrap_or(""),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The headings that every specification has, in this order.
    const HEADINGS: [&str; 9] = [
        "Detects",
        "Needs",
        "Condition",
        "Clears",
        "Not reported when",
        "Evidence",
        "Severity",
        "What to look at",
        "References",
    ];

    #[test]
    fn every_rule_has_every_heading_in_order() {
        for entry in ALL {
            let text = specification(entry);
            let headings: Vec<_> = text
                .lines()
                .filter_map(|line| line.strip_prefix("# "))
                .collect();
            assert_eq!(headings, HEADINGS, "{}", entry.id);
        }
    }
}
