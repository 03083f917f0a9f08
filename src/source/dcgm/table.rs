//! What one target's names and labels mean, kept between bodies, and the body being read.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::decode::DecodeLimits;
use super::dialect::{Dialect, Family};
use super::identity::Origin;
use super::labels::{Described, Parts, Traits};
use super::picks::{Pick, ToldBy, fill, is_plausible, settle};
use super::rejected::{self, Counts};
use crate::snapshot::{
    BoardIdentity, GpuObservation, GpuUuid, Holder, InstanceId, PodRef, Rejected, Scope, SeriesKey,
    Unlabelled,
};
use crate::source::exposition::{Labels, Sample, Visitor};

/// A set of labels by its place in [`Table::series`], or why it has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SeriesId {
    Known(u32),
    NoGpu,
    TooManyGpus,
    TooManySeries,
}

/// A set of labels.
#[derive(Debug)]
struct Series {
    entity: u32,
    /// The board as a whole, if the series is an instance's.
    board_entity: u32,
    traits: u32,
    profile: Option<Arc<str>>,
    holder: Option<u32>,
    parts: Parts,
    /// The last body that had it.
    seen: u32,
}

#[derive(Debug)]
struct Board {
    uuid: GpuUuid,
    /// The board as a whole.
    entity: u32,
    instances: Vec<(InstanceId, u32)>,
    /// As told so far by the current body.
    traits: Traits,
    /// As of the last body.
    identity: Option<Arc<BoardIdentity>>,
    seen: u32,
}

/// A board as a whole, or one of its instances.
#[derive(Debug)]
struct Entity {
    board: u32,
    instance: Option<InstanceId>,
    /// The instance's profile, as told so far by the current body.
    profile: Option<Arc<str>>,
    /// Those that the current body names, as places in [`Table::holders`].
    holders: Vec<u32>,
    seen: u32,
    /// The last body that had an XID of it, readable or not.
    xid: u32,
}

impl Entity {
    fn new(board: u32, instance: Option<InstanceId>) -> Self {
        Self {
            board,
            instance,
            profile: None,
            holders: Vec::new(),
            seen: 0,
            xid: 0,
        }
    }
}

/// A target's memory.
#[derive(Debug)]
pub(super) struct Table {
    dialect: Arc<Dialect>,
    limits: DecodeLimits,
    own_pod: Option<PodRef>,
    series: Vec<Series>,
    traits: Vec<Traits>,
    boards: Vec<Board>,
    board_of: HashMap<GpuUuid, u32, RandomState>,
    entities: Vec<Entity>,
    holders: Vec<Holder>,
    holder_of: BTreeMap<Holder, u32>,
    /// The current body's number; 0 is none.
    body: u32,
    picks: Vec<Pick>,
    scraped_at: i64,
    /// Samples of understood names, and those whose own time was not believed.
    pub(super) understood: u64,
    pub(super) implausible_times: u64,
    /// Samples of understood names on series that name no GPU, and the first such name in the
    /// order of ranks.
    unlabelled: Option<(u64, Family)>,
    /// Samples of XID families, and whether one of them could not be told to be a known board's.
    pub(super) xids: u64,
    stray_xid: bool,
    pub(super) rejected: Counts,
}

impl Table {
    pub(super) fn new(dialect: Arc<Dialect>, limits: DecodeLimits) -> Self {
        Self {
            dialect,
            limits,
            own_pod: None,
            series: Vec::new(),
            traits: Vec::new(),
            boards: Vec::new(),
            board_of: HashMap::default(),
            entities: Vec::new(),
            holders: Vec::new(),
            holder_of: BTreeMap::new(),
            body: 0,
            picks: Vec::new(),
            scraped_at: 0,
            understood: 0,
            implausible_times: 0,
            unlabelled: None,
            xids: 0,
            stray_xid: false,
            rejected: Counts::default(),
        }
    }

