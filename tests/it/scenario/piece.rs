//! Pieces of evidence, and a recording without one.

use gpulens::snapshot::{
    ErrorKind, ListState, NodeName, Recording, Series, SeriesSubject, SeriesValues, SourceError,
    SourceId, SourceState, TargetState,
};
use jiff::{SignedDuration, Timestamp};

/// The end of a column that is taken away.
const TAIL: SignedDuration = SignedDuration::from_mins(10);

/// How much of a series is taken away.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Much {
    Whole,
    Tail,
}

/// A list of the API.
#[derive(Clone, Copy, Debug)]
pub(super) enum List {
    Nodes,
    Pods,
    Events,
}

/// A piece of evidence.
#[derive(Clone, Debug)]
pub(super) enum Piece {
    /// One series of a GPU, instance or node.
    Column(SeriesSubject, String, Much),
    /// All series of a GPU, instance or node.
    Subject(SeriesSubject, Much),
    /// Who is named on a GPU: GPU, pod.
    Holder(String, String),
    /// An event, by UID.
    Event(String),
    /// A node's condition.
    Condition(NodeName, String),
    /// A node's label.
    Label(NodeName, String),
    /// A target's answers.
    TargetDown(String),
    /// A target's status as a whole.
    Target(String),
    /// Everything that a source tells.
    Source(SourceId),
    /// A list that was never had.
    ListFailed(List),
    /// A list that is old.
    ListOld(List),
}

impl std::fmt::Display for Piece {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Column(subject, name, much) => write!(f, "{much:?} {name} of {}", who(subject)),
            Self::Subject(subject, much) => write!(f, "{much:?} of all series of {}", who(subject)),
            other => write!(f, "{other:?}"),
        }
    }
}

impl Piece {
    /// The one subject whose series are touched, if it is one.
    pub(super) fn touches(&self, series: &[Series]) -> Option<usize> {
        let at =
            |subject: &SeriesSubject| series.iter().position(|series| series.subject == *subject);
        match self {
            Self::Column(subject, ..) | Self::Subject(subject, _) => at(subject),
            Self::Holder(gpu, _) => series.iter().position(|series| {
                matches!(&series.subject, SeriesSubject::Gpu { uuid, .. } if uuid.as_str() == gpu)
            }),
            _ => None,
        }
    }

    /// Whether it leaves all series as they are.
    pub(super) fn leaves_series(&self) -> bool {
        matches!(
            self,
            Self::Event(_)
                | Self::Condition(..)
                | Self::Label(..)
                | Self::Target(_)
                | Self::ListFailed(_)
                | Self::ListOld(_)
        )
    }
}

fn who(subject: &SeriesSubject) -> String {
    match subject {
        SeriesSubject::Gpu { uuid, instance, .. } => {
            let instance = instance.map_or_else(String::new, |id| format!("/{}", id.0));
            format!("{uuid}{instance}")
        }
        SeriesSubject::Node { name, .. } => name.to_string(),
    }
}

/// Of so many columns of a healthy board one is taken; the turn says which.
const ONE_OF: usize = 6;

/// Every piece of a recording. Of the boards that are not looked at, one column in some: each has
/// its turn in another recording.
pub(super) fn pieces(recording: &Recording, looked_at: &[String], turn: usize) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for series in &recording.series {
        let all = match &series.subject {
            SeriesSubject::Gpu { uuid, .. } => looked_at.iter().any(|at| at == uuid.as_str()),
            SeriesSubject::Node { .. } => true,
        };
        for much in [Much::Whole, Much::Tail] {
            let names = series.values.keys().enumerate();
            for (_, name) in names.filter(|(at, _)| all || (at + turn).is_multiple_of(ONE_OF)) {
                pieces.push(Piece::Column(series.subject.clone(), name.clone(), much));
            }
            pieces.push(Piece::Subject(series.subject.clone(), much));
        }
    }
    for held in &recording.holders {
        pieces.push(Piece::Holder(held.gpu.to_string(), held.pod.to_string()));
    }
    let events = recording.events.iter();
    pieces.extend(events.map(|event| Piece::Event(event.uid.to_string())));
    for node in &recording.nodes {
        let conditions = node.conditions.iter();
        pieces.extend(conditions.map(|c| Piece::Condition(node.name.clone(), c.kind.to_string())));
        let labels = node.labels.keys();
        pieces.extend(labels.map(|key| Piece::Label(node.name.clone(), key.to_string())));
    }
    for source in &recording.sources {
        pieces.push(Piece::Source(source.id));
        for target in &source.targets {
            pieces.push(Piece::TargetDown(target.url.to_string()));
            pieces.push(Piece::Target(target.url.to_string()));
        }
    }
    for list in [List::Nodes, List::Pods, List::Events] {
        pieces.extend([Piece::ListFailed(list), Piece::ListOld(list)]);
    }
    pieces
}

