//! Label blocks: the full check at first sight.

use std::str::from_utf8;

use memchr::{memchr, memmem};

use super::line::{is_label_name, label_name_end, skip_blanks};
use super::quotes::{PlainQuotes, string_end, unescape};
use super::rejection::Rejection;

/// A stretch of the block's text, or of the unescaped text.
///
/// One word: its start (32 bits), its end (30 bits), and two bits that say which text it is in. Fields
/// of several sizes cost a store-forwarding stall for each label, a sixth of the whole check.
#[derive(Debug, Clone, Copy)]
struct Piece(u64);

/// The text of a piece has escapes still to be resolved.
const ESCAPED: u64 = 1 << 62;
/// The piece is in the unescaped text.
const UNESCAPED: u64 = 1 << 63;

impl Piece {
    /// Ends beyond [`MAX_LINE_BYTES`] do not occur.
    #[inline]
    fn new(start: usize, end: usize, kind: u64) -> Self {
        Self(start as u64 | (end as u64) << 32 | kind)
    }

    #[inline]
    fn start(self) -> usize {
        self.0 as u32 as usize
    }

    #[inline]
    fn end(self) -> usize {
        (self.0 >> 32) as usize & MAX_LINE_BYTES
    }

    #[inline]
    fn is(self, kind: u64) -> bool {
        self.0 & kind != 0
    }

    fn of<'a>(self, block: &'a str, unescaped: &'a str) -> &'a str {
        let text = if self.is(UNESCAPED) { unescaped } else { block };
        &text[self.start()..self.end()]
    }
}

/// The longest line whose positions fit a piece.
pub(super) const MAX_LINE_BYTES: usize = (1 << 30) - 1;

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
    #[must_use]
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
}

impl LabelReader {
    /// The labels of a series that has none.
    pub(super) fn clear(&mut self) {
        self.pairs.clear();
        self.unescaped.clear();
        self.any_escaped = false;
        self.maybe_repeated = false;
    }

    /// Walks a block from `at`, just after its brace, and returns the position after its end.
    ///
    /// The walk goes from left to right and looks at no byte after the closing brace to decide.
    pub(super) fn walk(
        &mut self,
        text: &[u8],
        at: usize,
        limit: usize,
    ) -> Result<usize, Rejection> {
        match self.walk_plain(text, at, limit) {
            Some(end) => Ok(end),
            None => self.walk_any(text, at, limit),
        }
    }

    /// Walks a block as exporters write it, without blanks or escapes, and gives up on any other: what
    /// it accepts is what [`LabelReader::walk_any`] would.
    fn walk_plain(&mut self, text: &[u8], mut at: usize, limit: usize) -> Option<usize> {
        self.clear();
        // A bit for each name, to compare only those that may be equal.
        let mut names = 0;
        let mut quotes = PlainQuotes::new(text);
        loop {
            let open = quotes.next()?;
            let close = quotes.next()?;
            let name = text.get(at..open)?.strip_suffix(b"=")?;
            if !is_label_name(&text[at..], name.len()) || self.pairs.len() == limit {
                return None;
            }
            let piece = Piece::new(at, at + name.len(), 0);
            let bit = name_bit(name);
            if names & bit != 0 {
                self.maybe_repeated |= self.has(text, name);
            }
            names |= bit;
            let value = Piece::new(open + 1, close, 0);
            self.pairs.push(Pair { name: piece, value });
            at = close + 1;
            if text.get(at) == Some(&b',') {
                at += 1;
                if text.get(at) != Some(&b'}') {
                    continue;
                }
            }
            return (text.get(at) == Some(&b'}')).then_some(at + 1);
        }
    }

    /// Walks a block in any legal form.
    #[inline(never)]
    fn walk_any(&mut self, text: &[u8], at: usize, limit: usize) -> Result<usize, Rejection> {
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
            // Another way to write a name that may have been written before.
            self.maybe_repeated |= escaped;
            (Piece::new(at + 1, end, kind(escaped)), end + 1)
        } else {
            let end = label_name_end(text, at);
            (Piece::new(at, end, 0), end)
        };
        if name.start() == name.end() {
            return None;
        }
        if text.get(at..at + 2) == Some(b"=\"") {
            at += 2;
        } else {
            at = expect(text, skip_blanks(text, at), b'=')?;
            at = expect(text, skip_blanks(text, at), b'"')?;
        }
        let (end, escaped) = string_end(text, at)?;
        self.any_escaped |= escaped || name.is(ESCAPED);
        let value = Piece::new(at, end, kind(escaped));
        self.push(text, &text[name.start()..name.end()], name, value);
        Some(end + 1)
    }

    /// Adds a pair whose name is new or not; `bytes` are those of its name.
    fn push(&mut self, text: &[u8], bytes: &[u8], name: Piece, value: Piece) {
        self.maybe_repeated |= self.has(text, bytes);
        self.pairs.push(Pair { name, value });
    }

    /// Whether a name was written before in the same bytes.
    #[inline(never)]
    fn has(&self, text: &[u8], bytes: &[u8]) -> bool {
        let mut names = self.pairs.iter().map(|pair| pair.name);
        names.any(|name| text[name.start()..name.end()] == *bytes)
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
            let name = Piece::new(at, name_end, 0);
            self.push(block, &block[at..name_end], name, Piece::new(start, end, 0));
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

fn kind(escaped: bool) -> u64 {
    if escaped { ESCAPED } else { 0 }
}

/// A bit that usually differs between the names of a block.
#[inline]
fn name_bit(name: &[u8]) -> u64 {
    let first = u64::from(name.first().copied().unwrap_or_default());
    let last = u64::from(name.last().copied().unwrap_or_default());
    let middle = u64::from(name.get(name.len() / 2).copied().unwrap_or_default());
    1 << ((first * 5 + middle * 11 + last + name.len() as u64 * 3) & 63)
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

fn resolve(piece: &mut Piece, block: &str, unescaped: &mut String) {
    if piece.is(ESCAPED) {
        let start = unescaped.len();
        unescape(piece.of(block, ""), unescaped);
        *piece = Piece::new(start, unescaped.len(), UNESCAPED);
    }
}
