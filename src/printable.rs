//! Text from outside, made safe to print: names and messages of pods are hostile input.

use std::borrow::Cow;
use std::fmt::Write;

/// The text with everything escaped that could steer a terminal or hide what is written:
/// control characters, and the invisible ones that turn the direction of text around.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_unsafe) {
        return Cow::Borrowed(text);
    }
    let mut safe = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '\n' => safe.push_str("\\n"),
            '\r' => safe.push_str("\\r"),
            '\t' => safe.push_str("\\t"),
            // Writing to a String cannot fail.
            c if is_unsafe(c) => drop(write!(safe, "\\u{{{:x}}}", c as u32)),
            c => safe.push(c),
        }
    }
    Cow::Owned(safe)
}

/// Whether a character must not reach a terminal as it is.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_spelt_out() {
        for (text, safe) in [
            ("GPU 3 of n1, 71 °C", "GPU 3 of n1, 71 °C"),
            ("\u{1b}[2Jgone", "\\u{1b}[2Jgone"),
            ("a\nb\tc\r", "a\\nb\\tc\\r"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("abc\u{202e}txt", "abc\\u{202e}txt"),
        ] {
            assert_eq!(printable(text), safe);
        }
    }
}
