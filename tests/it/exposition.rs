//! The exposition scanner against a slow reference parser, on generated and on damaged text, and
//! against itself with other memories.

use gpulens::source::exposition::{Format, Labels, Limits, Sample, Scanned, Scanner, Visitor};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::exposition_reference::{Read, Told, read};

/// Keeps all it is told; refuses ids from before a forget.
#[derive(Debug, Default)]
struct Collector {
    names: Vec<String>,
    labels: Vec<Vec<(String, String)>>,
    valid_from: (usize, usize),
    samples: Vec<Told>,
    forgets: u32,
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
        assert!(
            sample.family >= self.valid_from.0 && sample.series >= self.valid_from.1,
            "a void id"
        );
        self.samples.push(Told {
            name: self.names[sample.family].clone(),
            labels: self.labels[sample.series].clone(),
            value_bits: sample.value.to_bits(),
            timestamp_ms: sample.timestamp_ms,
        });
    }

    fn forget(&mut self) {
        self.valid_from = (self.names.len(), self.labels.len());
        self.forgets += 1;
    }
}

/// A scanner with its visitor.
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
        as_read(scanned, std::mem::take(&mut self.visitor.samples))
    }
}

fn as_read(scanned: Scanned, samples: Vec<Told>) -> Read {
    assert_eq!(scanned.samples, samples.len() as u64);
    assert_eq!(
        scanned.rejected.total() > 0,
        scanned.first_rejected.is_some()
    );
    let counts = scanned.rejected.iter().filter(|&(_, count)| count > 0);
    Read {
        samples,
        rejected: counts
            .map(|(reason, count)| (reason.as_str(), count))
            .collect(),
        first_rejected: scanned
            .first_rejected
            .map(|line| (line.number, line.reason.as_str())),
        eof: scanned.eof,
    }
}

/// Tight enough that a few lines run into each of them.
const TIGHT: Limits = Limits {
    line_bytes: 40,
    labels: 3,
    label_blocks: 3,
    families: 2,
    memo_bytes: 120,
};

/// Small pieces that meet all the grammar's corners when strung together.
const PIECES: [&str; 44] = [
    "a",
    "b",
    "_",
    ":",
    "9",
    "a{",
    "b{",
    "{",
    "}",
    "\"",
    "\\",
    "\\\\",
    "\\\"",
    "\\n",
    ",",
    "=",
    "=\"",
    "\",",
    "\"}",
    "a=\"",
    "\",b=\"",
    "\",a=\"",
    "\", c=\"",
    "\"} 1\n",
    "} 2\n",
    "} 3 4\n",
    " ",
    "\t",
    "1",
    "33",
    "-0.5",
    "NaN",
    " 1e3",
    "#",
    " # ",
    " # {a=\"b\"} 1\n",
    "# EOF\n",
    "\n",
    "\n",
    "\r\n",
    "\0",
    "é",
    "x",
    "{\"a\",",
];

fn soup() -> impl Strategy<Value = Vec<u8>> {
    vec(select(&PIECES[..]), 0..40).prop_map(|pieces| pieces.concat().into_bytes())
}

/// Names and blocks of which some begin others, so that a memo could be fooled.
const NAMES: [&str; 9] = [
    "m",
    "mm",
    "m:x",
    "DCGM_FI_DEV_FB_USED",
    "DCGM_FI_DEV_FB_USED_PERCENT",
    "{\"m\"",
    "{\"m m\"",
    "{\"9m\"",
    "9m",
];
const BLOCKS: [&str; 26] = [
    "",
    " ",
    "{}",
    "{ }",
    "{,}",
    r#"{a="1"}"#,
    r#"{a="1",}"#,
    r#"{ a = "1" , b="2" }"#,
    r#"{a="1",b="2"}"#,
    r#"{a="1",a="2"}"#,
    r#"{a="1"}"}"#,
    r#"{a="1"} 5"}"#,
    r#"{a="x "1"",b="h\n"}"#,
    r#"{a="x "1"",b="h\n"} 7"}"#,
    r#"{a="}",b="{,#"}"#,
    r#"{a="\"}"#,
    r#"{a="\"",b="\\n"}"#,
    r#"{a="1",b:c="2"}"#,
    r#"{a="1" b="2"}"#,
    r#"{"a.b"="1",a="2"}"#,
    r#"{"\\x"="1","\x"="2"}"#,
    r#"{a="1",b="2",c="3",d="4"}"#,
    r#"{a="é"}"#,
    r#"{a="1",b="2","#,
    r#",a="1"}"#,
    "}",
];
const TAILS: [&str; 22] = [
    " 1",
    " 330",
    "1",
    "",
    " ",
    " NaN",
    " -Inf",
    " +1.5e-3",
    " 0x10",
    " GPU-00000001",
    " ERROR - FAILED TO CONVERT TO STRING",
    " 8.969000",
    " 9223372036854775794",
    "\t2\t",
    " 1 1700000000123",
    " 1 1700000000.5",
    " 1 2 3",
    " 1 x",
    " 1 # {a=\"b\"} 2",
    " 1 2 # {} 2 3",
    "\r",
    " 5\r",
];

