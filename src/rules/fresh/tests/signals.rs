//! Signals that contradict each other.

use super::*;

/// A moving board whose utilisation and engine have had other values since.
fn disagreeing(from: i64, utilization: f64, engine: f64) -> impl FnOnce(&mut Board) {
    move |board| {
        live(board);
        for seconds in (from..0).step_by(30) {
            board.read(Signal::GpuUtilization, &[(seconds, utilization)]);
            board.read(Signal::GraphicsEngineActive, &[(seconds, engine)]);
        }
    }
}

#[test]
fn pairs_that_cannot_both_be_right() {
    for (from, utilization, engine, want) in [
        (-600, 0.99, 0.0, "fires"),
        (-570, 0.99, 0.0, "holds"),
        (-600, 0.9, 0.0, "fires"),
        (-600, 0.89, 0.0, "clear"),
        (-600, 0.99, 0.005, "clear"),
        (-600, 0.0, 0.5, "fires"),
        (-600, 0.0, 0.49, "clear"),
        (-600, 0.01, 0.9, "clear"),
        // Idle for ten minutes: two zeros agree.
        (-600, 0.0, 0.0, "clear"),
    ] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", disagreeing(from, utilization, engine))
            .snapshot();
        let judgements = judge(&snapshot);
        let subject = gpu("n1", "GPU-1");
        assert_eq!(
            word(&judgements, &subject, Cause::SignalDisagreement),
            want,
            "{from} {utilization} {engine}"
        );
        assert_eq!(word(&judgements, &subject, Cause::TelemetryFrozen), "clear");
    }
}

#[test]
fn profiling_that_stopped_is_told_until_it_is_forgotten() {
    for (last, want) in [
        (-180, "clear"),
        (-570, "undecided"),
        (-600, "fires"),
        (-86_430, "expired"),
    ] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", |b| {
                b.silent();
                b.read(Signal::GraphicsEngineActive, &[(last, 0.7)]);
                b.read(Signal::GpuUtilization, &[(last, 0.7)]);
                for seconds in (-150..0).step_by(30) {
                    b.read(Signal::GpuUtilization, &[(seconds, 0.7)]);
                }
            })
            .snapshot();
        assert_eq!(
            word(
                &judge(&snapshot),
                &gpu("n1", "GPU-1"),
                Cause::SignalDisagreement
            ),
            want,
            "{last}"
        );
    }
}

#[test]
fn under_mig_utilisation_is_not_compared() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", |b| {
            disagreeing(-600, 0.99, 0.0)(b);
            b.instance(1, Signal::GraphicsEngineActive, &[(-30, 0.5)]);
        })
        .snapshot();
    let judgements = judge(&snapshot);
    assert_eq!(
        word(&judgements, &gpu("n1", "GPU-1"), Cause::SignalDisagreement),
        "undecided"
    );
}

/// A board that has drawn a constant power since, while its energy grew at another.
fn standing(since: i64, power: f64, watts: f64) -> impl FnOnce(&mut Board) {
    move |board| {
        board.silent();
        for seconds in (-900..0).step_by(30) {
            let value = if seconds < since { power + 1.0 } else { power };
            board.read(Signal::PowerUsage, &[(seconds, value)]);
            let grown = (seconds + 900) as f64 * watts;
            board.read(Signal::Energy, &[(seconds, 1e6 + grown)]);
        }
    }
}

#[test]
fn a_power_that_stands_still_against_its_energy() {
    for (since, power, watts, want) in [
        (-630, 70.0, 400.0, "fires"),
        (-630, 400.0, 70.0, "fires"),
        (-600, 70.0, 400.0, "clear"),
        // A board that idles steadily draws what its energy says.
        (-630, 70.0, 70.0, "clear"),
        (-630, 70.0, 120.0, "clear"),
        (-630, 70.0, 140.0, "fires"),
        // Half, and yet too little to tell.
        (-630, 10.0, 30.0, "clear"),
    ] {
        let snapshot = Cluster::new()
            .gpu("GPU-1", "n1", standing(since, power, watts))
            .snapshot();
        assert_eq!(
            word(
                &judge(&snapshot),
                &gpu("n1", "GPU-1"),
                Cause::TelemetryFrozen
            ),
            want,
            "{since} {power} {watts}"
        );
    }
}

#[test]
fn without_energy_nothing_is_called_frozen_or_well() {
    let snapshot = Cluster::new()
        .gpu("GPU-1", "n1", |b| {
            b.silent().steady(Signal::PowerUsage, -900, 70.0);
        })
        .snapshot();
    let judgements = judge(&snapshot);
    for subject in [node("n1"), gpu("n1", "GPU-1")] {
        assert_eq!(
            word(&judgements, &subject, Cause::TelemetryFrozen),
            "undecided"
        );
    }
}
