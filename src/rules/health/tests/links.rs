use super::{alone, finding, line, node_of, outcome, part, verdict};
use crate::finding::Severity;
use crate::snapshot::{HealthWatch, Signal};
use crate::testing::Board;

/// A counter that grows by so much every 30 s of the last 15 minutes.
fn grows(board: &mut Board, key: impl Into<crate::snapshot::SeriesKey>, step: f64) {
    let key = key.into();
    for (count, at) in (-900..0).step_by(30).enumerate() {
        board.read(key, &[(at, 5000.0 + count as f64 * step)]);
    }
}

#[test]
fn crc_errors_a_second() {
    for (a_second, said) in [
        (50.0, "clear"),
        (51.0, "holds"),
        (99.9, "holds"),
        (100.0, "nvlink warning moderate"),
    ] {
        for signal in [Signal::NvlinkCrcFlit, Signal::NvlinkCrcData] {
            let whole = alone(|board| grows(board, signal, a_second * 30.0));
            assert_eq!(line(&verdict(&whole, "a")), said, "{a_second}");
            let halves = alone(|board| {
                grows(board, part(signal, 0), a_second * 15.0);
                grows(board, part(signal, 1), a_second * 15.0);
            });
            assert_eq!(line(&verdict(&halves, "a")), said, "{a_second}");
        }
    }
    // The whole beside its parts is not counted twice.
    let both = alone(|board| {
        grows(board, Signal::NvlinkCrcFlit, 2000.0);
        grows(board, part(Signal::NvlinkCrcFlit, 0), 2000.0);
    });
    assert_eq!(line(&verdict(&both, "a")), "holds");
}

#[test]
fn one_replay_or_recovery_is_worth_a_look() {
    for (signal, points, said) in [
        (Signal::NvlinkReplay, [(-900, 4.0), (-300, 4.0)], "clear"),
        (
            Signal::NvlinkReplay,
            [(-900, 4.0), (-300, 5.0)],
            "nvlink warning moderate",
        ),
        (
            Signal::NvlinkRecovery,
            [(-900, 4.0), (-300, 5.0)],
            "nvlink warning moderate",
        ),
        // The driver was loaded anew: what is counted since is growth.
        (Signal::NvlinkRecovery, [(-900, 4.0), (-300, 0.0)], "clear"),
        (
            Signal::NvlinkRecovery,
            [(-900, 4.0), (-300, 2.0)],
            "nvlink warning moderate",
        ),
    ] {
        let cluster = alone(|board| {
            board.steady(signal, points[0].0, points[0].1);
            board.steady(signal, points[1].0, points[1].1);
        });
        assert_eq!(line(&verdict(&cluster, "a")), said, "{signal:?} {points:?}");
    }
    let old = alone(|board| {
        board.steady(Signal::NvlinkReplay, -900, 4.0);
        board.steady(Signal::NvlinkReplay, -630, 5.0);
    });
    assert_eq!(
        line(&verdict(&old, "a")),
        "clear",
        "more than ten minutes ago"
    );
}

#[test]
fn a_path_goes_down_only_if_it_was_up() {
    let path = |build: fn(&mut Board)| line(&verdict(&alone(build), "a"));
    assert_eq!(
        path(|board| {
            board.steady(part(Signal::P2pStatus, 1), -600, 0.0);
        }),
        "clear"
    );
    assert_eq!(
        path(|board| {
            board.steady(part(Signal::P2pStatus, 1), -600, 5.0);
        }),
        "clear",
        "never up"
    );
    assert_eq!(
        path(|board| {
            board.steady(part(Signal::P2pStatus, 1), -600, 0.0);
            board.steady(part(Signal::P2pStatus, 1), -60, 6.0);
        }),
        "nvlink critical moderate"
    );
    assert_eq!(
        path(|board| {
            board.steady(part(Signal::P2pStatus, 1), -600, 0.0);
            board.steady(part(Signal::P2pStatus, 1), -60, 6.0);
            board.instance(1, Signal::Xid, &[(-60, 0.0), (-30, 0.0)]);
        }),
        "clear",
        "not under MIG"
    );
}

#[test]
fn a_path_to_a_board_in_trouble_is_not_this_boards_fault() {
    let cluster = node_of(2, 0, |board| {
        board.steady(part(Signal::P2pStatus, 1), -600, 0.0);
        board.steady(part(Signal::P2pStatus, 1), -210, 6.0);
    })
    .silence("n1-1", Some(-230));
    assert_eq!(outcome(&cluster, "n1-0"), "nvlink info contradicted");
    assert_eq!(
        outcome(&cluster, "n1"),
        "gpu_count_mismatch warning moderate"
    );
}

#[test]
fn the_drivers_own_link_event() {
    for (value, said) in [
        (0.0, "clear"),
        (1.0, "nvlink warning moderate"),
        (2.0, "nvlink critical strong"),
    ] {
        let cluster = alone(|board| {
            board.steady(Signal::NvlinkFault, -600, value);
        });
        assert_eq!(line(&verdict(&cluster, "a")), said, "{value}");
    }
}

