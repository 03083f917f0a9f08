//! What the active XIDs of a board amount to.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use jiff::SignedDuration;

use super::dcgm::asks_for_recovery;
use super::fleet::Fleet;
use super::severity::{XidSeverity, severity_of};
use super::sign::{Doubt, Found, Kind, Sign, Weight};
use super::xid::{Event, Standing, reset, standing};
use crate::finding::{Cause, Evidence, Fact, Severity};
use crate::rules::words;
use crate::rules::xid::{self, Class, DevicePlugin, Xid};
use crate::snapshot::{Gpu, Liveness, Signal};

/// How far a holder may have been named from an event and still have held the GPU at it.
const HELD: SignedDuration = SignedDuration::from_secs(90);
/// NVIDIA's code for a change of the recovery action.
const RECOVERY_CHANGED: u16 = 154;

/// The events of a board that count, by code.
pub(super) fn active<'a>(fleet: &'a Fleet<'_>, at: usize) -> BTreeMap<u16, Vec<&'a Event>> {
    let gpu = &fleet.snapshot.gpus[at];
    let rebooted = fleet.rebooted(gpu);
    let mut active: BTreeMap<u16, Vec<&Event>> = BTreeMap::new();
    for event in &fleet.events[at] {
        if standing(fleet.thresholds, gpu, event, rebooted) == Standing::Active {
            active.entry(event.code).or_default().push(event);
        }
    }
    active
}

/// Whether an event has just become too old to count without a reset having been seen.
pub(super) fn has_expired(fleet: &Fleet<'_>, at: usize) -> bool {
    let gpu = &fleet.snapshot.gpus[at];
    let rebooted = fleet.rebooted(gpu);
    // Long enough to close what was open; after that it is history.
    let until = fleet.thresholds.xid_expire_after.get() + fleet.snapshot.limits.forget_after.get();
    fleet.events[at].iter().any(|event| {
        standing(fleet.thresholds, gpu, event, rebooted) == Standing::Expired
            && gpu.now.duration_since(event.at) < until
    })
}

/// Looks at a board's XIDs. `capacity_lost`: the node lacks a GPU and this is the one.
pub(super) fn look(fleet: &Fleet<'_>, at: usize, capacity_lost: bool, found: &mut Found) {
    let gpu = &fleet.snapshot.gpus[at];
    let active = active(fleet, at);
    // One collection that failed for the board is no loss.
    let vanished = matches!(gpu.liveness, Liveness::Vanished { since }
        if gpu.now.duration_since(since) >= fleet.thresholds.vanished_after.get());
    let alone = active.values().all(|events| {
        let known = events.first().and_then(|event| xid::lookup(event.code));
        known.is_some_and(Xid::is_consequence)
    });
    let summary_given = active.contains_key(&RECOVERY_CHANGED);
    for (code, events) in &active {
        let times: u64 = events.iter().map(|event| event.times).sum();
        let context = Context {
            fleet,
            gpu,
            at,
            code: *code,
            known: xid::lookup(*code),
            times,
            lost: capacity_lost || vanished,
            agreed: capacity_lost
                || vanished
                || times > 1
                || asks_for_recovery(gpu)
                || (summary_given && *code != RECOVERY_CHANGED),
            alone,
        };
        found.signs.extend(context.sign(events));
    }
    timeline(fleet, at, found);
}

/// One code on one board.
struct Context<'a> {
    fleet: &'a Fleet<'a>,
    gpu: &'a Gpu,
    /// The board's place in the snapshot.
    at: usize,
    code: u16,
    known: Option<&'static Xid>,
    times: u64,
    lost: bool,
    agreed: bool,
    alone: bool,
}

