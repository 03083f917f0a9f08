//! The only place that reads time.

use std::time::{Duration, Instant};

use jiff::Timestamp;

/// The wall clock's time.
#[must_use]
#[allow(clippy::disallowed_methods, reason = "this is the place")]
pub fn now() -> Timestamp {
    Timestamp::now()
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
