//! Writing names and messages from outside into HTML.

use std::fmt::{self, Display, Write};

use jiff::{SignedDuration, Timestamp};

/// Text that can stand in an element or a quoted attribute. Control characters, and those that
/// turn the direction of writing around, are shown as U+FFFD.
pub(super) struct Text<T>(pub T);

impl<T: Display> Display for Text<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(Escape(f), "{}", self.0)
    }
}

struct Escape<'a, 'b>(&'a mut fmt::Formatter<'b>);

impl Write for Escape<'_, '_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for c in text.chars() {
            match c {
                '&' => self.0.write_str("&amp;")?,
                '<' => self.0.write_str("&lt;")?,
                '>' => self.0.write_str("&gt;")?,
                '"' => self.0.write_str("&quot;")?,
                '\'' => self.0.write_str("&#39;")?,
                '\u{200b}'..='\u{200f}'
                | '\u{202a}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}'
                | '\u{feff}' => self.0.write_char('\u{fffd}')?,
                c if c.is_control() => self.0.write_char('\u{fffd}')?,
                c => self.0.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A value in a query string.
pub(super) struct Query<'a>(pub &'a str);

impl Display for Query<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0.bytes() {
            if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
                f.write_char(byte.into())?;
            } else {
                write!(f, "%{byte:02X}")?;
            }
        }
        Ok(())
    }
}

/// A time, for people and machines.
pub(super) struct Time(pub Timestamp);

impl Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = format!("{:.0}", self.0);
        let shown = text.trim_end_matches('Z').replacen('T', " ", 1);
        write!(f, "<time datetime=\"{text}\">{shown}&nbsp;UTC</time>")
    }
}

/// A length of time in its largest unit or two: `12 s`, `3 min`, `2 h 5 min`, `4 d`.
pub(super) struct Length(pub SignedDuration);

impl Display for Length {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.as_secs().max(0);
        match seconds {
            0..120 => write!(f, "{seconds}\u{a0}s"),
            120..7_200 => write!(f, "{}\u{a0}min", seconds / 60),
            7_200..172_800 => write!(
                f,
                "{}\u{a0}h {}\u{a0}min",
                seconds / 3_600,
                seconds / 60 % 60
            ),
            _ => write!(f, "{}\u{a0}d", seconds / 86_400),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_is_only_text() {
        let hostile = "<script>alert('1')</script>&\"\u{202e}\u{1b}[31m\n";
        assert_eq!(
            Text(hostile).to_string(),
            "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;&quot;\u{fffd}\u{fffd}[31m\u{fffd}"
        );
        assert_eq!(
            Query("a/b c&d=\"é\"").to_string(),
            "a%2Fb%20c%26d%3D%22%C3%A9%22"
        );
    }

    #[test]
    fn times_and_lengths_as_people_read_them() {
        let at: Timestamp = "2026-11-30T10:00:00.125Z".parse().expect("a time");
        assert_eq!(
            Time(at).to_string(),
            "<time datetime=\"2026-11-30T10:00:00Z\">2026-11-30 10:00:00&nbsp;UTC</time>"
        );
        for (seconds, want) in [
            (-5, "0\u{a0}s"),
            (119, "119\u{a0}s"),
            (120, "2\u{a0}min"),
            (7_500, "2\u{a0}h 5\u{a0}min"),
            (172_800, "2\u{a0}d"),
        ] {
            assert_eq!(Length(SignedDuration::from_secs(seconds)).to_string(), want);
        }
    }
}
