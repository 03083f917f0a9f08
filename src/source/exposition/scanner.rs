//! The body, line by line.

use memchr::memchr;

use super::format::{Format, Limits};
use super::labels::{LabelReader, MAX_LINE_BYTES};
use super::line::{Line, is_blank, is_end_marker, metric_name_end, skip_blanks};
use super::memo::{Index, Memo, NONE};
use super::quotes::{string_end, unescape};
use super::rejection::{RejectedLine, Rejection};
use super::value::{Reading, plain_decimal, reading};
use super::visitor::{Sample, Scanned, Visitor};

/// Reads the bodies of one target and remembers its names and label blocks between them.
///
/// # Why the memo gives the answer of a full parse
///
/// The full parse walks a label block from left to right and stops at its closing brace; up to there
/// no decision looks at a later byte (`LabelReader::walk`). So if a walk accepted the block `B`, it
/// accepts `B` and stops at the same place in every line that has `B` at its brace, whatever
/// follows; which bytes are *proposed* as a block decides nothing but speed. `B` holds no line feed,
/// so finding it at a brace in the body is finding it within one line. The labels of `B`, their
/// number, repeats and UTF-8 are functions of `B`'s bytes and of [`Limits`], which do not change.
///
/// A block with unescaped quotes ends where the rest of its line says, so this does not hold for it.
/// Its line is walked and recovered each time, and only then is the block looked up: its labels are
/// a function of its bytes (`LabelReader::recover`). It cannot be mistaken for a walked block: were
/// it accepted by a walk, the walk would have accepted its line. Such entries, and blocks that
/// follow a quoted metric name, are marked and are never proposed by their bytes.
///
/// A remembered metric name is followed by a brace when it is recognised by its bytes, and only names
/// that need no quotes are: a brace ends such a name in the full parse too.
#[derive(Debug)]
pub struct Scanner<F, S> {
    limits: Limits,
    families: Memo<F>,
    blocks: Memo<S>,
    labels: LabelReader,
    /// A quoted metric name with its escapes resolved; kept for its memory only.
    resolved_name: String,
    last_family: Index,
    last_block: Index,
    /// Whether a comment came since the last sample: another family is then likely.
    after_comment: bool,
}

/// The metric name of a line, with escapes resolved.
#[derive(Clone, Copy)]
struct Name<'a> {
    text: &'a str,
    /// Whether it may be written without quotes.
    plain: bool,
}

/// The label block of a line.
struct Block<'a> {
    /// From brace to brace; from the metric name to the brace if the name is inside; empty where
    /// there are no braces.
    text: &'a [u8],
    /// Only of a block that is not known.
    hash: u64,
    known: Option<Index>,
    /// See [`Scanner`]: whether later lines may recognise it by its bytes.
    by_bytes: bool,
}

impl<F: Copy, S: Copy> Scanner<F, S> {
    /// A scanner that has seen nothing. It allocates at the first sample.
    #[must_use]
    pub fn new(limits: Limits) -> Self {
        let limits = Limits {
            line_bytes: limits.line_bytes.min(MAX_LINE_BYTES),
            ..limits
        };
        Self {
            limits,
            families: Memo::new(limits.families, limits.memo_bytes),
            blocks: Memo::new(limits.label_blocks, limits.memo_bytes),
            labels: LabelReader::default(),
            resolved_name: String::new(),
            last_family: NONE,
            last_block: NONE,
            after_comment: false,
        }
    }

    /// Reads a body. `complete` says that its last byte is really its last: a last line without a
    /// line feed is then read, and otherwise dropped as [`Rejection::Truncated`], as `33` may be a
    /// cut `330`.
    ///
    /// The samples do not depend on what was scanned before.
    pub fn scan<V>(
        &mut self,
        body: &[u8],
        format: Format,
        complete: bool,
        visitor: &mut V,
    ) -> Scanned
    where
        V: Visitor<Family = F, Series = S>,
    {
        self.start(visitor);
        let mut scanned = Scanned::default();
        let mut at = 0;
        let mut number = 0;
        while at < body.len() {
            number += 1;
            if let Some(length) = self.familiar_line(&body[at..], visitor) {
                scanned.samples += 1;
                at += length;
                continue;
            }
            let rest = &body[at..];
            let end = memchr(b'\n', rest);
            let line = &rest[..end.unwrap_or(rest.len())];
            let result = if end.is_some() || complete {
                self.line(line, format, &mut scanned, visitor)
            } else {
                Err(Rejection::Truncated)
            };
            if let Err(reason) = result {
                scanned.rejected.add(reason);
                let first = || RejectedLine::new(number, reason, line);
                scanned.first_rejected.get_or_insert_with(first);
            }
            at += line.len() + 1;
        }
        scanned
    }

