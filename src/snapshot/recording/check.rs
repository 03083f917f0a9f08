//! What a recording must satisfy beyond its grammar: each refusal names the place.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::{
    NodeSeries, Recording, RecordingError, Series, SeriesSubject, SeriesValues, gpu_series,
    node_series,
};
use crate::snapshot::{Kind, ListState, SourceId, SourceStatus, Span};

/// Slots that one series may have: more than a week at 15 s.
pub(super) const MAX_SLOTS: u32 = 50_000;

/// Slots of all subjects together: 10,000 GPUs for an hour at 15 s, three times over.
const MAX_SUBJECT_SLOTS: u64 = 8_000_000;

/// Values that one file may hold in all: a day of 10,000 series at 15 s.
const MAX_VALUES: u64 = 60_000_000;

/// Interval and grid: a second to a day.
const SHORTEST: Span = Span::seconds(1);
const LONGEST: Span = Span::minutes(24 * 60);

/// From the beginning of 1678 to the end of 2261: inside, history counts nanoseconds in 64 bits.
const YEARS: (i64, i64) = (-9_214_560_000, 9_214_646_399);

type Checked = Result<(), RecordingError>;

fn fail(place: impl Into<String>, problem: impl Into<String>) -> Checked {
    Err(RecordingError::Content {
        place: place.into(),
        problem: problem.into(),
    })
}

impl Recording {
    /// Whether everything in it can be; the error names the place and what is allowed.
    /// What [`parse`](Self::parse) returns has passed.
    pub fn check(&self) -> Result<(), RecordingError> {
        length("interval", self.interval)?;
        time("now", self.now)?;
        self.check_sources()?;
        self.check_inventory()?;
        self.check_times()?;
        self.check_sizes()?;
        for (at, series) in self.series.iter().enumerate() {
            series.check(&format!("series[{at}]"))?;
        }
        self.check_holders()?;
        self.check_future()
    }

    fn check_sources(&self) -> Checked {
        let mut seen = BTreeSet::new();
        for (at, source) in self.sources.iter().enumerate() {
            if !seen.insert(source.id) {
                return fail(
                    format!("sources[{at}].id"),
                    format!("`{}` is there twice", source.id),
                );
            }
            if source.id == SourceId::Kubernetes && source.lists.is_none() {
                return fail(
                    format!("sources[{at}].lists"),
                    "missing; the kubernetes source says how far its lists can be trusted",
                );
            }
        }
        let node = |series: &Series| matches!(series.subject, SeriesSubject::Node { .. });
        let told = [
            (SourceId::Dcgm, "series", !self.series.iter().all(node)),
            (SourceId::Kubernetes, "series", self.series.iter().any(node)),
            (SourceId::Kubernetes, "nodes", !self.nodes.is_empty()),
            (SourceId::Kubernetes, "pods", !self.pods.is_empty()),
            (SourceId::Kubernetes, "events", !self.events.is_empty()),
            (
                SourceId::Kubernetes,
                "terminations",
                !self.terminations.is_empty(),
            ),
        ];
        for (source, place, there) in told {
            if there && !seen.contains(&source) {
                return fail(
                    place,
                    format!("told by the source `{source}`, which `sources` does not list"),
                );
            }
        }
        Ok(())
    }

    fn check_inventory(&self) -> Checked {
        let mut names = BTreeSet::new();
        for (at, node) in self.nodes.iter().enumerate() {
            if !names.insert(&node.name) {
                return fail(
                    format!("nodes[{at}].name"),
                    format!("`{}` is there twice", node.name),
                );
            }
        }
        let mut uids = BTreeSet::new();
        for (at, pod) in self.pods.iter().enumerate() {
            if !uids.insert(&pod.uid) {
                return fail(
                    format!("pods[{at}].uid"),
                    format!("`{}` is there twice", pod.uid),
                );
            }
        }
        Ok(())
    }

