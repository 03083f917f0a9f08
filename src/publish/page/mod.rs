//! The overview page: HTML and a style sheet, no script, nothing from elsewhere.
//!
//! Links are relative, so that the page works behind a proxy that puts it under a path.

mod sources;

use std::borrow::Cow;
use std::fmt::{self, Write};

use jiff::Timestamp;

use super::filter::{Filter, State};
use super::html::{Length, Query, Text, Time};
use super::json::chosen;
use super::published::{Published, awaited};
use crate::cycle::ClusterView;
use crate::finding::{RuleId, Subject};
use crate::incident::Incident;
use crate::snapshot::ClusterName;
use crate::version;

/// The style sheet's path.
pub(super) const STYLE_PATH: &str = "/style.css";
/// The style sheet.
pub(super) const STYLE: &str = include_str!("style.css");

/// Rows of a table: what needs attention comes first, the rest is in the API.
const MOST_ROWS: usize = 200;

/// The page. Writing to a string cannot fail.
pub(super) fn overview(published: &Published, filter: &Filter) -> String {
    let mut page = String::with_capacity(16 * 1024);
    let _ = write_page(&mut page, published, filter);
    page
}

fn write_page(out: &mut String, published: &Published, filter: &Filter) -> fmt::Result {
    out.push_str(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <title>GPU Lens</title>\n<link rel=\"stylesheet\" href=\"style.css\">\n</head>\n<body>\n\
         <header><h1>GPU Lens</h1>\n\
         <p class=\"soft\">What is wrong with the GPUs, and how that is known. Read-only.</p>\n",
    );
    navigation(out, published)?;
    out.push_str("</header>\n<main>\n");
    if *filter != Filter::default() {
        out.push_str(
            "<p class=\"banner\">Filtered by the address: not every incident is shown. \
             <a href=\"./\">Show all</a></p>\n",
        );
    }
    if published.cycles.is_empty() {
        out.push_str("<p>No cluster is configured.</p>\n");
    }
    for (name, _) in &published.cycles {
        if filter
            .cluster
            .as_deref()
            .is_none_or(|want| want == name.as_str())
        {
            cluster(out, published, name, filter)?;
        }
    }
    write!(
        out,
        "</main>\n<footer>GPU Lens {} · <a href=\"api/v1/incidents\">incidents</a>, \
         <a href=\"api/v1/sources\">sources</a> and <a href=\"api/v1/rules\">rules</a> as JSON</footer>\n\
         </body>\n</html>\n",
        Text(version::VERSION)
    )
}

/// Links to the clusters, where there are several.
fn navigation(out: &mut String, published: &Published) -> fmt::Result {
    if published.cycles.len() < 2 {
        return Ok(());
    }
    out.push_str("<nav aria-label=\"Clusters\"><ul>\n");
    for (at, (name, _)) in published.cycles.iter().enumerate() {
        let view = published.cluster(name).filter(|view| view.warm);
        let open = view.map_or(0, |view| view.open.len());
        write!(out, "<li><a href=\"./#c{at}\">{}</a>", Text(title(name)))?;
        if open > 0 {
            write!(out, " ({open})")?;
        }
        out.push_str("</li>\n");
    }
    out.push_str("</ul></nav>\n");
    Ok(())
}

fn title(name: &ClusterName) -> &str {
    match name.as_str() {
        "" => "Cluster",
        name => name,
    }
}

fn cluster(
    out: &mut String,
    published: &Published,
    name: &ClusterName,
    filter: &Filter,
) -> fmt::Result {
    let at = published.cycles.iter().position(|(have, _)| have == name);
    write!(
        out,
        "<section>\n<h2 id=\"c{}\">{}</h2>\n",
        at.unwrap_or(0),
        Text(title(name))
    )?;
    let view = published.cluster(name);
    if let Some(view) = view {
        let recorded = if view.recorded {
            "Recorded, as of"
        } else {
            "As of"
        };
        writeln!(out, "<p class=\"soft\">{recorded} {}</p>", Time(view.now))?;
    }
    if let Some(what) = awaited(published, name) {
        writeln!(
            out,
            "<p class=\"banner\">Starting: waiting for {}. Nothing is known yet, neither good nor \
             bad.</p>",
            Text(what)
        )?;
    }
    if let Some(view) = view {
        if view.warm {
            fleet(out, view)?;
            incidents(out, published, view, filter)?;
        }
        sources::write(out, view)?;
    }
    out.push_str("</section>\n");
    Ok(())
}

fn fleet(out: &mut String, view: &ClusterView) -> fmt::Result {
    let fleet = view.fleet;
    let all = fleet.ok + fleet.finding + fleet.unknown;
    out.push_str("<ul class=\"counts\" aria-label=\"GPUs by state\">\n");
    for (class, count, words) in [
        // Not "ok": what is not exported was not looked at either.
        ("ok", fleet.ok, "live, nothing found"),
        ("finding", fleet.finding, "with a finding"),
        ("unknown", fleet.unknown, "unknown"),
    ] {
        let class = if count == 0 { "none" } else { class };
        writeln!(out, "<li class=\"{class}\"><b>{count}</b> {words}</li>")?;
    }
    out.push_str("</ul>\n");
    if fleet.unknown > 0 {
        let (are, they_are) = match fleet.unknown {
            1 => ("is", "it is"),
            _ => ("are", "they are"),
        };
        writeln!(
            out,
            "<p class=\"banner\"><strong>{} of {} {are} unknown.</strong> Readings are not \
             of the present, or do not tell of health; nothing here says that {they_are} healthy.</p>",
            fleet.unknown,
            gpus(all)
        )?;
    }
    for run in view.rules.iter().filter(|run| !run.success) {
        writeln!(
            out,
            "<p class=\"banner fault\"><strong>{} failed in the last cycle.</strong> Its incidents \
             stay as they were. This is a fault of GPU Lens; its log has more.</p>",
            run.rule
        )?;
    }
    Ok(())
}

