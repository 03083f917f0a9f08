//! Plays recordings the way the program does, with a stopwatch that stands still.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use gpulens::cycle::{Engine, Setup, Step};
use gpulens::finding::{Judgement, Key, Verdict};
use gpulens::history::History;
use gpulens::incident::{Open, Transition, fold};
use gpulens::rules::{RuleConfig, RuleSet, judge_all};
use gpulens::simulate::scenario;
use gpulens::snapshot::{Batch, Limits, Recording, SourceId};
use gpulens::source::recording::{batches, read};

/// An engine that waits for the sources of a recording.
pub(super) fn engine(recording: &Recording) -> Engine {
    Engine::new(Setup {
        cluster: recording.cluster.clone(),
        interval: recording.interval.get(),
        expected: recording.sources.iter().map(|source| source.id).collect(),
        recorded: true,
        limits: Limits::default(),
        rules: RuleConfig::default(),
    })
}

/// One cycle at the recording's moment.
pub(super) fn step(engine: &mut Engine, recording: &Recording) -> Step {
    let now = recording.now;
    engine.step(&batches(recording), now, now, &|| Duration::ZERO)
}

/// An engine's parts in the open, so that one past can have several futures.
#[derive(Clone)]
pub(super) struct Past {
    history: History,
    open: Open,
    expected: Vec<SourceId>,
}

impl Past {
    /// Nothing is known; the sources of a recording are waited for.
    pub(super) fn new(rules: &RuleSet, recording: &Recording) -> Self {
        Self {
            history: History::new(rules.needs(), Limits::default()),
            open: Open::new(),
            expected: recording.sources.iter().map(|source| source.id).collect(),
        }
    }

    pub(super) fn open(&self) -> &Open {
        &self.open
    }

    pub(super) fn absorb(&mut self, batches: &[Batch]) {
        for batch in batches {
            self.history.absorb(batch);
        }
    }

    /// Judges at the recording's moment and keeps what is open.
    pub(super) fn judge(
        &mut self,
        rules: &RuleSet,
        recording: &Recording,
    ) -> (BTreeMap<Key, Verdict>, Vec<Transition>) {
        let (cluster, interval) = (&recording.cluster, recording.interval.get());
        let history = &self.history;
        let snapshot = history.view(cluster, recording.now, interval, &self.expected);
        let judged = judge_all(rules, &snapshot, &|| Duration::ZERO);
        assert!(judged.runs.iter().all(|run| run.success), "a rule panicked");
        let (open, transitions) = fold(&self.open, &judged.judgements, &snapshot);
        self.open = open;
        (verdicts(judged.judgements), transitions)
    }
}

/// What the rules say, by key. No key may be judged twice.
pub(super) fn verdicts(judgements: Vec<Judgement>) -> BTreeMap<Key, Verdict> {
    let mut verdicts = BTreeMap::new();
    for judgement in judgements {
        let key = judgement.key.clone();
        assert!(
            verdicts.insert(judgement.key, judgement.verdict).is_none(),
            "two judgements of {key:?} in one cycle"
        );
    }
    verdicts
}

/// A verdict in a word.
pub(super) fn word(verdict: &Verdict) -> String {
    match verdict {
        Verdict::Fires(finding) => finding.cause.as_str().into_owned(),
        other => format!("{other:?}"),
    }
}

/// A key in one line.
pub(super) fn line(key: &Key) -> String {
    let place = key.subject.place();
    let aspect = key
        .aspect
        .map_or_else(String::new, |cause| cause.as_str().into_owned());
    let words = [
        key.rule.as_str(),
        place.node,
        place.uuid,
        place.pod,
        &aspect,
    ];
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

/// The fixture of a scenario, as the file has it.
pub(super) fn fixture(stem: &str) -> Recording {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    read(&directory.join(format!("{stem}.json"))).expect(stem)
}

/// Every fixture.
pub(super) fn fixtures() -> Vec<Recording> {
    scenario::ALL
        .iter()
        .map(|scenario| fixture(scenario.stem))
        .collect()
}
