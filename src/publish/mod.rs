//! What is published: `/metrics`, the JSON API, the overview page, and the server of all three.
//!
//! After every cycle [`Publisher::replace`] swaps in one immutable [`Published`] state; readers
//! take it as it is. The text of `/metrics` is made at most once a state and format, so that a
//! scrape costs a memory copy and never an evaluation.

pub mod catalogue;
mod connection;
mod filter;
mod html;
mod json;
mod metrics;
mod negotiate;
mod page;
mod process;
mod published;
mod registry;
mod response;
mod routes;
mod server;

pub use metrics::Format;
pub use process::Process;
pub use published::{Cycles, PublishOptions, Published, Publisher};
pub use server::{Server, ServerOptions};
