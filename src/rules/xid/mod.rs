//! What each XID code stands for, what to do about it, and where the authorities disagree.
//!
//! An XID is the NVIDIA driver's error code. The table covers codes 1 to 173; a code outside it
//! is *uncatalogued* ([`lookup`] gives `None`) and must be shown as such, never guessed at. Code 0
//! is DCGM's "none so far" and has no entry. `NVSwitch` codes (`SXids`) are a different numbering and
//! are absent on purpose.
//!
//! Severity follows NVIDIA's catalogue, made milder only where the code alone proves little; other
//! authorities are quoted in [`disputed`](field@Xid::disputed) rather than averaged. Texts are
//! fragments without a final stop, so that a finding can place them after "XID 79:".
//!
//! Read for it: the XID catalogue workbook published with NVIDIA's XID documentation (codes 1 to
//! 172; the workbook carries no revision of its own), gpud at 4a8de33a (also the only source for
//! 173), the EKS node monitoring agent at 51af549, DCGM at 72fa3fe (4.6.0), and the health checks of
//! GKE, Azure's node health check, Meta's gcm and NVIDIA's device plugin.

mod catalogue;

#[cfg(test)]
mod tests;

/// Where the table's facts come from, for display beside a finding.
pub const SOURCE: &str = "NVIDIA XID catalogue workbook (codes 1-172, undated revision), \
     compared with gpud 4a8de33a, EKS node monitoring agent 51af549, DCGM 4.6.0, GKE, Azure, Meta \
     gcm and the NVIDIA device plugin";

/// The day the sources were last read (ISO 8601): the workbook gives no revision date.
pub const SOURCE_DATE: &str = "2026-11-30";

/// One XID code and what is known about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Xid {
    /// The code, as `DCGM_FI_DEV_XID_ERRORS` reports it.
    pub code: u16,
    /// The driver's own name for the event.
    pub mnemonic: &'static str,
    /// What happened, in plain words.
    pub meaning: &'static str,
    /// Where the fault is most likely to lie.
    pub class: Class,
    /// How much the code alone weighs.
    pub severity: Severity,
    /// GPU generations on which the catalogue says the code can appear. Empty: on none of the four
    /// the catalogue lists, or not stated.
    pub raised_on: Generations,
    /// What an operator should do. Advice only: nothing here acts.
    pub action: &'static str,
    /// A trap in reading the code, where there is one.
    pub note: Option<&'static str>,
    /// Which authorities disagree about the code, and how.
    pub disputed: Option<&'static str>,
    /// What NVIDIA's device plugin, as shipped, does to the node's allocatable GPUs.
    pub plugin: DevicePlugin,
    /// The remedy is a reset, reboot or VM restart: the fault stays open until one is seen.
    pub clears_on_reset: bool,
    /// The code alone does not carry its severity: ask for a repeat, XID 154, a recovery action or
    /// lost capacity before trusting it.
    pub needs_corroboration: bool,
}

impl Xid {
    /// The code counts as evidence of a fault in the GPU, its memory, links, power or firmware.
    ///
    /// Codes that only inform (a corrected link error, say) are not evidence of a fault, whatever
    /// part they speak of.
    #[must_use]
    pub const fn is_hardware(&self) -> bool {
        matches!(
            self.class,
            Class::HardwareOrDriver
                | Class::DriverOrHardware
                | Class::Hardware
                | Class::Memory
                | Class::NvLink
                | Class::Power
        ) && matches!(
            self.severity,
            Severity::Critical | Severity::High | Severity::Warning
        )
    }

    /// The code points at the program (or the driver under it) before it points at the board.
    #[must_use]
    pub const fn is_application(&self) -> bool {
        matches!(self.class, Class::Application | Class::ApplicationOrDriver)
    }

    /// The code follows from another event and explains nothing by itself.
    #[must_use]
    pub const fn is_consequence(&self) -> bool {
        matches!(self.class, Class::Consequence)
    }

    /// The catalogue lists the code for data-centre GPUs since A100.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        !matches!(self.class, Class::Legacy)
    }
}

