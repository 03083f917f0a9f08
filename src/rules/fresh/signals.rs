//! Signals of one board that give each other the lie: a frozen power, an idle engine at full
//! utilisation. Only pairs that cannot both be right are compared.
//!
//! Absent on purpose: framebuffer sums (the total is not exported by default, and what is
//! reserved differs), `*_RATIO` names whose generation is ambiguous, and constants in general:
//! an idle board repeats 0 % and its temperature for hours.

use jiff::{SignedDuration, Timestamp};

use super::boards::{Member, Sight};
use super::remedy;
use super::scene::{Scene, fires, last_seen};
use crate::finding::{Cause, Evidence, Finding, Grade, Reason, Verdict};
use crate::rules::steps;
use crate::rules::words;
use crate::snapshot::{Gpu, Point, Reading, Signal, Track};

/// Difference of powers below which nothing is called stuck: idle draw and rounding.
const MIN_DIFFERENCE_WATTS: f64 = 25.0;
/// Share of the larger power by which they must differ: one is at most half of the other.
const MIN_DIFFERENCE_RATIO: f64 = 0.5;
/// Share of the look-back that the growth of energy must cover.
const COVERAGE: f64 = 0.8;
/// `GPU_UTIL` from which the board counts as busy.
const BUSY: f64 = 0.9;
/// Engine activity from which a board without any utilisation contradicts itself.
const ENGINE_BUSY: f64 = 0.5;

/// Whether a live board's readings move.
pub(super) enum Moves {
    /// Energy moves, and power agrees with it.
    Yes,
    /// Power stands still although energy tells of another.
    Stuck(Stuck),
    /// It cannot be said.
    Unknown(Reason),
}

/// A power that stands still.
pub(super) struct Stuck {
    pub(super) since: Timestamp,
    pub(super) power: Point,
    /// Mean power that the growth of energy amounts to.
    pub(super) by_energy: f64,
}

pub(super) fn moves(scene: &Scene<'_>, gpu: &Gpu) -> Moves {
    let (Some(power), Some(_)) = (gpu.live(Signal::PowerUsage), gpu.live(Signal::Energy)) else {
        return Moves::Unknown(Reason::NotExported);
    };
    let (Some(powers), Some(energy)) = (
        gpu.board.track(Signal::PowerUsage),
        gpu.board.track(Signal::Energy),
    ) else {
        return Moves::Unknown(Reason::NotExported);
    };
    let moved = energy.before_change().is_some()
        && scene.age(energy.changed()) <= scene.snapshot.limits.frozen_after.get();
    if !moved {
        return Moves::Unknown(Reason::TooFewSamples);
    }
    let window = scene.thresholds.frozen_family_after.get();
    let stands = scene.age(powers.changed());
    if stands <= window {
        return match powers.before_change() {
            Some(_) => Moves::Yes,
            None => Moves::Unknown(Reason::TooFewSamples),
        };
    }
    let from = scene.snapshot.now - window;
    let growth = energy.growth_since(from).filter(|growth| {
        growth.over.as_secs_f64() >= COVERAGE * window.as_secs_f64()
            && energy.reset().is_none_or(|reset| reset < from)
    });
    let Some(growth) = growth else {
        return Moves::Unknown(Reason::TooFewSamples);
    };
    let by_energy = growth.per_second();
    let difference = (by_energy - power.value).abs();
    let apart = difference >= MIN_DIFFERENCE_WATTS
        && difference >= MIN_DIFFERENCE_RATIO * by_energy.max(power.value);
    if apart {
        Moves::Stuck(Stuck {
            since: powers.changed(),
            power,
            by_energy,
        })
    } else {
        Moves::Yes
    }
}

pub(super) fn judge(scene: &Scene<'_>, member: &Member<'_>) -> Verdict {
    let gpu = member.gpu;
    if member.sight != Sight::Live {
        return Verdict::Undecided(Reason::Blind);
    }
    if is_partitioned(scene, gpu) {
        // GPU_UTIL is 0 or absent under MIG, so there is no pair to compare.
        return Verdict::Undecided(Reason::NotExported);
    }
    let (utilization, engine) = (
        gpu.reading(Signal::GpuUtilization),
        gpu.reading(Signal::GraphicsEngineActive),
    );
    match (utilization, engine) {
        (Reading::Live(utilization), Reading::Live(engine)) => {
            contradiction(scene, gpu, utilization, engine)
        }
        (Reading::Live(_), Reading::Stale(engine)) => stopped(scene, gpu, engine),
        (Reading::Stale(_), _) | (_, Reading::Stale(_)) => Verdict::Undecided(Reason::Blind),
        (Reading::Missing(_), _) | (_, Reading::Missing(_)) => {
            Verdict::Undecided(Reason::NotExported)
        }
    }
}

