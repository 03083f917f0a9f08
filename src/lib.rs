//! GPU Lens: what is wrong with a cluster's GPUs, how that is known, and what speaks against it.
//!
//! # Where things live
//!
//! Data flows one way. Bytes come in at the edge, everything in the middle is pure, and bytes
//! go out at the other edge; no arrow points back.
//!
//! The nouns are in [`snapshot`]: boards, readings, inventory, batches and the table of signals,
//! free of any source's dialect. What a rule says about them is in [`finding`]; the rules
//! themselves, one file each and one table of all, are in [`rules`]. [`incident`] folds a
//! cycle's judgements into the life of incidents, and [`cycle`] holds what one evaluation
//! publishes. None of these reads a socket, a clock or the environment: a test reads their
//! imports and fails where one does.
//!
//! At the edges: [`clock`] is the only place that reads time; [`config`] is one validated
//! configuration, [`cli`] one file a subcommand, [`log`] what is written to standard error,
//! [`printable`] makes hostile text safe to show; [`app`] wires both ends together.
pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod cycle;
pub mod finding;
pub mod incident;
pub mod log;
pub mod printable;
pub mod rules;
pub mod snapshot;
pub mod version;
