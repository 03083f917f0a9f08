//! The virtual boards keep to physics, and a fault changes what it should and nothing else.

#![expect(
    clippy::float_cmp,
    reason = "the generator is exact, and so are its tests"
)]

use std::collections::BTreeMap;

use gpulens::simulate::{
    Board, Export, Fault, Fleet, H100_SXM, Host, L4, Load, Product, Scheduled, Seed, Workload,
};
use gpulens::snapshot::{SeriesKey, Signal};
use jiff::{SignedDuration, Timestamp};
use proptest::prelude::*;

const START: Timestamp = Timestamp::constant(1_773_450_000, 0);

fn at(seconds: i64) -> Timestamp {
    START + SignedDuration::from_secs(seconds)
}

type Run = Vec<Option<BTreeMap<SeriesKey, f64>>>;

/// An hour of a board, with one load until half-time and another after it.
fn run(product: &'static Product, seed: u64, loads: [Load; 2], faults: &[Scheduled]) -> Run {
    let mut board = Board::new(product, Seed(seed).stream("board"), faults.to_vec());
    let step = |slot: i64| {
        let load = loads[usize::from(slot >= 60)];
        board
            .step(at(30 * slot), &load)
            .map(|readings| readings.into_iter().collect())
    };
    (0..120).map(step).collect()
}

fn column(run: &Run, signal: Signal) -> Vec<f64> {
    run.iter()
        .filter_map(|slot| slot.as_ref()?.get(&signal.into()).copied())
        .collect()
}

fn load() -> impl Strategy<Value = Load> {
    (0.0..=1.0, 0.0..0.3, 0.0..=1.0, 0.0..=1.0, 0.0..=1.0).prop_map(
        |(utilization, jitter, tensor, dram, framebuffer)| Load {
            utilization,
            jitter: if utilization > 0.0 { jitter } else { 0.0 },
            tensor,
            dram,
            framebuffer,
            nvlink: 1e11,
            pcie: 1e9,
        },
    )
}

fn product() -> impl Strategy<Value = &'static Product> {
    prop_oneof![Just(&H100_SXM), Just(&L4)]
}

fn lasting() -> impl Strategy<Value = Fault> {
    prop_oneof![
        Just(Fault::Xid(79)),
        Just(Fault::EccDoubleBit(2)),
        (1.0..1e4).prop_map(Fault::EccSingleBit),
        Just(Fault::RowRemapFailure),
        Just(Fault::RowRemapPending),
        (1.0..1e4).prop_map(Fault::NvlinkCrc),
        (1.0..1e3).prop_map(Fault::PcieReplays),
        Just(Fault::PowerBrake),
        Just(Fault::LosePodLabels),
        (80.0..91.0).prop_map(Fault::Hot),
    ]
}