    /// Whether what is kept was read with another idea of the exporter's pod.
    pub(super) fn is_for_another_pod(&self, own: Option<&PodRef>) -> bool {
        self.own_pod.as_ref() != own
    }

    /// Begins a body.
    pub(super) fn start(&mut self, scraped_at: Timestamp, own: Option<&PodRef>) {
        self.own_pod = own.cloned();
        self.scraped_at = scraped_at.as_millisecond();
        self.picks.clear();
        self.understood = 0;
        self.implausible_times = 0;
        self.unlabelled = None;
        self.xids = 0;
        self.stray_xid = false;
        self.rejected = Counts::default();
        self.body = self.body.checked_add(1).unwrap_or_else(|| {
            self.forget();
            1
        });
    }

    /// Ends a body: its observations, sorted by board, instance and time. `all_xids`: every line
    /// that tells an XID was told as a sample.
    pub(super) fn finish(
        &mut self,
        scraped_at: Timestamp,
        origin: &Origin,
        all_xids: bool,
    ) -> Vec<GpuObservation> {
        let all_xids = all_xids && !self.stray_xid;
        let mut picks = std::mem::take(&mut self.picks);
        settle(&mut picks);
        let mut observations = Vec::new();
        let mut left = picks.as_slice();
        for place in 0..self.entities.len() {
            let count = left.partition_point(|pick| pick.entity as usize <= place);
            let (own, rest) = left.split_at(count);
            left = rest;
            if self.entities[place].seen == self.body {
                let absent = all_xids && self.entities[place].xid != self.body;
                let blank = self.blank(place, scraped_at, origin);
                fill(&blank, own, self.scraped_at, &mut observations);
                // Once a body, whatever times its samples carry.
                if let Some(newest) = observations.last_mut() {
                    newest.xid_absent = absent;
                }
            }
        }
        observations.sort_by(|a, b| {
            let place = |o: &GpuObservation| o.instance.as_ref().map(|(id, _)| *id);
            (&a.uuid, place(a), a.at).cmp(&(&b.uuid, place(b), b.at))
        });
        observations
    }

    /// What is observed of an entity, without readings.
    fn blank(&mut self, place: usize, at: Timestamp, origin: &Origin) -> GpuObservation {
        let entity = &mut self.entities[place];
        let mut holders: Vec<_> = entity
            .holders
            .drain(..)
            .map(|holder| self.holders[holder as usize].clone())
            .collect();
        holders.sort();
        holders.dedup();
        let board = &mut self.boards[entity.board as usize];
        let identity = origin.identity(&board.traits);
        let identity = match &board.identity {
            Some(known) if **known == identity => Arc::clone(known),
            _ => Arc::clone(board.identity.insert(Arc::new(identity))),
        };
        GpuObservation {
            at,
            uuid: board.uuid.clone(),
            identity,
            instance: entity.instance.map(|id| (id, entity.profile.clone())),
            holders,
            readings: Vec::new(),
            xid_absent: false,
        }
    }

    /// Lines of a body that may tell an XID.
    pub(super) fn xid_lines(&self, body: &[u8]) -> u64 {
        self.dialect.xid_lines(body)
    }

    /// The boards that the current body names, sorted.
    pub(super) fn boards(&self) -> Vec<GpuUuid> {
        let named = self.boards.iter().filter(|board| board.seen == self.body);
        let mut boards: Vec<_> = named.map(|board| board.uuid.clone()).collect();
        boards.sort();
        boards
    }

    /// The samples of understood names that name no GPU.
    pub(super) fn unlabelled(&self) -> Option<Unlabelled> {
        let (samples, family) = self.unlabelled?;
        let example = self.dialect.name(family).into();
        Some(Unlabelled { samples, example })
    }

    /// Whether a limit was met: what has churned away must then not keep out what is there.
    pub(super) fn is_clogged(rejected: &Counts) -> bool {
        let beyond = [rejected::TOO_MANY_GPUS, rejected::TOO_MANY_SERIES];
        beyond.iter().any(|reason| rejected.get(reason) > 0)
    }

