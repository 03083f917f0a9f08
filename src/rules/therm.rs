//! GPU-THERM-006: thermal, power brake and memory pressure.
//!
//! # Detects
//!
//! A board that is close to or past its temperature limits, whose clocks are held down by heat
//! or by the external power brake, or whose framebuffer is nearly full.
//!
//! # Needs
//!
//! Any of: core and memory temperature, the board's own limits (slowdown and maximum operating
//! temperature, margin), thermal and power-brake times or violation counters, clock-event reasons
//! or counts, framebuffer used, free and reserved. A default dcgm-exporter exports only
//! temperatures and framebuffer: throttling is then listed as missing, not as absent.
//!
//! # Condition
//!
//! | cause | when |
//! | --- | --- |
//! | `core_temperature` | within 5 °C of the board's own slowdown temperature (or margin), else of the product table's, else 80 °C; critical at the limit, else 87 °C |
//! | `memory_temperature` | within 5 °C of the board's own limit, else of the product table's, else 90 °C; critical at the limit, else 95 °C; nothing on products without a sensor |
//! | `thermal_throttle` | thermal time or bits in at least 1 % of the window, in two collections at least the hold apart |
//! | `power_brake` | the same for the external power brake; the software power cap alone is normal and only a fact |
//! | `memory_pressure` | framebuffer at 95 % of its total or above |
//!
//! A margin counts only where it can be true: not on a core far below its product's slowdown
//! temperature (below 60 °C where that is unknown), and not where it stood still while the core's
//! temperature moved. The product table and the defaults then stand in for it.
//!
//! Temperatures and framebuffer must hold for two minutes, over at least two distinct
//! collections. One finding per board, named by its worst cause; under MIG the board's values
//! count once and the fullest instance speaks for the framebuffer. A finding's start is that of the
//! condition as far back as readings are kept one by one: where the condition fills that time, the
//! start is no later than the one given, and the missing evidence says so.
//!
//! # Clears
//!
//! After five minutes in which every signal of the rule that the board ever exported, or that its
//! siblings on the same exporter export, was live and none of the conditions held. Silence of one
//! of these signals clears nothing.
//!
//! # Not reported when
//!
//! The board's telemetry is stale, frozen or gone (undecided: GPU-FRESH-005 tells), or it exports
//! none of the signals (undecided), or more framebuffer is in use than there is (undecided: the
//! values do not fit each other).
//!
//! # Evidence
//!
//! Strong where heat and throttling agree, moderate where one of them speaks alone. Against it:
//! clocks that are not held down although the core is hot, a core that is cool although
//! throttling is reported.
//!
//! # Severity
//!
//! Temperatures warn below the limit and are critical at it. Throttling and power brake warn.
//! Memory pressure is info (caching allocators live there), a warning when an XID 31 or an
//! out-of-memory end of a pod on the board lies within the last hour.
//!
//! # What to look at
//!
//! Neighbouring boards and nodes of the rack (one hot board or all?), fan and coolant alarms of the
//! machine's management controller, the power supply's state, what the pods on the board allocate.
//!
//! # References
//!
//! NVIDIA DCGM field identifiers (temperatures, violation counters, clock-event reasons);
//! `nvidia-smi -q -d TEMPERATURE,PERFORMANCE` of the products in the table.

mod heat;
mod pressure;
mod throttle;

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::siblings::siblings;
use super::steps::{describe_node, look, pods_of, quoted, run};
use super::threshold::{Celsius, Ratio, thresholds};
use super::{Rule, words};
use crate::finding::{
    Cause, Evidence, Fact, Finding, Grade, Judgement, Key, Reason, RuleId, Severity, Step, Subject,
    Verdict,
};
use crate::snapshot::{ClusterSnapshot, Gpu, Reading, Signal, Span, Threshold, Track};

