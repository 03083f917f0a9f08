//! The dcgm source: bodies of dcgm-exporter as observations of boards and MIG instances.
//!
//! | file | holds |
//! | --- | --- |
//! | `config` | [`DcgmConfig`], [`Target`]: what an operator can set |
//! | `dialect` | metric names of every generation, and the operator's own |
//! | `labels` | label names of every generation, and the ways of saying "none" |
//! | `identity` | on which node a board sits, and how that is known |
//! | `table` | one target's memory, and the body being read |
//! | `decode` | [`Decoder`]: one body as observations; pure |
//! | `rejected` | what was not taken, by reason |
//!
//! Absent on purpose: `/health` (it is 200 with no GPU at all), TYPE and HELP (a counter file may
//! say anything), and any conclusion about health, which is the rules' part.

mod config;
mod decode;
mod dialect;
mod identity;
mod labels;
mod rejected;
mod table;

pub use config::{DcgmConfig, MetricMapping, Target};
pub use decode::{Body, Decoded, Decoder, Names};
pub use dialect::SignalName;
pub use identity::Origin;
pub use rejected::Counts;
pub use table::DecodeLimits;
