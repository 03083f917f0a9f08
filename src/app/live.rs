//! Clusters with live sources: a cycle takes what the sources have seen and never waits for one.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use jiff::Timestamp;
use tokio::sync::watch;
use tokio::task::block_in_place;
use tokio::time::sleep;
use tracing::{error, info, warn};

use super::{Cluster, Crank};
use crate::clock::{Clock, Stopwatch};
use crate::config::Config;
use crate::cycle::{Engine, Setup};
use crate::incident::{Incident, Transition};
use crate::publish::Publisher;
use crate::snapshot::{Batch, ClusterName, NodeName, SourceId, SourceStatus, TargetState};
use crate::source::dcgm::DcgmSource;

/// How often a cluster is looked at until every source was tried once.
const WARM_UP: Duration = Duration::from_millis(250);

/// Changes of targets that are logged one by one in a cycle.
const MAX_CHANGES: usize = 20;

/// A live cluster.
pub(super) struct Live {
    name: ClusterName,
    engine: Engine,
    dcgm: DcgmSource,
    clock: Arc<Clock>,
    interval: Duration,
    /// How each target was doing when that was last said.
    said: BTreeMap<Arc<str>, TargetState>,
}

/// The configured clusters, their sources at work already.
pub(super) fn clusters(config: &Config) -> Result<Vec<Cluster>> {
    let interval = config.cycle.interval;
    let cluster = |cluster: &crate::config::Cluster| {
        let clock = Arc::new(Clock::default());
        let dcgm = DcgmSource::start(&cluster.dcgm, interval.unsigned(), clock.clone())
            .with_context(|| format!("cannot start the dcgm source of {}", title(&cluster.name)))?;
        let setup = Setup {
            cluster: cluster.name.clone(),
            interval: interval.get(),
            expected: vec![SourceId::Dcgm],
            recorded: false,
            limits: config.limits,
            rules: config.rules.clone(),
        };
        let name = cluster.name.clone();
        let engine = Engine::new(setup);
        let interval = interval.unsigned();
        let live = Live {
            name: name.clone(),
            engine,
            dcgm,
            clock,
            interval,
            said: BTreeMap::new(),
        };
        Ok(Cluster {
            name,
            crank: Crank::Live(live),
        })
    };
    config.clusters.iter().map(cluster).collect()
}

fn title(name: &ClusterName) -> String {
    if name.is_empty() {
        "the cluster".to_owned()
    } else {
        format!("cluster {name}")
    }
}

impl Live {
    /// One cycle an interval until it is told to stop.
    pub(super) async fn watch(
        mut self,
        publisher: Arc<Publisher>,
        mut stopped: watch::Receiver<bool>,
    ) {
        let mut warm = false;
        loop {
            let began = Stopwatch::start();
            self.follow_clock();
            let batch = self.dcgm.take();
            self.say_changes(&batch.status);
            let now = self.clock.now();
            let turned = turn(&mut self.engine, &[batch], now, now, &publisher);
            if turned && !warm {
                let view = publisher.load().cluster(&self.name).cloned();
                warm = view.is_some_and(|view| view.warm);
            }
            let every = if warm {
                self.interval
            } else {
                WARM_UP.min(self.interval)
            };
            tokio::select! {
                () = sleep(every.saturating_sub(began.elapsed())) => {}
                _ = stopped.changed() => break,
            }
        }
        self.dcgm.stop().await;
    }

    /// Says which targets came or went; of many at once the first few.
    fn say_changes(&mut self, status: &SourceStatus) {
        let mut unsaid = 0;
        let changes = status.targets.iter().filter(|target| {
            target.state != TargetState::Pending
                && self.said.get(&target.url) != Some(&target.state)
        });
        for (place, target) in changes.enumerate() {
            let node = target.node.as_ref().map_or("", NodeName::as_str);
            match &target.error {
                _ if place >= MAX_CHANGES => unsaid += 1,
                Some(error) => {
                    let (kind, why) = (error.kind.as_str(), &error.message);
                    warn!(target = %target.url, node, kind, why, "target is down");
                }
                None => info!(target = %target.url, node, gpus = target.gpus, "target is up"),
            }
        }
        if unsaid > 0 {
            info!(
                targets = unsaid,
                "more targets changed; /api/v1/sources has them all"
            );
        }
        let said = status
            .targets
            .iter()
            .map(|target| (target.url.clone(), target.state));
        self.said = said.collect();
    }

    /// A clock that was set takes everything along.
    fn follow_clock(&mut self) {
        if let Some(off) = self.clock.look() {
            warn!(
                seconds = off.as_secs(),
                "the system clock was set; history moves along"
            );
            self.dcgm.shift(off);
            self.engine.shift(off);
        }
    }
}

/// One turn of the crank, published; false where it failed, which is a bug and is counted.
pub(super) fn turn(
    engine: &mut Engine,
    batches: &[Batch],
    now: Timestamp,
    wall: Timestamp,
    publisher: &Publisher,
) -> bool {
    let stopwatch = Stopwatch::start();
    // Milliseconds for a small cluster, a quarter of a second for 80,000 GPUs: too long to hold up
    // the readers that share this thread.
    let step = block_in_place(|| {
        catch_unwind(AssertUnwindSafe(|| {
            engine.step(batches, now, wall, &|| stopwatch.elapsed())
        }))
    });
    let Ok(step) = step else {
        error!(cluster = %engine.cluster(), "a cycle failed; what was published before stands");
        publisher.cycle_failed(engine.cluster());
        return false;
    };
    log(&step.transitions);
    publisher.replace(step.view);
    true
}

/// Says what happened to incidents.
pub(super) fn log(transitions: &[Transition]) {
    for transition in transitions {
        match transition {
            Transition::Opened(incident) => note(incident, "incident opened"),
            Transition::Severity { incident, .. } => note(incident, "incident changed severity"),
            Transition::Closed(incident) => {
                let how = incident
                    .closed
                    .as_ref()
                    .map_or("", |closed| closed.how.as_str());
                info!(
                    incident = %incident.id,
                    rule = %incident.key.rule,
                    cause = %incident.finding.cause.as_str(),
                    how,
                    "incident closed"
                );
            }
        }
    }
}

fn note(incident: &Incident, what: &str) {
    info!(
        incident = %incident.id,
        rule = %incident.key.rule,
        cause = %incident.finding.cause.as_str(),
        severity = incident.severity.as_str(),
        evidence = incident.grade().as_str(),
        summary = %incident.finding.summary,
        "{what}"
    );
}