/// The signals that a fault may change.
fn touched(fault: Fault) -> &'static [Signal] {
    match fault {
        Fault::Xid(_) => &[Signal::Xid],
        Fault::EccDoubleBit(_) => &[Signal::EccDoubleBitVolatile, Signal::EccDoubleBitAggregate],
        Fault::EccSingleBit(_) => &[Signal::EccSingleBitVolatile, Signal::EccSingleBitAggregate],
        Fault::RowRemapFailure => &[Signal::RowRemapFailure],
        Fault::RowRemapPending => &[Signal::RowRemapPending],
        Fault::NvlinkCrc(_) => &[
            Signal::NvlinkCrcFlit,
            Signal::NvlinkCrcData,
            Signal::NvlinkReplay,
        ],
        Fault::PcieReplays(_) => &[Signal::PcieReplay],
        Fault::Hot(_) | Fault::PowerBrake => &[
            Signal::CoreTemperature,
            Signal::MemoryTemperature,
            Signal::PowerUsage,
            Signal::Energy,
            Signal::SmClock,
            Signal::ClockEventReasons,
            Signal::ThermalViolation,
            Signal::SwThermalTime,
            Signal::HwThermalTime,
            Signal::HwPowerBrakeTime,
            Signal::PowerViolation,
            Signal::SwPowerCapTime,
        ],
        _ => &[],
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn energy_is_the_integral_of_power(
        product in product(), seed: u64, loads in [load(), load()]
    ) {
        let run = run(product, seed, loads, &[]);
        let power = column(&run, Signal::PowerUsage);
        let energy = column(&run, Signal::Energy);
        prop_assert_eq!(energy.len(), 120);
        let mut total = energy[0];
        for slot in 1..120 {
            total += 30.0 * (power[slot - 1] + power[slot]) / 2.0;
            prop_assert!(energy[slot] > energy[slot - 1]);
            prop_assert!((energy[slot] - total).abs() < 0.1, "slot {slot}: {} {total}", energy[slot]);
        }
    }

    #[test]
    fn readings_stay_inside_their_bounds(
        product in product(), seed: u64, loads in [load(), load()], hot in 80.0..91.0
    ) {
        let faults = [Scheduled::from(at(600), Fault::Hot(hot)).until(at(2400))];
        let run = run(product, seed, loads, &faults);
        for (key, value) in run.iter().flatten().flatten() {
            let spec = key.signal.spec();
            prop_assert!((spec.min..=spec.max).contains(value), "{} {value}", spec.name);
        }
        for celsius in column(&run, Signal::CoreTemperature) {
            prop_assert!((25.0..=product.shutdown_celsius).contains(&celsius), "{celsius}");
        }
        for watts in column(&run, Signal::PowerUsage) {
            prop_assert!((0.9 * product.idle_watts..=product.limit_watts).contains(&watts));
        }
        for signal in [Signal::ThermalViolation, Signal::PowerViolation, Signal::PcieReplay] {
            prop_assert!(column(&run, signal).is_sorted());
        }
    }

    #[test]
    fn temperature_follows_power_with_a_lag(seed: u64) {
        let run = run(&H100_SXM, seed, [Load::IDLE, Load::training(0.95)], &[]);
        let heat = column(&run, Signal::CoreTemperature);
        prop_assert!(heat[59] < 32.0 && heat[119] > 48.0);
        // At the first collection under load the power is there, the heat is not yet.
        prop_assert!(heat[60] > heat[59] && heat[60] < heat[119] - 4.0, "{:?}", &heat[58..66]);
    }

    #[test]
    fn utilisation_keeps_to_the_mean_of_its_load(seed: u64, mean in 0.2..0.85) {
        let run = run(&H100_SXM, seed, [Load::serving(mean), Load::serving(mean)], &[]);
        let values = column(&run, Signal::GpuUtilization);
        let seen = values[100..].iter().sum::<f64>() / 20.0;
        prop_assert!((seen - mean).abs() < 0.03, "{seen} for {mean}");
        let seen = values.iter().sum::<f64>() / 120.0;
        prop_assert!((seen - mean).abs() < 0.005, "{seen} for {mean}");
    }

    #[test]
    fn faults_change_only_what_they_should(
        seed: u64, loads in [load(), load()], fault in lasting(), start in 1_i64..118
    ) {
        let healthy = run(&H100_SXM, seed, loads, &[]);
        let faults = [Scheduled::from(at(30 * start), fault)];
        let faulty = run(&H100_SXM, seed, loads, &faults);
        for (slot, (before, after)) in healthy.iter().zip(&faulty).enumerate() {
            let (before, after) = (before.as_ref().expect("live"), after.as_ref().expect("live"));
            prop_assert!(before.keys().eq(after.keys()));
            for (key, value) in before {
                let same = value.to_bits() == after[key].to_bits();
                let due = slot >= start as usize && touched(fault).contains(&key.signal);
                prop_assert!(same || due, "{fault:?} changed {key:?} in slot {slot}");
            }
        }
    }

    #[test]
    fn silence_and_repetition_are_what_they_say(
        seed: u64, loads in [load(), load()], start in 1_i64..110
    ) {
        let healthy = run(&H100_SXM, seed, loads, &[]);
        let from = start as usize;
        for fault in [Fault::Vanish, Fault::Stop] {
            let faults = [Scheduled::from(at(30 * start), fault).until(at(30 * (start + 5)))];
            let faulty = run(&H100_SXM, seed, loads, &faults);
            for (slot, (before, after)) in healthy.iter().zip(&faulty).enumerate() {
                if (from..from + 5).contains(&slot) {
                    prop_assert_eq!(after, &None);
                } else {
                    prop_assert_eq!(after, before);
                }
            }
        }
        let faults = [Scheduled::from(at(30 * start), Fault::Freeze)];
        let frozen = run(&H100_SXM, seed, loads, &faults);
        prop_assert!(frozen[from..].iter().all(|slot| *slot == healthy[from - 1]));
    }

    #[test]
    fn the_same_seed_gives_the_same_bytes(seed: u64) {
        let fleet = |seed| Fleet { seed: Seed(seed), ..fleet() };
        let bytes = fleet(seed).record().to_json();
        prop_assert_eq!(&bytes, &fleet(seed).record().to_json());
        prop_assert_ne!(bytes, fleet(seed ^ 1).record().to_json());
    }
}

