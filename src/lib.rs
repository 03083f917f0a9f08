//! Read-only diagnostics for NVIDIA GPUs in Kubernetes.

pub mod source;
