//! The values of a series in a file: a number, or an array.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::{Serialize, Serializer};

use super::check::MAX_SLOTS;

/// The values of one series: one number for every slot, or one a slot with `null` for a gap.
#[derive(Clone, Debug, PartialEq)]
pub enum SeriesValues {
    /// The same value in every slot.
    Constant(f64),
    /// One value a slot.
    Column(Vec<Option<f64>>),
}

impl SeriesValues {
    /// The value in a slot, if there is one.
    #[must_use]
    pub fn get(&self, slot: u32) -> Option<f64> {
        match self {
            Self::Constant(value) => Some(*value),
            Self::Column(values) => values.get(slot as usize).copied().flatten(),
        }
    }

    /// The values that are there, with the slot of each; a constant once, with slot 0.
    pub fn iter(&self) -> impl Iterator<Item = (usize, f64)> {
        let column = match self {
            Self::Constant(_) => &[],
            Self::Column(values) => values.as_slice(),
        };
        let constant = match self {
            Self::Constant(value) => Some((0, *value)),
            Self::Column(_) => None,
        };
        let slots = column.iter().enumerate();
        constant
            .into_iter()
            .chain(slots.filter_map(|(slot, value)| value.map(|value| (slot, value))))
    }
}

impl Serialize for SeriesValues {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(value) => serializer.serialize_f64(*value),
            Self::Column(values) => values.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for SeriesValues {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values;
        impl<'de> Visitor<'de> for Values {
            type Value = SeriesValues;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number for all slots, or an array with a number or null for each")
            }

            fn visit_f64<E: de::Error>(self, value: f64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value))
            }

            fn visit_i64<E: de::Error>(self, value: i64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value as f64))
            }

            fn visit_u64<E: de::Error>(self, value: u64) -> Result<SeriesValues, E> {
                Ok(SeriesValues::Constant(value as f64))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<SeriesValues, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = seq.next_element::<Option<f64>>()? {
                    if values.len() == MAX_SLOTS as usize {
                        return Err(de::Error::custom(format!("more than {MAX_SLOTS} values")));
                    }
                    values.push(value);
                }
                Ok(SeriesValues::Column(values))
            }
        }
        deserializer.deserialize_any(Values)
    }
}

/// Series by name; a name that is there twice is refused, where a plain map would keep the last.
pub(super) fn unique<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, SeriesValues>, D::Error> {
    struct Unique;
    impl<'de> Visitor<'de> for Unique {
        type Value = BTreeMap<String, SeriesValues>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("series by name")
        }

        fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            let mut series = BTreeMap::new();
            while let Some(name) = map.next_key::<String>()? {
                if series.contains_key(&name) {
                    return Err(de::Error::custom(format!("series `{name}` is there twice")));
                }
                series.insert(name, map.next_value()?);
            }
            Ok(series)
        }
    }
    deserializer.deserialize_map(Unique)
}
