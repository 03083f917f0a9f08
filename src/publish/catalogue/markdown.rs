//! The catalogue as Markdown: the source of docs/METRICS.md.

use std::fmt::Write;

use super::{ALL, Section};
use crate::snapshot::{Signal, dcgm_names};

const INTRODUCTION: &str = "# Metrics

Made by `gpulens metrics --format markdown`; edit the catalogue in `src/publish/catalogue/`.

`/metrics` speaks OpenMetrics 1.0 and the Prometheus text format 0.0.4, by `Accept`; gzip by
`Accept-Encoding`. In OpenMetrics a counter's `# TYPE` line has its name without `_total`; the
series are named the same in both. Where clusters have names, every series but those of the last
section carries `cluster`. Times are points in time in seconds since 1970, never ages. All families
are there since 0.1.0.

Scrape with `honor_labels: true` (`honorLabels` in a ServiceMonitor): finding series print every
label, and only a printed label, even an empty one, keeps the exporter's own `namespace`, `pod` and
`container` off a finding. Label values are cut at 256 bytes; control characters are written as
`\\xNN`.
";

/// The catalogue, and the signals that are read, as Markdown.
#[must_use]
pub fn markdown() -> String {
    let mut text = INTRODUCTION.to_owned();
    for (section, heading, note) in SECTIONS {
        let _ = write!(
            text,
            "\n## {heading}\n\n{note}\n\n\
             | metric | type | unit | labels | meaning | series exist when |\n\
             | --- | --- | --- | --- | --- | --- |\n"
        );
        for family in ALL.iter().filter(|family| family.section == section) {
            let labels: Vec<_> = family
                .labels
                .iter()
                .map(|label| format!("`{label}`"))
                .collect();
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | {} | {} |",
                family.name,
                family.kind.as_str(),
                or_dash(family.unit()),
                or_dash(&labels.join(", ")),
                family.help,
                or_dash(family.condition),
            );
        }
    }
    text.push_str(&signals());
    text
}

const SECTIONS: [(Section, &str, &str); 4] = [
    (
        Section::Findings,
        "Findings",
        "Of a cluster, once all of its sources were tried. Open incidents have series up to a \
         budget (10,000 by default, shared out by cluster and rule): beyond it info goes first, \
         then the newest warnings, critical never.",
    ),
    (
        Section::PerGpu,
        "Telemetry with its semantics repaired",
        "Of a cluster, once all of its sources were tried, unless \
         `--metrics.per-gpu` is switched off.",
    ),
    (
        Section::Itself,
        "The evaluation of a cluster",
        "From the start, also while sources are still being tried.",
    ),
    (Section::Process, "The process", "Never with `cluster`."),
];

fn or_dash(text: &str) -> &str {
    if text.is_empty() { "–" } else { text }
}

/// The signals that are read, as Markdown.
#[must_use]
pub fn signals() -> String {
    let mut text = String::from(
        "\n## Signals that are read\n\n\
         What `signal` stands for, and the metric names by which it is known, in any case. Where \
         one body has several names of a signal, the first is taken.\n\n\
         | signal | unit | kind | meaning | names |\n| --- | --- | --- | --- | --- |\n",
    );
    for &signal in Signal::ALL {
        let spec = signal.spec();
        let names: Vec<_> = dcgm_names()
            .iter()
            .filter(|name| name.signal == signal)
            .map(|name| format!("`{}`", name.name))
            .collect();
        let _ = writeln!(
            text,
            "| `{}` | {} | {} | {} | {} |",
            spec.name,
            or_dash(spec.unit),
            spec.kind.as_str(),
            spec.help,
            or_dash(&names.join(", ")),
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_family_and_signal_has_a_row_that_markdown_can_read() {
        let text = markdown();
        for family in ALL {
            let row = format!("| `{}` | ", family.name);
            assert_eq!(text.matches(&row).count(), 1, "{}", family.name);
        }
        for signal in Signal::ALL {
            let row = format!("| `{}` | ", signal.spec().name);
            assert_eq!(text.matches(&row).count(), 1, "{}", signal.spec().name);
        }
        for line in text.lines().filter(|line| line.starts_with('|')) {
            let columns = line.matches('|').count();
            assert!(columns == 7 || columns == 6, "{line}");
        }
    }
}
