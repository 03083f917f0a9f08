//! A YAML file as a tree in which every key and value knows its place.
//!
//! The library decodes straight into types and stops at the first problem. An operator wants
//! all of them, so the file is read into this tree first and decoded from there.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::{Location, Spanned};

/// A place in a file, both counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl From<Location> for Place {
    fn from(location: Location) -> Self {
        Self {
            line: location.line().max(1),
            column: location.column().max(1),
        }
    }
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    pub(super) place: Place,
    pub(super) value: Value,
    /// Where its text lies in the source, in bytes.
    text: Option<(u64, u64)>,
}

/// An entry of a mapping.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) place: Place,
    pub(super) node: Node,
}

/// What a node holds.
#[derive(Clone, Debug)]
pub(super) enum Value {
    Null,
    Bool(bool, String),
    Integer(i128, String),
    Float(f64, String),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A step from a node to one below it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Step {
    Key(String),
    Index(usize),
}

impl Node {
    /// Reads a file. The error is that of the YAML itself: a file that is no YAML has no tree.
    pub(super) fn parse(text: &str) -> Result<Self, serde_saphyr::Error> {
        let options = serde_saphyr::options! {
            with_snippet: false,
            leading_zero_numbers_as_strings: true,
            underscored_numbers_as_strings: true,
        };
        let mut root: Option<Self> = serde_saphyr::from_str_with_options(text, options)?;
        let mut root = root.take().unwrap_or(Self {
            place: Place { line: 1, column: 1 },
            value: Value::Null,
            text: None,
        });
        root.fill_in(text);
        Ok(root)
    }

    /// Gives numbers and booleans the spelling that they have in the file, so that a node named
    /// `1.10` keeps its name.
    fn fill_in(&mut self, source: &str) {
        let written = self
            .text
            .and_then(|(from, length)| source.get(from as usize..(from + length) as usize));
        match &mut self.value {
            Value::Null | Value::Text(_) => {}
            Value::Bool(_, spelling) | Value::Integer(_, spelling) | Value::Float(_, spelling) => {
                if let Some(written) = written {
                    written.trim().clone_into(spelling);
                }
            }
            Value::List(nodes) => nodes.iter_mut().for_each(|node| node.fill_in(source)),
            Value::Map(entries) => entries
                .iter_mut()
                .for_each(|entry| entry.node.fill_in(source)),
        }
    }

    /// The node at the end of a path, or the nearest one on the way there.
    pub(super) fn nearest(&self, path: &[Step]) -> &Self {
        let next = match (path.first(), &self.value) {
            (Some(Step::Key(key)), Value::Map(entries)) => entries
                .iter()
                .find(|entry| entry.key == *key)
                .map(|entry| &entry.node),
            (Some(Step::Index(at)), Value::List(nodes)) => nodes.get(*at),
            _ => None,
        };
        next.map_or(self, |node| node.nearest(&path[1..]))
    }

    /// Whether there is a node at the end of a path.
    pub(super) fn has(&self, path: &[Step]) -> bool {
        match (path.first(), &self.value) {
            (None, _) => true,
            (Some(Step::Key(key)), Value::Map(entries)) => entries
                .iter()
                .any(|entry| entry.key == *key && entry.node.has(&path[1..])),
            (Some(Step::Index(at)), Value::List(nodes)) => {
                nodes.get(*at).is_some_and(|node| node.has(&path[1..]))
            }
            _ => false,
        }
    }

    /// Takes away what lies at the end of a path. False where nothing does.
    pub(super) fn prune(&mut self, path: &[Step]) -> bool {
        let Some((step, rest)) = path.split_first() else {
            return false;
        };
        match (step, &mut self.value) {
            (Step::Key(key), Value::Map(entries)) => {
                let Some(at) = entries.iter().position(|entry| entry.key == *key) else {
                    return false;
                };
                if rest.is_empty() {
                    entries.remove(at);
                    return true;
                }
                entries[at].node.prune(rest)
            }
            (Step::Index(at), Value::List(nodes)) if *at < nodes.len() => {
                if rest.is_empty() {
                    nodes.remove(*at);
                    return true;
                }
                nodes[*at].prune(rest)
            }
            _ => false,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        let span = spanned.defined.span();
        Ok(Self {
            place: spanned.referenced.into(),
            text: span.byte_offset().zip(span.byte_len()),
            value: spanned.value,
        })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value, value.to_string()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Integer(value.into(), value.to_string()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Integer(value.into(), value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value, value.to_string()))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = seq.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            entries.push(Entry {
                place: key.referenced.into(),
                key: key.value,
                node: map.next_value()?,
            });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_knows_its_place_and_numbers_their_spelling() {
        let root = Node::parse("a:\n  - b: 1.10\n    é: [x, 0x1F]\nc:\n").expect("YAML");
        let at = |path: &[Step]| root.nearest(path).place;
        let key = |name: &str| Step::Key(name.to_owned());
        assert_eq!(
            at(&[key("a"), Step::Index(0), key("b")]),
            Place { line: 2, column: 8 }
        );
        let hex = root.nearest(&[key("a"), Step::Index(0), key("é"), Step::Index(1)]);
        assert_eq!(
            hex.place,
            Place {
                line: 3,
                column: 12
            }
        );
        assert!(matches!(&hex.value, Value::Integer(31, raw) if raw == "0x1F"));
        let node = root.nearest(&[key("a"), Step::Index(0), key("b")]);
        assert!(
            matches!(&node.value, Value::Float(_, raw) if raw == "1.10"),
            "{node:?}"
        );
        assert!(matches!(root.nearest(&[key("c")]).value, Value::Null));
        assert!(!root.has(&[key("c"), key("d")]));
    }
}
