//! The bytes a line is made of: blanks, names, and what kind of line it is.

/// What a line is, with its outer blanks and carriage return taken off.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Nothing but blanks.
    Blank,
    /// Starts with `#`.
    Comment(&'a [u8]),
    /// Anything else: a sample, or an attempt at one.
    Sample(&'a [u8]),
}

impl<'a> Line<'a> {
    /// Sorts a line, given without its line feed.
    pub(super) fn of(line: &'a [u8]) -> Self {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let line = &line[skip_blanks(line, 0)..];
        match line.first() {
            None => Self::Blank,
            Some(b'#') => Self::Comment(line),
            Some(_) => Self::Sample(line),
        }
    }
}

/// Whether a comment is the end marker of OpenMetrics.
pub(super) fn is_end_marker(comment: &[u8]) -> bool {
    comment.trim_ascii_end() == b"# EOF"
}

/// Blanks are the space and the tab.
#[inline]
pub(super) fn is_blank(byte: u8) -> bool {
    byte == b' ' || byte == b'\t'
}

/// The first position from `at` that holds no blank.
#[inline]
pub(super) fn skip_blanks(text: &[u8], mut at: usize) -> usize {
    while text.get(at).is_some_and(|&byte| is_blank(byte)) {
        at += 1;
    }
    at
}

const LABEL_START: u8 = 1;
const LABEL: u8 = 2;
const METRIC_START: u8 = 4;
const METRIC: u8 = 8;

/// Where each byte may stand in a name.
static NAME_CLASSES: [u8; 256] = name_classes();

const fn name_classes() -> [u8; 256] {
    let mut classes = [0; 256];
    let mut byte = 0;
    while byte < 128 {
        let letter = (byte as u8).is_ascii_alphabetic() || byte == b'_' as usize;
        if letter {
            classes[byte] = LABEL_START | LABEL | METRIC_START | METRIC;
        } else if (byte as u8).is_ascii_digit() {
            classes[byte] = LABEL | METRIC;
        } else if byte == b':' as usize {
            classes[byte] = METRIC_START | METRIC;
        }
        byte += 1;
    }
    classes
}

/// The end of the metric name (`[a-zA-Z_:][a-zA-Z0-9_:]*`) at `at`; `at` itself if there is none.
#[inline]
pub(super) fn metric_name_end(text: &[u8], at: usize) -> usize {
    name_end(text, at, METRIC_START, METRIC)
}

/// The end of the label name (`[a-zA-Z_][a-zA-Z0-9_]*`) at `at`; `at` itself if there is none.
#[inline]
pub(super) fn label_name_end(text: &[u8], at: usize) -> usize {
    name_end(text, at, LABEL_START, LABEL)
}

#[inline]
fn name_end(text: &[u8], at: usize, first: u8, further: u8) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    match rest.first() {
        Some(&byte) if NAME_CLASSES[usize::from(byte)] & first != 0 => {}
        _ => return at,
    }
    let length = rest
        .iter()
        .position(|&byte| NAME_CLASSES[usize::from(byte)] & further == 0);
    at + length.unwrap_or(rest.len())
}
