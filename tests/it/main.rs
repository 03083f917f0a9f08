//! Integration tests: one binary, one module a subject.

mod exposition;
mod exposition_reference;