    fn describe(&mut self, described: Described) -> SeriesId {
        if self.series.len() >= self.limits.series {
            return SeriesId::TooManySeries;
        }
        let Some(board) = self.board(&described.uuid) else {
            return SeriesId::TooManyGpus;
        };
        let (instance, profile) = described.instance.unzip();
        let Some(entity) = self.entity(board, instance) else {
            return SeriesId::TooManyGpus;
        };
        let holder = described.holder.map(|holder| self.holder(holder));
        // Series of a board come together, so its traits are among the latest.
        let recent = self.traits.len().saturating_sub(16);
        let known = self.traits[recent..]
            .iter()
            .position(|traits| *traits == described.traits);
        let traits = known.map_or(self.traits.len(), |at| recent + at);
        if known.is_none() {
            self.traits.push(described.traits);
        }
        self.series.push(Series {
            entity,
            board_entity: self.boards[board as usize].entity,
            traits: traits as u32,
            profile: profile.flatten(),
            holder,
            parts: described.parts,
            seen: 0,
        });
        SeriesId::Known(self.series.len() as u32 - 1)
    }

    fn board(&mut self, uuid: &GpuUuid) -> Option<u32> {
        if let Some(&board) = self.board_of.get(uuid) {
            return Some(board);
        }
        if self.boards.len() >= self.limits.boards || self.entities.len() >= self.limits.entities {
            return None;
        }
        let board = self.boards.len() as u32;
        self.boards.push(Board {
            uuid: uuid.clone(),
            entity: self.entities.len() as u32,
            instances: Vec::new(),
            traits: Traits::default(),
            identity: None,
            seen: 0,
        });
        self.entities.push(Entity::new(board, None));
        self.board_of.insert(uuid.clone(), board);
        Some(board)
    }

    fn entity(&mut self, board: u32, instance: Option<InstanceId>) -> Option<u32> {
        let known = &mut self.boards[board as usize];
        let Some(id) = instance else {
            return Some(known.entity);
        };
        if let Some(&(_, entity)) = known.instances.iter().find(|(other, _)| *other == id) {
            return Some(entity);
        }
        if self.entities.len() >= self.limits.entities {
            return None;
        }
        let entity = self.entities.len() as u32;
        known.instances.push((id, entity));
        self.entities.push(Entity::new(board, instance));
        Some(entity)
    }

    fn holder(&mut self, holder: Holder) -> u32 {
        let next = self.holders.len() as u32;
        let holders = &mut self.holders;
        *self.holder_of.entry(holder).or_insert_with_key(|holder| {
            holders.push(holder.clone());
            next
        })
    }

    /// Notes that the current body has a series.
    fn touch(&mut self, place: u32) {
        let body = self.body;
        let series = &mut self.series[place as usize];
        if series.seen == body {
            return;
        }
        series.seen = body;
        let (entity, traits, holder) = (series.entity, series.traits, series.holder);
        let profile = series.profile.clone();
        let entity = self.see(entity);
        entity.holders.extend(holder);
        entity.profile = entity.profile.take().max(profile);
        let board = entity.board as usize;
        self.boards[board]
            .traits
            .merge(&self.traits[traits as usize]);
    }

    /// Whether a series' key is of the form that NVIDIA gives its boards: other exporters' metrics
    /// have labels named `uuid`, too.
    fn is_gpu(&self, place: u32) -> bool {
        let entity = &self.entities[self.series[place as usize].entity as usize];
        let uuid = &self.boards[entity.board as usize].uuid;
        uuid.as_str().starts_with("GPU-")
    }

