//! GPUs that a node has and does not offer.

use jiff::{SignedDuration, Timestamp};

use super::fleet::Fleet;
use super::node::{Claim, NodeFound, View, gpu_resources, restarts};
use super::sign::{Doubt, Found, Kind, Sign, Weight};
use super::xid::Event;
use crate::finding::{Cause, Evidence, Fact, Reason, Severity};
use crate::rules::words;
use crate::rules::xid::{self, DevicePlugin, Xid};
use crate::snapshot::{Track, is_gpu_resource};

/// An XID this long before a GPU is withheld, or this little after, explains it.
const BEFORE: SignedDuration = SignedDuration::from_mins(10);
const AFTER: SignedDuration = SignedDuration::from_mins(2);

/// The boards of a node that can explain a loss since a time: in trouble of their own, or with an
/// XID near its beginning on which the device plugin withholds a GPU. The plugin never gives it
/// back by itself, so an XID that is long over explains a loss that lasts.
pub(super) fn candidates(
    fleet: &Fleet<'_>,
    boards: &[usize],
    founds: &[Found],
    since: Timestamp,
) -> Vec<usize> {
    let explains = |at: &usize| {
        let in_trouble = founds[*at]
            .severity()
            .is_some_and(|worst| worst >= Severity::Warning);
        in_trouble || !withholding_codes(fleet, *at, since).is_empty()
    };
    boards.iter().copied().filter(explains).collect()
}

/// XIDs near a time on which the device plugin withholds a GPU.
fn withholding_codes<'a>(fleet: &'a Fleet<'_>, at: usize, since: Timestamp) -> Vec<&'a Event> {
    fleet.events[at]
        .iter()
        .filter(|event| {
            let lag = since.duration_since(event.at);
            lag <= BEFORE && lag >= -AFTER
        })
        .filter(|event| {
            xid::lookup(event.code).is_none_or(|known| known.plugin == DevicePlugin::Withholds)
        })
        .collect()
}

/// A loss of capacity, with how long it has lasted.
struct Loss {
    withheld: i64,
    capacity: i64,
    since: Timestamp,
    seen: usize,
}

/// Looks for GPUs that the node has and does not offer.
pub(super) fn look(fleet: &Fleet<'_>, view: &View<'_>, founds: &[Found], node: &mut NodeFound) {
    facts(view, &mut node.found);
    let loss = if view.capacity() > 0 {
        withheld(fleet, view)
    } else {
        not_offered(fleet, view, node)
    };
    let Some(loss) = loss else {
        if view.capacity() > 0 {
            node.found.against.push(Evidence::of(
                "every GPU of the node is allocatable",
                "node status",
            ));
        }
        return;
    };
    let thresholds = fleet.thresholds;
    let lasted = fleet.snapshot.now.duration_since(loss.since);
    if lasted < thresholds.hold.get() || loss.seen < 2 {
        node.found.holds = true;
        return;
    }
    let mut boards = candidates(fleet, view.boards, founds, loss.since);
    let all = loss.withheld == loss.capacity;
    if all && loss.capacity > 1 {
        // One board in mild trouble does not take the others along; an XID can.
        boards.retain(|at| {
            founds[*at]
                .signs
                .iter()
                .any(|sign| sign.kind == Kind::Xid || sign.weight == Weight::Direct)
        });
    }
    let sign = if all && boards.is_empty() {
        plugin_down(fleet, view, &loss, lasted)
    } else {
        drop(fleet, view, &loss, lasted, &boards)
    };
    let claim = match *boards {
        [at] => Claim::Named(at),
        _ => Claim::Node,
    };
    node.signs.push((sign, claim));
}

fn facts(view: &View<'_>, found: &mut Found) {
    for (name, capacity, allocatable) in gpu_resources(view.node) {
        if capacity > 0 {
            found.facts.push(Fact {
                name: format!("{name} allocatable of capacity").into(),
                value: format!("{allocatable} of {capacity}"),
                source: "node status".into(),
                at: None,
            });
        }
    }
}

