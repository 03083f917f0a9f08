//! Decodes a tree into types and finds every problem, not only the first.
//!
//! A value that cannot be decoded is noted with its place, taken out of the tree, and the rest
//! is decoded again: whatever stands there instead is a default, so what remains is judged as
//! if the mistake had not been made.

use std::fmt;

use serde::de::{
    self, Deserialize, DeserializeSeed, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Unexpected, VariantAccess, Visitor,
};

use super::Problem;
use super::tree::{Entry, Node, Place, Step, Value};

/// More problems than this are not listed: nobody reads them.
const MAX_PROBLEMS: usize = 50;

/// Decodes a tree. What could not be decoded is a problem each and has left the tree.
pub(super) fn decode<T: for<'de> Deserialize<'de> + Default>(root: &mut Node) -> (T, Vec<Problem>) {
    let mut problems = Vec::new();
    // The keys that were taken out, with the place of the mapping that had them.
    let mut taken: Vec<(Place, String)> = Vec::new();
    loop {
        let fault = match T::deserialize(Decoder(root)) {
            Ok(value) => return (value, problems),
            Err(fault) => fault,
        };
        let path: Vec<Step> = fault.path.into_iter().rev().collect();
        let holder = root.nearest(&path).place;
        let explained = fault
            .missing
            .is_some_and(|key| taken.iter().any(|(at, name)| *at == holder && name == key));
        if !explained {
            problems.push(Problem {
                place: Some(fault.place.unwrap_or(holder)),
                key: dotted(&path),
                message: fault.message,
            });
        }
        if let Some((Step::Key(key), above)) = path.split_last() {
            taken.push((root.nearest(above).place, key.clone()));
        }
        if problems.len() == MAX_PROBLEMS || !root.prune(&path) {
            return (T::default(), problems);
        }
    }
}

/// A path as people write it: `clusters[0].dcgm.targets[2].url`.
pub(super) fn dotted(path: &[Step]) -> String {
    let mut text = String::new();
    for step in path {
        match step {
            Step::Key(key) => {
                if !text.is_empty() {
                    text.push('.');
                }
                text.push_str(key);
            }
            Step::Index(at) => {
                text.push('[');
                text.push_str(&at.to_string());
                text.push(']');
            }
        }
    }
    text
}

/// Why something could not be decoded, and where: the innermost step comes first.
#[derive(Debug)]
struct Fault {
    path: Vec<Step>,
    place: Option<Place>,
    message: String,
    /// The key that is missing, where that is what is wrong.
    missing: Option<&'static str>,
}

impl Fault {
    fn below(mut self, step: Step, place: Place) -> Self {
        self.place.get_or_insert(place);
        self.path.push(step);
        self
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

impl de::Error for Fault {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self {
            path: Vec::new(),
            place: None,
            message: message.to_string(),
            missing: None,
        }
    }

    fn invalid_type(found: Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        let wanted = match wanted.to_string() {
            text if text.starts_with("struct ") => "a mapping (`key: value` lines)".to_owned(),
            text if text == "a string" => "text".to_owned(),
            text if text == "a sequence" => "a list (`- item` lines)".to_owned(),
            text if text.starts_with("a map") => "a mapping (`key: value` lines)".to_owned(),
            text if text.starts_with('u') && text[1..].parse::<u8>().is_ok() => {
                "a whole number of at least 0".to_owned()
            }
            text if text == "f64" => "a number".to_owned(),
            text if text == "a boolean" => "true or false".to_owned(),
            text => text,
        };
        // The value is not repeated: it may be a password in the wrong place.
        let found = match found {
            Unexpected::Str(_) | Unexpected::Char(_) => "this is text",
            Unexpected::Unit | Unexpected::Option => "there is no value",
            Unexpected::Map => "this is a mapping",
            Unexpected::Seq => "this is a list",
            Unexpected::Bool(_) => "this is true or false",
            Unexpected::Unsigned(_) | Unexpected::Signed(_) | Unexpected::Float(_) => {
                "this is a number"
            }
            _ => "this is something else",
        };
        Self::custom(format!("{found}; want {wanted}"))
    }

    fn invalid_value(found: Unexpected<'_>, wanted: &dyn de::Expected) -> Self {
        let wanted = match wanted.to_string().as_str() {
            "u8" => format!("a whole number from 0 to {}", u8::MAX),
            "u16" => format!("a whole number from 0 to {}", u16::MAX),
            "u32" => format!("a whole number from 0 to {}", u32::MAX),
            "u64" | "usize" => "a whole number of at least 0".to_owned(),
            text => text.to_owned(),
        };
        Self::custom(format!("{found} is out of range; want {wanted}"))
    }

    fn unknown_field(field: &str, allowed: &'static [&'static str]) -> Self {
        Self::custom(unknown("key", field, allowed))
    }

