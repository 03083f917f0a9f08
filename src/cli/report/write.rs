//! The parts of the text, one function each.

use std::fmt::Write;

use jiff::{SignedDuration, Timestamp};

use super::{Report, counted};
use crate::finding::{Evidence, Fact, Step, Subject};
use crate::incident::Incident;
use crate::printable::printable;
use crate::rules::words;

/// Lines are broken at this width: what a terminal beside another window has.
const WIDTH: usize = 100;

// Writing to a String cannot fail, so that no result of it is looked at in this file.

pub(super) fn cluster(out: &mut String, report: &Report) {
    let fleet = report.fleet;
    let name = match report.cluster.as_str() {
        "" => "Cluster (unnamed)".into(),
        name => format!("Cluster {}", printable(name)),
    };
    let gpus = fleet.ok + fleet.finding + fleet.unknown;
    let _ = writeln!(out, "{name} as of {}", time(report.now));
    let _ = write!(out, "{} observed", counted(gpus, "GPU"));
    if gpus > 0 {
        let _ = write!(
            out,
            ": {} ok, {} with findings, {} unknown",
            fleet.ok, fleet.finding, fleet.unknown
        );
    }
    out.push('\n');
    if report.open.is_empty() {
        out.push_str("\nNothing was found");
        // Nothing can be found where nothing is seen.
        out.push_str(if gpus == 0 {
            ", and nothing seen.\n"
        } else {
            ".\n"
        });
    }
    for open in &report.open {
        out.push('\n');
        incident(out, open, report.now);
    }
    undecided(out, report);
}

fn undecided(out: &mut String, report: &Report) {
    if report.undecided_total() == 0 {
        return;
    }
    out.push_str("\nNot decided (neither a finding nor healthy)\n");
    for ((rule, reason), subjects) in report.undecided.iter().filter(|row| *row.1 > 0) {
        let reason = reason.as_str();
        let _ = writeln!(
            out,
            "  {rule}  {reason}: {}",
            counted(*subjects, "judgement")
        );
    }
}

fn incident(out: &mut String, incident: &Incident, now: Timestamp) {
    let finding = &incident.finding;
    let _ = writeln!(
        out,
        "{}  {}  {}",
        incident.severity.as_str().to_uppercase(),
        incident.key.rule,
        finding.cause.as_str()
    );
    wrapped(out, "  ", &subject(incident));
    wrapped(out, "  ", &finding.summary);
    let ago = now.duration_since(incident.started).as_secs().max(0);
    let _ = writeln!(
        out,
        "  since {} ({}), evidence {}, incident {}",
        time(incident.started),
        words::length(SignedDuration::from_secs(ago)),
        incident.grade().as_str(),
        incident.id
    );
    if let Some(reason) = incident.undecided {
        let text = format!(
            "Cannot be decided at present ({}): this is the last finding that could be made.",
            reason.as_str()
        );
        wrapped(out, "  ", &text);
    }
    facts(out, &finding.facts);
    evidence(out, "Supporting", "+ ", &finding.supporting);
    evidence(out, "Contradicting", "- ", &finding.contradicting);
    evidence(out, "Missing", "? ", &finding.missing);
    timeline(out, &finding.timeline);
    checklist(out, &finding.checklist);
}

/// Whom an incident is about, in words: `GPU 3 of node gpu-node-01 (GPU-…)`.
pub(super) fn subject(incident: &Incident) -> String {
    match &incident.key.subject {
        Subject::Cluster => "the cluster as a whole".to_owned(),
        Subject::Source(source) => format!("source {source}"),
        Subject::Target { node, url } => match node {
            Some(node) => format!("target {url} of node {node}"),
            None => format!("target {url}"),
        },
        Subject::Node(node) => format!("node {node}"),
        Subject::Gpu { node, uuid } => {
            let index = incident
                .finding
                .gpu
                .map_or(String::new(), |gpu| format!(" {gpu}"));
            match node {
                Some(node) => format!("GPU{index} of node {node} ({uuid})"),
                None => format!("GPU{index} ({uuid}), node unknown"),
            }
        }
        Subject::Pod {
            namespace,
            pod,
            workload,
            ..
        } => match &**workload {
            "" => format!("pod {namespace}/{pod}"),
            workload => format!("pod {namespace}/{pod} of {workload}"),
        },
    }
}

fn heading(out: &mut String, text: &str) {
    let _ = writeln!(out, "\n  {text}");
}

