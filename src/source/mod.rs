//! Where observations come from: one file or folder a source, each turning bytes into data.

pub mod dcgm;
pub mod exposition;
pub mod read_only;
