//! Clocks held down by heat or by the power brake.

use jiff::Timestamp;

use super::{Seen, Sign, window_start, words};
use crate::finding::{Cause, Evidence, Fact, Severity};
use crate::snapshot::{ClockEvent, Gpu, SeriesKey, Signal, Track};

/// Signals that tell of thermal throttling.
pub(super) const THERMAL: [Signal; 5] = [
    Signal::ThermalViolation,
    Signal::SwThermalTime,
    Signal::HwThermalTime,
    Signal::ClockEventReasons,
    Signal::ClockEventWindowCount,
];

const THERMAL_BITS: [ClockEvent; 2] = [ClockEvent::SwThermal, ClockEvent::HwThermal];

/// One signal that tells of throttling inside the window.
struct Throttled {
    signal: Signal,
    /// Share of the window, where the signal measures it.
    share: Option<f64>,
    since: Timestamp,
    at: Timestamp,
}

/// Thermal violation time, or the thermal clock-event bits.
pub(super) fn thermal(seen: &mut Seen<'_>) {
    let times = [
        Signal::ThermalViolation,
        Signal::SwThermalTime,
        Signal::HwThermalTime,
    ];
    let found = collect(seen, &times, &THERMAL_BITS);
    sign(
        seen,
        Cause::ThermalThrottle,
        "thermal slowdown is reported",
        &found,
    );
}

/// The external power brake.
pub(super) fn power_brake(seen: &mut Seen<'_>) {
    let found = collect(
        seen,
        &[Signal::HwPowerBrakeTime],
        &[ClockEvent::HwPowerBrake],
    );
    sign(
        seen,
        Cause::PowerBrake,
        "the external power brake is reported",
        &found,
    );
}

fn sign(seen: &mut Seen<'_>, cause: Cause, what: &str, found: &[Throttled]) {
    let Some(since) = found.iter().map(|throttled| throttled.since).min() else {
        return;
    };
    let share = found
        .iter()
        .filter_map(|throttled| throttled.share)
        .fold(None, |worst: Option<f64>, share| {
            Some(worst.map_or(share, |worst| worst.max(share)))
        });
    let window = seen.thresholds.window;
    let headline = share.map_or_else(
        || what.to_owned(),
        |share| {
            format!(
                "{what} in {} of the last {window}",
                words::quantity(share.min(1.0), "ratio")
            )
        },
    );
    let supporting = found
        .iter()
        .map(|throttled| {
            let text = match throttled.share {
                Some(share) => format!(
                    "{} in {} of the window",
                    told(throttled.signal),
                    words::quantity(share.min(1.0), "ratio")
                ),
                None => format!("{} in every collection of the hold", told(throttled.signal)),
            };
            Evidence::at(text, throttled.signal.spec().name, throttled.at)
        })
        .collect();
    let contradicting = if cause == Cause::ThermalThrottle {
        cool_core(seen.gpu)
    } else {
        Vec::new()
    };
    seen.signs.push(Sign {
        cause,
        severity: Severity::Warning,
        since,
        headline,
        facts: Vec::new(),
        supporting,
        contradicting,
    });
}

/// What a signal reports, as the subject of a sentence.
fn told(signal: Signal) -> &'static str {
    match signal {
        Signal::ClockEventReasons | Signal::ClockEventWindowCount => "clock-event reasons name it",
        Signal::SwThermalTime => "software thermal slowdown",
        Signal::HwThermalTime => "hardware thermal slowdown",
        Signal::HwPowerBrakeTime => "power brake slowdown",
        _ => "thermal violation",
    }
}

