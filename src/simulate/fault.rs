//! What can go wrong, and when.

use jiff::Timestamp;

/// What goes wrong with a board, its exporter or its labels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fault {
    /// The XID gauge takes a code, and keeps it.
    Xid(u16),
    /// Uncorrectable memory errors, at once.
    EccDoubleBit(u32),
    /// Corrected memory errors, as a rate a minute.
    EccSingleBit(f64),
    /// A memory row could not be remapped.
    RowRemapFailure,
    /// A row remap waits for a reset.
    RowRemapPending,
    /// NVLink CRC errors, as a rate a second.
    NvlinkCrc(f64),
    /// PCIe replays, as a rate a minute.
    PcieReplays(f64),
    /// The die loses contact with its cold plate: under load it settles at this temperature
    /// in °C, though its clocks fall, and the memory on its package follows some degrees below.
    Hot(f64),
    /// The external power brake is pulled.
    PowerBrake,
    /// The driver is loaded anew: what it counts starts from 0, pending remaps are done.
    Reset,
    /// The exporter repeats what it last read.
    Freeze,
    /// The target answers and no longer names the board.
    Vanish,
    /// Series of the board no longer name a pod.
    LosePodLabels,
    /// No sample of the board arrives any more, though its target is said to answer.
    Stop,
}

/// A fault with its time. [`Fault::Xid`], [`Fault::EccDoubleBit`], [`Fault::RowRemapFailure`],
/// [`Fault::RowRemapPending`] and [`Fault::Reset`] strike once; the others last.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scheduled {
    /// What goes wrong.
    pub fault: Fault,
    /// The first moment at which it shows. A [`Fault::Stop`]'s last sample is taken before.
    pub from: Timestamp,
    /// The first moment at which it is over, for those that last.
    pub until: Option<Timestamp>,
}

impl Scheduled {
    /// A fault that stays.
    #[must_use]
    pub const fn from(from: Timestamp, fault: Fault) -> Self {
        Self {
            fault,
            from,
            until: None,
        }
    }

    /// The same, over at a time.
    #[must_use]
    pub const fn until(self, until: Timestamp) -> Self {
        Self {
            until: Some(until),
            ..self
        }
    }

    /// Whether it lasts at a time.
    #[must_use]
    pub fn lasts(&self, at: Timestamp) -> bool {
        self.from <= at && self.until.is_none_or(|until| at < until)
    }

    /// Whether it strikes in the stretch after `before` (from ever, without one) up to `at`.
    #[must_use]
    pub fn strikes(&self, before: Option<Timestamp>, at: Timestamp) -> bool {
        self.from <= at && before.is_none_or(|before| before < self.from)
    }
}
