//! Which part of a signal a series is about: one link, one XID, one health watch.

use serde::{Deserialize, Serialize};

use super::Signal;

/// The part of a signal that a series is about: a link's number, an XID, a peer's index,
/// a [`ClockEvent`] or a [`HealthWatch`], by the signal. [`Part::WHOLE`] where there are no parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Part(pub u16);

impl Part {
    /// The signal as a whole. (No link, code or peer has this number.)
    pub const WHOLE: Self = Self(u16::MAX);

    /// The number of the part, if the series is about one.
    #[must_use]
    pub fn number(self) -> Option<u16> {
        (self != Self::WHOLE).then_some(self.0)
    }
}

/// What a series measures: a signal, and which part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SeriesKey {
    /// The signal.
    pub signal: Signal,
    /// The part of it, or [`Part::WHOLE`].
    pub part: Part,
}

impl From<Signal> for SeriesKey {
    fn from(signal: Signal) -> Self {
        Self {
            signal,
            part: Part::WHOLE,
        }
    }
}

/// DCGM's reasons for clocks below the maximum: the bits of field 112 and the
/// `clock_event` label of the exporter's event counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum ClockEvent {
    /// Nothing runs.
    Idle = 0,
    /// Application clocks are set.
    ClocksSetting = 1,
    /// The software power cap: normal at full load.
    SwPowerCap = 2,
    /// Hardware slowdown, thermal or electrical.
    HwSlowdown = 3,
    /// A sync-boost group waits for its slowest member.
    SyncBoost = 4,
    /// Software thermal slowdown.
    SwThermal = 5,
    /// Hardware thermal slowdown.
    HwThermal = 6,
    /// The external power brake.
    HwPowerBrake = 7,
    /// Display clocks.
    DisplayClocks = 8,
}

impl ClockEvent {
    /// All, in bit order.
    pub const ALL: [Self; 9] = [
        Self::Idle,
        Self::ClocksSetting,
        Self::SwPowerCap,
        Self::HwSlowdown,
        Self::SyncBoost,
        Self::SwThermal,
        Self::HwThermal,
        Self::HwPowerBrake,
        Self::DisplayClocks,
    ];

    /// The exporter's label value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Idle => "gpu_idle",
            Self::ClocksSetting => "clocks_setting",
            Self::SwPowerCap => "power_cap",
            Self::HwSlowdown => "hw_slowdown",
            Self::SyncBoost => "sync_boost",
            Self::SwThermal => "sw_thermal",
            Self::HwThermal => "hw_thermal",
            Self::HwPowerBrake => "hw_power_brake",
            Self::DisplayClocks => "display_clocks",
        }
    }

    /// The part that stands for this reason.
    #[must_use]
    pub fn part(self) -> Part {
        Part(self as u16)
    }

    /// The reason that a label value names.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|event| event.label() == label)
    }

    /// Whether the bit is set in a mask as DCGM prints it.
    #[must_use]
    pub fn is_set(self, mask: f64) -> bool {
        (mask as u64) & (1 << (self as u16)) != 0
    }
}

/// The subsystems that DCGM's health checks watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum HealthWatch {
    /// PCIe.
    Pcie = 0,
    /// NVLink.
    NvLink = 1,
    /// Power management unit.
    Pmu = 2,
    /// Microcontroller unit.
    Mcu = 3,
    /// Memory.
    Mem = 4,
    /// Streaming multiprocessors.
    Sm = 5,
    /// `InfoROM`.
    InfoRom = 6,
    /// Temperature; warns on any violation within a minute, so it is noisy.
    Thermal = 7,
    /// Power; noisy likewise.
    Power = 8,
    /// Driver.
    Driver = 9,
    /// Faults that belong to no subsystem (from exporter 4.8.2).
    All = 10,
}

impl HealthWatch {
    /// All, in part order.
    pub const ALL: [Self; 11] = [
        Self::Pcie,
        Self::NvLink,
        Self::Pmu,
        Self::Mcu,
        Self::Mem,
        Self::Sm,
        Self::InfoRom,
        Self::Thermal,
        Self::Power,
        Self::Driver,
        Self::All,
    ];

    /// The exporter's label value.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Pcie => "PCIE",
            Self::NvLink => "NVLINK",
            Self::Pmu => "PMU",
            Self::Mcu => "MCU",
            Self::Mem => "MEM",
            Self::Sm => "SM",
            Self::InfoRom => "INFOROM",
            Self::Thermal => "THERMAL",
            Self::Power => "POWER",
            Self::Driver => "DRIVER",
            Self::All => "ALL",
        }
    }

    /// The part that stands for this subsystem.
    #[must_use]
    pub fn part(self) -> Part {
        Part(self as u16)
    }

    /// The subsystem that a label value names.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|watch| watch.label().eq_ignore_ascii_case(label))
    }

    /// The subsystem that a part stands for.
    #[must_use]
    pub fn from_part(part: Part) -> Option<Self> {
        Self::ALL.into_iter().find(|watch| watch.part() == part)
    }
}