thresholds! {
    /// How long temperature or framebuffer must stay beyond its threshold.
    hold: Span = Span::minutes(2), "four collections of 30 s: a single reading proves nothing";
    /// How long everything must be quiet before the incident is resolved.
    clear_hold: Span = Span::minutes(5), "boards cool down slower than they heat up";
    /// The window over which throttling is measured.
    window: Span = Span::minutes(5), "the exporter's own window for clock-event counts";
    /// Distance to a known limit at which a temperature warns.
    margin: Celsius = Celsius::new(5.0), "half the usual distance between full load and slowdown";
    /// Core temperature that warns where no limit is known.
    core_warning: Celsius = Celsius::new(80.0), "below the lowest maximum operating temperature of data-centre boards (83 °C)";
    /// Core temperature that is critical where no limit is known.
    core_critical: Celsius = Celsius::new(87.0), "the lowest slowdown temperature of data-centre boards (V100)";
    /// Memory temperature that warns where no limit is known.
    memory_warning: Celsius = Celsius::new(90.0), "5 °C below the usual limit of HBM";
    /// Memory temperature that is critical where no limit is known.
    memory_critical: Celsius = Celsius::new(95.0), "maximum operating temperature of HBM on A100 and H100";
    /// Share of the window with throttling that counts.
    throttled_share: Ratio = Ratio::new(0.01), "DCGM warns on any growth within a minute, which is noisy; 1 % of the window is not";
    /// Framebuffer in use, as a share of its total, that counts as pressure.
    framebuffer: Ratio = Ratio::new(0.95), "caching allocators of serving and training frameworks stay around 90 %";
    /// How far back an XID 31 or an out-of-memory end makes memory pressure a warning.
    failure_window: Span = Span::minutes(60), "the time for which an incident of a failed workload stays open";
}

/// The rule.
pub struct Therm {
    thresholds: Thresholds,
}

impl Therm {
    /// The rule with its thresholds.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }

    fn verdict(&self, gpu: &Gpu, snapshot: &ClusterSnapshot, beside: &BTreeSet<Signal>) -> Verdict {
        if gpu.is_blind() {
            return Verdict::Undecided(Reason::Blind);
        }
        let mut seen = Seen {
            gpu,
            thresholds: &self.thresholds,
            signs: Vec::new(),
            rising: false,
            unfit: false,
        };
        heat::core(&mut seen);
        heat::memory(&mut seen);
        throttle::thermal(&mut seen);
        throttle::power_brake(&mut seen);
        pressure::framebuffer(&mut seen, snapshot);
        if !seen.signs.is_empty() {
            return Verdict::Fires(Box::new(finding(seen, snapshot)));
        }
        if seen.rising {
            return Verdict::Holds;
        }
        if seen.unfit {
            return Verdict::Undecided(Reason::NotExported);
        }
        match coverage(gpu) {
            Coverage::Whole if lacks(gpu, beside) => Verdict::Undecided(Reason::NotExported),
            Coverage::Whole => Verdict::Clear,
            Coverage::Silent => Verdict::Undecided(Reason::Blind),
            Coverage::None => Verdict::Undecided(Reason::NotExported),
        }
    }
}

impl Rule for Therm {
    fn needs(&self) -> Vec<(Signal, Span)> {
        let window = self.thresholds.window.max(self.thresholds.hold);
        let latest = Span::seconds(0);
        let mut needs = vec![(Signal::Energy, window), (Signal::Xid, latest)];
        needs.extend(LIMITS.map(|signal| (signal, latest)));
        needs.extend(WATCHED.map(|signal| (signal, window)));
        needs
    }

    fn judge(&self, snapshot: &ClusterSnapshot) -> Vec<Judgement> {
        let boards = || snapshot.gpus.iter().filter(|gpu| gpu.replaced_by.is_none());
        let mut beside: BTreeMap<_, BTreeSet<Signal>> = BTreeMap::new();
        for gpu in boards() {
            beside
                .entry(siblings(gpu))
                .or_default()
                .extend(exported(gpu));
        }
        boards()
            .map(|gpu| Judgement {
                key: Key {
                    rule: RuleId::Therm,
                    subject: Subject::Gpu {
                        node: gpu.identity.node.clone(),
                        uuid: gpu.uuid.clone(),
                    },
                    aspect: None,
                },
                clear_hold: self.thresholds.clear_hold.get(),
                verdict: self.verdict(gpu, snapshot, &beside[&siblings(gpu)]),
            })
            .collect()
    }

    fn thresholds(&self) -> Vec<Threshold> {
        self.thresholds.describe()
    }
}

/// The board's own limits: constants, so that an old reading is as good as a new one.
const LIMITS: [Signal; 3] = [
    Signal::SlowdownTemperature,
    Signal::MaxOperatingTemperature,
    Signal::MemoryMaxOperatingTemperature,
];

/// The signals whose silence must not be taken for health.
const WATCHED: [Signal; 12] = [
    Signal::CoreTemperature,
    Signal::MemoryTemperature,
    Signal::TemperatureMargin,
    Signal::ThermalViolation,
    Signal::SwThermalTime,
    Signal::HwThermalTime,
    Signal::HwPowerBrakeTime,
    Signal::ClockEventReasons,
    Signal::ClockEventWindowCount,
    Signal::FramebufferUsed,
    Signal::FramebufferFree,
    Signal::FramebufferReserved,
];