/// Pieces in capacity that are not allocatable.
fn withheld(fleet: &Fleet<'_>, view: &View<'_>) -> Option<Loss> {
    let mut loss: Option<Loss> = None;
    for (name, capacity, allocatable) in gpu_resources(view.node) {
        if allocatable >= capacity {
            continue;
        }
        let filed = view.track.and_then(|track| track.allocatable.get(name));
        let (since, seen) = short_since(filed, capacity as f64, fleet.snapshot.now);
        let loss = loss.get_or_insert(Loss {
            withheld: 0,
            capacity: view.capacity(),
            since,
            seen,
        });
        loss.withheld += capacity - allocatable.max(0);
        loss.since = loss.since.min(since);
        loss.seen = loss.seen.max(seen);
    }
    loss
}

/// Since when a quantity has been short of the capacity, and how often that was seen.
fn short_since(track: Option<&Track>, capacity: f64, now: Timestamp) -> (Timestamp, usize) {
    let Some(track) = track else { return (now, 0) };
    let short = |value: f64| value < capacity;
    let seen = track
        .points()
        .rev()
        .take_while(|point| short(point.value))
        .count();
    let since = track.run_start(short).unwrap_or(now);
    let changed = if short(track.last().value) {
        track.changed()
    } else {
        now
    };
    // The first observation may have left the look-back.
    (since.min(changed), seen + usize::from(changed < since))
}

/// GPU labels without a GPU resource, where a device plugin is expected.
fn not_offered(fleet: &Fleet<'_>, view: &View<'_>, node: &mut NodeFound) -> Option<Loss> {
    let labelled = view.labelled_gpus().unwrap_or(0) > 0
        || view.label("nvidia.com/gpu.present") == Some("true");
    if !labelled || view.label("nvidia.com/gpu.deploy.device-plugin") == Some("false") {
        return None;
    }
    let tracks = view.track.map(|track| &track.capacity);
    let filed = tracks
        .into_iter()
        .flatten()
        .filter(|(name, _)| is_gpu_resource(name));
    let offered_before = filed
        .clone()
        .any(|(_, track)| track.before_change().is_some() || track.first().value > 0.0);
    let expected = view.label("nvidia.com/gpu.deploy.device-plugin") == Some("true");
    if !offered_before && !expected && !fleet.offered {
        // No node offers the resource: GPUs may be handed out another way (DRA).
        node.undecided(Reason::NotExported);
        return None;
    }
    let since = filed
        .map(|(_, track)| track.changed())
        .max()
        .or_else(|| view.track.and_then(|track| track.first_seen))?;
    let gpus = view.labelled_gpus().unwrap_or(1);
    let last_seen = view.track.and_then(|track| track.last_seen);
    Some(Loss {
        withheld: gpus,
        capacity: gpus,
        since,
        seen: if last_seen > Some(since) { 2 } else { 1 },
    })
}

/// Severity of a loss that lasts, and whether planned work explains it for the present.
pub(super) fn severity(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    lasted: SignedDuration,
    critical_after: SignedDuration,
) -> (Severity, Option<Evidence>) {
    let planned = view
        .planned_work(fleet)
        .filter(|_| lasted < fleet.snapshot.limits.planned_work.get());
    match planned {
        Some(why) => {
            let text = format!("the node {why}: a loss of capacity is expected for a while");
            (Severity::Info, Some(Evidence::of(text, "node")))
        }
        None if lasted >= critical_after => (Severity::Critical, None),
        None => (Severity::Warning, None),
    }
}

/// Every GPU of the node is withheld, and none shows a fault.
fn plugin_down(fleet: &Fleet<'_>, view: &View<'_>, loss: &Loss, lasted: SignedDuration) -> Sign {
    let critical_after = fleet.thresholds.plugin_critical_after.get();
    let (severity, planned) = severity(fleet, view, lasted, critical_after);
    let text = if view.capacity() > 0 {
        format!(
            "none of {} {} allocatable since {}",
            loss.capacity,
            pieces(fleet, view),
            words::moment(loss.since)
        )
    } else {
        format!(
            "GPU labels but no GPU resource since {}",
            words::moment(loss.since)
        )
    };
    let evidence = Evidence::at(text.clone(), "node status", loss.since);
    let mut sign = Sign::new(
        Cause::DevicePluginDown,
        severity,
        Kind::Capacity,
        loss.since,
        text,
        evidence,
    )
    .reading("a device plugin that is down or not registered, rather than all GPUs at once");
    let live = view.gpus(fleet).filter(|gpu| !gpu.is_blind()).count();
    if live > 0 {
        sign.facts.push(Fact {
            name: "boards without a fault".into(),
            value: live.to_string(),
            source: "telemetry".into(),
            at: None,
        });
    }
    sign.against.extend(planned);
    sign.against.extend(restarts(fleet, view, loss.since));
    sign
}

