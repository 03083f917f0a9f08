//! What is told of boards that vanished, froze or fell silent.

use jiff::Timestamp;

use super::boards::{Group, Member, Sight};
use super::nodes::offered;
use super::remedy;
use super::scene::{Scene, last_seen};
use super::signals::Stuck;
use crate::finding::{Cause, Evidence, Fact, Finding, Grade, Step};
use crate::rules::sharing::shares_gpus;
use crate::rules::steps;
use crate::rules::{words, xid};
use crate::snapshot::{Edge, Gpu, Liveness, NodeName, Signal};

/// How long before the silence an XID may lie to be quoted as support, not only in the time line.
const XID_NEAR: jiff::SignedDuration = jiff::SignedDuration::from_mins(15);

/// A board that its target no longer names.
pub(super) fn vanished(
    scene: &Scene<'_>,
    group: &Group<'_>,
    gpu: &Gpu,
    since: Timestamp,
) -> Finding {
    let what = format!(
        "{}: no longer named for {}, while its target answers",
        gpu.title(),
        scene.ago(since)
    );
    let mut finding = of_board(scene, Cause::GpuVanished, gpu, what, since);
    let live = live(group);
    if live > 0 {
        finding.supporting.push(Evidence::of(
            format!("{live} other GPUs of the same place are live"),
            "dcgm",
        ));
    }
    let node = gpu.identity.node.as_ref().and_then(|name| scene.node(name));
    for (resource, capacity) in node.into_iter().flat_map(offered) {
        let allocatable = node
            .and_then(|node| node.allocatable.get(resource))
            .copied();
        if let Some(allocatable) = allocatable.filter(|count| *count < capacity) {
            finding.supporting.push(Evidence::of(
                format!("only {allocatable} of {capacity} {resource} are allocatable"),
                "kubernetes",
            ));
        }
    }
    let hides = "exporters before 4.4.2-4.7.0 hide free GPUs in DRA and virtual-GPU mode";
    match node {
        Some(node) if shares_gpus(node) || offered(node).all(|(_, count)| count <= 0) => {
            finding.grade = Grade::Contradicted;
            finding.contradicting.push(Evidence::of(
                format!("the node shares its GPUs or gives them out by DRA: {hides}"),
                "kubernetes",
            ));
        }
        Some(_) => {}
        None => finding
            .missing
            .push(Evidence::of(format!("whether {hides}"), "kubernetes")),
    }
    finding
        .timeline
        .push(Evidence::at("last named by its target", "dcgm", since));
    finish(scene, &mut finding, &[gpu]);
    finding
}

/// A board whose readings repeat.
pub(super) fn frozen(scene: &Scene<'_>, group: &Group<'_>, gpu: &Gpu, since: Timestamp) -> Finding {
    let what = format!(
        "{}: its readings have repeated for {}",
        gpu.title(),
        scene.ago(since)
    );
    let mut finding = of_board(scene, Cause::TelemetryFrozen, gpu, what, since);
    standing_energy(&mut finding);
    siblings(group, &mut finding);
    finding
        .timeline
        .push(Evidence::at("energy last moved", "dcgm", since));
    finish(scene, &mut finding, &[gpu]);
    finding
}

fn standing_energy(finding: &mut Finding) {
    finding.supporting.push(Evidence::of(
        "power is drawn and energy stands still, which no board does: consistent with an exporter that lost its host engine and repeats old values",
        "energy_joules",
    ));
}

/// A board whose power stands still while its energy tells of another.
pub(super) fn stuck(scene: &Scene<'_>, gpu: &Gpu, stuck: &Stuck) -> Finding {
    let watts = |value| words::quantity(value, "W");
    let what = format!(
        "{}: its power has read {} for {}, while its energy grows by {}",
        gpu.title(),
        watts(stuck.power.value),
        scene.ago(stuck.since),
        watts(stuck.by_energy)
    );
    let mut finding = of_board(scene, Cause::TelemetryFrozen, gpu, what, stuck.since);
    finding.grade = Grade::Moderate;
    finding.facts.push(Fact {
        name: "mean power that the growth of energy amounts to".into(),
        value: watts(stuck.by_energy),
        source: Signal::Energy.spec().name.into(),
        at: Some(stuck.power.at),
    });
    finding.contradicting.push(Evidence::at(
        "its energy moves, so other readings may be the present",
        Signal::Energy.spec().name,
        stuck.power.at,
    ));
    finding
        .timeline
        .push(Evidence::at("power last changed", "dcgm", stuck.since));
    finish(scene, &mut finding, &[gpu]);
    finding
}