    fn unknown_variant(variant: &str, allowed: &'static [&'static str]) -> Self {
        Self::custom(unknown("value", variant, allowed))
    }

    fn missing_field(field: &'static str) -> Self {
        Self {
            missing: Some(field),
            ..Self::custom(format!("`{field}` is missing"))
        }
    }
}

/// What is said about a word that is not one of a closed set.
pub(super) fn unknown(what: &str, found: &str, allowed: &[&str]) -> String {
    let mut sorted: Vec<&str> = allowed.to_vec();
    sorted.sort_unstable();
    let near = sorted
        .iter()
        .copied()
        .map(|name| (distance(found, name), name))
        .min()
        .filter(|(steps, name)| *steps <= 1 + name.len() / 4);
    let hint = near.map_or(String::new(), |(_, name)| {
        format!("did you mean `{name}`? ")
    });
    format!(
        "unknown {what} `{found}`; {hint}allowed: {}",
        sorted.join(", ")
    )
}

/// Levenshtein's distance.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().take(64).enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let best = (diagonal + usize::from(x != *y))
                .min(row[j] + 1)
                .min(row[j + 1] + 1);
            diagonal = std::mem::replace(&mut row[j + 1], best);
        }
    }
    row[b.len()]
}

struct Decoder<'a>(&'a Node);

/// Hands on a whole number as the narrowest type that visitors know.
fn visit_integer<'de, V: Visitor<'de>>(visitor: V, value: i128) -> Result<V::Value, Fault> {
    match (u64::try_from(value), i64::try_from(value)) {
        (Ok(value), _) => visitor.visit_u64(value),
        (_, Ok(value)) => visitor.visit_i64(value),
        _ => visitor.visit_i128(value),
    }
}

impl<'de> de::Deserializer<'de> for Decoder<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Null => visitor.visit_unit(),
            Value::Bool(value, _) => visitor.visit_bool(*value),
            Value::Integer(value, _) => visit_integer(visitor, *value),
            Value::Float(value, _) => visitor.visit_f64(*value),
            Value::Text(text) => visitor.visit_str(text),
            Value::List(nodes) => visitor.visit_seq(List { nodes, next: 0 }),
            Value::Map(entries) => visitor.visit_map(Map { entries, next: 0 }),
        }
    }

    /// Text is what was written, whatever else YAML might take it for.
    fn deserialize_str<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Bool(_, text) | Value::Integer(_, text) | Value::Float(_, text) => {
                visitor.visit_str(text)
            }
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        self.deserialize_str(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Null => visitor.visit_none(),
            _ => visitor.visit_some(self),
        }
    }

    /// A section whose keys are all commented out is an empty section.
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Null => visitor.visit_map(Map {
                entries: &[],
                next: 0,
            }),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match self.0.value {
            // A derived struct would also take a list, in the order of its fields.
            Value::List(_) => Err(de::Error::invalid_type(Unexpected::Seq, &"a map")),
            _ => self.deserialize_map(visitor),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        match self.0.value {
            Value::Null => visitor.visit_seq(List {
                nodes: &[],
                next: 0,
            }),
            _ => self.deserialize_any(visitor),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        match &self.0.value {
            Value::Text(text) | Value::Bool(_, text) => {
                visitor.visit_enum(text.as_str().into_deserializer())
            }
            Value::Map(entries) => match entries.as_slice() {
                [entry] => visitor.visit_enum(Variant(entry)),
                _ => Err(de::Error::custom("want exactly one key here")),
            },
            _ => self.deserialize_any(visitor),
        }
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char bytes byte_buf
        unit unit_struct tuple tuple_struct identifier ignored_any
    }
}

