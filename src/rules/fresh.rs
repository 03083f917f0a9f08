//! GPU-X: placeholder
//!
//! # Detects
//! # Needs
//! # Condition
//! # Clears
//! # Not reported when
//! # Evidence
//! # Severity
//! # What to look at
//! # References

use super::{Rule, Threshold};
use crate::finding::Judgement;
use crate::rules::threshold::thresholds;
use crate::snapshot::{ClusterSnapshot, Signal, Span};

thresholds! {
    /// How long it must last.
    hold: Span = Span::minutes(2), "";
}

/// The rule.
pub struct Fresh {
    thresholds: Thresholds,
}

impl Fresh {
    /// The rule with its thresholds.
    #[must_use]
    pub fn new(thresholds: Thresholds) -> Self {
        Self { thresholds }
    }
}

impl Rule for Fresh {
    fn needs(&self) -> Vec<(Signal, Span)> {
        Vec::new()
    }

    fn judge(&self, _snapshot: &ClusterSnapshot) -> Vec<Judgement> {
        Vec::new()
    }

    fn thresholds(&self) -> Vec<Threshold> {
        self.thresholds.describe()
    }
}
