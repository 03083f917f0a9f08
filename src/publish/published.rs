//! The published state: replaced as a whole after a cycle, never changed.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use arc_swap::ArcSwap;
use hyper::body::Bytes;
use jiff::Timestamp;

use super::filter::Filter;
use super::metrics::{self, Format};
use super::negotiate::Coding;
use super::{Process, page, response};
use crate::cycle::ClusterView;
use crate::rules::RuleConfig;
use crate::snapshot::ClusterName;

/// Incidents with series of their own, over all clusters and rules.
const DEFAULT_SERIES_BUDGET: usize = 10_000;

/// How things are published.
#[derive(Clone, Debug)]
pub struct PublishOptions {
    /// Whether `/metrics` has the families per GPU and target.
    pub per_gpu: bool,
    /// How many incidents may have series of their own, over all clusters and rules; critical
    /// ones have them even beyond it.
    pub series_budget: usize,
    /// The thresholds in force, for `/api/v1/rules`.
    pub rules: RuleConfig,
}

impl Default for PublishOptions {
    fn default() -> Self {
        Self {
            per_gpu: true,
            series_budget: DEFAULT_SERIES_BUDGET,
            rules: RuleConfig::default(),
        }
    }
}

/// Everything that readers see at one moment.
#[derive(Debug)]
pub struct Published {
    /// Every cluster that has run a cycle, sorted by name.
    pub clusters: Vec<Arc<ClusterView>>,
    /// How the cycles of every expected cluster fared, sorted by name.
    pub cycles: Vec<(ClusterName, Cycles)>,
    /// The process when this state was published: two scrapes of one state are the same bytes.
    pub process: Process,
    pub(super) options: Arc<PublishOptions>,
    bodies: [Body; 2],
    page: OnceLock<Bytes>,
}

/// A body in both codings, each made when it is first asked for.
#[derive(Debug, Default)]
struct Body {
    plain: OnceLock<Bytes>,
    gzip: OnceLock<Bytes>,
}

/// Upper bounds of the buckets of `gpulens_cycle_duration_seconds`, in seconds: a cycle takes
/// milliseconds on a small cluster, and has 15 s.
const BOUNDS: [f64; 12] = [
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    f64::INFINITY,
];

/// How a cluster's cycles fared since start.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cycles {
    /// Cycles in which every rule ran to its end.
    pub success: u64,
    /// Cycles in which a rule failed.
    pub rule_failed: u64,
    /// Cycles that published nothing.
    pub failed: u64,
    /// Sum of their durations, in seconds.
    pub duration_sum: f64,
    counts: [u64; BOUNDS.len()],
}

impl Cycles {
    fn add(&mut self, view: &ClusterView) {
        if view.rules.iter().all(|run| run.success) {
            self.success += 1;
        } else {
            self.rule_failed += 1;
        }
        let duration = view.duration.as_secs_f64();
        self.duration_sum += duration;
        let bucket = BOUNDS.partition_point(|bound| *bound < duration);
        self.counts[bucket] += 1;
    }

    /// Upper bound and count of each bucket, not summed up.
    pub(super) fn buckets(&self) -> impl Iterator<Item = (f64, u64)> {
        BOUNDS.into_iter().zip(self.counts)
    }
}

impl Published {
    fn new(
        clusters: Vec<Arc<ClusterView>>,
        cycles: Vec<(ClusterName, Cycles)>,
        options: Arc<PublishOptions>,
    ) -> Self {
        Self {
            clusters,
            cycles,
            process: Process::sample(),
            options,
            bodies: Default::default(),
            page: OnceLock::new(),
        }
    }

    /// A cluster's view, if it has run a cycle.
    #[must_use]
    pub fn cluster(&self, name: &ClusterName) -> Option<&Arc<ClusterView>> {
        let at = self
            .clusters
            .binary_search_by(|view| view.cluster.cmp(name));
        at.ok().map(|at| &self.clusters[at])
    }

    /// The body of `/metrics`, made at most once.
    pub fn metrics(&self, format: Format) -> Bytes {
        let body = &self.bodies[format as usize].plain;
        body.get_or_init(|| metrics::render(self, format).into())
            .clone()
    }

    /// The body of `/metrics` in a coding, made at most once.
    pub(super) fn coded_metrics(&self, format: Format, coding: Coding) -> Bytes {
        match coding {
            Coding::Identity => self.metrics(format),
            Coding::Gzip => self.bodies[format as usize]
                .gzip
                .get_or_init(|| response::gzip(&self.metrics(format)).into())
                .clone(),
        }
    }

