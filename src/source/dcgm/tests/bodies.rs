//! Bodies as a whole: what is one at all, limits, and that nothing of them lasts.

use proptest::prelude::*;

use super::*;

#[test]
fn what_is_not_exposition_text_is_told_from_an_empty_page() {
    for (bytes, is_metrics) in [
        (&b""[..], true),
        (b"\n\n", true),
        (
            b"# HELP DCGM_FI_DEV_GPU_TEMP x\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
            true,
        ),
        (b"up 1\n", true),
        (
            b"<!DOCTYPE html>\n<html><body>\nsign_in 1\n</body></html>\n",
            false,
        ),
        (b"<html></html>", false),
        (b"OK", false),
        (b"{\"status\":\"success\"}", false),
        (b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xff\xff", false),
        (b"\x00\xff\xfe\n\x00\x01\n\xff", false),
        // One good line makes it a body with errors.
        (b"<html>\nDCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-1\"} 41\n", true),
    ] {
        let decoded = decoder().decode(body(bytes), &origin());
        assert_eq!(decoded.is_metrics, is_metrics, "{}", bytes.escape_ascii());
    }
}

#[test]
fn the_cut_end_of_an_incomplete_body_is_not_read() {
    let text = format!(
        "DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\"}} 41\nDCGM_FI_DEV_POWER_USAGE{{UUID=\"{A}\"}} 30"
    );
    let cut = Body {
        complete: false,
        ..body(text.as_bytes())
    };
    let decoded = decoder().decode(cut, &origin());
    assert_eq!(
        all_shown(&decoded),
        ["core_temperature_celsius=41"],
        "30 may be the start of 300"
    );
    assert_eq!(decoded.rejected.get("truncated"), 1);
    assert!(decoded.is_metrics && decoded.notes.is_empty());
}

#[test]
fn known_metrics_without_a_gpu_are_told_with_an_example() {
    let gpu = "DCGM_FI_DEV_GPU_TEMP{A} 41\nnode_load1 3\n";
    assert_eq!(decode(gpu).unlabelled, None);
    let xid = "DCGM_FI_DEV_XID_ERRORS 0\n";
    for (text, samples) in [(xid.to_owned(), 1), (gpu.to_owned() + xid + xid, 2)] {
        let decoded = decode(&text);
        let told = decoded.unlabelled.expect("told");
        assert_eq!(
            (told.samples, &*told.example),
            (samples, "DCGM_FI_DEV_XID_ERRORS")
        );
        assert_eq!(decoded.notes, [told.to_string()]);
    }
}

#[test]
fn more_than_the_limits_is_dropped_and_counted_and_does_not_clog() {
    let limits = DecodeLimits {
        boards: 2,
        entities: 4,
        series: 6,
    };
    let mut decoder = Decoder::new(&Names::new(&DcgmConfig::default()), limits);
    let mut read = |lines: &[String]| {
        let text = lines.concat();
        decoder.decode(body(text.as_bytes()), &origin())
    };
    let board = |n: usize| format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"GPU-{n}\"}} 41\n");
    let instance =
        |n: usize| format!("DCGM_FI_DEV_FB_USED{{UUID=\"GPU-1\",GPU_I_ID=\"{n}\"}} 41\n");
    let pod = |n: usize| {
        format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"GPU-1\",pod=\"p{n}\",namespace=\"n\"}} 41\n")
    };
    let many = read(&(1..=5).map(board).collect::<Vec<_>>());
    assert_eq!(
        (many.boards.len(), many.rejected.get("too_many_gpus")),
        (2, 3)
    );
    // Other boards than before: the limit is for one body, not for a lifetime.
    let others = read(&(6..=7).map(board).collect::<Vec<_>>());
    assert_eq!(
        (others.boards.len(), others.rejected.get("too_many_gpus")),
        (2, 0)
    );
    let split = read(&(1..=9).map(instance).collect::<Vec<_>>());
    assert!(split.observations.len() <= 4, "{split:?}");
    assert!(split.rejected.get("too_many_gpus") > 0);
    let shared = read(&(1..=9).map(pod).collect::<Vec<_>>());
    assert_eq!(shared.observations[0].holders.len(), 6);
    assert_eq!(shared.rejected.get("too_many_series"), 3);
    assert_eq!(read(&[board(1)]).rejected, Counts::default());
}

