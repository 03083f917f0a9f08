//! Label values: names from outside, made safe and bounded.

use std::borrow::Cow;
use std::fmt::{self, Write};

use prometheus_client::encoding::LabelValueEncoder;

use crate::finding::{Cause, IncidentId};

/// The longest label value, in bytes: longer than any Kubernetes name (253).
const LONGEST: usize = 256;

/// A label value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Label<'a> {
    /// Text, which may come from outside.
    Text(&'a str),
    /// A number; nothing where it is not known.
    Number(Option<u32>),
    /// An incident's stable name.
    Incident(IncidentId),
    /// A cause.
    Cause(Cause),
}

impl<'a> From<&'a str> for Label<'a> {
    fn from(text: &'a str) -> Self {
        Self::Text(text)
    }
}

impl Label<'_> {
    /// Writes the value; quotes, backslashes and line feeds are the encoder's business.
    pub(super) fn write(self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => encoder.write_str(&safe(text)),
            Self::Number(None) => Ok(()),
            Self::Number(Some(number)) => write!(encoder, "{number}"),
            Self::Incident(id) => write!(encoder, "{id}"),
            Self::Cause(cause) => encoder.write_str(&cause.as_str()),
        }
    }

    /// Whether the value is printed otherwise than it is: two may then read alike.
    pub(super) fn is_altered(self) -> bool {
        matches!(self, Self::Text(text) if !is_safe(text))
    }
}

fn is_safe(text: &str) -> bool {
    text.len() <= LONGEST && !text.chars().any(char::is_control)
}

/// The text with control characters spelled out, cut at a character's boundary.
pub(super) fn safe(text: &str) -> Cow<'_, str> {
    if is_safe(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(LONGEST);
    for c in text.chars() {
        let before = out.len();
        if c.is_control() {
            let _ = write!(out, "\\x{:02x}", u32::from(c));
        } else {
            out.push(c);
        }
        if out.len() > LONGEST {
            out.truncate(before);
            break;
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_at_a_character_and_control_characters_spelled_out() {
        let long = "x".repeat(256);
        let umlauts = "ü".repeat(200);
        for (text, want) in [
            ("", ""),
            ("trainer-0", "trainer-0"),
            ("a\"b\\c", "a\"b\\c"),
            ("a\nb\r\t\0\u{7f}\u{85}", "a\\x0ab\\x0d\\x09\\x00\\x7f\\x85"),
            (&long, &long),
            (&format!("{long}y"), &long),
            (&umlauts, &umlauts[..256]),
            (&format!("{}ü", &long[..255]), &long[..255]),
            (&format!("{}\n", &long[..255]), &long[..255]),
        ] {
            assert_eq!(safe(text), want);
        }
    }
}
