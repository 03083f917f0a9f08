//! `/metrics` as text: held against the catalogue, and the promises about single series.

use std::collections::{BTreeMap, BTreeSet};

use gpulens::finding::{Cause, Reason, Severity};
use gpulens::incident::Closing;
use gpulens::publish::catalogue::{self, Type};
use gpulens::publish::{Format, PublishOptions, Publisher};
use gpulens::rules::ALL;
use gpulens::snapshot::ErrorKind;

use crate::views::{self, at, healthy, incident, many, on_gpu, publisher, rich, zero};

pub(crate) fn text(publisher: &Publisher, format: Format) -> String {
    String::from_utf8(publisher.load().metrics(format).to_vec()).expect("UTF-8")
}

fn classic(publisher: &Publisher) -> String {
    text(publisher, Format::Classic)
}

/// The series of a family: labels in order, and the value.
fn series(text: &str, name: &str) -> Vec<(Vec<(String, String)>, String)> {
    let of = |line: &&str| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['{', ' ']))
    };
    text.lines().filter(of).map(parse).collect()
}

/// A sample line, written by hand: labels and value.
fn parse(line: &str) -> (Vec<(String, String)>, String) {
    let Some((_, rest)) = line.split_once('{') else {
        return (
            Vec::new(),
            line.rsplit_once(' ').expect("a value").1.to_owned(),
        );
    };
    let mut labels = Vec::new();
    let mut chars = rest.chars();
    loop {
        let name: String = chars.by_ref().take_while(|c| *c != '=').collect();
        assert_eq!(chars.next(), Some('"'));
        let mut value = String::new();
        loop {
            match chars.next().expect("a closing quote") {
                '\\' => value.push(match chars.next() {
                    Some('n') => '\n',
                    other => other.expect("an escape"),
                }),
                '"' => break,
                c => value.push(c),
            }
        }
        labels.push((name, value));
        match chars.next() {
            Some(',') => {}
            Some('}') => break,
            other => panic!("{other:?} in {line}"),
        }
    }
    (labels, chars.as_str().trim().to_owned())
}

#[test]
fn every_family_is_as_the_catalogue_has_it_and_no_other_is_printed() {
    for format in Format::ALL {
        let text = text(&publisher([rich("prod")]), format);
        let mut types = BTreeMap::new();
        let mut help = BTreeMap::new();
        for line in text.lines() {
            let into = match line.get(..7) {
                Some("# TYPE ") => &mut types,
                Some("# HELP ") => &mut help,
                _ => continue,
            };
            let (name, rest) = line[7..].split_once(' ').expect("two words");
            assert!(into.insert(name, rest).is_none(), "{name} twice");
        }
        for family in catalogue::ALL {
            let name = match format {
                Format::Classic => family.name,
                Format::OpenMetrics => family.stem(),
            };
            assert_eq!(types.remove(name), Some(family.kind.as_str()), "{name}");
            assert_eq!(help.remove(name), Some(family.help), "{name}");
            let unit = format!("# UNIT {name} {}\n", family.unit());
            let has_unit = format == Format::OpenMetrics && !family.unit().is_empty();
            assert_eq!(text.contains(&unit), has_unit, "{name}");
            labels_are_those_of(&text, family);
        }
        assert!(types.is_empty() && help.is_empty(), "{types:?} {help:?}");
        assert!(!text.contains("NaN"));
        assert_eq!(text.ends_with("# EOF\n"), format == Format::OpenMetrics);
    }
}

fn labels_are_those_of(text: &str, family: &catalogue::Family) {
    let cluster = family.has_cluster().then_some("cluster");
    let mut want: Vec<_> = cluster
        .into_iter()
        .chain(family.labels.iter().copied())
        .collect();
    let mut name = family.name.to_owned();
    if family.kind == Type::Histogram {
        name.push_str("_bucket");
        want.push("le");
    }
    let found = series(text, &name);
    assert!(!found.is_empty(), "{name} has no series");
    for (labels, _) in found {
        let mut names: Vec<_> = labels.iter().map(|(name, _)| name.as_str()).collect();
        if family.kind == Type::Histogram {
            names.sort_unstable();
        }
        assert_eq!(names, want, "{name}");
    }
}

