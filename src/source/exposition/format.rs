//! Which text format a body is in, and how much of it is read and remembered.

/// The text format of a body. They differ in timestamps, exemplars and the end marker only.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Format {
    /// Prometheus text 0.0.4: timestamps are whole milliseconds, no exemplars, no end marker.
    #[default]
    Classic,
    /// `OpenMetrics` 1.0: timestamps are seconds, a sample may carry an exemplar, `# EOF` ends the body.
    OpenMetrics,
}

impl Format {
    /// The format named by a `Content-Type` header.
    ///
    /// Anything that does not say `OpenMetrics` is [`Format::Classic`]: dcgm-exporter up to 4.8.2 sets
    /// no type at all, so a sniffed `text/plain`, an unknown type and no header mean the same.
    #[must_use]
    pub fn from_content_type(content_type: Option<&str>) -> Self {
        let media_type = content_type.and_then(|value| value.split(';').next());
        match media_type {
            Some(name)
                if name
                    .trim()
                    .eq_ignore_ascii_case("application/openmetrics-text") =>
            {
                Self::OpenMetrics
            }
            _ => Self::Classic,
        }
    }
}

/// How much of a body is read and how much is remembered between bodies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes in one sample line, without its line feed; a longer one is
    /// [`Rejection::LineTooLong`](super::Rejection::LineTooLong). 1 GiB at most.
    pub line_bytes: usize,
    /// Labels of one series as written, repeated names included (the check for those takes up to the
    /// square of it); more are
    /// [`Rejection::TooManyLabels`](super::Rejection::TooManyLabels).
    pub labels: usize,
    /// Label blocks remembered. Further ones are read in full at each sight. 0 turns the memo off.
    pub label_blocks: usize,
    /// Metric names remembered. Further ones are asked for at each sight. 0 turns the memo off.
    pub families: usize,
    /// Bytes of label blocks remembered, and as many again of metric names.
    pub memo_bytes: usize,
}

impl Default for Limits {
    /// Roomy for a node of GPUs (16 GPUs with 7 MIG instances and 30 pods each are 3,360 blocks).
    fn default() -> Self {
        Self {
            line_bytes: 64 * 1024,
            labels: 64,
            label_blocks: 16 * 1024,
            families: 4 * 1024,
            memo_bytes: 8 * 1024 * 1024,
        }
    }
}
