//! The quotes of a text: where strings end, and what they say.

/// Bytes looked at together.
const GROUP: usize = 64;

/// The positions of a text's quotes, in order, for as long as nothing makes a quote mean other than
/// the start or end of a string: it ends for good at a group with a backslash or a NUL.
///
/// Positions come from a bit set that is filled ahead, so that the work on one label need not wait for
/// the end of the one before to be found.
pub(super) struct PlainQuotes<'a> {
    text: &'a [u8],
    /// Where the next group starts.
    next: usize,
    /// The quotes of the current group not yet given out; bit 0 is its first byte.
    quotes: u64,
}

impl<'a> PlainQuotes<'a> {
    pub(super) fn new(text: &'a [u8]) -> Self {
        Self {
            text,
            next: 0,
            quotes: 0,
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<usize> {
        if self.quotes == 0 {
            self.quotes = self.next_group()?;
        }
        let place = self.quotes.trailing_zeros() as usize;
        self.quotes &= self.quotes - 1;
        Some(self.next - GROUP + place)
    }

    /// The quotes of the next group that has any.
    #[inline(never)]
    fn next_group(&mut self) -> Option<u64> {
        loop {
            let rest = self.text.get(self.next..)?;
            let quotes = match rest.first_chunk() {
                Some(group) => plain_quotes(group)?,
                None if rest.is_empty() => return None,
                None => {
                    let mut group = [b' '; GROUP];
                    group[..rest.len()].copy_from_slice(rest);
                    plain_quotes(&group)?
                }
            };
            self.next += GROUP;
            if quotes != 0 {
                return Some(quotes);
            }
        }
    }
}

/// A bit for each quote of a group, if it holds no backslash and no NUL.
///
/// Kept out of line: the compiler turns this loop into vector instructions, and surely so only by
/// itself.
#[inline(never)]
fn plain_quotes(group: &[u8; GROUP]) -> Option<u64> {
    let mut quotes = [0_u8; GROUP];
    let mut others = 0_u8;
    for (quote, &byte) in quotes.iter_mut().zip(group) {
        *quote = u8::from(byte == b'"');
        others |= u8::from(byte == b'\\') | u8::from(byte == 0);
    }
    if others != 0 {
        return None;
    }
    let (words, _) = quotes.as_chunks::<8>();
    let mut bits = 0;
    for (index, word) in words.iter().enumerate() {
        bits |= gather(u64::from_le_bytes(*word)) << (8 * index);
    }
    Some(bits)
}

/// Gathers the lowest bit of each byte into one byte, the first byte's lowest.
///
/// Bit 8i times 2^(56 - 7i) is bit 56 + i; no other products meet there, and none of them carry, as
/// all 64 land on bits of their own.
#[inline]
fn gather(word: u64) -> u64 {
    word.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// The closing quote of the string whose text starts at `at`, and whether there are escapes in it.
///
/// A NUL ends the search in vain: it is a torn or zero-filled body, never a label's text.
#[inline]
pub(super) fn string_end(text: &[u8], mut at: usize) -> Option<(usize, bool)> {
    let mut escaped = false;
    loop {
        at = next_mark(text, at)?;
        match text[at] {
            b'"' => return Some((at, escaped)),
            b'\\' => {
                if text.get(at + 1) == Some(&0) {
                    return None;
                }
                escaped = true;
                at += 2;
            }
            _ => return None,
        }
    }
}

/// The first quote, backslash or NUL from `at`.
///
/// Eight bytes at a time: label values are short, so a call into a vectorised search costs more
/// than it saves.
#[inline]
fn next_mark(text: &[u8], mut at: usize) -> Option<usize> {
    let mut rest = text.get(at..)?;
    while let Some((chunk, tail)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*chunk);
        let marks = zero_bytes(word) | zero_bytes(word ^ QUOTES) | zero_bytes(word ^ BACKSLASHES);
        if marks != 0 {
            return Some(at + marks.trailing_zeros() as usize / 8);
        }
        at += 8;
        rest = tail;
    }
    let is_mark = |&byte: &u8| matches!(byte, b'"' | b'\\' | 0);
    rest.iter().position(is_mark).map(|offset| at + offset)
}

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
const QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);

/// A word whose lowest set bit is the high bit of the first zero byte; 0 if no byte is zero. Bits
/// above the lowest may be wrong (a borrow), so only the lowest is used.
#[inline]
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH_BITS
}

/// Appends `text` with `\\`, `\"` and `\n` resolved; any other backslash stands for itself.
pub(super) fn unescape(text: &str, into: &mut String) {
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        into.push_str(before);
        let (resolved, skipped) = match after.as_bytes().first() {
            Some(b'\\') => ('\\', 1),
            Some(b'"') => ('"', 1),
            Some(b'n') => ('\n', 1),
            _ => ('\\', 0),
        };
        into.push(resolved);
        rest = &after[skipped..];
    }
    into.push_str(rest);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gathers_every_byte_of_bits() {
        for bits in 0..256_u64 {
            let word = (0..8).map(|bit| (bits >> bit & 1) << (8 * bit)).sum();
            assert_eq!(gather(word), bits);
        }
    }

    fn all(text: &[u8]) -> Vec<usize> {
        let mut quotes = PlainQuotes::new(text);
        std::iter::from_fn(|| quotes.next()).collect()
    }

    proptest! {
        #[test]
        fn quotes_are_found_in_order(text in "[\"a{]{0,300}") {
            let expected: Vec<usize> = text.match_indices('"').map(|(at, _)| at).collect();
            prop_assert_eq!(all(text.as_bytes()), expected);
        }

        #[test]
        fn none_are_given_beyond_an_escape(before in "[\"a]{0,200}", mark in "[\\\\\0]", after in "[\"a]{0,200}") {
            let found = all(format!("{before}{mark}{after}").as_bytes());
            prop_assert!(found.iter().all(|&at| at < before.len()));
            let groups_before = before.len() / GROUP * GROUP;
            prop_assert_eq!(found, all(&before.as_bytes()[..groups_before]));
        }
    }
}
