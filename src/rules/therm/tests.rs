use super::*;
use crate::snapshot::{ClockEvent, SeriesKey};
use crate::testing::{Board, Cluster, at};

fn judge(cluster: &Cluster) -> Verdict {
    let mut judgements = Therm::new(Thresholds::default()).judge(&cluster.snapshot());
    assert_eq!(judgements.len(), 1, "one judgement a board");
    judgements.remove(0).verdict
}

fn board(build: impl FnOnce(&mut Board)) -> Verdict {
    judge(&Cluster::new().gpu("GPU-1", "n1", build))
}

fn fires(verdict: &Verdict) -> &Finding {
    match verdict {
        Verdict::Fires(finding) => finding,
        other => panic!("{other:?}"),
    }
}

#[test]
fn core_temperature_at_its_boundaries() {
    // Product table: H100 slows down at 89 °C.
    for (model, own, celsius, expected) in [
        ("NVIDIA H100 80GB HBM3", None, 83.0, None),
        ("NVIDIA H100 80GB HBM3", None, 84.0, Some(Severity::Warning)),
        ("NVIDIA H100 80GB HBM3", None, 88.0, Some(Severity::Warning)),
        (
            "NVIDIA H100 80GB HBM3",
            None,
            89.0,
            Some(Severity::Critical),
        ),
        ("NVIDIA H100 80GB HBM3", Some(95.0), 89.0, None),
        (
            "NVIDIA H100 80GB HBM3",
            Some(95.0),
            90.0,
            Some(Severity::Warning),
        ),
        (
            "NVIDIA H100 80GB HBM3",
            Some(95.0),
            95.0,
            Some(Severity::Critical),
        ),
        ("Some Other Board", None, 79.0, None),
        ("Some Other Board", None, 80.0, Some(Severity::Warning)),
        ("Some Other Board", None, 87.0, Some(Severity::Critical)),
    ] {
        let verdict = board(|board| {
            board.identity.model = Some(model.into());
            board.steady(Signal::CoreTemperature, -300, celsius);
            if let Some(own) = own {
                board.steady(Signal::SlowdownTemperature, -300, own);
            }
        });
        match expected {
            None => assert_eq!(verdict, Verdict::Clear, "{model} {own:?} {celsius}"),
            Some(severity) => {
                let finding = fires(&verdict);
                assert_eq!(
                    (finding.cause, finding.severity),
                    (Cause::CoreTemperature, severity),
                    "{model} {celsius}"
                );
            }
        }
    }
}

#[test]
fn the_margin_counts_where_no_slowdown_temperature_is_exported() {
    for (margin, expected) in [
        (6.0, None),
        (5.0, Some(Severity::Warning)),
        (0.0, Some(Severity::Critical)),
    ] {
        let verdict = board(|board| {
            board.steady(Signal::CoreTemperature, -300, 70.0).steady(
                Signal::TemperatureMargin,
                -300,
                margin,
            );
        });
        match expected {
            None => assert_eq!(verdict, Verdict::Clear),
            Some(severity) => assert_eq!(fires(&verdict).severity, severity),
        }
    }
}

#[test]
fn a_margin_that_cannot_be_true_is_not_believed() {
    const H100: &str = "NVIDIA H100 80GB HBM3";
    let critical = Some(Severity::Critical);
    for (model, celsius, margin, expected) in [
        (H100, 35.0, 0.0, None),
        (H100, 63.0, 0.0, None),
        (H100, 64.0, 0.0, critical),
        ("Some Other Board", 35.0, 0.0, None),
        ("Some Other Board", 59.0, -3.0, None),
        ("Some Other Board", 60.0, 0.0, critical),
        // A margin that moves or fits is the board's own word.
        ("Some Other Board", 88.0, 30.0, None),
    ] {
        let verdict = board(|board| {
            board.identity.model = Some(model.into());
            board.steady(Signal::CoreTemperature, -300, celsius).steady(
                Signal::TemperatureMargin,
                -300,
                margin,
            );
        });
        match expected {
            None => assert_eq!(verdict, Verdict::Clear, "{model} {celsius} {margin}"),
            Some(severity) => assert_eq!(fires(&verdict).severity, severity, "{celsius}"),
        }
    }
}