/// Whether the board is divided into MIG instances now.
fn is_partitioned(scene: &Scene<'_>, gpu: &Gpu) -> bool {
    let recent = |at: Timestamp| {
        last_seen(gpu)
            .is_some_and(|last| last.duration_since(at) <= scene.snapshot.limits.stale_after.get())
    };
    gpu.instances
        .iter()
        .any(|instance| instance.entity.last_seen.is_some_and(recent))
}

fn contradiction(scene: &Scene<'_>, gpu: &Gpu, utilization: Point, engine: Point) -> Verdict {
    type Holds = fn(f64) -> bool;
    let pairs: [(Holds, Holds, &str); 2] = [
        (
            |value| value >= BUSY,
            |value| value == 0.0,
            "GPU_UTIL tells of work and the graphics engine of none",
        ),
        (
            |value| value == 0.0,
            |value| value >= ENGINE_BUSY,
            "the graphics engine is busy and GPU_UTIL tells of none",
        ),
    ];
    for (of_utilization, of_engine, what) in pairs {
        if !(of_utilization(utilization.value) && of_engine(engine.value)) {
            continue;
        }
        let since = run(gpu, Signal::GpuUtilization, of_utilization).max(run(
            gpu,
            Signal::GraphicsEngineActive,
            of_engine,
        ));
        return match since {
            Some(since) if scene.age(since) >= scene.thresholds.disagreement_after.get() => {
                fires(disagreement(scene, gpu, what, since))
            }
            _ => Verdict::Holds,
        };
    }
    Verdict::Clear
}

/// The start of the unbroken run in which a condition holds: a silence ends a run.
fn run(gpu: &Gpu, signal: Signal, holds: fn(f64) -> bool) -> Option<Timestamp> {
    let track: &Track = gpu.board.track(signal)?;
    let start = track.run_start(holds)?;
    Some(track.gap().map_or(start, |(_, resumed)| start.max(resumed)))
}

fn stopped(scene: &Scene<'_>, gpu: &Gpu, engine: Point) -> Verdict {
    let age: SignedDuration = scene.age(engine.at);
    if age < scene.thresholds.disagreement_after.get() {
        return Verdict::Undecided(Reason::Blind);
    }
    if age > scene.snapshot.limits.forget_after.get() {
        return Verdict::Expired;
    }
    let what = "the profiling signals stopped while the others go on";
    let mut finding = disagreement(scene, gpu, what, engine.at);
    finding.grade = Grade::Moderate;
    finding.contradicting.push(Evidence::of(
        "an exporter whose counter list was changed looks the same",
        "dcgm-exporter",
    ));
    finding.timeline.push(Evidence::at(
        "last value of the graphics engine's activity",
        Signal::GraphicsEngineActive.spec().name,
        engine.at,
    ));
    fires(finding)
}

fn disagreement(scene: &Scene<'_>, gpu: &Gpu, what: &str, since: Timestamp) -> Finding {
    let mut finding = scene.finding(
        Cause::SignalDisagreement,
        gpu.identity.node.as_ref(),
        format!("{}: for {} {what}", gpu.title(), scene.ago(since)),
        since,
    );
    finding.gpu = gpu.identity.index;
    for signal in [
        Signal::GpuUtilization,
        Signal::GraphicsEngineActive,
        Signal::TensorActive,
        Signal::PowerUsage,
        Signal::EnforcedPowerLimit,
    ] {
        match gpu.reading(signal) {
            Reading::Live(point) => finding.facts.push(words::fact(signal, point)),
            Reading::Stale(point) => {
                let mut fact = words::fact(signal, point);
                fact.value = format!("{} ({} ago)", fact.value, scene.ago(point.at));
                finding.facts.push(fact);
            }
            Reading::Missing(_) => finding
                .missing
                .push(Evidence::of(signal.spec().help, signal.spec().name)),
        }
    }
    finding.supporting.push(Evidence::of(
        "both measure whether work runs, so they cannot both be right; consistent with DCGM's profiling having stopped (dcgm-exporter issues 635, 662). Utilisation is not judged meanwhile",
        "dcgm-exporter",
    ));
    finding
        .timeline
        .push(Evidence::at("they have disagreed since", "dcgm", since));
    finding.checklist.push(steps::look(
        "Compare with nvidia-smi on the node, and look whether another profiler (Nsight, a second DCGM) holds the GPU's counters.",
    ));
    let node = gpu.identity.node.as_ref();
    finding.checklist.extend(remedy::exporter(scene, node));
    finding
}
