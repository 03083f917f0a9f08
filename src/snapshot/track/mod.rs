//! What history keeps of one series: the recent points, and what the older ones amount to.
//!
//! A cluster has a few dozen of these for each of its GPUs, so they are compact inside: times are
//! nanoseconds in 64 bits, and what few series have lies behind a pointer.

mod climb;
mod file;
mod node;
mod tip;

pub use file::{Filed, Manner};
pub use node::NodeTrack;
pub use tip::Edge;

use jiff::{SignedDuration, Timestamp};

use climb::{Way, climb};
use tip::{Packed, Stamp, Tip};

/// One value at one time, in the signal's unit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// When it was observed.
    pub at: Timestamp,
    /// The value.
    pub value: f64,
}

/// One series of one GPU, instance or node.
#[derive(Clone, Debug, PartialEq)]
pub struct Track {
    /// The points inside the look-back, oldest first; never empty.
    points: Vec<Packed>,
    /// What everything older amounts to.
    settled: Option<Tip>,
    /// What everything amounts to.
    tip: Tip,
    /// How it climbs, where it is a counter.
    way: Way,
}

/// How much a counter grew, and over which stretch that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Growth {
    /// Sum of all increases; a reset counts as a start from 0.
    pub amount: f64,
    /// From the first to the last point that was used.
    pub over: SignedDuration,
    /// Time of the first increase, if there was one; where it may be older than the stretch, the
    /// beginning of the stretch.
    pub began: Option<Timestamp>,
    /// Whether it may have begun before the stretch: it grew from the start, or not long before.
    pub older: bool,
}

