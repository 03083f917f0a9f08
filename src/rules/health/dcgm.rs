//! DCGM's own health check, and the recovery action that the driver asks for.

use super::fleet::Fleet;
use super::sign::{Doubt, Found, Kind, Sign};
use super::xid::{Standing, standing};
use crate::finding::{Cause, Evidence, Fact, Severity};
use crate::rules::{words, xid};
use crate::snapshot::{Gpu, HealthWatch, SeriesKey, Signal};

/// DCGM's value for a failed check.
const FAIL: f64 = 20.0;
/// DCGM's value for a warning.
const WARN: f64 = 10.0;

/// Looks at what DCGM and the driver say themselves.
pub(super) fn look(fleet: &Fleet<'_>, at: usize, found: &mut Found) {
    let gpu = &fleet.snapshot.gpus[at];
    let signal = Signal::HealthStatus;
    let (mut passed, mut looked_at) = (0, 0);
    for (part, track) in gpu.board.parts(signal) {
        let Some(last) = gpu.live(SeriesKey { signal, part }) else {
            continue;
        };
        looked_at += 1;
        if last.value <= 0.0 {
            passed += 1;
            continue;
        }
        let watch = HealthWatch::ALL
            .into_iter()
            .find(|watch| watch.part() == part);
        let name = watch.map_or("GPU", HealthWatch::label);
        let since = track.changed();
        if last.value < FAIL && is_noisy(watch) {
            found.facts.push(Fact {
                name: format!("DCGM health check of {name}").into(),
                value: "WARN (on any violation within a minute: noise by itself)".to_owned(),
                source: signal.spec().name.into(),
                at: Some(last.at),
            });
        } else if last.value >= WARN && !repeats(gpu, watch, last.value) {
            found
                .signs
                .push(sign(fleet, at, name, last.value >= FAIL, since));
        }
    }
    if looked_at > 0 && passed == looked_at {
        let text = format!("DCGM's own health check passes ({looked_at} of {looked_at} watches)");
        found
            .against
            .push(Evidence::at(text, signal.spec().name, gpu.live_at));
    }
    recovery(gpu, found);
}

/// DCGM warns of temperature and power on any violation within the last minute.
fn is_noisy(watch: Option<HealthWatch>) -> bool {
    matches!(watch, Some(HealthWatch::Thermal | HealthWatch::Power))
}

/// Whether the check of everything only repeats what the check of a part says.
fn repeats(gpu: &Gpu, watch: Option<HealthWatch>, value: f64) -> bool {
    let signal = Signal::HealthStatus;
    let says = |part: HealthWatch| {
        let part = part.part();
        gpu.live(SeriesKey { signal, part })
            .is_some_and(|last| last.value >= value)
    };
    let mut parts = HealthWatch::ALL
        .into_iter()
        .filter(|part| *part != HealthWatch::All);
    watch == Some(HealthWatch::All) && parts.any(says)
}

fn sign(fleet: &Fleet<'_>, at: usize, watch: &str, failed: bool, since: jiff::Timestamp) -> Sign {
    let (severity, word) = if failed {
        (Severity::Critical, "FAIL")
    } else {
        (Severity::Warning, "WARN")
    };
    let text = format!("DCGM's health check of {watch} says {word}");
    let source = Signal::HealthStatus.spec().name;
    let evidence = Evidence::at(text.clone(), source, since);
    let mut sign = Sign::new(
        Cause::DcgmHealth,
        severity,
        Kind::Derived,
        since,
        text,
        evidence,
    );
    // DCGM warns on codes of the application class as well (31, 43 …).
    if let (false, Some(codes)) = (failed, only_program_codes(fleet, at)) {
        sign.severity = Severity::Info;
        sign.doubt = Some(Doubt::Contradicted);
        sign.reading = "DCGM's echo of an XID that points at the program".into();
        sign.against.push(Evidence::of(
            format!("the only XIDs of this GPU are of the application or consequence class ({codes}), on which DCGM warns too"),
            xid::SOURCE,
        ));
    }
    sign
}

/// The active codes of a board, if there are any and none is evidence of a hardware fault.
fn only_program_codes(fleet: &Fleet<'_>, at: usize) -> Option<String> {
    let gpu = &fleet.snapshot.gpus[at];
    let rebooted = fleet.rebooted(gpu);
    let mut codes = Vec::new();
    for event in &fleet.events[at] {
        if standing(fleet.thresholds, gpu, event, rebooted) != Standing::Active {
            continue;
        }
        let known = xid::lookup(event.code)?;
        if !known.is_application() && !known.is_consequence() {
            return None;
        }
        codes.push(event.code.to_string());
    }
    codes.dedup();
    (!codes.is_empty()).then(|| codes.join(", "))
}

/// The action that the driver asks for, in words.
fn recovery(gpu: &Gpu, found: &mut Found) {
    let signal = Signal::RecoveryAction;
    let Some(last) = gpu.live(signal) else { return };
    let action = match last.value as u8 {
        0 => {
            found.against.push(Evidence::at(
                "the driver asks for no recovery action",
                signal.spec().name,
                last.at,
            ));
            return;
        }
        1 => "reset the GPU",
        2 => "reboot the node",
        3 => "drain peer-to-peer work",
        4 => "drain, then reset the GPU",
        _ => "an action that is not known here",
    };
    // No cause by itself, but no GPU that is asked to be reset is quiet.
    found.holds = true;
    found.facts.push(Fact {
        value: format!("{action} ({})", words::short(last.value)),
        ..words::fact(signal, last)
    });
}

/// Whether the driver asks for a recovery action.
pub(super) fn asks_for_recovery(gpu: &Gpu) -> bool {
    gpu.live(Signal::RecoveryAction)
        .is_some_and(|last| last.value > 0.0)
}