fn collect(seen: &mut Seen<'_>, times: &[Signal], bits: &[ClockEvent]) -> Vec<Throttled> {
    let gpu = seen.gpu;
    let mut found = Vec::new();
    for signal in times {
        if gpu.live(*signal).is_some()
            && let Some(track) = gpu.board.track(*signal)
        {
            found.extend(by_time(seen, *signal, track));
        }
    }
    if gpu.live(Signal::ClockEventReasons).is_some()
        && let Some(track) = gpu.board.track(Signal::ClockEventReasons)
    {
        found.extend(by_bits(seen, track, bits));
    }
    for event in bits {
        let key = SeriesKey {
            signal: Signal::ClockEventWindowCount,
            part: event.part(),
        };
        if let (Some(point), Some(track)) = (gpu.live(key), gpu.board.track(key))
            && let Some(since) = seen.held(track, |count| count > 0.0)
        {
            found.push(Throttled {
                signal: Signal::ClockEventWindowCount,
                share: None,
                since,
                at: point.at,
            });
        }
    }
    found
}

/// A counter of time: its growth as a share of the window, in increases the hold apart.
fn by_time(seen: &mut Seen<'_>, signal: Signal, track: &Track) -> Option<Throttled> {
    let from = window_start(seen.gpu.now, seen.thresholds.window.get());
    let rises: Vec<Timestamp> = track
        .steps_since(from)
        .filter(|(before, after)| after.value > before.value)
        .map(|(_, after)| after.at)
        .collect();
    let growth = track.growth_since(from)?;
    let share = growth.per_second();
    enough(seen, share, &rises).map(|(since, at)| Throttled {
        signal,
        share: Some(share),
        since,
        at,
    })
}

/// Bits of a mask: the share of time in which one of them was set.
fn by_bits(seen: &mut Seen<'_>, track: &Track, bits: &[ClockEvent]) -> Option<Throttled> {
    let from = window_start(seen.gpu.now, seen.thresholds.window.get());
    let set = |mask: f64| bits.iter().any(|event| event.is_set(mask));
    let times: Vec<Timestamp> = track
        .since(from)
        .filter(|point| set(point.value))
        .map(|point| point.at)
        .collect();
    let share = track.share_since(from, set)?;
    enough(seen, share, &times).map(|(since, at)| Throttled {
        signal: Signal::ClockEventReasons,
        share: Some(share),
        since,
        at,
    })
}

/// Whether throttling filled enough of the window, in moments at least the hold apart.
fn enough(
    seen: &mut Seen<'_>,
    share: f64,
    moments: &[Timestamp],
) -> Option<(Timestamp, Timestamp)> {
    let (first, last) = (*moments.first()?, *moments.last()?);
    if share < seen.thresholds.throttled_share.get() {
        return None;
    }
    if last.duration_since(first) < seen.thresholds.hold.get() {
        seen.rising = true;
        return None;
    }
    Some((first, last))
}

/// A core far below its limit speaks against a thermal reason.
fn cool_core(gpu: &Gpu) -> Vec<Evidence> {
    gpu.live(Signal::CoreTemperature)
        .filter(|point| point.value < 70.0)
        .map(|point| {
            let text = format!(
                "the core is at {}, far below any slowdown temperature",
                words::quantity(point.value, "°C")
            );
            Evidence::at(text, Signal::CoreTemperature.spec().name, point.at)
        })
        .into_iter()
        .collect()
}

/// A hot board whose clock-event reasons name no thermal reason is not slowed down.
pub(super) fn no_throttle(gpu: &Gpu, contradicting: &mut Vec<Evidence>) {
    if let Some(point) = gpu.live(Signal::ClockEventReasons)
        && !THERMAL_BITS.iter().any(|event| event.is_set(point.value))
    {
        let text = "no thermal clock-event reason is set: the clocks are not held down by heat";
        contradicting.push(Evidence::at(
            text,
            Signal::ClockEventReasons.spec().name,
            point.at,
        ));
    }
}

/// The software power cap at full load is normal: a fact, never a sign.
pub(super) fn power_cap(gpu: &Gpu, facts: &mut Vec<Fact>) {
    if let Some(point) = gpu.live(Signal::ClockEventReasons)
        && ClockEvent::SwPowerCap.is_set(point.value)
    {
        facts.push(Fact {
            name: "software power cap".into(),
            value: "active (normal at full load)".to_owned(),
            source: Signal::ClockEventReasons.spec().name.into(),
            at: Some(point.at),
        });
    }
}
