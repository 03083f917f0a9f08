//! Where batches come from: one file or folder a source, each turning bytes into batches.

pub mod recording;
