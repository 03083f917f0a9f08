//! Whole recordings through the library: the fixtures' incidents, and what must hold for any.

mod case;
mod clock;
mod coverage;
mod incidents;
mod order;
mod piece;
mod play;
mod precision;
mod removal;
mod renamed;
mod stopping;
