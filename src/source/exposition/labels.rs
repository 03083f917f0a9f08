//! Label blocks: the full check at first sight.

use std::str::from_utf8;

use memchr::{memchr, memmem};

use super::line::{label_name_end, skip_blanks};
use super::rejection::Rejection;

/// A stretch of the block's text, or of the unescaped text.
#[derive(Debug, Clone, Copy)]
struct Piece {
    start: u32,
    end: u32,
    kind: Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// In the block, as it stands.
    Plain,
    /// In the block, with escapes still to be resolved.
    Escaped,
    /// In the unescaped text.
    Unescaped,
}

impl Piece {
    fn new(start: usize, end: usize, escaped: bool) -> Self {
        let kind = if escaped { Kind::Escaped } else { Kind::Plain };
        Self {
            start: start as u32,
            end: end as u32,
            kind,
        }
    }

    fn of<'a>(self, block: &'a str, unescaped: &'a str) -> &'a str {
        let text = if self.kind == Kind::Unescaped {
            unescaped
        } else {
            block
        };
        &text[self.start as usize..self.end as usize]
    }
}

#[derive(Debug, Clone, Copy)]
struct Pair {
    name: Piece,
    value: Piece,
}

/// The labels of one series in the order they were written: names unique, escapes resolved.
///
/// Of a repeated name the first is kept. A tenant's pod label can then not hide the exporter's own
/// label of that name, which older exporters write first, nor cost the line. An empty value is kept
/// as it is; by the format's rules it means the same as an absent label.
#[derive(Debug, Clone, Copy)]
pub struct Labels<'a> {
    block: &'a str,
    unescaped: &'a str,
    pairs: &'a [Pair],
}

impl<'a> Labels<'a> {
    /// Names with their values.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&'a str, &'a str)> + use<'a> {
        let (block, unescaped) = (self.block, self.unescaped);
        self.pairs.iter().map(move |pair| {
            let name = pair.name.of(block, unescaped);
            (name, pair.value.of(block, unescaped))
        })
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a str> {
        self.iter()
            .find_map(|(other, value)| (other == name).then_some(value))
    }

    /// How many labels there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }
}

/// Reads label blocks into buffers that are kept from one block to the next.
#[derive(Debug, Default)]
pub(super) struct LabelReader {
    pairs: Vec<Pair>,
    unescaped: String,
    any_escaped: bool,
    maybe_repeated: bool,
    /// One bit a name seen, to find repeated names without comparing all with all.
    names: u64,
}