/// One condition that holds.
struct Sign {
    cause: Cause,
    severity: Severity,
    since: Timestamp,
    /// What is so, to stand in the summary: `the core is at 91 °C, its slowdown temperature`.
    headline: String,
    facts: Vec<Fact>,
    supporting: Vec<Evidence>,
    contradicting: Vec<Evidence>,
}

/// What is being found out about one board.
struct Seen<'a> {
    gpu: &'a Gpu,
    thresholds: &'a Thresholds,
    signs: Vec<Sign>,
    /// Something is beyond its threshold, but not yet for long enough.
    rising: bool,
    /// Values contradict each other, so that what they should show is not known.
    unfit: bool,
}

impl Seen<'_> {
    /// Since when a condition has held, if that is for long enough and over two collections.
    fn held(&mut self, track: &Track, holds: impl Fn(f64) -> bool) -> Option<Timestamp> {
        let since = track.run_start(holds)?;
        let long = self.gpu.now.duration_since(since) >= self.thresholds.hold.get();
        if long && self.gpu.collections_since(since) >= 2 {
            return Some(since);
        }
        self.rising = true;
        None
    }
}

enum Coverage {
    Whole,
    Silent,
    None,
}

/// Whether every watched signal that the board has ever exported is live.
fn coverage(gpu: &Gpu) -> Coverage {
    let mut known = false;
    for (_, entity) in gpu.entities() {
        for signal in WATCHED {
            let mut parts = entity.parts(signal).peekable();
            if parts.peek().is_none() {
                continue;
            }
            known = true;
            // A count that falls to nothing loses its label: one live part speaks for the family.
            let live = parts.any(|(part, _)| {
                matches!(
                    gpu.reading_of(entity, crate::snapshot::SeriesKey { signal, part }),
                    Reading::Live(_)
                )
            });
            if !live {
                return Coverage::Silent;
            }
        }
    }
    if known {
        Coverage::Whole
    } else {
        Coverage::None
    }
}

/// The watched signals that a board has exported. Counts of clock events come and go by nature.
fn exported(gpu: &Gpu) -> impl Iterator<Item = Signal> + '_ {
    let has = |signal: Signal| {
        gpu.entities()
            .any(|(_, entity)| entity.parts(signal).next().is_some())
    };
    WATCHED
        .into_iter()
        .filter(move |signal| *signal != Signal::ClockEventWindowCount && has(*signal))
}

/// Whether its siblings export a signal that the board does not: what it would show is not known.
fn lacks(gpu: &Gpu, beside: &BTreeSet<Signal>) -> bool {
    let own: BTreeSet<Signal> = exported(gpu).collect();
    !beside.is_subset(&own)
}

/// One finding from all that holds, named by the worst.
fn finding(seen: Seen<'_>, snapshot: &ClusterSnapshot) -> Finding {
    let gpu = seen.gpu;
    let mut signs = seen.signs;
    // Stable: of equally bad ones the first in the table's order names the finding.
    signs.sort_by_key(|sign| std::cmp::Reverse(sign.severity));
    let heat = signs
        .iter()
        .any(|s| matches!(s.cause, Cause::CoreTemperature | Cause::MemoryTemperature));
    let slow = signs
        .iter()
        .any(|s| matches!(s.cause, Cause::ThermalThrottle | Cause::PowerBrake));
    let since = signs
        .iter()
        .map(|sign| sign.since)
        .min()
        .unwrap_or(snapshot.now);
    let headlines: Vec<_> = signs.iter().map(|sign| sign.headline.as_str()).collect();
    let mut finding = Finding {
        cause: signs[0].cause,
        severity: signs[0].severity,
        grade: if heat && slow {
            Grade::Strong
        } else {
            Grade::Moderate
        },
        summary: format!(
            "{}: {}, consistent with {}",
            gpu.title(),
            headlines.join("; "),
            explanation(&signs)
        ),
        started: since,
        gpu: gpu.identity.index,
        facts: Vec::new(),
        supporting: Vec::new(),
        contradicting: Vec::new(),
        missing: missing(gpu),
        timeline: Vec::new(),
        checklist: checklist(gpu, &signs, snapshot.has_kubernetes()),
    };
    for sign in signs {
        let lasted = snapshot.now.duration_since(sign.since);
        // Where it fills the look-back, it may have begun before.
        let older =
            lasted + snapshot.limits.collection_interval.get() >= seen.thresholds.window.get();
        let (lasting, begins) = if older {
            ("for at least", "has begun")
        } else {
            ("for", "begins")
        };
        let text = format!("{} {lasting} {}", sign.headline, words::length(lasted));
        if older {
            let text = format!(
                "when {} began: no later than this, as earlier readings are not kept one by one",
                sign.cause.as_str()
            );
            finding.missing.push(Evidence::at(text, "rule", sign.since));
        }
        finding.timeline.push(Evidence::at(
            format!("{} {begins}", sign.cause.as_str()),
            "rule",
            sign.since,
        ));
        finding
            .supporting
            .push(Evidence::at(text, "rule", sign.since));
        finding.supporting.extend(sign.supporting);
        finding.contradicting.extend(sign.contradicting);
        finding.facts.extend(sign.facts);
    }
    if heat && !slow {
        throttle::no_throttle(gpu, &mut finding.contradicting);
    }
    context(gpu, &mut finding.facts);
    let ignored = heat::ignored_margin(gpu, seen.thresholds.margin.get());
    if ignored.is_some() {
        finding.missing.push(no_limit());
    }
    finding.facts.extend(ignored);
    finding
        .timeline
        .sort_by(|a, b| (a.at, &a.text).cmp(&(b.at, &b.text)));
    finding
}

