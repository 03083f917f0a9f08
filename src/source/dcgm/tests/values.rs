//! Which value is taken, for whom, and why not.

use jiff::SignedDuration;

use super::*;
use crate::snapshot::{InstanceId, Signal};

#[test]
fn values_are_told_apart_by_trait() {
    for (what, text, want) in [
        (
            "lower case, old label, no header, no end of line",
            r#"dcgm_fi_dev_gpu_temp{gpu="0",uuid="GPU-1"} 41"#,
            vec!["core_temperature_celsius=41"],
        ),
        (
            "blanks after commas",
            "DCGM_FI_DEV_GPU_TEMP{gpu=\"0\", UUID=\"GPU-1\"} 41\n",
            vec!["core_temperature_celsius=41"],
        ),
        (
            "base units and scientific notation",
            "DCGM_FI_DEV_SM_CLOCK_HERTZ{A} 1.98e+09\nDCGM_FI_DEV_GPU_UTIL_RATIO{A} 0.83\n",
            vec!["gpu_utilization_ratio=0.83 sm_clock_hertz=1980000000"],
        ),
        (
            "two generations of one signal: the older name is believed",
            "DCGM_FI_DEV_GPU_UTIL_RATIO{A} 1\nDCGM_FI_DEV_GPU_UTIL{A} 50\n",
            vec!["gpu_utilization_ratio=0.5"],
        ),
        (
            "a preferred name without a usable value leaves room for the other",
            "DCGM_FI_DEV_GPU_UTIL{A} 4294967295\nDCGM_FI_DEV_GPU_UTIL_RATIO{A} 0.25\n",
            vec!["gpu_utilization_ratio=0.25"],
        ),
        (
            "one family covers only some boards",
            "DCGM_FI_DEV_GPU_TEMP{A} 41\nDCGM_FI_DEV_GPU_TEMP{B} 42\nDCGM_FI_DEV_POWER_USAGE{B} 90\n",
            vec![
                "core_temperature_celsius=41",
                "core_temperature_celsius=42 power_watts=90",
            ],
        ),
        (
            "a repeated family with the same series",
            "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{A} 33\n\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{A} 33\n",
            vec!["core_temperature_celsius=33"],
        ),
        (
            "a board named by unknown metrics alone is still there",
            "DCGM_FI_DEV_C2C_LINK_STATUS{A} 1\n",
            vec![""],
        ),
        (
            "a key of something else under an unknown metric is no board",
            "node_filesystem_info{uuid=\"3f2a-77\"} 1\n",
            vec![],
        ),
        (
            "links by label, by name, by both, and all together",
            "DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL{A} 9\nDCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0{A} 1\nDCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_L0{A,nvlink=\"3\"} 8\n",
            vec![
                "nvlink_crc_flit_errors[0]=1 nvlink_crc_flit_errors[3]=8 nvlink_crc_flit_errors=9",
            ],
        ),
        (
            "XIDs by code, with the baseline that has none",
            "DCGM_EXP_XID_ERRORS_COUNT{A} 0\nDCGM_EXP_XID_ERRORS_COUNT{A,xid=\"31\"} 2\n",
            vec!["xid_window_count[31]=2 xid_window_count=0"],
        ),
        (
            "clock events, health watches and peers by their words",
            "DCGM_EXP_CLOCK_EVENTS_COUNT{A,clock_event=\"hw_thermal\"} 1\nDCGM_EXP_GPU_HEALTH_STATUS{A,health_watch=\"MEM\"} 20\nDCGM_EXP_P2P_STATUS{A,peer_gpu=\"2\"} 3\n",
            vec!["p2p_status[2]=3 health_status[4]=20 clock_event_window_samples[6]=1"],
        ),
        (
            "a label that names no part of this signal does not matter",
            "DCGM_FI_DEV_XID_ERRORS{A,xid=\"tenant's own\",err_code=\"79\"} 79\n",
            vec!["xid=79"],
        ),
        (
            "an unterminated quote loses its line only",
            "DCGM_FI_DEV_GPU_TEMP{A,modelName=\"x} 41\nDCGM_FI_DEV_GPU_TEMP{B} 42\n",
            vec!["core_temperature_celsius=42"],
        ),
    ] {
        assert_eq!(all_shown(&decode(text)), want, "{what}");
    }
}

