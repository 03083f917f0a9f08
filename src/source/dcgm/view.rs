//! What all targets have told, until it is taken.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

use super::decode::Decoded;
use super::identity::Origin;
use super::rejected::{self, Counts};
use super::target::Endpoint;
use crate::snapshot::{
    Batch, ErrorKind, GpuObservation, GpuUuid, NodeName, Observation, SourceError, SourceId,
    SourceState, SourceStatus, TargetState, TargetStatus, moved,
};

/// Scrapes of a target that are kept until they are taken; of more, the oldest are dropped.
const KEPT_SCRAPES: usize = 4;

/// One attempt to scrape a target.
#[derive(Debug)]
pub(super) struct Scrape {
    /// When it began.
    pub(super) at: Timestamp,
    /// How long it took.
    pub(super) took: Duration,
    /// What was read; also of a body that ended too early.
    pub(super) read: Option<Decoded>,
    /// Why it failed.
    pub(super) error: Option<SourceError>,
}

/// All targets.
#[derive(Debug)]
pub(super) struct View {
    since: Timestamp,
    rows: BTreeMap<Arc<str>, Row>,
    known_nodes: Option<Arc<BTreeSet<NodeName>>>,
    errors: BTreeMap<ErrorKind, u64>,
    rejected: Counts,
    claims: Claims,
}

/// One target.
#[derive(Debug)]
struct Row {
    endpoint: Endpoint,
    status: TargetStatus,
    untaken: VecDeque<Vec<GpuObservation>>,
    /// Boards of the last body while the target is up.
    boards: Vec<GpuUuid>,
}

impl View {
    pub(super) fn new(since: Timestamp) -> Self {
        Self {
            since,
            rows: BTreeMap::new(),
            known_nodes: None,
            errors: ErrorKind::ALL.into_iter().map(|kind| (kind, 0)).collect(),
            rejected: Counts::default(),
            claims: Claims::default(),
        }
    }

    pub(super) fn know_nodes(&mut self, nodes: Option<BTreeSet<NodeName>>) {
        if self.known_nodes.as_deref() != nodes.as_ref() {
            self.known_nodes = nodes.map(Arc::new);
        }
    }

    /// Adds a target, or takes over what has changed about it.
    pub(super) fn set(&mut self, endpoint: Endpoint, now: Timestamp) {
        let url = Arc::clone(endpoint.url.shown());
        let row = self.rows.entry(url).or_insert_with_key(|url| Row {
            endpoint: endpoint.clone(),
            status: untried(url, now),
            untaken: VecDeque::new(),
            boards: Vec::new(),
        });
        if let Some((node, _)) = &endpoint.node {
            row.status.node = Some(node.clone());
        }
        row.status.rolling_out = endpoint.rolling_out;
        row.endpoint = endpoint;
    }

    pub(super) fn remove(&mut self, url: &Arc<str>) {
        if let Some(row) = self.rows.remove(url) {
            self.claims.replace(url, &row.boards, &[]);
        }
    }

    /// What is known of a target's bodies beforehand.
    pub(super) fn origin(&self, url: &Arc<str>) -> Option<Origin> {
        let endpoint = &self.rows.get(url)?.endpoint;
        Some(Origin {
            target: Arc::clone(url),
            node: endpoint.node.clone(),
            exporter_pod: endpoint.exporter_pod.clone(),
            known_nodes: self.known_nodes.clone(),
        })
    }

    /// Files an attempt that has ended now. Where the clock was set back meanwhile, its times are
    /// of the old one: nothing was seen later than now.
    pub(super) fn record(&mut self, url: &Arc<str>, mut scrape: Scrape, now: Timestamp) {
        scrape.at = scrape.at.min(now);
        let read = scrape.read.iter_mut();
        for observation in read.flat_map(|read| &mut read.observations) {
            observation.at = observation.at.min(now);
        }
        let Some(row) = self.rows.get_mut(url) else {
            return;
        };
        let status = &mut row.status;
        status.last_attempt = Some(scrape.at);
        status.duration_seconds = scrape.took.as_secs_f64();
        let mut boards = Vec::new();
        status.notes.clear();
        if let Some(read) = scrape.read {
            self.rejected.merge(&read.rejected);
            row.untaken.push_back(read.observations);
            status.notes = read.notes;
            if scrape.error.is_none() {
                boards = read.boards;
                status.gpus = boards.len() as u32;
                status.samples = read.samples;
                status.unlabelled = read.unlabelled;
                let configured = row.endpoint.node.as_ref().map(|(node, _)| node.clone());
                status.node = configured.or(read.node).or(status.node.take());
                let empty_since = *status.empty_since.get_or_insert(scrape.at);
                status.empty_since = boards.is_empty().then_some(empty_since);
            }
        }
        if row.untaken.len() > KEPT_SCRAPES
            && let Some(oldest) = row.untaken.pop_front()
        {
            self.rejected.add(rejected::NOT_TAKEN, oldest.len() as u64);
        }
        if let Some(error) = &scrape.error {
            *self.errors.entry(error.kind).or_default() += 1;
            status.state = TargetState::Down;
        } else {
            status.state = TargetState::Up;
            status.last_success = Some(scrape.at);
        }
        status.error = scrape.error;
        self.claims.replace(url, &row.boards, &boards);
        row.boards = boards;
    }

    /// Moves every time along with a clock that was set.
    pub(super) fn shift(&mut self, by: SignedDuration) {
        self.since = moved(self.since, by);
        for row in self.rows.values_mut() {
            row.status.shift(by);
            for observation in row.untaken.iter_mut().flatten() {
                observation.at = moved(observation.at, by);
            }
        }
    }