/// Where the fault behind a code most likely lies; the first word of a pair is the likelier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// The program on the GPU.
    Application,
    /// The program, else the driver.
    ApplicationOrDriver,
    /// The driver or its firmware.
    Driver,
    /// Driver or firmware, else the board.
    DriverOrHardware,
    /// The board, else driver or firmware.
    HardwareOrDriver,
    /// The board.
    Hardware,
    /// GPU memory: DRAM, SRAM, row remapping, page retirement.
    Memory,
    /// `NVLink`, or the CPU-to-GPU link.
    NvLink,
    /// Power delivery.
    Power,
    /// The host link, else the program.
    BusOrApplication,
    /// The trace of an earlier event.
    Consequence,
    /// The driver's summary of what to do about other codes.
    Summary,
    /// Information only.
    Info,
    /// Not used by data-centre GPUs since A100.
    Legacy,
}

impl Class {
    /// The class as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Application => "application",
            Self::ApplicationOrDriver => "application_or_driver",
            Self::Driver => "driver",
            Self::DriverOrHardware => "driver_or_hardware",
            Self::HardwareOrDriver => "hardware_or_driver",
            Self::Hardware => "hardware",
            Self::Memory => "memory",
            Self::NvLink => "nvlink",
            Self::Power => "power",
            Self::BusOrApplication => "bus_or_application",
            Self::Consequence => "consequence",
            Self::Summary => "summary",
            Self::Info => "info",
            Self::Legacy => "legacy",
        }
    }
}

/// How much one occurrence of a code weighs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// The GPU is not usable until it is repaired or reset.
    Critical,
    /// A fault that ends work on the GPU; the GPU may recover.
    High,
    /// Worth planning for; work can go on.
    Warning,
    /// Nothing to do.
    Info,
    /// The program failed; the GPU is presumed sound.
    Application,
    /// The trace of another event.
    Consequence,
    /// Not expected on data-centre GPUs since A100.
    Legacy,
}

impl Severity {
    /// The severity as a label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Critical => "critical",
            Self::High => "high",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Application => "application",
            Self::Consequence => "consequence",
            Self::Legacy => "legacy",
        }
    }
}

/// What NVIDIA's device plugin does when it sees the code, with its settings left alone.
///
/// The plugin's environment (`DP_DISABLE_HEALTHCHECKS`, `DP_ENABLE_HEALTHCHECKS`) can change this.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DevicePlugin {
    /// Nothing: the GPU stays allocatable.
    Ignores,
    /// Marks the GPU unhealthy, so allocatable falls by one; only a plugin restart brings it back.
    Withholds,
}

/// A set of GPU generations, as the catalogue divides them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Generations(u8);

impl Generations {
    /// On none, or not stated.
    pub const NONE: Self = Self(0);
    /// A100 (Ampere).
    pub const A100: Self = Self(1);
    /// H100 (Hopper).
    pub const H100: Self = Self(1 << 1);
    /// B100 (Blackwell).
    pub const B100: Self = Self(1 << 2);
    /// GB200 (Blackwell with Grace).
    pub const GB200: Self = Self(1 << 3);
    /// All four.
    pub const ALL: Self = Self::A100.and(Self::H100).and(Self::BLACKWELL);
    /// H100 and both Blackwell forms.
    pub const SINCE_H100: Self = Self::H100.and(Self::BLACKWELL);
    /// B100 and GB200.
    pub const BLACKWELL: Self = Self::B100.and(Self::GB200);

    /// Both sets together.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether every generation of `other` is in this set.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Whether the set is empty: on none of the four, or not stated.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The entry of a code; `None` for a code the catalogue does not know, and for 0.
#[must_use]
pub fn lookup(code: u16) -> Option<&'static Xid> {
    let all = all();
    all.binary_search_by_key(&code, |xid| xid.code)
        .ok()
        .map(|at| &all[at])
}

/// The whole table, in the order of the codes.
#[must_use]
pub fn all() -> &'static [Xid] {
    catalogue::CATALOGUE
}
