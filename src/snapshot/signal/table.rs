//! The table itself: one entry a signal, with every name that an exporter has given it.
//!
//! Names come from dcgm-exporter's shipped counter files of every generation (1.x lower
//! case, `DCGM_FI_*`, the base-unit names of 4.9) and DCGM's field list. An exporter prints
//! whatever its counter file says, so TYPE and HELP are not consulted: unit and kind follow
//! from the name.

use super::{Kind, Scope, SignalSpec};

/// The label that says which part of a signal a series is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartLabel {
    /// `xid`: the code.
    Xid,
    /// `nvlink`: the link's number; a name may carry it instead (`…_L3`).
    NvLink,
    /// `peer_gpu`: the other GPU's index.
    PeerGpu,
    /// `health_watch`: the subsystem.
    HealthWatch,
    /// `clock_event`: the reason.
    ClockEvent,
}

/// One metric name of one exporter generation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DcgmName {
    /// The metric's name.
    pub name: &'static str,
    /// What it measures.
    pub signal: Signal,
    /// Factor from its unit to ours.
    pub factor: f64,
    /// Per cent after all when the value is above 1.
    pub percent_if_above_one: bool,
    /// Which label names the part, where a series can be about one.
    pub part: Option<PartLabel>,
}

const PERCENT: f64 = 0.01;
const MEGA: f64 = 1e6;
const MILLI: f64 = 1e-3;
const NANO: f64 = 1e-9;
const MIB: f64 = 1_048_576.0;
/// DCGM's NVLink "MB/s" is KiB/s divided by 1000.
const THOUSAND_KIB: f64 = 1_024_000.0;

/// A row before the table gives it its signal.
const fn plain(name: &'static str) -> DcgmName {
    DcgmName {
        name,
        signal: Signal::GpuUtilization,
        factor: 1.0,
        percent_if_above_one: false,
        part: None,
    }
}

const fn scaled(name: &'static str, factor: f64) -> DcgmName {
    DcgmName {
        factor,
        ..plain(name)
    }
}

const fn ratio(name: &'static str) -> DcgmName {
    DcgmName {
        percent_if_above_one: true,
        ..plain(name)
    }
}

const fn parted(name: &'static str, label: PartLabel) -> DcgmName {
    DcgmName {
        part: Some(label),
        ..plain(name)
    }
}

const fn per_link(name: &'static str, factor: f64) -> DcgmName {
    DcgmName {
        factor,
        part: Some(PartLabel::NvLink),
        ..plain(name)
    }
}

/// Declares [`Signal`], its specifications and its names from one list:
/// `Variant "name" "unit" Kind Scope min..=max "what it is" [metric names, preferred first]`.
macro_rules! signals {
    ($( $variant:ident $name:literal $unit:literal $kind:ident $scope:ident $min:literal..=$max:literal
        $help:literal [$($row:expr),* $(,)?] )*) => {
        /// What a series measures.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Signal {
            $( #[doc = $help] $variant, )*
        }

        impl Signal {
            /// Every signal, in the table's order.
            pub const ALL: &'static [Self] = &[$( Self::$variant, )*];

            /// What is fixed about the signal.
            #[must_use]
            pub const fn spec(self) -> &'static SignalSpec {
                const SPECS: &[SignalSpec] = &[$( SignalSpec {
                    name: $name, unit: $unit, kind: Kind::$kind, scope: Scope::$scope,
                    min: $min, max: $max, help: $help,
                }, )*];
                &SPECS[self as usize]
            }
        }

        /// Every metric name that is understood. Where one body has several names of a
        /// signal, the one that comes first here is taken.
        #[must_use]
        pub const fn dcgm_names() -> &'static [DcgmName] {
            const NAMES: &[DcgmName] = &[$( $( DcgmName { signal: Signal::$variant, ..$row }, )* )*];
            NAMES
        }
    };
}

impl Signal {
    /// The signal with one of our own names.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|signal| signal.spec().name == name)
    }
}