#[test]
fn a_margin_that_stands_still_while_the_core_moves_is_not_believed() {
    let verdict = |from: f64, to: f64| {
        board(|board| {
            board
                .steady(Signal::TemperatureMargin, -300, 0.0)
                .steady(Signal::CoreTemperature, -300, from)
                .steady(Signal::CoreTemperature, -150, to);
        })
    };
    assert_eq!(fires(&verdict(70.0, 74.0)).severity, Severity::Critical);
    assert_eq!(verdict(70.0, 75.0), Verdict::Clear);
    let hot = verdict(70.0, 85.0);
    let finding = fires(&hot);
    assert_eq!(finding.severity, Severity::Warning, "by the product table");
    let told = |fact: &Fact| fact.value.contains("not believed: it did not move");
    assert!(finding.facts.iter().any(told), "{:?}", finding.facts);
}

#[test]
fn heat_must_last_over_two_collections() {
    let hot = |from: i64| {
        board(|board| {
            board.steady(Signal::CoreTemperature, -300, 60.0).steady(
                Signal::CoreTemperature,
                from,
                95.0,
            );
        })
    };
    assert_eq!(hot(-90), Verdict::Holds, "hot, not for long");
    assert_eq!(fires(&hot(-120)).started, at(-120));
    // Four scrapes of one collection are one collection.
    let frozen = board(|board| {
        board.silent();
        for seconds in (-150..0).step_by(15) {
            board.read(Signal::CoreTemperature, &[(seconds, 95.0)]);
            board
                .read(Signal::Energy, &[(seconds, 5e6)])
                .read(Signal::PowerUsage, &[(seconds, 300.0)]);
        }
    });
    assert_eq!(frozen, Verdict::Holds);
}

#[test]
fn memory_limits_follow_the_product() {
    for (model, celsius, expected) in [
        ("Tesla V100-SXM2-32GB", 79.0, None),
        ("Tesla V100-SXM2-32GB", 80.0, Some(Severity::Warning)),
        ("Tesla V100-SXM2-32GB", 85.0, Some(Severity::Critical)),
        ("NVIDIA H100 80GB HBM3", 89.0, None),
        ("NVIDIA H100 80GB HBM3", 95.0, Some(Severity::Critical)),
        ("Tesla T4", 120.0, None),
    ] {
        let verdict = board(|board| {
            board.identity.model = Some(model.into());
            board.steady(Signal::MemoryTemperature, -300, celsius);
        });
        match expected {
            None => assert_eq!(verdict, Verdict::Clear, "{model} {celsius}"),
            Some(severity) => {
                assert_eq!(
                    (fires(&verdict).cause, fires(&verdict).severity),
                    (Cause::MemoryTemperature, severity)
                );
            }
        }
    }
}

#[test]
fn throttling_counts_from_one_per_cent_of_the_window() {
    let violation = |per_collection: f64| {
        board(|board| {
            for (i, seconds) in (-300..0).step_by(30).enumerate() {
                board.read(
                    Signal::ThermalViolation,
                    &[(seconds, 7.0 + i as f64 * per_collection)],
                );
            }
        })
    };
    assert_eq!(violation(0.29), Verdict::Clear);
    assert_eq!(fires(&violation(0.31)).cause, Cause::ThermalThrottle);
    // What was counted before we looked is history.
    assert_eq!(violation(0.0), Verdict::Clear);
}

#[test]
fn only_pressing_clock_events_count() {
    for (event, expected) in [
        (ClockEvent::Idle, None),
        (ClockEvent::SwPowerCap, None),
        (ClockEvent::SwThermal, Some(Cause::ThermalThrottle)),
        (ClockEvent::HwThermal, Some(Cause::ThermalThrottle)),
        (ClockEvent::HwPowerBrake, Some(Cause::PowerBrake)),
    ] {
        let mask = f64::from(1_u32 << (event as u16));
        let by_mask = board(|board| {
            board.steady(Signal::ClockEventReasons, -300, mask);
        });
        let key = SeriesKey {
            signal: Signal::ClockEventWindowCount,
            part: event.part(),
        };
        let by_count = board(|board| {
            board.steady(key, -300, 3.0);
        });
        for verdict in [by_mask, by_count] {
            match expected {
                None => assert_eq!(verdict, Verdict::Clear, "{event:?}"),
                Some(cause) => assert_eq!(fires(&verdict).cause, cause),
            }
        }
    }
}

