//! Work, clocks, power, energy and heat.

use jiff::Timestamp;

use super::Board;
use crate::simulate::{Fault, Load, Random};
use crate::snapshot::ClockEvent;

/// Air or water that reaches the board, in °C.
pub(super) const INLET_CELSIUS: f64 = 26.0;

/// How fast the die and the memory follow their power, in seconds.
const CORE_LAG_SECONDS: f64 = 25.0;
const MEMORY_LAG_SECONDS: f64 = 60.0;

/// A die without its cold plate heats the memory on its package, up to this many °C below itself.
const MEMORY_BELOW_HOT_CORE: f64 = 13.0;

/// Share of the clock that is lost for each °C above the limit for normal work, and the least
/// that is left.
const CLOCK_LOSS_PER_CELSIUS: f64 = 0.11;
const LEAST_CLOCK: f64 = 0.3;

/// Shares of the power between idle and limit: a running kernel, the tensor pipe, the memory.
/// A spinning kernel alone draws little, as a hung collective shows.
const KERNEL_POWER: f64 = 0.12;
const TENSOR_POWER: f64 = 0.75;
const DRAM_POWER: f64 = 0.60;

/// The chance of one step, drawn all at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Noise {
    pub(super) utilization: f64,
    pub(super) engine: f64,
    pub(super) tensor: f64,
    pub(super) dram: f64,
    pub(super) traffic: f64,
    pub(super) power: f64,
    pub(super) heat: f64,
    pub(super) crc: f64,
}

impl Noise {
    pub(super) fn draw(random: &mut Random) -> Self {
        Self {
            utilization: random.wobble(),
            engine: random.wobble(),
            tensor: random.wobble(),
            dram: random.wobble(),
            traffic: random.wobble(),
            power: random.wobble(),
            heat: random.wobble(),
            crc: random.wobble(),
        }
    }
}

/// What the board did since the last step, as ratios and rates.
#[derive(Clone, Copy, Debug)]
pub(super) struct Work {
    pub(super) utilization: f64,
    pub(super) engine: f64,
    pub(super) tensor: f64,
    pub(super) dram: f64,
    pub(super) nvlink: f64,
    pub(super) pcie_out: f64,
    pub(super) pcie_in: f64,
}

impl Board {
    /// The load's demand with this step's chance. Utilisation comes in whole per cent, as the
    /// driver counts it, and pays back what earlier steps owe to the mean.
    pub(super) fn work(&mut self, load: &Load, noise: &Noise) -> Work {
        if self.state.mean.to_bits() != load.utilization.to_bits() {
            self.state.mean = load.utilization;
            self.state.owed = 0.0;
        }
        let wanted = load.utilization + 0.5 * self.state.owed + load.jitter * noise.utilization;
        let utilization = (wanted.clamp(0.0, 1.0) * 100.0).round() / 100.0;
        self.state.owed += load.utilization - utilization;
        let part = |share: f64, noise: f64| (utilization * share * (1.0 + noise)).clamp(0.0, 1.0);
        let traffic = utilization * (1.0 + 0.06 * noise.traffic);
        Work {
            utilization,
            engine: part(1.0, 0.01 * noise.engine),
            tensor: part(load.tensor, 0.05 * noise.tensor),
            dram: part(load.dram, 0.05 * noise.dram),
            nvlink: load.nvlink * traffic,
            pcie_out: load.pcie * traffic * 0.8,
            pcie_in: load.pcie * traffic,
        }
    }

    /// Puts temperature and power where this work would have brought them long ago.
    pub(super) fn settle(&mut self, at: Timestamp, work: &Work, noise: &Noise) {
        self.state.core_celsius = INLET_CELSIUS;
        for _ in 0..4 {
            self.state.power_watts = self.draw_power(at, work, noise);
            let (core, memory) = self.temperatures_to_come(at, work, noise);
            (self.state.core_celsius, self.state.memory_celsius) = (core, memory);
        }
        self.state.clock_reasons = 0;
    }

    /// Clocks, power, energy, heat and throttled time of one step.
    pub(super) fn heat(&mut self, at: Timestamp, work: &Work, noise: &Noise, seconds: f64) {
        let before = self.state.power_watts;
        let power = self.draw_power(at, work, noise);
        self.state.power_watts = power;
        // What is exported must add up: the trapezoid under the exported powers.
        self.state.energy_joules += seconds * (before + power) / 2.0;
        let (core, memory) = self.temperatures_to_come(at, work, noise);
        // The implicit step of a first-order lag: stable for any length, and no exponential.
        let near = |lag: f64| seconds / (seconds + lag);
        self.state.core_celsius += (core - self.state.core_celsius) * near(CORE_LAG_SECONDS);
        self.state.memory_celsius +=
            (memory - self.state.memory_celsius) * near(MEMORY_LAG_SECONDS);
        self.throttled_time(seconds);
    }

