use super::{
    alone, finding, index, judge, line, node_of, node_with, outcome, part, quiet, verdict,
};
use crate::snapshot::{Part, SeriesKey, Signal};
use crate::testing::{Board, Cluster};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;

/// 0 until a time, then a code until now.
fn edge(board: &mut Board, from: i64, seconds: i64, code: f64) {
    for at in (from..0).step_by(30) {
        board.read(Signal::Xid, &[(at, if at < seconds { 0.0 } else { code })]);
    }
}

#[test]
fn severity_and_grade_by_code() {
    for (code, said) in [
        (79.0, "xid_79 critical strong"),
        (48.0, "xid_48 critical strong"),
        (94.0, "xid_94 warning strong"),
        (63.0, "xid_63 warning strong"),
        (31.0, "xid_31 info moderate"),
        (13.0, "xid_13 info moderate"),
        (69.0, "xid_69 info moderate"),
        (121.0, "xid_121 info moderate"),
        (43.0, "xid_43 info inconclusive"),
        (45.0, "xid_45 info inconclusive"),
        // asks for agreement
        (109.0, "xid_109 warning moderate"),
        (149.0, "xid_149 warning moderate"),
        // not in the catalogue
        (777.0, "xid_777 warning moderate"),
    ] {
        let cluster = alone(|board| edge(board, -600, -120, code));
        assert_eq!(outcome(&cluster, "a"), said, "{code}");
    }
}

#[test]
fn an_xid_at_first_sight_has_unknown_age() {
    let first_sight = |board: &mut Board| {
        board.steady(Signal::Xid, -600, 79.0);
    };
    let cluster = node_of(4, 1, first_sight);
    assert_eq!(outcome(&cluster, "n1-1"), "xid_79 warning moderate");
    let found = finding(&cluster, "n1-1");
    assert!(
        found.summary.contains("GPU 1 of n1: XID 79"),
        "{}",
        found.summary
    );
    assert!(found.missing[0].text.contains("sticky"));
    // Lost capacity agrees with it.
    let cluster = node_with(4, 3, &[(-600, 4), (-400, 3)], 1, first_sight);
    assert_eq!(outcome(&cluster, "n1-1"), "xid_79 critical strong");
    assert_eq!(line(&verdict(&cluster, "n1")), "merged");
    // And so does a board that is gone.
    let cluster = node_of(4, 1, first_sight).silence("n1-1", Some(-240));
    assert!(outcome(&cluster, "n1-1").starts_with("xid_79 critical"));
    // Not yet one that is merely unnamed for a moment.
    for (from, said) in [(-60, "xid_79 warning"), (-120, "xid_79 critical")] {
        let cluster = node_of(4, 1, first_sight)
            .gpu("n1-8", "n1", |board| {
                quiet(board);
                index(board, 8);
                board.read(Signal::PowerUsage, &[(-1, 300.0)]);
            })
            .silence("n1-1", Some(from));
        let outcome = outcome(&cluster, "n1-1");
        assert!(outcome.starts_with(said), "{from}: {outcome}");
    }
    // Two such boards cannot both be the one that is withheld.
    let cluster =
        node_with(4, 3, &[(-600, 4), (-400, 3)], 1, first_sight).gpu("n1-9", "n1", |board| {
            quiet(board);
            index(board, 9);
            first_sight(board);
        });
    assert_eq!(outcome(&cluster, "n1-1"), "xid_79 warning moderate");
    assert!(line(&verdict(&cluster, "n1")).starts_with("allocatable_drop"));
}

#[test]
fn an_absent_family_and_then_a_code_is_dated() {
    let cluster = Cluster::new().gpu("a", "n1", |board| {
        board.steady(Signal::RowRemapFailure, -600, 0.0);
        board.steady(Signal::Xid, -60, 79.0);
    });
    assert_eq!(outcome(&cluster, "a"), "xid_79 critical strong");
    // Then the board vanishes beside one that stays: nothing is taken back.
    let cluster = node_of(2, 9, |_| {})
        .without("n1-0", Signal::Xid, None)
        .gpu("n1-7", "n1", |board| {
            index(board, 7);
            board.steady(Signal::RowRemapFailure, -600, 0.0);
            board.read(Signal::Xid, &[(-300, 79.0), (-270, 79.0)]);
        })
        .silence("n1-7", Some(-240));
    let found = finding(&cluster, "n1-7");
    assert_eq!(outcome(&cluster, "n1-7"), "xid_79 critical strong");
    assert!(
        found.summary.contains("cannot be told apart"),
        "{}",
        found.summary
    );
    assert!(
        found
            .timeline
            .iter()
            .any(|entry| entry.text.contains("last named"))
    );
}

