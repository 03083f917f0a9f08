//! The dcgm source: bodies of dcgm-exporter as observations of boards and MIG instances.
//!
//! | file | holds |
//! | --- | --- |
//! | `config` | [`DcgmConfig`], [`Target`]: what an operator can set |
//! | `dialect` | metric names of every generation, and the operator's own |
//! | `labels` | label names of every generation, and the ways of saying "none" |
//! | `identity` | on which node a board sits, and how that is known |
//! | `table` | one target's memory, and the body being read |
//! | `picks` | which of several values of one thing is taken |
//! | `decode` | [`Decoder`]: one body as observations; pure |
//! | `target` | one scrape after the other |
//! | `view` | what all targets have told, until it is taken |
//! | `scraper` | [`DcgmSource`]: one task a target |
//! | `rejected` | what was not taken, by reason |
//!
//! Absent on purpose: `/health` (it is 200 with no GPU at all), TYPE and HELP (a counter file may
//! say anything), and any conclusion about health, which is the rules' part.

mod config;
mod decode;
mod dialect;
mod identity;
mod labels;
mod picks;
mod rejected;
mod scraper;
mod table;
mod target;
#[cfg(test)]
mod tests;
mod view;

pub use config::{DcgmConfig, MetricMapping, Target};
pub use decode::{Body, DecodeLimits, Decoded, Decoder, Names};
pub use dialect::SignalName;
pub use identity::Origin;
pub use rejected::Counts;
pub use scraper::DcgmSource;
pub use target::Endpoint;
