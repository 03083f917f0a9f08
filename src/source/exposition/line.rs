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

/// Whether a comment is the end marker of `OpenMetrics`.
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

/// The end of the metric name (`[a-zA-Z_:][a-zA-Z0-9_:]*`) at `at`; `at` itself if there is none.
#[inline]
pub(super) fn metric_name_end(text: &[u8], at: usize) -> usize {
    name_end::<true>(text, at)
}

/// The end of the label name (`[a-zA-Z_][a-zA-Z0-9_]*`) at `at`; `at` itself if there is none.
#[inline]
pub(super) fn label_name_end(text: &[u8], at: usize) -> usize {
    name_end::<false>(text, at)
}

/// Whether the first `length` bytes are a label name. Those that follow are read, but not judged.
///
/// For a name whose end is known already this takes half the instructions of [`label_name_end`].
#[inline]
pub(super) fn is_label_name(text: &[u8], length: usize) -> bool {
    match text.first_chunk() {
        Some(group) if length <= NAME_GROUP => {
            starts_in_label_name(group, length as u8) && length > 0 && !group[0].is_ascii_digit()
        }
        _ => is_long_label_name(text, length),
    }
}

#[inline(never)]
fn is_long_label_name(text: &[u8], length: usize) -> bool {
    match text.split_first_chunk() {
        // The two groups of a name of 17 to 32 bytes may overlap.
        Some((first, _)) if length > NAME_GROUP && length <= 2 * NAME_GROUP => {
            let rest = &text[length - NAME_GROUP..];
            !first[0].is_ascii_digit()
                && starts_in_label_name(first, NAME_GROUP as u8)
                && rest
                    .first_chunk()
                    .is_some_and(|last| starts_in_label_name(last, NAME_GROUP as u8))
        }
        _ => length > 0 && label_name_end(text, 0) >= length,
    }
}

/// Bytes judged together.
const NAME_GROUP: usize = 16;

/// Whether the first `length` bytes may stand in a label name.
///
/// Kept out of line: the compiler turns this loop into a few vector instructions, but not once it is
/// mixed with the code around it.
#[inline(never)]
fn starts_in_label_name(group: &[u8; NAME_GROUP], length: u8) -> bool {
    let mut wrong = 0;
    for (place, &byte) in group.iter().enumerate() {
        wrong |= u8::from(!in_label_name(byte)) & u8::from((place as u8) < length);
    }
    wrong == 0
}

#[inline]
fn in_label_name(byte: u8) -> bool {
    let small = byte | 0x20;
    small.wrapping_sub(b'a') < 26 || byte.wrapping_sub(b'0') < 10 || byte == b'_'
}

/// Eight bytes at a time: a loop over single bytes is left at another count for each name, which the
/// branch predictor does not learn.
#[inline]
fn name_end<const COLON: bool>(text: &[u8], at: usize) -> usize {
    let mut rest = text.get(at..).unwrap_or_default();
    if rest.first().is_none_or(u8::is_ascii_digit) {
        return at;
    }
    let mut end = at;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let others = !name_bytes::<COLON>(u64::from_le_bytes(*chunk)) & HIGH_BITS;
        if others != 0 {
            return end + others.trailing_zeros() as usize / 8;
        }
        end += 8;
        rest = tail;
    }
    let in_name =
        |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || (COLON && *byte == b':');
    end + rest.iter().take_while(|byte| in_name(byte)).count()
}

const fn each(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

const HIGH_BITS: u64 = each(0x80);

/// The high bit of each byte that may stand in a name.
#[inline]
fn name_bytes<const COLON: bool>(word: u64) -> u64 {
    // Without its high bit a byte plus at most 0x7f does not carry into the next.
    let low = word & !HIGH_BITS;
    let within =
        |bytes: u64, from: u8, to: u8| (bytes + each(0x80 - from)) & !(bytes + each(0x7f - to));
    let equal = |byte: u8| !((low ^ each(byte)) + each(0x7f));
    // Setting bit 5 makes capitals small, and brings nothing else among the letters.
    let mut found = within(low | each(0x20), b'a', b'z') | within(low, b'0', b'9') | equal(b'_');
    if COLON {
        found |= equal(b':');
    }
    found & !word & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_the_first_byte_that_is_not_of_a_name() {
        let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
        for byte in 0..=u8::MAX {
            for length in [1, 2, 7, 8, 9, 15, 16, 17, 31, 32, 33] {
                for place in 1..length {
                    let mut text = vec![b'x'; length];
                    text[place] = byte;
                    let end = |ends: bool| if ends { place } else { length };
                    assert_eq!(
                        label_name_end(&text, 0),
                        end(!in_name(byte)),
                        "{byte} at {place}"
                    );
                    for judged in 1..=length {
                        let fits = judged <= place || in_name(byte);
                        assert_eq!(is_label_name(&text, judged), fits, "{byte} at {place}");
                    }
                    assert_eq!(
                        metric_name_end(&text, 0),
                        end(!in_name(byte) && byte != b':')
                    );
                }
            }
            let first = [b'{', byte, b'x', b'='];
            let starts = in_name(byte) && !byte.is_ascii_digit();
            assert_eq!(label_name_end(&first, 1), if starts { 3 } else { 1 });
            assert_eq!(is_label_name(&first[1..], 2), starts);
            assert_eq!(
                is_label_name(&[&first[1..], &[b'"'; 16]].concat(), 2),
                starts
            );
            assert!(!is_label_name(&first[1..], 0));
            assert_eq!(
                metric_name_end(&first, 1),
                if starts || byte == b':' { 3 } else { 1 }
            );
        }
        assert_eq!(
            (
                label_name_end(b"", 0),
                label_name_end(b"a", 1),
                label_name_end(b"a", 7)
            ),
            (0, 1, 7)
        );
    }
}
