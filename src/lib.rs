//! GPU Lens: what is wrong with a cluster's GPUs, how that is known, and what speaks against it.
pub mod clock;
pub mod cycle;
pub mod finding;
pub mod incident;
pub mod rules;
pub mod simulate;
pub mod snapshot;
pub mod source;
