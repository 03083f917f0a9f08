//! The published specification: the head of each rule's file, and its thresholds.

use std::fmt::Write;

use super::{ALL, Entry, RuleConfig};

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

/// RULES.md: every rule's specification with its thresholds.
#[must_use]
pub fn markdown(config: &RuleConfig) -> String {
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
        let _ = write!(text, "\n## {}\n\n**{}**\n\n", entry.id, entry.title);
        let body = specification(entry);
        // The file's first line names the rule for its reader; here the heading does.
        let body = body
            .split_once("\n\n")
            .map_or(body.as_str(), |(_, rest)| rest);
        text.push_str(&body.replace("\n# ", "\n### ").replacen(
            "# ",
            "### ",
            usize::from(body.starts_with("# ")),
        ));
        text.push_str("\n### Thresholds\n\n| threshold | default | decides | origin |\n| --- | --- | --- | --- |\n");
        for row in (entry.build)(config).thresholds() {
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} |",
                row.name, row.default, row.meaning, row.origin
            );
        }
    }
    text
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
