//! What the exporter would print of a board, in our units and to the digits it has.

use super::physics::Work;
use super::{Board, State};
use crate::simulate::{Load, Product};
use crate::snapshot::{SeriesKey, Signal};

const MIB: f64 = 1_048_576.0;
const MEGA: f64 = 1e6;

impl Board {
    /// Every reading, sorted by key.
    pub(super) fn readings(&self, work: &Work, load: &Load) -> Vec<(SeriesKey, f64)> {
        let (product, state) = (self.product, &self.state);
        let mut readings: Vec<_> = activity(work)
            .into_iter()
            .chain(framebuffer(product, load))
            .chain(conditions(product, state))
            .chain(limits(product))
            .chain(errors(state))
            .chain(throttling(state))
            .collect();
        if product.nvlink {
            readings.extend(nvlink(work, state));
        }
        if let Some(limit) = product.memory_max_operating_celsius {
            readings.push((Signal::MemoryTemperature, state.memory_celsius.round()));
            readings.push((Signal::MemoryMaxOperatingTemperature, limit));
        }
        let mut readings: Vec<_> = readings
            .into_iter()
            .map(|(signal, value)| (SeriesKey::from(signal), value))
            .collect();
        readings.sort_by_key(|(key, _)| *key);
        readings
    }
}

fn activity(work: &Work) -> [(Signal, f64); 10] {
    [
        (Signal::GpuUtilization, work.utilization),
        (Signal::MemoryCopyUtilization, per_cent(work.dram)),
        (Signal::EncoderUtilization, 0.0),
        (Signal::DecoderUtilization, 0.0),
        (Signal::GraphicsEngineActive, ratio(work.engine)),
        (Signal::SmActive, ratio(work.engine * 0.93)),
        (Signal::TensorActive, ratio(work.tensor)),
        (Signal::DramActive, ratio(work.dram)),
        (Signal::PcieTransmit, rate(work.pcie_out)),
        (Signal::PcieReceive, rate(work.pcie_in)),
    ]
}

fn framebuffer(product: &Product, load: &Load) -> [(Signal, f64); 4] {
    let usable = f64::from(product.framebuffer_mib - product.reserved_mib);
    // Without work a few MiB are the driver's own.
    let used = (usable * load.framebuffer).round().max(4.0);
    [
        (Signal::FramebufferUsed, used * MIB),
        (Signal::FramebufferFree, (usable - used) * MIB),
        (
            Signal::FramebufferReserved,
            f64::from(product.reserved_mib) * MIB,
        ),
        (
            Signal::FramebufferTotal,
            f64::from(product.framebuffer_mib) * MIB,
        ),
    ]
}

fn conditions(product: &Product, state: &State) -> [(Signal, f64); 5] {
    [
        (Signal::SmClock, state.sm_mhz * MEGA),
        (Signal::MemoryClock, product.memory_mhz * MEGA),
        (Signal::CoreTemperature, state.core_celsius.round()),
        (Signal::PowerUsage, state.power_watts),
        (
            Signal::Energy,
            (state.energy_joules * 100.0).round() / 100.0,
        ),
    ]
}

fn limits(product: &Product) -> [(Signal, f64); 5] {
    [
        (Signal::SlowdownTemperature, product.slowdown_celsius),
        (Signal::ShutdownTemperature, product.shutdown_celsius),
        (
            Signal::MaxOperatingTemperature,
            product.max_operating_celsius,
        ),
        (Signal::EnforcedPowerLimit, product.limit_watts),
        (Signal::RequestedPowerLimit, product.limit_watts),
    ]
}

fn errors(state: &State) -> [(Signal, f64); 10] {
    let flag = |set: bool| f64::from(u8::from(set));
    [
        (Signal::Xid, f64::from(state.xid)),
        (Signal::EccSingleBitVolatile, state.ecc_single.0),
        (Signal::EccSingleBitAggregate, state.ecc_single.1),
        (Signal::EccDoubleBitVolatile, state.ecc_double.0),
        (Signal::EccDoubleBitAggregate, state.ecc_double.1),
        (Signal::RowRemapUncorrectable, state.remapped_uncorrectable),
        (Signal::RowRemapCorrectable, state.remapped_correctable),
        (Signal::RowRemapFailure, flag(state.remap_failure)),
        (Signal::RowRemapPending, flag(state.remap_pending)),
        (Signal::PcieReplay, state.pcie_replays),
    ]
}

fn throttling(state: &State) -> [(Signal, f64); 7] {
    [
        (Signal::ClockEventReasons, f64::from(state.clock_reasons)),
        (Signal::ThermalViolation, state.thermal_seconds),
        (Signal::PowerViolation, state.power_cap_seconds),
        (Signal::SwPowerCapTime, state.power_cap_seconds),
        (Signal::SwThermalTime, state.sw_thermal_seconds),
        (Signal::HwThermalTime, state.hw_thermal_seconds),
        (Signal::HwPowerBrakeTime, state.brake_seconds),
    ]
}

fn nvlink(work: &Work, state: &State) -> [(Signal, f64); 5] {
    [
        (Signal::NvlinkThroughput, rate(work.nvlink)),
        (Signal::NvlinkCrcFlit, state.crc_flit),
        (Signal::NvlinkCrcData, state.crc_data),
        (Signal::NvlinkReplay, state.nvlink_replays),
        (Signal::NvlinkRecovery, 0.0),
    ]
}

fn per_cent(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}

fn ratio(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

/// Rates to a megabyte per second.
fn rate(value: f64) -> f64 {
    (value / MEGA).round() * MEGA
}
