//! Integration tests: one binary, one module a subject.

mod cli;
mod exposition;
mod exposition_reference;
mod fixtures;
mod layers;
mod recording;
mod registry;
mod simulator;
