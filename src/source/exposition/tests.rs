//! What exporters write, and what is made of it: exact samples and counts.

use std::fmt::Write as _;

use super::*;

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
    let scanned = Kept::new(off).scan(body, format, complete, &mut cold);
    let mut scanner = Kept::new(Limits::default());
    let mut visitor = Transcript::default();
    for _ in 0..3 {
        visitor.samples.clear();
        assert_eq!(scanner.scan(body, format, complete, &mut visitor), scanned);
        assert_eq!(visitor.samples, cold.samples);
    }
    (cold.samples, scanned)
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

#[test]
fn names() {
    classic("m 1", Ok("m {} 1.0"));
    classic("_m:x_9{} 1", Ok("_m:x_9 {} 1.0"));
    classic(":m 1", Ok(":m {} 1.0"));
    classic("  \tm 1", Ok("m {} 1.0"));
    classic(
        "dcgm_fi_prof_gr_engine_active{} 0.000000",
        Ok("dcgm_fi_prof_gr_engine_active {} 0.0"),
    );
    for line in [
        "9m 1",
        "m-x 1",
        "m.x{} 1",
        "mé 1",
        "<html><body>",
        "404 page not found",
        "\"m\" 1",
        "} 1",
        "= 1",
        "m\0 1",
        "\0",
        "m# 1",
    ] {
        classic(line, Err("bad_name"));
    }
}

