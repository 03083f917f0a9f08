//! How bad an XID is: by the catalogue, or as the configuration says.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer};

use crate::finding::Severity;
use crate::rules::xid;

/// Severities that the configuration gives to single codes: `xid_severity: {63: info}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct XidSeverity(BTreeMap<u16, Severity>);

impl XidSeverity {
    /// Whether the configuration says how bad the code is.
    pub(super) fn sets(&self, code: u16) -> bool {
        self.0.contains_key(&code)
    }
}

impl fmt::Display for XidSeverity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return f.write_str("as catalogued");
        }
        let rows: Vec<_> = self
            .0
            .iter()
            .map(|(code, severity)| format!("{code}: {}", severity.as_str()))
            .collect();
        f.write_str(&rows.join(", "))
    }
}

impl<'de> Deserialize<'de> for XidSeverity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let rows = BTreeMap::<u16, String>::deserialize(deserializer)?;
        let severity = |word: &str| {
            Severity::ALL
                .into_iter()
                .find(|severity| severity.as_str() == word)
        };
        rows.into_iter()
            .map(|(code, word)| {
                let severity = severity(&word).ok_or_else(|| {
                    serde::de::Error::custom(format!(
                        "`{word}` for XID {code}: want info, warning or critical"
                    ))
                })?;
                Ok((code, severity))
            })
            .collect::<Result<_, D::Error>>()
            .map(Self)
    }
}

/// What a severity in the catalogue means for a finding.
pub(super) fn severity_of(code: u16, overrides: &XidSeverity) -> Severity {
    if let Some(severity) = overrides.0.get(&code) {
        return *severity;
    }
    match xid::lookup(code).map(|known| known.severity) {
        Some(xid::Severity::Critical) => Severity::Critical,
        Some(xid::Severity::High | xid::Severity::Warning) | None => Severity::Warning,
        Some(
            xid::Severity::Info
            | xid::Severity::Application
            | xid::Severity::Consequence
            | xid::Severity::Legacy,
        ) => Severity::Info,
    }
}
