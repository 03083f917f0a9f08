//! Which health signals a board exports: what is not seen is never healthy.

use jiff::{SignedDuration, Timestamp};

use super::code;
use super::fleet::Fleet;
use crate::finding::Evidence;
use crate::snapshot::{Entity, Gpu, Growth, Kind, Reading, SeriesKey, Signal, Track, dcgm_names};

/// The signals that tell of health. Series of one XID come and go by nature and are not here.
const HEALTH: [Signal; 16] = [
    Signal::Xid,
    Signal::EccSingleBitVolatile,
    Signal::EccDoubleBitVolatile,
    Signal::EccSingleBitAggregate,
    Signal::EccDoubleBitAggregate,
    Signal::RetiredPagesPending,
    Signal::RowRemapUncorrectable,
    Signal::RowRemapFailure,
    Signal::RowRemapPending,
    Signal::PcieReplay,
    Signal::NvlinkCrcFlit,
    Signal::NvlinkCrcData,
    Signal::NvlinkReplay,
    Signal::NvlinkRecovery,
    Signal::NvlinkFault,
    Signal::P2pStatus,
];

/// The signals that a finding names where they are missing, most telling first.
const WORTH_ADDING: [Signal; 10] = [
    Signal::Xid,
    Signal::XidWindowCount,
    Signal::EccDoubleBitVolatile,
    Signal::RowRemapFailure,
    Signal::RowRemapPending,
    Signal::RowRemapUncorrectable,
    Signal::PcieReplay,
    Signal::NvlinkCrcFlit,
    Signal::HealthStatus,
    Signal::RecoveryAction,
];

/// How far what a board exports allows to call it quiet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Export {
    /// What it ever exported, and what its siblings export, is there now.
    Whole,
    /// A health signal is missing that was there before or that its siblings have.
    Lost,
    /// The XID family has been missing for so long that what it showed is over by its age.
    LongLost,
    /// There is none at all.
    Nothing,
}

/// Every health signal that a board has shown lately and that its siblings should therefore have:
/// of the XID families only those that are there without an XID as well. A board that went silent
/// still tells what its exporter exports.
pub(super) fn exported(gpu: &Gpu) -> impl Iterator<Item = Signal> + '_ {
    let lately = |track: &Track| {
        let age = gpu.now.duration_since(track.last().at);
        age <= gpu.limits.forget_after.get()
    };
    HEALTH
        .into_iter()
        .chain([Signal::XidWindowCount, Signal::HealthStatus])
        .filter(move |signal| match signal {
            Signal::Xid => gpu.entities().any(|(_, entity)| shows_zero(entity)),
            Signal::XidWindowCount => gpu.board.track(*signal).is_some_and(lately),
            _ => gpu
                .entities()
                .any(|(_, entity)| entity.parts(*signal).any(|(_, track)| lately(track))),
        })
}

fn is_live(gpu: &Gpu, signal: Signal) -> bool {
    gpu.entities().any(|(_, entity)| {
        entity.parts(signal).any(|(part, _)| {
            let key = SeriesKey { signal, part };
            gpu.reading_of(entity, key).live().is_some()
        })
    })
}

/// Whether the XID family is there without an XID: DCGM 4.5 and 4.6 leave it out, and then one
/// board's code says nothing about another board's missing family.
fn shows_zero(entity: &Entity) -> bool {
    entity
        .track(Signal::Xid)
        .is_some_and(|track| track.ever(|value| value == 0.0))
}

/// Whether one MIG instance of a board has never told of XIDs although another does without one.
fn part_without_xid(gpu: &Gpu) -> bool {
    let tells = |entity: &Entity| entity.track(Signal::Xid).is_some_and(was_there);
    let mut instances = gpu.instances.iter();
    instances.clone().any(|part| shows_zero(&part.entity))
        && instances.any(|part| !tells(&part.entity))
}

/// How far what a board exports allows to call it quiet. Only XIDs end by their age: a level or
/// rate that was trouble when its series ended is never quiet for want of the series.
pub(super) fn state(fleet: &Fleet<'_>, at: usize) -> Export {
    let (limits, gpu) = (&fleet.snapshot.limits, &fleet.snapshot.gpus[at]);
    let mut state = Export::Whole;
    for lost in lost(fleet, gpu) {
        let gone = gpu.now.duration_since(lost.since);
        let xid_gone_after = fleet.thresholds.xid_clear_after.get();
        let after = match lost.signal {
            Signal::Xid => xid_gone_after,
            _ => limits.forget_after.get(),
        };
        if gone < after || lost.in_trouble {
            return Export::Lost;
        }
        // Long enough to close what was open; after that, it is a signal that is not exported.
        let closes = gone < after + limits.forget_after.get() || code::has_expired(fleet, at);
        if lost.signal == Signal::Xid && closes {
            state = Export::LongLost;
        }
    }
    if state != Export::Whole {
        return state;
    }
    let known = [
        Signal::XidWindowCount,
        Signal::XidTotal,
        Signal::HealthStatus,
    ];
    if !HEALTH
        .into_iter()
        .chain(known)
        .any(|signal| is_live(gpu, signal))
    {
        return Export::Nothing;
    }
    let missing_here = fleet
        .exported_beside(gpu)
        .is_some_and(|beside| beside.iter().any(|signal| !is_live(gpu, *signal)));
    if missing_here || part_without_xid(gpu) {
        Export::Lost
    } else {
        Export::Whole
    }
}

