use super::{alone, finding, line, outcome, quiet, verdict};
use crate::snapshot::Signal;
use crate::testing::{Board, Cluster};

#[test]
fn levels_count_at_first_sight() {
    for (signal, value, said) in [
        (Signal::RowRemapFailure, 0.0, "clear"),
        (
            Signal::RowRemapFailure,
            1.0,
            "row_remap_failure critical strong",
        ),
        (Signal::RowRemapPending, 0.0, "clear"),
        (
            Signal::RowRemapPending,
            1.0,
            "row_remap_pending warning moderate",
        ),
        (
            Signal::RetiredPagesPending,
            1.0,
            "row_remap_pending warning moderate",
        ),
        (Signal::EccDoubleBitVolatile, 0.0, "clear"),
        (
            Signal::EccDoubleBitVolatile,
            1.0,
            "ecc_double_bit critical strong",
        ),
        // What a counter of the board's life shows at first sight is history.
        (Signal::EccDoubleBitAggregate, 7.0, "clear"),
        (Signal::RowRemapUncorrectable, 7.0, "clear"),
    ] {
        let cluster = alone(|board| {
            board.steady(signal, -600, value);
        });
        assert_eq!(line(&verdict(&cluster, "a")), said, "{signal:?} {value}");
    }
}

#[test]
fn growth_of_a_lifetime_counter_is_reported_for_an_hour() {
    for (signal, said) in [
        (
            Signal::EccDoubleBitAggregate,
            "ecc_double_bit warning moderate",
        ),
        (
            Signal::RowRemapUncorrectable,
            "row_remap_pending warning moderate",
        ),
    ] {
        for (seconds, said) in [(-3570, said), (-3600, "clear")] {
            let cluster = alone(|board| {
                board
                    .steady(signal, -7200, 2.0)
                    .steady(signal, seconds, 3.0);
            });
            assert_eq!(line(&verdict(&cluster, "a")), said, "{signal:?} {seconds}");
        }
        // A fall is a new board or a wiped InfoROM, not an error.
        let fall = alone(|board| {
            board.steady(signal, -7200, 2.0).steady(signal, -300, 1.0);
        });
        assert_eq!(line(&verdict(&fall, "a")), "clear", "{signal:?}");
        // Nor is one glitched reading.
        let glitch = alone(|board| {
            board
                .steady(signal, -7200, 12.0)
                .read(signal, &[(-300, 0.0)]);
        });
        assert_eq!(line(&verdict(&glitch, "a")), "clear", "{signal:?}");
    }
}

#[test]
fn a_level_clears_only_when_it_is_live_and_quiet() {
    let failed = |board: &mut Board| {
        board.steady(Signal::RowRemapFailure, -600, 1.0);
    };
    let gone = alone(failed).without("a", Signal::RowRemapFailure, Some(-300));
    assert_eq!(line(&verdict(&gone, "a")), "undecided not_exported");
    let repaired = alone(|board| {
        failed(board);
        board.steady(Signal::RowRemapFailure, -60, 0.0);
    });
    assert_eq!(line(&verdict(&repaired, "a")), "clear");
}

fn errors(board: &mut Board, a_minute: f64) {
    for at in (-900..0).step_by(30) {
        let value = 1000.0 + f64::from(at + 900) / 60.0 * a_minute;
        board.read(Signal::EccSingleBitVolatile, &[(at.into(), value)]);
    }
}

#[test]
fn corrected_errors_are_measured_against_the_fleet() {
    let fleet = |others: f64, here: f64, boards: usize| {
        let mut cluster = alone(|board| errors(board, here));
        for at in 1..boards {
            cluster = cluster.gpu(&format!("b{at}"), "n2", |board| {
                quiet(board);
                errors(board, others);
            });
        }
        line(&verdict(&cluster, "a"))
    };
    let fires = "ecc_single_bit_rate warning moderate";
    for (others, here, boards, said) in [
        (0.0, 0.4, 5, "clear"),
        (0.0, 0.9, 5, "holds"),
        (0.0, 1.0, 5, "holds"),
        (0.0, 1.2, 5, fires),
        (0.1, 9.0, 5, "holds"),
        (0.1, 10.6, 5, fires),
        (0.0, 50.0, 2, "holds"),
        (0.0, 50.0, 3, fires),
    ] {
        assert_eq!(
            fleet(others, here, boards),
            said,
            "{others} {here} {boards}"
        );
    }
}

#[test]
fn corrected_errors_are_not_quiet_for_want_of_a_fleet() {
    for (here, said) in [(50.0, "holds"), (0.4, "clear")] {
        // With one that went silent, three still have a median, though not the fleet's.
        let mut cluster = alone(|board| errors(board, here));
        for (name, rate) in [("b1", 0.0), ("b2", here), ("b3", here)] {
            cluster = cluster.gpu(name, "n2", |board| {
                quiet(board);
                errors(board, rate);
            });
        }
        let cluster = cluster.silence("b1", Some(-300));
        assert_eq!(line(&verdict(&cluster, "a")), said, "{here}");
    }
}

#[test]
fn signs_of_one_board_are_one_finding() {
    let cluster = alone(|board| {
        board.read(Signal::Xid, &[(-60, 48.0), (-30, 48.0)]);
        board.steady(Signal::RowRemapFailure, -60, 1.0);
        board.steady(Signal::EccDoubleBitVolatile, -60, 2.0);
    });
    assert_eq!(outcome(&cluster, "a"), "xid_48 critical strong");
    let found = finding(&cluster, "a");
    assert_eq!(found.supporting.len(), 3, "{found:?}");
    assert!(
        found.summary.contains("2 uncorrectable memory errors"),
        "{}",
        found.summary
    );
    let missing: Vec<_> = found.missing.iter().map(|m| m.text.as_str()).collect();
    assert!(missing.iter().any(|text| text.contains("DCGM_EXP_XID_ERRORS_COUNT")
        && text.contains("counter file")), "{missing:?}");
    assert!(
        !missing
            .iter()
            .any(|text| text.contains("ROW_REMAP_FAILURE"))
    );
}

#[test]
fn without_a_series_there_is_no_finding() {
    let cluster = Cluster::new().gpu("a", "n1", |board| {
        board.steady(Signal::Xid, -600, 0.0);
    });
    assert_eq!(line(&verdict(&cluster, "a")), "clear");
}
