//! What no single value can tell: keys that must agree with each other.

use std::collections::BTreeMap;

use super::decode::dotted;
use super::tree::{Node, Step};
use super::{Config, Problem};
use crate::rules::RuleConfig;
use crate::snapshot::Span;

const MIN_INTERVAL: Span = Span::seconds(1);
/// Alerts wait minutes and holds count cycles: beyond this nothing would be found in time.
const MAX_INTERVAL: Span = Span::minutes(10);
/// Older readings say nothing of the present, whatever the exporter's interval.
const MAX_STALE: Span = Span::minutes(60);
/// Prometheus takes more, people and Alertmanager do not.
const MAX_INCIDENT_SERIES: u32 = 1_000_000;
/// Label values are cut at 256 bytes; a cluster's name is a label beside many others.
const MAX_NAME_BYTES: usize = 128;

/// Holds a configuration against itself. `file` gives problems their place.
pub(super) fn check(config: &Config, file: Option<&Node>) -> Vec<Problem> {
    let mut checks = Checks {
        file,
        problems: Vec::new(),
    };
    checks.numbers(config);
    checks.zeros(config);
    checks.pairs(config);
    checks.clusters(config);
    checks.problems
}

struct Checks<'a> {
    file: Option<&'a Node>,
    problems: Vec<Problem>,
}

/// The windows and waits of the rules that history must reach back over, so that none may be
/// empty and none longer than what is remembered.
fn look_backs(rules: &RuleConfig) -> Vec<(&'static str, &'static str, Span)> {
    let (health, fresh, therm) = (&rules.health, &rules.fresh, &rules.therm);
    vec![
        (
            "health",
            "ecc_single_bit_window",
            health.ecc_single_bit_window,
        ),
        ("health", "rate_window", health.rate_window),
        ("health", "nvlink_event_window", health.nvlink_event_window),
        ("fresh", "unreachable_after", fresh.unreachable_after),
        ("fresh", "rollout_hold", fresh.rollout_hold),
        ("fresh", "new_node_hold", fresh.new_node_hold),
        ("fresh", "empty_after", fresh.empty_after),
        ("fresh", "vanished_after", fresh.vanished_after),
        ("fresh", "frozen_family_after", fresh.frozen_family_after),
        ("fresh", "unlabelled_after", fresh.unlabelled_after),
        (
            "fresh",
            "labels_disagree_after",
            fresh.labels_disagree_after,
        ),
        ("fresh", "disagreement_after", fresh.disagreement_after),
        ("fresh", "fleet_after", fresh.fleet_after),
        ("therm", "window", therm.window),
        ("therm", "failure_window", therm.failure_window),
    ]
}

fn key(name: &str) -> Step {
    Step::Key(name.to_owned())
}

/// `rules.RULE.NAME`
fn threshold(rule: &str, name: &str) -> [Step; 3] {
    [key("rules"), key(rule), key(name)]
}

