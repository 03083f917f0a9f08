//! A slow exposition parser, written to be obviously right: it owns everything, remembers nothing, and
//! follows the rules as they are told in the scanner's documentation.

use std::collections::BTreeMap;

use gpulens::source::exposition::{Format, Limits};

/// A sample with everything it means.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Told {
    pub(crate) name: String,
    pub(crate) labels: Vec<(String, String)>,
    /// The bits of the value, so that NaN equals NaN and -0 differs from 0.
    pub(crate) value_bits: u64,
    pub(crate) timestamp_ms: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Read {
    pub(crate) samples: Vec<Told>,
    /// Reasons that occurred, with their counts.
    pub(crate) rejected: BTreeMap<&'static str, u64>,
    pub(crate) first_rejected: Option<(u64, &'static str)>,
    pub(crate) eof: bool,
}

/// The rest of a line after what was read, or the reason not to read it.
type Rest<'a, T> = Result<(T, &'a str), &'static str>;

pub(crate) fn read(body: &[u8], format: Format, complete: bool, limits: &Limits) -> Read {
    let mut read = Read::default();
    let mut lines: Vec<&[u8]> = body.split(|&byte| byte == b'\n').collect();
    let unterminated = lines.pop().unwrap_or_default();
    let mut results = Vec::new();
    for line in lines {
        results.push(read_line(line, format, limits, &mut read.eof));
    }
    if !unterminated.is_empty() {
        results.push(if complete {
            read_line(unterminated, format, limits, &mut read.eof)
        } else {
            Err("truncated")
        });
    }
    for (index, result) in results.into_iter().enumerate() {
        match result {
            Ok(sample) => read.samples.extend(sample),
            Err(reason) => {
                *read.rejected.entry(reason).or_default() += 1;
                read.first_rejected
                    .get_or_insert((index as u64 + 1, reason));
            }
        }
    }
    read
}

fn read_line(
    line: &[u8],
    format: Format,
    limits: &Limits,
    eof: &mut bool,
) -> Result<Option<Told>, &'static str> {
    let mut content = line;
    if let [before @ .., b'\r'] = content {
        content = before;
    }
    while let [b' ' | b'\t', after @ ..] = content {
        content = after;
    }
    if content.is_empty() {
        return Ok(None);
    }
    if content[0] == b'#' {
        *eof |= format == Format::OpenMetrics && content.trim_ascii_end() == b"# EOF";
        return Ok(None);
    }
    if line.len() > limits.line_bytes {
        return Err("line_too_long");
    }
    let text = std::str::from_utf8(content).map_err(|_| "invalid_utf8")?;
    let ((name, labels), rest) = head(text, limits)?;
    let mut words = rest.split([' ', '\t']).filter(|word| !word.is_empty());
    let value = words.next().ok_or("no_value")?;
    let value: f64 = value.parse().map_err(|_| "bad_value")?;
    let mut word = words.next();
    let mut timestamp_ms = None;
    if let Some(text) = word.filter(|word| !word.starts_with('#')) {
        timestamp_ms = Some(timestamp(text, format).ok_or("bad_timestamp")?);
        word = words.next();
    }
    let exemplar = |text: &str| format == Format::OpenMetrics && text.starts_with('#');
    if word.is_some_and(|text| !exemplar(text)) {
        return Err("trailing_text");
    }
    Ok(Some(Told {
        name,
        labels: unique(labels),
        value_bits: value.to_bits(),
        timestamp_ms,
    }))
}

fn timestamp(text: &str, format: Format) -> Option<i64> {
    if format == Format::Classic {
        return text.parse().ok();
    }
    let milliseconds = (text.parse::<f64>().ok()? * 1000.0).round();
    let in_range = milliseconds.abs() <= 9.223_372_036_854_775e18;
    in_range.then_some(milliseconds as i64)
}

fn unique(labels: Vec<(String, String)>) -> Vec<(String, String)> {
    let mut kept: Vec<(String, String)> = Vec::new();
    for (name, value) in labels {
        if kept.iter().all(|(other, _)| *other != name) {
            kept.push((name, value));
        }
    }
    kept
}

fn blanks(text: &str) -> &str {
    text.trim_start_matches([' ', '\t'])
}