    /// Power at the clocks that temperature, brake and limit allow, in tenths of a watt.
    fn draw_power(&mut self, at: Timestamp, work: &Work, noise: &Noise) -> f64 {
        let product = self.product;
        let (mut clock, mut reasons) = self.allowed_clock(at);
        let dynamic = product.limit_watts - product.idle_watts;
        let asked =
            KERNEL_POWER * work.utilization + TENSOR_POWER * work.tensor + DRAM_POWER * work.dram;
        // Half of it falls with clock and voltage together, the rest with the clock alone.
        let mut share = asked * clock * (0.5 + 0.5 * clock);
        if share > 1.0 {
            clock /= 0.5 + 0.5 * share;
            share = 1.0;
            reasons |= bit(ClockEvent::SwPowerCap);
        }
        if work.utilization == 0.0 {
            reasons |= bit(ClockEvent::Idle);
            self.state.sm_mhz = product.idle_mhz;
        } else {
            // Clocks come in steps of 15 MHz.
            self.state.sm_mhz = (product.boost_mhz * clock / 15.0).round() * 15.0;
        }
        self.state.clock_reasons = reasons;
        let stray = product.idle_watts * 0.02 * noise.power;
        let watts = (product.idle_watts + stray + dynamic * share).min(product.limit_watts);
        (watts * 10.0).round() / 10.0
    }

    /// Share of the boost clock that may be used, and why not all of it.
    fn allowed_clock(&self, at: Timestamp) -> (f64, u16) {
        let over = self.state.core_celsius.round() - self.product.max_operating_celsius;
        let (mut clock, mut reasons) = (1.0, 0);
        if over >= 0.0 {
            clock = (1.0 - CLOCK_LOSS_PER_CELSIUS * (over + 1.0)).max(LEAST_CLOCK);
            reasons |= bit(ClockEvent::SwThermal);
        }
        if self.state.core_celsius.round() >= self.product.slowdown_celsius {
            reasons |= bit(ClockEvent::HwThermal) | bit(ClockEvent::HwSlowdown);
        }
        if self.lasting(at, |fault| fault == Fault::PowerBrake) {
            clock = clock.min(0.5);
            reasons |= bit(ClockEvent::HwPowerBrake) | bit(ClockEvent::HwSlowdown);
        }
        (clock, reasons)
    }

    /// Where core and memory would settle at the present power.
    fn temperatures_to_come(&self, at: Timestamp, work: &Work, noise: &Noise) -> (f64, f64) {
        let watts = self.state.power_watts;
        let core = INLET_CELSIUS + self.product.core_celsius_per_watt * watts;
        let memory = self
            .product
            .memory_celsius_per_watt
            .map_or(0.0, |per_watt| INLET_CELSIUS + per_watt * watts);
        let hot = self.strength(at, |fault| match fault {
            Fault::Hot(celsius) => Some(celsius),
            _ => None,
        });
        let hot = if work.utilization > 0.0 { hot } else { 0.0 };
        let core = core.max(hot);
        let memory = if hot > 0.0 && self.product.memory_celsius_per_watt.is_some() {
            memory.max(self.state.core_celsius.min(hot) - MEMORY_BELOW_HOT_CORE)
        } else {
            memory
        };
        (core + 0.4 * noise.heat, memory + 0.4 * noise.heat)
    }

    fn throttled_time(&mut self, seconds: f64) {
        let state = &mut self.state;
        let reasons = state.clock_reasons;
        let has = |event| reasons & bit(event) != 0;
        for (there, total) in [
            (has(ClockEvent::SwThermal), &mut state.sw_thermal_seconds),
            (has(ClockEvent::HwThermal), &mut state.hw_thermal_seconds),
            (has(ClockEvent::SwPowerCap), &mut state.power_cap_seconds),
            (has(ClockEvent::HwPowerBrake), &mut state.brake_seconds),
            (
                has(ClockEvent::SwThermal) || has(ClockEvent::HwThermal),
                &mut state.thermal_seconds,
            ),
        ] {
            if there {
                *total += seconds;
            }
        }
    }
}

fn bit(event: ClockEvent) -> u16 {
    1 << event as u16
}
