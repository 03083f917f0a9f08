//! Which signals an exporter is configured to export.

use crate::snapshot::Signal;

/// The counter file of an exporter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Export {
    /// What dcgm-exporter's own counter files export: no ECC, NVLink errors, throttling,
    /// or limits.
    #[default]
    Default,
    /// The default set and what the hardware and thermal rules would like to have
    /// (a custom counter file).
    Extended,
}

/// The default counter file (`etc/default-counters.csv` from 4.3.1 on), what is numeric of it.
const DEFAULT: &[Signal] = &[
    Signal::GpuUtilization,
    Signal::MemoryCopyUtilization,
    Signal::EncoderUtilization,
    Signal::DecoderUtilization,
    Signal::GraphicsEngineActive,
    Signal::TensorActive,
    Signal::DramActive,
    Signal::PcieTransmit,
    Signal::PcieReceive,
    Signal::NvlinkThroughput,
    Signal::SmClock,
    Signal::MemoryClock,
    Signal::CoreTemperature,
    Signal::MemoryTemperature,
    Signal::PowerUsage,
    Signal::Energy,
    Signal::FramebufferUsed,
    Signal::FramebufferFree,
    Signal::FramebufferReserved,
    Signal::Xid,
    Signal::RowRemapUncorrectable,
    Signal::RowRemapCorrectable,
    Signal::RowRemapFailure,
    Signal::PcieReplay,
];

impl Export {
    /// Whether a signal is exported, for boards that have it.
    #[must_use]
    pub fn has(self, signal: Signal) -> bool {
        match self {
            Self::Default => DEFAULT.contains(&signal),
            Self::Extended => true,
        }
    }
}
