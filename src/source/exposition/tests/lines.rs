//! One line each.

use super::*;

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
fn repeated_labels() {
    classic(r#"m{a="1",b="2",a="3"} 5"#, Ok(r#"m {a="1",b="2"} 5.0"#));
    classic(r#"m{a="1","a"="3"} 5"#, Ok(r#"m {a="1"} 5.0"#));
    classic(
        r#"m{"a\n"="1","a\n"="3",b="2"} 5"#,
        Ok("m {a\n=\"1\",b=\"2\"} 5.0"),
    );
    // Two ways to write the name \x: an escaped backslash, and one that escapes nothing.
    classic(r#"m{"\\x"="1","\x"="2"} 5"#, Ok(r#"m {\x="1"} 5.0"#));
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
        "3\x003",
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
