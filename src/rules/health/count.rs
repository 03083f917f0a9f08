//! Counts of GPUs that should agree: boards in telemetry, capacity, GPU feature discovery, and
//! the boards that were there before.

use jiff::Timestamp;

use super::capacity::severity;
use super::fleet::Fleet;
use super::node::{Claim, NodeFound, View, restarts};
use super::sign::{Kind, Sign};
use crate::finding::{Cause, Evidence, Fact, Reason, Severity};
use crate::rules::words;
use crate::snapshot::{Gpu, Liveness, Track};

/// Looks for counts that disagree.
pub(super) fn look(fleet: &Fleet<'_>, view: &View<'_>, node: &mut NodeFound) {
    let boards = Boards::of(fleet, view);
    if boards.live == 0 {
        // Nothing is heard of the node's boards: FRESH says so. What they would show is not known.
        node.undecided(Reason::Blind);
        return;
    }
    let discovered = view.node.labels.keys().any(|key| {
        matches!(
            &**key,
            "nvidia.com/gpu.product" | "nvidia.com/gpu.memory" | "nvidia.com/gpu.machine"
        )
    });
    if boards.silent {
        node.undecided(Reason::Blind);
    }
    if discovered && view.labelled_gpus().is_none() {
        node.undecided(Reason::InventoryIncomplete);
    }
    node.found.facts.push(Fact {
        name: "boards in telemetry".into(),
        value: boards.present.to_string(),
        source: "telemetry".into(),
        at: None,
    });
    let (mig, shared) = (view.is_mig(fleet), view.is_shared());
    if mig || shared {
        let what = if mig {
            "MIG is in use"
        } else {
            "GPUs are shared by replicas"
        };
        node.found.missing.push(Evidence::of(
            format!("a comparison of boards with capacity: {what}, so the resource does not count boards"),
            "node status",
        ));
    }
    let whole = view.node.capacity.get("nvidia.com/gpu").copied();
    let capacity = whole.filter(|count| *count > 0 && !mig && !shared);
    let labelled = view.labelled_gpus().filter(|_| !mig);
    let Some(mismatch) = Mismatch::of(fleet, view, &boards, capacity, labelled) else {
        return;
    };
    mismatch.report(fleet, view, &boards, node);
}

/// The boards of a node as telemetry tells of them.
struct Boards {
    live: usize,
    present: i64,
    /// Whether some are of an exporter that does not answer, and may be there or not.
    silent: bool,
    missing: Vec<(usize, Timestamp)>,
    first_seen: Option<Timestamp>,
}

impl Boards {
    fn of(fleet: &Fleet<'_>, view: &View<'_>) -> Self {
        let mut missing = Vec::new();
        let mut newcomers: Vec<Timestamp> = Vec::new();
        let (mut live, mut present, mut silent) = (0, 0, false);
        for at in view.boards {
            let gpu = &fleet.snapshot.gpus[*at];
            match gpu.liveness {
                // A board of an earlier machine of this name is nobody's loss.
                Liveness::Vanished { since } if since < view.node.created => {}
                Liveness::Vanished { since } => missing.push((*at, since)),
                Liveness::Live | Liveness::Frozen { .. } => {
                    live += 1;
                    present += 1;
                    newcomers.extend(first_seen(gpu));
                }
                // Its exporter does not answer: nothing is known of it.
                Liveness::Stale { .. } if fleet.is_silent(gpu) => {
                    silent = true;
                    present += 1;
                }
                // Its exporter answers without it, or moved and answers elsewhere without it.
                Liveness::Stale { since } if since < view.node.created => {}
                Liveness::Stale { since } => missing.push((*at, since)),
            }
        }
        let first = newcomers.iter().min().copied();
        // A board that came after another was last seen stands in its place.
        missing.retain(|(_, since)| {
            let heir = newcomers.iter().position(|first| first > since);
            heir.map(|heir| newcomers.remove(heir)).is_none()
        });
        Self {
            live,
            present,
            silent,
            missing,
            first_seen: first,
        }
    }

