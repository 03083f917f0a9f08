//! Core and memory temperature against the limit that is known best.

use super::{Seen, Sign, words};
use crate::finding::{Cause, Evidence, Fact, Severity};
use crate::rules::product::{self, MemoryLimit};
use crate::snapshot::{Gpu, Signal, Track};

/// Core and memory of one board under load differ by 10 to 20 °C; twice that is odd.
const MUCH_COOLER: f64 = 40.0;

/// No data-centre board slows down within this distance above its temperature where the product's
/// slowdown temperature is known, nor at all below this temperature where it is not.
const FAR_BELOW: f64 = 25.0;
const COOL: f64 = 60.0;
/// A margin that stays the same while the core moves by this much does not measure it.
const MOVED: f64 = 5.0;

/// Where a temperature warns and where it is critical, and how that is known.
struct Limit {
    warning: f64,
    critical: f64,
    /// What the critical value is: `the board's slowdown temperature`.
    what: &'static str,
    source: String,
}

/// The core against its limit.
pub(super) fn core(seen: &mut Seen<'_>) {
    let gpu = seen.gpu;
    let limit = core_limit(seen);
    if limit.is_none() && margin(seen) {
        return;
    }
    let fallback = Limit {
        warning: seen.thresholds.core_warning.get(),
        critical: seen.thresholds.core_critical.get(),
        what: "the limit for boards whose own is not known",
        source: "configuration".to_owned(),
    };
    let limit = limit.unwrap_or(fallback);
    compare(
        seen,
        gpu,
        Cause::CoreTemperature,
        Signal::CoreTemperature,
        "core",
        &limit,
    );
}

/// The memory against its limit.
pub(super) fn memory(seen: &mut Seen<'_>) {
    let gpu = seen.gpu;
    let margin = seen.thresholds.margin.get();
    let known = |value: f64, what, source: String| Limit {
        warning: value - margin,
        critical: value,
        what,
        source,
    };
    let own = gpu
        .board
        .track(Signal::MemoryMaxOperatingTemperature)
        .map(|track| {
            let source = Signal::MemoryMaxOperatingTemperature.spec().name.to_owned();
            known(
                track.last().value,
                "the memory's maximum operating temperature",
                source,
            )
        });
    let limit = match own {
        Some(limit) => limit,
        None => match product_of(gpu).map(|product| product.memory_max_operating) {
            Some(MemoryLimit::NoSensor) => return,
            Some(MemoryLimit::Celsius(fact)) => known(
                f64::from(fact.value),
                "the product's maximum for its memory",
                "product table".to_owned(),
            ),
            Some(MemoryLimit::Unknown) | None => Limit {
                warning: seen.thresholds.memory_warning.get(),
                critical: seen.thresholds.memory_critical.get(),
                what: "the limit for memory whose own is not known",
                source: "configuration".to_owned(),
            },
        },
    };
    compare(
        seen,
        gpu,
        Cause::MemoryTemperature,
        Signal::MemoryTemperature,
        "memory",
        &limit,
    );
}

fn product_of(gpu: &Gpu) -> Option<&'static product::Product> {
    gpu.identity.model.as_deref().and_then(product::lookup)
}

/// The core's limit from the board itself, else from the product table.
fn core_limit(seen: &Seen<'_>) -> Option<Limit> {
    let margin = seen.thresholds.margin.get();
    let gpu = seen.gpu;
    if let Some(track) = gpu.board.track(Signal::SlowdownTemperature) {
        let slowdown = track.last().value;
        return Some(Limit {
            warning: slowdown - margin,
            critical: slowdown,
            what: "the board's slowdown temperature",
            source: Signal::SlowdownTemperature.spec().name.to_owned(),
        });
    }
    if gpu.live(Signal::TemperatureMargin).is_some() && disbelieved(gpu, margin).is_none() {
        return None;
    }
    let slowdown = product_of(gpu)?.core_slowdown_celsius?;
    Some(Limit {
        warning: f64::from(slowdown.value) - margin,
        critical: f64::from(slowdown.value),
        what: "the product's slowdown temperature",
        source: "product table".to_owned(),
    })
}

/// Why a margin that would warn is not believed: it is blank or wrong on some boards.
fn disbelieved(gpu: &Gpu, warning: f64) -> Option<String> {
    let margin = gpu.live(Signal::TemperatureMargin)?;
    let core = gpu.live(Signal::CoreTemperature)?;
    let slowdown = product_of(gpu).and_then(|product| product.core_slowdown_celsius);
    let cool = slowdown.map_or(COOL, |fact| f64::from(fact.value) - FAR_BELOW);
    if margin.value <= warning && core.value < cool {
        return Some(format!(
            "the core is at {}, far below any limit",
            words::quantity(core.value, "°C")
        ));
    }
    let (least, most) = range(gpu.board.track(Signal::TemperatureMargin)?);
    let (coolest, hottest) = range(gpu.board.track(Signal::CoreTemperature)?);
    (least >= most && hottest - coolest >= MOVED).then(|| {
        format!(
            "it did not move while the core went from {} to {}",
            words::quantity(coolest, "°C"),
            words::quantity(hottest, "°C")
        )
    })
}

