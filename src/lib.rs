//! GPU Lens: a read-only exporter that explains GPU trouble in Kubernetes with deterministic rules.

pub mod rules;
