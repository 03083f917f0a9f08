//! Links: NVLink to other GPUs, PCIe to the host.

use jiff::Timestamp;

use super::export::growth_over_links;
use super::fleet::Fleet;
use super::memory::per_minute;
use super::sign::{Doubt, Found, Kind, Sign, Weight};
use crate::finding::{Cause, Evidence, Severity};
use crate::rules::{product, words, xid};
use crate::snapshot::{Gpu, SeriesKey, Signal, Track};

const LINK: &str = "a fault on an NVLink: either end, the switch or the connection between them";

/// Looks at a board's links.
pub(super) fn look(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    fault(gpu, found);
    crc(fleet, gpu, found);
    events(fleet, gpu, found);
    // Peer-to-peer is switched off under MIG.
    if gpu.instances.is_empty() {
        down(fleet, gpu, found);
    }
    pcie(fleet, gpu, found);
}

fn nvlink(severity: Severity, since: Timestamp, text: String, source: &'static str) -> Sign {
    let evidence = Evidence::at(text.clone(), source, since);
    Sign::new(Cause::Nvlink, severity, Kind::Link, since, text, evidence).reading(LINK)
}

/// The driver's own NVLink event.
fn fault(gpu: &Gpu, found: &mut Found) {
    let signal = Signal::NvlinkFault;
    let Some(last) = gpu.live(signal).filter(|last| last.value > 0.0) else {
        return;
    };
    let since = gpu.board.track(signal).map_or(last.at, Track::changed);
    let (severity, text) = if last.value >= 2.0 {
        (Severity::Critical, "a fatal NVLink error")
    } else {
        (Severity::Warning, "an NVLink error that asks for recovery")
    };
    let mut sign = nvlink(severity, since, text.to_owned(), signal.spec().name)
        .fact(words::fact(signal, last));
    if severity == Severity::Critical {
        sign.weight = Weight::Direct;
    }
    found.signs.push(sign);
}

/// CRC errors a second.
fn crc(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    let thresholds = fleet.thresholds;
    let window = thresholds.rate_window.get();
    for (signal, what) in [
        (Signal::NvlinkCrcFlit, "flow-control"),
        (Signal::NvlinkCrcData, "data"),
    ] {
        let Some(growth) = growth_over_links(gpu, signal, window) else {
            continue;
        };
        let rate = per_minute(growth.amount, growth.over, window) / 60.0;
        let enter = thresholds.nvlink_crc_per_second.get();
        if rate >= enter {
            let text = format!("{} NVLink {what} CRC errors a second", words::short(rate));
            let since = growth.began.unwrap_or(gpu.now);
            let sign = nvlink(Severity::Warning, since, text, signal.spec().name);
            found.signs.push(sign.grown(&growth));
        } else if rate > enter * thresholds.leave_ratio.get() {
            found.holds = true;
        }
    }
}

/// Replays and recoveries: one is worth a look.
fn events(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    let window = fleet.thresholds.nvlink_event_window;
    for (signal, what) in [
        (Signal::NvlinkReplay, "NVLink replays"),
        (Signal::NvlinkRecovery, "NVLink recoveries"),
    ] {
        let Some(growth) = growth_over_links(gpu, signal, window.get()) else {
            continue;
        };
        if let Some(began) = growth.began
            && growth.amount >= fleet.thresholds.nvlink_events.get()
        {
            let text = format!("{} {what} within {window}", words::short(growth.amount));
            let sign = nvlink(Severity::Warning, began, text, signal.spec().name);
            found.signs.push(sign.grown(&growth));
        }
    }
}