fn fleet() -> Fleet {
    Fleet::new("c", at(3600))
        .host(Host::new("n1", &H100_SXM, 2).export(Export::Extended))
        .workload(Workload::running(
            "ns",
            "p",
            "n1",
            &[0],
            Load::training(0.9),
        ))
}

#[test]
fn one_board_more_changes_no_other() {
    let small = fleet().record();
    let large = fleet().host(Host::new("n2", &L4, 1)).record();
    assert_eq!(small.series[..2], large.series[..2]);
    assert_eq!(small.holders, large.holders);
}

#[test]
fn a_reset_starts_the_drivers_counts_anew() {
    let faults = [
        Scheduled::from(at(300), Fault::Xid(48)),
        Scheduled::from(at(300), Fault::EccDoubleBit(2)),
        Scheduled::from(at(300), Fault::RowRemapPending),
        Scheduled::from(at(900), Fault::Reset),
    ];
    let run = run(&H100_SXM, 7, [Load::IDLE; 2], &faults);
    let last = |signal| *column(&run, signal).last().expect("a reading");
    assert_eq!(last(Signal::Xid), 0.0);
    assert_eq!(last(Signal::EccDoubleBitVolatile), 0.0);
    assert_eq!(last(Signal::EccDoubleBitAggregate), 2.0);
    assert_eq!(last(Signal::RowRemapPending), 0.0);
    assert_eq!(last(Signal::RowRemapUncorrectable), 1.0);
    assert!(!column(&run, Signal::Energy).is_sorted());
}

#[test]
fn a_hung_collective_is_busy_and_draws_little() {
    let run = run(&H100_SXM, 7, [Load::HUNG; 2], &[]);
    assert!(
        column(&run, Signal::GpuUtilization)
            .iter()
            .all(|busy| *busy > 0.99)
    );
    assert!(
        column(&run, Signal::PowerUsage)
            .iter()
            .all(|watts| *watts < 0.35 * 700.0)
    );
}

#[test]
fn pods_wait_run_and_end() {
    let recording = fleet()
        .workload(Workload::pending("ns", "waits", 4))
        .workload(
            Workload::running("ns", "died", "n1", &[1], Load::serving(0.5)).ended(
                at(1800),
                137,
                "OOMKilled",
            ),
        )
        .record();
    recording.check().expect("valid");
    let phases: Vec<_> = recording
        .pods
        .iter()
        .map(|pod| format!("{:?}", pod.phase))
        .collect();
    assert_eq!(phases, ["Running", "Pending", "Failed"]);
    let [end] = &recording.terminations[..] else {
        panic!("one termination");
    };
    assert_eq!((end.exit_code, end.finished), (Some(137), Some(at(1800))));
    let held = recording
        .holders
        .iter()
        .find(|held| &*held.pod == "died")
        .expect("held");
    assert!(held.to < at(1800) && held.to >= at(1770));
}
