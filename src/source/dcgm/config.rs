//! What an operator can set about dcgm-exporter endpoints.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize, Serializer};

use super::dialect::SignalName;
use crate::snapshot::NodeName;
use crate::source::read_only::{HttpConfig, SourceUrl};

/// Scrapes that may be started at the same time; see [`DcgmConfig::concurrency`].
const CONCURRENCY: usize = 64;

/// The `dcgm` section of a cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct DcgmConfig {
    /// The endpoints.
    pub targets: Vec<Target>,
    /// How they are reached; the same for all.
    pub http: HttpConfig,
    /// Metric names beyond the built-in ones, in any case. They go before the built-in names of
    /// the same signal.
    pub metrics: BTreeMap<String, MetricMapping>,
    /// Scrapes that may be started at the same time. A scrape counts for its first 250 ms only, so
    /// a target that hangs takes a place for that long and never delays others beyond it. Default
    /// 64: enough for 10,000 targets of a 15 s interval, of which a tenth may hang, and few enough
    /// for the usual limit of 1,024 open files when all of a small fleet does.
    pub concurrency: usize,
}

/// One dcgm-exporter endpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Its address. Without a path it is `/metrics`; `http://` may be left out.
    #[serde(deserialize_with = "target_url", serialize_with = "shown_url")]
    pub url: SourceUrl,
    /// The node whose GPUs it tells about. Without it the exporter's `Hostname` label is used,
    /// where that names a host.
    #[serde(default, deserialize_with = "node_name")]
    pub node: Option<NodeName>,
}

/// What a metric of an unusual name means.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MetricMapping {
    /// The signal it measures, by our name.
    pub signal: SignalName,
    /// Factor from its unit to the signal's. Default 1.
    #[serde(default = "one")]
    pub factor: f64,
}

impl Default for DcgmConfig {
    fn default() -> Self {
        Self {
            targets: Vec::new(),
            http: HttpConfig::default(),
            metrics: BTreeMap::new(),
            concurrency: CONCURRENCY,
        }
    }
}

impl DcgmConfig {
    /// Settings that contradict each other or cannot work, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let mut urls: Vec<_> = self
            .targets
            .iter()
            .map(|target| target.url.shown())
            .collect();
        urls.sort();
        if let Some(url) = twice(&urls) {
            return Err(format!("two targets have the URL {url} (queries aside)"));
        }
        for (name, mapping) in &self.metrics {
            let readable = |byte: u8| byte.is_ascii_alphanumeric() || b"_:".contains(&byte);
            if name.is_empty() || !name.bytes().all(readable) {
                return Err(format!("`{name}` of metrics is not a metric name"));
            }
            if !mapping.factor.is_normal() || mapping.factor < 0.0 {
                return Err(format!("the factor of `{name}` must be a number above 0"));
            }
        }
        let mut upper: Vec<_> = self
            .metrics
            .keys()
            .map(|n| n.to_ascii_uppercase())
            .collect();
        upper.sort();
        if let Some(name) = twice(&upper) {
            return Err(format!("{name} is mapped twice; case does not matter"));
        }
        if self.metrics.len() > 1000 {
            return Err("at most 1000 metrics can be mapped".to_owned());
        }
        if !(1..=10_000).contains(&self.concurrency) {
            return Err("concurrency must be between 1 and 10000".to_owned());
        }
        self.http.check()
    }
}

/// As written, before [`DcgmConfig::check`].
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Unchecked {
    targets: Vec<Target>,
    http: HttpConfig,
    metrics: BTreeMap<String, MetricMapping>,
    concurrency: Option<usize>,
}

impl TryFrom<Unchecked> for DcgmConfig {
    type Error = String;

    fn try_from(raw: Unchecked) -> Result<Self, String> {
        let config = Self {
            targets: raw.targets,
            http: raw.http,
            metrics: raw.metrics,
            concurrency: raw.concurrency.unwrap_or(CONCURRENCY),
        };
        config.check().map(|()| config)
    }
}

impl Target {
    /// A target from its address, as a flag gives it.
    pub fn parse(url: &str, node: Option<&str>) -> Result<Self, String> {
        let url = url.parse::<SourceUrl>()?.or_path("/metrics");
        let node = node.map(NodeName::from);
        Ok(Self { url, node })
    }
}

/// The first of two equal neighbours.
fn twice<T: PartialEq>(sorted: &[T]) -> Option<&T> {
    sorted
        .array_windows()
        .find_map(|[a, b]| (a == b).then_some(a))
}

fn one() -> f64 {
    1.0
}

fn target_url<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<SourceUrl, D::Error> {
    let text = String::deserialize(deserializer)?;
    let url: SourceUrl = text.parse().map_err(serde::de::Error::custom)?;
    Ok(url.or_path("/metrics"))
}

fn shown_url<S: Serializer>(url: &SourceUrl, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(url.shown())
}

fn node_name<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<NodeName>, D::Error> {
    let name = Option::<String>::deserialize(deserializer)?;
    if let Some(name) = &name
        && (name.is_empty() || name.len() > 253 || name.chars().any(char::is_control))
    {
        let wanted = "node must be a node's name of 1 to 253 characters";
        return Err(serde::de::Error::custom(wanted));
    }
    Ok(name.map(NodeName::from))
}