/// What a piece of the node's GPU resources is.
fn pieces(fleet: &Fleet<'_>, view: &View<'_>) -> &'static str {
    if view.is_mig(fleet) {
        "MIG instances"
    } else if view.is_shared() {
        "replicas of GPUs"
    } else {
        "GPUs"
    }
}

/// GPUs are withheld.
fn drop(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    loss: &Loss,
    lasted: SignedDuration,
    boards: &[usize],
) -> Sign {
    let critical_after = fleet.thresholds.capacity_critical_after.get();
    let (severity, planned) = severity(fleet, view, lasted, critical_after);
    let codes = match boards {
        [at] => withholding_codes(fleet, *at, loss.since),
        _ => Vec::new(),
    };
    let near = codes.last().map_or(String::new(), |event| {
        format!(", about when XID {} came", event.code)
    });
    let text = format!(
        "{} of {} {} allocatable since {}{near}",
        loss.capacity - loss.withheld,
        loss.capacity,
        pieces(fleet, view),
        words::moment(loss.since)
    );
    let evidence = Evidence::at(text.clone(), "node status", loss.since);
    let mut sign = Sign::new(
        Cause::AllocatableDrop,
        severity,
        Kind::Capacity,
        loss.since,
        text,
        evidence,
    )
    .reading("a GPU that the device plugin withholds: it does so on an XID, and gives it back only when it is restarted");
    let live = view.gpus(fleet).filter(|gpu| !gpu.is_blind()).count();
    if live > 0 && live == view.boards.len() {
        let quiet = boards.is_empty() && view.gpus(fleet).all(shows_no_xid);
        if quiet {
            sign.doubt = Some(Doubt::Contradicted);
        }
        let rest = if quiet { ", none with an XID" } else { "" };
        sign.against.push(Evidence::of(
            format!("telemetry still shows all {live} boards of the node{rest}: the device plugin keeps a GPU back, none is lost"),
            "telemetry",
        ));
    }
    explain(&mut sign, &codes);
    sign.missing.extend(which(fleet, view, loss, boards));
    sign.against.extend(planned);
    sign.against.extend(restarts(fleet, view, loss.since));
    sign
}

/// What is not known about which board is withheld.
fn which(fleet: &Fleet<'_>, view: &View<'_>, loss: &Loss, boards: &[usize]) -> Option<Evidence> {
    let text = match boards {
        [_] if loss.withheld > 1 && view.boards.len() > 1 => {
            "what explains the rest of the loss: one board alone shows a sign".to_owned()
        }
        [] | [_] => return None,
        several => {
            let titles: Vec<_> = several
                .iter()
                .map(|at| fleet.snapshot.gpus[*at].title())
                .collect();
            format!(
                "which board is withheld: {} can each explain it",
                titles.join(", ")
            )
        }
    };
    Some(Evidence::of(text, "node status"))
}

/// What the codes that came with a loss say about it.
fn explain(sign: &mut Sign, codes: &[&Event]) {
    for event in codes {
        let known = xid::lookup(event.code);
        sign.facts.push(Fact {
            name: format!("XID {}: recommended action", event.code).into(),
            value: known
                .map_or("not catalogued", |known| known.action)
                .to_owned(),
            source: "XID catalogue".into(),
            at: None,
        });
    }
    let program = |event: &&Event| {
        xid::lookup(event.code)
            .is_some_and(|known: &Xid| known.is_application() || known.is_consequence())
    };
    if !codes.is_empty() && codes.iter().all(program) {
        sign.doubt = Some(Doubt::Contradicted);
        sign.reading = "a program fault on which the device plugin withholds the GPU: look at the job, then at the plugin; no reason to replace anything".into();
    }
}

/// Whether the board's XID family is there and has never shown a code.
fn shows_no_xid(gpu: &crate::snapshot::Gpu) -> bool {
    let signal = crate::snapshot::Signal::Xid;
    gpu.entities().any(|(_, entity)| {
        gpu.reading_of(entity, signal)
            .live()
            .is_some_and(|last| last.value <= 0.0)
    })
}