fn gpus(count: u64) -> Cow<'static, str> {
    match count {
        1 => "1 GPU".into(),
        count => format!("{count} GPUs").into(),
    }
}

fn incidents(
    out: &mut String,
    published: &Published,
    view: &ClusterView,
    filter: &Filter,
) -> fmt::Result {
    let heading = match filter.state {
        State::Open => "Open incidents",
        State::Closed => "Closed incidents",
        State::All => "Open and closed incidents",
    };
    writeln!(out, "<h3>{heading}</h3>")?;
    let here = chosen(published, filter).filter(|(of, _)| of.cluster == view.cluster);
    let rows: Vec<&Incident> = here.map(|(_, incident)| &**incident).collect();
    let fleet = view.fleet;
    let all = fleet.ok + fleet.finding + fleet.unknown;
    if rows.is_empty() {
        let what = match view.open.len() {
            0 => "No incident is open".to_owned(),
            open => format!("No incident matches; {open} in all are open"),
        };
        let observed = match all {
            0 => "no GPU has been seen.".to_owned(),
            all => format!("{} of {} could be judged.", all - fleet.unknown, gpus(all)),
        };
        writeln!(out, "<p>{what}; {observed}</p>")?;
    } else {
        out.push_str(
            "<table>\n<thead><tr><th scope=\"col\">Severity</th><th scope=\"col\">Incident</th>\
             <th scope=\"col\">Where</th><th scope=\"col\">Evidence</th>\
             <th scope=\"col\">Since</th></tr></thead>\n<tbody>\n",
        );
        for incident in rows.iter().take(MOST_ROWS) {
            row(out, view.now, incident)?;
        }
        out.push_str("</tbody>\n</table>\n");
        if rows.len() > MOST_ROWS {
            writeln!(
                out,
                "<p>{} more in <a href=\"api/v1/incidents?{}limit=10000\">the JSON list</a>.</p>",
                rows.len() - MOST_ROWS,
                cluster_query(&view.cluster)
            )?;
        }
    }
    undecided(out, view)
}

fn cluster_query(name: &ClusterName) -> String {
    if name.is_empty() {
        String::new()
    } else {
        format!("cluster={}&amp;", Query(name.as_str()))
    }
}

fn row(out: &mut String, now: Timestamp, incident: &Incident) -> fmt::Result {
    let finding = &incident.finding;
    let severity = incident.severity.as_str();
    write!(
        out,
        "<tr><td><span class=\"mark {severity}\">{severity}</span></td>\
         <th scope=\"row\">{} <br><span class=\"soft\"><code>{}</code> · <code>{}</code> · \
         <a href=\"api/v1/incidents/{}\">JSON</a></span></th><td class=\"place\">",
        Text(&finding.summary),
        incident.key.rule,
        Text(finding.cause.as_str()),
        incident.id,
    )?;
    place(out, &incident.key.subject, finding.gpu)?;
    write!(
        out,
        "</td><td data-name=\"Evidence\">{}",
        incident.grade().as_str()
    )?;
    if let Some(reason) = incident.undecided {
        write!(
            out,
            " <span class=\"soft\">({})</span>",
            words(reason.as_str())
        )?;
    }
    writeln!(
        out,
        "</td><td class=\"when\" data-name=\"Since\">{}<br><span class=\"soft\">for {}</span></td></tr>",
        Time(incident.started),
        Length(now.duration_since(incident.started))
    )
}

/// A label value as words.
fn words(label: &str) -> String {
    label.replace('_', " ")
}

fn place(out: &mut String, subject: &Subject, gpu: Option<u32>) -> fmt::Result {
    let place = subject.place();
    let target = match subject {
        Subject::Target { url, .. } => url,
        Subject::Source(source) => source.as_str(),
        Subject::Cluster => return out.write_str("the cluster"),
        _ => "",
    };
    let gpu = gpu.map(|gpu| gpu.to_string()).unwrap_or_default();
    out.push_str("<dl>");
    for (name, value) in [
        ("Source", target),
        ("Namespace", place.namespace),
        ("Workload", place.workload),
        ("Pod", place.pod),
        ("Container", place.container),
        ("Node", place.node),
        ("GPU", &gpu),
        ("UUID", place.uuid),
    ] {
        if !value.is_empty() {
            write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", Text(value))?;
        }
    }
    out.push_str("</dl>");
    Ok(())
}

/// What the rules could not decide: neither a finding nor health.
fn undecided(out: &mut String, view: &ClusterView) -> fmt::Result {
    let all: Vec<_> = view
        .undecided
        .iter()
        .filter(|(_, count)| **count > 0)
        .collect();
    if all.is_empty() {
        return Ok(());
    }
    out.push_str("<p class=\"soft\">Not decided, so neither found nor healthy: ");
    let mut last: Option<RuleId> = None;
    for ((rule, reason), count) in all {
        match last {
            Some(before) if before == *rule => out.push_str(", "),
            Some(_) => write!(out, "; <code>{rule}</code> ")?,
            None => write!(out, "<code>{rule}</code> ")?,
        }
        write!(out, "{count} ({})", words(reason.as_str()))?;
        last = Some(*rule);
    }
    out.push_str(".</p>\n");
    Ok(())
}
