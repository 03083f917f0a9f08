//! The crank: what one cluster remembers between cycles, and one turn of it.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::{ClusterView, Zero, rows};
use crate::finding::{Judgement, RuleId, Severity};
use crate::history::History;
use crate::incident::{self, Closing, Incident, Open, Transition, fold};
use crate::rules::{Judged, RuleConfig, RuleSet, judge_all};
use crate::snapshot::{Batch, ClusterName, ClusterSnapshot, Limits, Signal, SourceId, Span, moved};

/// How long a closed incident shows 0 before its series ends.
const ZERO_SHOWN: SignedDuration = SignedDuration::from_mins(15);
/// How long closed incidents are listed without a store.
const CLOSED_KEPT: SignedDuration = SignedDuration::from_hours(24);
/// How many closed incidents are listed without a store.
const MAX_CLOSED: usize = 1000;

/// What one cluster is made of.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its name; empty for a single unnamed cluster.
    pub cluster: ClusterName,
    /// Cycle and scrape interval.
    pub interval: SignedDuration,
    /// The sources that must have been tried before anything is judged.
    pub expected: Vec<SourceId>,
    /// Whether it is a recording.
    pub recorded: bool,
    /// Shared thresholds.
    pub limits: Limits,
    /// The rules' thresholds.
    pub rules: RuleConfig,
}

/// One cluster between cycles.
pub struct Engine {
    setup: Setup,
    rules: RuleSet,
    needs: BTreeMap<Signal, Span>,
    history: History,
    open: Open,
    closed: VecDeque<Arc<Incident>>,
    zeros: Vec<Zero>,
    warm: bool,
    opened_total: BTreeMap<RuleId, u64>,
    closed_total: BTreeMap<(RuleId, Closing), u64>,
}

/// The outcome of one turn.
pub struct Step {
    /// What is published.
    pub view: ClusterView,
    /// What happened to incidents.
    pub transitions: Vec<Transition>,
    /// Every judgement, as the rules made it.
    pub judgements: Vec<Judgement>,
}

impl Engine {
    /// A cluster of which nothing is known yet.
    #[must_use]
    pub fn new(setup: Setup) -> Self {
        let rules = RuleSet::new(&setup.rules);
        let needs = rules.needs();
        Self {
            history: History::new(needs.clone(), setup.limits),
            needs,
            rules,
            setup,
            open: Open::new(),
            closed: VecDeque::new(),
            zeros: Vec::new(),
            warm: false,
            opened_total: BTreeMap::new(),
            closed_total: BTreeMap::new(),
        }
    }

    /// The cluster's name.
    #[must_use]
    pub fn cluster(&self) -> &ClusterName {
        &self.setup.cluster
    }

    /// The open incidents.
    #[must_use]
    pub fn open(&self) -> &Open {
        &self.open
    }

    /// One cycle. `now` is the cluster's clock, `wall` the wall clock (they differ for a
    /// recording), `elapsed` measures time.
    pub fn step(
        &mut self,
        batches: &[Batch],
        now: Timestamp,
        wall: Timestamp,
        elapsed: &dyn Fn() -> Duration,
    ) -> Step {
        let begun = elapsed();
        for batch in batches {
            self.history.absorb(batch);
        }
        self.history.forget(now);
        let mut snapshot = self.history.view(
            &self.setup.cluster,
            now,
            self.setup.interval,
            &self.setup.expected,
        );
        // Warm once is warm for good: a target that is new later must not hide what is known.
        self.warm |= snapshot.warm;
        snapshot.warm = self.warm;
        let judged = judge_all(&self.rules, &snapshot, elapsed);
        let (open, transitions) = fold(&self.open, &judged.judgements, &snapshot);
        self.open = open;
        for transition in &transitions {
            self.note(transition, wall);
        }
        self.sweep_zeros(wall);
        self.closed.retain(|incident| {
            incident
                .closed
                .as_ref()
                .is_some_and(|end| now.duration_since(end.at) <= CLOSED_KEPT)
        });
        self.closed.truncate(MAX_CLOSED);
        let duration = elapsed().saturating_sub(begun);
        let view = self.view(&snapshot, &judged, wall, duration);
        Step {
            view,
            transitions,
            judgements: judged.judgements,
        }
    }

    /// Moves everything along with a clock that was set. What is open stays open.
    pub fn shift(&mut self, by: SignedDuration) {
        self.history.shift(by);
        for incident in self.open.values_mut() {
            incident::shift(Arc::make_mut(incident), by);
        }
        for incident in &mut self.closed {
            incident::shift(Arc::make_mut(incident), by);
        }
        for zero in &mut self.zeros {
            zero.until = moved(zero.until, by);
        }
    }

    fn note(&mut self, transition: &Transition, wall: Timestamp) {
        match transition {
            Transition::Opened(incident) => {
                *self.opened_total.entry(incident.key.rule).or_default() += 1;
            }
            Transition::Severity { incident, from } => self.zero(incident, *from, wall),
            Transition::Closed(incident) => {
                let how = incident
                    .closed
                    .as_ref()
                    .map_or(Closing::Expired, |closed| closed.how);
                let total = self.closed_total.entry((incident.key.rule, how));
                *total.or_default() += 1;
                self.zero(incident, incident.severity, wall);
                self.closed.push_front(incident.clone());
            }
        }
    }

    fn zero(&mut self, incident: &Incident, severity: Severity, wall: Timestamp) {
        self.zeros.push(Zero {
            id: incident.id,
            key: incident.key.clone(),
            severity,
            until: moved(wall, ZERO_SHOWN),
        });
    }

    /// Drops label sets whose time is over, and those that show 1 again.
    fn sweep_zeros(&mut self, wall: Timestamp) {
        let open: BTreeSet<_> = self
            .open
            .values()
            .map(|incident| (incident.id, incident.severity, incident.key.subject.place()))
            .collect();
        self.zeros.retain(|zero| {
            let label_set = (zero.id, zero.severity, zero.key.subject.place());
            zero.until > wall && !open.contains(&label_set)
        });
    }

    fn view(
        &self,
        snapshot: &ClusterSnapshot,
        judged: &Judged,
        wall: Timestamp,
        duration: Duration,
    ) -> ClusterView {
        let mut open: Vec<_> = self.open.values().cloned().collect();
        // Worst first; the key is the order that is left.
        open.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.key.cmp(&b.key)));
        let gpus: Vec<_> = snapshot
            .gpus
            .iter()
            .map(|gpu| rows::gpu(gpu, snapshot))
            .collect();
        ClusterView {
            cluster: snapshot.cluster.clone(),
            now: snapshot.now,
            evaluated: wall,
            recorded: self.setup.recorded,
            interval: snapshot.interval,
            duration,
            warm: snapshot.warm,
            fleet: rows::fleet(&snapshot.gpus, &self.open, &judged.judgements),
            open,
            closed: self.closed.iter().cloned().collect(),
            zeros: self.zeros.clone(),
            opened_total: self.opened_total.clone(),
            closed_total: self.closed_total.clone(),
            undecided: judged.undecided.clone(),
            signals: rows::signals(&self.needs, &snapshot.gpus),
            gpus,
            sources: snapshot.sources.clone(),
            rules: judged.runs.clone(),
            tracked_pods: snapshot.inventory.pods.len() as u64,
            too_late_total: self.history.too_late(),
        }
    }
}

#[cfg(test)]
mod tests;
