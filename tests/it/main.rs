//! Integration tests: one binary, one module a subject.

mod http;
mod metrics;
mod outside;
mod views;
