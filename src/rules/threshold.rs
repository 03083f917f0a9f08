//! Thresholds: each has one typed home with its default, unit and origin.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

/// Declares a number that only takes values of a range, and says which when it gets another.
macro_rules! bounded {
    ($( $(#[$doc:meta])* $type:ident $min:literal..=$max:literal $unit:literal )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize)]
        #[serde(transparent)]
        pub struct $type(f64);

        impl $type {
            /// A value inside the range.
            #[must_use]
            pub const fn new(value: f64) -> Self {
                assert!(value >= $min && value <= $max, "outside the range of its type");
                Self(value)
            }

            /// The number.
            #[must_use]
            pub const fn get(self) -> f64 {
                self.0
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{}{}", self.0, $unit)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let value = f64::deserialize(deserializer)?;
                if ($min..=$max).contains(&value) {
                    return Ok(Self(value));
                }
                Err(serde::de::Error::custom(format!(
                    "{value} is out of range; want a number from {} to {}{}", $min, $max, $unit
                )))
            }
        }
    )* };
}

bounded! {
    /// A share from 0 to 1.
    Ratio 0.0..=1.0 ""
    /// A temperature, or a difference of temperatures.
    Celsius -50.0..=150.0 " °C"
    /// Events in a unit of time that the threshold's name tells.
    Rate 0.0..=1e9 ""
    /// A number of things.
    Count 0.0..=1e9 ""
}

/// Declares a rule's thresholds: `/// what it decides` `name: type = default, "origin";`
macro_rules! thresholds {
    ($( $(#[doc = $doc:literal])+ $name:ident: $type:ty = $default:expr, $origin:literal; )*) => {
        /// The rule's thresholds, as the configuration may set them.
        #[derive(Clone, Debug, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Thresholds {
            $( $(#[doc = $doc])+ pub $name: $type, )*
            /// Subjects that the rule leaves alone.
            pub exclude: crate::rules::Exclude,
        }

        impl Default for Thresholds {
            fn default() -> Self {
                Self { $( $name: $default, )* exclude: crate::rules::Exclude::default() }
            }
        }

        impl Thresholds {
            /// The thresholds in force, with their defaults and origins.
            #[must_use]
            pub fn describe(&self) -> Vec<crate::snapshot::Threshold> {
                let default = Self::default();
                vec![$( crate::snapshot::Threshold {
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
pub(crate) use thresholds;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_outside_their_range_say_what_is_allowed() {
        assert_eq!(
            serde_json::from_str::<Ratio>("0.2").expect("in range"),
            Ratio::new(0.2)
        );
        let error = serde_json::from_str::<Ratio>("20")
            .expect_err("per cent")
            .to_string();
        assert!(
            error.contains("20 is out of range; want a number from 0 to 1"),
            "{error}"
        );
        assert!(serde_json::from_str::<Celsius>("200").is_err());
    }
}