    /// Drops the memo without telling a visitor, as if the scanner were new: for a caller that
    /// changes or empties its visitor.
    pub fn reset(&mut self) {
        self.families.clear();
        self.blocks.clear();
        self.last_family = NONE;
        self.last_block = NONE;
    }

    /// Before a body: drops the memo if the last body used little of it, so that what churns
    /// (pods above all) does not pile up.
    fn start<V: Visitor>(&mut self, visitor: &mut V) {
        if self.families.is_wasteful() || self.blocks.is_wasteful() {
            self.reset();
            visitor.forget();
        }
        self.families.start_scan();
        self.blocks.start_scan();
        self.after_comment = false;
    }

    /// Reads the line at the start of `rest` if its name and labels are the expected ones and a plain
    /// number ends it; returns its length, line feed included. Decides nothing otherwise.
    #[inline]
    fn familiar_line<V>(&mut self, rest: &[u8], visitor: &mut V) -> Option<usize>
    where
        V: Visitor<Family = F, Series = S>,
    {
        let (family, brace) = self.expected_family(rest)?;
        let block = self.expected_block(&rest[brace..])?;
        let after = brace + self.blocks.key(block).len();
        let number = after + usize::from(rest.get(after) == Some(&b' '));
        let (value, length) = plain_decimal(rest.get(number..)?)?;
        let end = number + length;
        let end = end + usize::from(rest.get(end) == Some(&b'\r'));
        if rest.get(end) != Some(&b'\n') || end > self.limits.line_bytes {
            return None;
        }
        let sample = Sample {
            family: self.take_family(family),
            series: self.take_block(block),
            value,
            timestamp_ms: None,
        };
        visitor.sample(sample);
        Some(end + 1)
    }

    /// The family whose name and brace start `rest`, if it is the last one or the one after it.
    #[inline]
    fn expected_family(&self, rest: &[u8]) -> Option<(Index, usize)> {
        let stands_here = |index: Index| {
            let name = self.families.key(index);
            let fits = rest.starts_with(name)
                && rest.get(name.len()) == Some(&b'{')
                && self.families.by_bytes(index);
            fits.then_some((index, name.len()))
        };
        if !self.after_comment && self.last_family != NONE {
            return stands_here(self.last_family)
                .or_else(|| stands_here(self.families.after(self.last_family)?));
        }
        stands_here(self.families.after(self.last_family)?)
    }

    /// The block that starts `rest`, if it is the one that followed the last one before.
    #[inline]
    fn expected_block(&self, rest: &[u8]) -> Option<Index> {
        let index = self.blocks.after(self.last_block)?;
        let fits = self.blocks.by_bytes(index) && rest.starts_with(self.blocks.key(index));
        fits.then_some(index)
    }

    #[inline]
    fn take_family(&mut self, index: Index) -> F {
        let previous = std::mem::replace(&mut self.last_family, index);
        self.after_comment = false;
        // A family is not expected after itself: that is tried before.
        self.families
            .take(index, if previous == index { NONE } else { previous })
    }

    #[inline]
    fn take_block(&mut self, index: Index) -> S {
        let previous = std::mem::replace(&mut self.last_block, index);
        self.blocks.take(index, previous)
    }

    /// Reads any line, given without its line feed.
    fn line<V>(
        &mut self,
        line: &[u8],
        format: Format,
        scanned: &mut Scanned,
        visitor: &mut V,
    ) -> Result<(), Rejection>
    where
        V: Visitor<Family = F, Series = S>,
    {
        match Line::of(line) {
            Line::Blank => Ok(()),
            Line::Comment(comment) => {
                self.after_comment = true;
                scanned.eof |= format == Format::OpenMetrics && is_end_marker(comment);
                Ok(())
            }
            Line::Sample(_) if line.len() > self.limits.line_bytes => Err(Rejection::LineTooLong),
            Line::Sample(text) => {
                let result = self.sample(text, format, visitor);
                scanned.samples += u64::from(result.is_ok());
                result.map_err(|reason| match std::str::from_utf8(text) {
                    Ok(_) => reason,
                    Err(_) => Rejection::InvalidUtf8,
                })
            }
        }
    }

    fn sample<V>(&mut self, line: &[u8], format: Format, visitor: &mut V) -> Result<(), Rejection>
    where
        V: Visitor<Family = F, Series = S>,
    {
        if line[0] == b'{' {
            return self.quoted_sample(line, format, visitor);
        }
        let end = metric_name_end(line, 0);
        let at = skip_blanks(line, end);
        let delimited = line
            .get(end)
            .is_none_or(|&byte| is_blank(byte) || byte == b'{');
        if end == 0 || !delimited {
            return Err(Rejection::BadName);
        }
        let text = &line[at..];
        let block = self.block(text)?;
        let reading = reading(&text[block.text.len()..], format)?;
        let text = std::str::from_utf8(&line[..end]).map_err(|_| Rejection::BadName)?;
        self.tell(Name { text, plain: true }, &block, reading, visitor)
    }