/// A board whose readings are old.
pub(super) fn stale(scene: &Scene<'_>, group: &Group<'_>, gpu: &Gpu, since: Timestamp) -> Finding {
    let what = format!(
        "{}: its newest reading is {} old",
        gpu.title(),
        scene.ago(since)
    );
    let mut finding = of_board(scene, Cause::TelemetryStale, gpu, what, since);
    siblings(group, &mut finding);
    finding
        .timeline
        .push(Evidence::at("newest reading", "dcgm", since));
    finish(scene, &mut finding, &[gpu]);
    finding
}

/// All boards of a node or target together.
pub(super) fn whole(scene: &Scene<'_>, group: &Group<'_>, cause: Cause) -> Finding {
    let blind: Vec<&Member<'_>> = group.blind().collect();
    let gpus: Vec<&Gpu> = blind.iter().map(|member| member.gpu).collect();
    let newest = blind.iter().filter_map(|member| member.blind_since()).max();
    let since = newest.unwrap_or(scene.snapshot.now);
    let node = gpus.first().and_then(|gpu| gpu.identity.node.as_ref());
    let target = gpus.first().and_then(|gpu| gpu.identity.target.as_ref());
    let place = node
        .map(NodeName::as_str)
        .or_else(|| target.map(|url| &**url))
        .unwrap_or("unknown node");
    let count = match gpus.len() {
        1 => "its GPU".to_owned(),
        count => format!("its {count} GPUs"),
    };
    let summary = if cause == Cause::TelemetryFrozen {
        format!(
            "{place}: the readings of {count} have repeated for {}",
            scene.ago(since)
        )
    } else {
        format!(
            "{place}: the newest reading of {count} is {} old",
            scene.ago(since)
        )
    };
    let mut finding = scene.finding(cause, node, summary, since);
    for member in blind.iter().take(16) {
        let (at, word) = match member.sight {
            Sight::Frozen(at) => (Some(at), "repeats since"),
            _ => (member.blind_since(), "silent since"),
        };
        let value = at.map_or(String::new(), |at| {
            format!("{word} {} ({})", words::moment(at), scene.ago(at))
        });
        finding.facts.push(Fact {
            name: member.gpu.title().into(),
            value,
            source: "dcgm".into(),
            at,
        });
    }
    if cause == Cause::TelemetryFrozen {
        standing_energy(&mut finding);
    } else {
        finding.supporting.push(Evidence::of(
            "all GPUs at once: consistent with the exporter or its host engine rather than with single GPUs",
            "dcgm",
        ));
    }
    let event = if cause == Cause::TelemetryFrozen {
        "readings last moved"
    } else {
        "newest reading"
    };
    finding.timeline.push(Evidence::at(event, "dcgm", since));
    finish(scene, &mut finding, &gpus);
    finding
}

fn of_board(
    scene: &Scene<'_>,
    cause: Cause,
    gpu: &Gpu,
    summary: String,
    since: Timestamp,
) -> Finding {
    let mut finding = scene.finding(cause, gpu.identity.node.as_ref(), summary, since);
    finding.gpu = gpu.identity.index;
    finding.facts.push(Fact {
        name: "last seen in telemetry".into(),
        value: last_seen(gpu).map_or("never".to_owned(), |at| format!("{} ago", scene.ago(at))),
        source: "dcgm".into(),
        at: last_seen(gpu),
    });
    for signal in [Signal::PowerUsage, Signal::Energy, Signal::CoreTemperature] {
        if let Some(track) = gpu.board.track(signal) {
            let mut fact = words::fact(signal, track.last());
            if gpu.liveness != Liveness::Live {
                fact.value = format!("{} (last known)", fact.value);
            }
            finding.facts.push(fact);
        }
    }
    finding
}

fn live(group: &Group<'_>) -> usize {
    let is_live = |member: &&Member<'_>| member.sight == Sight::Live;
    group.members.iter().filter(is_live).count()
}

fn siblings(group: &Group<'_>, finding: &mut Finding) {
    let live = live(group);
    if live > 0 {
        finding.contradicting.push(Evidence::of(
            format!(
                "{live} of {} GPUs of the same place are live: its exporter works",
                group.members.len()
            ),
            "dcgm",
        ));
    }
}

