//! The source: one task a target, one view of them all.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::SignedDuration;
use tokio::sync::Semaphore;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use super::config::DcgmConfig;
use super::decode::{DecodeLimits, Decoder, Names};
use super::target::{Endpoint, Schedule, scrape};
use super::view::View;
use crate::clock::{Clock, Stopwatch};
use crate::snapshot::{Batch, NodeName};
use crate::source::read_only::{ReadOnlyClient, SetupError, SourceUrl};

/// Scrapes dcgm-exporter endpoints. Dropping it ends its tasks.
#[derive(Debug)]
pub struct DcgmSource {
    shared: Arc<Shared>,
    tasks: Mutex<Tasks>,
}

#[derive(Debug)]
struct Shared {
    client: ReadOnlyClient,
    names: Names,
    slots: Semaphore,
    interval: Duration,
    running: Stopwatch,
    clock: Arc<Clock>,
    view: Mutex<View>,
}

/// Ends its tasks when dropped.
#[derive(Debug, Default)]
struct Tasks {
    set: JoinSet<()>,
    by_url: BTreeMap<Arc<str>, AbortHandle>,
}

impl DcgmSource {
    /// Begins to scrape the configured targets, each once within 2 s and then once an interval,
    /// spread over it. Must be called within a tokio runtime.
    pub fn start(
        config: &DcgmConfig,
        interval: Duration,
        clock: Arc<Clock>,
    ) -> Result<Self, SetupError> {
        // Below that, waiting would be most of what we do.
        let interval = interval.max(Duration::from_millis(10));
        let client = ReadOnlyClient::new(&config.http)?.with_deadline_at_most(interval);
        let source = Self {
            shared: Arc::new(Shared {
                client,
                names: Names::new(config),
                slots: Semaphore::new(config.concurrency.max(1)),
                interval,
                running: Stopwatch::start(),
                view: Mutex::new(View::new(clock.now())),
                clock,
            }),
            tasks: Mutex::default(),
        };
        source.retarget(config.targets.iter().map(Endpoint::from).collect());
        Ok(source)
    }

    /// Replaces the targets: new ones are scraped, those no longer listed are forgotten, and the
    /// others go on with what is now known of them. Of two with one URL the first counts. Must be
    /// called within a tokio runtime.
    pub fn retarget(&self, endpoints: Vec<Endpoint>) {
        let mut wanted = BTreeMap::new();
        for endpoint in endpoints {
            let url = Arc::clone(endpoint.url.shown());
            wanted.entry(url).or_insert(endpoint);
        }
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let mut view = self.shared.view();
        tasks.by_url.retain(|url, task| {
            let stays = wanted.contains_key(url);
            if !stays {
                task.abort();
                view.remove(url);
            }
            stays
        });
        // What has ended need not be kept.
        while tasks.set.try_join_next().is_some() {}
        for (url, endpoint) in wanted {
            let address = endpoint.url.clone();
            view.set(endpoint, self.shared.clock.now());
            if !tasks.by_url.contains_key(&url) {
                let task = Arc::clone(&self.shared).watch(address);
                let task = tasks.set.spawn(task);
                tasks.by_url.insert(url, task);
            }
        }
    }

    /// Tells the names of the cluster's nodes, or that nobody knows them. With them, a `Hostname`
    /// label counts only if it names one.
    pub fn know_nodes(&self, nodes: Option<BTreeSet<NodeName>>) {
        self.shared.view().know_nodes(nodes);
    }

    /// Everything observed since the last time, and how the source is doing now. Never waits for
    /// a target. What is not taken for several intervals is dropped, oldest first, and counted.
    #[must_use]
    pub fn take(&self) -> Batch {
        self.shared.view().take()
    }

    /// Moves every time along with a clock that was set.
    pub fn shift(&self, by: SignedDuration) {
        self.shared.view().shift(by);
    }

    /// Ends all scrapes and waits until they have ended.
    pub async fn stop(self) {
        let mut set = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            std::mem::take(&mut tasks.set)
        };
        set.shutdown().await;
    }
}

impl Shared {
    fn view(&self) -> MutexGuard<'_, View> {
        self.view.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Scrapes a target for as long as it is one.
    async fn watch(self: Arc<Self>, url: SourceUrl) {
        let schedule = Schedule::new(url.shown(), self.interval);
        let mut decoder = Decoder::new(&self.names, DecodeLimits::default());
        sleep(schedule.first()).await;
        loop {
            let began = self.running.elapsed();
            let origin = self.view().origin(url.shown());
            let Some(origin) = origin else {
                return;
            };
            let Self {
                client,
                slots,
                clock,
                ..
            } = &*self;
            let scrape = scrape(client, slots, clock, &mut decoder, &url, &origin).await;
            {
                // Under the lock: a clock that is set after this moves what was filed along.
                let mut view = self.view();
                view.record(url.shown(), scrape, clock.now());
            }
            sleep(schedule.next(began, self.running.elapsed())).await;
        }
    }
}
