//! The XID table, one code an entry, in the order of the codes.

use super::Class::{
    self, Application, ApplicationOrDriver, BusOrApplication, Driver, DriverOrHardware, Hardware,
    HardwareOrDriver, Memory, NvLink, Power, Summary,
};
use super::Severity::{self, Critical, High, Info, Warning};
use super::{DevicePlugin, Generations, Xid};

const ALL: Generations = Generations::ALL;
const A100: Generations = Generations::A100;
const A100_H100: Generations = Generations::A100.and(Generations::H100);
const SINCE_H100: Generations = Generations::SINCE_H100;
const H100: Generations = Generations::H100;
const BLACKWELL: Generations = Generations::BLACKWELL;
const GB200: Generations = Generations::GB200;
const UNLISTED: Generations = Generations::NONE;

const RESTART: &str =
    "restart the job; suspect the board only when it repeats there with other jobs";
const NOTHING: &str = "nothing to do";
const RESET: &str = "drain the node, then reset the GPU; reboot if the reset fails";
const LEGACY: &str = "nothing on current GPUs; on an older GPU, update the driver, then ask NVIDIA";
const DECODE: &str = "decode the kernel log line; drain and reset if XID 154 or a lost link agrees";
const NEEDS_LOG: &str = "fatal or harmless depending on unit, intrInfo and errorStatus in the kernel \
                         log, which DCGM does not export";

const LEGACY_GPUD: &str = "NVIDIA: unused; gpud: fatal, reboot";
const LEGACY_AZURE: &str = "NVIDIA: unused; Azure: fails the node; DCGM: WARN";
const NVLINK5: &str = "NVIDIA: depends on the decoded line; gpud: warning, reboot";
const NO_BUCKET: &str = "NVIDIA: no action in the catalogue read; gpud: warning, reboot";

/// A code of any class; the traits below refine it.
const fn xid(
    code: u16,
    mnemonic: &'static str,
    class: Class,
    severity: Severity,
    raised_on: Generations,
    meaning: &'static str,
    action: &'static str,
) -> Xid {
    Xid {
        code,
        mnemonic,
        meaning,
        class,
        severity,
        raised_on,
        action,
        note: None,
        disputed: None,
        plugin: DevicePlugin::Withholds,
        clears_on_reset: false,
        needs_corroboration: false,
    }
}

/// A fault of one of the GPU's engines: ends the channel, seldom the GPU.
const fn engine(
    code: u16,
    mnemonic: &'static str,
    raised_on: Generations,
    meaning: &'static str,
) -> Xid {
    xid(
        code,
        mnemonic,
        ApplicationOrDriver,
        Severity::Application,
        raised_on,
        meaning,
        RESTART,
    )
}

/// A code that data-centre GPUs since A100 do not use.
const fn legacy(code: u16, mnemonic: &'static str, meaning: &'static str) -> Xid {
    xid(
        code,
        mnemonic,
        Class::Legacy,
        Severity::Legacy,
        UNLISTED,
        meaning,
        LEGACY,
    )
}

/// One of the units of `NVLink` 5, whose weight only the kernel log tells.
const fn nvlink5(code: u16, mnemonic: &'static str, meaning: &'static str) -> Xid {
    xid(code, mnemonic, NvLink, Warning, BLACKWELL, meaning, DECODE)
        .note(NEEDS_LOG)
        .disputed(NVLINK5)
        .needs_corroboration()
}

impl Xid {
    const fn note(mut self, note: &'static str) -> Self {
        self.note = Some(note);
        self
    }

    const fn disputed(mut self, disputed: &'static str) -> Self {
        self.disputed = Some(disputed);
        self
    }

    /// On the device plugin's short list of codes to ignore.
    const fn plugin_ignores(mut self) -> Self {
        self.plugin = DevicePlugin::Ignores;
        self
    }

    const fn until_reset(mut self) -> Self {
        self.clears_on_reset = true;
        self
    }

    const fn needs_corroboration(mut self) -> Self {
        self.needs_corroboration = true;
        self
    }
}