#[test]
fn the_same_state_gives_the_same_bytes_and_series_are_distinct() {
    let publisher = publisher([rich("b"), rich("a")]);
    for format in Format::ALL {
        let state = publisher.load();
        assert_eq!(
            state.metrics(format).as_ptr(),
            state.metrics(format).as_ptr()
        );
        let text = text(&publisher, format);
        let mut seen = BTreeSet::new();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, _) = line.rsplit_once(' ').expect("a value");
            assert!(seen.insert(series), "{series} twice");
        }
    }
}

#[test]
fn every_label_of_a_finding_is_printed_and_a_closed_one_shows_0() {
    let text = classic(&publisher([rich("")]));
    let of = |rule: &str, severity: &str| {
        let prefix = format!("gpulens_incident_active{{rule=\"{rule}\",severity=\"{severity}\",");
        let lines = text.lines().filter(|line| line.starts_with(&prefix));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    let id = views::rich("").open[1].id;
    assert!(text.contains(&format!(
        "gpulens_incident_active{{rule=\"GPU-HEALTH-002\",severity=\"warning\",namespace=\"\",\
         workload=\"\",pod=\"\",container=\"\",node=\"n1\",uuid=\"\",incident=\"{id}\"}} 1\n"
    )));
    assert!(of("GPU-HEALTH-002", "critical")[0].ends_with(" 1"));
    let thermal = of("GPU-THERM-006", "warning");
    assert_eq!(thermal.len(), 2, "one open, one closed: {thermal:?}");
    assert!(thermal[0].ends_with(" 1") && thermal[1].ends_with(" 0"));
    assert!(thermal[1].contains("pod=\"gone-0\""));
    let info = of("GPU-THERM-006", "info");
    assert_eq!(info.len(), 1, "{info:?}");
    assert!(
        info[0].contains(r#"pod="<script>alert(\"x\")</script>\\ '\\x0a\\x1b[31m"#),
        "{}",
        info[0]
    );
}

#[test]
fn every_combination_of_bounded_labels_is_there_from_the_start() {
    let text = classic(&publisher([healthy("")]));
    let rules = ALL.len();
    for (family, count) in [
        ("gpulens_incidents", rules * 3 * 4),
        ("gpulens_incidents_opened_total", rules),
        ("gpulens_incidents_closed_total", rules * Closing::ALL.len()),
        ("gpulens_rule_undecided", rules * Reason::ALL.len()),
        ("gpulens_incidents_dropped", rules),
        ("gpulens_fleet_gpus", 3),
        ("gpulens_source_errors_total", 2 * ErrorKind::ALL.len()),
        ("gpulens_source_targets", 2 * 3),
        ("gpulens_cycles_total", 3),
        ("gpulens_samples_rejected_total", 2),
    ] {
        assert_eq!(series(&text, family).len(), count, "{family}");
    }
    assert!(series(&text, "gpulens_incident_active").is_empty());
}

#[test]
fn a_cluster_that_is_not_warm_shows_itself_only() {
    let text = classic(&publisher([views::cold("a"), healthy("b")]));
    for line in text.lines().filter(|line| line.contains("cluster=\"a\"")) {
        let name = line.split('{').next().expect("a name");
        let name = name.trim_end_matches("_bucket").trim_end_matches("_sum");
        let name = name.trim_end_matches("_count");
        let family = catalogue::ALL.iter().find(|family| family.name == name);
        let section = family.expect(name).section;
        assert_eq!(section, catalogue::Section::Itself, "{name}");
    }
    assert!(text.contains("gpulens_source_up{cluster=\"a\",source=\"dcgm\"} 1"));
    assert!(text.contains("gpulens_fleet_gpus{cluster=\"b\",state=\"ok\"} 2"));
}

#[test]
fn before_the_first_cycle_the_process_and_its_cycles_are_shown() {
    let publisher = Publisher::new(["prod".into()], PublishOptions::default());
    let text = classic(&publisher);
    assert!(text.contains("gpulens_cycles_total{cluster=\"prod\",result=\"success\"} 0\n"));
    assert!(text.contains("gpulens_build_info{version=\""));
    assert!(!text.contains("gpulens_source_up"));
}

#[test]
fn cycles_are_counted_by_result() {
    let publisher = publisher([healthy("")]);
    let mut broken = healthy("");
    broken.rules[1].success = false;
    publisher.replace(broken);
    publisher.cycle_failed(&views::name(""));
    let text = classic(&publisher);
    for result in ["success", "rule_failed", "failed"] {
        assert!(text.contains(&format!("gpulens_cycles_total{{result=\"{result}\"}} 1\n")));
    }
    assert!(text.contains("gpulens_cycle_duration_seconds_count 2\n"));
    assert!(text.contains("gpulens_cycle_duration_seconds_bucket{le=\"0.005\"} 2\n"));
    assert!(text.contains("gpulens_rule_success{rule=\"GPU-FRESH-005\"} 0\n"));
}

#[test]
fn per_gpu_families_can_be_switched_off() {
    let options = PublishOptions {
        per_gpu: false,
        ..PublishOptions::default()
    };
    let publisher = Publisher::new([views::name("")], options);
    publisher.replace(rich(""));
    let text = classic(&publisher);
    for family in catalogue::ALL {
        let shown = family.section != catalogue::Section::PerGpu;
        assert_eq!(
            text.contains(&format!("# TYPE {} ", family.name)),
            shown,
            "{}",
            family.name
        );
    }
}

#[test]
fn beyond_the_budget_info_goes_first_then_the_newest_warnings_and_critical_never() {
    let options = PublishOptions {
        series_budget: 3 * ALL.len(),
        ..PublishOptions::default()
    };
    let publisher = Publisher::new([views::name("")], options);
    let mut view = healthy("");
    view.open = many("", 2, Severity::Warning);
    view.open.extend(many("i", 4, Severity::Info));
    let fault = incident(
        "",
        on_gpu("n1", "GPU-0"),
        Cause::Xid(79),
        Severity::Critical,
    );
    view.zeros = vec![zero(&fault, Severity::Warning, at(60))];
    view.open.push(fault.into());
    publisher.replace(view.clone());
    let shown = |text: &str, severity: &str| {
        series(text, "gpulens_incident_active")
            .iter()
            .filter(|(labels, _)| labels.iter().any(|(n, v)| n == "severity" && v == severity))
            .count()
    };
    let text = classic(&publisher);
    assert_eq!((shown(&text, "info"), shown(&text, "warning")), (1, 3));
    assert!(text.contains("gpulens_incidents_dropped{rule=\"GPU-THERM-006\"} 3\n"));
    assert!(text.contains("gpulens_incidents_dropped{rule=\"GPU-HEALTH-002\"} 0\n"));
    assert_eq!(series(&text, "gpulens_incident_info").len(), 4);

    view.open = many("", 5, Severity::Warning);
    view.open.extend(many("c", 2, Severity::Critical));
    publisher.replace(view.clone());
    let text = classic(&publisher);
    assert_eq!((shown(&text, "critical"), shown(&text, "warning")), (2, 2));
    assert!(text.contains("pod=\"worker-0\",container=\"\",node=\"\",uuid=\"\""));
    assert!(
        !text.contains("pod=\"worker-4\""),
        "the newest warning goes first"
    );

    view.open = many("c", 7, Severity::Critical);
    publisher.replace(view);
    assert_eq!(shown(&classic(&publisher), "critical"), 7);
}

#[test]
fn names_that_read_alike_when_cut_give_one_series() {
    let long = "x".repeat(300);
    let mut view = healthy("");
    view.gpus[0].uuid = format!("{long}0").as_str().into();
    view.gpus[1].uuid = format!("{long}1").as_str().into();
    for gpu in &mut view.gpus {
        gpu.index = None;
    }
    let text = classic(&publisher([view]));
    let last = series(&text, "gpulens_gpu_last_reading_timestamp_seconds");
    assert_eq!(last.len(), 1);
    assert_eq!(last[0].0[2].1.len(), 256);
}

#[test]
fn one_cluster_is_replaced_and_the_others_stay() {
    let publisher = publisher([rich("b"), healthy("a")]);
    let before = publisher.load();
    publisher.replace(healthy("b"));
    let after = publisher.load();
    assert_eq!(
        before.clusters[1].open.len(),
        4,
        "a reader keeps the state it took"
    );
    assert_eq!(after.clusters[1].open.len(), 0);
    assert!(std::sync::Arc::ptr_eq(
        &before.clusters[0],
        &after.clusters[0]
    ));
}
