//! Where batches come from: one file or folder a source, each turning bytes into batches.

pub mod dcgm;
pub mod exposition;
pub mod read_only;
pub mod recording;
