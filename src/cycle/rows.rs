//! From a snapshot to the rows that are published.

use std::collections::{BTreeMap, BTreeSet};

use super::{EntityRow, Fleet, GpuRow};
use crate::finding::{Judgement, RuleId, Severity, Subject, Verdict};
use crate::incident::Open;
use crate::snapshot::{
    ClockEvent, ClusterSnapshot, Entity, Gpu, GpuUuid, Instance, NodeName, PodRef, Signal, Span,
    Track,
};

/// Share of the window that must be covered before a mean is shown.
const MEAN_COVERAGE: f64 = 0.8;

/// What is published of a board.
pub(super) fn gpu(gpu: &Gpu, snapshot: &ClusterSnapshot) -> GpuRow {
    let entities: Vec<_> = gpu
        .entities()
        .filter(|(instance, entity)| {
            instance.is_some() || gpu.instances.is_empty() || knows_xid(entity)
        })
        .map(|(instance, series)| entity(instance, series, snapshot))
        .collect();
    GpuRow {
        uuid: gpu.uuid.clone(),
        node: gpu.identity.node.clone(),
        index: gpu.identity.index,
        model: gpu.identity.model.clone(),
        liveness: gpu.liveness,
        live_at: gpu.live_at,
        throttle_seconds: throttle_seconds(&gpu.board),
        entities,
    }
}

fn knows_xid(entity: &Entity) -> bool {
    entity
        .track(Signal::Xid)
        .is_some_and(|track| track.last().value != Track::ABSENT)
}

fn entity(instance: Option<&Instance>, entity: &Entity, snapshot: &ClusterSnapshot) -> EntityRow {
    let xid = entity.track(Signal::Xid);
    let fresh = snapshot.limits.stale_after.get();
    // A recording has one value a collection, of which there may be fewer than scrapes.
    let every = snapshot
        .interval
        .max(snapshot.limits.collection_interval.get());
    let mut pods: Vec<PodRef> = entity
        .holds
        .iter()
        .filter(|hold| snapshot.now.duration_since(hold.to) <= fresh)
        .map(|hold| hold.pod.clone())
        .collect();
    pods.sort();
    pods.dedup();
    EntityRow {
        instance: instance.map(|instance| instance.id),
        xid_total: xid.map(Track::dated_edges),
        last_xid: xid
            .and_then(|track| track.edges().last())
            .map(|edge| edge.code),
        mean_utilization: entity
            .utilization
            .as_ref()
            .and_then(|slots| slots.mean(snapshot.now, every, MEAN_COVERAGE)),
        pod: if pods.len() == 1 { pods.pop() } else { None },
    }
}

/// Seconds of throttling by reason: from the counter that tells it, else from the clock-event
/// bits between collections.
fn throttle_seconds(board: &Entity) -> Vec<(&'static str, f64)> {
    use ClockEvent::{HwPowerBrake, HwThermal, SwPowerCap, SwThermal, SyncBoost};
    let grown = |signal: Signal| board.track(signal).map(Track::growth);
    // Several reasons can hold at once: at least one did for as long as the longest of them.
    let longest = |times: &mut dyn Iterator<Item = f64>| times.reduce(f64::max);
    let bits = |events: &[ClockEvent]| {
        let seconds = board.track(Signal::ClockEventReasons)?.bit_seconds()?;
        longest(&mut events.iter().map(|event| seconds[event.part().0 as usize]))
    };
    let thermal_times = || {
        let times = [Signal::SwThermalTime, Signal::HwThermalTime];
        longest(&mut times.into_iter().filter_map(grown))
    };
    [
        (
            "power",
            grown(Signal::PowerViolation)
                .or_else(|| grown(Signal::SwPowerCapTime))
                .or_else(|| bits(&[SwPowerCap])),
        ),
        (
            "thermal",
            grown(Signal::ThermalViolation)
                .or_else(thermal_times)
                .or_else(|| bits(&[SwThermal, HwThermal])),
        ),
        (
            "power_brake",
            grown(Signal::HwPowerBrakeTime).or_else(|| bits(&[HwPowerBrake])),
        ),
        (
            "sync_boost",
            grown(Signal::SyncBoostViolation).or_else(|| bits(&[SyncBoost])),
        ),
        ("board_limit", grown(Signal::BoardLimitViolation)),
        ("reliability", grown(Signal::ReliabilityViolation)),
    ]
    .into_iter()
    .filter_map(|(reason, seconds)| Some((reason, seconds?)))
    .collect()
}

/// GPUs by state. A board counts once: as unknown if it is blind, else by its incidents, else as
/// unknown if its health could not be decided.
pub(super) fn fleet(gpus: &[Gpu], open: &Open, judgements: &[Judgement]) -> Fleet {
    let mut boards: BTreeSet<&GpuUuid> = BTreeSet::new();
    let mut nodes: BTreeSet<&NodeName> = BTreeSet::new();
    for incident in open.values().filter(|i| i.severity > Severity::Info) {
        match &incident.key.subject {
            Subject::Gpu { uuid, .. } => _ = boards.insert(uuid),
            Subject::Node(node) => _ = nodes.insert(node),
            _ => {}
        }
    }
    let undecided = |judgement: &&Judgement| {
        judgement.key.rule == RuleId::Health && matches!(judgement.verdict, Verdict::Undecided(_))
    };
    let undecided: BTreeSet<&GpuUuid> = judgements
        .iter()
        .filter(undecided)
        .filter_map(|judgement| match &judgement.key.subject {
            Subject::Gpu { uuid, .. } => Some(uuid),
            _ => None,
        })
        .collect();
    let mut fleet = Fleet::default();
    for gpu in gpus.iter().filter(|gpu| gpu.replaced_by.is_none()) {
        let node = gpu.identity.node.as_ref();
        if gpu.is_blind() {
            fleet.unknown += 1;
        } else if boards.contains(&gpu.uuid) || node.is_some_and(|node| nodes.contains(node)) {
            fleet.finding += 1;
        } else if undecided.contains(&gpu.uuid) {
            fleet.unknown += 1;
        } else {
            fleet.ok += 1;
        }
    }
    fleet
}

/// For how many GPUs each signal that a rule needs arrives, on the board or on all its instances.
pub(super) fn signals(needs: &BTreeMap<Signal, Span>, gpus: &[Gpu]) -> Vec<(Signal, u64, u64)> {
    let arrives = |gpu: &Gpu, signal: Signal| {
        gpu.entities().any(|(_, entity)| {
            entity.parts(signal).any(|(part, _)| {
                gpu.reading_of(entity, crate::snapshot::SeriesKey { signal, part })
                    .live()
                    .is_some()
            })
        })
    };
    needs
        .keys()
        .map(|signal| {
            let available = gpus.iter().filter(|gpu| arrives(gpu, *signal)).count() as u64;
            (*signal, available, gpus.len() as u64 - available)
        })
        .collect()
}