/// The name and labels of a line.
fn head<'a>(text: &'a str, limits: &Limits) -> Rest<'a, (String, Vec<(String, String)>)> {
    if let Some(inside) = text.strip_prefix('{') {
        let inside = blanks(inside).strip_prefix('"').ok_or("bad_name")?;
        let (name, rest) = string(inside).ok_or("bad_name")?;
        let rest = blanks(rest);
        let rest = match rest.chars().next() {
            Some(',') => &rest[1..],
            Some('}') => rest,
            Some('=') => return Err("bad_name"),
            _ => return Err("bad_labels"),
        };
        if name.is_empty() {
            return Err("bad_name");
        }
        let (labels, rest) = block(rest, limits)?;
        return Ok(((name, labels), rest));
    }
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == ':'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        return Err("bad_name");
    }
    if !(rest.is_empty() || rest.starts_with([' ', '\t', '{'])) {
        return Err("bad_name");
    }
    let Some(inside) = blanks(rest).strip_prefix('{') else {
        return Ok(((name.to_owned(), Vec::new()), rest));
    };
    let (labels, rest) = match block(inside, limits) {
        Err("bad_labels") => unescaped_block(inside, limits)?,
        other => other?,
    };
    Ok(((name.to_owned(), labels), rest))
}

/// What stands between braces, given without the opening one.
fn block<'a>(text: &'a str, limits: &Limits) -> Rest<'a, Vec<(String, String)>> {
    let mut labels = Vec::new();
    let mut text = blanks(text);
    loop {
        if let Some(rest) = text.strip_prefix('}') {
            return Ok((labels, rest));
        }
        let (label, rest) = label(text).ok_or("bad_labels")?;
        labels.push(label);
        if labels.len() > limits.labels {
            return Err("too_many_labels");
        }
        text = blanks(rest);
        match text.strip_prefix(',') {
            Some(rest) => text = blanks(rest),
            None if text.starts_with('}') => {}
            None => return Err("bad_labels"),
        }
    }
}

fn label(text: &str) -> Option<((String, String), &str)> {
    let (name, rest) = match text.strip_prefix('"') {
        Some(text) => string(text)?,
        None => label_name(text)?,
    };
    let rest = blanks(blanks(rest).strip_prefix('=')?).strip_prefix('"')?;
    let (value, rest) = string(rest)?;
    (!name.is_empty()).then_some(((name, value), rest))
}

fn label_name(text: &str) -> Option<(String, &str)> {
    let end = text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    let (name, rest) = text.split_at(end.unwrap_or(text.len()));
    let good = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
    good.then(|| (name.to_owned(), rest))
}

/// A string up to its closing quote, given without the opening one.
fn string(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut rest = text.chars();
    loop {
        match rest.next()? {
            '"' => return Some((value, rest.as_str())),
            '\0' => return None,
            '\\' => match rest.next()? {
                '\0' => return None,
                'n' => value.push('\n'),
                c @ ('\\' | '"') => value.push(c),
                c => value.extend(['\\', c]),
            },
            c => value.push(c),
        }
    }
}

/// A block whose quotes and backslashes stand for themselves, up to the last `"}`.
fn unescaped_block<'a>(text: &'a str, limits: &Limits) -> Rest<'a, Vec<(String, String)>> {
    let last = text.rfind("\"}").ok_or("bad_labels")?;
    let (mut inside, rest) = (&text[..=last], &text[last + 2..]);
    let mut labels = Vec::new();
    loop {
        let (name, after) = label_name(blanks(inside)).ok_or("bad_labels")?;
        let raw = after.strip_prefix("=\"").ok_or("bad_labels")?;
        let begins_label = |at: usize| {
            let next = raw[at + 1..]
                .strip_prefix(',')
                .map(blanks)
                .and_then(label_name);
            next.is_some_and(|(_, after)| after.starts_with("=\""))
        };
        let mut quotes = raw.match_indices('"').map(|(at, _)| at);
        let closing = quotes.find(|&at| begins_label(at) || at + 1 == raw.len());
        // None: the block's last quote opened this value.
        let closing = closing.ok_or("bad_labels")?;
        let value = &raw[..closing];
        if value.contains("=\"") || value.contains('\0') {
            return Err("bad_labels");
        }
        labels.push((name, value.to_owned()));
        if labels.len() > limits.labels {
            return Err("too_many_labels");
        }
        if closing + 1 == raw.len() {
            return Ok((labels, rest));
        }
        inside = &raw[closing + 2..];
    }
}
