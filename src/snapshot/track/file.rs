//! Filing a point: in its place inside the look-back, folded once beyond it.

use jiff::SignedDuration;

use super::climb::{Way, climb};
use super::tip::{Edge, Packed, Stamp, Tip};
use super::{Point, Track};
use crate::snapshot::Kind;

/// Edges of a code that are listed; older ones are only counted.
const MAX_EDGES: usize = 16;
/// Points inside a look-back. A scrape every second for ten minutes stays below.
const MAX_POINTS: usize = 1024;

/// What became of a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Filed {
    /// It is in its place.
    Taken,
    /// It is older than what is still kept apart.
    TooLate,
}

/// How one series is filed.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// How values behave.
    pub kind: Kind,
    /// How far back points are kept apart.
    pub back: SignedDuration,
    /// A silence longer than this is a gap.
    pub gap: SignedDuration,
    /// Who tells, as a number: the first value of a code that another one tells is at first sight.
    pub teller: u32,
    /// Readings closer than this may repeat one collection.
    pub collection: SignedDuration,
}

impl Track {
    /// A series that begins with a point.
    #[must_use]
    pub fn begin(point: Point, manner: Manner) -> Self {
        let point = Packed::of(point);
        let mut track = Self {
            points: vec![point],
            settled: None,
            tip: start(point, manner),
            way: Way::of(manner.kind, manner.collection),
        };
        if let Some(tellers) = track.tellers(manner.kind) {
            tellers.push(manner.teller);
        }
        track
    }

    /// Who told each of the points, where that matters.
    fn tellers(&mut self, kind: Kind) -> Option<&mut Vec<u32>> {
        (kind == Kind::Code).then(|| &mut self.tip.rare().told.points)
    }

    /// Files a point in its place. The same points in any order, as long as none comes too late,
    /// make the same series.
    pub fn file(&mut self, point: Point, manner: Manner) -> Filed {
        let point = Packed::of(point);
        let newest = self.tip.last.at;
        if point.at > newest {
            step(&mut self.tip, point, manner);
            self.settle(manner);
            self.points.push(point);
            if let Some(tellers) = self.tellers(manner.kind) {
                tellers.push(manner.teller);
            }
            return Filed::Taken;
        }
        if newest.since(point.at) > manner.back {
            // Where only the newest value is kept, an older one is superseded, not lost.
            return if manner.back.is_zero() {
                Filed::Taken
            } else {
                Filed::TooLate
            };
        }
        match self.points.binary_search_by(|have| have.at.cmp(&point.at)) {
            // Two values for one moment: the larger, so that the order cannot matter.
            Ok(at) => {
                let teller = self.tellers(manner.kind).map(|tellers| tellers[at]);
                let same = teller.is_none_or(|teller| teller >= manner.teller);
                let have = self.points[at].value;
                if have > point.value || (have == point.value && same) {
                    return Filed::Taken;
                }
                self.points[at] = point;
                if let Some(tellers) = self.tellers(manner.kind) {
                    tellers[at] = manner.teller;
                }
            }
            // The bound on points may have folded what lies around it.
            Err(0)
                if self
                    .settled
                    .as_ref()
                    .is_some_and(|tip| tip.last.at >= point.at) =>
            {
                return Filed::TooLate;
            }
            Err(at) => {
                self.points.insert(at, point);
                if let Some(tellers) = self.tellers(manner.kind) {
                    tellers.insert(at, manner.teller);
                }
            }
        }
        self.recount(manner);
        self.settle(manner);
        Filed::Taken
    }

    /// Moves every time along with a clock that was set.
    pub fn shift(&mut self, by: SignedDuration) {
        for point in &mut self.points {
            point.at.shift(by);
        }
        self.settled
            .iter_mut()
            .chain([&mut self.tip])
            .for_each(|tip| tip.shift(by));
    }

    /// Loses its oldest points, as if they had never been kept apart.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, oldest: usize) {
        self.points.drain(..oldest);
        if let Some(rare) = &mut self.tip.rare {
            let told = &mut rare.told.points;
            told.drain(..oldest.min(told.len()));
        }
    }

    /// Folds the points that have left the look-back.
    fn settle(&mut self, manner: Manner) {
        let newest = self.tip.last.at;
        let excess = self.points.len().saturating_sub(MAX_POINTS);
        let left = |point: &&Packed| newest.since(point.at) > manner.back;
        let old = self.points.iter().take_while(left).count().max(excess);
        if old == 0 {
            return;
        }
        let tellers = self.tellers(manner.kind);
        let tellers: Vec<_> =
            tellers.map_or_else(Vec::new, |tellers| tellers.drain(..old).collect());
        for (place, point) in self.points.drain(..old).enumerate() {
            let manner = manner.told_by(&tellers, place);
            match &mut self.settled {
                Some(settled) => step(settled, point, manner),
                None => self.settled = Some(start(point, manner)),
            }
        }
    }

    /// Makes the tip anew after a point was filed between others.
    fn recount(&mut self, manner: Manner) {
        let tellers = self
            .tellers(manner.kind)
            .map_or_else(Vec::new, std::mem::take);
        let mut points = self.points.iter().enumerate();
        let mut tip = if let Some(settled) = &self.settled {
            settled.clone()
        } else {
            // A track always has a point, so there is a first one where nothing has settled.
            let (place, first) = points.next().unwrap_or((0, &self.tip.last));
            start(*first, manner.told_by(&tellers, place))
        };
        for (place, point) in points {
            step(&mut tip, *point, manner.told_by(&tellers, place));
        }
        self.tip = tip;
        if let Some(told) = self.tellers(manner.kind) {
            *told = tellers;
        }
    }
}