fn facts(out: &mut String, facts: &[Fact]) {
    if facts.is_empty() {
        return;
    }
    heading(out, "Observed");
    let rows: Vec<[String; 3]> = facts
        .iter()
        .map(|fact| {
            let source = printable(&fact.source);
            let source = match fact.at {
                Some(at) => format!("{source} at {}", time(at)),
                None => source.into_owned(),
            };
            let [name, value] =
                [&fact.name, fact.value.as_str()].map(|text| printable(text).into_owned());
            [name, value, source]
        })
        .collect();
    // One very long value must not push the others out of sight.
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.filter(|width| *width <= 40).max().unwrap_or(0)
    };
    let (names, values) = (width(0), width(1));
    for [name, value, source] in &rows {
        let line = format!("    {name:names$}  {value:values$}  {source}");
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn evidence(out: &mut String, title: &str, bullet: &str, evidence: &[Evidence]) {
    if evidence.is_empty() {
        return;
    }
    heading(out, title);
    for entry in evidence {
        let text = &entry.text;
        let text = match (entry.source.as_ref(), entry.at) {
            ("", None) => text.clone(),
            ("", Some(at)) => format!("{text} ({})", time(at)),
            (source, None) => format!("{text} ({source})"),
            (source, Some(at)) => format!("{text} ({source}, {})", time(at)),
        };
        hanging(out, &format!("    {bullet}"), &text);
    }
}

fn timeline(out: &mut String, timeline: &[Evidence]) {
    if timeline.is_empty() {
        return;
    }
    heading(out, "Time line");
    for entry in timeline {
        let at = entry.at.map_or("time unknown".to_owned(), time);
        hanging(out, &format!("    {at:23}  "), &entry.text);
    }
}

fn checklist(out: &mut String, steps: &[Step]) {
    if steps.is_empty() {
        return;
    }
    heading(out, "What to look at");
    for (number, step) in (1..).zip(steps) {
        hanging(out, &format!("    {number}. "), &step.text);
        if let Some(command) = &step.command {
            // Never broken: it is there to be copied.
            let _ = writeln!(out, "         {}", printable(command));
        }
    }
}

fn time(at: Timestamp) -> String {
    words::moment(at)
}

/// A paragraph in which every line begins with the indent.
fn wrapped(out: &mut String, indent: &str, text: &str) {
    hanging(out, indent, text);
}

/// A paragraph whose later lines stand under the text of the first.
fn hanging(out: &mut String, first: &str, text: &str) {
    let indent = first.chars().count();
    let mut column = indent;
    out.push_str(first);
    for (at, word) in unbroken(&printable(text)).into_iter().enumerate() {
        let length = word.chars().count();
        if at > 0 {
            if column + 1 + length > WIDTH {
                let _ = write!(out, "\n{:indent$}", "");
                column = indent;
            } else {
                out.push(' ');
                column += 1;
            }
        }
        out.push_str(&word);
        column += length;
    }
    out.push('\n');
}

/// What follows a number and belongs to it.
const UNITS: [&str; 26] = [
    "%", "°C", "s", "min", "h", "d", "ms", "W", "kW", "B", "KiB", "MiB", "GiB", "TiB", "B/s",
    "kB/s", "MB/s", "GB/s", "TB/s", "Hz", "kHz", "MHz", "GHz", "J", "kJ", "MJ",
];

/// The words of a text; a number stays with its unit, and a moment in one piece.
fn unbroken(text: &str) -> Vec<String> {
    let digit = |word: &str| {
        word.trim_start_matches('(')
            .starts_with(|c: char| c.is_ascii_digit())
    };
    let mut words: Vec<String> = Vec::new();
    for word in text.split(' ') {
        let bare = word.trim_end_matches(['.', ',', ';', ':', ')']);
        let last = words.last().and_then(|last| last.rsplit(' ').next());
        let joins = last.is_some_and(|last| {
            let date = last.matches('-').count() == 2 && word.contains(':');
            let time = last.contains(':') && bare == "UTC";
            digit(last) && (UNITS.contains(&bare) || time || (date && digit(word)))
        });
        match words.last_mut() {
            Some(last) if joins => {
                last.push(' ');
                last.push_str(word);
            }
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_their_units_at_the_end_of_a_line() {
        for whole in ["74.5 GiB,", "(91 °C)", "2026-03-14 02:05:15 UTC."] {
            for length in 60..100 {
                let mut out = String::new();
                let text = format!("{} {whole} and more", "x".repeat(length));
                hanging(&mut out, "  ", &text);
                assert!(out.contains(whole), "{out}");
            }
        }
        assert_eq!(unbroken("2 min 30 s ago"), ["2 min", "30 s", "ago"]);
    }
}
