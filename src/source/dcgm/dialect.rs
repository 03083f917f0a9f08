//! Metric names: the table of every exporter generation, and the operator's own.

use std::collections::{BTreeMap, HashMap};

use memchr::memchr2_iter;
use serde::{Deserialize, Serialize};

use super::config::MetricMapping;
use crate::snapshot::{DcgmName, Signal, dcgm_name, dcgm_names};

/// What metric names mean. Shared by all targets.
#[derive(Debug)]
pub(super) struct Dialect {
    /// The operator's rows, then the built-in table; the place is the rank, and of two names of
    /// one signal in a body the lower is taken. What an operator says goes first.
    rows: Vec<DcgmName>,
    /// The operator's names in upper case, with their place.
    own: HashMap<String, u16>,
}

/// A metric name, understood or not; small, as a scanner keeps one a name and target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Family {
    /// Place of its row, or [`Family::UNKNOWN`]'s.
    rank: u16,
    /// The NVLink in the name itself, or `u16::MAX`.
    link: u16,
}

impl Family {
    pub(super) const UNKNOWN: Self = Self {
        rank: u16::MAX,
        link: u16::MAX,
    };

    /// The lower is preferred.
    pub(super) fn rank(self) -> u16 {
        self.rank
    }

    /// The NVLink in the name itself.
    pub(super) fn link(self) -> Option<u16> {
        (self.link != u16::MAX).then_some(self.link)
    }
}

impl Dialect {
    pub(super) fn new(metrics: &BTreeMap<String, MetricMapping>) -> Self {
        let mut rows = Vec::with_capacity(metrics.len() + dcgm_names().len());
        let mut own = HashMap::with_capacity(metrics.len());
        for (name, mapping) in metrics {
            own.insert(name.to_ascii_uppercase(), rows.len() as u16);
            rows.push(mapping.row());
        }
        rows.extend_from_slice(dcgm_names());
        Self { rows, own }
    }

    /// What a metric name means.
    pub(super) fn family(&self, name: &str) -> Family {
        let own = if self.own.is_empty() {
            None
        } else {
            self.own.get(&name.to_ascii_uppercase())
        };
        if let Some(&rank) = own {
            let link = u16::MAX;
            return Family { rank, link };
        }
        dcgm_name(name).map_or(Family::UNKNOWN, |named| Family {
            rank: self.own.len() as u16 + named.rank,
            link: named.link.unwrap_or(u16::MAX),
        })
    }

    /// An understood name; an operator's own in upper case.
    pub(super) fn name(&self, family: Family) -> &str {
        let own = || self.own.iter().find(|(_, rank)| **rank == family.rank);
        match self.row(family) {
            Some(row) if !row.name.is_empty() => row.name,
            _ => own().map_or("", |(name, _)| name),
        }
    }

    /// Whether a name is one of the XID gauge's.
    pub(super) fn is_xid(&self, family: Family) -> bool {
        self.row(family)
            .is_some_and(|row| row.signal == Signal::Xid)
    }

    /// Lines of a body that may tell an XID: they hold one of the gauge's names, whatever else is
    /// wrong with them.
    pub(super) fn xid_lines(&self, body: &[u8]) -> u64 {
        let own = self.own.iter().filter_map(|(name, rank)| {
            (self.rows[usize::from(*rank)].signal == Signal::Xid).then_some(name.as_str())
        });
        let built_in = dcgm_names().iter().filter(|row| row.signal == Signal::Xid);
        let names: Vec<_> = own.chain(built_in.map(|row| row.name)).collect();
        let lines = body.split(|byte| *byte == b'\n').filter(|line| {
            !line.trim_ascii_start().starts_with(b"#")
                && names.iter().any(|name| holds_name(line, name.as_bytes()))
        });
        lines.count() as u64
    }

    /// The row of an understood name.
    pub(super) fn row(&self, family: Family) -> Option<&DcgmName> {
        self.rows.get(usize::from(family.rank))
    }
}

/// Whether a line holds a metric name, in any case, that does not go on as another.
fn holds_name(line: &[u8], name: &[u8]) -> bool {
    let goes_on = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':');
    let Some(first) = name.first() else {
        return false;
    };
    memchr2_iter(first.to_ascii_lowercase(), first.to_ascii_uppercase(), line).any(|at| {
        let end = at + name.len();
        line.get(at..end)
            .is_some_and(|text| text.eq_ignore_ascii_case(name))
            && !line.get(end).is_some_and(goes_on)
    })
}

impl MetricMapping {
    /// A row like the signal's first one, with its own factor: the part label is the signal's.
    fn row(&self) -> DcgmName {
        let of_signal = |row: &&DcgmName| row.signal == self.signal.0;
        let model = dcgm_names().iter().find(of_signal);
        DcgmName {
            name: "",
            signal: self.signal.0,
            factor: self.factor,
            percent_if_above_one: false,
            part: model.and_then(|row| row.part),
        }
    }
}

/// A signal by its own name, as configuration writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SignalName(pub Signal);

impl TryFrom<String> for SignalName {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        Signal::from_name(&name).map(Self).ok_or_else(|| {
            let near: Vec<_> = Signal::ALL
                .iter()
                .map(|signal| signal.spec().name)
                .filter(|known| known.split('_').any(|word| name.contains(word)))
                .collect();
            let names = if near.is_empty() {
                Signal::ALL
                    .iter()
                    .map(|signal| signal.spec().name)
                    .collect()
            } else {
                near
            };
            format!("`{name}` is not a signal; want one of {}", names.join(", "))
        })
    }
}

impl From<SignalName> for String {
    fn from(name: SignalName) -> Self {
        name.0.spec().name.to_owned()
    }
}