fn line() -> impl Strategy<Value = String> {
    let sample = (select(&NAMES[..]), select(&BLOCKS[..]), select(&TAILS[..]));
    prop_oneof![
        12 => sample.prop_map(|(name, block, tail)| format!("{name}{block}{tail}")),
        1 => select(&["", "# HELP m", "# TYPE m gauge", "  # °C", "# EOF", "<html>"][..]).prop_map(str::to_owned),
    ]
}

fn lines() -> impl Strategy<Value = Vec<u8>> {
    vec(line(), 0..30).prop_map(|lines| lines.join("\n").into_bytes())
}

fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let damage = (
        any::<prop::sample::Index>(),
        prop_oneof![
            Just(None),
            any::<u8>().prop_map(Some),
            Just(Some(b'"')),
            Just(Some(b'\n'))
        ],
    );
    (lines(), vec(damage, 0..6)).prop_map(|(mut body, damages)| {
        for (place, byte) in damages {
            if body.is_empty() {
                break;
            }
            let place = place.index(body.len());
            match byte {
                Some(byte) => body[place] = byte,
                None => drop(body.remove(place)),
            }
        }
        body
    })
}

fn any_body() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![soup(), lines(), damaged()]
}

fn formats() -> impl Strategy<Value = Format> {
    select(&[Format::Classic, Format::OpenMetrics][..])
}

fn no_memo(limits: Limits) -> Limits {
    Limits {
        label_blocks: 0,
        families: 0,
        ..limits
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn reads_what_the_reference_reads(
        bodies in vec(any_body(), 1..4), format in formats(), complete in any::<bool>(), tight in any::<bool>(),
    ) {
        let limits = if tight { TIGHT } else { Limits::default() };
        // One scanner goes from body to body, one remembers nothing, one is new for each.
        let mut kept = Pair::new(limits);
        let mut cold = Pair::new(no_memo(limits));
        for body in &bodies {
            let expected = read(body, format, complete, &limits);
            prop_assert_eq!(&cold.read(body, format, complete), &expected);
            prop_assert_eq!(&Pair::new(limits).read(body, format, complete), &expected);
            prop_assert_eq!(&kept.read(body, format, complete), &expected);
            prop_assert_eq!(&kept.read(body, format, complete), &expected, "again");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn a_cut_body_gives_the_first_of_its_samples(body in any_body(), format in formats()) {
        let mut scanner = Pair::new(Limits::default());
        let whole = scanner.read(&body, format, true).samples;
        for cut in 0..=body.len() {
            let part = scanner.read(&body[..cut], format, false).samples;
            prop_assert_eq!(&part[..], &whole[..part.len()], "cut at {}", cut);
        }
    }

    #[test]
    fn any_bytes_are_survived(body in vec(any::<u8>(), 0..400), format in formats()) {
        let read_here = Pair::new(Limits::default()).read(&body, format, true);
        prop_assert_eq!(read_here, read(&body, format, true, &Limits::default()));
    }
}

/// The generators above reach acceptance, recovery and every reason: without this, agreement could
/// be agreement on nothing.
#[test]
fn the_generated_text_covers_every_outcome() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut reasons = std::collections::BTreeSet::new();
    let (mut samples, mut recovered, mut cut) = (0, 0, 0);
    for _ in 0..600 {
        let Ok(tree) = any_body().new_tree(&mut runner) else {
            panic!("no body")
        };
        let body = tree.current();
        for format in [Format::Classic, Format::OpenMetrics] {
            let found = read(&body, format, false, &TIGHT);
            reasons.extend(found.rejected.keys().copied());
            samples += found.samples.len();
            let values = found.samples.iter().flat_map(|sample| &sample.labels);
            recovered += values.filter(|(_, value)| value.contains("x \"1")).count();
            cut += usize::from(found.rejected.contains_key("truncated"));
        }
    }
    assert_eq!(
        reasons.len(),
        gpulens::source::exposition::Rejection::ALL.len(),
        "{reasons:?}"
    );
    assert!(
        samples > 1_000 && recovered > 20 && cut > 100,
        "{samples} {recovered} {cut}"
    );
}
