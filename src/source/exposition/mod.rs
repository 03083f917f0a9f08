//! The exposition scanner: bytes of a scraped body in, samples out.
//!
//! It reads the Prometheus text format 0.0.4 and `OpenMetrics` 1.0 as exporters really write them, one
//! line at a time: a line that cannot be read is skipped and counted with its reason, and every other
//! line of the body is kept. Comments (`# HELP`, `# TYPE`, anything) are neither required nor trusted.
//!
//! A GPU's label block repeats for each of its metrics and in every later body, so the [`Scanner`]
//! checks a block once and recognises it by its bytes afterwards. A [`Visitor`] receives the samples
//! with the ids it gave to names and blocks at first sight; nothing is allocated for a sample.
//!
//! | file | holds |
//! | --- | --- |
//! | `scanner` | [`Scanner`]: the body, line by line |
//! | `visitor` | [`Visitor`], [`Sample`], [`Scanned`]: what is told |
//! | `line` | kinds of lines, blanks, and where names end |
//! | `labels` | [`Labels`], the full check of a label block, and the recovery of unescaped quotes |
//! | `quotes` | where strings end, and their escapes |
//! | `value` | numbers and timestamps |
//! | `memo` | what was seen before, bounded |
//! | `format` | [`Format`], [`Limits`] |
//! | `rejection` | [`Rejection`], the counts, and the first rejected line |
//!
//! Pure: no I/O, no clock. Metric meaning, units and sentinels are not known here.

mod format;
mod labels;
mod line;
mod memo;
mod quotes;
mod rejection;
mod scanner;
mod value;
mod visitor;

#[cfg(test)]
mod tests;

pub use format::{Format, Limits};
pub use labels::Labels;
pub use rejection::{RejectedLine, Rejection, Rejections};
pub use scanner::Scanner;
pub use visitor::{Sample, Scanned, Visitor};