#[test]
fn pcie_replays_against_what_the_link_explains() {
    let rate = |model: Option<&str>, a_minute: f64| {
        let cluster = alone(|board| {
            board.identity.model = model.map(Into::into);
            grows(board, Signal::PcieReplay, a_minute / 2.0);
        });
        line(&verdict(&cluster, "a"))
    };
    let fires = "pcie_replay warning moderate";
    for (model, a_minute, said) in [
        (Some("NVIDIA H100 80GB HBM3"), 15.0, "clear"),
        (Some("NVIDIA H100 80GB HBM3"), 31.0, "holds"),
        (Some("NVIDIA H100 80GB HBM3"), 32.0, fires),
        (Some("Tesla V100-SXM2-16GB"), 8.0, "holds"),
        (Some("Tesla V100-SXM2-16GB"), 9.0, fires),
        (Some("NVIDIA Something New"), 8.0, "holds"),
        (Some("NVIDIA Something New"), 9.0, fires),
        (None, 9.0, fires),
    ] {
        assert_eq!(rate(model, a_minute), said, "{model:?} {a_minute}");
    }
    let unknown = alone(|board| {
        board.identity.model = None;
        grows(board, Signal::PcieReplay, 5.0);
    });
    let found = finding(&unknown, "a");
    assert!(found.missing[0].text.contains("inferred"), "{found:?}");
    // A burst in a short history is no rate, and the first value is history.
    let short = alone(|board| {
        board.silent();
        board.read(Signal::PcieReplay, &[(-60, 0.0), (-30, 100.0)]);
    });
    assert_eq!(line(&verdict(&short, "a")), "holds");
}

#[test]
fn dcgms_own_check() {
    let watch = |watch: HealthWatch, value: f64| {
        alone(|board| {
            board.steady(part(Signal::HealthStatus, watch.part().0), -600, value);
        })
    };
    for (which, value, said) in [
        (HealthWatch::Mem, 0.0, "clear"),
        (HealthWatch::Mem, 10.0, "dcgm_health warning moderate"),
        (HealthWatch::Mem, 20.0, "dcgm_health critical moderate"),
        (HealthWatch::Thermal, 10.0, "clear"),
        (HealthWatch::Power, 10.0, "clear"),
        (HealthWatch::Thermal, 20.0, "dcgm_health critical moderate"),
    ] {
        assert_eq!(
            line(&verdict(&watch(which, value), "a")),
            said,
            "{which:?} {value}"
        );
    }
    // Its warning on a program's code is an echo.
    let echo = alone(|board| {
        board.steady(Signal::Xid, -60, 31.0);
        board.steady(
            part(Signal::HealthStatus, HealthWatch::Mem.part().0),
            -60,
            10.0,
        );
    });
    assert_eq!(finding(&echo, "a").severity, Severity::Info);
    // It passes: that speaks against another sign.
    let passes = alone(|board| {
        board.steady(
            part(Signal::HealthStatus, HealthWatch::Mem.part().0),
            -600,
            0.0,
        );
        board.steady(Signal::Xid, -60, 94.0);
    });
    let found = finding(&passes, "a");
    assert!(
        found
            .contradicting
            .iter()
            .any(|e| e.text.contains("passes")),
        "{found:?}"
    );
}

#[test]
fn a_recovery_action_alone_opens_and_closes_nothing() {
    let asks = |action| {
        alone(move |board| {
            board.steady(Signal::RecoveryAction, -600, action);
        })
    };
    assert_eq!(line(&verdict(&asks(0.0), "a")), "clear");
    assert_eq!(line(&verdict(&asks(1.0), "a")), "holds");
}

#[test]
fn growth_that_may_be_older_than_the_look_back_claims_no_place_in_time() {
    // An XID, then what has been growing all along: since before the XID for all that is known.
    let timeline = |from: i64| {
        let cluster = alone(|board| {
            for at in (-1800..0).step_by(30) {
                let crc = (at - from).max(0) as f64 * 200.0;
                board.read(Signal::NvlinkCrcFlit, &[(at, crc)]);
                board.read(Signal::Xid, &[(at, if at < -240 { 0.0 } else { 74.0 })]);
            }
        });
        let found = finding(&cluster, "a");
        let said = |entry: &crate::finding::Evidence| (entry.text.clone(), entry.at);
        let timeline: Vec<_> = found.timeline.iter().map(said).collect();
        let crc = |text: &str| text.contains("CRC");
        let supported = found.supporting.iter().find(|entry| crc(&entry.text));
        let supported = supported.expect("supports").text.clone();
        (timeline, supported)
    };
    let (old, supported) = timeline(-1800);
    assert!(
        supported.ends_with("it may have begun before 2026-03-14 02:02:00 UTC"),
        "{supported}"
    );
    assert!(old[0].0.contains("CRC") && old[0].0.contains("may have begun before"));
    assert_eq!(old[0].1, None, "{old:?}");
    // An onset that was seen has its place.
    let (seen, supported) = timeline(-180);
    assert!(!supported.contains("before"), "{supported}");
    let crc = seen.iter().find(|(text, _)| text.contains("CRC"));
    assert_eq!(
        crc.and_then(|(_, at)| *at),
        Some(crate::testing::at(-150)),
        "{seen:?}"
    );
    assert!(seen[0].0.contains("XID 74"), "{seen:?}");
}

#[test]
fn the_check_of_everything_is_named_only_where_no_part_says_it() {
    let check = |values: &[(HealthWatch, f64)]| {
        alone(|board| {
            for (watch, value) in values {
                board.steady(part(Signal::HealthStatus, watch.part().0), -60, *value);
            }
        })
    };
    let both = check(&[(HealthWatch::Mem, 20.0), (HealthWatch::All, 20.0)]);
    let found = finding(&both, "a");
    assert!(!format!("{found:?}").contains("ALL says"), "{found:?}");
    for others in [&[][..], &[(HealthWatch::Mem, 10.0)]] {
        let all = [others, &[(HealthWatch::All, 20.0)]].concat();
        let found = finding(&check(&all), "a");
        assert!(found.summary.contains("ALL says FAIL"), "{}", found.summary);
    }
}
