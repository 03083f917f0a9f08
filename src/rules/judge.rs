//! Runs every rule over a snapshot.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use crate::finding::{Judgement, Reason, RuleId, Verdict};
use crate::snapshot::ClusterSnapshot;

use super::RuleSet;

/// How one rule fared in one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RuleRun {
    /// The rule.
    pub rule: RuleId,
    /// False where the rule panicked, which is a bug in it.
    pub success: bool,
    /// How long it took.
    pub duration: Duration,
    /// Subjects that the configuration excludes.
    pub excluded: u64,
}

/// What all rules say about a snapshot.
#[derive(Debug, Default)]
pub struct Judged {
    /// The judgements, sorted by key.
    pub judgements: Vec<Judgement>,
    /// How each rule fared.
    pub runs: Vec<RuleRun>,
    /// Subjects that could not be decided.
    pub undecided: BTreeMap<(RuleId, Reason), u64>,
}

/// Asks every rule. A rule that panics is caught, counted and said; the others go on.
///
/// `elapsed` measures: rules have no clock of their own.
pub fn judge_all(
    rules: &RuleSet,
    snapshot: &ClusterSnapshot,
    elapsed: &dyn Fn() -> Duration,
) -> Judged {
    let mut judged = Judged::default();
    for (entry, rule, exclude) in rules.iter() {
        let begun = elapsed();
        // Half a picture is none: until every source was tried, only the rule about sources judges.
        if !snapshot.warm && entry.id != RuleId::Fresh {
            *judged
                .undecided
                .entry((entry.id, Reason::WarmUp))
                .or_default() += 1;
            judged.runs.push(RuleRun {
                rule: entry.id,
                success: true,
                duration: Duration::ZERO,
                excluded: 0,
            });
            continue;
        }
        let outcome = catch_unwind(AssertUnwindSafe(|| rule.judge(snapshot)));
        let mut run = RuleRun {
            rule: entry.id,
            success: outcome.is_ok(),
            duration: elapsed().saturating_sub(begun),
            excluded: 0,
        };
        match outcome {
            Ok(judgements) => {
                for judgement in judgements {
                    if exclude.covers(&judgement.key.subject, snapshot) {
                        run.excluded += 1;
                        continue;
                    }
                    if let Verdict::Undecided(reason) = judgement.verdict {
                        *judged.undecided.entry((entry.id, reason)).or_default() += 1;
                    }
                    judged.judgements.push(judgement);
                }
            }
            // Nothing is judged, so nothing can be resolved: what is open stays open.
            Err(_) => {
                *judged
                    .undecided
                    .entry((entry.id, Reason::RuleFailed))
                    .or_default() += 1;
            }
        }
        judged.runs.push(run);
    }
    judged.judgements.sort_by(|a, b| a.key.cmp(&b.key));
    judged
}