/// Links that were up and are down. A link that was never seen up is how the machine is built.
fn down(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    let signal = Signal::P2pStatus;
    for (part, track) in gpu.board.parts(signal) {
        let key = SeriesKey { signal, part };
        let is_down = gpu.live(key).is_some_and(|last| last.value > 0.0);
        let Some(peer) = part.number().filter(|_| is_down) else {
            continue;
        };
        if !was_up(track) {
            // It changed once, from what is no longer known: no reason to open, none to close.
            found.holds |= track.before_change().is_some();
            continue;
        }
        let since = track
            .run_start(|value| value > 0.0)
            .map_or(track.changed(), |run| run.min(track.changed()));
        let text = format!(
            "the NVLink peer-to-peer path to GPU {peer} was up and is down (status {})",
            words::short(track.last().value)
        );
        let mut sign = nvlink(Severity::Critical, since, text, signal.spec().name)
            .fact(words::fact(signal, track.last()));
        if let Some(why) = peer_is_in_trouble(fleet, gpu, peer) {
            sign.severity = Severity::Info;
            sign.doubt = Some(Doubt::Contradicted);
            sign.reading = "trouble at the other end of the link".into();
            sign.against.push(Evidence::of(
                format!("GPU {peer} of the same node {why}"),
                "telemetry",
            ));
        }
        found.signs.push(sign);
    }
}

fn was_up(track: &Track) -> bool {
    track.ever(|status| status <= 0.0)
}

/// What explains a lost link at its other end.
fn peer_is_in_trouble(fleet: &Fleet<'_>, gpu: &Gpu, peer: u16) -> Option<String> {
    let node = gpu.identity.node.as_ref()?;
    let at = fleet.boards.get(node)?.iter().copied().find(|at| {
        let other = &fleet.snapshot.gpus[*at];
        other.identity.index == Some(u32::from(peer)) && other.uuid != gpu.uuid
    })?;
    let other = &fleet.snapshot.gpus[at];
    if other.is_blind() {
        return Some("no longer reports".to_owned());
    }
    let fatal = |code: u16| xid::lookup(code).is_some_and(|known| known.clears_on_reset);
    fleet.events[at]
        .iter()
        .rev()
        .find(|event| fatal(event.code))
        .map(|event| format!("had XID {}", event.code))
}

/// PCIe replays a minute against what the link's permitted error rate explains.
fn pcie(fleet: &Fleet<'_>, gpu: &Gpu, found: &mut Found) {
    let (thresholds, signal) = (fleet.thresholds, Signal::PcieReplay);
    let window = thresholds.rate_window.get();
    let Some(last) = gpu.live(signal) else { return };
    let from = gpu.now.saturating_sub(window).unwrap_or(gpu.now);
    let Some(growth) = gpu
        .board
        .track(signal)
        .and_then(|track| track.growth_since(from))
    else {
        return;
    };
    let rate = per_minute(growth.amount, growth.over, window);
    let (limit, basis) = allowance(fleet, gpu);
    if rate <= limit * thresholds.leave_ratio.get() {
        return;
    }
    let (Some(began), true) = (growth.began, rate > limit) else {
        found.holds = true;
        return;
    };
    let text = format!(
        "{} PCIe replays a minute over {}; the link explains up to {}",
        words::short(rate),
        thresholds.rate_window,
        words::short(limit)
    );
    let evidence = Evidence::at(text.clone(), signal.spec().name, last.at);
    let mut sign = Sign::new(
        Cause::PcieReplay,
        Severity::Warning,
        Kind::Pcie,
        began,
        text,
        evidence,
    )
    .reading("a poor PCIe connection: the slot, a riser, the host or the GPU")
    .grown(&growth)
    .fact(words::fact(signal, last));
    sign.missing.push(Evidence::of(
        format!("generation and width of the PCIe link as trained are not exported; {basis}"),
        "product table",
    ));
    found.signs.push(sign);
}

/// Replays a minute that are nothing to report, and what that rests on.
fn allowance(fleet: &Fleet<'_>, gpu: &Gpu) -> (f64, String) {
    let known = gpu
        .identity
        .model
        .as_deref()
        .and_then(product::lookup)
        .and_then(|product| Some((product, product.replay_allowance_per_minute()?)));
    match known {
        Some((product, allowance)) => (
            f64::from(allowance.value),
            format!(
                "the allowance is that of {} at x16 ({})",
                product.name,
                allowance.basis.source()
            ),
        ),
        None => (
            fleet.thresholds.pcie_replays_per_minute.get(),
            "the product's link is not known, so the allowance of PCIe 3 at x16 is inferred"
                .to_owned(),
        ),
    }
}