/// A health series that was seen and is not live.
struct Lost {
    signal: Signal,
    /// When it was last there.
    since: Timestamp,
    /// Whether its last word was one that can hold a finding open.
    in_trouble: bool,
}

fn lost(fleet: &Fleet<'_>, gpu: &Gpu) -> Vec<Lost> {
    let mut lost = Vec::new();
    for (_, entity) in gpu.entities() {
        for signal in HEALTH.into_iter().chain([Signal::HealthStatus]) {
            for (part, track) in entity.parts(signal) {
                let key = SeriesKey { signal, part };
                let since = match gpu.reading_of(entity, key) {
                    Reading::Stale(seen) => seen.at,
                    // An absent XID family: seen before, or never (on an instance's board, or
                    // on a DCGM that has none before the first XID).
                    Reading::Missing(_) if was_there(track) => track.changed(),
                    Reading::Live(_) | Reading::Missing(_) => continue,
                };
                lost.push(Lost {
                    signal,
                    since,
                    in_trouble: in_trouble(fleet, signal, track),
                });
            }
        }
    }
    lost
}

/// Whether the last word of a series is one that can hold a finding open.
fn in_trouble(fleet: &Fleet<'_>, signal: Signal, track: &Track) -> bool {
    let last = track.last();
    let raised = last.value > 0.0;
    let grew_lately = track.grew().is_some_and(|grew| {
        last.at.duration_since(grew) < fleet.thresholds.memory_growth_window.get()
    });
    match signal.spec().kind {
        // A path that was never seen up is how the machine is built.
        Kind::State if signal == Signal::P2pStatus => raised && track.before_change().is_some(),
        Kind::State => raised,
        Kind::Counter | Kind::Lifetime => {
            grew_lately || (raised && signal == Signal::EccDoubleBitVolatile)
        }
        Kind::Gauge | Kind::Code | Kind::Bits => false,
    }
}

fn was_there(track: &Track) -> bool {
    track.first().value >= 0.0 || track.before_change().is_some()
}

/// Health signals that the board does not export, with the field to add.
pub(super) fn missing(gpu: &Gpu) -> Vec<Evidence> {
    let absent = |signal: &Signal| !is_live(gpu, *signal);
    WORTH_ADDING
        .into_iter()
        .filter(absent)
        .map(|signal| {
            let spec = signal.spec();
            let field = dcgm_names()
                .iter()
                .find(|name| name.signal == signal)
                .map_or(spec.name, |name| name.name);
            let seen = gpu
                .entities()
                .any(|(_, entity)| entity.parts(signal).any(|(_, track)| was_there(track)));
            let text = if seen {
                format!("{field} ({}) has no present value", spec.help)
            } else {
                format!(
                    "{field} ({}) is not exported for this GPU: add it to the exporter's counter file",
                    spec.help
                )
            };
            Evidence::of(text, field)
        })
        .collect()
}

/// The growth of a counter over all links: that of the series of the whole where there is one,
/// else the sum of the parts, never both.
pub(super) fn growth_over_links(
    gpu: &Gpu,
    signal: Signal,
    window: SignedDuration,
) -> Option<Growth> {
    let from = gpu.now.saturating_sub(window).unwrap_or(gpu.now);
    let live = |key: SeriesKey| gpu.reading(key).live().is_some();
    if live(signal.into()) {
        return gpu.board.track(signal)?.growth_since(from);
    }
    let parts = gpu.board.parts(signal).filter(|(part, _)| {
        let key = SeriesKey {
            signal,
            part: *part,
        };
        part.number().is_some() && live(key)
    });
    parts
        .filter_map(|(_, track)| track.growth_since(from))
        .reduce(|a, b| Growth {
            amount: a.amount + b.amount,
            over: a.over.max(b.over),
            began: a.began.into_iter().chain(b.began).min(),
            older: a.older || b.older,
        })
}