#[test]
fn quoted_names() {
    classic(r#"{"m"} 1"#, Ok("m {} 1.0"));
    classic(r#"{ "m" , a="b",} 1"#, Ok(r#"m {a="b"} 1.0"#));
    classic(r#"{"m",} 1"#, Ok("m {} 1.0"));
    classic(r#"{"m.x y\"\\\n",a="b"}1"#, Ok("m.x y\"\\\n {a=\"b\"} 1.0"));
    classic(r#"{"m","a.b"="c"} 1 5"#, Ok(r#"m {a.b="c"} 1.0 @5"#));
    for line in [
        "{} 1",
        r#"{a="b"} 1"#,
        r#"{"a"="b"} 1"#,
        r#"{""} 1"#,
        r#"{"m 1"#,
        "{",
        "{m} 1",
    ] {
        classic(line, Err("bad_name"));
    }
    for line in [
        r#"{"m" a="b"} 1"#,
        r#"{"m",a="b","n"} 1"#,
        r#"{"m",,} 1"#,
        r#"{"m",a="x"y""} 1"#,
        r#"{"m"x} 1"#,
        r#"m{"n"} 1"#,
    ] {
        classic(line, Err("bad_labels"));
    }
    // The names of quoted and plain lines are one family; names that need quotes stay apart.
    let body = b"{\"m\",a=\"1\"} 1\nm{a=\"1\"} 2\n{\"9m\",a=\"1\"} 3\n9m{a=\"1\"} 4\n";
    let (samples, scanned) = scan_all(body, Format::Classic, true);
    assert_eq!(
        samples,
        [r#"m {a="1"} 1.0"#, r#"m {a="1"} 2.0"#, r#"9m {a="1"} 3.0"#]
    );
    assert_eq!(counts(&scanned), [("bad_name", 1)]);
}

#[test]
fn label_blocks() {
    let plain = Ok(r#"m {a="1",b="2"} 5.0"#);
    for line in [
        r#"m{a="1",b="2"} 5"#,
        r#"m{a="1",b="2",} 5"#,
        r#"m { a="1", b="2" } 5"#,
        "m\t{\ta\t=\t\"1\"\t,\tb = \"2\" ,\t}\t5\t",
        r#"m{a="1",b="2"}5"#,
        r#"m{"a"="1",b="2"} 5"#,
        "m{a=\"1\",b=\"2\"} 5\r",
    ] {
        classic(line, plain);
    }
    classic("m{} 5", Ok("m {} 5.0"));
    classic("m { } 5", Ok("m {} 5.0"));
    classic(r#"m{a=""} 5"#, Ok(r#"m {a=""} 5.0"#));
    classic(
        r##"m{a="}",b="{",c=",",d="#",e="=",f=" 7 "} 5"##,
        Ok(r##"m {a="}",b="{",c=",",d="#",e="=",f=" 7 "} 5.0"##),
    );
    classic(
        r#"m{a="°C",b="<<<NULL>>>"} 5"#,
        Ok(r#"m {a="°C",b="<<<NULL>>>"} 5.0"#),
    );
    classic(
        "m{a=\"tab\tcr\rbell\x07\"} 5",
        Ok("m {a=\"tab\\tcr\\rbell\\u{7}\"} 5.0"),
    );
    for line in [
        "m{,} 5",
        r#"m{a="1",,} 5"#,
        r#"m{,a="1"} 5"#,
        "m{a} 5",
        "m{a=} 5",
        "m{a=1} 5",
        "m{a='1'} 5",
        r#"m{="1"} 5"#,
        r#"m{""="1"} 5"#,
        r#"m{9a="1"} 5"#,
        r#"m{a:b="1"} 5"#,
        r#"m{x="1",a:b="1"} 5"#,
        r#"m{a-b="1"} 5"#,
        r#"m{a="1" b="2"} 5"#,
        r#"m{a="1""#,
        r#"m{a="1"#,
        "m{",
        "m{ 5",
        r#"m{a="1";b="2"} 5"#,
        r#"m{{a="1"} 5"#,
        "m{a=\"\0\"} 5",
        "m{a=\"\\\0\"} 5",
        "m{a=\"x\"y\0\"} 5",
        r#"m{é="1"} 5"#,
    ] {
        classic(line, Err("bad_labels"));
    }
}

#[test]
fn escapes() {
    classic(
        r#"m{a="\\",b="\"",c="x\ny",d="\t\é"} 5"#,
        Ok(r#"m {a="\\",b="\"",c="x\ny",d="\\t\\é"} 5.0"#),
    );
    classic(
        r#"T{modelName="Model \"Quoted\"",hostname="host\\name",pod="pod \"quoted\"\nnext"} 41"#,
        Ok(
            r#"T {modelName="Model \"Quoted\"",hostname="host\\name",pod="pod \"quoted\"\nnext"} 41.0"#,
        ),
    );
    classic(r#"m{"a\"b"="1"} 5"#, Ok(r#"m {a"b="1"} 5.0"#));
}

#[test]
fn unescaped_quotes() {
    classic(
        r#"T{gpu="0",modelName="Model "Quoted"",Hostname="host\name",container="c"} 41"#,
        Ok(r#"T {gpu="0",modelName="Model \"Quoted\"",Hostname="host\\name",container="c"} 41.0"#),
    );
    classic(r#"m{a=""",b="1"} 5"#, Ok(r#"m {a="\"",b="1"} 5.0"#));
    classic(
        r#"m{a="x","y",z",b="1"} 5"#,
        Ok(r#"m {a="x\",\"y\",z",b="1"} 5.0"#),
    );
    classic(r#"m{a="x"}y"} 5"#, Err("bad_value")); // Escaping aside, this is a block and `y"}`.
    classic(r#"m{a="x"y"}z"} 5 6"#, Ok(r#"m {a="x\"y\"}z"} 5.0 @6"#));
    classic(r#"m{a="c:\",b="x"} 5"#, Ok(r#"m {a="c:\\",b="x"} 5.0"#));
    classic(r#"m{a="c:\"} 5"#, Ok(r#"m {a="c:\\"} 5.0"#));
    classic(r#"m{a="x"y",a="2"} 5"#, Ok(r#"m {a="x\"y"} 5.0"#));
    // Where a label may have been swallowed, the line is refused.
    classic(r#"m{a="x"y",9b="2"} 5"#, Err("bad_labels"));
    classic(r#"m{a="x"y",b="} 5"#, Err("bad_labels"));
    classic(r#"m{a="x"y" } 5"#, Err("bad_labels"));
    one(
        Format::OpenMetrics,
        br#"m{a="x"y"} 1 # {t="u"} 2"#,
        Err("bad_labels"),
    );
    classic(r#"m{a="x"y"}"#, Err("no_value"));
    one(Format::Classic, b"m{a=\"x\"y\xff\"} 1", Err("invalid_utf8"));
}

#[test]
fn a_recovered_block_is_not_taken_for_a_prefix() {
    // Each line begins with the block of another, which ends elsewhere.
    let body = r#"m{a="x"y"} 1
m{a="x"y"} 2",b="3"} 4
m{a="x"} 5
m{a="x"} 6",b="7"} 8
m{a="x"y"} 1
m{a="x"} 5
"#;
    let (samples, scanned) = scan_all(body.as_bytes(), Format::Classic, true);
    let expected = [
        r#"m {a="x\"y"} 1.0"#,
        r#"m {a="x\"y\"} 2",b="3"} 4.0"#,
        r#"m {a="x"} 5.0"#,
        r#"m {a="x\"y"} 1.0"#,
        r#"m {a="x"} 5.0"#,
    ];
    assert_eq!(samples, expected);
    assert_eq!(counts(&scanned), [("bad_value", 1)]);
}

#[test]
fn repeated_labels() {
    classic(r#"m{a="1",b="2",a="3"} 5"#, Ok(r#"m {a="1",b="2"} 5.0"#));
    classic(r#"m{a="1","a"="3"} 5"#, Ok(r#"m {a="1"} 5.0"#));
    classic(
        r#"m{"a\n"="1","a\n"="3",b="2"} 5"#,
        Ok("m {a\n=\"1\",b=\"2\"} 5.0"),
    );
    classic(
        r#"m{UUID="GPU-1",uuid="x",UUID=""} 5"#,
        Ok(r#"m {UUID="GPU-1",uuid="x"} 5.0"#),
    );
}

#[test]
fn values() {
    for (text, value) in [
        ("0", "0.0"),
        ("-0", "-0.0"),
        ("+33", "33.0"),
        ("8.969000", "8.969"),
        ("1.98e+09", "1980000000.0"),
        ("NaN", "NaN"),
        ("+Inf", "inf"),
        ("-Inf", "-inf"),
        ("9223372036854775792", "9.223372036854776e18"),
        ("9.223372036854776e+18", "9.223372036854776e18"),
        ("140737488355330.000000", "140737488355330.0"),
        ("4294967295", "4294967295.0"),
        (".5", "0.5"),
        ("5.", "5.0"),
    ] {
        classic(
            &format!(r#"m{{a="1"}} {text}"#),
            Ok(&format!(r#"m {{a="1"}} {value}"#)),
        );
        classic(&format!("m\t{text}\t"), Ok(&format!("m {{}} {value}")));
    }
    for text in [
        "GPU-0000005a-1111-2222-3333-00000000005a",
        "ERROR - FAILED TO CONVERT TO STRING",
        "0x1A",
        "1_000",
        "1,5",
        "33#",
        "# {} 1",
        "3\03",
        "١",
    ] {
        classic(&format!("m{{}} {text}"), Err("bad_value"));
    }
    classic("m 33\r\r", Err("bad_value"));
    for line in ["m", "m ", "m{}", "m{a=\"1\"} \t", "m{}\r"] {
        classic(line, Err("no_value"));
    }
}

#[test]
fn timestamps_and_exemplars() {
    classic("m 1 1700000000123", Ok("m {} 1.0 @1700000000123"));
    classic("m{} 1\t-5 ", Ok("m {} 1.0 @-5"));
    classic("m 1 1700000000.5", Err("bad_timestamp"));
    classic("m 1 x", Err("bad_timestamp"));
    classic("m 1 2 3", Err("trailing_text"));
    classic("m 1 # {a=\"b\"} 2", Err("trailing_text"));
    classic("m 1 2 # {a=\"b\"} 2", Err("trailing_text"));
    let open = |line: &str, expected| one(Format::OpenMetrics, line.as_bytes(), expected);
    open("m 1 1700000000.123", Ok("m {} 1.0 @1700000000123"));
    open("m 1 1700000000", Ok("m {} 1.0 @1700000000000"));
    open("m 1 # {a=\"}\"} 2 3", Ok("m {} 1.0"));
    open("m{a=\"1\"} 1 2 # {a=\"b\"} 2", Ok("m {a=\"1\"} 1.0 @2000"));
    open("m 1 NaN", Err("bad_timestamp"));
    open("m 1 2 3", Err("trailing_text"));
    one(Format::OpenMetrics, b"m 1 # \xff", Err("invalid_utf8"));
}

#[test]
fn comments_and_blank_lines_are_skipped_anywhere() {
    let body = "# HELP m\n#\n\n# TYPE m nonsense\nm 1\n# HELP m Température (°C)\r\n\r\n  # TYPE m gauge\n# HELP m\n \t\nm 2\n# EOF\nm 3";
    let (samples, scanned) = scan_all(body.as_bytes(), Format::Classic, true);
    assert_eq!(samples, ["m {} 1.0", "m {} 2.0", "m {} 3.0"]);
    assert_eq!((counts(&scanned), scanned.eof), (vec![], false));
    let (_, scanned) = scan_all(b"# \xff\n#HELP x\n# TYPE x gauge\n", Format::Classic, false);
    assert_eq!(scanned, Scanned::default(), "headers only");
    assert_eq!(
        scan_all(b"", Format::Classic, true).1,
        Scanned::default(),
        "empty"
    );
}

#[test]
fn the_end_marker_is_noticed_in_open_metrics() {
    for (body, complete, eof) in [
        ("m 1\n# EOF\n", true, true),
        ("m 1\n# EOF", true, true),
        ("m 1\n# EOF\r\n", true, true),
        ("# EOF\nm 1\n", true, true),
        ("m 1\n# EOF", false, false),
        ("m 1\n#EOF\n", true, false),
        ("m 1\n# EOFx\n", true, false),
        ("m 1\n", true, false),
    ] {
        let (samples, scanned) = scan_all(body.as_bytes(), Format::OpenMetrics, complete);
        assert_eq!((samples.len(), scanned.eof), (1, eof), "{body:?}");
    }
}

#[test]
fn an_incomplete_body_loses_its_unterminated_line() {
    let body = b"m{a=\"1\"} 330\nm{a=\"1\"} 33";
    let (samples, scanned) = scan_all(body, Format::Classic, false);
    assert_eq!(samples, [r#"m {a="1"} 330.0"#]);
    assert_eq!(counts(&scanned), [("truncated", 1)]);
    let first = scanned
        .first_rejected
        .as_ref()
        .map(|line| (line.number, line.excerpt.as_str()));
    assert_eq!(first, Some((2, r#"m{a=\"1\"} 33"#)));
    assert_eq!(scan_all(body, Format::Classic, true).0.len(), 2);
    assert_eq!(counts(&scan_all(b"m 1\n", Format::Classic, false).1), []);
    assert_eq!(
        counts(&scan_all(b"m 1\n# HEL", Format::Classic, false).1),
        [("truncated", 1)]
    );
}

#[test]
fn a_bad_line_costs_only_itself_and_the_first_is_shown() {
    let body = b"# x\nm{a=\"1\"} 1\n<p>\xff</p>\nm{a=\"1\"}\nm{a=\"1\"} 2\nm{a=1} 3\nm{a=\"\xff\"} 4\nm{a=\"1\"} 5\n";
    let (samples, scanned) = scan_all(body, Format::Classic, true);
    assert_eq!(
        samples,
        [r#"m {a="1"} 1.0"#, r#"m {a="1"} 2.0"#, r#"m {a="1"} 5.0"#]
    );
    assert_eq!(
        counts(&scanned),
        [("bad_labels", 1), ("no_value", 1), ("invalid_utf8", 2)]
    );
    let expected = RejectedLine {
        number: 3,
        reason: Rejection::InvalidUtf8,
        excerpt: r"<p>\xff</p>".into(),
    };
    assert_eq!(scanned.first_rejected, Some(expected));
}

#[test]
fn limits_of_a_line() {
    let labels = |count: usize| {
        (0..count)
            .map(|index| format!("l{index}=\"\","))
            .collect::<String>()
    };
    let (samples, scanned) = scan_all(
        format!("m{{{}}} 1\nm{{{}}} 2\nm 3\n", labels(64), labels(65)).as_bytes(),
        Format::Classic,
        true,
    );
    assert_eq!(
        (samples.len(), counts(&scanned)),
        (2, vec![("too_many_labels", 1)])
    );
    let many = format!("m{{{}}} 1\nm 1\n", labels(5_000));
    assert_eq!(
        counts(&scan_all(many.as_bytes(), Format::Classic, true).1),
        [("too_many_labels", 1)]
    );
    let far_too_many = format!("m{{{}}} 1\nm 1\n", labels(10_000));
    assert_eq!(
        counts(&scan_all(far_too_many.as_bytes(), Format::Classic, true).1),
        [("line_too_long", 1)]
    );

    let line = |length: usize| format!("m{{a=\"{}\"}} 1", "x".repeat(length - 9));
    let body = [
        line(64 * 1024),
        line(64 * 1024 + 1),
        line(1_000_000),
        "m 1".into(),
        "#".repeat(1_000_000),
    ]
    .join("\n");
    let (samples, scanned) = scan_all(body.as_bytes(), Format::Classic, true);
    assert_eq!(
        (samples.len(), counts(&scanned)),
        (2, vec![("line_too_long", 2)])
    );
}

/// A known block does not let a line through that is too long.
#[test]
fn a_familiar_line_may_still_be_too_long() {
    let mut scanner = Kept::new(Limits {
        line_bytes: 12,
        ..Limits::default()
    });
    let mut visitor = Transcript::default();
    let scanned = scanner.scan(
        b"m{a=\"1\"} 111\nm{a=\"1\"} 1111\nm{a=\"1\"} 11\r\nm{a=\"1\"} 111\r\n",
        Format::Classic,
        true,
        &mut visitor,
    );
    assert_eq!(
        (scanned.samples, counts(&scanned)),
        (2, vec![("line_too_long", 2)])
    );
}

#[test]
fn names_and_blocks_are_told_once() {
    let body =
        b"m{a=\"1\"} 1\nm{a=\"2\"} 2\nn{a=\"1\"} 3\nn{a=\"2\"} 4\nn 5\nm 6\nx{a=\"3\"} bad\n";
    let mut scanner = Kept::new(Limits::default());
    let mut visitor = Transcript::default();
    for _ in 0..3 {
        scanner.scan(body, Format::Classic, true, &mut visitor);
    }
    assert_eq!(visitor.names, ["m", "n"]);
    assert_eq!(visitor.blocks, [r#"a="1""#, r#"a="2""#, ""]);
    assert_eq!((visitor.samples.len(), visitor.forgets), (18, 0));
    scanner.reset();
    scanner.scan(body, Format::Classic, true, &mut visitor);
    assert_eq!(
        (visitor.names.len(), visitor.blocks.len(), visitor.forgets),
        (4, 6, 0)
    );
}

fn pods(range: std::ops::Range<usize>) -> Vec<u8> {
    range
        .map(|pod| format!("m{{pod=\"p{pod}\"}} {pod}\n"))
        .collect::<String>()
        .into_bytes()
}

#[test]
fn churned_pods_are_forgotten() {
    let mut scanner = Kept::new(Limits::default());
    let mut visitor = Transcript::default();
    for hour in 0..100 {
        scanner.scan(
            &pods(hour * 10..hour * 10 + 20),
            Format::Classic,
            true,
            &mut visitor,
        );
    }
    // 20 in use, 10 new each time: dropped each time more than 2 * 20 + 64 are held.
    assert!((8..=12).contains(&visitor.forgets), "{}", visitor.forgets);
    let steady = pods(0..1_000);
    scanner.scan(&steady, Format::Classic, true, &mut visitor);
    visitor.forgets = 0;
    for _ in 0..100 {
        scanner.scan(&steady, Format::Classic, true, &mut visitor);
    }
    assert_eq!(visitor.forgets, 0);
}

#[test]
fn a_million_label_blocks_do_not_grow_the_memo() {
    struct Count(u64);
    impl Visitor for Count {
        type Family = ();
        type Series = ();
        fn family(&mut self, _: &str) {}
        fn series(&mut self, labels: &Labels<'_>) {
            self.0 += labels.len() as u64;
        }
        fn sample(&mut self, _: Sample<(), ()>) {}
        fn forget(&mut self) {}
    }
    let limits = Limits {
        label_blocks: 100,
        ..Limits::default()
    };
    let mut scanner = Scanner::new(limits);
    let mut visitor = Count(0);
    let body = pods(0..1_000_000);
    assert_eq!(
        scanner
            .scan(&body, Format::Classic, true, &mut visitor)
            .samples,
        1_000_000
    );
    assert_eq!(
        scanner
            .scan(&body, Format::Classic, true, &mut visitor)
            .samples,
        1_000_000
    );
    // The first hundred are known the second time; the others are told at each sight.
    assert_eq!(visitor.0, 2_000_000 - 100);
}

#[test]
fn content_types() {
    for (header, expected) in [
        (None, Format::Classic),
        (Some(""), Format::Classic),
        (
            Some("text/plain; version=0.0.4; charset=utf-8"),
            Format::Classic,
        ),
        (
            Some("application/openmetrics-text; version=1.0.0; charset=utf-8"),
            Format::OpenMetrics,
        ),
        (Some(" Application/OpenMetrics-Text "), Format::OpenMetrics),
        (Some("text/html"), Format::Classic),
        (
            Some("text/plain; x=application/openmetrics-text"),
            Format::Classic,
        ),
    ] {
        assert_eq!(Format::from_content_type(header), expected, "{header:?}");
    }
}

#[test]
fn labels_by_name() {
    struct Look(Option<String>, bool);
    impl Visitor for Look {
        type Family = ();
        type Series = ();
        fn family(&mut self, _: &str) {}
        fn series(&mut self, labels: &Labels<'_>) {
            self.1 = labels.is_empty();
            self.0 = labels.get("UUID").map(str::to_owned);
        }
        fn sample(&mut self, _: Sample<(), ()>) {}
        fn forget(&mut self) {}
    }
    let mut look = Look(None, true);
    Scanner::new(Limits::default()).scan(
        b"m{gpu=\"0\",UUID=\"GPU-1\"} 1\n",
        Format::Classic,
        true,
        &mut look,
    );
    assert_eq!((look.0.as_deref(), look.1), (Some("GPU-1"), false));
}