#[test]
fn codes_that_ask_for_no_reset_clear_an_hour_after() {
    for (seconds, said) in [
        (-HOUR + 30, "xid_31 info moderate"),
        (-HOUR, "clear"),
        (-HOUR - 30, "clear"),
    ] {
        let cluster = alone(|board| edge(board, -2 * HOUR, seconds, 31.0));
        assert_eq!(line(&verdict(&cluster, "a")), said, "{seconds}");
    }
}

#[test]
fn fatal_codes_clear_by_a_reset() {
    let fatal = |board: &mut Board| edge(board, -6 * HOUR, -5 * HOUR, 48.0);
    assert_eq!(outcome(&alone(fatal), "a"), "xid_48 critical strong");
    // The gauge is back to 0.
    let zero = alone(|board| {
        fatal(board);
        board.steady(Signal::Xid, -HOUR, 0.0);
    });
    assert_eq!(line(&verdict(&zero, "a")), "clear");
    // A 0 after a silence is that of whoever collects, without more to tell of a reset.
    let restarted = alone(|board| {
        fatal(board);
        board.steady(Signal::Xid, -HOUR, 48.0);
    })
    .silence("a", Some(-300))
    .gpu("a", "n1", |board| {
        board.silent().steady(Signal::RowRemapFailure, -90, 0.0);
        board.steady(Signal::PcieReplay, -90, 0.0);
        board.steady(Signal::RowRemapUncorrectable, -90, 0.0);
        board.steady(Signal::Xid, -90, 0.0);
    });
    assert_eq!(outcome(&restarted, "a"), "xid_48 critical strong");
    // An energy of 0 that is taken back is a glitch, not a reset.
    let glitch = alone(|board| {
        fatal(board);
        board.read(Signal::Energy, &[(-300, 0.0)]);
    });
    assert_eq!(outcome(&glitch, "a"), "xid_48 critical strong");
    // Energy started anew while the gauge went on: sticky.
    let energy = alone(|board| {
        board.read(Signal::Energy, &[(-5 * HOUR, 5e6)]);
        fatal(board);
    });
    assert_eq!(line(&verdict(&energy, "a")), "clear");
    // The family is absent since: that is not 0.
    let absent = alone(|board| {
        board.steady(Signal::RowRemapFailure, -6 * HOUR, 0.0);
        fatal(board);
    })
    .without("a", Signal::Xid, Some(-1200));
    assert_eq!(outcome(&absent, "a"), "xid_48 critical strong");
    // The node booted, and the board reports since.
    let boots = |cluster: Cluster| cluster.boot("n1", -DAY, "a").boot("n1", -HOUR, "b");
    let booted = boots(alone(|board| {
        fatal(board);
        board.steady(Signal::Xid, -HOUR + 300, 0.0);
    }));
    assert_eq!(line(&verdict(&booted, "a")), "clear");
    // It does not come back after the boot: nothing is over.
    let gone = boots(alone(fatal).silence("a", Some(-HOUR)));
    assert_eq!(outcome(&gone, "a"), "xid_48 critical strong");
}

#[test]
fn fatal_codes_expire_after_a_week() {
    for (seconds, said) in [
        (-7 * DAY + 30, "xid_48 critical strong"),
        (-7 * DAY, "expired"),
        (-8 * DAY, "clear"),
    ] {
        let cluster = alone(|board| {
            board.read(Signal::Xid, &[(seconds - 30, 0.0), (seconds, 48.0)]);
            board.steady(Signal::Xid, -600, 48.0);
        });
        assert_eq!(line(&verdict(&cluster, "a")), said, "{seconds}");
    }
}

