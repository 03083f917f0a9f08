//! A framebuffer that is nearly full.

use jiff::Timestamp;

use super::{Seen, Sign, window_start, words};
use crate::finding::{Cause, Evidence, Severity};
use crate::snapshot::{ClusterSnapshot, Entity, Gpu, Instance, Point, Signal, Termination};

/// XID of a GPU memory page fault.
const PAGE_FAULT: u16 = 31;
/// Values are whole MiB, and are not read in one moment: more than this above the total is not
/// a full framebuffer but values that do not fit.
const ROUNDING: f64 = 0.01;

/// The board's framebuffer, or that of its fullest instance.
pub(super) fn framebuffer(seen: &mut Seen<'_>, snapshot: &ClusterSnapshot) {
    let gpu = seen.gpu;
    let mut fullest: Option<(f64, Timestamp, Option<&Instance>, Point)> = None;
    for (instance, entity) in gpu.entities() {
        let Some((share, since, used)) = full(seen, entity) else {
            continue;
        };
        if fullest.is_none_or(|(most, ..)| share > most) {
            fullest = Some((share, since, instance, used));
        }
    }
    let Some((share, since, instance, used)) = fullest else {
        return;
    };
    let of = instance.map_or(String::new(), |instance| {
        let profile = instance.profile.as_deref().unwrap_or("unknown profile");
        format!(" of instance {} ({profile})", instance.id.0)
    });
    let supporting = failures(gpu, snapshot, seen.thresholds.failure_window.get());
    seen.signs.push(Sign {
        cause: Cause::MemoryPressure,
        severity: if supporting.is_empty() {
            Severity::Info
        } else {
            Severity::Warning
        },
        since,
        headline: format!(
            "the framebuffer{of} is {} full",
            words::quantity(share, "ratio")
        ),
        facts: vec![words::fact(Signal::FramebufferUsed, used)],
        supporting,
        contradicting: Vec::new(),
    });
}

/// The share in use and since when it has been beyond the threshold, if for long enough.
fn full(seen: &mut Seen<'_>, entity: &Entity) -> Option<(f64, Timestamp, Point)> {
    let gpu = seen.gpu;
    let live = |signal: Signal| gpu.reading_of(entity, signal).live();
    let used = live(Signal::FramebufferUsed)?;
    let reserved = live(Signal::FramebufferReserved).map_or(0.0, |point| point.value);
    let total = match live(Signal::FramebufferTotal) {
        Some(total) => total.value,
        None => used.value + live(Signal::FramebufferFree)?.value + reserved,
    };
    if total <= 0.0 {
        seen.unfit |= used.value > 0.0;
        return None;
    }
    if used.value > total * (1.0 + ROUNDING) {
        seen.unfit = true;
        return None;
    }
    let threshold = seen.thresholds.framebuffer.get();
    let beyond = |value: f64| value / total >= threshold;
    let since = seen.held(entity.track(Signal::FramebufferUsed)?, beyond)?;
    Some(((used.value / total).min(1.0), since, used))
}

/// What makes a full framebuffer more than a habit of allocators.
fn failures(gpu: &Gpu, snapshot: &ClusterSnapshot, window: jiff::SignedDuration) -> Vec<Evidence> {
    let from = window_start(snapshot.now, window);
    let mut evidence = Vec::new();
    for (_, entity) in gpu.entities() {
        let edges = entity
            .track(Signal::Xid)
            .map_or(&[][..], |track| track.edges());
        for edge in edges
            .iter()
            .filter(|edge| edge.code == PAGE_FAULT && edge.is_dated() && edge.at >= from)
        {
            evidence.push(Evidence::at(
                "XID 31, a memory page fault",
                Signal::Xid.spec().name,
                edge.at,
            ));
        }
        for end in &snapshot.terminations {
            if let Some(at) = end
                .finished
                .filter(|at| *at >= from && ran_out(end) && held(entity, end, *at))
            {
                let text = format!("{}/{} ended out of memory", end.namespace, end.pod);
                evidence.push(Evidence::at(text, "kubernetes", at));
            }
        }
    }
    evidence.dedup();
    evidence
}

fn ran_out(end: &Termination) -> bool {
    &*end.reason == "OOMKilled" || end.message.to_ascii_lowercase().contains("out of memory")
}

fn held(entity: &Entity, end: &Termination, at: Timestamp) -> bool {
    let names = |hold: &crate::snapshot::Hold| {
        hold.pod.namespace == end.namespace && hold.pod.pod == end.pod
    };
    entity
        .holds
        .iter()
        .any(|hold| names(hold) && hold.from <= at)
}
