//! Boards that should export the same: what one of them lacks is missing, not absent.

use std::sync::Arc;

use crate::snapshot::Gpu;

/// What boards have in common that export the same: target, product, and whether they are split.
pub(super) type Siblings = (Option<Arc<str>>, Option<Arc<str>>, bool);

/// The group that a board belongs to.
pub(super) fn siblings(gpu: &Gpu) -> Siblings {
    (
        gpu.identity.target.clone(),
        gpu.identity.model.clone(),
        gpu.instances.is_empty(),
    )
}
