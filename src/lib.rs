//! GPU Lens: what is wrong with a cluster's GPUs, how that is known, and what speaks against it.
//!
//! # Where things live
//!
//! Data flows one way. Bytes come in at the edge, everything in the middle is pure, and bytes
//! go out at the other edge; no arrow points back.
//!
//! Bytes come in through [`source`], which turns each source's dialect into batches of
//! observations. The nouns are in [`snapshot`]: boards, readings, inventory, batches and the
//! table of signals. [`history`] files observations and gives the view of a moment. What a rule
//! says about it is in [`finding`]; the rules themselves, one file each and one table of all,
//! are in [`rules`]. [`incident`] folds a cycle's judgements into the life of incidents, and
//! [`cycle`] turns the crank and holds what one evaluation publishes. None of the pure rooms
//! reads a socket, a clock or the environment: a test reads their imports and fails where one does.
//!
//! At the edges: [`publish`] serves metrics, JSON and pages; [`clock`] is the only place that
//! reads time; [`config`] is one validated configuration, [`cli`] one file a subcommand, [`log`]
//! what is written to standard error, [`printable`] makes hostile text safe to show; [`app`]
//! wires both ends together.

pub mod app;
pub mod cli;
pub mod clock;
pub mod config;
pub mod cycle;
pub mod finding;
pub mod history;
pub mod incident;
pub mod log;
pub mod printable;
pub mod publish;
pub mod rules;
pub mod simulate;
pub mod snapshot;
pub mod source;
#[cfg(test)]
mod testing;
pub mod version;
