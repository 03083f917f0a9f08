//! Writing a family: its catalogue entry over rows in a stable order.

use std::collections::BTreeSet;
use std::fmt;

use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, LabelSetEncoder, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Unit;

use super::label::Label;
use crate::publish::catalogue::{Family, Type};

/// One series.
pub(super) struct Row<'a, const N: usize> {
    /// The cluster's name, empty where it has none.
    pub cluster: &'a str,
    /// The values of the family's labels, in its order.
    pub labels: [Label<'a>; N],
    /// The value.
    pub value: Value,
}

/// A sample's value.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    /// A count.
    Whole(u64),
    /// A measure. Not printed where it is not finite.
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Whole(u64::from(value))
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

impl Value {
    fn is_finite(self) -> bool {
        match self {
            Self::Whole(_) => true,
            Self::Real(value) => value.is_finite(),
        }
    }
}

impl<'a, const N: usize> Row<'a, N> {
    pub(super) fn new(cluster: &'a str, labels: [Label<'a>; N], value: impl Into<Value>) -> Self {
        Self {
            cluster,
            labels,
            value: value.into(),
        }
    }
}

/// Labels with their names, ready to be encoded.
struct Labels<'a> {
    cluster: &'a str,
    names: &'static [&'static str],
    values: &'a [Label<'a>],
}

impl EncodeLabelSet for Labels<'_> {
    fn encode(&self, encoder: &mut LabelSetEncoder) -> fmt::Result {
        let cluster = ("cluster", Label::Text(self.cluster));
        let rest = self.names.iter().zip(self.values);
        let all = std::iter::once(cluster)
            .filter(|_| !self.cluster.is_empty())
            .chain(rest.map(|(name, value)| (*name, *value)));
        for (name, value) in all {
            let mut label = encoder.encode_label();
            let mut key = label.encode_label_key()?;
            fmt::Write::write_str(&mut key, name)?;
            let mut encoder = key.encode_label_value()?;
            value.write(&mut encoder)?;
            encoder.finish()?;
        }
        Ok(())
    }
}

/// Writes a family with its rows; a family without rows is left out.
pub(super) fn family<'a, const N: usize>(
    encoder: &mut DescriptorEncoder<'_>,
    family: &Family,
    rows: impl Iterator<Item = Row<'a, N>>,
) -> fmt::Result {
    debug_assert_eq!(family.labels.len(), N, "{}", family.name);
    let mut rows = rows.filter(|row| row.value.is_finite()).peekable();
    if rows.peek().is_none() {
        return Ok(());
    }
    // Values that were cut or spelled out may read alike: the first one stands.
    let mut altered = BTreeSet::new();
    describe(encoder, family, |metric| {
        for row in rows {
            if row.labels.iter().any(|label| label.is_altered()) {
                let printed = row.labels.map(|label| match label {
                    Label::Text(text) => super::label::safe(text).into_owned(),
                    other => format!("{other:?}"),
                });
                if !altered.insert((row.cluster, printed)) {
                    continue;
                }
            }
            let labels = Labels {
                cluster: row.cluster,
                names: family.labels,
                values: &row.labels,
            };
            sample(&mut metric.encode_family(&labels)?, family.kind, row.value)?;
        }
        Ok(())
    })
}

fn sample(metric: &mut MetricEncoder<'_>, kind: Type, value: Value) -> fmt::Result {
    match (kind, value) {
        (Type::Counter, Value::Whole(value)) => {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (Type::Counter, Value::Real(value)) => {
            metric.encode_counter::<NoLabelSet, _, u64>(&value, None)
        }
        (_, Value::Whole(value)) => metric.encode_gauge(&value),
        (_, Value::Real(value)) => metric.encode_gauge(&value),
    }
}

/// A histogram of one cluster: observations by bucket (not summed up), and their sum.
pub(super) struct Buckets<'a> {
    /// The cluster's name, empty where it has none.
    pub cluster: &'a str,
    /// Upper bound and observations of each bucket; the last bound is infinite.
    pub counts: Vec<(f64, u64)>,
    /// Sum of all observations.
    pub sum: f64,
}

/// Writes a family of histograms without labels of their own.
pub(super) fn histograms(
    encoder: &mut DescriptorEncoder<'_>,
    family: &Family,
    rows: &[Buckets<'_>],
) -> fmt::Result {
    if rows.is_empty() {
        return Ok(());
    }
    describe(encoder, family, |metric| {
        for row in rows {
            let labels = Labels {
                cluster: row.cluster,
                names: &[],
                values: &[],
            };
            let count = row.counts.iter().map(|(_, count)| count).sum();
            metric
                .encode_family(&labels)?
                .encode_histogram::<NoLabelSet>(row.sum, count, &row.counts, None)?;
        }
        Ok(())
    })
}

/// Writes HELP, TYPE and UNIT, then the samples.
///
/// The library puts the unit behind the name and `_total` behind a counter's unit, so it is
/// given the name without either.
fn describe(
    encoder: &mut DescriptorEncoder<'_>,
    family: &Family,
    samples: impl FnOnce(&mut MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let unit = family.unit();
    let stem = family.stem();
    let name = stem
        .strip_suffix(unit)
        .map_or(stem, |name| name.trim_end_matches('_'));
    let unit = (!unit.is_empty()).then(|| Unit::Other(unit.to_owned()));
    let kind = match family.kind {
        Type::Gauge => MetricType::Gauge,
        Type::Counter => MetricType::Counter,
        Type::Histogram => MetricType::Histogram,
    };
    let mut metric = encoder.encode_descriptor(name, family.help, unit.as_ref(), kind)?;
    samples(&mut metric)
}