#[test]
fn the_same_code_after_a_gap_is_new_only_after_a_reset() {
    let gap = |board: &mut Board| {
        board.read(
            Signal::Xid,
            &[(-2 * DAY - 30, 0.0), (-2 * DAY, 31.0), (-HOUR, 31.0)],
        );
        board.steady(Signal::Xid, -600, 31.0);
    };
    assert_eq!(line(&verdict(&alone(gap), "a")), "clear");
    let energy = alone(|board| {
        gap(board);
        board.read(Signal::Energy, &[(-HOUR, 9e6)]);
    });
    assert_eq!(outcome(&energy, "a"), "xid_31 info moderate");
    let booted = alone(gap).boot("n1", -DAY, "a").boot("n1", -1800, "b");
    assert_eq!(outcome(&booted, "a"), "xid_31 info moderate");
    // A boot with the same fatal code after it is the fault again, not its end.
    let again = alone(|board| {
        board.read(
            Signal::Xid,
            &[(-2 * DAY - 30, 0.0), (-2 * DAY, 48.0), (-HOUR, 48.0)],
        );
        board.steady(Signal::Xid, -600, 48.0);
    })
    .boot("n1", -DAY, "a")
    .boot("n1", -1800, "b");
    assert_eq!(outcome(&again, "a"), "xid_48 critical strong");
}

#[test]
fn counting_families_reveal_what_the_gauge_hides() {
    let count = |code| part(Signal::XidWindowCount, code);
    // A repeat of an old, sticky code.
    let repeat = alone(|board| {
        edge(board, -4 * HOUR, -3 * HOUR, 63.0);
        board.steady(count(63), -300, 2.0);
    });
    let found = finding(&repeat, "a");
    assert!(
        found.supporting[0].text.contains("at least 2 times"),
        "{found:?}"
    );
    // A code that was overwritten: 62, then 45.
    let hidden = alone(|board| {
        edge(board, -600, -120, 45.0);
        board.steady(count(62), -120, 1.0);
    });
    assert_eq!(outcome(&hidden, "a"), "xid_62 critical strong");
    // The zero baseline has no code and says nothing.
    let baseline = alone(|board| {
        let whole = SeriesKey {
            signal: Signal::XidWindowCount,
            part: Part::WHOLE,
        };
        board.steady(whole, -600, 0.0);
    });
    assert_eq!(line(&verdict(&baseline, "a")), "clear");
    // A true counter at first sight is history; its growth is not.
    let total = |points: &[(i64, f64)]| {
        alone(|board| {
            board.read(part(Signal::XidTotal, 48), points);
        })
    };
    assert_eq!(
        line(&verdict(&total(&[(-600, 3.0), (-30, 3.0)]), "a")),
        "clear"
    );
    assert_eq!(
        outcome(&total(&[(-600, 3.0), (-30, 4.0)]), "a"),
        "xid_48 critical strong"
    );
    assert_eq!(
        outcome(&total(&[(-60, 1.0), (-30, 1.0)]), "a"),
        "xid_48 critical strong"
    );
}

#[test]
fn a_repeat_or_recovery_action_carries_a_weak_code() {
    let cluster = alone(|board| {
        edge(board, -600, -120, 109.0);
        board.steady(part(Signal::XidWindowCount, 109), -120, 2.0);
    });
    assert_eq!(outcome(&cluster, "a"), "xid_109 warning strong");
    let cluster = alone(|board| {
        edge(board, -600, -120, 145.0);
        board.steady(Signal::RecoveryAction, -120, 1.0);
    });
    assert_eq!(outcome(&cluster, "a"), "xid_145 warning strong");
    // The plugin keeps handing the GPU out.
    let cluster = alone(|board| edge(board, -600, -120, 109.0));
    let facts = finding(&cluster, "a").facts;
    assert!(
        facts
            .iter()
            .any(|fact| fact.value.contains("new pods can land"))
    );
}

#[test]
fn one_code_on_all_instances_at_once_is_one_event() {
    let cluster = Cluster::new().gpu("a", "n1", |board| {
        board.steady(Signal::RowRemapFailure, -600, 0.0);
        for id in 0..7 {
            board.instance(id, Signal::Xid, &[(-90, 0.0), (-60, 95.0), (-30, 95.0)]);
        }
    });
    let found = finding(&cluster, "a");
    assert_eq!(outcome(&cluster, "a"), "xid_95 critical strong");
    assert!(
        found.supporting[0].text.contains("at least once"),
        "{found:?}"
    );
    assert_eq!(found.facts[0].value, "95", "the board's, not an instance's");
    let cluster = Cluster::new().gpu("a", "n1", |board| {
        board.instance(3, Signal::Xid, &[(-90, 0.0), (-60, 31.0), (-30, 31.0)]);
        board.instance(4, Signal::Xid, &[(-90, 0.0), (-60, 0.0), (-30, 0.0)]);
    });
    assert_eq!(
        finding(&cluster, "a").facts[0].value,
        "31 on MIG instance 3"
    );
}