    /// How many there were, as far as that was seen.
    fn before(&self) -> i64 {
        self.present + i64::try_from(self.missing.len()).unwrap_or(0)
    }
}

fn first_seen(gpu: &Gpu) -> Option<Timestamp> {
    gpu.entities()
        .filter_map(|(_, entity)| entity.first_seen)
        .min()
}

/// Counts that do not agree.
struct Mismatch {
    texts: Vec<String>,
    since: Timestamp,
    /// Whether fewer boards are seen than should be there.
    fewer: bool,
}

impl Mismatch {
    fn of(
        fleet: &Fleet<'_>,
        view: &View<'_>,
        boards: &Boards,
        capacity: Option<i64>,
        labelled: Option<i64>,
    ) -> Option<Self> {
        let seen = boards.present;
        let mut texts = Vec::new();
        let mut fewer = false;
        if !boards.missing.is_empty() {
            fewer = true;
            let before = boards.before();
            texts.push(format!(
                "{seen} boards in telemetry where {before} were seen before"
            ));
        }
        for (expected, what) in [(capacity, "capacity"), (labelled, "GPU feature discovery")] {
            let Some(expected) = expected.filter(|expected| *expected != seen) else {
                continue;
            };
            fewer |= expected > seen;
            texts.push(format!(
                "{seen} boards in telemetry, {what} says {expected}"
            ));
        }
        let both = capacity.zip(labelled);
        if let Some((capacity, labelled)) = both.filter(|(a, b)| a != b && *a != seen && *b != seen)
        {
            texts.push(format!(
                "capacity says {capacity}, GPU feature discovery {labelled}"
            ));
        }
        if texts.is_empty() {
            return None;
        }
        let vanished = boards.missing.iter().map(|(_, since)| *since).min();
        let changed = view
            .track
            .and_then(|track| track.capacity.get("nvidia.com/gpu"))
            .map(Track::changed);
        // Both sides must have been known for the disagreement to have a length.
        let known = changed.max(boards.first_seen);
        let since = vanished.or(known).unwrap_or(fleet.snapshot.now);
        Some(Self {
            texts,
            since,
            fewer,
        })
    }

    fn report(&self, fleet: &Fleet<'_>, view: &View<'_>, boards: &Boards, node: &mut NodeFound) {
        let thresholds = fleet.thresholds;
        let lasted = fleet.snapshot.now.duration_since(self.since);
        if lasted < thresholds.hold.get() {
            node.found.holds = true;
            return;
        }
        let critical_after = thresholds.capacity_critical_after.get();
        let (mut severity, planned) = severity(fleet, view, lasted, critical_after);
        if !self.fewer {
            // More boards than Kubernetes knows of: capacity, but no board, is missing.
            severity = severity.min(Severity::Warning);
        }
        let text = format!(
            "{} since {}",
            self.texts.join("; "),
            words::moment(self.since)
        );
        let evidence = Evidence::at(text.clone(), "node status and telemetry", self.since);
        let mut sign = Sign::new(
            Cause::GpuCountMismatch,
            severity,
            Kind::Count,
            self.since,
            text,
            evidence,
        )
        .reading(if self.fewer {
            "a GPU that is missing; power, PCIe, heat and the GPU itself cannot be told apart from here"
        } else {
            "a GPU that the device plugin does not offer"
        });
        for (at, since) in &boards.missing {
            let gpu = &fleet.snapshot.gpus[*at];
            sign.facts.push(Fact {
                name: "board no longer named".into(),
                value: gpu.uuid.to_string(),
                source: "telemetry".into(),
                at: Some(*since),
            });
            sign.timeline.push(Evidence::at(
                format!("{} last named by its exporter", gpu.title()),
                "telemetry",
                *since,
            ));
        }
        sign.against.extend(planned);
        sign.against.extend(restarts(fleet, view, self.since));
        let claim = if !self.fewer {
            // Too many boards say nothing against any one of them.
            Claim::Node
        } else if boards.missing.is_empty() {
            Claim::OneInTrouble
        } else {
            Claim::Boards(boards.missing.iter().map(|(at, _)| *at).collect())
        };
        node.signs.push((sign, claim));
    }
}