    /// The same, if it is made already.
    pub(super) fn made_metrics(&self, format: Format, coding: Coding) -> Option<Bytes> {
        let body = &self.bodies[format as usize];
        match coding {
            Coding::Identity => body.plain.get().cloned(),
            Coding::Gzip => body.gzip.get().cloned(),
        }
    }

    /// The overview page without filters, made at most once.
    pub(super) fn overview(&self) -> Bytes {
        self.page
            .get_or_init(|| page::overview(self, &Filter::default()).into())
            .clone()
    }
}

/// The one writer's end of the published state, and every reader's.
#[derive(Debug)]
pub struct Publisher {
    state: ArcSwap<Published>,
    /// Serialises writers: each makes the next state from the last one.
    writing: Mutex<()>,
}

impl Publisher {
    /// A publisher that waits for the named clusters.
    #[must_use]
    pub fn new(clusters: impl IntoIterator<Item = ClusterName>, options: PublishOptions) -> Self {
        let mut cycles: Vec<_> = clusters
            .into_iter()
            .map(|name| (name, Cycles::default()))
            .collect();
        cycles.sort_by(|a, b| a.0.cmp(&b.0));
        cycles.dedup_by(|a, b| a.0 == b.0);
        let first = Published::new(Vec::new(), cycles, Arc::new(options));
        Self {
            state: ArcSwap::from_pointee(first),
            writing: Mutex::new(()),
        }
    }

    /// The state at present.
    #[must_use]
    pub fn load(&self) -> Arc<Published> {
        self.state.load_full()
    }

    /// Publishes a cluster's view in place of the one before.
    pub fn replace(&self, view: impl Into<Arc<ClusterView>>) {
        let view = view.into();
        self.update(|clusters, cycles| {
            count(cycles, &view.cluster).add(&view);
            match clusters.binary_search_by(|have| have.cluster.cmp(&view.cluster)) {
                Ok(at) => clusters[at] = view,
                Err(at) => clusters.insert(at, view),
            }
        });
    }

    /// Counts a cycle that came to nothing: the view before it stays published.
    pub fn cycle_failed(&self, cluster: &ClusterName) {
        self.update(|_, cycles| count(cycles, cluster).failed += 1);
    }

    fn update(
        &self,
        change: impl FnOnce(&mut Vec<Arc<ClusterView>>, &mut Vec<(ClusterName, Cycles)>),
    ) {
        // The lock guards no data that a panic could have left half done.
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.state.load();
        let mut clusters = before.clusters.clone();
        let mut cycles = before.cycles.clone();
        change(&mut clusters, &mut cycles);
        let options = before.options.clone();
        self.state
            .store(Arc::new(Published::new(clusters, cycles, options)));
    }
}

fn count<'a>(cycles: &'a mut Vec<(ClusterName, Cycles)>, name: &ClusterName) -> &'a mut Cycles {
    let at = match cycles.binary_search_by(|(have, _)| have.cmp(name)) {
        Ok(at) => at,
        Err(at) => {
            cycles.insert(at, (name.clone(), Cycles::default()));
            at
        }
    };
    &mut cycles[at].1
}

/// What a cluster must still do before its findings are shown; `None` once it is warm.
pub(super) fn awaited(published: &Published, name: &ClusterName) -> Option<String> {
    let Some(view) = published.cluster(name) else {
        return Some("its first cycle".to_owned());
    };
    if view.warm {
        return None;
    }
    let untried = view.sources.iter().filter(|source| !source.is_tried());
    let untried: Vec<_> = untried
        .map(|source| {
            let pending = |t: &&crate::snapshot::TargetStatus| {
                t.state == crate::snapshot::TargetState::Pending
            };
            match source.targets.iter().filter(pending).count() {
                0 => source.id.to_string(),
                pending => format!(
                    "{} ({pending} of {} targets)",
                    source.id,
                    source.targets.len()
                ),
            }
        })
        .collect();
    Some(if untried.is_empty() {
        "its first complete cycle".to_owned()
    } else {
        format!("the first answer of {}", untried.join(", "))
    })
}

/// A time in seconds since 1970, to the millisecond.
pub(super) fn seconds(at: Timestamp) -> f64 {
    at.as_millisecond() as f64 / 1000.0
}

/// How long a reader of the API may wait for its turn.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);
