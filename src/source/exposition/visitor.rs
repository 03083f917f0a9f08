//! What a scanner tells, and to whom.

use super::labels::Labels;
use super::rejection::{RejectedLine, Rejections};

/// What a scanner tells, in the order of the body.
///
/// Names and label blocks are told once, in either order, and answered with an id that comes back with each sample.
/// The same name or the same labels may be told again: written differently, beyond what
/// [`Limits`](super::Limits) lets the scanner remember, or after [`Visitor::forget`]. The visitor's own memory is
/// the visitor's to bound. Nothing is told of a rejected line.
pub trait Visitor {
    /// The visitor's id of a metric name.
    type Family: Copy;
    /// The visitor's id of a set of labels.
    type Series: Copy;

    /// First sight of a metric name.
    fn family(&mut self, name: &str) -> Self::Family;

    /// First sight of a label block, fully checked and unescaped.
    fn series(&mut self, labels: &Labels<'_>) -> Self::Series;

    /// One sample.
    fn sample(&mut self, sample: Sample<Self::Family, Self::Series>);

    /// The scanner dropped its memo before a body: every id handed out is void, and names and
    /// labels will be told again.
    fn forget(&mut self);
}

/// One sample of a body.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample<F, S> {
    /// The visitor's id of the metric name.
    pub family: F,
    /// The visitor's id of the labels.
    pub series: S,
    /// The value as written, in whatever unit the exporter used; NaN and infinities included.
    pub value: f64,
    /// The sample's own time in milliseconds since 1970, if it has one.
    pub timestamp_ms: Option<i64>,
}

/// What was found in a body, besides its samples.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Scanned {
    /// Samples told to the visitor.
    pub samples: u64,
    /// Lines skipped, by reason.
    pub rejected: Rejections,
    /// The first of them.
    pub first_rejected: Option<RejectedLine>,
    /// Whether an `OpenMetrics` body held its end marker `# EOF`. Lines after it are read all the same.
    pub eof: bool,
}