#[test]
fn copies_of_a_shared_board_are_one_value_and_many_holders() {
    for (what, text, value) in [
        (
            "copies: the greatest, never the sum",
            "DCGM_FI_DEV_GPU_UTIL{A,pod=\"p1\",namespace=\"n\",container=\"c\",vgpu=\"0\"} 30\nDCGM_FI_DEV_GPU_UTIL{A,pod=\"p2\",namespace=\"n\",container=\"c\",vgpu=\"1\"} 40\n",
            0.4,
        ),
        (
            "the board's own series is the original",
            "DCGM_FI_DEV_GPU_UTIL{A,pod=\"p1\",namespace=\"n\",container=\"c\"} 90\nDCGM_FI_DEV_GPU_UTIL{A} 20\nDCGM_FI_DEV_GPU_UTIL{A,pod=\"p2\",namespace=\"n\",container=\"c\"} 40\n",
            0.2,
        ),
    ] {
        let decoded = decode(text);
        let [one] = &decoded.observations[..] else {
            panic!("{what}: {decoded:?}");
        };
        assert_eq!(
            one.readings,
            [(Signal::GpuUtilization.into(), value)],
            "{what}"
        );
        assert_eq!(holders(one), ["n/p1 c", "n/p2 c"], "{what}");
    }
    let jobs =
        "DCGM_FI_DEV_GPU_UTIL{A,hpc_job=\"1\"} 83\nDCGM_FI_DEV_GPU_UTIL{A,hpc_job=\"2\"} 83\n";
    assert_eq!(decode(jobs).observations.len(), 1);
}

#[test]
fn instances_have_what_is_theirs_and_boards_the_rest() {
    let decoded = decode(concat!(
        "DCGM_FI_DEV_GPU_TEMP{A,GPU_I_ID=\"7\",GPU_I_PROFILE=\"1g.10gb\",pod=\"p\",namespace=\"n\"} 44\n",
        "DCGM_FI_DEV_GPU_TEMP{A,GPU_I_ID=\"8\",GPU_I_PROFILE=\"<<<NULL>>>\"} 44\n",
        "DCGM_FI_PROF_GR_ENGINE_ACTIVE{A,GPU_I_ID=\"7\",GPU_I_PROFILE=\"1g.10gb\",pod=\"p\",namespace=\"n\"} 0.5\n",
        "DCGM_FI_DEV_GPU_UTIL{A,GPU_I_ID=\"7\",GPU_I_PROFILE=\"1g.10gb\",pod=\"p\",namespace=\"n\"} 0\n",
        "DCGM_FI_DEV_GPU_UTIL{A,GPU_I_ID=\"8\"} 60\n",
    ));
    assert_eq!(
        all_shown(&decoded),
        [
            "core_temperature_celsius=44",
            "/7 graphics_engine_active_ratio=0.5",
            "/8 "
        ]
    );
    let [board, seven, eight] = &decoded.observations[..] else {
        panic!("{decoded:?}");
    };
    assert_eq!(
        holders(board),
        [""; 0],
        "a pod holds its instance, not the board"
    );
    assert_eq!(holders(seven), ["n/p "]);
    assert_eq!(
        seven.instance,
        Some((InstanceId(7), Some("1g.10gb".into())))
    );
    assert_eq!(eight.instance, Some((InstanceId(8), None)));
    assert_eq!(decoded.boards.len(), 1);
    assert_eq!(decoded.rejected, Counts::default());
    // The board's own series is believed before the copies.
    let own = decode("DCGM_FI_DEV_GPU_TEMP{A,GPU_I_ID=\"7\"} 99\nDCGM_FI_DEV_GPU_TEMP{A} 44\n");
    assert_eq!(all_shown(&own), ["core_temperature_celsius=44", "/7 "]);
}

