//! Ground truth: of what is injected everything is found, and nothing else opens anywhere.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use gpulens::finding::{RuleId, Subject};
use gpulens::incident::{Incident, Transition};
use gpulens::rules::{RuleConfig, RuleSet};
use gpulens::simulate::{Export, Fault, Fleet, H100_SXM, Host, Load, Random, Seed, Workload};
use gpulens::snapshot::Span;
use gpulens::source::recording::batches;

use jiff::SignedDuration;

use super::case::{FAULTS, NOW, before, continued};
use super::play::Past;

/// Cases in which one fault is injected, and in which none is; every other is played in steps.
const FAULTY: u64 = 60;
const HEALTHY: u64 = 12;

/// What a fault opens: rule, cause, and whether the subject is the board (else its node).
fn truth(fault: Fault) -> Vec<(RuleId, String, bool)> {
    use RuleId::{Fresh, Health, Therm};
    let board = |rule, cause: &str| vec![(rule, cause.to_owned(), true)];
    match fault {
        Fault::Xid(code) => board(Health, &format!("xid_{code}")),
        Fault::EccDoubleBit(_) => board(Health, "ecc_double_bit"),
        Fault::EccSingleBit(_) => board(Health, "ecc_single_bit_rate"),
        Fault::RowRemapFailure => board(Health, "row_remap_failure"),
        Fault::RowRemapPending => board(Health, "row_remap_pending"),
        Fault::NvlinkCrc(_) => board(Health, "nvlink"),
        Fault::PcieReplays(_) => board(Health, "pcie_replay"),
        Fault::Hot(_) => board(Therm, "core_temperature"),
        Fault::PowerBrake => board(Therm, "power_brake"),
        Fault::Freeze => board(Fresh, "telemetry_frozen"),
        // Nothing on the board itself tells of hardware: that the node has fewer boards than it
        // offers is a finding of the node.
        Fault::Vanish | Fault::Stop => vec![
            (Health, "gpu_count_mismatch".to_owned(), false),
            (Fresh, "gpu_vanished".to_owned(), true),
        ],
        Fault::LosePodLabels => vec![(Fresh, "pods_unlabelled".to_owned(), false)],
        Fault::Reset => Vec::new(),
    }
}

fn load(random: &mut Random) -> Load {
    let utilization = 0.3 + 0.6 * random.unit();
    match random.bits() % 3 {
        0 => Load::training(utilization),
        1 => Load::serving(utilization),
        _ => Load::notebook(utilization / 4.0),
    }
}

/// A fleet of seven boards on three nodes, all at work; the node and the board that go wrong.
fn fleet(seed: u64, fault: Option<Fault>) -> (Fleet, [String; 2]) {
    let mut random = Seed(seed).stream("precision");
    let (node, gpu) = ((random.bits() % 3) as usize, (random.bits() % 2) as u32);
    let since = 660 + (random.bits() % 120) as i64;
    let mut fleet = Fleet {
        window: Span::minutes(17),
        seed: Seed(seed),
        ..Fleet::new("precision", NOW)
    };
    for (number, gpus) in [3, 2, 2].into_iter().enumerate() {
        let name = format!("n{number}");
        let mut host = Host::new(&name, &H100_SXM, gpus).export(Export::Extended);
        if let Some(fault) = fault.filter(|_| number == node) {
            host = match fault {
                Fault::LosePodLabels => host.fault_of_all(before(since), fault),
                _ => host.fault(gpu, before(since), fault),
            };
        }
        let boards: Vec<u32> = (0..gpus).collect();
        let work = Workload::running(
            "ml",
            &format!("w{number}"),
            &name,
            &boards,
            load(&mut random),
        );
        fleet = fleet.host(host).workload(work);
    }
    let uuid = fleet.uuid(node, gpu).to_string();
    (fleet, [format!("n{node}"), uuid])
}

/// Plays a fleet: in one view, or step by step from before the fault on. Everything that opened at
/// any time, and what closed.
fn play(rules: &RuleSet, fleet: &Fleet, in_steps: bool) -> (Found, Vec<String>) {
    let back = if in_steps { 13 * 60 } else { 0 };
    let early = Fleet {
        now: NOW - SignedDuration::from_secs(back),
        window: Span::seconds(fleet.window.get().as_secs() - back),
        ..fleet.clone()
    };
    let (first, steps) = continued(&early, 60, back);
    let mut past = Past::new(rules, &first);
    let mut opened = BTreeSet::new();
    let mut closed = Vec::new();
    for recording in std::iter::once(&first).chain(&steps) {
        past.absorb(&batches(recording));
        for transition in past.judge(rules, recording).1 {
            match transition {
                Transition::Closed(incident) => closed.push(format!("{:?}", incident.key)),
                Transition::Opened(incident) => _ = opened.insert(told(&incident)),
                Transition::Severity { .. } => {}
            }
        }
    }
    opened.extend(past.open().values().map(|incident| told(incident)));
    (opened, closed)
}

type Found = BTreeSet<(RuleId, String, String)>;

fn told(incident: &Incident) -> (RuleId, String, String) {
    let subject = match &incident.key.subject {
        Subject::Gpu { uuid, .. } => uuid.to_string(),
        Subject::Node(node) => node.to_string(),
        other => format!("{other:?}"),
    };
    let cause = incident.finding.cause.as_str().into_owned();
    (incident.key.rule, cause, subject)
}

#[test]
fn what_opens_is_what_was_injected() {
    let rules = RuleSet::new(&RuleConfig::default());
    let (mut table, mut injected, mut opened, mut both) = (String::new(), 0, 0, 0);
    for seed in 0..FAULTY + HEALTHY {
        let fault = (seed < FAULTY).then(|| FAULTS[(seed % FAULTS.len() as u64) as usize]);
        let (fleet, places) = fleet(seed, fault);
        let (found, closed) = play(&rules, &fleet, seed % 2 == 1);
        let place = |board: bool| places[usize::from(board)].clone();
        let truth = fault.map(truth).unwrap_or_default().into_iter();
        let truth: Found = truth
            .map(|(rule, cause, board)| (rule, cause, place(board)))
            .collect();
        injected += truth.len();
        opened += found.len();
        both += found.intersection(&truth).count();
        if found != truth || !closed.is_empty() {
            let place = &places[1];
            let _ = writeln!(
                table,
                "seed {seed} {fault:?} on {place}\n  want {truth:?}\n  have {found:?}\n  closed {closed:?}"
            );
        }
    }
    let share = |of: usize| both as f64 / of as f64;
    assert!(
        table.is_empty(),
        "precision {:.3}, recall {:.3}\n{table}",
        share(opened),
        share(injected)
    );
}