    /// Everything since the last time, and how the source is doing.
    pub(super) fn take(&mut self) -> Batch {
        let mut observations = Vec::new();
        for (url, row) in &mut self.rows {
            for observation in row.untaken.drain(..).flatten() {
                if self.claims.is_anothers(&observation.uuid, url) {
                    self.rejected.add(rejected::OTHER_TARGET, 1);
                } else {
                    observations.push(Observation::Gpu(observation));
                }
            }
        }
        Batch {
            source: SourceId::Dcgm,
            observations,
            status: self.status(),
        }
    }

    fn status(&self) -> SourceStatus {
        let notes = self.claims.notes();
        let mut targets: Vec<_> = self
            .rows
            .iter()
            .map(|(url, row)| {
                let mut status = row.status.clone();
                status
                    .notes
                    .extend(notes.get(url).into_iter().flatten().cloned());
                status
            })
            .collect();
        targets.sort_by(|a, b| (&a.node, &a.url).cmp(&(&b.node, &b.url)));
        let longest = targets.iter().map(|target| target.duration_seconds);
        let rejected = rejected::reasons()
            .map(|reason| (reason.to_owned(), self.rejected.get(reason)))
            .collect();
        let state = state(&targets);
        SourceStatus {
            id: SourceId::Dcgm,
            state,
            since: self.since,
            last_attempt: targets
                .iter()
                .filter_map(|target| target.last_attempt)
                .max(),
            last_success: targets
                .iter()
                .filter_map(|target| target.last_success)
                .max(),
            error: (state == SourceState::Down)
                .then(|| summary(&targets))
                .flatten(),
            lists: None,
            errors: self.errors.clone(),
            rejected,
            duration_seconds: longest.fold(0.0, f64::max),
            targets,
        }
    }
}

fn untried(url: &Arc<str>, since: Timestamp) -> TargetStatus {
    TargetStatus {
        url: Arc::clone(url),
        node: None,
        state: TargetState::Pending,
        since,
        last_attempt: None,
        last_success: None,
        error: None,
        gpus: 0,
        empty_since: None,
        rolling_out: false,
        samples: 0,
        unlabelled: None,
        duration_seconds: 0.0,
        notes: Vec::new(),
    }
}

/// Up where anything answers; down where everything was tried and nothing does, or where there is
/// nothing to try.
fn state(targets: &[TargetStatus]) -> SourceState {
    let any = |state| targets.iter().any(|target| target.state == state);
    if any(TargetState::Up) {
        SourceState::Up
    } else if any(TargetState::Pending) {
        SourceState::Pending
    } else {
        SourceState::Down
    }
}

/// The commonest error of targets that are all down.
fn summary(targets: &[TargetStatus]) -> Option<SourceError> {
    let errors = || targets.iter().filter_map(|target| target.error.as_ref());
    let mut kinds: BTreeMap<ErrorKind, usize> = BTreeMap::new();
    for error in errors() {
        *kinds.entry(error.kind).or_default() += 1;
    }
    let (&kind, count) = kinds.iter().max_by_key(|(_, count)| **count)?;
    let example = errors().find(|error| error.kind == kind)?;
    let total = targets.len();
    let message = format!(
        "none of {total} targets answers, {count} for the same reason: {}",
        example.message
    );
    Some(SourceError { kind, message })
}

/// Which targets tell about which boards. Two exporters on one node tell everything twice; what
/// the first in the order of URLs says is then taken.
#[derive(Debug, Default)]
struct Claims {
    /// URLs by board, sorted.
    by_board: HashMap<GpuUuid, Vec<Arc<str>>, RandomState>,
    /// The boards that more than one target tells about.
    contested: BTreeSet<GpuUuid>,
}

impl Claims {
    fn replace(&mut self, url: &Arc<str>, old: &[GpuUuid], new: &[GpuUuid]) {
        if old == new {
            return;
        }
        for uuid in old {
            if let Some(urls) = self.by_board.get_mut(uuid) {
                urls.retain(|other| other != url);
                if urls.is_empty() {
                    self.by_board.remove(uuid);
                } else if urls.len() == 1 {
                    self.contested.remove(uuid);
                }
            }
        }
        for uuid in new {
            let urls = self.by_board.entry(uuid.clone()).or_default();
            let place = urls.partition_point(|other| other < url);
            urls.insert(place, Arc::clone(url));
            if urls.len() == 2 {
                self.contested.insert(uuid.clone());
            }
        }
    }

    /// Whether another target's word about a board counts.
    fn is_anothers(&self, uuid: &GpuUuid, url: &Arc<str>) -> bool {
        self.contested.contains(uuid)
            && self.by_board.get(uuid).and_then(|urls| urls.first()) != Some(url)
    }

    /// For each target, whom it contradicts and who is believed.
    fn notes(&self) -> BTreeMap<Arc<str>, Vec<String>> {
        let mut pairs: BTreeMap<(&Arc<str>, &Arc<str>), Vec<&GpuUuid>> = BTreeMap::new();
        for uuid in &self.contested {
            let urls = self.by_board.get(uuid).map_or(&[][..], Vec::as_slice);
            if let Some((first, others)) = urls.split_first() {
                for other in others {
                    pairs.entry((first, other)).or_default().push(uuid);
                }
            }
        }
        let mut notes: BTreeMap<Arc<str>, Vec<String>> = BTreeMap::new();
        for ((first, other), boards) in pairs {
            let (count, example) = (boards.len(), boards[0]);
            let mut note =
                |url: &Arc<str>, text| notes.entry(Arc::clone(url)).or_default().push(text);
            note(
                first,
                format!(
                    "{other} tells about {count} of its GPUs, too ({example}); this one counts"
                ),
            );
            note(
                other,
                format!(
                    "{first} tells about {count} of its GPUs, too ({example}); that one counts"
                ),
            );
        }
        notes
    }
}
