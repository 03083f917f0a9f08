//! What work asks of a board.

/// What one kind of work asks of each of its boards, on average.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Share of time in which a kernel runs; the mean over any ten minutes keeps to it.
    pub utilization: f64,
    /// How far single samples stray from it.
    pub jitter: f64,
    /// Share of busy time in which the tensor pipe works.
    pub tensor: f64,
    /// Share of busy time in which the memory interface works.
    pub dram: f64,
    /// Share of the usable framebuffer that is taken.
    pub framebuffer: f64,
    /// NVLink traffic while busy, in bytes per second.
    pub nvlink: f64,
    /// PCIe traffic while busy, in bytes per second each way.
    pub pcie: f64,
}

impl Load {
    /// Nothing runs.
    pub const IDLE: Self = Self {
        utilization: 0.0,
        jitter: 0.0,
        tensor: 0.0,
        dram: 0.0,
        framebuffer: 0.0,
        nvlink: 0.0,
        pcie: 0.0,
    };

    /// Training over several boards: compute-bound, talkative.
    #[must_use]
    pub const fn training(utilization: f64) -> Self {
        Self {
            utilization,
            jitter: 0.05,
            tensor: 0.52,
            dram: 0.41,
            framebuffer: 0.88,
            nvlink: 9.5e10,
            pcie: 1.8e9,
        }
    }

    /// Serving a language model: memory-bound, its cache allocated at the start.
    #[must_use]
    pub const fn serving(utilization: f64) -> Self {
        Self {
            utilization,
            jitter: 0.12,
            tensor: 0.17,
            dram: 0.62,
            framebuffer: 0.90,
            nvlink: 1.2e10,
            pcie: 2.6e8,
        }
    }

    /// Someone's notebook: little, now and then.
    #[must_use]
    pub const fn notebook(utilization: f64) -> Self {
        Self {
            utilization,
            jitter: 0.03,
            tensor: 0.10,
            dram: 0.15,
            framebuffer: 0.046,
            nvlink: 0.0,
            pcie: 5e7,
        }
    }

    /// A collective that waits for a lost peer: a spinning kernel and nothing else.
    pub const HUNG: Self = Self {
        utilization: 1.0,
        jitter: 0.0,
        tensor: 0.0,
        dram: 0.005,
        framebuffer: 0.88,
        nvlink: 0.0,
        pcie: 0.0,
    };

    /// The same with another share of the framebuffer.
    #[must_use]
    pub const fn with_framebuffer(self, framebuffer: f64) -> Self {
        Self {
            framebuffer,
            ..self
        }
    }
}