impl LabelReader {
    /// The labels of a series that has none.
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.unescaped.clear();
        self.any_escaped = false;
        self.maybe_repeated = false;
        self.names = 0;
    }

    /// Walks a block from `at`, just after its brace, and returns the position after its end.
    ///
    /// The walk goes from left to right and looks at no byte after the closing brace.
    pub(super) fn walk(
        &mut self,
        text: &[u8],
        at: usize,
        limit: usize,
    ) -> Result<usize, Rejection> {
        self.clear();
        let mut at = skip_blanks(text, at);
        if text.get(at) == Some(&b'}') {
            return Ok(at + 1);
        }
        loop {
            at = self.pair(text, at).ok_or(Rejection::BadLabels)?;
            if self.pairs.len() > limit {
                return Err(Rejection::TooManyLabels);
            }
            at = skip_blanks(text, at);
            if text.get(at) == Some(&b',') {
                at = skip_blanks(text, at + 1);
                if text.get(at) != Some(&b'}') {
                    continue;
                }
            }
            return match text.get(at) {
                Some(b'}') => Ok(at + 1),
                _ => Err(Rejection::BadLabels),
            };
        }
    }

    /// Reads `name="value"` at `at`, or `"name"="value"`, and returns the position after it.
    #[inline]
    fn pair(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let (name, mut at) = if text.get(at) == Some(&b'"') {
            let (end, escaped) = string_end(text, at + 1)?;
            (Piece::new(at + 1, end, escaped), end + 1)
        } else {
            let end = label_name_end(text, at);
            (Piece::new(at, end, false), end)
        };
        if name.start == name.end {
            return None;
        }
        if text.get(at..at + 2) == Some(b"=\"") {
            at += 2;
        } else {
            at = expect(text, skip_blanks(text, at), b'=')?;
            at = expect(text, skip_blanks(text, at), b'"')?;
        }
        let (end, escaped) = string_end(text, at)?;
        self.push(text, name, Piece::new(at, end, escaped));
        Some(end + 1)
    }

    #[inline]
    fn push(&mut self, text: &[u8], name: Piece, value: Piece) {
        let bytes = &text[name.start as usize..name.end as usize];
        let bit = name_bit(bytes);
        if self.names & bit != 0 || name.kind == Kind::Escaped {
            let same =
                |pair: &Pair| text[pair.name.start as usize..pair.name.end as usize] == *bytes;
            self.maybe_repeated |= name.kind == Kind::Escaped || self.pairs.iter().any(same);
        }
        self.names |= bit;
        self.any_escaped |= name.kind == Kind::Escaped || value.kind == Kind::Escaped;
        self.pairs.push(Pair { name, value });
    }

    /// Reads a block whose values were written without escaping, and returns the position after its
    /// end: exporters up to 4.8.2 print `modelName="Model "Quoted"",Hostname="host\name"`.
    ///
    /// Backslashes stand for themselves. The block ends at the last `"}` of the line. A quote ends a
    /// value if it is that last one or if `,name="` follows. A value that would then hold `="` is
    /// refused: it may have swallowed another label. Where the block ends depends on the whole line;
    /// what is read in it depends on the block's bytes alone, as the walk uses none after its end.
    pub(super) fn recover(&mut self, text: &[u8], limit: usize) -> Result<usize, Rejection> {
        self.clear();
        let last = memmem::rfind(text, b"\"}").ok_or(Rejection::BadLabels)?;
        let block = &text[..last + 2];
        let mut at = skip_blanks(block, 1);
        loop {
            let name_end = label_name_end(block, at);
            if name_end == at || !block[name_end..].starts_with(b"=\"") {
                return Err(Rejection::BadLabels);
            }
            let start = name_end + 2;
            let raw = block.get(start..last).ok_or(Rejection::BadLabels)?;
            let end = start + unescaped_end(raw, block, start);
            let value = &block[start..end];
            if memmem::find(value, b"=\"").is_some() || memchr(0, value).is_some() {
                return Err(Rejection::BadLabels);
            }
            let name = Piece::new(at, name_end, false);
            self.push(text, name, Piece::new(start, end, false));
            if self.pairs.len() > limit {
                return Err(Rejection::TooManyLabels);
            }
            if end == last {
                return Ok(last + 2);
            }
            at = skip_blanks(block, end + 2);
        }
    }

    /// The labels just read from `block`: checks that it is UTF-8, resolves escapes, drops repeats.
    pub(super) fn labels<'a>(&'a mut self, block: &'a [u8]) -> Result<Labels<'a>, Rejection> {
        let block = from_utf8(block).map_err(|_| Rejection::InvalidUtf8)?;
        if self.any_escaped {
            for pair in &mut self.pairs {
                resolve(&mut pair.name, block, &mut self.unescaped);
                resolve(&mut pair.value, block, &mut self.unescaped);
            }
        }
        if self.maybe_repeated {
            self.drop_repeated(block);
        }
        Ok(Labels {
            block,
            unescaped: &self.unescaped,
            pairs: &self.pairs,
        })
    }

    fn drop_repeated(&mut self, block: &str) {
        let mut kept = 0;
        for index in 0..self.pairs.len() {
            let pair = self.pairs[index];
            let name = pair.name.of(block, &self.unescaped);
            let mut before = self.pairs[..kept].iter();
            if !before.any(|other| other.name.of(block, &self.unescaped) == name) {
                self.pairs[kept] = pair;
                kept += 1;
            }
        }
        self.pairs.truncate(kept);
    }
}

fn expect(text: &[u8], at: usize, byte: u8) -> Option<usize> {
    (text.get(at) == Some(&byte)).then_some(at + 1)
}

/// A bit that usually differs between the names of one block.
#[inline]
fn name_bit(name: &[u8]) -> u64 {
    let first = u64::from(name.first().copied().unwrap_or_default());
    let last = u64::from(name.last().copied().unwrap_or_default());
    let mixed = (first | last << 8 | (name.len() as u64) << 16).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    1 << (mixed >> 58)
}

/// The length of the unescaped value `raw`, which starts at `start` in `block`.
fn unescaped_end(raw: &[u8], block: &[u8], start: usize) -> usize {
    memchr::memchr_iter(b'"', raw)
        .find(|&quote| label_follows(block, start + quote + 1))
        .unwrap_or(raw.len())
}

/// Whether `,name="` stands at `at`.
fn label_follows(text: &[u8], at: usize) -> bool {
    let Some(at) = expect(text, at, b',') else {
        return false;
    };
    let start = skip_blanks(text, at);
    let end = label_name_end(text, start);
    end > start && text[end..].starts_with(b"=\"")
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

fn resolve(piece: &mut Piece, block: &str, unescaped: &mut String) {
    if piece.kind == Kind::Escaped {
        let start = unescaped.len();
        unescape(piece.of(block, ""), unescaped);
        *piece = Piece {
            start: start as u32,
            end: unescaped.len() as u32,
            kind: Kind::Unescaped,
        };
    }
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
