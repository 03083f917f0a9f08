//! What exporters write, and what is made of it: exact samples and counts.

use std::fmt::Write as _;

use super::*;

mod bodies;
mod lines;
mod memory;

/// Writes samples back in one form: `name {a="x"} value @timestamp_ms`, values and labels as Rust
/// debug text.
#[derive(Default)]
struct Transcript {
    names: Vec<String>,
    blocks: Vec<String>,
    samples: Vec<String>,
    forgets: u32,
}

impl Visitor for Transcript {
    type Family = usize;
    type Series = usize;

    fn family(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    fn series(&mut self, labels: &Labels<'_>) -> usize {
        let labels: Vec<String> = labels
            .iter()
            .map(|(name, value)| format!("{name}={value:?}"))
            .collect();
        self.blocks.push(labels.join(","));
        self.blocks.len() - 1
    }

    fn sample(&mut self, sample: Sample<usize, usize>) {
        let mut text = format!(
            "{} {{{}}} {:?}",
            self.names[sample.family], self.blocks[sample.series], sample.value
        );
        if let Some(timestamp) = sample.timestamp_ms {
            let _ = write!(text, " @{timestamp}");
        }
        self.samples.push(text);
    }

    fn forget(&mut self) {
        self.forgets += 1;
    }
}

type Kept = Scanner<usize, usize>;

/// Scans a body cold, fresh and warm, checks that all agree, and gives the result.
fn scan_all(body: &[u8], format: Format, complete: bool) -> (Vec<String>, Scanned) {
    let off = Limits {
        label_blocks: 0,
        families: 0,
        ..Limits::default()
    };
    let mut cold = Transcript::default();
    let expected = Kept::new(off).scan(body, format, complete, &mut cold);
    let mut scanner = Kept::new(Limits::default());
    let mut visitor = Transcript::default();
    for _ in 0..3 {
        visitor.samples.clear();
        assert_eq!(scanner.scan(body, format, complete, &mut visitor), expected);
        assert_eq!(visitor.samples, cold.samples);
    }
    (cold.samples, expected)
}

fn counts(scanned: &Scanned) -> Vec<(&'static str, u64)> {
    let rejected = scanned.rejected.iter().filter(|&(_, count)| count > 0);
    rejected
        .map(|(reason, count)| (reason.as_str(), count))
        .collect()
}

/// A body of one line and its expected outcome: the sample, or the reason.
#[track_caller]
fn one(format: Format, line: &[u8], expected: Result<&str, &'static str>) {
    let (samples, scanned) = scan_all(line, format, true);
    let outcome = (samples, counts(&scanned));
    let shown = line.escape_ascii();
    match expected {
        Ok(sample) => assert_eq!(outcome, (vec![sample.to_owned()], vec![]), "{shown}"),
        Err(reason) => assert_eq!(outcome, (vec![], vec![(reason, 1)]), "{shown}"),
    }
}

#[track_caller]
fn classic(line: &str, expected: Result<&str, &'static str>) {
    one(Format::Classic, line.as_bytes(), expected);
}
