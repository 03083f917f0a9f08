//! Every rule fires somewhere and is silent somewhere: a new one must bring its case.

use std::collections::BTreeMap;

use gpulens::finding::Verdict;
use gpulens::rules::{ALL, RuleConfig, RuleSet};
use gpulens::source::recording::batches;

use super::case::every;
use super::play::{Past, fixtures};

#[test]
fn every_rule_has_a_case_that_fires_and_one_that_is_silent() {
    let rules = RuleSet::new(&RuleConfig::default());
    let mut seen: BTreeMap<_, [bool; 2]> = BTreeMap::new();
    for recording in fixtures()
        .into_iter()
        .chain(every().map(|fleet| fleet.record()))
    {
        let mut past = Past::new(&rules, &recording);
        past.absorb(&batches(&recording));
        for (key, verdict) in past.judge(&rules, &recording).0 {
            let [fires, clear] = seen.entry(key.rule).or_default();
            *fires |= matches!(verdict, Verdict::Fires(_));
            *clear |= verdict == Verdict::Clear;
        }
    }
    for entry in ALL {
        let [fires, clear] = seen.get(&entry.id).copied().unwrap_or_default();
        assert!(
            fires,
            "{}: no fixture or generated recording makes it fire",
            entry.id
        );
        assert!(
            clear,
            "{}: no fixture or generated recording leaves it silent",
            entry.id
        );
    }
}