impl Manner {
    /// The same for a point that another may have told.
    fn told_by(self, tellers: &[u32], place: usize) -> Self {
        let teller = tellers.get(place).copied().unwrap_or(self.teller);
        Self { teller, ..self }
    }
}

fn start(point: Packed, manner: Manner) -> Tip {
    let kind = manner.kind;
    let mut tip = Tip {
        first: point,
        last: point,
        changed: point.at,
        before_change: Stamp::NONE,
        growth: 0.0,
        grew: Stamp::NONE,
        rare: None,
    };
    if kind == Kind::Code {
        let rare = tip.rare();
        rare.told.by = manner.teller;
        rare.told.no_value = point.value < 0.0;
        if point.value > 0.0 {
            rare.told.stands = true;
            rare.edges.push(Edge {
                code: point.value as u16,
                at: point.at.get(),
                after: None,
            });
        }
    }
    if kind == Kind::Bits {
        tip.rare().bit_seconds = Some(Box::new([0.0; 9]));
    }
    tip
}

/// Moves what a series amounts to on by one point.
fn step(tip: &mut Tip, point: Packed, manner: Manner) {
    let before = tip.last;
    let passed = point.at.since(before.at);
    if passed > manner.gap {
        tip.rare().gap = Some((before.at, point.at));
    }
    let mut at_first_sight = false;
    match manner.kind {
        Kind::Counter | Kind::Lifetime => {
            step_counter(tip, point, Way::of(manner.kind, manner.collection));
        }
        Kind::Code => at_first_sight = step_code(tip, point, manner),
        Kind::Bits if passed <= manner.gap => add_bits(tip, before.value, passed),
        Kind::Bits | Kind::Gauge | Kind::State => {}
    }
    if point.value != before.value && at_first_sight {
        // Nobody saw it change: it may be as old as the series.
        tip.before_change = Stamp::NONE;
        tip.changed = tip.first.at;
    } else if point.value != before.value {
        tip.before_change = before.at;
        tip.changed = point.at;
    }
    tip.last = point;
}

fn step_counter(tip: &mut Tip, point: Packed, way: Way) {
    let had = tip.rare.as_ref().and_then(|rare| rare.fall);
    let mut fall = had;
    let climbed = climb(tip.last, &mut fall, point, way);
    if fall != had {
        tip.rare().fall = fall;
    }
    if let Some(reset) = climbed.reset {
        tip.rare().reset = reset;
    }
    for (at, amount) in climbed.growth {
        if amount > 0.0 {
            tip.growth += amount;
            tip.grew = at;
        }
    }
}

/// A code that differs from the last one known is an edge. Absence in between changes nothing:
/// the same code afterwards is the same sticky value. So is one that was told before and that
/// another tells again. A code that turns into 0 is a reset where nothing was missing in between
/// and the same one tells: a restart of who collects makes it 0 as well. Returns whether nobody
/// can have seen the change to this point.
fn step_code(tip: &mut Tip, point: Packed, manner: Manner) -> bool {
    let before = tip.last;
    let rare = tip.rare();
    let told = &mut rare.told;
    let another = std::mem::replace(&mut told.by, manner.teller) != manner.teller;
    told.no_value |= another;
    let at_first_sight = told.no_value;
    told.no_value &= point.value < 0.0;
    if point.value == before.value || point.value < 0.0 {
        return at_first_sight;
    }
    if point.value == 0.0 {
        told.stands &= at_first_sight;
        let soon = point.at.since(before.at) <= manner.collection * 2;
        if before.value > 0.0 && soon && !at_first_sight {
            rare.reset = point.at;
        }
        return at_first_sight;
    }
    let code = point.value as u16;
    let resumed = if another {
        told.stands && rare.edges.iter().any(|edge| edge.code == code)
    } else {
        before.value == Track::ABSENT && rare.edges.last().is_some_and(|edge| edge.code == code)
    };
    told.stands = true;
    if resumed {
        return at_first_sight;
    }
    rare.edges.push(Edge {
        code,
        at: point.at.get(),
        after: (!another).then(|| before.at.get()),
    });
    rare.dated_edges += u64::from(!another);
    if rare.edges.len() > MAX_EDGES {
        rare.edges.remove(0);
    }
    another
}

fn add_bits(tip: &mut Tip, mask: f64, passed: SignedDuration) {
    if let Some(seconds) = &mut tip.rare().bit_seconds {
        let mask = mask as u64;
        for (bit, total) in seconds.iter_mut().enumerate() {
            if mask & (1 << bit) != 0 {
                *total += passed.as_secs_f64();
            }
        }
    }
}