#[test]
fn program_codes_are_hardware_only_by_repeating_here_under_other_jobs() {
    let twice = |board: &mut Board| {
        for (at, code) in [(-1800, 0.0), (-1500, 31.0), (-900, 0.0), (-600, 31.0)] {
            board.read(Signal::Xid, &[(at, code)]);
        }
        board.steady(Signal::Xid, -600, 31.0);
    };
    let one_job = alone(|board| {
        twice(board);
        board.held_by("job-a", -1800, 0);
    });
    assert_eq!(outcome(&one_job, "a"), "xid_31 info moderate");
    let two_jobs = alone(|board| {
        twice(board);
        board
            .held_by("job-a", -1800, -1200)
            .held_by("job-b", -900, 0);
    });
    assert_eq!(outcome(&two_jobs, "a"), "xid_31 warning moderate");
    // The same on another GPU points back at programs.
    let elsewhere = two_jobs.gpu("b", "n2", |board| {
        quiet(board);
        edge(board, -600, -60, 31.0);
    });
    assert_eq!(outcome(&elsewhere, "a"), "xid_31 info contradicted");
}

#[test]
fn stale_and_frozen_boards_keep_what_was_seen_and_are_blind_otherwise() {
    let stale = |from| alone(|board| edge(board, -600, -400, 79.0)).silence("a", Some(from));
    assert_eq!(outcome(&stale(-300), "a"), "xid_79 critical strong");
    let blind = alone(|_| {}).silence("a", Some(-300));
    assert_eq!(line(&verdict(&blind, "a")), "undecided blind");
    let frozen = alone(|board| {
        board.steady(Signal::Energy, -390, 1e6);
    });
    assert_eq!(line(&verdict(&frozen, "a")), "undecided blind");
}

#[test]
fn an_exchanged_board_is_no_subject_any_more() {
    let cluster = alone(|board| {
        index(board, 3);
        edge(board, -600, -300, 79.0);
    })
    .silence("a", Some(-240))
    .gpu("b", "n1", |board| {
        board.silent();
        index(board, 3);
        board.steady(Signal::Xid, -120, 0.0);
    });
    let said = judge(&cluster);
    assert!(!said.contains_key("a"), "{said:?}");
    assert_eq!(line(&said["b"]), "clear");
}

#[test]
fn a_family_that_disappeared_closes_as_expired_and_never_as_resolved() {
    let gone = |since: i64| {
        alone(|board| {
            board.steady(Signal::RowRemapFailure, -3 * HOUR, 0.0);
            edge(board, -3 * HOUR, -2 * HOUR - 1800, 31.0);
        })
        .without("a", Signal::Xid, Some(-since))
    };
    for (since, said) in [
        (600, "undecided not_exported"),
        (HOUR - 30, "undecided not_exported"),
        (HOUR, "expired"),
        (2 * HOUR, "expired"),
    ] {
        assert_eq!(line(&verdict(&gone(since), "a")), said, "{since}");
    }
    // The node was booted after a fatal code, and the family is absent until the next one.
    let booted = |since: i64| {
        alone(|board| {
            board.steady(Signal::RowRemapFailure, -3 * HOUR, 0.0);
            edge(board, -3 * HOUR, -2 * HOUR - 1800, 79.0);
        })
        .without("a", Signal::Xid, Some(-since))
        .boot("n1", -DAY, "a")
        .boot("n1", -since, "b")
    };
    assert_eq!(line(&verdict(&booted(600), "a")), "undecided not_exported");
    assert_eq!(line(&verdict(&booted(2 * HOUR), "a")), "expired");
}

#[test]
fn an_instance_without_xids_is_not_quiet_where_another_tells_of_them() {
    for (with, said) in [
        (vec![3, 4], "clear"),
        (vec![3], "undecided not_exported"),
        (vec![], "clear"),
    ] {
        let cluster = alone(|board| {
            for id in [3, 4] {
                board.instance(id, Signal::GraphicsEngineActive, &[(-60, 0.5), (-30, 0.5)]);
            }
            for id in &with {
                board.instance(*id, Signal::Xid, &[(-60, 0.0), (-30, 0.0)]);
            }
        });
        assert_eq!(line(&verdict(&cluster, "a")), said, "{with:?}");
    }
}