/// The recording without a piece. What is missing has been missing since `since`, where evidence
/// has an end of its own.
pub(super) fn without(recording: &Recording, piece: &Piece, since: Timestamp) -> Recording {
    let mut less = recording.clone();
    let tail = recording.now - TAIL;
    match piece {
        Piece::Column(subject, name, Much::Whole) => {
            for series in of(&mut less, subject) {
                series.values.remove(name);
            }
        }
        Piece::Column(subject, name, Much::Tail) => {
            for series in of(&mut less, subject) {
                let times: Vec<_> = (0..series.slots).map(|slot| series.time_of(slot)).collect();
                if let Some(values) = series.values.get_mut(name) {
                    cut(values, &times, tail);
                }
            }
        }
        Piece::Subject(subject, Much::Whole) => less.series.retain(|s| s.subject != *subject),
        Piece::Subject(subject, Much::Tail) => {
            for series in of(&mut less, subject) {
                let times: Vec<_> = (0..series.slots).map(|slot| series.time_of(slot)).collect();
                for values in series.values.values_mut() {
                    cut(values, &times, tail);
                }
            }
        }
        Piece::Holder(gpu, pod) => {
            less.holders
                .retain(|held| held.gpu.as_str() != gpu || *held.pod != **pod);
        }
        Piece::Event(uid) => less.events.retain(|event| *event.uid != **uid),
        Piece::Condition(name, kind) => {
            for node in less.nodes.iter_mut().filter(|node| node.name == *name) {
                node.conditions
                    .retain(|condition| *condition.kind != **kind);
            }
        }
        Piece::Label(name, key) => {
            for node in less.nodes.iter_mut().filter(|node| node.name == *name) {
                node.labels.remove(&**key);
            }
        }
        Piece::TargetDown(url) => target_down(&mut less, url, since),
        Piece::Target(url) => {
            for source in &mut less.sources {
                source.targets.retain(|target| *target.url != **url);
            }
        }
        Piece::Source(id) => less.sources.retain(|source| source.id != *id),
        Piece::ListFailed(list) => set_list(&mut less, *list, ListState::Failed),
        Piece::ListOld(list) => set_list(&mut less, *list, ListState::Synced(since - TAIL)),
    }
    less
}

fn of<'a>(
    recording: &'a mut Recording,
    subject: &'a SeriesSubject,
) -> impl Iterator<Item = &'a mut Series> {
    recording
        .series
        .iter_mut()
        .filter(move |series| series.subject == *subject)
}

fn cut(values: &mut SeriesValues, times: &[Timestamp], from: Timestamp) {
    let kept = times.iter().enumerate().map(|(slot, at)| {
        let value = values.get(slot as u32);
        value.filter(|_| *at < from)
    });
    *values = SeriesValues::Column(kept.collect());
}

fn target_down(recording: &mut Recording, url: &str, since: Timestamp) {
    let mut gone = Vec::new();
    for source in &mut recording.sources {
        for target in source
            .targets
            .iter_mut()
            .filter(|target| *target.url == *url)
        {
            gone.extend(target.node.clone());
            target.state = TargetState::Down;
            target.last_success = Some(since - TAIL);
            target.error = Some(SourceError {
                kind: ErrorKind::Timeout,
                message: "no answer".to_owned(),
            });
        }
        if !source.targets.is_empty() && source.targets.iter().all(|t| t.state == TargetState::Down)
        {
            source.state = SourceState::Down;
        }
    }
    let from = since - TAIL;
    for series in &mut recording.series {
        let times: Vec<_> = (0..series.slots).map(|slot| series.time_of(slot)).collect();
        if matches!(&series.subject, SeriesSubject::Gpu { target: Some(own), .. } if **own == *url)
        {
            for values in series.values.values_mut() {
                cut(values, &times, from);
            }
        }
    }
}

fn set_list(recording: &mut Recording, list: List, state: ListState) {
    for source in &mut recording.sources {
        if let Some(lists) = &mut source.lists {
            *match list {
                List::Nodes => &mut lists.nodes,
                List::Pods => &mut lists.pods,
                List::Events => &mut lists.events,
            } = state;
        }
    }
}
