//! Which incidents get series of their own: bounded, so that a job array of ten thousand pods
//! neither floods Prometheus nor pushes a broken GPU out of sight.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::cycle::{ClusterView, Zero};
use crate::finding::{RuleId, Severity};
use crate::incident::Incident;
use crate::rules;

/// What is shown of a cluster's incidents.
pub(super) struct Shown<'a> {
    pub view: &'a ClusterView,
    /// Open incidents with series, in the view's order.
    pub open: Vec<&'a Arc<Incident>>,
    /// Label sets that show 0.
    pub zeros: Vec<&'a Zero>,
    /// Open incidents without series, by rule.
    pub dropped: Vec<(RuleId, u64)>,
}

/// Chooses by rule: every critical incident, then warnings and info, oldest first, then zeros,
/// latest first, up to the rule's share.
///
/// A share that a rule does not use is not given to others: what is shown today would have to
/// vanish tomorrow, when that rule needs it.
pub(super) fn choose(view: &ClusterView, share: usize) -> Shown<'_> {
    let mut kept = BTreeSet::new();
    let mut zeros = Vec::new();
    let mut dropped = Vec::new();
    for entry in rules::ALL {
        let mut open: Vec<_> = view
            .open
            .iter()
            .filter(|i| i.key.rule == entry.id)
            .collect();
        open.sort_by_key(|i| (std::cmp::Reverse(i.severity), i.opened, i.id));
        let critical = open
            .iter()
            .filter(|i| i.severity == Severity::Critical)
            .count();
        let fits = share.max(critical).min(open.len());
        dropped.push((entry.id, (open.len() - fits) as u64));
        kept.extend(open[..fits].iter().map(|i| i.id));

        zeros.extend(
            ended(view, entry.id)
                .into_iter()
                .take(share - fits.min(share)),
        );
    }
    Shown {
        view,
        open: view.open.iter().filter(|i| kept.contains(&i.id)).collect(),
        zeros,
        dropped,
    }
}

/// A rule's label sets that show 0 still, latest first, one each, without those that show 1.
fn ended(view: &ClusterView, rule: RuleId) -> Vec<&Zero> {
    let open: BTreeSet<_> = view
        .open
        .iter()
        .map(|i| (i.id, i.severity, i.key.subject.place()))
        .collect();
    let mut seen = BTreeSet::new();
    let mut zeros: Vec<_> = view
        .zeros
        .iter()
        .filter(|zero| zero.key.rule == rule && zero.until > view.evaluated)
        .collect();
    zeros.sort_by_key(|zero| (std::cmp::Reverse(zero.until), zero.id, zero.severity));
    zeros.retain(|zero| {
        let label_set = (zero.id, zero.severity, zero.key.subject.place());
        !open.contains(&label_set) && seen.insert(label_set)
    });
    zeros
}
