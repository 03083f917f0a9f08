//! One body as observations. Pure: no I/O, no clock.

use std::sync::Arc;

use jiff::Timestamp;
use memchr::memmem;

use super::config::DcgmConfig;
use super::dialect::{Dialect, Family};
use super::identity::Origin;
use super::rejected::Counts;
use super::table::{SeriesId, Table};
use crate::snapshot::{GpuObservation, GpuUuid, NodeName, Unlabelled};
use crate::source::exposition::{Format, Limits, Rejection, Scanned, Scanner, Visitor};

/// Reads the bodies of one target. It remembers names and labels between them, and nothing of
/// what a body said: the same body gives the same observations, whatever came before.
#[derive(Debug)]
pub struct Decoder {
    scanner: Scanner<Family, SeriesId>,
    table: Table,
}

/// How much of one target is taken. What is beyond is dropped and counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DecodeLimits {
    /// Boards. Default 256: sixteen times the largest node.
    pub boards: usize,
    /// Boards and MIG instances. Default 4096.
    pub entities: usize,
    /// Sets of labels. Default 32,768; sixteen boards of seven instances with thirty pods each
    /// have 3,360.
    pub series: usize,
}

impl Default for DecodeLimits {
    fn default() -> Self {
        Self {
            boards: 256,
            entities: 4096,
            series: 32_768,
        }
    }
}

/// What metric names mean, shared by the decoders of all targets.
#[derive(Clone, Debug)]
pub struct Names(Arc<Dialect>);

impl Names {
    /// The built-in names and the configured ones.
    #[must_use]
    pub fn new(config: &DcgmConfig) -> Self {
        Self(Arc::new(Dialect::new(&config.metrics)))
    }
}

/// A body as it came.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a> {
    /// Its bytes, decoded.
    pub bytes: &'a [u8],
    /// Its `Content-Type`, if any.
    pub content_type: Option<&'a str>,
    /// Whether its last byte is really its last.
    pub complete: bool,
    /// When it was asked for.
    pub at: Timestamp,
}

/// What a body said.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// One for each board and instance (and time, where samples carry their own), sorted.
    pub observations: Vec<GpuObservation>,
    /// The boards that it names, sorted.
    pub boards: Vec<GpuUuid>,
    /// The node of its boards, if it is one and the same.
    pub node: Option<NodeName>,
    /// Samples, of unknown metrics too.
    pub samples: u64,
    /// Samples of known metrics that name no GPU.
    pub unlabelled: Option<Unlabelled>,
    /// Lines and values that were not taken.
    pub rejected: Counts,
    /// False for what is not exposition text: an HTML page, binary data. An empty body and one of
    /// headers alone are exposition text without a GPU.
    pub is_metrics: bool,
    /// For people.
    pub notes: Vec<String>,
}

impl Decoder {
    /// A decoder that has seen nothing.
    #[must_use]
    pub fn new(names: &Names, limits: DecodeLimits) -> Self {
        Self {
            scanner: Scanner::new(Limits::default()),
            table: Table::new(Arc::clone(&names.0), limits),
        }
    }

    /// Reads a body.
    pub fn decode(&mut self, body: Body<'_>, origin: &Origin) -> Decoded {
        let own_pod = origin.exporter_pod.as_ref();
        if self.table.is_for_another_pod(own_pod) {
            self.forget();
        }
        self.table.start(body.at, own_pod);
        let format = Format::from_content_type(body.content_type);
        let scanned = self
            .scanner
            .scan(body.bytes, format, body.complete, &mut self.table);
        let wants_end = format == Format::OpenMetrics && !scanned.eof;
        let all_xids = body.complete && !wants_end && self.has_all_xids(body.bytes, &scanned);
        let observations = self.table.finish(body.at, origin, all_xids);
        let mut rejected = std::mem::take(&mut self.table.rejected);
        let clogged = Table::is_clogged(&rejected);
        for (reason, count) in scanned.rejected.iter() {
            rejected.add(reason.as_str(), count);
        }
        let decoded = Decoded {
            boards: self.table.boards(),
            node: common_node(&observations),
            observations,
            samples: scanned.samples,
            unlabelled: self.table.unlabelled(),
            rejected,
            is_metrics: is_metrics(body, &scanned, self.table.understood),
            notes: self.notes(&scanned, format == Format::OpenMetrics && body.complete),
        };
        if clogged {
            self.forget();
        }
        decoded
    }

    /// Whether no line that was skipped told an XID.
    fn has_all_xids(&self, body: &[u8], scanned: &Scanned) -> bool {
        scanned.rejected.total() == 0 || self.table.xid_lines(body) <= self.table.xids
    }

    fn forget(&mut self) {
        self.scanner.reset();
        self.table.forget();
    }

    fn notes(&self, scanned: &Scanned, wants_end: bool) -> Vec<String> {
        let mut notes = Vec::new();
        if wants_end && !scanned.eof && scanned.samples > 0 {
            notes.push("the body has no `# EOF`, so it may have been cut".to_owned());
        }
        if let Some(line) = &scanned.first_rejected
            && line.reason != Rejection::Truncated
        {
            let count = scanned.rejected.total();
            let (number, reason) = (line.number, line.reason.as_str());
            notes.push(format!(
                "lines that could not be read: {count}, the first is line {number} ({reason}): {}",
                line.excerpt
            ));
        }
        notes.extend(self.table.unlabelled().map(|some| some.to_string()));
        if self.table.implausible_times > 0 {
            notes.push(format!(
                "{} samples carry a time more than a minute ahead or a year back; the time of the \
                 scrape was used",
                self.table.implausible_times
            ));
        }
        notes
    }
}

/// Whether a body is exposition text at all, as opposed to a page or a file that was found in its
/// place. Where a known metric was read, it is.
fn is_metrics(body: Body<'_>, scanned: &Scanned, understood: u64) -> bool {
    let cut = scanned.rejected.get(Rejection::Truncated);
    let unreadable = scanned.rejected.total() - cut;
    if understood > 0 {
        return true;
    }
    if unreadable == 0 && (cut == 0 || scanned.samples > 0) {
        return true;
    }
    let has_header = |header: &[u8]| {
        memmem::find_iter(body.bytes, header).any(|at| at == 0 || body.bytes[at - 1] == b'\n')
    };
    let is_page = body.bytes.trim_ascii_start().starts_with(b"<");
    // A line that was cut and stands alone: as much as is there must look like one.
    let begins = || {
        let line = body.bytes.rsplit(|byte| *byte == b'\n').next();
        let line = line.unwrap_or_default();
        line.first().is_some_and(u8::is_ascii_alphabetic) && line.contains(&b'{')
    };
    let readable = if unreadable == 0 {
        begins()
    } else {
        unreadable < scanned.samples
    };
    !is_page && (has_header(b"# TYPE ") || has_header(b"# HELP ") || readable)
}

fn common_node(observations: &[GpuObservation]) -> Option<NodeName> {
    let mut nodes = observations.iter().map(|o| o.identity.node.as_ref());
    let first = nodes.next()??;
    nodes.all(|node| node == Some(first)).then(|| first.clone())
}
