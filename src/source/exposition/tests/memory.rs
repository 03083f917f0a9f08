//! What is remembered, and that nothing depends on it.

use super::*;

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

/// A known block does not let a line through that is too long.
#[test]
fn a_familiar_line_may_still_be_too_long() {
    let mut tight = Kept::new(Limits {
        line_bytes: 12,
        ..Limits::default()
    });
    let mut visitor = Transcript::default();
    let scanned = tight.scan(
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
    let lines: Vec<String> = range
        .map(|pod| format!("m{{pod=\"p{pod}\"}} {pod}\n"))
        .collect();
    lines.concat().into_bytes()
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
