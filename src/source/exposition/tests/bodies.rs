//! What more than one line decides.

use super::*;

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
        let labels: Vec<String> = (0..count).map(|index| format!("l{index}=\"\",")).collect();
        labels.concat()
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
