//! What is told in another order, in two halves, twice, or for two fleets at once.

use gpulens::cycle::{Engine, Step};
use gpulens::publish::{Format, PublishOptions, Publisher};
use gpulens::simulate::{Fleet, Random, Seed, scenario};
use gpulens::snapshot::{Recording, Span};
use jiff::SignedDuration;

use super::case::{every, split};
use super::play::{engine, fixtures, line, step};
use super::renamed::doubled;

fn recordings() -> impl Iterator<Item = Recording> {
    let generated = every().map(|fleet| fleet.record()).chain([split()]);
    fixtures().into_iter().chain(generated)
}

/// Judgements and published text of one cycle, without what the process tells of itself.
fn bytes(step: Step) -> (String, String) {
    let judgements = format!("{:?}", step.judgements);
    let publisher = Publisher::new([step.view.cluster.clone()], PublishOptions::default());
    publisher.replace(step.view);
    let body = publisher.load().metrics(Format::Classic);
    let text = String::from_utf8(body.to_vec()).expect("UTF-8");
    let own = |line: &&str| line.contains("process_") || line.contains("build_info");
    let lines: Vec<_> = text.lines().filter(|line| !own(line)).collect();
    (judgements, lines.join("\n"))
}

fn played(recording: &Recording) -> (Engine, Step) {
    let mut engine = engine(recording);
    let step = step(&mut engine, recording);
    (engine, step)
}

fn shuffle<T>(items: &mut [T], random: &mut Random) {
    for last in (1..items.len()).rev() {
        items.swap(last, (random.bits() % (last as u64 + 1)) as usize);
    }
}

fn shuffled(recording: &Recording, random: &mut Random) -> Recording {
    let mut other = recording.clone();
    shuffle(&mut other.series, random);
    shuffle(&mut other.nodes, random);
    for node in &mut other.nodes {
        shuffle(&mut node.conditions, random);
        shuffle(&mut node.taints, random);
    }
    shuffle(&mut other.pods, random);
    shuffle(&mut other.events, random);
    shuffle(&mut other.holders, random);
    shuffle(&mut other.terminations, random);
    shuffle(&mut other.sources, random);
    for source in &mut other.sources {
        shuffle(&mut source.targets, random);
    }
    other
}

fn assert_same(one: &(String, String), other: &(String, String), what: &str) {
    assert!(
        one.0 == other.0,
        "{what}: judgements differ\n{}\n{}",
        one.0,
        other.0
    );
    let lines = one.1.lines().zip(other.1.lines());
    let differing: Vec<_> = lines.filter(|(a, b)| a != b).collect();
    assert!(one.1 == other.1, "{what}: /metrics differs: {differing:?}");
}

#[test]
fn another_order_changes_no_byte() {
    for (number, recording) in recordings().enumerate() {
        let mut random = Seed(number as u64).stream("order");
        let other = shuffled(&recording, &mut random);
        let what = recording.cluster.as_str();
        assert_same(&bytes(played(&recording).1), &bytes(played(&other).1), what);
    }
}

#[test]
fn the_same_recording_gives_the_same_bytes_in_every_engine() {
    for recording in recordings() {
        let what = recording.cluster.as_str();
        assert_same(
            &bytes(played(&recording).1),
            &bytes(played(&recording).1),
            what,
        );
    }
}

#[test]
fn the_same_recording_again_changes_nothing() {
    for recording in recordings() {
        let (mut engine, first) = played(&recording);
        let open = engine.open().clone();
        let again = step(&mut engine, &recording);
        let what = recording.cluster.as_str();
        assert!(
            again.transitions.is_empty(),
            "{what}: {:?}",
            again.transitions
        );
        assert_eq!(*engine.open(), open, "{what}");
        // What has left the look-back is filed no more: it is counted, and changes nothing else.
        let late = "gpulens_observations_too_late_total";
        let without = |(judgements, text): (String, String)| {
            let lines: Vec<_> = text
                .lines()
                .filter(|line| !line.starts_with(late))
                .collect();
            (judgements, lines.join("\n"))
        };
        assert_same(&without(bytes(first)), &without(bytes(again)), what);
    }
}

/// What is open, without the times that depend on when it was looked at.
fn open(engine: &Engine) -> Vec<String> {
    let told = |incident: &gpulens::incident::Incident| {
        let cause = incident.finding.cause.as_str();
        let (severity, grade) = (incident.severity, incident.grade());
        format!("{} {cause} {severity:?} {grade:?}", line(&incident.key))
    };
    engine
        .open()
        .values()
        .map(|incident| told(incident))
        .collect()
}

#[test]
fn a_first_half_and_the_whole_are_the_whole() {
    let scenarios = scenario::ALL.iter().map(|scenario| (scenario.fleet)());
    for fleet in scenarios.chain(every()) {
        let whole = fleet.record();
        let half = fleet.window.get().as_secs() / 2;
        let mut first = Fleet {
            now: fleet.now - SignedDuration::from_secs(half),
            window: Span::seconds(fleet.window.get().as_secs() - half),
            ..fleet.clone()
        };
        // What is only said of the end is not yet said.
        for host in &mut first.hosts {
            let known = |changed: Option<jiff::Timestamp>| changed.is_none_or(|at| at <= first.now);
            host.conditions.retain(|condition| known(condition.changed));
        }
        let mut split = engine(&whole);
        step(&mut split, &first.record());
        step(&mut split, &whole);
        assert_eq!(open(&split), open(&played(&whole).0), "{}", fleet.cluster);
    }
}

/// Comparisons over the fleet are the exception by design: `fleet_blind` (three nodes), and the
/// doubt that a program's XID earns when another board has it too, which is its grade alone.
#[test]
fn two_fleets_at_once_have_twice_the_incidents() {
    let told = |engine: &Engine| -> Vec<String> {
        let causes = engine.open().values().map(|incident| {
            let cause = incident.finding.cause.as_str();
            format!("{} {cause} {:?}", incident.key.rule, incident.severity)
        });
        let mut causes: Vec<_> = causes.collect();
        causes.sort();
        causes
    };
    for recording in recordings() {
        let single = told(&played(&recording).0);
        let twice: Vec<_> = single
            .iter()
            .flat_map(|one| [one.clone(), one.clone()])
            .collect();
        assert_eq!(
            told(&played(&doubled(&recording)).0),
            twice,
            "{}",
            recording.cluster
        );
    }
}
