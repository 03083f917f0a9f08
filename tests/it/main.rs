//! Integration tests: one binary, one module a subject.

mod dcgm_faults;
mod dcgm_source;
mod exposition;
mod exposition_reference;
mod fake_exporter;
mod read_only;
