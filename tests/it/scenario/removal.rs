//! Missing is never healthy: taking any one piece of evidence away never makes anything read
//! clear.

use std::collections::BTreeMap;

use gpulens::finding::{Cause, Key, Reason, Subject, Verdict};
use gpulens::rules::{RuleConfig, RuleSet};
use gpulens::snapshot::{Recording, Series, SeriesSubject};
use gpulens::source::recording::batches;

use super::case::{every, split};
use super::piece::{Much, Piece, pieces, without};
use super::play::{Past, fixtures, line, word};

/// Judges a recording without one piece after another.
struct Reduced<'a> {
    rules: &'a RuleSet,
    full: &'a Recording,
    whole: Past,
    /// What is known without the series of one subject, as the order of arrival does not matter.
    beside: Option<(usize, Past)>,
}

impl<'a> Reduced<'a> {
    fn new(rules: &'a RuleSet, full: &'a Recording) -> Self {
        let whole = Self::played(rules, full, full);
        Self {
            rules,
            full,
            whole,
            beside: None,
        }
    }

    fn played(rules: &RuleSet, full: &Recording, recording: &Recording) -> Past {
        let mut past = Past::new(rules, full);
        past.absorb(&batches(recording));
        past
    }

    /// What is known of all but the series at a place.
    fn beside(&mut self, at: usize) -> Past {
        match &self.beside {
            Some((place, past)) if *place == at => past.clone(),
            _ => {
                let mut rest = self.full.clone();
                rest.series.remove(at);
                let past = Self::played(self.rules, self.full, &rest);
                self.beside = Some((at, past.clone()));
                past
            }
        }
    }

    fn verdicts(&mut self, piece: &Piece) -> BTreeMap<Key, Verdict> {
        let full = self.full;
        let (mut past, told) = match piece.touches(&full.series) {
            Some(at) => (self.beside(at), only(full, full.series[at..=at].to_vec())),
            None if piece.leaves_series() => (self.whole.clone(), only(full, Vec::new())),
            None => (Past::new(self.rules, full), full.clone()),
        };
        past.absorb(&batches(&without(&told, piece, full.now)));
        past.judge(self.rules, full).0
    }
}

/// The recording with other series.
fn only(full: &Recording, series: Vec<Series>) -> Recording {
    Recording {
        series,
        schema: full.schema.clone(),
        cluster: full.cluster.clone(),
        sources: full.sources.clone(),
        nodes: full.nodes.clone(),
        pods: full.pods.clone(),
        events: full.events.clone(),
        holders: full.holders.clone(),
        terminations: full.terminations.clone(),
        ..*full
    }
}

/// Losses that look exactly like what never was, so that nothing can be made of them.
fn cannot_be_told(piece: &Piece, key: &Key, was: &Verdict) -> bool {
    let blind = *was == Verdict::Undecided(Reason::Blind);
    match piece {
        // An instance that was never named is none: its board's other parts speak for the board.
        Piece::Subject(
            SeriesSubject::Gpu {
                uuid,
                instance: Some(_),
                ..
            },
            Much::Whole,
        ) => {
            matches!(&key.subject, Subject::Gpu { uuid: of, .. } if of == uuid)
        }
        _ if !blind => false,
        // A board that never told of its energy or power cannot be seen to stand still: without
        // them nothing is called frozen, and what was undecided because of it no longer is.
        Piece::Column(SeriesSubject::Gpu { uuid, node, .. }, name, Much::Whole) => {
            let about = match &key.subject {
                Subject::Gpu { uuid: of, .. } => of == uuid,
                Subject::Node(of) => node.as_ref() == Some(of),
                _ => false,
            };
            about && (name == "energy_joules" || name == "power_watts")
        }
        // A board that was never named is none of those whose labels are compared. That the node
        // has more boards than are named is HEALTH's finding.
        Piece::Subject(SeriesSubject::Gpu { node, .. }, Much::Whole) => {
            let labels = [Cause::LabelsDisagree, Cause::PodsUnlabelled];
            let own = matches!(&key.subject, Subject::Node(of) if node.as_ref() == Some(of));
            own && key.aspect.is_some_and(|cause| labels.contains(&cause))
        }
        _ => false,
    }
}

/// What reads clear for want of a piece.
fn healed(rules: &RuleSet, full: &Recording, turn: usize) -> Vec<String> {
    let mut reduced = Reduced::new(rules, full);
    let before = reduced.whole.clone().judge(rules, full).0;
    let watched: Vec<_> = before
        .iter()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Fires(_) | Verdict::Undecided(_)))
        .collect();
    let looked_at = boards_of(watched.iter().copied());
    let mut healed = Vec::new();
    for piece in pieces(full, &looked_at, turn) {
        let after = reduced.verdicts(&piece);
        for (key, was) in &watched {
            let now = after.get(*key);
            let over = matches!(now, Some(Verdict::Clear | Verdict::Expired));
            if over && !cannot_be_told(&piece, key, was) {
                let name = &full.cluster;
                let (key, was) = (line(key), word(was));
                healed.push(format!(
                    "{name} without {piece}: {key} was {was}, is {now:?}"
                ));
            }
        }
    }
    healed
}

/// The boards that something fires on, else the first that is undecided.
pub(super) fn boards_of<'a>(
    verdicts: impl Iterator<Item = (&'a Key, &'a Verdict)> + Clone,
) -> Vec<String> {
    let board = |key: &Key| match &key.subject {
        Subject::Gpu { uuid, .. } => Some(uuid.to_string()),
        _ => None,
    };
    let firing = verdicts
        .clone()
        .filter(|(_, verdict)| matches!(verdict, Verdict::Fires(_)));
    let mut boards: Vec<_> = firing.filter_map(|(key, _)| board(key)).collect();
    if boards.is_empty() {
        boards.extend(verdicts.filter_map(|(key, _)| board(key)).take(1));
    }
    boards.sort();
    boards.dedup();
    boards
}

fn assert_nothing_heals(recordings: impl IntoIterator<Item = Recording>) {
    let rules = RuleSet::new(&RuleConfig::default());
    let recordings = recordings.into_iter().enumerate();
    let healed: Vec<_> = recordings
        .flat_map(|(turn, recording)| healed(&rules, &recording, turn))
        .collect();
    assert!(healed.is_empty(), "\n{}", healed.join("\n"));
}

#[test]
fn nothing_reads_clear_in_a_fixture_that_lost_a_piece() {
    assert_nothing_heals(fixtures());
}

#[test]
fn nothing_reads_clear_in_a_generated_recording_that_lost_a_piece() {
    assert_nothing_heals(every().map(|fleet| fleet.record()).chain([split()]));
}