#[test]
fn what_is_not_taken_is_counted_by_reason() {
    for (text, reason) in [
        (
            "DCGM_FI_DEV_MEMORY_TEMP{A} 9223372036854775794\n",
            "sentinel",
        ),
        ("DCGM_FI_DEV_FB_USED{A} 2147483634\n", "sentinel"),
        (
            "DCGM_FI_DEV_POWER_USAGE{A} 140737488355330.000000\n",
            "sentinel",
        ),
        ("DCGM_FI_DEV_GPU_TEMP{A} 345\n", "out_of_bounds"),
        ("DCGM_FI_DEV_GPU_TEMP{A} NaN\n", "out_of_bounds"),
        ("DCGM_FI_DEV_GPU_TEMP{A} +Inf\n", "sentinel"),
        ("DCGM_FI_DEV_GPU_TEMP{A} -Inf\n", "out_of_bounds"),
        ("DCGM_FI_DEV_XID_ERRORS{err_code=\"45\"} 45\n", "no_gpu"),
        ("DCGM_FI_DEV_GPU_TEMP 41\n", "no_gpu"),
        ("DCGM_FI_DEV_GPU_TEMP{UUID=\"\"} 41\n", "no_gpu"),
        ("DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU\\n1\"} 41\n", "no_gpu"),
        ("DCGM_FI_DEV_GPU_TEMP{A,GPU_I_ID=\"seven\"} 41\n", "no_gpu"),
        (
            "DCGM_EXP_GPU_HEALTH_STATUS{A,health_watch=\"FANS\"} 0\n",
            "unknown_part",
        ),
        (
            "DCGM_EXP_XID_ERRORS_COUNT{A,xid=\"65535\"} 1\n",
            "unknown_part",
        ),
        (
            "DCGM_FI_DEV_SUPPORTED_CLOCKS{A} ERROR - FAILED TO CONVERT TO STRING\n",
            "bad_value",
        ),
        ("DCGM_FI_DEV_GPU_TEMP{A}\n", "no_value"),
    ] {
        let decoded = decode(text);
        let counts: Vec<_> = decoded.rejected.iter().collect();
        assert_eq!(counts, [(reason, 1)], "{text}");
        assert!(
            decoded.observations.iter().all(|o| o.readings.is_empty()),
            "{text}"
        );
    }
    let ignored = decode(
        "go_gc_duration_seconds{quantile=\"0.5\"} 0.001\nDCGM_FI_DEV_CPU_TEMP_CURRENT{cpu=\"0\",Hostname=\"n\"} 39.5\nDCGM_FI_DEV_COUNT{A} 1\n",
    );
    assert_eq!(ignored.rejected, Counts::default());
    assert!(ignored.is_metrics);
    let long = format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{}\"}} 41\n", "G".repeat(257));
    assert_eq!(decode_from(&long, &origin()).rejected.get("no_gpu"), 1);
}

#[test]
fn a_samples_own_time_counts_if_it_can_be_true() {
    let now = at().as_millisecond();
    for (own, want, notes) in [
        (now - 30_000, -30, 0),
        (now + 59_000, 59, 0),
        (now + 3_600_000, 0, 1),
        (now / 1000, 0, 1),
        (i64::MAX, 0, 1),
        (i64::MIN, 0, 1),
    ] {
        let decoded = decode(&format!("DCGM_FI_DEV_GPU_TEMP{{A}} 41 {own}\n"));
        let seen = decoded.observations[0].at;
        assert_eq!(
            seen.duration_since(at()),
            SignedDuration::from_secs(want),
            "{own}"
        );
        assert_eq!(decoded.notes.len(), notes, "{own}");
    }
    let two = decode(&format!(
        "DCGM_FI_DEV_GPU_TEMP{{A}} 41 {}\nDCGM_FI_DEV_POWER_USAGE{{A}} 90\n",
        now - 5000
    ));
    assert_eq!(
        all_shown(&two),
        ["core_temperature_celsius=41", "power_watts=90"]
    );
}

#[test]
fn configured_names_go_first() {
    let yaml = r"
        metrics:
          my_gpu_temp_millidegrees: { signal: core_temperature_celsius, factor: 0.001 }
          vendor_link_errors: { signal: nvlink_replay_errors }
    ";
    let config: DcgmConfig = serde_saphyr::from_str(yaml).expect("good configuration");
    let mut configured = Decoder::new(&Names::new(&config), DecodeLimits::default());
    let text = format!(
        "DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\"}} 99\nMY_GPU_temp_millidegrees{{UUID=\"{A}\"}} 41000\nvendor_link_errors{{UUID=\"{A}\",nvlink=\"2\"}} 5\n"
    );
    let decoded = configured.decode(body(text.as_bytes()), &origin());
    assert_eq!(
        all_shown(&decoded),
        ["core_temperature_celsius=41 nvlink_replay_errors[2]=5"]
    );
}