// A table reads better with each code's facts in the same places than wrapped one field a line.
#[rustfmt::skip]
pub(super) static CATALOGUE: &[Xid] = &[
    legacy(1, "ROBUST_CHANNEL_FIFO_ERROR_FIFO_METHOD", "malformed push buffer: bad FIFO method"),
    legacy(2, "ROBUST_CHANNEL_FIFO_ERROR_SW_METHOD", "malformed push buffer: bad software method"),
    legacy(3, "ROBUST_CHANNEL_FIFO_ERROR_UNK_METHOD", "malformed push buffer: unknown method"),
    legacy(4, "ROBUST_CHANNEL_FIFO_ERROR_CHANNEL_BUSY", "malformed push buffer: channel busy"),
    legacy(5, "ROBUST_CHANNEL_FIFO_ERROR_RUNOUT_OVERFLOW", "FIFO run-out overflow; never put to use"),
    legacy(6, "ROBUST_CHANNEL_FIFO_ERROR_PARSE_ERR", "malformed push buffer: cannot be parsed"),
    legacy(7, "ROBUST_CHANNEL_FIFO_ERROR_PTE_ERR", "push buffer at a bad address"),
    xid(8, "ROBUST_CHANNEL_FIFO_ERROR_IDLE_TIMEOUT", ApplicationOrDriver, Severity::Application, ALL,
        "a GPU channel made no progress and timed out",
        "restart the job; look for other codes on the same GPU"),
    legacy(9, "ROBUST_CHANNEL_GR_ERROR_INSTANCE", "the driver programmed the GPU wrongly")
        .disputed(LEGACY_GPUD),
    legacy(10, "ROBUST_CHANNEL_GR_ERROR_SINGLE_STEP", "engine single-step event; never put to use"),
    xid(11, "ROBUST_CHANNEL_GR_ERROR_MISSING_HW", ApplicationOrDriver, Severity::Application, ALL,
        "the engine was given a corrupt or invalid command buffer", RESTART),
    legacy(12, "ROBUST_CHANNEL_GR_ERROR_SW_METHOD", "the driver mishandled a GPU exception")
        .disputed(LEGACY_GPUD),
    xid(13, "ROBUST_CHANNEL_GR_EXCEPTION / ROBUST_CHANNEL_GR_ERROR_SW_NOTIFY", Application, Severity::Application, ALL,
        "graphics or compute engine exception, such as an out-of-range access or illegal instruction",
        "look at the program; if it repeats on one GPU (same GPC and TPC) with other jobs, drain and run diagnostics")
        .note("points at hardware only by repeating on the same GPU, GPC and TPC under different jobs")
        .plugin_ignores(),
    xid(14, "ROBUST_CHANNEL_FAKE_ERROR", Class::Info, Info, ALL, "an error injected for testing", NOTHING),
    legacy(15, "ROBUST_CHANNEL_SCANLINE_TIMEOUT", "display scan-line timeout; never put to use"),
    legacy(16, "ROBUST_CHANNEL_VBLANK_CALLBACK_TIMEOUT", "the display engine hung waiting for a blank")
        .disputed(LEGACY_GPUD),
    legacy(17, "ROBUST_CHANNEL_PARAMETER_ERROR", "bad channel parameter; never put to use"),
    legacy(18, "ROBUST_CHANNEL_BUS_MASTER_TIMEOUT_ERROR", "bus mastering is switched off in PCI configuration")
        .disputed(LEGACY_GPUD),
    legacy(19, "ROBUST_CHANNEL_DISP_MISSED_NOTIFIER", "the display engine missed a notification")
        .disputed(LEGACY_GPUD),
    legacy(20, "ROBUST_CHANNEL_MPEG_ERROR_SW_METHOD", "malformed command buffer for the MPEG engine"),
    legacy(21, "ROBUST_CHANNEL_ME_ERROR_SW_METHOD", "malformed command buffer for motion estimation"),
    legacy(22, "ROBUST_CHANNEL_VP_ERROR_SW_METHOD", "malformed command buffer for the video processor"),
    legacy(23, "ROBUST_CHANNEL_RC_LOGGING_ENABLED", "channel recovery logging switched on; never put to use"),
    legacy(24, "ROBUST_CHANNEL_GR_SEMAPHORE_TIMEOUT", "waiting for a GPU semaphore timed out"),
    xid(25, "ROBUST_CHANNEL_GR_ILLEGAL_NOTIFY", ApplicationOrDriver, Severity::Application, ALL,
        "the command buffer held something the engine may not do", RESTART),
    legacy(26, "ROBUST_CHANNEL_FIFO_ERROR_FBISTATE_TIMEOUT", "the framebuffer interface timed out")
        .disputed(LEGACY_GPUD),
    legacy(27, "ROBUST_CHANNEL_VP_ERROR", "video processor exception").disputed(LEGACY_GPUD),
    legacy(28, "ROBUST_CHANNEL_VP2_ERROR", "second video processor exception").disputed(LEGACY_GPUD),
    legacy(29, "ROBUST_CHANNEL_BSP_ERROR", "video bitstream processor exception").disputed(LEGACY_GPUD),
    legacy(30, "ROBUST_CHANNEL_BAD_ADDR_ACCESS", "a GPU semaphore was accessed wrongly").disputed(LEGACY_GPUD),
    xid(31, "ROBUST_CHANNEL_FIFO_ERROR_MMU_ERR_FLT", Application, Severity::Application, ALL,
        "page fault in the GPU's MMU: the program touched an address that is not mapped",
        "look at the program; if it repeats on one GPU with other jobs, drain and run diagnostics")
        .note("points at hardware only by repeating on one GPU under different jobs; profiling fields may go blank after it")
        .disputed("NVIDIA: restart the job; DCGM: memory health WARN")
        .plugin_ignores(),
    xid(32, "ROBUST_CHANNEL_PBDMA_ERROR", BusOrApplication, Warning, ALL,
        "the DMA controller read an invalid or corrupted command stream",
        "restart the job; if it comes back, look at PCIe replays and the riser or slot")
        .note("NVIDIA names PCIe signal quality as the usual background, yet advises restarting the job")
        .disputed("NVIDIA: restart the job; gpud: fatal; DCGM: memory health WARN"),
    legacy(33, "ROBUST_CHANNEL_SEC_ERROR", "security engine exception").disputed(LEGACY_GPUD),
    legacy(34, "ROBUST_CHANNEL_MSVLD_ERROR", "video stream decoder (MSVLD) exception").disputed(LEGACY_GPUD),
    legacy(35, "ROBUST_CHANNEL_MSPDEC_ERROR", "video picture decoder (MSPDEC) exception").disputed(LEGACY_GPUD),
    legacy(36, "ROBUST_CHANNEL_MSPPP_ERROR", "video post-processor (MSPPP) exception").disputed(LEGACY_GPUD),
    xid(37, "ROBUST_CHANNEL_FECS_ERR_UNIMP_FIRMWARE_METHOD", Driver, Info, ALL,
        "context firmware (FECS) was asked for a method it does not have", NOTHING),
    xid(38, "ROBUST_CHANNEL_FECS_ERR_WATCHDOG_TIMEOUT", Driver, Info, ALL,
        "the watchdog of the context firmware (FECS) ran out", "nothing by itself; look for other codes on the GPU")
        .disputed("NVIDIA: ignore; gpud: fatal; DCGM: PCIe health WARN"),
    engine(39, "ROBUST_CHANNEL_CE0_ERROR", ALL, "copy engine 0 raised an exception")
        .disputed("NVIDIA: restart the job; DCGM: PCIe health WARN"),
    engine(40, "ROBUST_CHANNEL_CE1_ERROR", ALL, "copy engine 1 raised an exception"),
    engine(41, "ROBUST_CHANNEL_CE2_ERROR", ALL, "copy engine 2 raised an exception"),
    legacy(42, "ROBUST_CHANNEL_VIC_ERROR", "video image compositor exception")
        .disputed("NVIDIA: unused; gpud: fatal, reboot; DCGM: PCIe health WARN"),
    xid(43, "ROBUST_CHANNEL_RESETCHANNEL_VERIF_ERROR", Class::Consequence, Severity::Consequence, ALL,
        "the driver reset a channel after the program hit a fault; the GPU itself goes on",
        "look at the program, and for an earlier code on the same GPU")
        .note("never evidence by itself: it marks the end of a program, not what ended it")
        .disputed("NVIDIA: ignore; DCGM: memory health WARN")
        .plugin_ignores(),
    xid(44, "ROBUST_CHANNEL_GR_FAULT_DURING_CTXSW", Driver, Info, ALL,
        "an engine faulted during a context switch", "nothing by itself; look for other codes on the GPU")
        .disputed("NVIDIA: ignore; gpud: fatal"),
    xid(45, "ROBUST_CHANNEL_PREEMPTIVE_REMOVAL", Class::Consequence, Severity::Consequence, ALL,
        "the driver tore a channel down: its process was killed, or another error came first",
        "follow the earlier code; if alone and on many GPUs at once, look at fabric manager")
        .note("a kill, an interrupt and a GPU reset all leave it; it can overwrite the code that mattered")
        .disputed("NVIDIA: follow the other code; NVSentinel: fatal, contact support; gpud: ignore")
        .plugin_ignores(),
    xid(46, "ROBUST_CHANNEL_GPU_TIMEOUT_ERROR", HardwareOrDriver, High, ALL,
        "the GPU stopped processing and timed out", RESET)
        .until_reset(),
    legacy(47, "ROBUST_CHANNEL_NVENC0_ERROR", "video encoder 0 exception").disputed(LEGACY_GPUD),
    xid(48, "ROBUST_CHANNEL_GPU_ECC_DBE", Memory, Critical, ALL,
        "uncorrectable (double-bit) ECC error",
        "reset the GPU; with 63 or 64 beside it, drain the node first")
        .note("171 tells that it lay in DRAM, 172 in SRAM; for SRAM check the threshold flag before reuse")
        .until_reset(),
    legacy(49, "SILENT_RUNNING_CONSTANT_LEVEL_SET_BY_REGISTRY", "board self-test: fixed level set by configuration"),
    legacy(50, "SILENT_RUNNING_LEVEL_TRANSITION_DUE_TO_RC_ERROR", "board self-test: level changed after an error"),
    legacy(51, "SILENT_RUNNING_STRESS_TEST_FAILURE", "board self-test: stress test failed"),
    legacy(52, "SILENT_RUNNING_LEVEL_TRANS_DUE_TO_TEMP_RISE", "board self-test: level changed as temperature rose"),
    legacy(53, "SILENT_RUNNING_TEMP_REDUCED_CLOCKING", "board self-test: clocks lowered for temperature"),
    xid(54, "SILENT_RUNNING_PWR_REDUCED_CLOCKING", Power, High, A100_H100.and(Generations::B100),
        "auxiliary power is missing or insufficient, so clocks are held down",
        "check the board's auxiliary power cabling and supply")
        .disputed("NVIDIA: check cabling; EKS: node condition; DCGM: power health WARN; gpud: warning, no action"),
    legacy(55, "SILENT_RUNNING_TEMPERATURE_READ_ERROR", "board self-test: temperature could not be read"),
    legacy(56, "DISPLAY_CHANNEL_EXCEPTION", "display channel exception").disputed(LEGACY_AZURE),
    legacy(57, "FB_LINK_TRAINING_FAILURE_ERROR", "the memory interface failed to train").disputed(LEGACY_AZURE),
    legacy(58, "FB_MEMORY_ERROR", "the memory interface is unstable").disputed(LEGACY_AZURE),
    legacy(59, "PMU_ERROR", "error in the power management microcontroller (PMU)").disputed(LEGACY_GPUD),
    xid(60, "ROBUST_CHANNEL_SEC2_ERROR", Driver, Info, ALL,
        "the security and video processor (SEC2) raised an exception", "restart the job; update the driver if it repeats")
        .disputed("NVIDIA: restart the job; gpud: fatal; DCGM: thermal health WARN"),
    xid(61, "PMU_BREAKPOINT", HardwareOrDriver, Warning, UNLISTED,
        "the power management microcontroller (PMU) stopped at a breakpoint",
        "update the driver; reset the GPU when convenient")
        .note("seen with old drivers only")
        .disputed("NVIDIA: unused; gpud: fatal, reboot; DCGM: thermal health WARN"),
    xid(62, "PMU_HALT_ERROR", HardwareOrDriver, Critical, ALL,
        "the GPU's internal microcontroller (PMU) halted", RESET)
        .note("not a temperature event, although DCGM files it under thermal health")
        .disputed("NVIDIA: reset; gpud: fatal; EKS: node condition; Azure: fails the node; DCGM: thermal health WARN")
        .until_reset(),
    xid(63, "INFOROM_DRAM_RETIREMENT_EVENT", Memory, Warning, ALL,
        "a memory row was remapped (or a page retired) and this was recorded",
        "reset the GPU when convenient, so that the remap takes effect")
        .note("read with the remap pending and failure fields: they tell whether a reset is due")
        .disputed("NVIDIA: ignore; EKS and GKE: node condition; gpud: fatal; DCGM: memory health WARN; Azure: fails the node; Meta: not critical"),
    xid(64, "INFOROM_DRAM_RETIREMENT_FAILURE", Memory, Critical, ALL,
        "a row remap or page retirement could not be recorded",
        "drain the node, then reset the GPU; if it returns, open a case for replacement")
        .until_reset(),
    legacy(65, "ROBUST_CHANNEL_NVENC1_ERROR", "video encoder 1 exception")
        .disputed("NVIDIA: unused; gpud: fatal, reboot; Azure: fails the node"),
    xid(66, "ROBUST_CHANNEL_FECS_ERR_REG_ACCESS_VIOLATION", Driver, Info, ALL,
        "the driver touched a register it may not", "nothing by itself; update the driver if it repeats"),
    xid(67, "ROBUST_CHANNEL_FECS_ERR_VERIF_VIOLATION", Driver, Info, ALL,
        "a request from the driver failed the firmware's check", "nothing by itself; update the driver if it repeats")
        .disputed("NVIDIA: ignore; DCGM: NVLink health WARN"),
    engine(68, "ROBUST_CHANNEL_NVDEC0_ERROR", ALL, "video decoder 0 raised an exception")
        .disputed("NVIDIA: restart the job; gpud: fatal; Azure: fails the node; Meta: not critical")
        .plugin_ignores(),
    xid(69, "ROBUST_CHANNEL_GR_CLASS_ERROR", Application, Severity::Application, ALL,
        "the program gave the graphics or compute engine bad method data",
        "look at the program; restart the device plugin if the GPU stays withheld")
        .note("although a program fault, it takes the GPU out of allocatable")
        .disputed("NVIDIA: restart the job; gpud: fatal; Azure: fails the node"),
    engine(70, "ROBUST_CHANNEL_CE3_ERROR", ALL, "copy engine 3 raised an exception"),
    engine(71, "ROBUST_CHANNEL_CE4_ERROR", ALL, "copy engine 4 raised an exception"),
    engine(72, "ROBUST_CHANNEL_CE5_ERROR", ALL, "copy engine 5 raised an exception"),
    legacy(73, "ROBUST_CHANNEL_NVENC2_ERROR", "video encoder 2 exception").disputed(LEGACY_AZURE),
    xid(74, "NVLINK_ERROR", NvLink, Critical, A100_H100,
        "NVLink error towards another GPU or an NVSwitch",
        "drain the node and reset the GPUs on the link; if it returns, check both ends and seating")
        .note("may echo the failure of a peer; Blackwell raises 144 to 150 instead")
        .until_reset(),
    engine(75, "ROBUST_CHANNEL_CE6_ERROR", ALL, "copy engine 6 raised an exception"),
    engine(76, "ROBUST_CHANNEL_CE7_ERROR", ALL, "copy engine 7 raised an exception"),
    engine(77, "ROBUST_CHANNEL_CE8_ERROR", ALL, "copy engine 8 raised an exception"),
    xid(78, "VGPU_START_ERROR", Driver, Warning, ALL,
        "a vGPU could not start, most often for a version mismatch",
        "bring host and guest vGPU software to matching versions")
        .disputed("NVIDIA: update software; gpud: fatal; DCGM: power health WARN"),
    xid(79, "ROBUST_CHANNEL_GPU_HAS_FALLEN_OFF_THE_BUS", Hardware, Critical, ALL,
        "the GPU no longer answers on the PCIe bus",
        "drain the node and reboot it; if it returns, check seating, power and the slot")
        .note("the GPU's series vanish rather than change")
        .until_reset(),
    xid(80, "PBDMA_PUSHBUFFER_CRC_MISMATCH", BusOrApplication, Warning, A100_H100,
        "commands reached the GPU with a wrong checksum",
        "restart the job; if it comes back, look at PCIe replays and host memory")
        .disputed("NVIDIA: restart the job; Azure: fails the node"),
    legacy(81, "ROBUST_CHANNEL_VGA_SUBSYSTEM_ERROR", "VGA subsystem error")
        .disputed("NVIDIA: unused; gpud: fatal, inspect hardware; Azure: fails the node"),
    engine(82, "ROBUST_CHANNEL_NVJPG0_ERROR", ALL, "JPEG engine 0 raised an exception"),
    engine(83, "ROBUST_CHANNEL_NVDEC1_ERROR", ALL, "video decoder 1 raised an exception"),
    engine(84, "ROBUST_CHANNEL_NVDEC2_ERROR", ALL, "video decoder 2 raised an exception"),
    engine(85, "ROBUST_CHANNEL_CE9_ERROR", ALL, "copy engine 9 raised an exception"),
    engine(86, "ROBUST_CHANNEL_OFA0_ERROR", ALL, "optical flow engine 0 raised an exception"),
    legacy(87, "NVTELEMETRY_DRIVER_REPORT", "a telemetry report of the driver"),
    engine(88, "ROBUST_CHANNEL_NVDEC3_ERROR", ALL, "video decoder 3 raised an exception"),
    engine(89, "ROBUST_CHANNEL_NVDEC4_ERROR", ALL, "video decoder 4 raised an exception"),
    legacy(90, "LTC_ERROR", "level-two cache error; reserved"),
    legacy(91, "RESERVED_XID", "reserved"),
    xid(92, "EXCESSIVE_SBE_INTERRUPTS", Memory, Warning, ALL,
        "corrected single-bit memory errors arrive at a high rate",
        "watch the ECC and remap counters; the errors were corrected")
        .disputed("NVIDIA and gpud: ignore; Azure: fails the node; Meta: not critical"),
    xid(93, "INFOROM_ERASE_LIMIT_EXCEEDED", Memory, Info, A100,
        "the board's InfoROM passed its write-wear limit", NOTHING)
        .disputed("NVIDIA: ignore; DCGM: InfoROM health WARN on Volta"),
    xid(94, "ROBUST_CHANNEL_CONTAINED_ERROR", Memory, High, ALL,
        "uncorrectable memory error, contained: only the program that used the memory is lost",
        "restart the job; reset the GPU when convenient")
        .note("other programs on the GPU go on; the one that died lost its memory to a hardware error")
        .disputed("NVIDIA: restart the job; DCGM: WARN; gpud: fatal, reboot; GCP: reset the GPU"),
    xid(95, "ROBUST_CHANNEL_UNCONTAINED_ERROR", Memory, Critical, ALL,
        "uncorrectable memory error, not contained: every program on the GPU is suspect", RESET)
        .until_reset(),
    engine(96, "ROBUST_CHANNEL_NVDEC5_ERROR", SINCE_H100, "video decoder 5 raised an exception"),
    engine(97, "ROBUST_CHANNEL_NVDEC6_ERROR", SINCE_H100, "video decoder 6 raised an exception"),
    engine(98, "ROBUST_CHANNEL_NVDEC7_ERROR", SINCE_H100, "video decoder 7 raised an exception"),
    engine(99, "ROBUST_CHANNEL_NVJPG1_ERROR", SINCE_H100, "JPEG engine 1 raised an exception"),
    engine(100, "ROBUST_CHANNEL_NVJPG2_ERROR", SINCE_H100, "JPEG engine 2 raised an exception"),
    engine(101, "ROBUST_CHANNEL_NVJPG3_ERROR", SINCE_H100, "JPEG engine 3 raised an exception"),
    engine(102, "ROBUST_CHANNEL_NVJPG4_ERROR", SINCE_H100, "JPEG engine 4 raised an exception"),
    engine(103, "ROBUST_CHANNEL_NVJPG5_ERROR", SINCE_H100, "JPEG engine 5 raised an exception"),
    engine(104, "ROBUST_CHANNEL_NVJPG6_ERROR", SINCE_H100, "JPEG engine 6 raised an exception"),
    engine(105, "ROBUST_CHANNEL_NVJPG7_ERROR", SINCE_H100, "JPEG engine 7 raised an exception"),
    xid(106, "SMBPBI_TEST_MESSAGE", Class::Info, Info, ALL, "a test message over the board management bus", NOTHING),
    xid(107, "SMBPBI_TEST_MESSAGE_SILENT", Class::Info, Info, ALL, "a silent test message over the board management bus", NOTHING),
    xid(108, "NVLINK_REMOTE_TRANSLATION_ERROR", ApplicationOrDriver, Info, ALL,
        "a peer could not translate an address asked for over NVLink", "nothing by itself; look for 137 or 31 on the peer"),
    xid(109, "ROBUST_CHANNEL_CTXSW_TIMEOUT_ERROR", HardwareOrDriver, High, ALL,
        "switching contexts on the GPU timed out",
        "look for a repeat or XID 154; if either is there, drain the node and reset the GPU")
        .note("the device plugin keeps handing this GPU out; take it seriously once 154, a repeat or lost capacity agrees")
        .disputed("NVIDIA: reset; EKS: node condition; gpud: warning, no action; Meta: not critical; device plugin: ignores")
        .plugin_ignores().until_reset().needs_corroboration(),
    xid(110, "SEC_FAULT_ERROR", Hardware, Critical, SINCE_H100, "the GPU's security logic reported a fault", RESET)
        .until_reset(),
    legacy(111, "BUNDLE_ERROR_EVENT", "display bundle error"),
    legacy(112, "DISP_SUPERVISOR_ERROR", "display supervisor error"),
    legacy(113, "DP_LT_FAILURE", "DisplayPort link training failed"),
    legacy(114, "HEAD_RG_UNDERFLOW", "display pipeline underflow"),
    legacy(115, "CORE_CHANNEL_REGS", "display core channel error"),
    legacy(116, "WINDOW_CHANNEL_REGS", "display window channel error"),
    legacy(117, "CURSOR_CHANNEL_REGS", "display cursor channel error"),
    legacy(118, "HEAD_REGS", "display head register error"),
    xid(119, "GSP_RPC_TIMEOUT", DriverOrHardware, Critical, ALL,
        "the GPU system processor (GSP) did not answer the driver",
        "drain the node, then reset the GPU; compare the driver with known GSP bugs before replacing the board")
        .note("a bug in several driver releases; after it DCGM stops reading, so the node's series may vanish")
        .until_reset(),
    xid(120, "GSP_ERROR", DriverOrHardware, Critical, ALL,
        "the GPU system processor (GSP) reported an error",
        "drain the node, then reset the GPU; compare the driver with known GSP bugs before replacing the board")
        .note("a bug in several driver releases")
        .until_reset(),
    xid(121, "C2C_ERROR", NvLink, Info, GB200,
        "a corrected error on the link between CPU and GPU (C2C); nothing is lost",
        "nothing to do; 173 is the fatal form")
        .disputed("NVIDIA: ignore; gpud: fatal; DCGM: NVLink health WARN"),
    legacy(122, "SPI_PMU_RPC_READ_FAIL", "reading the board's flash through the PMU failed"),
    xid(123, "SPI_PMU_RPC_WRITE_FAIL", HardwareOrDriver, Warning, UNLISTED,
        "writing the board's flash through the PMU failed",
        "drain and reboot the node when convenient; ask NVIDIA if it returns")
        .disputed("NVIDIA: unused; gpud: fatal; GKE: node condition"),
    legacy(124, "SPI_PMU_RPC_ERASE_FAIL", "erasing the board's flash through the PMU failed"),
    legacy(125, "INFOROM_FS_ERROR", "file system error in the board's InfoROM"),
    engine(126, "ROBUST_CHANNEL_CE10_ERROR", BLACKWELL, "copy engine 10 raised an exception"),
    engine(127, "ROBUST_CHANNEL_CE11_ERROR", BLACKWELL, "copy engine 11 raised an exception"),
    engine(128, "ROBUST_CHANNEL_CE12_ERROR", BLACKWELL, "copy engine 12 raised an exception"),
    engine(129, "ROBUST_CHANNEL_CE13_ERROR", BLACKWELL, "copy engine 13 raised an exception"),
    engine(130, "ROBUST_CHANNEL_CE14_ERROR", BLACKWELL, "copy engine 14 raised an exception"),
    engine(131, "ROBUST_CHANNEL_CE15_ERROR", BLACKWELL, "copy engine 15 raised an exception"),
    engine(132, "ROBUST_CHANNEL_CE16_ERROR", BLACKWELL, "copy engine 16 raised an exception"),
    engine(133, "ROBUST_CHANNEL_CE17_ERROR", BLACKWELL, "copy engine 17 raised an exception"),
    engine(134, "ROBUST_CHANNEL_CE18_ERROR", BLACKWELL, "copy engine 18 raised an exception"),
    engine(135, "ROBUST_CHANNEL_CE19_ERROR", BLACKWELL, "copy engine 19 raised an exception"),
    xid(136, "ALI_TRAINING_FAIL", NvLink, High, H100,
        "an NVLink failed to train",
        "drain the node and reset the GPU; if it returns, check signal integrity and seating")
        .disputed("NVIDIA: reset; EKS: node condition; gpud: warning, no action")
        .until_reset(),
    xid(137, "NVLINK_PRIV_ERR", Application, Severity::Application, ALL,
        "a program reached over NVLink for peer memory it may not use",
        "look at the program, and for a page fault (31) on the peer")
        .disputed("NVIDIA: ignore; DCGM: NVLink health WARN"),
    legacy(138, "ROBUST_CHANNEL_DLA_ERROR", "deep-learning accelerator (DLA) exception"),
    engine(139, "ROBUST_CHANNEL_OFA1_ERROR", BLACKWELL, "optical flow engine 1 raised an exception"),
    xid(140, "UNRECOVERABLE_ECC_ERROR_ESCAPE", Memory, Critical, ALL,
        "uncorrectable memory error that slipped past the usual handling", RESET)
        .until_reset(),
    xid(141, "ROBUST_CHANNEL_FAST_PATH_ERROR", ApplicationOrDriver, Info, SINCE_H100,
        "CUDA's fast submission path reported an error", NOTHING),
    engine(142, "ROBUST_CHANNEL_NVENC3_ERROR", GB200, "video encoder 3 raised an exception")
        .disputed("NVIDIA: contact support; EKS: node condition; gpud: warning, no action"),
    xid(143, "GPU_INIT_ERROR", Hardware, Critical, SINCE_H100,
        "the GPU failed to initialise",
        "drain the node, then reset the GPU; if it returns, have the board inspected")
        .until_reset(),
    nvlink5(144, "NVLINK_SAW_ERROR", "event in the SAW unit of NVLink 5"),
    nvlink5(145, "NVLINK_RLW_ERROR", "event in the RLW unit of NVLink 5"),
    nvlink5(146, "NVLINK_TLW_ERROR", "event in the TLW unit of NVLink 5"),
    nvlink5(147, "NVLINK_TREX_ERROR", "event in the TREX unit of NVLink 5"),
    nvlink5(148, "NVLINK_NVLPW_CTRL_ERROR", "event in the NVLPW control unit of NVLink 5"),
    nvlink5(149, "NVLINK_NETIR_ERROR", "event in the NETIR unit of NVLink 5, which brings links up and down"),
    nvlink5(150, "NVLINK_MSE_ERROR", "event in the MSE unit of NVLink 5"),
    xid(151, "ROBUST_CHANNEL_KEY_ROTATION_ERROR", DriverOrHardware, High, SINCE_H100,
        "rotating the keys of confidential computing failed",
        "restart the virtual machine that holds the GPU")
        .until_reset(),
    xid(152, "ROBUST_CHANNEL_DLA_SMMU_ERROR", Class::Info, Info, UNLISTED,
        "memory fault of the embedded deep-learning accelerator (DLA)", NOTHING),
    xid(153, "ROBUST_CHANNEL_DLA_TIMEOUT", Class::Info, Info, UNLISTED,
        "timeout of the embedded deep-learning accelerator (DLA)", NOTHING),
    xid(154, "GPU_RECOVERY_ACTION_CHANGED", Summary, Info, ALL,
        "the driver changed the recovery action it recommends for this GPU",
        "read the recovery action and follow it: none, reset, reboot, drain P2P, or drain and reset")
        .note("the action is DCGM field 1523 (0 to 4 in that order); the code also appears when it goes back to none"),
    xid(155, "NVLINK_SW_DEFINED_ERROR", NvLink, High, BLACKWELL,
        "NVLink event that software defined, a link taken down on purpose included",
        "ask whether the link was taken down on purpose; else drain the node and reset the GPU")
        .until_reset(),
    xid(156, "RESOURCE_RETIREMENT_EVENT", Memory, High, SINCE_H100,
        "a part of the GPU, such as a memory row or TPC, was taken out of use",
        "drain the node, then reset the GPU so that the replacement takes effect")
        .until_reset(),
    xid(157, "RESOURCE_RETIREMENT_FAILURE", Memory, Warning, SINCE_H100,
        "a faulty part could not be taken out of use: no spare is left",
        "work can go on; open a case if it repeats"),
    xid(158, "GPU_FATAL_TIMEOUT", Hardware, Critical, ALL, "an access inside the GPU timed out beyond recovery", RESET)
        .until_reset(),
    xid(159, "ROBUST_CHANNEL_CHI_NON_DATA_ERROR", BusOrApplication, Warning, BLACKWELL,
        "the CPU interconnect (CHI) answered with an error that carried no data",
        "follow the code it came with; where unified memory or vGPU is in use, reset the GPU")
        .note("often the echo of another failure; reported alone, ask NVIDIA"),
    xid(160, "CHANNEL_RETIREMENT_EVENT", Driver, Info, BLACKWELL, "a DMA channel was taken out of use", NOTHING),
    xid(161, "CHANNEL_RETIREMENT_FAILURE", Driver, Info, BLACKWELL, "a DMA channel could not be taken out of use", NOTHING),
    xid(162, "PSHC_REENGAGED", Power, Info, BLACKWELL, "the power-smoothing circuit is back in use", NOTHING),
    xid(163, "PSHC_DISENGAGED", Power, Info, BLACKWELL,
        "the power-smoothing circuit was switched off, for heat or a timeout",
        "nothing at once; look at cooling if it repeats")
        .note("touches performance only").disputed(NO_BUCKET),
    xid(164, "PSHC_LOW_LIFETIME", Power, Info, BLACKWELL, "the power-smoothing circuit nears the end of its life", "nothing at once; note it for maintenance"),
    xid(165, "PSHC_ZERO_LIFETIME", Power, Warning, BLACKWELL, "the power-smoothing circuit is worn out", "plan maintenance; work can go on"),
    xid(166, "NVLINK_SECURE_CRYPTO_ERR", NvLink, Warning, BLACKWELL,
        "secure NVLink traffic came before encryption was set up",
        "restart the job; check the order in which confidential computing is set up")
        .note("confidential computing only").disputed(NO_BUCKET),
    xid(167, "PCIE_FATAL_TIMEOUT", Hardware, High, SINCE_H100,
        "a PCIe transaction timed out beyond recovery", "drain the node and reboot it; if it returns, check seating and the slot")
        .disputed(NO_BUCKET).until_reset(),
    xid(168, "REDUCED_GPU_MEMORY_CAPACITY", Memory, Warning, ALL,
        "errors in a protected region left less memory to use", "switch ECC on when convenient")
        .note("seen with ECC switched off"),
    xid(169, "SEC2_HALT_ERROR", HardwareOrDriver, High, SINCE_H100,
        "the security microcontroller (SEC2) halted", "drain the node and reboot it")
        .disputed(NO_BUCKET).until_reset(),
    xid(170, "NVLINK_SECURE_OTHER", NvLink, Info, BLACKWELL, "an interrupt on a secure NVLink", NOTHING)
        .note("confidential computing only"),
    xid(171, "UNCORRECTABLE_DRAM_ERROR", Memory, Critical, ALL,
        "uncorrectable memory error, in DRAM: the detail to a 48", "follow 48: drain the node, then reset the GPU")
        .note("comes with 48; count the two once")
        .disputed("NVIDIA: no action in the catalogue read; gpud: warning, no action").until_reset(),
    xid(172, "UNCORRECTABLE_SRAM_ERROR", Memory, Critical, ALL,
        "uncorrectable memory error, in SRAM: the detail to a 48", "follow 48: drain the node, then reset the GPU")
        .note("comes with 48, count the two once; check the SRAM threshold flag before reuse")
        .disputed(NO_BUCKET).until_reset(),
    xid(173, "C2C_FATAL_LINK_FAILURE", NvLink, High, UNLISTED,
        "the link between CPU and GPU (C2C) failed beyond recovery", "drain the node and reboot it")
        .note("known from gpud only; the name is ours, as the catalogue read ends at 172").until_reset(),
];
