//! What history keeps of one series: the recent points, and what the older ones amount to.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

/// One value at one time, in the signal's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it was observed.
    pub at: Timestamp,
    /// The value.
    pub value: f64,
}

/// A change of an error code to a value other than 0.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// The code.
    pub code: u16,
    /// When the code was first seen.
    pub at: Timestamp,
    /// The last time that something else was seen: the change happened after it.
    /// `None`: the code was there at first sight, so its age is unknown.
    pub after: Option<Timestamp>,
}

impl Edge {
    /// Whether the time of the change is known (to within a scrape or two).
    #[must_use]
    pub fn is_dated(&self) -> bool {
        self.after.is_some()
    }
}

/// What a series amounts to up to its newest point.
#[derive(Clone, Debug, PartialEq)]
pub struct Tip {
    /// The first point ever taken.
    pub first: Point,
    /// The newest point.
    pub last: Point,
    /// When the present value was first seen.
    pub changed: Timestamp,
    /// When the value before it was last seen, if there was one.
    pub before_change: Option<Timestamp>,
    /// Growth since the first point, resets left out. Counters only.
    pub growth: f64,
    /// When the counter was last seen to fall, which is a reset. Counters only.
    pub reset: Option<Timestamp>,
    /// The last silence longer than the stale limit: last point before, first point after.
    pub gap: Option<(Timestamp, Timestamp)>,
    /// The latest edges, oldest first. Codes only.
    pub edges: Vec<Edge>,
    /// How many dated edges there were, also of those no longer listed. Codes only.
    pub dated_edges: u64,
    /// Seconds during which each bit was set, by bit. Bits only.
    pub bit_seconds: Option<Box<[f64; 9]>>,
}

/// One series of one GPU, instance or node.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The points inside the signal's look-back, oldest first; never empty.
    pub points: Vec<Point>,
    /// What everything older amounts to.
    pub settled: Option<Tip>,
    /// What everything amounts to.
    pub tip: Tip,
}

/// How much a counter grew, and over which stretch that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Sum of all increases; a fall counts as a start from 0.
    pub amount: f64,
    /// From the first to the last point that was used.
    pub over: SignedDuration,
    /// Time of the first increase, if there was one.
    pub began: Option<Timestamp>,
}

impl Growth {
    /// Growth per second; 0 where there is nothing to divide by.
    #[must_use]
    pub fn per_second(&self) -> f64 {
        let seconds = self.over.as_secs_f64();
        if seconds > 0.0 {
            self.amount / seconds
        } else {
            0.0
        }
    }
}

impl Track {
    /// Stands for a code whose family is absent although its GPU is there: DCGM 4.5 and 4.6
    /// export no XID family before the first XID. Not 0, and not healthy; but what follows it
    /// has a date.
    pub const ABSENT: f64 = -1.0;

    /// The newest point.
    #[must_use]
    pub fn last(&self) -> Point {
        self.tip.last
    }

    /// The points at or after a time.
    #[must_use]
    pub fn since(&self, from: Timestamp) -> &[Point] {
        let start = self.points.partition_point(|point| point.at < from);
        &self.points[start..]
    }

    /// Growth of a counter from the last point at or before `from` (the first one kept, where
    /// there is none) to the newest. `None` with fewer than two points to compare.
    #[must_use]
    pub fn growth_since(&self, from: Timestamp) -> Option<Growth> {
        let after = self.points.partition_point(|point| point.at <= from);
        let points = &self.points[after.saturating_sub(1)..];
        let (first, last) = (points.first()?, points.last()?);
        if first.at == last.at {
            return None;
        }
        let mut growth = Growth {
            amount: 0.0,
            over: last.at.duration_since(first.at),
            began: None,
        };
        for pair in points.windows(2) {
            let step = increase(pair[0].value, pair[1].value);
            if step > 0.0 {
                growth.amount += step;
                growth.began.get_or_insert(pair[1].at);
            }
        }
        Some(growth)
    }

    /// The start of the unbroken run of points, up to the newest, that satisfy a condition.
    #[must_use]
    pub fn run_start(&self, holds: impl Fn(f64) -> bool) -> Option<Timestamp> {
        let run = self
            .points
            .iter()
            .rev()
            .take_while(|point| holds(point.value));
        run.last().map(|point| point.at)
    }

    /// Share of the time from `from` to the newest point in which a condition held, each value
    /// counting until the next. `None` where that stretch has no length.
    #[must_use]
    pub fn share_since(&self, from: Timestamp, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let points = self.since(from);
        let (first, last) = (points.first()?, points.last()?);
        let total = last.at.duration_since(first.at).as_secs_f64();
        let held: f64 = points
            .windows(2)
            .filter(|pair| holds(pair[0].value))
            .map(|pair| pair[1].at.duration_since(pair[0].at).as_secs_f64())
            .sum();
        (total > 0.0).then(|| held / total)
    }
}

/// How much a counter grew from one value to the next: after a fall it started again from 0.
#[must_use]
pub fn increase(before: f64, after: f64) -> f64 {
    if after >= before {
        after - before
    } else {
        after
    }
}

/// What history knows of one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeTrack {
    /// When the node was first heard of.
    pub first_seen: Option<Timestamp>,
    /// When it was last heard of.
    pub last_seen: Option<Timestamp>,
    /// Allocatable quantity by extended resource.
    pub allocatable: BTreeMap<Arc<str>, Track>,
    /// Capacity by extended resource.
    pub capacity: BTreeMap<Arc<str>, Track>,
    /// 1 while cordoned.
    pub unschedulable: Option<Track>,
    /// Boot ids with the time each was first seen, oldest first.
    pub boots: Vec<(Arc<str>, Timestamp)>,
}

impl NodeTrack {
    /// When the node was last seen to have booted anew, if that happened under our eyes.
    #[must_use]
    pub fn rebooted(&self) -> Option<Timestamp> {
        (self.boots.len() > 1)
            .then(|| self.boots.last().map(|(_, at)| *at))
            .flatten()
    }
}
