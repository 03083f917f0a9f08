//! The diagnostic rules: one file a rule, and the one table that lists them.
//!
//! A rule is pure: it sees a [`ClusterSnapshot`] and says what it thinks of each subject.
//! Its doc comment is its published specification (`gpulens rules --format markdown`).

mod exclude;
pub mod fresh;
pub mod health;
mod judge;
pub mod node_condition;
mod planned;
pub mod product;
mod sharing;
mod siblings;
mod specification;
mod steps;
pub mod therm;
mod threshold;
pub mod words;
pub mod xid;

pub use exclude::Exclude;
pub use judge::{Judged, RuleRun, judge_all};
pub use planned::planned_work;
pub use specification::{markdown, section, specification};
pub use threshold::{Celsius, Count, Rate, Ratio};

use crate::finding::{Judgement, RuleId};
use crate::snapshot::{ClusterSnapshot, Signal, Span, Threshold};

/// A diagnostic rule with its thresholds.
pub trait Rule: Send + Sync {
    /// What it must be able to look at: each signal, and how far back.
    fn needs(&self) -> Vec<(Signal, Span)>;

    /// One judgement for every subject that it covers. The same snapshot gives the same
    /// judgements, whatever the order of anything in it.
    fn judge(&self, snapshot: &ClusterSnapshot) -> Vec<Judgement>;

    /// Its thresholds as they are in force.
    fn thresholds(&self) -> Vec<Threshold>;
}

/// A row of the table of rules.
pub struct Entry {
    /// The published id.
    pub id: RuleId,
    /// Its key under `rules:` in the configuration.
    pub name: &'static str,
    /// What it finds, in a few words.
    pub title: &'static str,
    /// The text of its file, whose head is its specification.
    source: &'static str,
    /// Makes the rule with the configured thresholds.
    pub build: fn(&RuleConfig) -> Box<dyn Rule>,
    /// What the configuration excludes from it.
    pub exclude: fn(&RuleConfig) -> &Exclude,
}

/// Declares the table and the configuration of all rules from one list.
macro_rules! rules {
    ($( $id:ident $module:ident $rule:ident $title:literal )*) => {
        /// Every rule, in the order of the published ids.
        pub static ALL: &[Entry] = &[$( Entry {
            id: RuleId::$id,
            name: stringify!($module),
            title: $title,
            source: include_str!(concat!(stringify!($module), ".rs")),
            build: |config| Box::new($module::$rule::new(config.$module.clone())),
            exclude: |config| &config.$module.exclude,
        }, )*];

        /// The thresholds of every rule: `rules:` in the configuration.
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct RuleConfig {
            $( #[doc = $title] pub $module: $module::Thresholds, )*
        }
    };
}

rules! {
    Health health Health "Hardware fault or degradation"
    Fresh fresh Fresh "Telemetry unavailable, stale or uncorrelated"
    Therm therm Therm "Thermal, power brake and memory pressure"
}

/// The row of a rule.
#[must_use]
pub fn entry(id: RuleId) -> Option<&'static Entry> {
    ALL.iter().find(|entry| entry.id == id)
}

/// All rules with their thresholds, ready to judge.
pub struct RuleSet {
    rules: Vec<(&'static Entry, Box<dyn Rule>, Exclude)>,
}

impl RuleSet {
    /// The rules with the configured thresholds.
    #[must_use]
    pub fn new(config: &RuleConfig) -> Self {
        let rules = ALL
            .iter()
            .map(|entry| {
                (
                    entry,
                    (entry.build)(config),
                    (entry.exclude)(config).clone(),
                )
            })
            .collect();
        Self { rules }
    }

    /// One rule that judges in place of another.
    #[cfg(test)]
    pub(crate) fn only(id: RuleId, rule: Box<dyn Rule>) -> Self {
        Self {
            rules: entry(id)
                .map(|entry| (entry, rule, Exclude::default()))
                .into_iter()
                .collect(),
        }
    }

    /// The rules in the order of the table.
    pub fn iter(&self) -> impl Iterator<Item = (&'static Entry, &dyn Rule, &Exclude)> {
        self.rules
            .iter()
            .map(|(entry, rule, exclude)| (*entry, &**rule, exclude))
    }

    /// Every signal that any rule needs, with the longest look-back that is asked for it.
    #[must_use]
    pub fn needs(&self) -> std::collections::BTreeMap<Signal, Span> {
        let mut needs = std::collections::BTreeMap::new();
        for (_, rule, _) in self.iter() {
            for (signal, back) in rule.needs() {
                let longest = needs.entry(signal).or_insert(back);
                *longest = (*longest).max(back);
            }
        }
        needs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_the_order_of_the_ids() {
        let number = |entry: &Entry| entry.id.as_str()[entry.id.as_str().len() - 3..].to_owned();
        assert!(
            ALL.windows(2)
                .all(|pair| number(&pair[0]) < number(&pair[1]))
        );
        for row in ALL {
            assert!(entry(row.id).is_some_and(|found| std::ptr::eq(found, row)));
        }
    }
}