impl Checks<'_> {
    fn fail(&mut self, path: &[Step], message: String) {
        // What came by a flag or is a default has no place in the file.
        let place = self
            .file
            .filter(|file| file.has(path))
            .map(|file| file.nearest(path).place);
        self.problems.push(Problem {
            place,
            key: dotted(path),
            message,
        });
    }

    fn numbers(&mut self, config: &Config) {
        let interval = config.cycle.interval;
        if !(MIN_INTERVAL..=MAX_INTERVAL).contains(&interval) {
            self.fail(
                &[key("cycle"), key("interval")],
                format!("{interval} is out of range; want {MIN_INTERVAL} to {MAX_INTERVAL}"),
            );
        }
        let series = config.metrics.max_incident_series;
        if !(1..=MAX_INCIDENT_SERIES).contains(&series) {
            self.fail(
                &[key("metrics"), key("max_incident_series")],
                format!("{series} is out of range; want 1 to {MAX_INCIDENT_SERIES}"),
            );
        }
        let limits = &config.limits;
        for (name, value) in [
            ("stale_after", limits.stale_after),
            ("frozen_after", limits.frozen_after),
            ("collection_interval", limits.collection_interval),
            ("reorder", limits.reorder),
            ("forget_after", limits.forget_after),
        ] {
            if value < MIN_INTERVAL {
                self.fail(
                    &[key("limits"), key(name)],
                    format!("{value} is too short; want at least {MIN_INTERVAL}"),
                );
            }
        }
    }

    /// Thresholds that must agree with each other.
    fn pairs(&mut self, config: &Config) {
        let (limits, rules) = (&config.limits, &config.rules);
        let (health, therm) = (&rules.health, &rules.therm);
        for (warning, low, critical, high) in [
            (
                "core_warning",
                therm.core_warning,
                "core_critical",
                therm.core_critical,
            ),
            (
                "memory_warning",
                therm.memory_warning,
                "memory_critical",
                therm.memory_critical,
            ),
        ] {
            if low > high {
                let low_at = threshold("therm", warning);
                let high_at = threshold("therm", critical);
                if self.given(&low_at) || !self.given(&high_at) {
                    let message = format!("{low} is too hot; want at most {high}, {critical}");
                    self.fail(&low_at, message);
                } else {
                    let message = format!("{high} is too cold; want at least {low}, {warning}");
                    self.fail(&high_at, message);
                }
            }
        }
        for (name, critical) in [
            ("capacity_critical_after", health.capacity_critical_after),
            ("plugin_critical_after", health.plugin_critical_after),
        ] {
            self.at_least(
                &threshold("health", name),
                critical,
                &threshold("health", "hold"),
                health.hold,
            );
        }
        let limit = |name: &str| [key("limits"), key(name)];
        let cycle = [key("cycle"), key("interval")];
        let collection = limit("collection_interval");
        let (slow, interval): (&[Step], Span) =
            if config.cycle.interval > limits.collection_interval {
                (&cycle, config.cycle.interval)
            } else {
                (&collection, limits.collection_interval)
            };
        let stale = limit("stale_after");
        let twice = Span::seconds(2 * interval.get().as_secs());
        // What is out of range by itself has been told already.
        let sensible = (MIN_INTERVAL..=MAX_INTERVAL).contains(&interval);
        if limits.stale_after < twice && limits.stale_after >= MIN_INTERVAL && sensible {
            let value = limits.stale_after;
            if self.given(&stale) || !self.given(slow) {
                let message = format!(
                    "{value} would make healthy readings stale; want at least {twice}, twice {} \
                     (the longer of cycle.interval and limits.collection_interval)",
                    dotted(slow)
                );
                self.fail(&stale, message);
            } else {
                let message = format!(
                    "{interval} would make healthy readings stale; want at most half of \
                     limits.stale_after, which is {value}"
                );
                self.fail(slow, message);
            }
        }
        if limits.stale_after > MAX_STALE {
            let message = format!(
                "{} would take the past for the present; want at most {MAX_STALE}",
                limits.stale_after
            );
            self.fail(&stale, message);
        }
        self.remembered(config);
    }

    /// Nothing may be forgotten before the longest hold or look-back has passed.
    fn remembered(&mut self, config: &Config) {
        let (limits, rules) = (&config.limits, &config.rules);
        let health = &rules.health;
        let forget = [key("limits"), key("forget_after")];
        let own = [
            ("limits", "stale_after", limits.stale_after),
            ("limits", "frozen_after", limits.frozen_after),
            ("limits", "reorder", limits.reorder),
            ("health", "hold", health.hold),
            (
                "health",
                "capacity_critical_after",
                health.capacity_critical_after,
            ),
            (
                "health",
                "plugin_critical_after",
                health.plugin_critical_after,
            ),
            ("therm", "hold", rules.therm.hold),
        ];
        let longest = own.into_iter().chain(look_backs(rules));
        for (section, name, least) in longest {
            let path = match section {
                "limits" => vec![key(section), key(name)],
                _ => threshold(section, name).to_vec(),
            };
            // One is enough, and where both are given the first to be named is as good as any.
            if limits.forget_after < least {
                self.at_least(&forget, limits.forget_after, &path, least);
                return;
            }
        }
    }

    /// Whether the file says it.
    fn given(&self, path: &[Step]) -> bool {
        self.file.is_some_and(|file| file.has(path))
    }

    /// Complains about whichever of two lengths the file has, preferably the one that should be
    /// the longer.
    fn at_least(&mut self, path: &[Step], value: Span, other: &[Step], least: Span) {
        if value >= least {
            return;
        }
        if self.given(path) || !self.given(other) {
            let message = format!(
                "{value} is too short; want at least {least}, {}",
                dotted(other)
            );
            self.fail(path, message);
        } else {
            let message = format!(
                "{least} is too long; want at most {value}, {}",
                dotted(path)
            );
            self.fail(other, message);
        }
    }

    /// What would fire always, or never, at zero. Holds may be zero, windows may not.
    fn zeros(&mut self, config: &Config) {
        let (health, fresh, therm) = (
            &config.rules.health,
            &config.rules.fresh,
            &config.rules.therm,
        );
        let own = [
            ("health", "xid_clear_after", health.xid_clear_after),
            ("health", "xid_expire_after", health.xid_expire_after),
            (
                "health",
                "memory_growth_window",
                health.memory_growth_window,
            ),
            (
                "fresh",
                "kubernetes_stale_after",
                fresh.kubernetes_stale_after,
            ),
        ];
        let spans = own.into_iter().chain(look_backs(&config.rules));
        for (rule, name, value) in spans {
            if value < MIN_INTERVAL {
                self.fail(
                    &threshold(rule, name),
                    format!("{value} is too short; want at least {MIN_INTERVAL}"),
                );
            }
        }
        let numbers = [
            ("health", "xid_repeats", health.xid_repeats.get()),
            (
                "health",
                "ecc_single_bit_factor",
                health.ecc_single_bit_factor.get(),
            ),
            (
                "health",
                "ecc_single_bit_boards",
                health.ecc_single_bit_boards.get(),
            ),
            (
                "health",
                "nvlink_crc_per_second",
                health.nvlink_crc_per_second.get(),
            ),
            ("health", "nvlink_events", health.nvlink_events.get()),
            (
                "health",
                "heartbeat_periods",
                health.heartbeat_periods.get(),
            ),
            (
                "fresh",
                "unreachable_scrapes",
                fresh.unreachable_scrapes.get(),
            ),
            ("fresh", "fleet_nodes", fresh.fleet_nodes.get()),
            ("therm", "throttled_share", therm.throttled_share.get()),
            ("therm", "framebuffer", therm.framebuffer.get()),
        ];
        for (rule, name, value) in numbers {
            if value <= 0.0 {
                self.fail(
                    &threshold(rule, name),
                    format!("{value} would always be reached; want a number above 0"),
                );
            }
        }
    }

    fn clusters(&mut self, config: &Config) {
        let mut names = BTreeMap::new();
        let mut urls: BTreeMap<String, String> = BTreeMap::new();
        for (at, cluster) in config.clusters.iter().enumerate() {
            let path = |rest: &[Step]| {
                let mut path = vec![key("clusters"), Step::Index(at)];
                path.extend_from_slice(rest);
                path
            };
            let name = cluster.name.as_str();
            let name_path = path(&[key("name")]);
            if name.is_empty() && config.clusters.len() > 1 {
                self.fail(
                    &path(&[]),
                    "`name` is missing; where there are several clusters each needs one".into(),
                );
            } else if name.len() > MAX_NAME_BYTES || name.chars().any(crate::printable::is_unsafe) {
                self.fail(
                    &name_path,
                    format!("want at most {MAX_NAME_BYTES} bytes and no control characters"),
                );
            } else if let Some(first) = names.insert(name, at).filter(|_| !name.is_empty()) {
                self.fail(
                    &name_path,
                    format!("`{name}` is the name of clusters[{first}] already; want another"),
                );
            }
            let before = self.problems.len();
            for (index, target) in cluster.dcgm.targets.iter().enumerate() {
                let mut here = path(&[key("dcgm"), key("targets"), Step::Index(index)]);
                let node = target.node.as_ref();
                if node.is_some_and(|node| node.as_str().contains(char::is_whitespace)) {
                    let mut here = here.clone();
                    here.push(key("node"));
                    self.fail(&here, "a node's name holds no white space".into());
                }
                let shown = target.url.to_string();
                if let Some(first) = urls.get(&shown) {
                    let message = format!(
                        "{shown} is the target of {first} already; its GPUs would count twice"
                    );
                    here.push(key("url"));
                    self.fail(&here, message);
                } else {
                    urls.insert(shown, dotted(&here));
                }
            }
            // What the source says of its section has no place inside of it.
            if let Err(message) = cluster.dcgm.check()
                && self.problems.len() == before
            {
                self.fail(&path(&[key("dcgm")]), message);
            }
        }
    }
}
