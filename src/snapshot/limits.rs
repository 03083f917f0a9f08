//! Thresholds that several rooms share, so that each has one home.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, written the way Prometheus writes it: `15s`, `90s`, `10m`, `1h30m`, `7d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(SignedDuration);

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: i64) -> Self {
        Self(SignedDuration::from_secs(seconds))
    }

    /// A span of whole minutes.
    #[must_use]
    pub const fn minutes(minutes: i64) -> Self {
        Self(SignedDuration::from_secs(minutes * 60))
    }

    /// The span as the time library's type.
    #[must_use]
    pub const fn get(self) -> SignedDuration {
        self.0
    }

    /// The span in seconds.
    #[must_use]
    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// The span as the standard library's unsigned type, for timers.
    #[must_use]
    pub fn unsigned(self) -> std::time::Duration {
        self.0.unsigned_abs()
    }
}

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "want a duration such as 15s, 10m or 1h30m";
        let parsed =
            humantime::parse_duration(text).map_err(|e| format!("`{text}`: {e}; {wanted}"))?;
        SignedDuration::try_from(parsed)
            .map(Self)
            .map_err(|_| format!("`{text}` is too long; {wanted}"))
    }
}

impl fmt::Display for Span {
    /// Prometheus' form, largest unit first: `1h30m`, `90s` as `1m30s`, `0s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0.as_millis().max(0);
        if left == 0 {
            return f.write_str("0s");
        }
        for (unit, size) in [
            ("d", 86_400_000),
            ("h", 3_600_000),
            ("m", 60_000),
            ("s", 1000),
            ("ms", 1),
        ] {
            if left >= size {
                write!(f, "{}{unit}", left / size)?;
                left %= size;
            }
        }
        Ok(())
    }
}

impl fmt::Debug for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(serde::de::Error::custom)
    }
}

/// Thresholds of telemetry itself, lent to history and to every rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// A reading older than this is stale: known, but no longer the present. Default 180 s,
    /// six collections of dcgm-exporter's default 30 s.
    pub stale_after: Span,
    /// Energy that does not move for this long while power is drawn means a frozen exporter.
    /// Default 180 s.
    pub frozen_after: Span,
    /// How often dcgm-exporter collects (its `-c`); scrapes in between repeat values. Default 30 s.
    pub collection_interval: Span,
    /// How late an observation may arrive and still be filed in its place. Default 90 s; a
    /// signal that a rule looks back on longer is filed for that long.
    pub reorder: Span,
    /// How long the boards, nodes and holders that nobody names any more are remembered.
    /// Default 24 h.
    pub forget_after: Span,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            stale_after: Span::seconds(180),
            frozen_after: Span::seconds(180),
            collection_interval: Span::seconds(30),
            reorder: Span::seconds(90),
            forget_after: Span::minutes(24 * 60),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_and_written_as_prometheus_does() {
        for (text, shown) in [
            ("15s", "15s"),
            ("90s", "1m30s"),
            ("60m", "1h"),
            ("1h30m", "1h30m"),
            ("7d", "7d"),
            ("250ms", "250ms"),
        ] {
            assert_eq!(text.parse::<Span>().expect(text).to_string(), shown);
        }
        for text in ["", "15", "-3s", "soon", "5x"] {
            assert!(text.parse::<Span>().is_err(), "{text}");
        }
        assert_eq!(Span::seconds(0).to_string(), "0s");
    }
}