#[test]
fn an_openmetrics_body_without_its_end_is_noted() {
    for (end, notes) in [("", 1), ("# EOF\n", 0)] {
        let text = format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\"}} 41 1772366400.0\n{end}");
        let body = Body {
            content_type: Some("application/openmetrics-text; version=1.0.0"),
            ..body(text.as_bytes())
        };
        let decoded = decoder().decode(body, &origin());
        assert_eq!(decoded.notes.len(), notes, "{:?}", decoded.notes);
        assert_eq!(all_shown(&decoded), ["core_temperature_celsius=41"]);
    }
}

/// A body with many traits at once.
fn rich() -> String {
    let header = "# HELP DCGM_FI_DEV_GPU_TEMP °C\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n";
    let mut lines = vec![header.to_owned()];
    for n in 0..3 {
        for (name, value) in [
            ("DCGM_FI_DEV_GPU_TEMP", "41"),
            ("DCGM_FI_DEV_FB_USED", "2147483634"),
            ("DCGM_FI_PROF_GR_ENGINE_ACTIVE", "0.5"),
            ("DCGM_EXP_XID_ERRORS_COUNT", "NaN"),
        ] {
            lines.push(format!("{name}{{gpu=\"{n}\",UUID=\"GPU-{n}\",GPU_I_ID=\"{n}\",Hostname=\"n1\",xid=\"31\",pod=\"p\",namespace=\"é\"}} {value}\n"));
            lines.push(format!(
                "{name}{{gpu=\"{n}\",UUID=\"GPU-{n}\",Hostname=\"n1\"}} {value}\n"
            ));
        }
    }
    lines.concat()
}

#[test]
fn a_body_says_the_same_whatever_came_before_and_in_any_order_of_lines() {
    let text = rich();
    let fresh = format!("{:?}", decode_from(&text, &origin()));
    let mut lines: Vec<_> = text.lines().collect();
    lines.reverse();
    let reversed = lines.join("\n");
    assert_eq!(fresh, format!("{:?}", decode_from(&reversed, &origin())));
    let mut used = decoder();
    for before in [
        &text,
        "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-1\",GPU_I_ID=\"1\",GPU_I_PROFILE=\"zz\",Hostname=\"zz\"} 1\n",
        "",
    ] {
        used.decode(body(before.as_bytes()), &origin());
    }
    assert_eq!(
        fresh,
        format!("{:?}", used.decode(body(text.as_bytes()), &origin()))
    );
}

proptest! {
    #[test]
    fn mutated_bodies_never_panic_and_read_the_same_twice(
        edits in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>(), 0_u8..4), 0..40),
        complete in any::<bool>(),
        open in any::<bool>(),
    ) {
        let mut bytes = rich().into_bytes();
        for (place, byte, how) in edits {
            if bytes.is_empty() {
                break;
            }
            let place = place.index(bytes.len());
            match how {
                0 => bytes[place] = byte,
                1 => bytes.insert(place, byte),
                2 => { bytes.remove(place); }
                _ => bytes.truncate(place.max(1)),
            }
        }
        let content_type = open.then_some("application/openmetrics-text; version=1.0.0");
        let body = Body { bytes: &bytes, content_type, complete, at: at() };
        let mut decoder = decoder();
        let first = decoder.decode(body, &origin());
        let second = decoder.decode(body, &origin());
        prop_assert_eq!(format!("{first:?}"), format!("{second:?}"));
        for observation in &first.observations {
            for (key, value) in &observation.readings {
                let spec = key.signal.spec();
                prop_assert!((spec.min..=spec.max).contains(value));
            }
        }
    }
}