impl Context<'_> {
    fn sign(&self, events: &[&Event]) -> Option<Sign> {
        let (first, last) = (events.first()?, events.last()?);
        let dated = events.iter().any(|event| event.after.is_some());
        let overrides = &self.fleet.thresholds.xid_severity;
        let mut severity = severity_of(self.code, overrides);
        let by_operator = overrides.sets(self.code);
        let unsure = self.known.is_none_or(|known| known.needs_corroboration) && !self.agreed;
        if (unsure && !by_operator) || (!dated && !self.lost) {
            severity = severity.min(Severity::Warning);
        }
        let repeated = self.repeats_under_other_jobs(events);
        if repeated && !by_operator {
            severity = severity.max(Severity::Warning);
        }
        let headline = format!("XID {} ({})", self.code, self.meaning());
        let text = format!("{headline}{}{}", when(last), self.how_often());
        let evidence = Evidence::at(text, last.source.spec().name, last.at);
        let mut sign = Sign::new(
            Cause::Xid(self.code),
            severity,
            Kind::Xid,
            first.at,
            headline,
            evidence,
        )
        .reading(self.reading(repeated))
        .fact(self.fact(last));
        if unsure || (!dated && !self.lost) {
            sign.weight = Weight::Capped;
        } else if dated && self.known.is_some_and(Xid::is_hardware) {
            sign.weight = Weight::Direct;
        }
        sign.facts.extend(self.knowledge());
        self.speak_against(&mut sign, events, repeated);
        if !dated {
            sign.missing.push(Evidence::of(
                "when it happened: the code was there when the GPU was first seen, and the gauge is sticky",
                Signal::Xid.spec().name,
            ));
        }
        if unsure {
            sign.missing.push(Evidence::of(
                "a repeat, XID 154, a recovery action or lost capacity: the code alone does not carry its weight",
                "XID catalogue",
            ));
        }
        Some(sign)
    }

    fn meaning(&self) -> &'static str {
        self.known
            .map_or("not in the catalogue: its weight is not known", |known| {
                known.meaning
            })
    }

    fn how_often(&self) -> String {
        if self.times > 1 {
            format!("; at least {} times", self.times)
        } else {
            "; at least once (the gauge hides repeats)".to_owned()
        }
    }

    fn fact(&self, event: &Event) -> Fact {
        let instances: Vec<_> = event
            .entities
            .iter()
            .flatten()
            .map(|id| id.0.to_string())
            .collect();
        // The same code on every instance at one time is one event of the board.
        let on_part = !instances.is_empty() && instances.len() < self.gpu.instances.len();
        let place = if on_part {
            format!(" on MIG instance {}", instances.join(", "))
        } else {
            String::new()
        };
        Fact {
            name: "XID".into(),
            value: format!("{}{place}", self.code),
            source: event.source.spec().name.into(),
            at: Some(event.at),
        }
    }

    /// What is known about the code: advice, traps, dispute, and what the device plugin does.
    fn knowledge(&self) -> Vec<Fact> {
        let Some(known) = self.known else {
            return Vec::new();
        };
        let fact = |name: &'static str, value: Cow<'static, str>| Fact {
            name: format!("XID {}: {name}", self.code).into(),
            value: value.into_owned(),
            source: "XID catalogue".into(),
            at: None,
        };
        let mut facts = vec![
            fact("recommended action", known.action.into()),
            fact("class", known.class.as_str().into()),
        ];
        facts.extend(known.note.map(|note| fact("note", note.into())));
        facts.extend(known.disputed.map(|text| fact("authorities", text.into())));
        let mild = severity_of(self.code, &XidSeverity::default()) == Severity::Info;
        let grave = known.clears_on_reset;
        facts.extend(match known.plugin {
            DevicePlugin::Withholds if mild => Some(fact(
                "device plugin",
                "withholds the GPU although the catalogue asks for no repair: allocatable falls by one, and only a restart of the plugin brings it back".into(),
            )),
            DevicePlugin::Withholds => Some(fact(
                "device plugin",
                "withholds the GPU: allocatable falls by one until the plugin is restarted".into(),
            )),
            DevicePlugin::Ignores if grave => Some(fact(
                "device plugin",
                "ignores the code although the catalogue asks for a reset: allocatable stays, and new pods can land on this GPU".into(),
            )),
            DevicePlugin::Ignores => None,
        });
        facts
    }

    /// What the code is consistent with. Power, PCIe, heat and board look alike from here.
    fn reading(&self, repeated: bool) -> &'static str {
        let Some(known) = self.known else {
            return "an event that the catalogue does not know";
        };
        if self.code == 79 {
            return "a GPU that is unreachable; power, PCIe, heat and the GPU itself cannot be told apart from here";
        }
        match known.class {
            Class::Application | Class::ApplicationOrDriver if repeated => {
                "a fault of this GPU: the code repeats here under different jobs and nowhere else"
            }
            Class::Application | Class::ApplicationOrDriver => {
                "a fault of the program; of the GPU only if it repeats here under other jobs"
            }
            Class::Consequence => {
                "the trace of another event: an earlier code may be hidden, as the gauge holds the last one only"
            }
            Class::Memory => "a fault of the GPU's memory",
            Class::NvLink => "a fault on an NVLink: either end, the switch or the connection",
            Class::Driver => "a fault of the driver or its firmware",
            Class::DriverOrHardware => "a fault of the driver or its firmware, else of the GPU",
            Class::HardwareOrDriver => "a fault of the GPU, else of the driver",
            Class::Hardware => "a fault of the GPU or of what powers and connects it",
            Class::Power => "a shortage of power at the GPU: cabling, supply or board",
            Class::BusOrApplication => "a fault of the PCIe connection, else of the program",
            Class::Summary => "the driver's summary of other events",
            Class::Info => "information: the catalogue asks for nothing",
            Class::Legacy => "a code that the catalogue does not list for current GPUs",
        }
    }

    /// Codes of programs are evidence of hardware only by repeating on one GPU, under different
    /// jobs, and on no other GPU.
    fn repeats_under_other_jobs(&self, events: &[&Event]) -> bool {
        let enough = self.times as f64 >= self.fleet.thresholds.xid_repeats.get();
        self.known.is_some_and(Xid::is_application)
            && enough
            && self.fleet.others_with(self.code, self.at) == 0
            && self.holders(events) > 1
    }

    /// How many pods held the board at the events.
    fn holders(&self, events: &[&Event]) -> usize {
        let mut pods = BTreeSet::new();
        for (_, entity) in self.gpu.entities() {
            for hold in &entity.holds {
                let near = |event: &&&Event| {
                    event.at.duration_since(hold.from) >= -HELD
                        && hold.to.duration_since(event.at) >= -HELD
                };
                if events.iter().any(|event| near(&event)) {
                    pods.insert(&hold.pod);
                }
            }
        }
        pods.len()
    }

    fn speak_against(&self, sign: &mut Sign, events: &[&Event], repeated: bool) {
        let Some(known) = self.known else { return };
        let others = self.fleet.others_with(self.code, self.at);
        if known.is_application() && !repeated {
            let text = if others > 0 {
                sign.doubt = Some(Doubt::Contradicted);
                format!(
                    "{others} other GPUs had the same code within a day, which points at a program"
                )
            } else {
                format!(
                    "XID {} points at the program first: it was not seen here repeatedly under different jobs",
                    self.code
                )
            };
            sign.against.push(Evidence::of(text, "XID catalogue"));
        }
        if known.is_consequence() && self.alone {
            sign.doubt = Some(Doubt::Inconclusive);
            sign.missing.push(Evidence::of(
                "the code before it: 43 and 45 follow from another event, which the gauge no longer shows; the kernel log does",
                Signal::Xid.spec().name,
            ));
            if others > 0 {
                sign.against.push(Evidence::of(
                    format!("{others} other GPUs had the same code within a day: look at what they share, such as the job or fabric manager"),
                    Signal::Xid.spec().name,
                ));
            }
        }
        let clean = self.gpu.live(Signal::EccDoubleBitVolatile);
        if known.class == Class::Memory && clean.is_some_and(|last| last.value <= 0.0) {
            sign.against.push(Evidence::of(
                "no uncorrectable memory error is counted since the driver was loaded",
                Signal::EccDoubleBitVolatile.spec().name,
            ));
        }
        let last = events.last().map_or(sign.since, |event| event.at);
        let lives = !self.gpu.is_blind() && self.gpu.live_at.duration_since(last) > HELD;
        if self.code == 79 && lives {
            sign.against.push(Evidence::at(
                "the GPU still reports after it",
                "telemetry",
                self.gpu.live_at,
            ));
        }
    }
}

fn when(event: &Event) -> String {
    let at = words::moment(event.at);
    match event.after {
        Some(after) => format!(
            " at {at}, or up to {} before",
            words::length(event.at.duration_since(after))
        ),
        None => format!(", there at first sight ({at}), of unknown age"),
    }
}

/// Every code of the last day, and the reset that ended it.
fn timeline(fleet: &Fleet<'_>, at: usize, found: &mut Found) {
    let gpu = &fleet.snapshot.gpus[at];
    let rebooted = fleet.rebooted(gpu);
    for event in &fleet.events[at] {
        if gpu.now.duration_since(event.at) > fleet.snapshot.limits.forget_after.get() {
            continue;
        }
        let text = match event.after {
            Some(_) => format!("XID {}", event.code),
            None => format!("XID {} at first sight, of unknown age", event.code),
        };
        found
            .timeline
            .push(Evidence::at(text, event.source.spec().name, event.at));
        if let Some((at, how)) = reset(gpu, event, rebooted) {
            found.timeline.push(Evidence::at(how, "telemetry", at));
        }
    }
    if let Liveness::Vanished { since } = gpu.liveness {
        found.timeline.push(Evidence::at(
            "last named by its exporter, which still answers",
            "telemetry",
            since,
        ));
    }
}
