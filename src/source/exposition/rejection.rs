//! Why a line was not read.

/// Why a line was skipped. Closed: each is one value of a metric label.
///
/// A line that would be rejected for any other reason and is not UTF-8 counts as
/// [`Rejection::InvalidUtf8`]: garbled bytes are the cause, the rest is their effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Rejection {
    /// The line does not start with a metric name; an HTML page, for one.
    BadName,
    /// The label block does not parse, not even with its quotes taken as unescaped.
    BadLabels,
    /// More labels than [`Limits::labels`](super::Limits::labels).
    TooManyLabels,
    /// Nothing follows the name and labels.
    NoValue,
    /// What follows is not a decimal number, `NaN` or an infinity.
    BadValue,
    /// The second number is not a timestamp of the format.
    BadTimestamp,
    /// Something follows the timestamp, or an exemplar follows in a format that has none.
    TrailingText,
    /// Bytes that are not UTF-8.
    InvalidUtf8,
    /// Longer than [`Limits::line_bytes`](super::Limits::line_bytes).
    LineTooLong,
    /// The unterminated last line of an incomplete body: its end may be missing.
    Truncated,
}

impl Rejection {
    /// Every reason, in the order of [`Rejections::iter`].
    pub const ALL: [Self; 10] = [
        Self::BadName,
        Self::BadLabels,
        Self::TooManyLabels,
        Self::NoValue,
        Self::BadValue,
        Self::BadTimestamp,
        Self::TrailingText,
        Self::InvalidUtf8,
        Self::LineTooLong,
        Self::Truncated,
    ];

    /// The reason as a metric label's value.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BadName => "bad_name",
            Self::BadLabels => "bad_labels",
            Self::TooManyLabels => "too_many_labels",
            Self::NoValue => "no_value",
            Self::BadValue => "bad_value",
            Self::BadTimestamp => "bad_timestamp",
            Self::TrailingText => "trailing_text",
            Self::InvalidUtf8 => "invalid_utf8",
            Self::LineTooLong => "line_too_long",
            Self::Truncated => "truncated",
        }
    }
}

/// Rejected lines of a body, counted by reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rejections {
    counts: [u64; Rejection::ALL.len()],
}

impl Rejections {
    pub(super) fn add(&mut self, reason: Rejection) {
        self.counts[reason as usize] += 1;
    }

    /// Lines rejected for this reason.
    #[must_use]
    pub fn get(&self, reason: Rejection) -> u64 {
        self.counts[reason as usize]
    }

    /// Lines rejected for any reason.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Every reason with its count, zeros included.
    pub fn iter(&self) -> impl Iterator<Item = (Rejection, u64)> + '_ {
        Rejection::ALL
            .into_iter()
            .map(|reason| (reason, self.get(reason)))
    }
}

/// The first rejected line of a body, for a log line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectedLine {
    /// Line number in the body, from 1; comments and blank lines count.
    pub number: u64,
    /// Why it was rejected.
    pub reason: Rejection,
    /// The line as printable ASCII, other bytes escaped as in a Rust byte string. Of a long line,
    /// [`RejectedLine::EXCERPT_BYTES`] of its start, ` ... `, and as many of its end: a name stands at
    /// the one, a value at the other, and label blocks are long.
    pub excerpt: String,
}

impl RejectedLine {
    /// Bytes shown of each end of a long line.
    pub const EXCERPT_BYTES: usize = 80;

    pub(super) fn new(number: u64, reason: Rejection, line: &[u8]) -> Self {
        let excerpt = if line.len() <= 2 * Self::EXCERPT_BYTES {
            line.escape_ascii().to_string()
        } else {
            let start = &line[..Self::EXCERPT_BYTES];
            let end = &line[line.len() - Self::EXCERPT_BYTES..];
            format!("{} ... {}", start.escape_ascii(), end.escape_ascii())
        };
        Self {
            number,
            reason,
            excerpt,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_own_place_and_text() {
        for (place, reason) in Rejection::ALL.into_iter().enumerate() {
            assert_eq!(reason as usize, place);
        }
        let texts: std::collections::BTreeSet<_> = Rejection::ALL.map(Rejection::as_str).into();
        assert_eq!(texts.len(), Rejection::ALL.len());
    }

    #[test]
    fn an_excerpt_is_bounded_and_printable() {
        let line = RejectedLine::new(3, Rejection::BadName, b"<a\x00\xff\"\n>");
        assert_eq!(line.excerpt, r#"<a\x00\xff\"\n>"#);
        let long = [&[b'a'; 80][..], &[b'b'; 1000], &[0xff; 80]].concat();
        let line = RejectedLine::new(3, Rejection::BadName, &long);
        assert_eq!(
            line.excerpt,
            format!("{} ... {}", "a".repeat(80), r"\xff".repeat(80))
        );
        let whole = RejectedLine::new(3, Rejection::BadName, &[b'a'; 160]);
        assert_eq!(whole.excerpt, "a".repeat(160));
    }
}
