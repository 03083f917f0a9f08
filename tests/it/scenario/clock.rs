//! A system clock that is set: what is open stays open, nothing is closed and nothing opens.

use std::time::Duration;

use gpulens::cycle::{Engine, Step};
use gpulens::simulate::{Export, Fault, Fleet, scenario};
use gpulens::snapshot::{ListState, Recording};
use jiff::SignedDuration;

use super::case::{continued, pair};
use super::play::{self, line, step};

/// What the same step would have been by a clock that is off: our own times move, those that the
/// API tells do not.
fn by_clock(step: &Recording, off: SignedDuration) -> Recording {
    let mut moved = step.clone();
    moved.now += off;
    for source in &mut moved.sources {
        source.shift(off);
        let lists = source.lists.iter_mut();
        for lists in lists {
            assert!(matches!(lists.pods, ListState::Synced(at) if at == moved.now));
        }
    }
    for series in &mut moved.series {
        series.from += off;
    }
    for held in &mut moved.holders {
        held.from += off;
        held.to += off;
    }
    moved
}

/// Plays on for ten minutes, set by an hour after two and back after six.
fn assert_nothing_happens(fleet: &Fleet, hour: i64) {
    let (first, steps) = continued(fleet, 15, 600);
    let mut engine = play::engine(&first);
    let mut quiet = play::engine(&first);
    step(&mut engine, &first);
    step(&mut quiet, &first);
    let hour = SignedDuration::from_hours(hour);
    let mut off = SignedDuration::ZERO;
    for (number, recording) in steps.iter().enumerate() {
        let set = match number {
            8 => hour,
            24 => -hour,
            _ => SignedDuration::ZERO,
        };
        if !set.is_zero() {
            engine.shift(set);
            off += set;
        }
        let what = format!("{}, step {number}, clock off by {off}", fleet.cluster);
        let moved = by_clock(recording, off);
        let told = |step: Step| -> Vec<String> {
            let transitions = step.transitions.iter();
            transitions
                .map(|transition| format!("{transition:?}"))
                .collect()
        };
        // After the clock was set, the sources' next word is a cycle away.
        let happened = if set.is_zero() {
            told(step(&mut engine, &moved))
        } else {
            let now = moved.now;
            told(engine.step(&[], now, now, &|| Duration::ZERO))
        };
        let expected = told(step(&mut quiet, recording));
        assert_eq!(
            happened.len(),
            expected.len(),
            "{what}: {happened:?}, {expected:?}"
        );
        let keys = |engine: &Engine| -> Vec<String> { engine.open().keys().map(line).collect() };
        assert_eq!(keys(&engine), keys(&quiet), "{what}");
    }
}

#[test]
fn a_clock_that_is_set_by_an_hour_and_back_opens_and_closes_nothing() {
    for hour in [1, -1] {
        for fault in [
            Fault::Xid(79),
            Fault::Hot(91.0),
            Fault::Stop,
            Fault::LosePodLabels,
        ] {
            assert_nothing_happens(&pair(fault, 700, Export::Extended, 1), hour);
        }
        assert_nothing_happens(&(scenario::ALL[0].fleet)(), hour);
    }
}