/// What every finding about boards ends with: the target's word, the last XID, what is missing
/// and where to look.
fn finish(scene: &Scene<'_>, finding: &mut Finding, gpus: &[&Gpu]) {
    let first = gpus.first().copied();
    let target = first.and_then(|gpu| scene.target_of(gpu));
    let mut steps: Vec<Step> = Vec::new();
    match target {
        Some((status, look)) => {
            if look.answers()
                && let Some(at) = status.last_success
            {
                let answers = Evidence::at(
                    format!(
                        "its target answers HTTP 200, {} ago with {} GPUs: network and process work",
                        scene.ago(at),
                        status.gpus
                    ),
                    "scrape",
                    at,
                );
                // A board can only be missed in an answer.
                if finding.cause == Cause::GpuVanished {
                    finding.supporting.push(answers);
                } else {
                    finding.contradicting.push(answers);
                }
                finding
                    .timeline
                    .push(Evidence::at("last answer of its target", "scrape", at));
            }
            if status.rolling_out {
                finding.contradicting.push(Evidence::of(
                    "the exporter is being rolled out",
                    "kubernetes",
                ));
            }
            for note in &status.notes {
                finding
                    .supporting
                    .push(Evidence::of(note.clone(), "scrape"));
            }
            steps.push(remedy::ask(&status.url));
        }
        None => finding
            .missing
            .push(Evidence::of("the state of its target", "dcgm")),
    }
    last_xid(gpus, finding);
    finding.missing.push(Evidence::of(
        "the driver's own word: its kernel log is not read",
        "node",
    ));
    steps.push(steps::look(
        "On the node: nvidia-smi -L, and dmesg for NVRM or Xid lines; a GPU that fell off the bus may leave no XID in the metrics.",
    ));
    let node = first.and_then(|gpu| gpu.identity.node.as_ref());
    steps.extend(remedy::exporter(scene, node));
    finding.checklist.extend(steps);
}

/// The last XID of some boards: on a fatal one DCGM stops asking the driver, and all series of
/// its engine end.
pub(super) fn last_xid(gpus: &[&Gpu], finding: &mut Finding) {
    let edges = gpus.iter().flat_map(|gpu| {
        gpu.entities().filter_map(|(_, entity)| {
            let edge = entity.track(Signal::Xid)?.edges().last()?;
            Some((*edge, *gpu))
        })
    });
    let last = edges
        .max_by(|(a, on_a), (b, on_b)| (a.at, a.code, &on_a.uuid).cmp(&(b.at, b.code, &on_b.uuid)));
    match last {
        Some((edge, gpu)) => quote(&edge, gpu, finding),
        None if gpus.iter().any(|gpu| tells_xids(gpu)) => {}
        None => finding.missing.push(Evidence::of(
            "XIDs, which would tell a fault before the silence: the exporter has named none",
            "xid",
        )),
    }
}

/// Whether a board's exporter tells of XIDs, if only that there was none.
fn tells_xids(gpu: &Gpu) -> bool {
    gpu.entities().any(|(_, entity)| {
        let track = entity.track(Signal::Xid);
        track.is_some_and(|track| track.last().value >= 0.0)
    })
}

fn quote(edge: &Edge, gpu: &Gpu, finding: &mut Finding) {
    let meaning = xid::lookup(edge.code).map_or("not in the catalogue", |known| known.meaning);
    let word = format!("{}: XID {}, {meaning}", gpu.title(), edge.code);
    if !edge.is_dated() {
        finding.timeline.push(Evidence::at(
            format!("{word} (seen at first sight, so it may be old)"),
            "xid",
            edge.at,
        ));
        return;
    }
    let ahead = finding.started.duration_since(edge.at);
    // The silence begins at most a scrape before the edge was seen, and some time after it.
    if ahead <= XID_NEAR && ahead.as_secs() >= -XID_NEAR.as_secs() {
        finding.supporting.push(Evidence::at(
            format!(
                "{word}, {} before: fault first, then silence; on a fatal XID DCGM stops asking the driver",
                words::length(ahead)
            ),
            "xid",
            edge.at,
        ));
    }
    finding.timeline.push(Evidence::at(word, "xid", edge.at));
}
