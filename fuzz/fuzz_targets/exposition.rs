//! Any bytes as exposition bodies: no panic, the samples of the slow reference parser, and the same
//! whatever a scanner remembers.
//!
//! The first byte chooses format, completeness and limits, the second where the first body ends and
//! the next begins. `cargo +nightly fuzz run exposition`

#![no_main]

use gpulens::source::exposition::{Format, Labels, Limits, Sample, Scanner, Visitor};
use libfuzzer_sys::fuzz_target;

#[path = "../../tests/it/exposition_reference.rs"]
mod exposition_reference;

use exposition_reference::{Read, Told, read};

#[derive(Default)]
struct Collector {
    names: Vec<String>,
    labels: Vec<Vec<(String, String)>>,
    samples: Vec<Told>,
}

impl Visitor for Collector {
    type Family = usize;
    type Series = usize;

    fn family(&mut self, name: &str) -> usize {
        self.names.push(name.to_owned());
        self.names.len() - 1
    }

    fn series(&mut self, labels: &Labels<'_>) -> usize {
        let owned = labels
            .iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()));
        self.labels.push(owned.collect());
        self.labels.len() - 1
    }

    fn sample(&mut self, sample: Sample<usize, usize>) {
        self.samples.push(Told {
            name: self.names[sample.family].clone(),
            labels: self.labels[sample.series].clone(),
            value_bits: sample.value.to_bits(),
            timestamp_ms: sample.timestamp_ms,
        });
    }

    fn forget(&mut self) {}
}

struct Pair {
    scanner: Scanner<usize, usize>,
    visitor: Collector,
}

impl Pair {
    fn new(limits: Limits) -> Self {
        Self {
            scanner: Scanner::new(limits),
            visitor: Collector::default(),
        }
    }

    fn read(&mut self, body: &[u8], format: Format, complete: bool) -> Read {
        let scanned = self.scanner.scan(body, format, complete, &mut self.visitor);
        let counts = scanned.rejected.iter().filter(|&(_, count)| count > 0);
        Read {
            samples: std::mem::take(&mut self.visitor.samples),
            rejected: counts
                .map(|(reason, count)| (reason.as_str(), count))
                .collect(),
            first_rejected: scanned
                .first_rejected
                .map(|line| (line.number, line.reason.as_str())),
            eof: scanned.eof,
        }
    }
}

fuzz_target!(|data: &[u8]| {
    let [flags, middle, bodies @ ..] = data else {
        return;
    };
    let format = if flags & 1 == 0 {
        Format::Classic
    } else {
        Format::OpenMetrics
    };
    let complete = flags & 2 == 0;
    let limits = if flags & 4 == 0 {
        Limits::default()
    } else {
        Limits {
            line_bytes: 60,
            labels: 3,
            label_blocks: 3,
            families: 2,
            memo_bytes: 120,
        }
    };
    let (first, second) = bodies.split_at(usize::from(*middle).min(bodies.len()));
    let mut kept = Pair::new(limits);
    let mut cold = Pair::new(Limits {
        label_blocks: 0,
        families: 0,
        ..limits
    });
    for body in [first, second, first] {
        let expected = read(body, format, complete, &limits);
        assert_eq!(cold.read(body, format, complete), expected, "cold");
        assert_eq!(
            Pair::new(limits).read(body, format, complete),
            expected,
            "fresh"
        );
        assert_eq!(kept.read(body, format, complete), expected, "warm");
        assert_eq!(kept.read(body, format, complete), expected, "again");
    }
});
