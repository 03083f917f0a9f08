//! One series: points inside the look-back, and what the older ones amount to.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::snapshot::{Edge, Kind, Limits, Point, Signal, Span, Tip, Track, increase};

/// Edges of a code that are listed; older ones are only counted.
const MAX_EDGES: usize = 16;
/// Points inside a look-back. A scrape every second for ten minutes stays below.
const MAX_POINTS: usize = 1024;

/// How the series of a history are filed.
pub(super) struct Filing<'a> {
    needs: &'a BTreeMap<Signal, Span>,
    limits: &'a Limits,
}

/// What became of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filed {
    /// It is in its place.
    Taken,
    /// It is older than what is still kept apart.
    TooLate,
}

/// How one series is filed.
#[derive(Clone, Copy)]
pub(super) struct Manner {
    /// How values behave.
    pub kind: Kind,
    /// How far back points are kept apart.
    pub back: SignedDuration,
    /// A silence longer than this is a gap.
    pub gap: SignedDuration,
}

impl<'a> Filing<'a> {
    pub(super) fn new(needs: &'a BTreeMap<Signal, Span>, limits: &'a Limits) -> Self {
        Self { needs, limits }
    }

    pub(super) fn manner(&self, signal: Signal) -> Manner {
        let needed = self.needs.get(&signal).copied().unwrap_or(Span::seconds(0));
        Manner {
            kind: signal.spec().kind,
            back: needed.max(self.limits.reorder).get(),
            gap: self.limits.stale_after.get(),
        }
    }
}

/// A series that begins with a point.
pub(super) fn begin(point: Point, manner: Manner) -> Track {
    Track {
        points: vec![point],
        settled: None,
        tip: start(point, manner.kind),
    }
}

/// Files a point in its place.
pub(super) fn file(track: &mut Track, point: Point, manner: Manner) -> Filed {
    let newest = track.tip.last.at;
    if point.at > newest {
        step(&mut track.tip, point, manner);
        track.points.push(point);
        settle(track, manner);
        return Filed::Taken;
    }
    if newest.duration_since(point.at) > manner.back {
        return Filed::TooLate;
    }
    match track.points.binary_search_by(|have| have.at.cmp(&point.at)) {
        // Two values for one moment: the larger, so that the order cannot matter.
        Ok(at) if track.points[at].value >= point.value => return Filed::Taken,
        Ok(at) => track.points[at] = point,
        // The bound on points may have folded what lies around it.
        Err(0)
            if track
                .settled
                .as_ref()
                .is_some_and(|tip| tip.last.at >= point.at) =>
        {
            return Filed::TooLate;
        }
        Err(at) => track.points.insert(at, point),
    }
    recount(track, manner);
    settle(track, manner);
    Filed::Taken
}

/// Folds the points that have left the look-back.
fn settle(track: &mut Track, manner: Manner) {
    let newest = track.tip.last.at;
    let excess = track.points.len().saturating_sub(MAX_POINTS);
    let old = track
        .points
        .iter()
        .take_while(|point| newest.duration_since(point.at) > manner.back)
        .count()
        .max(excess);
    for point in track.points.drain(..old) {
        match &mut track.settled {
            Some(settled) => step(settled, point, manner),
            None => track.settled = Some(start(point, manner.kind)),
        }
    }
}

/// Makes the tip anew after a point was filed between others.
fn recount(track: &mut Track, manner: Manner) {
    let mut points = track.points.iter();
    let mut tip = match &track.settled {
        Some(settled) => settled.clone(),
        // A track always has a point, so there is a first one where nothing has settled.
        None => start(*points.next().unwrap_or(&track.tip.last), manner.kind),
    };
    for point in points {
        step(&mut tip, *point, manner);
    }
    track.tip = tip;
}

fn start(point: Point, kind: Kind) -> Tip {
    let edges = if kind == Kind::Code && point.value > 0.0 {
        vec![Edge {
            code: point.value as u16,
            at: point.at,
            after: None,
        }]
    } else {
        Vec::new()
    };
    Tip {
        first: point,
        last: point,
        changed: point.at,
        before_change: None,
        growth: 0.0,
        reset: None,
        gap: None,
        edges,
        dated_edges: 0,
        bit_seconds: (kind == Kind::Bits).then(|| Box::new([0.0; 9])),
    }
}

/// Moves what a series amounts to on by one point.
fn step(tip: &mut Tip, point: Point, manner: Manner) {
    let before = tip.last;
    let passed = point.at.duration_since(before.at);
    if passed > manner.gap {
        tip.gap = Some((before.at, point.at));
    }
    match manner.kind {
        Kind::Counter | Kind::Lifetime => {
            if point.value < before.value {
                tip.reset = Some(point.at);
            }
            tip.growth += increase(before.value, point.value);
        }
        Kind::Code => step_code(tip, point),
        Kind::Bits if passed <= manner.gap => add_bits(tip, before.value, passed),
        Kind::Bits | Kind::Gauge | Kind::State => {}
    }
    if point.value != before.value {
        tip.before_change = Some(before.at);
        tip.changed = point.at;
    }
    tip.last = point;
}

/// A code that differs from the last one known is an edge. Absence in between changes nothing:
/// the same code afterwards is the same sticky value.
fn step_code(tip: &mut Tip, point: Point) {
    if point.value <= 0.0 || point.value == tip.last.value {
        return;
    }
    let code = point.value as u16;
    let resumed =
        tip.last.value == Track::ABSENT && tip.edges.last().is_some_and(|edge| edge.code == code);
    if resumed {
        return;
    }
    tip.edges.push(Edge {
        code,
        at: point.at,
        after: Some(tip.last.at),
    });
    tip.dated_edges += 1;
    if tip.edges.len() > MAX_EDGES {
        tip.edges.remove(0);
    }
}

fn add_bits(tip: &mut Tip, mask: f64, passed: SignedDuration) {
    if let Some(seconds) = &mut tip.bit_seconds {
        let mask = mask as u64;
        for (bit, total) in seconds.iter_mut().enumerate() {
            if mask & (1 << bit) != 0 {
                *total += passed.as_secs_f64();
            }
        }
    }
}
