//! Integration tests: one binary, one module a subject.

mod cli;
mod dcgm_source;
mod exposition;
mod exposition_reference;
mod fake_exporter;
mod fixtures;
mod layers;
mod read_only;
mod recording;
mod registry;
mod simulator;
