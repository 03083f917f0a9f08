//! Tests through the public interface.

mod fixtures;
mod recording;
mod simulator;