signals! {
    GpuUtilization "gpu_utilization_ratio" "ratio" Gauge BoardOnly 0.0..=1.0
        "share of time in which any kernel ran"
        [scaled("DCGM_FI_DEV_GPU_UTIL", PERCENT),
        scaled("dcgm_gpu_utilization", PERCENT),
        ratio("DCGM_FI_DEV_GPU_UTIL_RATIO")]
    MemoryCopyUtilization "memory_copy_utilization_ratio" "ratio" Gauge BoardOnly 0.0..=1.0
        "share of time in which the memory controller was busy (bandwidth, not occupancy)"
        [scaled("DCGM_FI_DEV_MEM_COPY_UTIL", PERCENT),
        scaled("dcgm_mem_copy_utilization", PERCENT),
        ratio("DCGM_FI_DEV_MEMORY_UTIL_RATIO")]
    EncoderUtilization "encoder_utilization_ratio" "ratio" Gauge BoardOnly 0.0..=1.0
        "share of time in which the video encoder was busy"
        [scaled("DCGM_FI_DEV_ENC_UTIL", PERCENT),
        scaled("dcgm_enc_utilization", PERCENT),
        ratio("DCGM_FI_DEV_ENC_UTIL_RATIO")]
    DecoderUtilization "decoder_utilization_ratio" "ratio" Gauge BoardOnly 0.0..=1.0
        "share of time in which the video decoder was busy"
        [scaled("DCGM_FI_DEV_DEC_UTIL", PERCENT),
        scaled("dcgm_dec_utilization", PERCENT),
        ratio("DCGM_FI_DEV_DEC_UTIL_RATIO")]
    GraphicsEngineActive "graphics_engine_active_ratio" "ratio" Gauge Instance 0.0..=1.0
        "share of time in which the compute or graphics engine was busy"
        [plain("DCGM_FI_PROF_GR_ENGINE_ACTIVE"),
        plain("DCGM_FI_PROF_GR_ENGINE_UTIL_RATIO")]
    SmActive "sm_active_ratio" "ratio" Gauge Instance 0.0..=1.0
        "share of cycles in which a multiprocessor held at least one warp"
        [plain("DCGM_FI_PROF_SM_ACTIVE"),
        plain("DCGM_FI_PROF_SM_UTIL_RATIO")]
    SmOccupancy "sm_occupancy_ratio" "ratio" Gauge Instance 0.0..=1.0
        "resident warps in relation to the maximum"
        [plain("DCGM_FI_PROF_SM_OCCUPANCY"),
        plain("DCGM_FI_PROF_SM_OCCUPANCY_RATIO")]
    TensorActive "tensor_active_ratio" "ratio" Gauge Instance 0.0..=1.0
        "share of cycles in which the tensor pipe was busy"
        [plain("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE"),
        plain("DCGM_FI_PROF_TENSOR_UTIL_RATIO")]
    DramActive "dram_active_ratio" "ratio" Gauge Instance 0.0..=1.0
        "share of cycles in which the memory interface was busy"
        [plain("DCGM_FI_PROF_DRAM_ACTIVE"),
        plain("DCGM_FI_PROF_DRAM_UTIL_RATIO")]
    PcieTransmit "pcie_transmit_bytes_per_second" "bytes/s" Gauge Instance 0.0..=1e13
        "rate of bytes that the GPU sends over PCIe"
        [plain("DCGM_FI_PROF_PCIE_TX_BYTES")]
    PcieReceive "pcie_receive_bytes_per_second" "bytes/s" Gauge Instance 0.0..=1e13
        "rate of bytes that the GPU receives over PCIe"
        [plain("DCGM_FI_PROF_PCIE_RX_BYTES")]
    NvlinkThroughput "nvlink_throughput_bytes_per_second" "bytes/s" Gauge Board 0.0..=1e14
        "NVLink rate over all lanes (typed counter by older exporters, a rate all the same)"
        [per_link("DCGM_FI_DEV_NVLINK_BANDWIDTH_TOTAL", THOUSAND_KIB),
        per_link("dcgm_nvlink_bandwidth_total", THOUSAND_KIB),
        per_link("DCGM_FI_DEV_NVLINK_THROUGHPUT_BYTES_PER_SECOND", 1.0)]
    SmClock "sm_clock_hertz" "Hz" Gauge Board 0.0..=1e10
        "current multiprocessor clock"
        [scaled("DCGM_FI_DEV_SM_CLOCK", MEGA),
        scaled("dcgm_sm_clock", MEGA),
        plain("DCGM_FI_DEV_SM_CLOCK_HERTZ")]
    MemoryClock "memory_clock_hertz" "Hz" Gauge Board 0.0..=2e10
        "current memory clock"
        [scaled("DCGM_FI_DEV_MEM_CLOCK", MEGA),
        scaled("dcgm_memory_clock", MEGA),
        plain("DCGM_FI_DEV_MEMORY_CLOCK_HERTZ")]
    CoreTemperature "core_temperature_celsius" "°C" Gauge Board 0.0..=150.0
        "temperature of the die"
        [plain("DCGM_FI_DEV_GPU_TEMP"),
        plain("dcgm_gpu_temp"),
        plain("DCGM_FI_DEV_GPU_TEMP_CELSIUS")]
    MemoryTemperature "memory_temperature_celsius" "°C" Gauge Board 1.0..=150.0
        "temperature of the memory; 0 means that there is no sensor"
        [plain("DCGM_FI_DEV_MEMORY_TEMP"),
        plain("dcgm_memory_temp"),
        plain("DCGM_FI_DEV_MEMORY_TEMP_CELSIUS")]
    SlowdownTemperature "slowdown_temperature_celsius" "°C" Gauge Board 40.0..=150.0
        "core temperature at which the hardware slows down"
        [plain("DCGM_FI_DEV_SLOWDOWN_TEMP"),
        plain("DCGM_FI_DEV_GPU_TEMP_SLOWDOWN_CELSIUS")]
    ShutdownTemperature "shutdown_temperature_celsius" "°C" Gauge Board 40.0..=150.0
        "core temperature at which the board shuts down"
        [plain("DCGM_FI_DEV_SHUTDOWN_TEMP"),
        plain("DCGM_FI_DEV_GPU_TEMP_SHUTDOWN_CELSIUS")]
    MaxOperatingTemperature "max_operating_temperature_celsius" "°C" Gauge Board 40.0..=150.0
        "highest core temperature for normal work"
        [plain("DCGM_FI_DEV_GPU_MAX_OP_TEMP"),
        plain("DCGM_FI_DEV_GPU_MAX_OP_TEMP_CELSIUS")]
    MemoryMaxOperatingTemperature "memory_max_operating_temperature_celsius" "°C" Gauge Board 40.0..=150.0
        "highest memory temperature for normal work"
        [plain("DCGM_FI_DEV_MEM_MAX_OP_TEMP"),
        plain("DCGM_FI_DEV_MEMORY_MAX_OP_TEMP_CELSIUS")]
    TemperatureMargin "temperature_margin_celsius" "°C" Gauge Board -50.0..=150.0
        "temperature margin: distance to the highest core temperature for normal work; at or below 0 it is reached"
        [plain("DCGM_FI_DEV_GPU_TEMP_LIMIT"),
        plain("DCGM_FI_DEV_GPU_TEMP_MARGIN_CELSIUS")]
    PowerUsage "power_watts" "W" Gauge Board 0.0..=5000.0
        "power that the board draws"
        [plain("DCGM_FI_DEV_POWER_USAGE"),
        plain("dcgm_power_usage"),
        plain("DCGM_FI_DEV_BOARD_POWER_WATTS")]
    EnforcedPowerLimit "enforced_power_limit_watts" "W" Gauge Board 1.0..=5000.0
        "power limit that the driver enforces"
        [plain("DCGM_FI_DEV_ENFORCED_POWER_LIMIT"),
        plain("DCGM_FI_DEV_BOARD_POWER_LIMIT_ENFORCED_WATTS")]
    RequestedPowerLimit "requested_power_limit_watts" "W" Gauge Board 1.0..=5000.0
        "power limit that was asked for"
        [plain("DCGM_FI_DEV_POWER_MGMT_LIMIT"),
        plain("DCGM_FI_DEV_BOARD_POWER_LIMIT_REQUESTED_WATTS")]
    Energy "energy_joules" "J" Counter Board 0.0..=1e15
        "energy since the driver was loaded"
        [scaled("DCGM_FI_DEV_TOTAL_ENERGY_CONSUMPTION", MILLI),
        scaled("dcgm_total_energy_consumption", MILLI),
        plain("DCGM_FI_DEV_GPU_ENERGY_JOULES_TOTAL")]
    FramebufferUsed "framebuffer_used_bytes" "bytes" Gauge Instance 0.0..=1e14
        "framebuffer in use, without what driver and firmware reserve"
        [scaled("DCGM_FI_DEV_FB_USED", MIB),
        scaled("dcgm_fb_used", MIB),
        plain("DCGM_FI_DEV_FB_USED_BYTES")]
    FramebufferFree "framebuffer_free_bytes" "bytes" Gauge Instance 0.0..=1e14
        "free framebuffer"
        [scaled("DCGM_FI_DEV_FB_FREE", MIB),
        scaled("dcgm_fb_free", MIB),
        plain("DCGM_FI_DEV_FB_FREE_BYTES")]
    FramebufferReserved "framebuffer_reserved_bytes" "bytes" Gauge Instance 0.0..=1e14
        "framebuffer that driver and firmware reserve"
        [scaled("DCGM_FI_DEV_FB_RESERVED", MIB),
        plain("DCGM_FI_DEV_FB_RESERVED_BYTES")]
    FramebufferTotal "framebuffer_total_bytes" "bytes" Gauge Instance 1.0..=1e14
        "framebuffer as a whole"
        [scaled("DCGM_FI_DEV_FB_TOTAL", MIB),
        plain("DCGM_FI_DEV_FB_CAPACITY_BYTES")]
    Xid "xid" "" Code Instance 0.0..=65_534.0
        "code of the last XID; sticky, of unknown age at first sight"
        [plain("DCGM_FI_DEV_XID_ERRORS"),
        plain("dcgm_xid_errors"),
        plain("DCGM_FI_DEV_XID_ERROR")]
    XidWindowCount "xid_window_count" "" Gauge Board 0.0..=1e6
        "XIDs of one code inside the exporter's window (5 min by default)"
        [parted("DCGM_EXP_XID_ERRORS_COUNT", PartLabel::Xid),
        parted("DCGM_FI_DEV_XID_ERRORS_ACTIVE", PartLabel::Xid)]
    XidTotal "xid_count" "" Counter Board 0.0..=1e9
        "XIDs of one code since the exporter started"
        [parted("DCGM_EXP_XID_ERRORS_TOTAL", PartLabel::Xid)]
    EccSingleBitVolatile "ecc_single_bit_volatile_errors" "" Counter Board 0.0..=1e15
        "corrected memory errors since the driver was loaded"
        [plain("DCGM_FI_DEV_ECC_SBE_VOL_TOTAL"),
        plain("dcgm_ecc_sbe_volatile_total")]
    EccDoubleBitVolatile "ecc_double_bit_volatile_errors" "" Counter Board 0.0..=1e12
        "uncorrectable memory errors since the driver was loaded"
        [plain("DCGM_FI_DEV_ECC_DBE_VOL_TOTAL"),
        plain("dcgm_ecc_dbe_volatile_total")]
    EccSingleBitAggregate "ecc_single_bit_aggregate_errors" "" Lifetime Board 0.0..=1e15
        "corrected memory errors of the board's life"
        [plain("DCGM_FI_DEV_ECC_SBE_AGG_TOTAL"),
        plain("dcgm_ecc_sbe_aggregate_total")]
    EccDoubleBitAggregate "ecc_double_bit_aggregate_errors" "" Lifetime Board 0.0..=1e12
        "uncorrectable memory errors of the board's life"
        [plain("DCGM_FI_DEV_ECC_DBE_AGG_TOTAL"),
        plain("dcgm_ecc_dbe_aggregate_total")]
    RetiredPagesSingleBit "retired_pages_single_bit" "" Lifetime Board 0.0..=1e6
        "memory pages retired for corrected errors (before Ampere)"
        [plain("DCGM_FI_DEV_RETIRED_SBE"),
        plain("dcgm_retired_pages_sbe"),
        plain("DCGM_FI_DEV_PAGE_RETIRED_SBE_TOTAL")]
    RetiredPagesDoubleBit "retired_pages_double_bit" "" Lifetime Board 0.0..=1e6
        "memory pages retired for uncorrectable errors (before Ampere)"
        [plain("DCGM_FI_DEV_RETIRED_DBE"),
        plain("dcgm_retired_pages_dbe"),
        plain("DCGM_FI_DEV_PAGE_RETIRED_DBE_TOTAL")]
    RetiredPagesPending "retired_pages_pending" "" State Board 0.0..=1e6
        "page retirement waits for a reset"
        [plain("DCGM_FI_DEV_RETIRED_PENDING"),
        plain("dcgm_retired_pages_pending"),
        plain("DCGM_FI_DEV_PAGE_RETIRED_PENDING")]
    RowRemapUncorrectable "row_remap_uncorrectable" "" Lifetime Board 0.0..=1e6
        "memory rows remapped for uncorrectable errors"
        [plain("DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS"),
        plain("DCGM_FI_DEV_ROW_REMAP_UNCORRECTABLE_TOTAL")]
    RowRemapCorrectable "row_remap_correctable" "" Lifetime Board 0.0..=1e6
        "memory rows remapped for corrected errors"
        [plain("DCGM_FI_DEV_CORRECTABLE_REMAPPED_ROWS"),
        plain("DCGM_FI_DEV_ROW_REMAP_CORRECTABLE_TOTAL")]
    RowRemapFailure "row_remap_failure" "" State Board 0.0..=1.0
        "a memory row could not be remapped"
        [plain("DCGM_FI_DEV_ROW_REMAP_FAILURE"),
        plain("DCGM_FI_DEV_ROW_REMAP_FAILED")]
    RowRemapPending "row_remap_pending" "" State Board 0.0..=1.0
        "a row remap waits for a GPU reset"
        [plain("DCGM_FI_DEV_ROW_REMAP_PENDING")]
    PcieReplay "pcie_replays" "" Counter Board 0.0..=1e12
        "PCIe packets sent again since the driver was loaded"
        [plain("DCGM_FI_DEV_PCIE_REPLAY_COUNTER"),
        plain("dcgm_pcie_replay_counter"),
        plain("DCGM_FI_DEV_PCIE_REPLAY_TOTAL")]
    NvlinkCrcFlit "nvlink_crc_flit_errors" "" Counter Board 0.0..=1e15
        "NVLink flow-control CRC errors, of a link or of all"
        [per_link("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_COUNT_TOTAL", 1.0),
        per_link("dcgm_nvlink_flit_crc_error_count_total", 1.0),
        per_link("DCGM_FI_DEV_NVLINK_CRC_FLIT_ERROR_TOTAL", 1.0)]
    NvlinkCrcData "nvlink_crc_data_errors" "" Counter Board 0.0..=1e15
        "NVLink data CRC errors, of a link or of all"
        [per_link("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_COUNT_TOTAL", 1.0),
        per_link("dcgm_nvlink_data_crc_error_count_total", 1.0),
        per_link("DCGM_FI_DEV_NVLINK_CRC_DATA_ERROR_TOTAL", 1.0)]
    NvlinkReplay "nvlink_replay_errors" "" Counter Board 0.0..=1e15
        "NVLink packets sent again, of a link or of all"
        [per_link("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL", 1.0),
        per_link("dcgm_nvlink_replay_error_count_total", 1.0),
        per_link("DCGM_FI_DEV_NVLINK_REPLAY_ERROR_TOTAL", 1.0)]
    NvlinkRecovery "nvlink_recovery_errors" "" Counter Board 0.0..=1e15
        "NVLink link recoveries, of a link or of all"
        [per_link("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_COUNT_TOTAL", 1.0),
        per_link("dcgm_nvlink_recovery_error_count_total", 1.0),
        per_link("DCGM_FI_DEV_NVLINK_RECOVERY_ERROR_TOTAL", 1.0)]
    NvlinkFault "nvlink_fault" "" State Board 0.0..=2.0
        "NVLink event: 1 recovery required, 2 fatal"
        [plain("DCGM_FI_DEV_GPU_NVLINK_ERRORS"),
        plain("DCGM_FI_DEV_NVLINK_ERROR")]
    P2pStatus "p2p_status" "" State Board 0.0..=64.0
        "NVLink peer-to-peer status with another GPU: 0 is OK"
        [parted("DCGM_EXP_P2P_STATUS", PartLabel::PeerGpu)]
    HealthStatus "health_status" "" State Board 0.0..=20.0
        "DCGM's own verdict: 0 pass, 10 warn, 20 fail"
        [parted("DCGM_EXP_GPU_HEALTH_STATUS", PartLabel::HealthWatch)]
    RecoveryAction "recovery_action" "" State Board 0.0..=16.0
        "what the driver asks for: 0 none, 1 reset, 2 reboot, 3 drain peer-to-peer, 4 drain and reset"
        [plain("DCGM_FI_DEV_GET_GPU_RECOVERY_ACTION"),
        plain("DCGM_FI_DEV_GPU_RECOVERY_ACTION")]
    ClockEventReasons "clock_event_reasons" "" Bits Board 0.0..=65_535.0
        "why clocks are below the maximum, as bits"
        [plain("DCGM_FI_DEV_CLOCKS_EVENT_REASONS"),
        plain("DCGM_FI_DEV_CLOCK_THROTTLE_REASONS")]
    ClockEventWindowCount "clock_event_window_samples" "" Gauge Board 0.0..=1e6
        "samples with one clock event inside the exporter's window (5 min by default)"
        [parted("DCGM_EXP_CLOCK_EVENTS_COUNT", PartLabel::ClockEvent)]
    PowerViolation "power_violation_seconds" "s" Counter Board 0.0..=1e11
        "time with clocks held down by power limits"
        [scaled("DCGM_FI_DEV_POWER_VIOLATION", NANO),
        scaled("dcgm_power_violation", NANO),
        plain("DCGM_FI_DEV_GPU_POWER_THROTTLE_SECONDS_TOTAL")]
    ThermalViolation "thermal_violation_seconds" "s" Counter Board 0.0..=1e11
        "time with clocks held down by temperature"
        [scaled("DCGM_FI_DEV_THERMAL_VIOLATION", NANO),
        scaled("dcgm_thermal_violation", NANO),
        plain("DCGM_FI_DEV_GPU_THERMAL_THROTTLE_SECONDS_TOTAL")]
    SyncBoostViolation "sync_boost_violation_seconds" "s" Counter Board 0.0..=1e11
        "time limited by the sync-boost group"
        [scaled("DCGM_FI_DEV_SYNC_BOOST_VIOLATION", NANO),
        scaled("dcgm_sync_boost_violation", NANO)]
    BoardLimitViolation "board_limit_violation_seconds" "s" Counter Board 0.0..=1e11
        "time limited by the board's own limit"
        [scaled("DCGM_FI_DEV_BOARD_LIMIT_VIOLATION", NANO),
        scaled("dcgm_board_limit_violation", NANO)]
    ReliabilityViolation "reliability_violation_seconds" "s" Counter Board 0.0..=1e11
        "time limited by the reliability voltage"
        [scaled("DCGM_FI_DEV_RELIABILITY_VIOLATION", NANO),
        scaled("dcgm_reliability_violation", NANO)]
    SwPowerCapTime "sw_power_cap_seconds" "s" Counter Board 0.0..=1e11
        "time under the software power cap"
        [scaled("DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP_NS", NANO)]
    SwThermalTime "sw_thermal_slowdown_seconds" "s" Counter Board 0.0..=1e11
        "time under software thermal slowdown"
        [scaled("DCGM_FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN_NS", NANO)]
    HwThermalTime "hw_thermal_slowdown_seconds" "s" Counter Board 0.0..=1e11
        "time under hardware thermal slowdown"
        [scaled("DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN_NS", NANO)]
    HwPowerBrakeTime "hw_power_brake_seconds" "s" Counter Board 0.0..=1e11
        "time under the external power brake"
        [scaled("DCGM_FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN_NS", NANO)]
}
