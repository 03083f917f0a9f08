//! GPU Lens: what is wrong with a cluster's GPUs, how that is known, and what speaks against it.
pub mod finding;
pub mod snapshot;
