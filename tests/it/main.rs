//! Integration tests: one binary, one module a subject.

mod clients;
mod http;
mod metrics;
mod outside;
mod views;