/// What all that holds is consistent with: the worst condition's, and heat and throttling together.
fn explanation(signs: &[Sign]) -> &'static str {
    let has = |cause| signs.iter().any(|sign| sign.cause == cause);
    let hot = has(Cause::CoreTemperature) || has(Cause::MemoryTemperature);
    if hot && has(Cause::ThermalThrottle) {
        return "heat that holds the clocks down";
    }
    match signs[0].cause {
        Cause::CoreTemperature | Cause::MemoryTemperature => "cooling that falls short of the load",
        Cause::ThermalThrottle => "clocks held down by heat that no exported temperature shows",
        Cause::PowerBrake => "clocks held down by a supply at its limit",
        _ if signs[0].severity == Severity::Info => "an allocator that keeps what it has",
        _ => "a workload short of memory",
    }
}

/// Facts that help to read the rest.
fn context(gpu: &Gpu, facts: &mut Vec<Fact>) {
    for signal in [Signal::SmClock, Signal::PowerUsage, Signal::GpuUtilization] {
        if let Some(point) = gpu.live(signal) {
            facts.push(words::fact(signal, point));
        }
    }
    throttle::power_cap(gpu, facts);
    if let Some(model) = &gpu.identity.model {
        facts.push(Fact {
            name: "product".into(),
            value: model.to_string(),
            source: "modelName".into(),
            at: None,
        });
    }
}

/// What would help to decide and is not exported.
fn missing(gpu: &Gpu) -> Vec<Evidence> {
    let mut missing = Vec::new();
    let has = |signals: &[Signal]| {
        signals
            .iter()
            .any(|signal| gpu.board.parts(*signal).next().is_some())
    };
    if !has(&throttle::THERMAL) {
        missing.push(Evidence::of(
            "whether clocks are held down is not exported: add DCGM_FI_DEV_CLOCKS_EVENT_REASONS or \
             DCGM_FI_DEV_THERMAL_VIOLATION to the exporter's counters",
            "dcgm-exporter",
        ));
    }
    if !has(&[Signal::SlowdownTemperature, Signal::TemperatureMargin]) {
        missing.push(no_limit());
    }
    missing
}

fn no_limit() -> Evidence {
    Evidence::of(
        "the board's own temperature limit is not exported: add DCGM_FI_DEV_SLOWDOWN_TEMP",
        "dcgm-exporter",
    )
}

fn checklist(gpu: &Gpu, signs: &[Sign], kubernetes: bool) -> Vec<Step> {
    let node = Some(gpu.node()).filter(|node| kubernetes && !node.is_empty());
    let pressure = |sign: &Sign| sign.cause == Cause::MemoryPressure;
    let mut steps = Vec::new();
    if signs.iter().any(pressure) {
        let text = "See which pods are on the node and what they allocate: a caching allocator \
                    that fills the framebuffer is normal.";
        steps.push(node.map_or_else(|| look(text), |node| pods_of(text, node)));
    }
    if !signs.iter().all(pressure) {
        steps.push(look(
            "Compare the board with its neighbours: one hot board points at the board or its \
             airflow, all of them at the room or the rack.",
        ));
        let uuid = quoted(gpu.uuid.as_str());
        steps.push(run(
            "Read temperatures, limits and clock-event reasons as the driver sees them, on the node.",
            format!("nvidia-smi -q -i {uuid} -d TEMPERATURE,PERFORMANCE,POWER"),
        ));
        steps.push(look(
            "Read the machine's management controller for fan, coolant and power-supply events.",
        ));
    }
    steps.extend(node.map(describe_node));
    steps
}

/// A length of time in which nothing is known is no evidence; used by the parts of the rule.
fn window_start(now: Timestamp, window: SignedDuration) -> Timestamp {
    now.saturating_sub(window).unwrap_or(now)
}

#[cfg(test)]
mod tests;