    /// Reads a line that has its metric name in quotes within the braces: `{"name",label="value"} 1`.
    fn quoted_sample<V>(
        &mut self,
        line: &[u8],
        format: Format,
        visitor: &mut V,
    ) -> Result<(), Rejection>
    where
        V: Visitor<Family = F, Series = S>,
    {
        let start = skip_blanks(line, 1) + 1;
        if line.get(start - 1) != Some(&b'"') {
            return Err(Rejection::BadName);
        }
        let (end, escaped) = string_end(line, start).ok_or(Rejection::BadName)?;
        let name = std::str::from_utf8(&line[start..end]).map_err(|_| Rejection::InvalidUtf8)?;
        let text = &line[end + 1..];
        let after = skip_blanks(text, 0);
        let from = match text.get(after) {
            Some(b',') => after + 1,
            Some(b'}') => after,
            Some(b'=') => return Err(Rejection::BadName),
            _ => return Err(Rejection::BadLabels),
        };
        if name.is_empty() {
            return Err(Rejection::BadName);
        }
        let len = self.labels.walk(text, from, self.limits.labels)?;
        let block = self.look_up(&text[..len], false);
        let reading = reading(&text[len..], format)?;
        // The buffer is lent out, as telling needs the whole scanner.
        let mut resolved = std::mem::take(&mut self.resolved_name);
        resolved.clear();
        unescape(name, &mut resolved);
        let name = if escaped { resolved.as_str() } else { name };
        let plain = metric_name_end(name.as_bytes(), 0) == name.len();
        let told = self.tell(Name { text: name, plain }, &block, reading, visitor);
        self.resolved_name = resolved;
        told
    }

    /// Finds the label block at the start of `text`: by expectation, by hash, by walking, and at
    /// last by taking its quotes as unescaped.
    fn block<'a>(&mut self, text: &'a [u8]) -> Result<Block<'a>, Rejection> {
        if text.first() != Some(&b'{') {
            self.labels.clear();
            return Ok(self.look_up(&[], false));
        }
        let expected = self.expected_block(text);
        if let Some(index) = expected.or_else(|| self.proposed_block(text)) {
            return Ok(Block {
                text: &text[..self.blocks.key(index).len()],
                hash: 0,
                known: Some(index),
                by_bytes: true,
            });
        }
        match self.labels.walk(text, 1, self.limits.labels) {
            Ok(len) => Ok(self.look_up(&text[..len], true)),
            Err(Rejection::BadLabels) => {
                let len = self.labels.recover(text, self.limits.labels)?;
                Ok(self.look_up(&text[..len], false))
            }
            Err(reason) => Err(reason),
        }
    }

    /// A known block that starts `text`, looking for its end at the first closing brace. That is a
    /// guess, as a value may hold a brace; [`Scanner`] tells why a wrong one does no harm.
    fn proposed_block(&self, text: &[u8]) -> Option<Index> {
        if !self.blocks.enabled() {
            return None;
        }
        let proposed = &text[..=memchr(b'}', text)?];
        let index = self.blocks.find(proposed, self.blocks.hash(proposed))?;
        self.blocks.by_bytes(index).then_some(index)
    }

    fn look_up<'a>(&self, text: &'a [u8], by_bytes: bool) -> Block<'a> {
        let hash = self.blocks.hash(text);
        let known = self.blocks.find(text, hash);
        Block {
            text,
            hash,
            known,
            by_bytes,
        }
    }

    /// Tells a sample to the visitor, after its name and labels if they are new.
    fn tell<V>(
        &mut self,
        name: Name<'_>,
        block: &Block<'_>,
        reading: Reading,
        visitor: &mut V,
    ) -> Result<(), Rejection>
    where
        V: Visitor<Family = F, Series = S>,
    {
        let series = if let Some(index) = block.known {
            self.take_block(index)
        } else {
            let id = visitor.series(&self.labels.labels(block.text)?);
            let by_bytes = block.by_bytes;
            if let Some(index) = self.blocks.insert(block.text, block.hash, id, by_bytes) {
                self.take_block(index);
            }
            id
        };
        let hash = self.families.hash(name.text.as_bytes());
        let family = if let Some(index) = self.families.find(name.text.as_bytes(), hash) {
            self.take_family(index)
        } else {
            let id = visitor.family(name.text);
            let key = name.text.as_bytes();
            if let Some(index) = self.families.insert(key, hash, id, name.plain) {
                self.take_family(index);
            }
            id
        };
        visitor.sample(Sample {
            family,
            series,
            value: reading.value,
            timestamp_ms: reading.timestamp_ms,
        });
        Ok(())
    }
}
