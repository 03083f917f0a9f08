use std::sync::atomic::{AtomicU8, Ordering};

use super::*;
use crate::finding::{Cause, Finding, Grade, Key, Reason, Subject, Verdict};
use crate::rules::Rule;
use crate::snapshot::Threshold;

/// A rule that does as it is told: clear, fires as a warning, fires as critical, panics.
struct Told(Arc<AtomicU8>);

const CLEAR: u8 = 0;
const WARNING: u8 = 1;
const CRITICAL: u8 = 2;
const PANIC: u8 = 3;

fn key() -> Key {
    Key {
        rule: RuleId::Fresh,
        subject: Subject::Cluster,
        aspect: Some(Cause::FleetBlind),
    }
}

impl Rule for Told {
    fn needs(&self) -> Vec<(Signal, Span)> {
        Vec::new()
    }

    fn judge(&self, snapshot: &ClusterSnapshot) -> Vec<Judgement> {
        let fires = |severity| {
            Verdict::Fires(Box::new(Finding {
                cause: Cause::FleetBlind,
                severity,
                grade: Grade::Strong,
                summary: String::new(),
                started: snapshot.now,
                gpu: None,
                facts: Vec::new(),
                supporting: Vec::new(),
                contradicting: Vec::new(),
                missing: Vec::new(),
                timeline: Vec::new(),
                checklist: Vec::new(),
            }))
        };
        let verdict = match self.0.load(Ordering::Relaxed) {
            CLEAR => Verdict::Clear,
            WARNING => fires(Severity::Warning),
            CRITICAL => fires(Severity::Critical),
            _ => panic!("a bug in a rule, on purpose"),
        };
        vec![Judgement {
            key: key(),
            clear_hold: SignedDuration::from_mins(2),
            verdict,
        }]
    }

    fn thresholds(&self) -> Vec<Threshold> {
        Vec::new()
    }
}

/// An engine with that rule alone; its cluster's clock and the wall clock differ by hours.
struct Bench {
    engine: Engine,
    says: Arc<AtomicU8>,
}

fn at(seconds: i64) -> Timestamp {
    Timestamp::constant(1_773_454_020 + seconds, 0)
}

impl Bench {
    fn new() -> Self {
        let says = Arc::new(AtomicU8::new(CLEAR));
        let mut engine = Engine::new(Setup {
            cluster: "c".into(),
            interval: SignedDuration::from_secs(15),
            expected: Vec::new(),
            recorded: true,
            limits: Limits::default(),
            rules: RuleConfig::default(),
        });
        engine.rules = RuleSet::only(RuleId::Fresh, Box::new(Told(says.clone())));
        Self { engine, says }
    }

    /// A cycle at both clocks in which the rule says something.
    fn step(&mut self, says: u8, now: i64, wall: i64) -> Step {
        self.says.store(says, Ordering::Relaxed);
        self.engine.step(&[], at(now), at(wall), &|| Duration::ZERO)
    }
}

fn zeros(step: &Step) -> Vec<Severity> {
    let zeros = step.view.zeros.iter();
    zeros
        .inspect(|zero| assert_eq!(zero.key, key()))
        .map(|zero| zero.severity)
        .collect()
}

const QUARTER: i64 = 15 * 60;

#[test]
fn a_closed_incident_shows_zero_for_a_quarter_of_an_hour_of_wall_clock() {
    let mut told = Bench::new();
    assert!(zeros(&told.step(WARNING, 0, 0)).is_empty());
    told.step(CLEAR, 60, 1000);
    let closed = told.step(CLEAR, 180, 2000);
    assert_eq!(zeros(&closed), [Severity::Warning]);
    assert_eq!(
        closed.view.opened_total,
        BTreeMap::from([(RuleId::Fresh, 1)])
    );
    let resolved = BTreeMap::from([((RuleId::Fresh, Closing::Resolved), 1)]);
    assert_eq!(closed.view.closed_total, resolved);
    // The cluster's own clock stands still, as a recording's does.
    assert_eq!(
        zeros(&told.step(CLEAR, 180, 2000 + QUARTER - 1)),
        [Severity::Warning]
    );
    let after = told.step(CLEAR, 180, 2000 + QUARTER);
    assert!(zeros(&after).is_empty());
    assert_eq!(
        after.view.closed.len(),
        1,
        "it stays in the list of the closed"
    );
}

#[test]
fn what_opens_again_takes_its_zero_back() {
    let mut told = Bench::new();
    told.step(WARNING, 0, 0);
    told.step(CLEAR, 60, 60);
    told.step(CLEAR, 180, 180);
    // With another severity both label sets are there: the old one at 0, the new one at 1.
    assert_eq!(zeros(&told.step(CRITICAL, 200, 200)), [Severity::Warning]);
    told.step(CLEAR, 260, 260);
    assert_eq!(
        zeros(&told.step(CLEAR, 380, 380)),
        [Severity::Warning, Severity::Critical]
    );
    let again = told.step(WARNING, 400, 400);
    assert_eq!(zeros(&again), [Severity::Critical]);
    assert_eq!(again.view.opened_total[&RuleId::Fresh], 3);
    assert!(zeros(&told.step(WARNING, 420, 380 + QUARTER)).is_empty());
}

#[test]
fn a_severity_that_was_left_shows_zero_as_well() {
    let mut told = Bench::new();
    told.step(WARNING, 0, 0);
    let worse = told.step(CRITICAL, 15, 15);
    assert_eq!(zeros(&worse), [Severity::Warning]);
    assert_eq!(
        worse.view.opened_total[&RuleId::Fresh],
        1,
        "it is the same incident"
    );
    // Milder for the clear-hold: back to the severity whose zero was still shown.
    told.step(WARNING, 30, 30);
    assert_eq!(zeros(&told.step(WARNING, 150, 150)), [Severity::Critical]);
    assert!(zeros(&told.step(WARNING, 165, 150 + QUARTER)).is_empty());
}

#[test]
fn a_rule_that_panics_resolves_nothing_and_is_counted() {
    let mut told = Bench::new();
    told.step(CRITICAL, 0, 0);
    for now in [60, 600, 6000] {
        let failed = told.step(PANIC, now, now);
        assert!(failed.judgements.is_empty() && failed.transitions.is_empty());
        assert!(!failed.view.rules[0].success);
        let counted = BTreeMap::from([((RuleId::Fresh, Reason::RuleFailed), 1)]);
        assert_eq!(failed.view.undecided, counted);
        let [incident] = &failed.view.open[..] else {
            panic!("it stays open");
        };
        assert_eq!(incident.severity, Severity::Critical);
        assert_eq!(incident.grade(), Grade::Inconclusive);
    }
    let back = told.step(CRITICAL, 6015, 6015);
    assert!(back.view.rules[0].success && back.transitions.is_empty());
    assert_eq!(back.view.open[0].grade(), Grade::Strong);
}
