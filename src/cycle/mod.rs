//! One evaluation: batches in, one immutable [`ClusterView`] out.

mod engine;
mod rows;
mod view;

pub use engine::{Engine, Setup, Step};
pub use view::{ClusterView, EntityRow, Fleet, GpuRow, Zero};
