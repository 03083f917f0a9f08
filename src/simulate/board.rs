//! One board, stepped from collection to collection.

mod physics;
mod readings;

use jiff::Timestamp;

use super::{Fault, Load, Product, Random, Scheduled};
use crate::snapshot::SeriesKey;
use physics::Noise;

/// A virtual board with its driver.
#[derive(Clone, Debug)]
pub struct Board {
    product: &'static Product,
    random: Random,
    faults: Vec<Scheduled>,
    state: State,
    /// Time and readings of the last step.
    last: Option<(Timestamp, Vec<(SeriesKey, f64)>)>,
}

/// What a board carries from step to step.
#[derive(Clone, Debug, Default)]
struct State {
    /// The mean that the load asked for at the last step, and what is still owed to it.
    mean: f64,
    owed: f64,
    core_celsius: f64,
    memory_celsius: f64,
    /// As exported, to a tenth of a watt.
    power_watts: f64,
    energy_joules: f64,
    sm_mhz: f64,
    clock_reasons: u16,
    xid: u16,
    ecc_single: (f64, f64),
    ecc_double: (f64, f64),
    remapped_uncorrectable: f64,
    remapped_correctable: f64,
    remap_failure: bool,
    remap_pending: bool,
    pcie_replays: f64,
    crc_flit: f64,
    crc_data: f64,
    nvlink_replays: f64,
    thermal_seconds: f64,
    sw_thermal_seconds: f64,
    hw_thermal_seconds: f64,
    power_cap_seconds: f64,
    brake_seconds: f64,
}

impl Board {
    /// A healthy board with a past: its counters do not start at 0.
    #[must_use]
    pub fn new(product: &'static Product, mut random: Random, faults: Vec<Scheduled>) -> Self {
        let state = State {
            energy_joules: (random.unit() * 9e8).round(),
            remapped_correctable: (random.unit() * 2.5).floor(),
            pcie_replays: (random.unit() * 3.0).floor(),
            thermal_seconds: (random.unit() * 4.0).floor(),
            power_cap_seconds: (random.unit() * 900.0).floor(),
            ..State::default()
        };
        Self {
            product,
            random,
            faults,
            state,
            last: None,
        }
    }

    /// Moves on to a time and returns every reading of the board, sorted by key; `None` where
    /// no sample arrives. Times must not go back.
    pub fn step(&mut self, at: Timestamp, load: &Load) -> Option<Vec<(SeriesKey, f64)>> {
        // Always the same number of draws, so that no fault changes the noise of anything else.
        let noise = Noise::draw(&mut self.random);
        let before = self.last.as_ref().map(|(at, _)| *at);
        let seconds = before.map_or(0.0, |before| at.duration_since(before).as_secs_f64());
        self.strike(before, at);
        let work = self.work(load, &noise);
        if before.is_none() {
            self.settle(at, &work, &noise);
        }
        self.heat(at, &work, &noise, seconds);
        self.count(at, &noise, seconds);
        let frozen = self.lasting(at, |fault| fault == Fault::Freeze);
        let readings = match &self.last {
            Some((_, last)) if frozen => last.clone(),
            _ => self.readings(&work, load),
        };
        self.last = Some((at, readings.clone()));
        let silent = self.lasting(at, |fault| matches!(fault, Fault::Vanish | Fault::Stop));
        (!silent).then_some(readings)
    }

    /// Whether a fault of some kind lasts.
    #[must_use]
    pub fn lasting(&self, at: Timestamp, is: impl Fn(Fault) -> bool) -> bool {
        self.faults
            .iter()
            .any(|scheduled| scheduled.lasts(at) && is(scheduled.fault))
    }

    /// The largest number that lasting faults of a kind carry, or 0.
    fn strength(&self, at: Timestamp, of: impl Fn(Fault) -> Option<f64>) -> f64 {
        self.faults
            .iter()
            .filter(|scheduled| scheduled.lasts(at))
            .filter_map(|scheduled| of(scheduled.fault))
            .fold(0.0, f64::max)
    }

    /// Applies what strikes once.
    fn strike(&mut self, before: Option<Timestamp>, at: Timestamp) {
        let state = &mut self.state;
        for scheduled in self.faults.iter().filter(|fault| fault.strikes(before, at)) {
            match scheduled.fault {
                Fault::Xid(code) => state.xid = code,
                Fault::EccDoubleBit(count) => {
                    state.ecc_double.0 += f64::from(count);
                    state.ecc_double.1 += f64::from(count);
                }
                Fault::RowRemapFailure => state.remap_failure = true,
                Fault::RowRemapPending => state.remap_pending = true,
                Fault::Reset => state.reset(),
                Fault::EccSingleBit(_)
                | Fault::NvlinkCrc(_)
                | Fault::PcieReplays(_)
                | Fault::Hot(_)
                | Fault::PowerBrake
                | Fault::Freeze
                | Fault::Vanish
                | Fault::LosePodLabels
                | Fault::Stop => {}
            }
        }
    }

    /// What grows of itself or by a lasting fault.
    fn count(&mut self, at: Timestamp, noise: &Noise, seconds: f64) {
        let single = self.strength(at, |fault| match fault {
            Fault::EccSingleBit(rate) => Some(rate),
            _ => None,
        });
        let crc = self.strength(at, |fault| match fault {
            Fault::NvlinkCrc(rate) => Some(rate),
            _ => None,
        });
        let replays = self.strength(at, |fault| match fault {
            Fault::PcieReplays(rate) => Some(rate),
            _ => None,
        });
        let state = &mut self.state;
        let singles = (single * seconds / 60.0).round();
        state.ecc_single.0 += singles;
        state.ecc_single.1 += singles;
        state.pcie_replays += (replays * seconds / 60.0).round();
        let errors = crc * seconds * (1.0 + 0.1 * noise.crc);
        state.crc_flit += errors.round();
        state.crc_data += (errors * 0.02).round();
        state.nvlink_replays += (errors * 0.001).round();
    }
}

impl State {
    /// The driver is loaded anew.
    fn reset(&mut self) {
        self.energy_joules = 0.0;
        self.xid = 0;
        self.ecc_single.0 = 0.0;
        self.ecc_double.0 = 0.0;
        self.remapped_uncorrectable += f64::from(u8::from(self.remap_pending));
        self.remap_pending = false;
        self.pcie_replays = 0.0;
        self.crc_flit = 0.0;
        self.crc_data = 0.0;
        self.nvlink_replays = 0.0;
        self.thermal_seconds = 0.0;
        self.sw_thermal_seconds = 0.0;
        self.hw_thermal_seconds = 0.0;
        self.power_cap_seconds = 0.0;
        self.brake_seconds = 0.0;
    }
}
