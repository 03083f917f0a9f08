//! The only place that reads time.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// The wall clock's time.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "this is the place")]
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Wall-clock time that moves evenly: the wall clock as it was when it was last looked at, and
/// the time that has passed since. When the wall clock is set, everyone who shares this clock
/// learns of it at one moment and can move along.
#[derive(Debug)]
pub struct Clock(Mutex<(Timestamp, Stopwatch)>);

/// A wall clock that is off by more than this was set; less is drift.
pub const STEP: SignedDuration = SignedDuration::from_secs(30);

impl Default for Clock {
    fn default() -> Self {
        Self(Mutex::new((now(), Stopwatch::start())))
    }
}

impl Clock {
    /// The time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        let (anchor, since) = *self.lock();
        anchor.checked_add(since.elapsed()).unwrap_or(anchor)
    }

    /// Looks at the wall clock and takes its time; tells how far it was off if it was set.
    pub fn look(&self) -> Option<SignedDuration> {
        self.take(now())
    }

    fn take(&self, wall: Timestamp) -> Option<SignedDuration> {
        let off = wall.duration_since(self.now());
        *self.lock() = (wall, Stopwatch::start());
        (off.abs() > STEP).then_some(off)
    }

    fn lock(&self) -> MutexGuard<'_, (Timestamp, Stopwatch)> {
        // Both values are plain numbers, whole at any moment.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Measures elapsed time, whatever the wall clock does meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(Instant);

impl Stopwatch {
    /// Begins to measure.
    #[must_use]
    #[allow(clippy::disallowed_methods, reason = "this is the place")]
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// Time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_tells_by_how_much() {
        let clock = Clock::default();
        let later = |seconds| clock.now() + SignedDuration::from_secs(seconds);
        assert_eq!(clock.take(later(2)), None, "drift");
        let off = clock.take(later(3600)).expect("set forward");
        assert!((3599..=3601).contains(&off.as_secs()), "{off}");
        let off = clock.take(later(-7200)).expect("set back");
        assert!((-7201..=-7199).contains(&off.as_secs()), "{off}");
        let off = clock.look().expect("back to the real one");
        assert!((3590..=3600).contains(&off.as_secs()), "{off}");
    }
}
