//! Thresholds that several rooms share, so that each has one home.

use std::fmt;
use std::str::FromStr;

use jiff::SignedDuration;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A length of time, written the way Prometheus writes it: `15s`, `90s`, `10m`, `1h30m`, `7d`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Span(SignedDuration);

impl Span {
    /// The longest that can be set: no look-back or hold means more than a leap year, and every
    /// sum of two is far from the calendar's end.
    pub const LONGEST: Self = Self::minutes(366 * 24 * 60);

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
            .ok()
            .filter(|span| *span <= Self::LONGEST)
            .ok_or_else(|| format!("`{text}` is too long; want at most {}", Self::LONGEST))
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

/// One threshold as it is documented and in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Threshold {
    /// Its key in the configuration.
    pub name: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// The value in force.
    pub value: String,
    /// The built-in value.
    pub default: String,
    /// Where the default comes from.
    pub origin: &'static str,
}

/// Declares the shared thresholds: `/// what it decides` `name = default, "origin";`
macro_rules! limits {
    ($( $(#[doc = $doc:literal])+ $name:ident = $default:expr, $origin:literal; )*) => {
        /// Thresholds that several rooms share, lent to history and to every rule: `limits:` in
        /// the configuration.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Limits {
            $( $(#[doc = $doc])+ pub $name: Span, )*
        }

        impl Default for Limits {
            fn default() -> Self {
                Self { $( $name: $default, )* }
            }
        }

        impl Limits {
            /// The thresholds in force, with their defaults and origins.
            #[must_use]
            pub fn describe(&self) -> Vec<Threshold> {
                let default = Self::default();
                vec![$( Threshold {
                    name: stringify!($name),
                    meaning: concat!($($doc),+).trim_ascii(),
                    value: self.$name.to_string(),
                    default: default.$name.to_string(),
                    origin: $origin,
                }, )*]
            }
        }
    };
}

limits! {
    /// Age at which a reading is stale: known, but no longer the present.
    stale_after = Span::seconds(180), "six of dcgm-exporter's default collections of 30 s";
    /// How long energy may stand still while power is drawn before readings count as frozen.
    frozen_after = Span::seconds(180), "six collections: energy grows in each";
    /// How often dcgm-exporter collects (its `-c`); scrapes in between repeat values.
    collection_interval = Span::seconds(30), "dcgm-exporter's default";
    /// How late an observation may come and still be filed in its place; longer where a rule looks back longer.
    reorder = Span::seconds(90), "a scrape, a collection and a cycle, twice over";
    /// How long boards, nodes and holders that nobody names any more are remembered.
    forget_after = Span::minutes(24 * 60), "the look-back of low utilisation";
    /// Age below which a node is still being set up.
    young_node = Span::minutes(20), "driver, toolkit, device plugin and exporter come one after the other";
    /// How long planned work on a node keeps what it explains at info.
    planned_work = Span::minutes(60), "driver upgrades, MIG changes and drains end within the hour";
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
        for text in [
            "367d",
            "366d1ms",
            "9223372036854775807s",
            "18446744073709551615s",
        ] {
            let error = text.parse::<Span>().expect_err(text);
            assert!(error.contains("too long; want at most 366d"), "{error}");
        }
        assert_eq!("366d".parse(), Ok(Span::LONGEST));
        assert_eq!(Span::seconds(0).to_string(), "0s");
    }
}
