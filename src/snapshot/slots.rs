//! Utilisation in compact slots: an hour in 240 bytes.

use jiff::{SignedDuration, Timestamp};

/// Seconds in a slot.
const SLOT_SECONDS: i64 = 15;
/// Slots that are kept: 60 minutes.
const SLOTS: usize = 240;
/// Marks a slot in which nothing was seen.
const EMPTY: u8 = u8::MAX;
/// Steps of a ratio: half a per cent, so that DCGM's whole per cents are exact.
const STEPS: f64 = 200.0;

/// One value a slot of 15 s over the last hour, the larger where a slot has several. What is
/// filed depends on the set of observations only, not on their order or number.
#[derive(Clone, Debug, PartialEq)]
pub struct Slots {
    /// Number of the newest slot, counted from the epoch.
    newest: i64,
    /// Values in steps, by slot number modulo their count.
    values: Box<[u8; SLOTS]>,
}

impl Slots {
    /// The window that is kept.
    pub const WINDOW: SignedDuration = SignedDuration::from_secs(SLOT_SECONDS * SLOTS as i64);

    /// Slots with one observation.
    #[must_use]
    pub fn new(at: Timestamp, ratio: f64) -> Self {
        let mut slots = Self {
            newest: number(at),
            values: Box::new([EMPTY; SLOTS]),
        };
        slots.file(at, ratio);
        slots
    }

    /// Files an observation; false if it is older than the window.
    pub fn file(&mut self, at: Timestamp, ratio: f64) -> bool {
        let slot = number(at);
        if slot <= self.newest - SLOTS as i64 {
            return false;
        }
        // Slots between the newest so far and this one were not observed.
        for passed in (self.newest + 1).max(slot - SLOTS as i64 + 1)..=slot {
            self.values[index(passed)] = EMPTY;
        }
        self.newest = self.newest.max(slot);
        let value = (ratio.clamp(0.0, 1.0) * STEPS).round() as u8;
        let held = &mut self.values[index(slot)];
        *held = if *held == EMPTY {
            value
        } else {
            (*held).max(value)
        };
        true
    }

    /// Moves every slot by a length of time, to the nearest slot.
    pub fn shift(&mut self, by: SignedDuration) {
        let slots = (by.as_secs_f64() / SLOT_SECONDS as f64).round() as i64;
        self.values
            .rotate_right(slots.rem_euclid(SLOTS as i64) as usize);
        self.newest += slots;
    }

    /// Mean ratio over the window that ends at `now`, if something was seen in at least `coverage`
    /// of its stretches of `interval`, and at least six times.
    #[must_use]
    pub fn mean(&self, now: Timestamp, interval: SignedDuration, coverage: f64) -> Option<f64> {
        let last = number(now);
        let step = (interval.as_secs() + SLOT_SECONDS - 1) / SLOT_SECONDS;
        let step = step.clamp(1, SLOTS as i64);
        let (mut filled, mut stretches, mut stretch) = (Vec::new(), 0_u32, None);
        for slot in (last - SLOTS as i64 + 1..=last.min(self.newest))
            .filter(|slot| *slot > self.newest - SLOTS as i64)
        {
            let value = self.values[index(slot)];
            if value == EMPTY {
                continue;
            }
            filled.push(value);
            let of = slot.div_euclid(step);
            if stretch.replace(of) != Some(of) {
                stretches += 1;
            }
        }
        let expected = SLOTS as f64 / step as f64;
        if filled.len() < 6 || f64::from(stretches) < coverage * expected {
            return None;
        }
        let sum: f64 = filled.iter().map(|value| f64::from(*value)).sum();
        Some(sum / STEPS / filled.len() as f64)
    }
}

fn number(at: Timestamp) -> i64 {
    at.as_second().div_euclid(SLOT_SECONDS)
}

fn index(slot: i64) -> usize {
    slot.rem_euclid(SLOTS as i64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_700_000_010 + seconds).expect("in range")
    }

    #[test]
    fn order_and_repetition_do_not_matter() {
        let points: Vec<_> = (0..300)
            .map(|i| (at(i * 15), f64::from(i as i32 % 7) / 10.0))
            .collect();
        let mut forward = Slots::new(points[0].0, points[0].1);
        for (at, ratio) in &points {
            forward.file(*at, *ratio);
            forward.file(*at, *ratio);
        }
        let mut backward = Slots::new(points[299].0, points[299].1);
        for (at, ratio) in points.iter().rev() {
            backward.file(*at, *ratio);
        }
        assert_eq!(forward, backward);
        assert!(!forward.file(at(0), 1.0), "older than the window");
    }

    #[test]
    fn shifting_moves_every_slot() {
        let mut slots = Slots::new(at(0), 0.2);
        slots.file(at(300), 0.4);
        slots.shift(SignedDuration::from_secs(-3607));
        let mut expected = Slots::new(at(-3600), 0.2);
        expected.file(at(-3300), 0.4);
        assert_eq!(slots, expected);
    }

    #[test]
    fn more_than_one_value_a_stretch_covers_no_more_time() {
        let interval = SignedDuration::from_secs(30);
        let mut slots = Slots::new(at(0), 0.84);
        (1..96 * 2 - 2).for_each(|i| _ = slots.file(at(i * 15), 0.84));
        assert_eq!(slots.mean(at(96 * 30), interval, 0.8), None);
        slots.file(at(95 * 30), 0.84);
        assert_eq!(slots.mean(at(96 * 30), interval, 0.8), Some(0.84));
    }

    #[test]
    fn the_mean_needs_coverage() {
        let mut slots = Slots::new(at(0), 0.84);
        let interval = SignedDuration::from_secs(30);
        for i in 1..120 {
            assert_eq!(
                slots.mean(at(i * 30), interval, 0.8).is_some(),
                i >= 96,
                "{i}"
            );
            slots.file(at(i * 30), 0.84);
        }
        assert_eq!(slots.mean(at(119 * 30), interval, 0.8), Some(0.84));
        assert_eq!(
            slots.mean(at(119 * 30 + 1200), interval, 0.8),
            None,
            "a third of the window is silent"
        );
    }
}
