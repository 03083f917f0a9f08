//! Integration tests: one binary, one module a subject.

mod cli;
mod exposition;
mod exposition_reference;
mod layers;
mod registry;