/// Growth that follows other growth within this time is not its beginning.
const QUIET: SignedDuration = SignedDuration::from_hours(1);

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

    /// The first point ever taken.
    #[must_use]
    pub fn first(&self) -> Point {
        self.tip.first.get()
    }

    /// The newest point.
    #[must_use]
    pub fn last(&self) -> Point {
        self.tip.last.get()
    }

    /// When the present value was first seen.
    #[must_use]
    pub fn changed(&self) -> Timestamp {
        self.tip.changed.get()
    }

    /// When the value before the present one was last seen, if there was another.
    #[must_use]
    pub fn before_change(&self) -> Option<Timestamp> {
        self.tip.before_change.known()
    }

    /// Growth since the first point, resets left out. Counters only.
    #[must_use]
    pub fn growth(&self) -> f64 {
        self.tip.growth
    }

    /// When the counter last grew. Counters only.
    #[must_use]
    pub fn grew(&self) -> Option<Timestamp> {
        self.tip.grew.known()
    }

    /// When the counter was last seen to start anew: it fell, and the next collection stayed below
    /// the value before. A code: when it last turned into 0 with nothing missing in between.
    #[must_use]
    pub fn reset(&self) -> Option<Timestamp> {
        self.tip.rare.as_ref()?.reset.known()
    }

    /// The last silence longer than the stale limit: last point before, first point after.
    #[must_use]
    pub fn gap(&self) -> Option<(Timestamp, Timestamp)> {
        let (from, to) = self.tip.rare.as_ref()?.gap?;
        Some((from.get(), to.get()))
    }

    /// The latest changes of an error code to another, oldest first; bounded. Codes only.
    #[must_use]
    pub fn edges(&self) -> &[Edge] {
        self.tip.rare.as_ref().map_or(&[], |rare| &rare.edges)
    }

    /// How many dated edges there were, also of those no longer listed. Codes only.
    #[must_use]
    pub fn dated_edges(&self) -> u64 {
        self.tip.rare.as_ref().map_or(0, |rare| rare.dated_edges)
    }

    /// Seconds during which each bit was set, by bit. Bits only.
    #[must_use]
    pub fn bit_seconds(&self) -> Option<&[f64; 9]> {
        self.tip.rare.as_ref()?.bit_seconds.as_deref()
    }

    /// The points inside the signal's look-back, oldest first; never none.
    #[must_use]
    pub fn points(
        &self,
    ) -> impl DoubleEndedIterator<Item = Point> + ExactSizeIterator + Clone + '_ {
        self.points.iter().map(|point| point.get())
    }

    /// The points at or after a time.
    #[must_use]
    pub fn since(
        &self,
        from: Timestamp,
    ) -> impl DoubleEndedIterator<Item = Point> + ExactSizeIterator + Clone + '_ {
        let from = Stamp::of(from);
        let start = self.points.partition_point(|point| point.at < from);
        self.points[start..].iter().map(|point| point.get())
    }

    /// Each point at or after a time together with the one before it, if that is not older.
    pub fn steps_since(&self, from: Timestamp) -> impl Iterator<Item = (Point, Point)> + '_ {
        self.since(from).zip(self.since(from).skip(1))
    }

    /// Growth of a counter from the last point at or before `from` (the first one kept, where
    /// there is none) to the newest. `None` with fewer than two points to compare.
    #[must_use]
    pub fn growth_since(&self, from: Timestamp) -> Option<Growth> {
        let from = Stamp::of(from);
        let after = self.points.partition_point(|point| point.at <= from);
        let points = &self.points[after.saturating_sub(1)..];
        let (first, last) = (*points.first()?, *points.last()?);
        if first.at == last.at {
            return None;
        }
        let mut began = None;
        let mut growth = Growth {
            amount: 0.0,
            over: last.at.since(first.at),
            began: None,
            older: false,
        };
        let mut earlier = self.settled.as_ref().map_or(Stamp::NONE, |tip| tip.grew);
        let (mut before, mut fall) = match &self.settled {
            Some(tip) => (tip.last, tip.rare.as_ref().and_then(|rare| rare.fall)),
            None => (*self.points.first()?, None),
        };
        for point in &self.points {
            let climbed = climb(before, &mut fall, *point, self.way);
            before = *point;
            for (at, amount) in climbed.growth {
                if amount > 0.0 && at > first.at {
                    growth.amount += amount;
                    began.get_or_insert(at);
                } else if amount > 0.0 {
                    earlier = at;
                }
            }
        }
        growth.older = began.is_some_and(|began| {
            let from_the_start = began.since(first.at) <= self.way.collection * 2;
            from_the_start || (earlier != Stamp::NONE && first.at.since(earlier) <= QUIET)
        });
        growth.began = began.map(|began| if growth.older { first.at } else { began }.get());
        Some(growth)
    }

    /// The start of the unbroken run of points, up to the newest, that satisfy a condition; no
    /// older than the look-back.
    #[must_use]
    pub fn run_start(&self, holds: impl Fn(f64) -> bool) -> Option<Timestamp> {
        let run = self
            .points
            .iter()
            .rev()
            .take_while(|point| holds(point.value));
        run.last().map(|point| point.at.get())
    }

    /// Whether the series ever had a value that satisfies a condition, as far as is still known:
    /// inside the look-back, at its first point, and where the look-back begins.
    #[must_use]
    pub fn ever(&self, holds: impl Fn(f64) -> bool) -> bool {
        let settled = self.settled.iter().map(|tip| tip.last.value);
        let points = self.points.iter().map(|point| point.value);
        points
            .chain([self.tip.first.value])
            .chain(settled)
            .any(holds)
    }

    /// Share of the time from `from` to the newest point in which a condition held, each value
    /// counting until the next. `None` where that stretch has no length.
    #[must_use]
    pub fn share_since(&self, from: Timestamp, holds: impl Fn(f64) -> bool) -> Option<f64> {
        let first = self.since(from).next()?;
        let total = self.last().at.duration_since(first.at).as_secs_f64();
        let held: f64 = self
            .steps_since(from)
            .filter(|(before, _)| holds(before.value))
            .map(|(before, after)| after.at.duration_since(before.at).as_secs_f64())
            .sum();
        (total > 0.0).then(|| held / total)
    }
}
