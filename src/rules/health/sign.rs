//! What detections hand over: signs of trouble, and what else is worth saying.

use std::borrow::Cow;

use jiff::Timestamp;

use crate::finding::{Cause, Evidence, Fact, Severity};
use crate::rules::words;
use crate::snapshot::Growth;

/// From which kind of observation a sign comes. Signs of different kinds are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    /// The driver's error codes.
    Xid,
    /// ECC and row-remap counters.
    Memory,
    /// NVLink counters and status.
    Link,
    /// PCIe counters.
    Pcie,
    /// What Kubernetes can allocate.
    Capacity,
    /// How many boards there are.
    Count,
    /// A node condition.
    Condition,
    /// DCGM's health check, which reads the same fields as we do: agrees, but is no witness of
    /// its own.
    Derived,
}

/// How much a sign carries by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Weight {
    /// Of unknown age or weight: it cannot be strong, whatever is beside it.
    Capped,
    /// One sign among others.
    Plain,
    /// It says by itself, and with a date, that something is broken.
    Direct,
}

/// What makes a sign doubtful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Doubt {
    /// Other evidence speaks against a fault of the hardware.
    Contradicted,
    /// What would be needed to read it is missing.
    Inconclusive,
}

/// One sign of trouble.
#[derive(Clone, Debug)]
pub(super) struct Sign {
    /// What it is a sign of.
    pub cause: Cause,
    /// How bad it is by itself.
    pub severity: Severity,
    /// Where it comes from.
    pub kind: Kind,
    /// How much it carries by itself.
    pub weight: Weight,
    /// What makes it doubtful.
    pub doubt: Option<Doubt>,
    /// The first evidence.
    pub since: Timestamp,
    /// Whether it may have begun before that, where nobody looked.
    pub older: bool,
    /// What was seen, in a few words: the head of a summary.
    pub headline: String,
    /// What it is consistent with.
    pub reading: Cow<'static, str>,
    /// The sentence that supports.
    pub evidence: Evidence,
    /// What was observed.
    pub facts: Vec<Fact>,
    /// What speaks against.
    pub against: Vec<Evidence>,
    /// What is missing.
    pub missing: Vec<Evidence>,
    /// What happened when.
    pub timeline: Vec<Evidence>,
}

impl Sign {
    /// A plain sign that nothing speaks against, with the sentence that supports it.
    pub(super) fn new(
        cause: Cause,
        severity: Severity,
        kind: Kind,
        since: Timestamp,
        headline: String,
        evidence: Evidence,
    ) -> Self {
        Self {
            cause,
            severity,
            kind,
            weight: Weight::Plain,
            doubt: None,
            since,
            older: false,
            headline,
            reading: "a fault of the GPU".into(),
            evidence,
            facts: Vec::new(),
            against: Vec::new(),
            missing: Vec::new(),
            timeline: Vec::new(),
        }
    }

    pub(super) fn reading(mut self, reading: impl Into<Cow<'static, str>>) -> Self {
        self.reading = reading.into();
        self
    }

    /// Says so where growth may be older than the time over which it is counted.
    pub(super) fn grown(mut self, growth: &Growth) -> Self {
        if growth.older {
            self.older = true;
            self.evidence.text.push_str(&self.may_be_older());
        }
        self
    }

    /// What a time line says of a sign that may be older than its first evidence.
    pub(super) fn may_be_older(&self) -> String {
        format!("; it may have begun before {}", words::moment(self.since))
    }

    pub(super) fn fact(mut self, fact: Fact) -> Self {
        self.facts.push(fact);
        self
    }
}

/// What was found on a board or node.
#[derive(Clone, Debug, Default)]
pub(super) struct Found {
    /// Signs of trouble.
    pub signs: Vec<Sign>,
    /// A rate lies between the thresholds for entering and leaving, or a hold is not over.
    pub holds: bool,
    /// Worth showing beside a finding.
    pub facts: Vec<Fact>,
    /// Speaks against a fault.
    pub against: Vec<Evidence>,
    /// Would help, and is not there.
    pub missing: Vec<Evidence>,
    /// What happened when.
    pub timeline: Vec<Evidence>,
}

impl Found {
    /// The worst severity among the signs.
    pub(super) fn severity(&self) -> Option<Severity> {
        self.signs.iter().map(|sign| sign.severity).max()
    }
}