#[test]
fn heat_and_throttling_make_one_strong_finding() {
    let verdict = board(|board| {
        board.steady(Signal::CoreTemperature, -300, 91.0);
        board.steady(Signal::ClockEventReasons, -300, 64.0);
    });
    let finding = fires(&verdict);
    assert_eq!(
        (finding.cause, finding.severity, finding.grade),
        (Cause::CoreTemperature, Severity::Critical, Grade::Strong)
    );
    assert!(
        finding.summary.contains("91 °C") && finding.summary.contains("holds the clocks down"),
        "{}",
        finding.summary
    );
    let slow_only = board(|board| {
        board.steady(Signal::ClockEventReasons, -300, 64.0);
    });
    let summary = &fires(&slow_only).summary;
    assert!(
        summary.contains("thermal slowdown is reported") && !summary.contains("holds"),
        "{summary}"
    );
    for verdict in [&verdict, &slow_only] {
        let summary = &fires(verdict).summary;
        assert_eq!(summary.matches("consistent with").count(), 1, "{summary}");
    }
    let hot_only = board(|board| {
        board.steady(Signal::CoreTemperature, -300, 91.0).steady(
            Signal::ClockEventReasons,
            -300,
            0.0,
        );
    });
    assert_eq!(fires(&hot_only).grade, Grade::Moderate);
    assert_eq!(
        fires(&hot_only).contradicting.len(),
        1,
        "the clocks are not held down"
    );
}

#[test]
fn a_start_that_may_be_older_is_said_to_be() {
    let told = |from: i64| {
        let verdict = board(|board| {
            board.steady(Signal::CoreTemperature, -600, 60.0).steady(
                Signal::CoreTemperature,
                from,
                91.0,
            );
        });
        let finding = fires(&verdict);
        let unknown = |missing: &&Evidence| missing.text.starts_with("when core_temperature began");
        let missing = finding.missing.iter().find(unknown).cloned();
        assert!(missing.iter().all(|told| told.at == Some(finding.started)));
        missing.is_some()
    };
    assert!(!told(-150));
    assert!(told(-600), "as far back as readings go");
}

const GIB: f64 = 1_073_741_824.0;

#[test]
fn framebuffer_pressure_is_info_until_something_failed() {
    let verdict = |used: f64, page_fault: bool| {
        board(|board| {
            board.steady(Signal::FramebufferUsed, -300, used * GIB);
            board.steady(Signal::FramebufferFree, -300, (99.0 - used) * GIB);
            board.steady(Signal::FramebufferReserved, -300, GIB);
            board.steady(Signal::Xid, -300, 0.0);
            if page_fault {
                board.steady(Signal::Xid, -120, 31.0);
            }
        })
    };
    assert_eq!(verdict(94.0, false), Verdict::Clear);
    assert_eq!(fires(&verdict(95.0, false)).severity, Severity::Info);
    assert_eq!(fires(&verdict(95.0, true)).severity, Severity::Warning);
}

#[test]
fn a_framebuffer_that_is_more_than_full_is_not_known() {
    let unknown = Verdict::Undecided(Reason::NotExported);
    for (used, total, expected) in [
        (80.0 * 1024.0, 80.0, Some(unknown.clone())),
        (81.0, 80.0, Some(unknown.clone())),
        (1.0, 0.0, Some(unknown)),
        (80.5, 80.0, None),
        (80.0, 80.0, None),
        (40.0, 80.0, Some(Verdict::Clear)),
    ] {
        let verdict = board(|board| {
            board.steady(Signal::FramebufferUsed, -300, used * GIB);
            board.steady(Signal::FramebufferTotal, -300, total * GIB);
        });
        if let Some(expected) = expected {
            assert_eq!(verdict, expected, "{used} of {total}");
        } else {
            let summary = &fires(&verdict).summary;
            assert!(summary.contains("is 100 % full"), "{summary}");
        }
    }
    // What else is wrong is told all the same.
    let hot = board(|board| {
        board.steady(Signal::CoreTemperature, -300, 91.0);
        board.steady(Signal::FramebufferUsed, -300, 8000.0 * GIB);
        board.steady(Signal::FramebufferTotal, -300, 80.0 * GIB);
    });
    assert_eq!(fires(&hot).cause, Cause::CoreTemperature);
}