    fn check_times(&self) -> Checked {
        let when = |place: String, at: Option<Timestamp>| at.map_or(Ok(()), |at| time(&place, at));
        for (i, source) in self.sources.iter().enumerate() {
            time(&format!("sources[{i}].since"), source.since)?;
            when(format!("sources[{i}].last_attempt"), source.last_attempt)?;
            when(format!("sources[{i}].last_success"), source.last_success)?;
            for (list, at) in synced(source) {
                time(&format!("sources[{i}].lists.{list}.synced"), at)?;
            }
            for (j, target) in source.targets.iter().enumerate() {
                let place = format!("sources[{i}].targets[{j}]");
                time(&format!("{place}.since"), target.since)?;
                when(format!("{place}.last_attempt"), target.last_attempt)?;
                when(format!("{place}.last_success"), target.last_success)?;
                when(format!("{place}.empty_since"), target.empty_since)?;
            }
        }
        for (i, node) in self.nodes.iter().enumerate() {
            time(&format!("nodes[{i}].created"), node.created)?;
            for (j, condition) in node.conditions.iter().enumerate() {
                let place = format!("nodes[{i}].conditions[{j}]");
                when(format!("{place}.heartbeat"), condition.heartbeat)?;
                when(format!("{place}.changed"), condition.changed)?;
            }
            for (j, taint) in node.taints.iter().enumerate() {
                when(format!("nodes[{i}].taints[{j}].added"), taint.added)?;
            }
        }
        for (i, pod) in self.pods.iter().enumerate() {
            time(&format!("pods[{i}].created"), pod.created)?;
            when(format!("pods[{i}].started"), pod.started)?;
            when(format!("pods[{i}].deleting"), pod.deleting)?;
        }
        for (i, event) in self.events.iter().enumerate() {
            time(&format!("events[{i}].first"), event.first)?;
            time(&format!("events[{i}].last"), event.last)?;
        }
        for (i, end) in self.terminations.iter().enumerate() {
            when(format!("terminations[{i}].started"), end.started)?;
            when(format!("terminations[{i}].finished"), end.finished)?;
        }
        Ok(())
    }

    /// What was seen was seen by `now`, give or take one interval: what comes later would be
    /// fresh for ever.
    fn check_future(&self) -> Checked {
        let latest = self.now + self.interval.get();
        let seen = |place: String, at: Option<Timestamp>| match at {
            Some(at) if at > latest => fail(
                place,
                format!(
                    "{at} lies after `now`; want at most {latest}, one interval after {}",
                    self.now
                ),
            ),
            _ => Ok(()),
        };
        for (i, source) in self.sources.iter().enumerate() {
            let place = format!("sources[{i}]");
            seen(format!("{place}.since"), Some(source.since))?;
            seen(format!("{place}.last_attempt"), source.last_attempt)?;
            seen(format!("{place}.last_success"), source.last_success)?;
            for (list, at) in synced(source) {
                seen(format!("{place}.lists.{list}.synced"), Some(at))?;
            }
            for (j, target) in source.targets.iter().enumerate() {
                let place = format!("{place}.targets[{j}]");
                seen(format!("{place}.since"), Some(target.since))?;
                seen(format!("{place}.last_attempt"), target.last_attempt)?;
                seen(format!("{place}.last_success"), target.last_success)?;
                seen(format!("{place}.empty_since"), target.empty_since)?;
            }
        }
        for (i, holding) in self.holders.iter().enumerate() {
            seen(format!("holders[{i}].from"), Some(holding.from))?;
            seen(format!("holders[{i}].to"), Some(holding.to))?;
        }
        for (i, series) in self.series.iter().enumerate() {
            let last = series.slots.checked_sub(1).map(|slot| series.time_of(slot));
            seen(format!("series[{i}].slots"), last)?;
        }
        Ok(())
    }

    fn check_sizes(&self) -> Checked {
        let (mut slots, mut values) = (0, 0);
        for (at, series) in self.series.iter().enumerate() {
            let place = format!("series[{at}].slots");
            if series.slots > MAX_SLOTS {
                return fail(
                    place,
                    format!("{} is more than {MAX_SLOTS} slots", series.slots),
                );
            }
            slots += u64::from(series.slots);
            values += u64::from(series.slots) * series.values.len() as u64;
            if slots > MAX_SUBJECT_SLOTS || values > MAX_VALUES {
                return fail(
                    place,
                    format!(
                        "more than {MAX_SUBJECT_SLOTS} slots or {MAX_VALUES} values in one file"
                    ),
                );
            }
        }
        Ok(())
    }