    /// Notes that the current body tells about an entity.
    fn see(&mut self, place: u32) -> &mut Entity {
        let entity = &mut self.entities[place as usize];
        let board = &mut self.boards[entity.board as usize];
        if board.seen != self.body {
            board.seen = self.body;
            board.traits = Traits::default();
        }
        if entity.seen != self.body {
            entity.seen = self.body;
            entity.holders.clear();
            entity.profile = None;
        }
        entity
    }

    /// Takes a sample of an understood name, or says why not.
    fn take(
        &mut self,
        family: Family,
        place: u32,
        sample: &Sample<Family, SeriesId>,
    ) -> Result<(), &'static str> {
        let Some(row) = self.dialect.row(family) else {
            return Ok(());
        };
        self.understood += 1;
        let series = &self.series[place as usize];
        let (own, board) = (series.entity, series.board_entity);
        let scope = row.signal.spec().scope;
        if own != board && scope == Scope::BoardOnly {
            // Absent or 0 on instances, whatever they do: not a value, and not an error either.
            return Ok(());
        }
        let value = row.convert(sample.value).map_err(Rejected::as_str)?;
        let part = series.parts.part(row.part, family.link());
        let part = part.ok_or(rejected::UNKNOWN_PART)?;
        let to_board = own != board && scope == Scope::Board;
        let told_by = match series.holder {
            _ if to_board => ToldBy::InstanceCopy,
            Some(_) => ToldBy::PodCopy,
            None => ToldBy::Itself,
        };
        let signal = row.signal;
        let own_time = sample.timestamp_ms;
        let believed = own_time.filter(|time| is_plausible(*time, self.scraped_at));
        self.implausible_times += u64::from(believed != own_time);
        let entity = if to_board { board } else { own };
        self.see(entity);
        self.picks.push(Pick {
            entity,
            key: SeriesKey { signal, part },
            rank: family.rank(),
            told_by,
            at: believed.unwrap_or(self.scraped_at),
            value,
        });
        Ok(())
    }
}

impl Visitor for Table {
    type Family = Family;
    type Series = SeriesId;

    fn family(&mut self, name: &str) -> Family {
        self.dialect.family(name)
    }

    fn series(&mut self, labels: &Labels<'_>) -> SeriesId {
        match Described::of(labels, self.own_pod.as_ref()) {
            Some(described) => self.describe(described),
            None => SeriesId::NoGpu,
        }
    }

    fn sample(&mut self, sample: Sample<Family, SeriesId>) {
        if self.dialect.is_xid(sample.family) {
            self.xids += 1;
            match sample.series {
                SeriesId::Known(place) => {
                    let entity = self.series[place as usize].entity;
                    self.entities[entity as usize].xid = self.body;
                }
                SeriesId::NoGpu | SeriesId::TooManyGpus | SeriesId::TooManySeries => {
                    self.stray_xid = true;
                }
            }
        }
        let result = match sample.series {
            SeriesId::Known(place) => {
                if sample.family != Family::UNKNOWN || self.is_gpu(place) {
                    self.touch(place);
                }
                self.take(sample.family, place, &sample)
            }
            // Metrics that we do not know need no GPU.
            SeriesId::NoGpu if sample.family == Family::UNKNOWN => Ok(()),
            SeriesId::NoGpu => {
                let (count, least) = self.unlabelled.unwrap_or((0, sample.family));
                let least = std::cmp::min_by_key(least, sample.family, |family| family.rank());
                self.unlabelled = Some((count + 1, least));
                Err(rejected::NO_GPU)
            }
            SeriesId::TooManyGpus => Err(rejected::TOO_MANY_GPUS),
            SeriesId::TooManySeries => Err(rejected::TOO_MANY_SERIES),
        };
        if let Err(reason) = result {
            self.rejected.add(reason, 1);
        }
    }

    fn forget(&mut self) {
        self.series.clear();
        self.traits.clear();
        self.boards.clear();
        self.board_of.clear();
        self.entities.clear();
        self.holders.clear();
        self.holder_of.clear();
        self.picks.clear();
    }
}
