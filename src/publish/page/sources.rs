//! The table of sources and their targets.

use std::borrow::Cow;
use std::fmt::{self, Write};

use jiff::Timestamp;

use super::gpus;
use crate::cycle::ClusterView;
use crate::publish::html::{Length, Text, Time};
use crate::snapshot::{
    ListState, SourceError, SourceState, SourceStatus, TargetState, TargetStatus,
};

/// Targets shown one by one.
const MOST_TARGETS: usize = 20;

/// The sources of a cluster and their targets, with how fresh they are.
pub(super) fn write(out: &mut String, view: &ClusterView) -> fmt::Result {
    out.push_str("<h3>Sources</h3>\n");
    if view.sources.is_empty() {
        out.push_str("<p>No source is configured.</p>\n");
        return Ok(());
    }
    out.push_str(
        "<table>\n<thead><tr><th scope=\"col\">State</th><th scope=\"col\">Source or target</th>\
         <th scope=\"col\">What it says</th><th scope=\"col\">Last answer</th></tr></thead>\n<tbody>\n",
    );
    for source in &view.sources {
        let row = Row {
            class: "source",
            state: match source.state {
                SourceState::Pending => "pending",
                SourceState::Up => "up",
                SourceState::Down => "down",
            },
            name: source.id.as_str(),
            says: of_source(source, view.now),
            error: source.error.as_ref(),
            last: source.last_success,
        };
        row.write(out, view.now)?;
        targets(out, source, view.now)?;
    }
    out.push_str("</tbody>\n</table>\n");
    Ok(())
}

/// What there is to say of a source as a whole.
fn of_source(source: &SourceStatus, now: Timestamp) -> String {
    let mut says = Vec::new();
    if !source.targets.is_empty() {
        let up = source.targets.iter().filter(|t| t.state == TargetState::Up);
        let named: u64 = up.clone().map(|target| u64::from(target.gpus)).sum();
        let all = match source.targets.len() {
            1 => "1 target answers".to_owned(),
            all => format!("{all} targets answer"),
        };
        says.push(format!("{} of {all}, {}", up.count(), gpus(named)));
    }
    if let Some(lists) = source.lists {
        says.extend(
            [
                ("nodes", lists.nodes),
                ("pods", lists.pods),
                ("events", lists.events),
            ]
            .map(|(name, list)| format!("{name}: {}", of_list(list, now))),
        );
    }
    says.join("; ")
}

fn of_list(list: ListState, now: Timestamp) -> Cow<'static, str> {
    match list {
        ListState::NotConfigured => "not asked for".into(),
        ListState::Pending => "not yet listed".into(),
        ListState::Failed => "never listed: refused or failed".into(),
        ListState::Synced(at) => {
            format!("complete, {} before", Length(now.duration_since(at))).into()
        }
    }
}

/// Targets one by one: those that do not answer first, the rest up to a number.
fn targets(out: &mut String, source: &SourceStatus, now: Timestamp) -> fmt::Result {
    let mut targets: Vec<_> = source.targets.iter().collect();
    targets.sort_by_key(|target| match (target.state, target.empty_since) {
        (TargetState::Down, _) => 0,
        (TargetState::Pending, _) => 1,
        (TargetState::Up, Some(_)) => 2,
        (TargetState::Up, None) => 3,
    });
    for target in targets.iter().take(MOST_TARGETS) {
        let row = Row {
            class: "target",
            state: match target.empty_since {
                // It answers, but nobody can call that well.
                Some(_) if target.state == TargetState::Up => "empty",
                _ => target.state.as_str(),
            },
            name: &target.url,
            says: of_target(target),
            error: target.error.as_ref(),
            last: target.last_success,
        };
        row.write(out, now)?;
    }
    if targets.len() > MOST_TARGETS {
        writeln!(
            out,
            "<tr class=\"target\"><td></td><td colspan=\"3\">{} more targets in \
             <a href=\"api/v1/sources\">the JSON list</a></td></tr>",
            targets.len() - MOST_TARGETS
        )?;
    }
    Ok(())
}

fn of_target(target: &TargetStatus) -> String {
    let mut says = Vec::new();
    says.extend(target.node.as_ref().map(|node| format!("node {node}")));
    if target.state == TargetState::Up {
        says.push(gpus(u64::from(target.gpus)).into_owned());
    }
    if target.rolling_out {
        says.push("its exporter is being rolled out".to_owned());
    }
    says.extend(target.notes.iter().cloned());
    says.join("; ")
}

struct Row<'a> {
    class: &'static str,
    state: &'static str,
    name: &'a str,
    says: String,
    error: Option<&'a SourceError>,
    last: Option<Timestamp>,
}

impl Row<'_> {
    fn write(&self, out: &mut String, now: Timestamp) -> fmt::Result {
        write!(
            out,
            "<tr class=\"{}\"><td><span class=\"mark {state}\">{state}</span></td>\
             <th scope=\"row\">{}</th><td>{}",
            self.class,
            Text(self.name),
            Text(&self.says),
            state = self.state,
        )?;
        if let Some(error) = self.error {
            let gap = if self.says.is_empty() { "" } else { "<br>" };
            write!(out, "{gap}{}", Text(&error.message))?;
        }
        out.push_str("</td><td class=\"when\" data-name=\"Last answer\">");
        match self.last {
            Some(at) => {
                let before = Length(now.duration_since(at));
                write!(
                    out,
                    "{}<br><span class=\"soft\">{before} before</span>",
                    Time(at)
                )?;
            }
            None => out.push_str("never"),
        }
        out.push_str("</td></tr>\n");
        Ok(())
    }
}
