//! The body of `/metrics`, made from one published state.

mod budget;
mod findings;
mod gpus;
mod itself;
mod label;
mod row;

use std::fmt;
use std::sync::Arc;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, prometheus_text, text};
use prometheus_client::registry::Registry;

use super::published::{Cycles, PublishOptions, Published};
use crate::cycle::ClusterView;
use crate::snapshot::ClusterName;

/// The text formats of `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Prometheus text 0.0.4.
    Classic,
    /// OpenMetrics 1.0, also for those who ask for 0.0.1: Prometheus up to 2.33 does, and the
    /// two differ in nothing that we print.
    OpenMetrics,
}

impl Format {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Classic, Self::OpenMetrics];

    /// Its media type.
    #[must_use]
    pub const fn content_type(self) -> &'static str {
        match self {
            Self::Classic => prometheus_text::CONTENT_TYPE,
            Self::OpenMetrics => "application/openmetrics-text; version=1.0.0; charset=utf-8",
        }
    }
}

/// Makes the body. The same state gives the same bytes.
pub(super) fn render(published: &Published, format: Format) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Page {
        clusters: published.clusters.clone(),
        cycles: published.cycles.clone(),
        process: published.process,
        options: published.options.clone(),
    }));
    let mut body = String::new();
    let outcome = match format {
        Format::Classic => prometheus_text::encode(&mut body, &registry),
        Format::OpenMetrics => text::encode(&mut body, &registry),
    };
    // Kept until the next state is published: not with the room that growing it left.
    body.shrink_to_fit();
    debug_assert!(outcome.is_ok(), "writing to a string cannot fail");
    body
}

/// What one body is made of.
#[derive(Debug)]
struct Page {
    clusters: Vec<Arc<ClusterView>>,
    cycles: Vec<(ClusterName, Cycles)>,
    process: super::Process,
    options: Arc<PublishOptions>,
}

impl Page {
    /// The clusters of which more than the self families is shown.
    fn warm(&self) -> impl Iterator<Item = &ClusterView> {
        self.clusters
            .iter()
            .map(|view| &**view)
            .filter(|view| view.warm)
    }

    /// Every cluster that has run a cycle.
    fn all(&self) -> impl Iterator<Item = &ClusterView> {
        self.clusters.iter().map(|view| &**view)
    }
}

impl Collector for Page {
    fn encode(&self, mut encoder: DescriptorEncoder) -> fmt::Result {
        findings::encode(self, &mut encoder)?;
        if self.options.per_gpu {
            gpus::encode(self, &mut encoder)?;
        }
        itself::encode(self, &mut encoder)?;
        itself::encode_process(&self.process, &mut encoder)
    }
}
