//! Memory: ECC errors and row remaps.

use jiff::{SignedDuration, Timestamp};

use super::Thresholds;
use super::fleet::Fleet;
use super::sign::{Found, Kind, Sign, Weight};
use crate::finding::{Cause, Evidence, Severity};
use crate::rules::words;
use crate::snapshot::{Gpu, Growth, Signal, Track};

const MEMORY: &str = "a fault of the GPU's memory";

/// Looks at a board's memory.
pub(super) fn look(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    levels(gpu, found);
    let grown = [
        (
            Signal::EccDoubleBitAggregate,
            Cause::EccDoubleBit,
            "new uncorrectable memory errors over the board's life",
        ),
        (
            Signal::RowRemapUncorrectable,
            Cause::RowRemapPending,
            "newly remapped memory rows after uncorrectable errors",
        ),
    ];
    for (signal, cause, what) in grown {
        found
            .signs
            .extend(grew(fleet.thresholds, gpu, signal, cause, what));
    }
    single_bit(fleet, gpu, found);
}

/// States and levels: they mean what they say at first sight already.
fn levels(gpu: &Gpu, found: &mut Found) {
    let critical = Severity::Critical;
    let rows = [
        (
            Signal::RowRemapFailure,
            Cause::RowRemapFailure,
            critical,
            "a memory row could not be remapped",
            "memory that can no longer be repaired by remapping: a candidate for replacement after NVIDIA's field diagnostics",
        ),
        (
            Signal::EccDoubleBitVolatile,
            Cause::EccDoubleBit,
            critical,
            "uncorrectable memory errors since the driver was loaded",
            MEMORY,
        ),
        (
            Signal::RowRemapPending,
            Cause::RowRemapPending,
            Severity::Warning,
            "a row remap waits for a GPU reset",
            "a repaired memory fault: the remap takes effect at the next reset",
        ),
        (
            Signal::RetiredPagesPending,
            Cause::RowRemapPending,
            Severity::Warning,
            "a page retirement waits for a GPU reset",
            "a repaired memory fault: the retirement takes effect at the next reset",
        ),
    ];
    for (signal, cause, severity, what, reading) in rows {
        let Some(last) = gpu.live(signal).filter(|last| last.value > 0.0) else {
            continue;
        };
        let since = gpu
            .board
            .track(signal)
            .and_then(|track| onset(track, last.at))
            .unwrap_or(last.at);
        let text = if signal == Signal::EccDoubleBitVolatile {
            format!("{} {what}", words::short(last.value))
        } else {
            what.to_owned()
        };
        let evidence = Evidence::at(text.clone(), signal.spec().name, last.at);
        let mut sign = Sign::new(cause, severity, Kind::Memory, since, text, evidence)
            .reading(reading)
            .fact(words::fact(signal, last));
        if severity == critical {
            sign.weight = Weight::Direct;
        }
        found.signs.push(sign);
    }
}

/// When a level was first above 0, as far as that is known.
fn onset(track: &Track, last: Timestamp) -> Option<Timestamp> {
    let run = track.run_start(|value| value > 0.0);
    let first = (track.first().value > 0.0).then_some(track.first().at);
    run.into_iter()
        .chain(first)
        .chain([track.changed(), last])
        .min()
}

/// A counter of the board's life that grew lately. What it showed at first sight is history.
fn grew(
    thresholds: &Thresholds,
    gpu: &Gpu,
    signal: Signal,
    cause: Cause,
    what: &str,
) -> Option<Sign> {
    let last = gpu.live(signal)?;
    let track = gpu.board.track(signal)?;
    let grew = track.grew()?;
    if gpu.now.duration_since(grew) >= thresholds.memory_growth_window.get() {
        return None;
    }
    let text = format!(
        "{} {what}, {} in all",
        words::short(track.growth()),
        words::short(last.value)
    );
    let evidence = Evidence::at(text.clone(), signal.spec().name, grew);
    let sign = Sign::new(cause, Severity::Warning, Kind::Memory, grew, text, evidence);
    Some(sign.reading(MEMORY).fact(words::fact(signal, last)))
}

/// Corrected errors a minute over the window, and their growth.
pub(super) fn single_bit_per_minute(
    gpu: &Gpu,
    thresholds: &Thresholds,
) -> Option<(f64, Growth, Signal)> {
    [Signal::EccSingleBitVolatile, Signal::EccSingleBitAggregate]
        .into_iter()
        .find_map(|signal| {
            gpu.live(signal)?;
            let window = thresholds.ecc_single_bit_window.get();
            let from = gpu.now.saturating_sub(window).ok()?;
            let growth = gpu.board.track(signal)?.growth_since(from)?;
            Some((
                per_minute(growth.amount, growth.over, window),
                growth,
                signal,
            ))
        })
}

/// Whether a board has ever exported corrected errors.
pub(super) fn counts_single_bits(gpu: &Gpu) -> bool {
    let signals = [Signal::EccSingleBitVolatile, Signal::EccSingleBitAggregate];
    signals
        .into_iter()
        .any(|signal| gpu.board.track(signal).is_some())
}

/// Share of a window that must be covered for a rate to be measured over what is covered.
const COVERED: f64 = 0.8;

/// A rate a minute. What covers too little of the window is spread over all of it: a short history
/// makes no high rate.
pub(super) fn per_minute(amount: f64, over: SignedDuration, window: SignedDuration) -> f64 {
    let (over, window) = (over.as_secs_f64(), window.as_secs_f64());
    let seconds = if over >= COVERED * window {
        over
    } else {
        window
    };
    amount * 60.0 / seconds
}

fn single_bit(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    let thresholds = fleet.thresholds;
    let Some((rate, growth, signal)) = single_bit_per_minute(gpu, thresholds) else {
        return;
    };
    let Some((median, boards)) = fleet.single_bit else {
        return;
    };
    let enough = boards as f64 >= thresholds.ecc_single_bit_boards.get();
    let floor = thresholds.ecc_single_bit_per_minute.get();
    let limit = (thresholds.ecc_single_bit_factor.get() * median).max(floor);
    if !enough || rate <= limit * thresholds.leave_ratio.get() {
        // Too few to compare with, or some of them silent: whether this rate stands out is not known.
        let part = !enough || fleet.single_bit_partial;
        found.holds |= part && rate > floor * thresholds.leave_ratio.get();
        return;
    }
    let (Some(began), true) = (growth.began, rate > limit) else {
        found.holds = true;
        return;
    };
    let text = format!(
        "{} corrected memory errors a minute; the median of {boards} GPUs is {}",
        words::short(rate),
        words::short(median)
    );
    let name = signal.spec().name;
    let evidence = Evidence::at(text.clone(), name, gpu.now);
    let sign = Sign::new(
        Cause::EccSingleBitRate,
        Severity::Warning,
        Kind::Memory,
        began,
        text,
        evidence,
    );
    found.signs.push(
        sign.reading(
            "memory that degrades; corrected errors alone are no reason to replace a board",
        )
        .grown(&growth),
    );
}