#[test]
fn a_mig_board_counts_once_and_its_fullest_instance_speaks() {
    let cluster = Cluster::new().gpu("GPU-1", "n1", |board| {
        board.steady(Signal::CoreTemperature, -300, 60.0);
        for seconds in (-300..0).step_by(30) {
            for (id, used) in [(7, 0.5), (8, 9.8), (9, 9.6)] {
                board.instance(id, Signal::FramebufferUsed, &[(seconds, used * GIB)]);
                board.instance(
                    id,
                    Signal::FramebufferFree,
                    &[(seconds, (10.0 - used) * GIB)],
                );
            }
        }
    });
    let verdict = judge(&cluster);
    assert!(
        fires(&verdict)
            .summary
            .contains("instance 8 (1g.10gb) is 98 % full"),
        "{}",
        fires(&verdict).summary
    );
}

#[test]
fn silence_is_undecided_and_never_clear() {
    assert_eq!(
        board(|_| {}),
        Verdict::Undecided(Reason::NotExported),
        "no signal of this rule"
    );
    let stale = board(|board| {
        board.silent().read(
            Signal::CoreTemperature,
            &[(-300, 95.0), (-270, 95.0), (-181, 95.0)],
        );
    });
    assert_eq!(stale, Verdict::Undecided(Reason::Blind));
    let one_silent = board(|board| {
        board
            .read(Signal::CoreTemperature, &[(-300, 95.0), (-270, 95.0)])
            .steady(Signal::MemoryTemperature, -300, 60.0);
    });
    assert_eq!(
        one_silent,
        Verdict::Undecided(Reason::Blind),
        "the hot signal went silent"
    );
}

#[test]
fn taking_any_evidence_away_never_clears() {
    let signals = [
        Signal::CoreTemperature,
        Signal::ClockEventReasons,
        Signal::ThermalViolation,
        Signal::Energy,
        Signal::PowerUsage,
    ];
    for cut in [-240, -190, -60] {
        for gone in signals {
            let verdict = board(|board| {
                board.silent();
                for (i, seconds) in (-600..0).step_by(30).enumerate() {
                    let values = [91.0, 64.0, i as f64 * 10.0, i as f64 * 9000.0, 300.0];
                    for (signal, value) in signals.into_iter().zip(values) {
                        if signal != gone || seconds < cut {
                            board.read(signal, &[(seconds, value)]);
                        }
                    }
                }
            });
            assert_ne!(verdict, Verdict::Clear, "{gone:?} gone since {cut}");
        }
    }
}

#[test]
fn what_siblings_export_is_missing_and_not_absent() {
    let judge = |here: &[Signal], beside: &[Signal]| {
        let build = |signals: &[Signal]| {
            let signals = signals.to_vec();
            move |board: &mut Board| {
                for signal in signals {
                    board.steady(signal, -300, 50.0);
                }
            }
        };
        let cluster =
            Cluster::new()
                .gpu("GPU-1", "n1", build(here))
                .gpu("GPU-2", "n1", build(beside));
        Therm::new(Thresholds::default())
            .judge(&cluster.snapshot())
            .remove(0)
            .verdict
    };
    let (core, memory) = (Signal::CoreTemperature, Signal::MemoryTemperature);
    assert_eq!(judge(&[core, memory], &[core, memory]), Verdict::Clear);
    assert_eq!(
        judge(&[core, memory], &[core]),
        Verdict::Clear,
        "it has more than its sibling"
    );
    assert_eq!(
        judge(&[memory], &[core, memory]),
        Verdict::Undecided(Reason::NotExported)
    );
}
