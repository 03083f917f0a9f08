//! No incident is resolved because a piece of evidence stops coming, while the rest goes on.

use gpulens::incident::{Closing, Transition};
use gpulens::rules::{RuleConfig, RuleSet};
use gpulens::simulate::{Export, Fault, Fleet, scenario};
use gpulens::snapshot::{NodeName, Recording, SeriesSubject};
use gpulens::source::recording::batches;

use super::case::{continued, every, pair};
use super::piece::{Much, Piece, pieces, without};
use super::play::{Past, line};
use super::removal::boards_of;

/// 20 minutes in steps longer than the shorter clear-hold; the longest needs two of them.
const EVERY: i64 = 240;
const LAST: i64 = 1200;

/// What has been taken note of until the first moment.
fn past(rules: &RuleSet, first: &Recording) -> (Past, Vec<String>) {
    let mut past = Past::new(rules, first);
    past.absorb(&batches(first));
    let verdicts = past.judge(rules, first).0;
    let boards = boards_of(verdicts.iter());
    (past, boards)
}

/// The closings of one future.
fn closings(
    rules: &RuleSet,
    mut past: Past,
    steps: impl IntoIterator<Item = Recording>,
) -> Vec<(Closing, String)> {
    let mut closings = Vec::new();
    for step in steps {
        past.absorb(&batches(&step));
        for transition in past.judge(rules, &step).1 {
            if let Transition::Closed(incident) = &transition
                && let Some(end) = &incident.closed
            {
                let (key, cause) = (line(&incident.key), incident.finding.cause.as_str());
                closings.push((end.how, format!("{key} {cause} at {}", step.now)));
            }
        }
    }
    closings
}

/// What is resolved while a piece no longer comes.
fn resolved(rules: &RuleSet, fleet: &Fleet, turn: usize) -> Vec<String> {
    let (first, steps) = continued(fleet, EVERY, LAST);
    let (past, boards) = past(rules, &first);
    let ends = |piece: &Piece| {
        !matches!(
            piece,
            Piece::Column(.., Much::Tail) | Piece::Subject(_, Much::Tail)
        )
    };
    let mut resolved = Vec::new();
    for piece in pieces(&first, &boards, turn).into_iter().filter(ends) {
        let less = steps.iter().map(|step| without(step, &piece, first.now));
        for (how, what) in closings(rules, past.clone(), less) {
            if how == Closing::Resolved {
                resolved.push(format!("{} without {piece}: {what}", fleet.cluster));
            }
        }
    }
    resolved
}

fn assert_nothing_is_resolved(fleets: impl IntoIterator<Item = Fleet>) {
    let rules = RuleSet::new(&RuleConfig::default());
    let fleets = fleets.into_iter().enumerate();
    let resolved: Vec<_> = fleets
        .flat_map(|(turn, fleet)| resolved(&rules, &fleet, turn))
        .collect();
    assert!(resolved.is_empty(), "\n{}", resolved.join("\n"));
}

#[test]
fn nothing_is_resolved_in_a_scenario_that_loses_a_piece() {
    assert_nothing_is_resolved(scenario::ALL.iter().map(|scenario| (scenario.fleet)()));
}

// In two halves, which run side by side.
#[test]
fn nothing_is_resolved_in_a_generated_fleet_that_loses_a_piece() {
    assert_nothing_is_resolved(every().step_by(2));
}

#[test]
fn nothing_is_resolved_in_another_generated_fleet_that_loses_a_piece() {
    assert_nothing_is_resolved(every().skip(1).step_by(2));
}

#[test]
fn what_a_complete_list_no_longer_has_is_gone_and_not_resolved() {
    let rules = RuleSet::new(&RuleConfig::default());
    for fault in [
        Fault::Xid(79),
        Fault::Hot(91.0),
        Fault::Stop,
        Fault::LosePodLabels,
    ] {
        let (first, steps) = continued(&pair(fault, 700, Export::Extended, 1), EVERY, LAST);
        let (past, _) = past(&rules, &first);
        let open = past.open().len();
        assert!(open > 0, "{fault:?}");
        let n1 = NodeName::from("n1");
        let less = steps.into_iter().map(|mut step| {
            step.nodes.retain(|node| node.name != n1);
            step.pods.retain(|pod| pod.node.as_ref() != Some(&n1));
            for source in &mut step.sources {
                source
                    .targets
                    .retain(|target| target.node.as_ref() != Some(&n1));
            }
            step.series.retain(|series| match &series.subject {
                SeriesSubject::Gpu { node, .. } => node.as_ref() != Some(&n1),
                SeriesSubject::Node { name, .. } => *name != n1,
            });
            step
        });
        let closings = closings(&rules, past, less);
        assert_eq!(closings.len(), open, "{fault:?}: {closings:?}");
        let gone = |(how, _): &(Closing, String)| *how == Closing::SubjectGone;
        assert!(closings.iter().all(gone), "{fault:?}: {closings:?}");
    }
}
