//! What a series amounts to, in little room.

use std::fmt;

use jiff::{SignedDuration, Timestamp};

use super::Point;
use super::climb::Fall;
use crate::snapshot::moved;

/// A time in nanoseconds since 1970: half the size of a timestamp, good from 1677 to 2262.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(i64);

impl Stamp {
    /// No time.
    pub(super) const NONE: Self = Self(i64::MIN);

    pub(super) fn of(at: Timestamp) -> Self {
        // Beyond the ends of its range a time is as good as its end.
        let nanoseconds = at.as_nanosecond();
        Self(i64::try_from(nanoseconds).unwrap_or(if nanoseconds < 0 {
            i64::MIN + 1
        } else {
            i64::MAX
        }))
    }

    pub(super) fn get(self) -> Timestamp {
        // 64 bits of nanoseconds lie well inside what a timestamp can be.
        Timestamp::from_nanosecond(i128::from(self.0)).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    pub(super) fn known(self) -> Option<Timestamp> {
        (self != Self::NONE).then(|| self.get())
    }

    /// Time that passed from `earlier` to this.
    pub(super) fn since(self, earlier: Self) -> SignedDuration {
        SignedDuration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    pub(super) fn shift(&mut self, by: SignedDuration) {
        if *self != Self::NONE {
            *self = Self::of(moved(self.get(), by));
        }
    }
}

impl fmt::Debug for Stamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.known().fmt(f)
    }
}

/// A point in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Packed {
    pub(super) at: Stamp,
    pub(super) value: f64,
}

impl Packed {
    pub(super) fn of(point: Point) -> Self {
        Self {
            at: Stamp::of(point.at),
            value: point.value,
        }
    }

    pub(super) fn get(self) -> Point {
        Point {
            at: self.at.get(),
            value: self.value,
        }
    }
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
pub(super) struct Tip {
    pub(super) first: Packed,
    pub(super) last: Packed,
    /// When the present value was first seen.
    pub(super) changed: Stamp,
    /// When the value before it was last seen.
    pub(super) before_change: Stamp,
    /// Growth since the first point, resets left out.
    pub(super) growth: f64,
    /// When it last grew.
    pub(super) grew: Stamp,
    /// What few series have.
    pub(super) rare: Option<Box<Rare>>,
}

/// What few series have: codes, sets of bits, counters that fell, series that were silent.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Rare {
    pub(super) reset: Stamp,
    pub(super) fall: Option<Fall>,
    pub(super) gap: Option<(Stamp, Stamp)>,
    pub(super) edges: Vec<Edge>,
    pub(super) dated_edges: u64,
    pub(super) bit_seconds: Option<Box<[f64; 9]>>,
    pub(super) told: Told,
}

/// Who told a code. What another one tells is at first sight again: two exporters, or one that was
/// started anew, need not agree on the last code, and neither of them saw it change.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Who told the newest point.
    pub(super) by: u32,
    /// Who told each of the points that are kept apart; empty in a tip that has settled.
    pub(super) points: Vec<u32>,
    /// The newest teller has told no value yet.
    pub(super) no_value: bool,
    /// A code was told, and nobody has seen it go back to 0.
    pub(super) stands: bool,
}

impl Tip {
    pub(super) fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_with(|| {
            Box::new(Rare {
                reset: Stamp::NONE,
                fall: None,
                gap: None,
                edges: Vec::new(),
                dated_edges: 0,
                bit_seconds: None,
                told: Told::default(),
            })
        })
    }

    pub(super) fn shift(&mut self, by: SignedDuration) {
        for at in [
            &mut self.first.at,
            &mut self.last.at,
            &mut self.changed,
            &mut self.before_change,
            &mut self.grew,
        ] {
            at.shift(by);
        }
        if let Some(rare) = &mut self.rare {
            rare.reset.shift(by);
            if let Some(fall) = &mut rare.fall {
                fall.low.at.shift(by);
            }
            if let Some((from, to)) = &mut rare.gap {
                from.shift(by);
                to.shift(by);
            }
            for edge in &mut rare.edges {
                edge.at = moved(edge.at, by);
                edge.after = edge.after.map(|at| moved(at, by));
            }
        }
    }
}
