//! When which XID happened, from every family that tells of it, and whether it is over.

use jiff::{SignedDuration, Timestamp};

use super::Thresholds;
use crate::rules::xid;
use crate::snapshot::{Edge, Entity, Gpu, InstanceId, Limits, Signal, Track};

/// The exporter's default window of `DCGM_EXP_XID_ERRORS_COUNT`.
const COUNT_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// The families come in one body, some collections apart: readings this close tell of one event.
const SAME_EVENT: SignedDuration = SignedDuration::from_mins(2);

/// An XID, or a run of one code that could not be told apart.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Event {
    /// The code.
    pub code: u16,
    /// When it was first seen.
    pub at: Timestamp,
    /// When it had not happened yet. `None`: it was there at first sight, its age is unknown.
    pub after: Option<Timestamp>,
    /// At least how often.
    pub times: u64,
    /// On which entities: `None` is the board itself.
    pub entities: Vec<Option<InstanceId>>,
    /// The family that told.
    pub source: Signal,
}

/// Whether an event still counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It does.
    Active,
    /// It was followed by a reset, or by quiet for long enough.
    Over,
    /// It is too old, and no reset was seen.
    Expired,
}

/// Every XID that is known of a board, oldest first.
pub(super) fn events(gpu: &Gpu, rebooted: Option<Timestamp>) -> Vec<Event> {
    let mut events = Vec::new();
    for (instance, entity) in gpu.entities() {
        let Some(track) = entity.track(Signal::Xid) else {
            continue;
        };
        let edges = track.edges().iter().copied();
        for edge in edges.chain(again(gpu, track, rebooted)) {
            add(
                &mut events,
                edge,
                instance.map(|instance| instance.id),
                &gpu.limits,
            );
        }
    }
    for (part, track) in gpu.board.parts(Signal::XidWindowCount) {
        if let (Some(code), Some((start, end, times))) = (part.number(), counted(track)) {
            merge(
                &mut events,
                code,
                (start, end),
                times,
                Signal::XidWindowCount,
            );
        }
    }
    for (part, track) in gpu.board.parts(Signal::XidTotal) {
        if let (Some(code), Some((at, times))) = (part.number(), grown(&gpu.board, track)) {
            merge(&mut events, code, (at, at), times, Signal::XidTotal);
        }
    }
    events.retain(|event| event.code > 0);
    events.sort_by_key(|event| (event.at, event.code));
    events
}

/// The gauge is sticky: a code that is still there is no news. It is, when everything that could
/// have kept it was started anew since: after a boot, or after a silence in which energy fell.
fn again(gpu: &Gpu, track: &Track, rebooted: Option<Timestamp>) -> Option<Edge> {
    let edge = track.edges().last()?;
    let last = track.last();
    if last.value < 0.0 || last.value as u16 != edge.code {
        return None;
    }
    let code = edge.code;
    if let Some(boot) = rebooted.filter(|boot| *boot > edge.at && last.at > *boot) {
        let gap = track.gap().filter(|gap| (gap.0..=gap.1).contains(&boot));
        let (after, at) = gap.unwrap_or((edge.at, boot));
        return Some(Edge {
            code,
            at,
            after: Some(after),
        });
    }
    let (before, after) = track.gap()?;
    let reset = gpu.board.track(Signal::Energy)?.reset()?;
    (edge.at <= before && before < reset && reset <= after).then_some(Edge {
        code,
        at: after,
        after: Some(before),
    })
}

/// Adds an edge of the gauge. The same code on several instances at one time is one event.
fn add(events: &mut Vec<Event>, edge: Edge, entity: Option<InstanceId>, limits: &Limits) {
    let near = limits.collection_interval.get() * 2;
    let same = events.iter_mut().find(|event| {
        event.code == edge.code
            && !event.entities.contains(&entity)
            && event.at.duration_since(edge.at).abs() <= near
    });
    match same {
        Some(event) => {
            event.entities.push(entity);
            event.at = event.at.min(edge.at);
            event.after = event.after.max(edge.after);
        }
        None => events.push(Event {
            code: edge.code,
            at: edge.at,
            after: edge.after,
            times: 1,
            entities: vec![entity],
            source: Signal::Xid,
        }),
    }
}

