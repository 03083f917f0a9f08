//! What is derived from the one table of rules, and must not drift from it.

use gpulens::rules::{ALL, RuleConfig, markdown};
use gpulens::snapshot::Limits;

const RULES: &str = include_str!("../../RULES.md");

#[test]
fn rules_md_is_what_the_rules_say() {
    assert!(
        RULES == markdown(&RuleConfig::default(), &Limits::default()),
        "RULES.md differs from the rules; run `make docs` and look at the difference"
    );
}

#[test]
fn every_rule_has_its_section() {
    for entry in ALL {
        assert!(
            RULES.contains(&format!("\n## {}\n", entry.id)),
            "{}",
            entry.id
        );
        assert!(
            RULES.contains(&format!("| `{}` | {} |", entry.name, entry.title)),
            "{}",
            entry.id
        );
    }
}

#[test]
fn metrics_md_is_what_the_catalogue_says() {
    assert!(
        include_str!("../../docs/METRICS.md") == gpulens::publish::catalogue::markdown(),
        "docs/METRICS.md differs from the catalogue; run `make docs` and look at the difference"
    );
}