    fn check_holders(&self) -> Checked {
        let boards: BTreeSet<_> = self
            .series
            .iter()
            .filter_map(|series| match &series.subject {
                SeriesSubject::Gpu { uuid, instance, .. } => Some((uuid, *instance)),
                SeriesSubject::Node { .. } => None,
            })
            .collect();
        for (at, holding) in self.holders.iter().enumerate() {
            let place = format!("holders[{at}]");
            time(&format!("{place}.from"), holding.from)?;
            time(&format!("{place}.to"), holding.to)?;
            if holding.to < holding.from {
                return fail(place, "`to` lies before `from`");
            }
            if !boards.contains(&(&holding.gpu, holding.instance)) {
                return fail(
                    format!("{place}.gpu"),
                    format!("no series is about `{}`", holding.gpu),
                );
            }
        }
        Ok(())
    }
}

impl Series {
    fn check(&self, place: &str) -> Checked {
        length(&format!("{place}.every"), self.every)?;
        time(&format!("{place}.from"), self.from)?;
        // No overflow: at most 50,000 days after the year 2261 is still inside the calendar.
        time(&format!("{place}.slots"), self.time_of(self.slots))?;
        if let SeriesSubject::Node { boots, .. } = &self.subject
            && !boots.is_sorted_by(|a, b| a.0 < b.0)
        {
            return fail(
                format!("{place}.subject.node.boots"),
                "slots must grow from one boot to the next",
            );
        }
        for (name, values) in &self.values {
            let place = format!("{place}.values[\"{name}\"]");
            if let SeriesValues::Column(column) = values
                && column.len() != self.slots as usize
            {
                let problem = format!("{} values for {} slots", column.len(), self.slots);
                return fail(place, problem);
            }
            let allowed = self
                .subject
                .allowed(name)
                .or_else(|problem| fail(place.clone(), problem).map(|()| Allowed::default()))?;
            let wrong = values.iter().find(|(_, value)| !allowed.admits(*value));
            if let Some((slot, value)) = wrong {
                return fail(
                    format!("{place}[{slot}]"),
                    format!("{value} cannot be: want {}", allowed.describe()),
                );
            }
        }
        Ok(())
    }
}

/// Which values a series may have.
#[derive(Clone, Copy, Default)]
struct Allowed {
    min: f64,
    max: f64,
    whole: bool,
}

impl Allowed {
    fn admits(self, value: f64) -> bool {
        value >= self.min && value <= self.max && !(self.whole && value.fract() != 0.0)
    }

    fn describe(self) -> String {
        let what = if self.whole {
            "a whole number"
        } else {
            "a number"
        };
        format!("{what} from {} to {}", self.min, self.max)
    }
}

impl SeriesSubject {
    fn allowed(&self, name: &str) -> Result<Allowed, String> {
        let (min, max, whole) = match self {
            Self::Gpu { .. } => {
                let spec = gpu_series(name)?.signal.spec();
                let whole = matches!(spec.kind, Kind::Code | Kind::Bits | Kind::State);
                (spec.min, spec.max, whole)
            }
            Self::Node { .. } => match node_series(name)? {
                NodeSeries::Unschedulable => (0.0, 1.0, true),
                NodeSeries::Allocatable(_) | NodeSeries::Capacity(_) => (0.0, 1e15, true),
            },
        };
        Ok(Allowed { min, max, whole })
    }
}

/// The lists that are synced, each with its time.
fn synced(source: &SourceStatus) -> impl Iterator<Item = (&'static str, Timestamp)> {
    source.lists.into_iter().flat_map(|lists| {
        [
            ("nodes", lists.nodes),
            ("pods", lists.pods),
            ("events", lists.events),
        ]
        .into_iter()
        .filter_map(|(name, list)| match list {
            ListState::Synced(at) => Some((name, at)),
            ListState::NotConfigured | ListState::Pending | ListState::Failed => None,
        })
    })
}

fn length(place: &str, span: Span) -> Checked {
    if (SHORTEST..=LONGEST).contains(&span) {
        return Ok(());
    }
    fail(
        place,
        format!("{span} is not between {SHORTEST} and {LONGEST}"),
    )
}

fn time(place: &str, at: Timestamp) -> Checked {
    if (YEARS.0..=YEARS.1).contains(&at.as_second()) {
        return Ok(());
    }
    fail(
        place,
        format!("{at} is not between the years 1678 and 2261"),
    )
}