fn range(track: &Track) -> (f64, f64) {
    track.points().fold(
        (f64::INFINITY, f64::NEG_INFINITY),
        |(least, most), point| (least.min(point.value), most.max(point.value)),
    )
}

/// A margin that the verdict did not believe, as a fact. Where the board's own slowdown
/// temperature is exported the margin is not asked.
pub(super) fn ignored_margin(gpu: &Gpu, warning: f64) -> Option<Fact> {
    if gpu.board.track(Signal::SlowdownTemperature).is_some() {
        return None;
    }
    let point = gpu.live(Signal::TemperatureMargin)?;
    let why = disbelieved(gpu, warning)?;
    let mut fact = words::fact(Signal::TemperatureMargin, point);
    fact.value = format!("{} (not believed: {why})", fact.value);
    Some(fact)
}

/// The board's own distance to its limit. False where it is not exported, or not believed.
fn margin(seen: &mut Seen<'_>) -> bool {
    let gpu = seen.gpu;
    let Some(point) = gpu.live(Signal::TemperatureMargin) else {
        return false;
    };
    let Some(track) = gpu.board.track(Signal::TemperatureMargin) else {
        return false;
    };
    let warning = seen.thresholds.margin.get();
    if disbelieved(gpu, warning).is_some() {
        return false;
    }
    let Some(since) = seen.held(track, |value| value <= warning) else {
        return true;
    };
    let critical = point.value <= 0.0 && seen.held(track, |value| value <= 0.0).is_some();
    let mut facts = vec![words::fact(Signal::TemperatureMargin, point)];
    facts.extend(
        gpu.live(Signal::CoreTemperature)
            .map(|point| words::fact(Signal::CoreTemperature, point)),
    );
    seen.signs.push(Sign {
        cause: Cause::CoreTemperature,
        severity: if critical {
            Severity::Critical
        } else {
            Severity::Warning
        },
        since,
        headline: if critical {
            "the core has no margin left to its limit".to_owned()
        } else {
            format!(
                "the core is {} below its limit",
                words::quantity(point.value, "°C")
            )
        },
        facts,
        supporting: Vec::new(),
        contradicting: Vec::new(),
    });
    true
}

fn compare(
    seen: &mut Seen<'_>,
    gpu: &Gpu,
    cause: Cause,
    signal: Signal,
    name: &str,
    limit: &Limit,
) {
    let Some(point) = gpu.live(signal) else {
        return;
    };
    let Some(track) = gpu.board.track(signal) else {
        return;
    };
    let Some(since) = seen.held(track, |value| value >= limit.warning) else {
        return;
    };
    let critical = point.value >= limit.critical
        && seen.held(track, |value| value >= limit.critical).is_some();
    let relation = if point.value >= limit.critical {
        "at or above"
    } else {
        "close to"
    };
    let temperature = words::quantity(point.value, "°C");
    let threshold = words::quantity(limit.critical, "°C");
    seen.signs.push(Sign {
        cause,
        severity: if critical {
            Severity::Critical
        } else {
            Severity::Warning
        },
        since,
        headline: format!(
            "the {name} is at {temperature}, {relation} {} ({threshold})",
            limit.what
        ),
        facts: vec![
            words::fact(signal, point),
            Fact {
                name: limit.what.into(),
                value: threshold,
                source: limit.source.clone().into(),
                at: None,
            },
        ],
        supporting: Vec::new(),
        contradicting: cool_neighbour(gpu, signal, point.value),
    });
}

/// A core that is hot while the memory beside it is not, or the other way round, is worth a look
/// at the sensor before the cooling.
fn cool_neighbour(gpu: &Gpu, signal: Signal, value: f64) -> Vec<Evidence> {
    let (other, name) = match signal {
        Signal::CoreTemperature => (Signal::MemoryTemperature, "memory"),
        _ => (Signal::CoreTemperature, "core"),
    };
    gpu.live(other)
        .filter(|point| value - point.value >= MUCH_COOLER)
        .map(|point| {
            let text = format!(
                "the {name} is only at {}",
                words::quantity(point.value, "°C")
            );
            Evidence::at(text, other.spec().name, point.at)
        })
        .into_iter()
        .collect()
}
