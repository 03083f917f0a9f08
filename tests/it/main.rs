//! Integration tests: one binary, one module a theme.

mod cli;
mod layers;
mod registry;
