//! Clusters that are recordings: one file a cycle, then the clock stands still.

use std::collections::VecDeque;
use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

use super::live::{log, turn};
use super::{Cluster, Crank};
use crate::clock::{self, Stopwatch};
use crate::config::Config;
use crate::cycle::{ClusterView, Engine, Setup};
use crate::publish::Publisher;
use crate::snapshot::{Recording, Span};
use crate::source::recording::{Timeline, batches};

/// A recorded cluster.
pub(super) struct Played {
    engine: Engine,
    left: VecDeque<Recording>,
    now: jiff::Timestamp,
    every: Span,
}

/// Recorded clusters, ready to be played.
pub(super) fn clusters(timelines: Vec<Timeline>, config: &Config) -> Vec<Cluster> {
    let cluster = |timeline: Timeline| {
        let left: VecDeque<_> = timeline
            .steps
            .into_iter()
            .map(|step| step.recording)
            .collect();
        Some(Cluster {
            name: timeline.cluster,
            crank: Crank::Played(Played {
                engine: engine(left.front()?, config),
                now: left.front()?.now,
                left,
                every: config.cycle.interval,
            }),
        })
    };
    timelines.into_iter().filter_map(cluster).collect()
}

fn engine(first: &Recording, config: &Config) -> Engine {
    Engine::new(Setup {
        cluster: first.cluster.clone(),
        interval: first.interval.get(),
        expected: first.sources.iter().map(|source| source.id).collect(),
        recorded: true,
        limits: config.limits,
        rules: config.rules.clone(),
    })
}

impl Played {
    /// Plays one recording a cycle until it is told to stop.
    pub(super) async fn watch(
        mut self,
        publisher: Arc<Publisher>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut ticks = interval(self.every.unsigned());
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stopped.changed() => return,
            }
            let batches = match self.left.pop_front() {
                Some(recording) => {
                    self.now = recording.now;
                    batches(&recording)
                }
                None => Vec::new(),
            };
            turn(
                &mut self.engine,
                &batches,
                self.now,
                clock::now(),
                &publisher,
            );
        }
    }
}

/// Judges recordings, the files of one cluster in time order; one view a cluster, sorted by name.
#[must_use]
pub fn check(timelines: Vec<Timeline>, config: &Config) -> Vec<ClusterView> {
    let last_view = |timeline: Timeline| {
        let mut engine = engine(&timeline.steps.first()?.recording, config);
        let stopwatch = Stopwatch::start();
        let mut last = None;
        for step in timeline.steps {
            let now = step.recording.now;
            let outcome = engine.step(&batches(&step.recording), now, now, &|| stopwatch.elapsed());
            log(&outcome.transitions);
            last = Some(outcome.view);
        }
        last
    };
    timelines.into_iter().filter_map(last_view).collect()
}
