//! A virtual fleet: boards that behave as physics and driver make them, faults on request,
//! and what a cluster's sources would have told of it.
//!
//! Everything follows from a seed and the times that are passed in, on every machine to the
//! same bit: there is no clock here, no system randomness, and no mathematical function
//! beyond the four operations, whose results IEEE 754 fixes.

mod board;
mod column;
mod export;
mod fault;
mod fleet;
mod load;
mod product;
mod random;
mod record;
pub mod scenario;

pub use board::Board;
pub use export::Export;
pub use fault::{Fault, Scheduled};
pub use fleet::{End, Fleet, Host, Workload};
pub use load::Load;
pub use product::{H100_SXM, L4, Product};
pub use random::{Random, Seed};
