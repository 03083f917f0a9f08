//! Integration tests: one binary, one module a subject.

mod api;
mod clients;
mod http;
mod metrics;
mod outside;
mod views;
