//! What the simulated boards are. Limits are those of the hardware table; thermal paths are
//! chosen so that a well-cooled board runs where such boards are seen to run.

/// A kind of board.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Product {
    /// Name as the driver gives it.
    pub model: &'static str,
    /// The product in a word, for made-up UUIDs.
    pub short: &'static str,
    /// `nvidia.com/gpu.product`.
    pub label: &'static str,
    /// `nvidia.com/gpu.family`.
    pub family: &'static str,
    /// Framebuffer as a whole, in MiB.
    pub framebuffer_mib: u32,
    /// Of it, what driver and firmware reserve, in MiB.
    pub reserved_mib: u32,
    /// Power without work, in watts.
    pub idle_watts: f64,
    /// Enforced power limit, in watts.
    pub limit_watts: f64,
    /// Highest core temperature for full clocks, in °C.
    pub max_operating_celsius: f64,
    /// Core temperature at which the hardware slows down, in °C.
    pub slowdown_celsius: f64,
    /// Core temperature at which the board shuts down, in °C.
    pub shutdown_celsius: f64,
    /// Core temperature above the inlet's, in °C a watt.
    pub core_celsius_per_watt: f64,
    /// Memory temperature above the inlet's, in °C a watt; `None`: no sensor.
    pub memory_celsius_per_watt: Option<f64>,
    /// Memory temperature for normal work, in °C, where there is a sensor.
    pub memory_max_operating_celsius: Option<f64>,
    /// Multiprocessor clock under load, in MHz.
    pub boost_mhz: f64,
    /// Multiprocessor clock without work, in MHz.
    pub idle_mhz: f64,
    /// Memory clock, in MHz.
    pub memory_mhz: f64,
    /// Whether it has NVLink.
    pub nvlink: bool,
}

/// H100 SXM5 with 80 GB.
pub const H100_SXM: Product = Product {
    model: "NVIDIA H100 80GB HBM3",
    short: "h100",
    label: "NVIDIA-H100-80GB-HBM3",
    family: "hopper",
    framebuffer_mib: 81_559,
    reserved_mib: 551,
    idle_watts: 70.0,
    limit_watts: 700.0,
    max_operating_celsius: 87.0,
    slowdown_celsius: 89.0,
    shutdown_celsius: 92.0,
    core_celsius_per_watt: 0.062,
    memory_celsius_per_watt: Some(0.072),
    memory_max_operating_celsius: Some(95.0),
    boost_mhz: 1980.0,
    idle_mhz: 345.0,
    memory_mhz: 2619.0,
    nvlink: true,
};

/// L4: no memory sensor, no NVLink.
pub const L4: Product = Product {
    model: "NVIDIA L4",
    short: "l4",
    label: "NVIDIA-L4",
    family: "ada-lovelace",
    framebuffer_mib: 23_034,
    reserved_mib: 434,
    idle_watts: 16.0,
    limit_watts: 72.0,
    max_operating_celsius: 86.0,
    slowdown_celsius: 88.0,
    shutdown_celsius: 91.0,
    core_celsius_per_watt: 0.55,
    memory_celsius_per_watt: None,
    memory_max_operating_celsius: None,
    boost_mhz: 2040.0,
    idle_mhz: 210.0,
    memory_mhz: 6251.0,
    nvlink: false,
};