/// The latest stretch in which a windowed count was above 0, and the highest count in it.
fn counted(track: &Track) -> Option<(Timestamp, Timestamp, u64)> {
    let mut run = track
        .points()
        .rev()
        .skip_while(|point| point.value <= 0.0)
        .take_while(|point| point.value > 0.0);
    let Some(end) = run.next() else {
        // It has left the look-back; the value before the present 0 was above 0.
        let seen = track.before_change()?;
        return Some((seen, seen, 1));
    };
    let (start, most) = run.fold((end.at, end.value), |(_, most), point| {
        (point.at, most.max(point.value))
    });
    Some((start, end.at, most as u64))
}

/// The latest growth of a true counter of XIDs. A counter that was there at first sight tells
/// history; one that appears on a board that was known before tells of something new.
fn grown(board: &Entity, track: &Track) -> Option<(Timestamp, u64)> {
    let appeared = board
        .first_seen
        .is_some_and(|first| first < track.first().at);
    if let Some(at) = track.grew() {
        let before = if appeared { track.first().value } else { 0.0 };
        return Some((at, (track.growth() + before) as u64));
    }
    (appeared && track.first().value > 0.0)
        .then_some((track.first().at, track.first().value as u64))
}

/// Adds what a counting family tells: to the event that it counts, or as one that the gauge
/// could not show (a repeat of the same code, a code that was overwritten).
fn merge(
    events: &mut Vec<Event>,
    code: u16,
    (start, end): (Timestamp, Timestamp),
    times: u64,
    source: Signal,
) {
    let earliest = start.saturating_sub(SAME_EVENT).unwrap_or(start);
    let latest = end.saturating_add(SAME_EVENT).unwrap_or(end);
    let window_began = start.saturating_sub(COUNT_WINDOW).unwrap_or(start);
    let same = events
        .iter_mut()
        .rev()
        .find(|event| event.code == code && (earliest..=latest).contains(&event.at));
    match same {
        Some(event) => {
            event.times = event.times.max(times);
            event.after = event.after.or(Some(window_began));
        }
        None => events.push(Event {
            code,
            at: start,
            after: Some(window_began),
            times: times.max(1),
            entities: vec![None],
            source,
        }),
    }
}

/// A sign that the board was reset after an event, and that it lives since.
pub(super) fn reset(
    gpu: &Gpu,
    event: &Event,
    rebooted: Option<Timestamp>,
) -> Option<(Timestamp, &'static str)> {
    if gpu.is_blind() {
        return None;
    }
    let boot = rebooted
        .filter(|boot| gpu.live_at > *boot)
        .map(|at| (at, "the node booted anew"));
    let energy = gpu
        .board
        .track(Signal::Energy)
        .and_then(Track::reset)
        .map(|at| (at, "the energy counter started anew"));
    let zero = back_to_zero(gpu, event).map(|at| (at, "the XID gauge went back to 0"));
    [boot, energy, zero]
        .into_iter()
        .flatten()
        .filter(|(at, _)| *at > event.at)
        .min()
}

/// When the gauge went back to 0 on every entity that showed the event. Absence is not 0, and a 0
/// after a silence is that of an exporter or host engine that started anew, not of a GPU.
fn back_to_zero(gpu: &Gpu, event: &Event) -> Option<Timestamp> {
    let mut latest = None;
    for (instance, entity) in gpu.entities() {
        if !event.entities.contains(&instance.map(|i| i.id)) {
            continue;
        }
        let live = gpu.reading_of(entity, Signal::Xid).live()?;
        if live.value > 0.0 {
            return None;
        }
        latest = latest.max(Some(entity.track(Signal::Xid)?.reset()?));
    }
    latest
}

/// Whether an event still counts at the snapshot's moment.
pub(super) fn standing(
    thresholds: &Thresholds,
    gpu: &Gpu,
    event: &Event,
    rebooted: Option<Timestamp>,
) -> Standing {
    let age = gpu.now.duration_since(event.at);
    let fatal = xid::lookup(event.code).is_some_and(|known| known.clears_on_reset);
    if !fatal {
        return if age >= thresholds.xid_clear_after.get() {
            Standing::Over
        } else {
            Standing::Active
        };
    }
    if reset(gpu, event, rebooted).is_some() {
        Standing::Over
    } else if age >= thresholds.xid_expire_after.get() {
        Standing::Expired
    } else {
        Standing::Active
    }
}
