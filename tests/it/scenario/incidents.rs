//! Each fixture gives exactly the incidents that it is made for, by the rules that there are.

use gpulens::cycle::{Engine, Step};
use gpulens::incident::Incident;

use super::play::{engine, fixture, line, step};

fn played(stem: &str) -> (Engine, Step) {
    let recording = fixture(stem);
    let mut engine = engine(&recording);
    let cycle = step(&mut engine, &recording);
    assert!(cycle.view.warm && cycle.view.rules.iter().all(|run| run.success));
    assert_eq!(cycle.view.too_late_total, 0, "a file is read whole");
    (engine, cycle)
}

/// Key and cause, severity, grade, start.
fn told(incident: &Incident) -> String {
    let (severity, grade) = (incident.severity.as_str(), incident.grade().as_str());
    let started = incident.started.strftime("%H:%M:%S");
    let cause = incident.finding.cause.as_str();
    assert_eq!(incident.finding.severity, incident.severity);
    format!(
        "{}: {cause} {severity} {grade} since {started}",
        line(&incident.key)
    )
}

fn incidents(engine: &Engine) -> Vec<String> {
    engine
        .open()
        .values()
        .map(|incident| told(incident))
        .collect()
}

#[test]
fn scenario_1_has_no_incident_and_nothing_undecided() {
    let (engine, step) = played("scenario_1_healthy");
    assert_eq!(incidents(&engine), [""; 0]);
    assert!(step.view.undecided.is_empty(), "{:?}", step.view.undecided);
    assert_eq!((step.view.fleet.ok, step.view.gpus.len()), (8, 8));
    let held: Vec<f64> = step
        .view
        .gpus
        .iter()
        .flat_map(|gpu| &gpu.entities)
        .filter(|entity| entity.pod.is_some())
        .map(|entity| entity.mean_utilization.expect("a whole window"))
        .collect();
    assert_eq!(held.len(), 6);
    let mean = held.iter().sum::<f64>() / 6.0;
    assert_eq!(format!("{:.1} %", mean * 100.0), "83.9 %");
}

#[test]
fn scenario_3_has_one_hardware_finding_with_all_its_signs_and_a_hot_board() {
    let (engine, step) = played("scenario_3_hardware_thermal");
    assert_eq!(
        incidents(&engine),
        [
            "GPU-HEALTH-002 gpu-node-01 GPU-h100-n01-1: xid_48 critical strong since 01:36:15",
            "GPU-THERM-006 gpu-node-01 GPU-h100-n01-3: core_temperature critical strong since 02:01:45",
        ]
    );
    assert!(step.view.undecided.is_empty(), "{:?}", step.view.undecided);
    let health = engine.open().values().next().expect("there");
    let supporting: Vec<_> = health.finding.supporting.iter().map(|e| &*e.text).collect();
    for sign in [
        "XID 48 (uncorrectable (double-bit) ECC error) at 2026-03-14 01:36:15 UTC",
        "a memory row could not be remapped",
        "2 uncorrectable memory errors since the driver was loaded",
        "NVLink flow-control CRC errors a second",
        "condition GPUXIDErrors=True",
        "3 of 4 GPUs allocatable since 2026-03-14 01:36:30 UTC",
    ] {
        let found = supporting.iter().filter(|text| text.contains(sign)).count();
        assert_eq!(found, 1, "{sign} in {supporting:?}");
    }
    assert_eq!(health.finding.gpu, Some(1));
}

#[test]
fn scenario_6_is_stale_on_one_node_and_unlabelled_on_the_other() {
    let (engine, step) = played("scenario_6_stale_telemetry");
    assert_eq!(
        incidents(&engine),
        [
            "GPU-FRESH-005 gpu-node-01 pods_unlabelled: pods_unlabelled warning strong since 01:30:45",
            "GPU-FRESH-005 gpu-node-02 telemetry_stale: telemetry_stale warning strong since 01:53:00",
        ]
    );
    assert_eq!((step.view.fleet.unknown, step.view.gpus.len()), (4, 8));
}