struct List<'a> {
    nodes: &'a [Node],
    next: usize,
}

impl<'de> SeqAccess<'de> for List<'_> {
    type Error = Fault;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, Fault> {
        let Some(node) = self.nodes.get(self.next) else {
            return Ok(None);
        };
        let at = self.next;
        self.next += 1;
        seed.deserialize(Decoder(node))
            .map(Some)
            .map_err(|fault| fault.below(Step::Index(at), node.place))
    }
}

struct Map<'a> {
    entries: &'a [Entry],
    next: usize,
}

impl<'de> MapAccess<'de> for Map<'_> {
    type Error = Fault;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, Fault> {
        let Some(entry) = self.entries.get(self.next) else {
            return Ok(None);
        };
        seed.deserialize(Key(&entry.key))
            .map(Some)
            .map_err(|fault| fault.below(Step::Key(entry.key.clone()), entry.place))
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, Fault> {
        // A value is asked for only after its key.
        let entry = &self.entries[self.next];
        self.next += 1;
        seed.deserialize(Decoder(&entry.node))
            .map_err(|fault| fault.below(Step::Key(entry.key.clone()), entry.node.place))
    }
}

/// A mapping's key: text, or a whole number where one is wanted, in quotes or without.
struct Key<'a>(&'a str);

macro_rules! whole_keys {
    ($($method:ident $wanted:literal)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
            match self.0.parse() {
                Ok(key) => visit_integer(visitor, key),
                Err(_) => Err(de::Error::invalid_type(Unexpected::Str(self.0), &$wanted)),
            }
        }
    )* };
}

impl<'de> de::Deserializer<'de> for Key<'_> {
    type Error = Fault;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Fault> {
        visitor.visit_str(self.0)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        visitor.visit_enum(self.0.into_deserializer())
    }

    whole_keys! {
        deserialize_u8 "u8" deserialize_u16 "u16" deserialize_u32 "u32" deserialize_u64 "u64"
        deserialize_i8 "a whole number" deserialize_i16 "a whole number"
        deserialize_i32 "a whole number" deserialize_i64 "a whole number"
    }

    serde::forward_to_deserialize_any! {
        bool i128 u128 f32 f64 char str string bytes byte_buf option unit unit_struct seq tuple
        tuple_struct map struct identifier ignored_any
    }
}

/// An enumeration's variant that holds something: `name: content`.
struct Variant<'a>(&'a Entry);

impl<'de> EnumAccess<'de> for Variant<'_> {
    type Error = Fault;
    type Variant = Self;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, Self), Fault> {
        let name = de::value::StrDeserializer::<Fault>::new(&self.0.key);
        match seed.deserialize(name) {
            Ok(value) => Ok((value, self)),
            Err(fault) => Err(fault.below(Step::Key(self.0.key.clone()), self.0.place)),
        }
    }
}

impl<'de> VariantAccess<'de> for Variant<'_> {
    type Error = Fault;

    fn unit_variant(self) -> Result<(), Fault> {
        Ok(())
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, Fault> {
        seed.deserialize(Decoder(&self.0.node))
            .map_err(|fault| fault.below(Step::Key(self.0.key.clone()), self.0.node.place))
    }

    fn tuple_variant<V: Visitor<'de>>(self, _len: usize, visitor: V) -> Result<V::Value, Fault> {
        de::Deserializer::deserialize_seq(Decoder(&self.0.node), visitor)
            .map_err(|fault| fault.below(Step::Key(self.0.key.clone()), self.0.node.place))
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Fault> {
        de::Deserializer::deserialize_map(Decoder(&self.0.node), visitor)
            .map_err(|fault| fault.below(Step::Key(self.0.key.clone()), self.0.node.place))
    }
}
