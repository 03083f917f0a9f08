//! Integration tests: one binary, one module a subject.

mod api;
mod bodies;
mod cli;
mod clients;
mod dcgm_faults;
mod dcgm_source;
mod exposition;
mod exposition_reference;
mod fake_exporter;
mod fixtures;
mod http;
mod layers;
mod metrics;
mod outside;
mod read_only;
mod recording;
mod registry;
mod scenario;
mod serve;
mod serve_faults;
mod serve_outside;
mod service;
mod simulator;
mod views;
