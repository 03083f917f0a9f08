//! The format's parser: what is wrong gets a place, and nothing makes it panic.

use std::path::Path;

use gpulens::simulate::{Fleet, H100_SXM, Host, Load, Workload};
use gpulens::snapshot::{Observation, Recording, RecordingError, Span};
use gpulens::source::recording::{ReadError, batches, read, read_all};
use jiff::Timestamp;
use proptest::prelude::*;

/// Nodes, pods, holders, a termination and five minutes of series.
fn small() -> Recording {
    let now: Timestamp = "2026-03-14T02:07:00Z".parse().expect("a time");
    let fleet = Fleet::new("c", now)
        .host(Host::new("n1", &H100_SXM, 1))
        .workload(
            Workload::running("ns", "p", "n1", &[0], Load::training(0.9))
                .owner("Job", "j")
                .ended("2026-03-14T02:05:00Z".parse().expect("a time"), 1, "Error"),
        );
    Fleet {
        window: Span::minutes(5),
        ..fleet
    }
    .record()
}

fn refused(text: &str) -> String {
    Recording::parse(text.as_bytes())
        .expect_err(text)
        .to_string()
}

#[test]
fn an_absent_xid_is_told_where_its_column_says_so_or_there_is_none() {
    let values = |text: &str| serde_json::from_str(text).expect("values");
    let absent = |series: &[&str]| {
        let mut recording = small();
        let mut one = recording.series[0].clone();
        one.slots = 3;
        recording.series = series
            .iter()
            .map(|text| {
                one.values = values(text);
                one.clone()
            })
            .collect();
        let seen = batches(&recording)
            .into_iter()
            .flat_map(|batch| batch.observations);
        let told = seen.filter_map(|observation| match observation {
            Observation::Gpu(gpu) => Some(gpu.xid_absent),
            _ => None,
        });
        told.collect::<Vec<_>>()
    };
    assert_eq!(
        absent(&[r#"{"power_watts": 300, "xid": [null, 0, 79]}"#]),
        [true, false, false]
    );
    assert_eq!(absent(&[r#"{"power_watts": [300, null, 300]}"#]), [true; 2]);
    // Another entry of the board has the column, on a grid of its own.
    assert_eq!(
        absent(&[
            r#"{"power_watts": 300}"#,
            r#"{"xid": [null, null, 79]}"#,
            r#"{"energy_joules": 300}"#,
        ]),
        [false; 7]
    );
}

#[test]
fn the_documented_example_is_complete_and_valid() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/RECORDING.md");
    let page = std::fs::read_to_string(page).expect("docs/RECORDING.md");
    let example = page.split_once("```json\n").expect("an example").1;
    let example = example.split_once("```").expect("its end").0;
    let recording = Recording::parse(example.as_bytes()).expect("valid");
    let seen: Vec<_> = batches(&recording)
        .into_iter()
        .flat_map(|b| b.observations)
        .collect();
    let count = |is: fn(&Observation) -> bool| seen.iter().filter(|seen| is(seen)).count();
    // Five slots less the one that is a gap in every column.
    assert_eq!(count(|seen| matches!(seen, Observation::Gpu(_))), 4);
    assert_eq!(count(|seen| matches!(seen, Observation::Node(_))), 5);
    assert_eq!(
        count(|seen| matches!(seen, Observation::Inventory { .. })),
        1
    );
    assert_eq!(count(|seen| matches!(seen, Observation::Termination(_))), 1);
    // Every field that a recording is written with is on the page.
    for text in [example, &small().to_json()] {
        let value: serde_json::Value = serde_json::from_str(text).expect("JSON");
        let mut keys = Vec::new();
        fields(&value, &mut keys);
        for key in keys {
            assert!(
                page.contains(&format!("`{key}`")),
                "`{key}` is not described"
            );
        }
    }
}

/// The names of fields; keys of free maps are no fields.
fn fields(value: &serde_json::Value, into: &mut Vec<String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                into.push(key.clone());
                if ![
                    "labels",
                    "allocatable",
                    "capacity",
                    "gpu_requests",
                    "values",
                ]
                .contains(&key.as_str())
                {
                    fields(value, into);
                }
            }
        }
        serde_json::Value::Array(values) => values.iter().for_each(|value| fields(value, into)),
        _ => {}
    }
}

#[test]
fn gaps_are_no_observations_and_holders_are_in_time() {
    let recording = small();
    let gpus: Vec<_> = batches(&recording)
        .into_iter()
        .flat_map(|batch| batch.observations)
        .filter_map(|seen| match seen {
            Observation::Gpu(seen) => Some(seen),
            _ => None,
        })
        .collect();
    assert_eq!(gpus.len(), 10);
    let end = recording.terminations[0].finished.expect("an end");
    for seen in &gpus {
        assert_eq!(seen.holders.is_empty(), seen.at >= end, "{}", seen.at);
        assert!(std::sync::Arc::ptr_eq(&seen.identity, &gpus[0].identity));
    }
}

#[test]
fn what_cannot_be_is_refused_with_its_place() {
    let text = small().to_json();
    for (from, to, wanted) in [
        (
            "\"interval\": \"15s\"",
            "\"interval\": \"15\"",
            "line 5 column",
        ),
        (
            "\"interval\": \"15s\"",
            "\"interval\": \"2d\"",
            "interval: 2d is not between 1s and 1d",
        ),
        (
            "\"id\": \"kubernetes\"",
            "\"id\": \"dcgm\"",
            "sources[1].id: `dcgm` is there twice",
        ),
        (
            "\"id\": \"dcgm\"",
            "\"id\": \"ganglia\"",
            "unknown variant `ganglia`",
        ),
        (
            "\"slots\": 10,",
            "\"slots\": 1000000000,",
            "series[0].slots: 1000000000 is more than 50000 slots",
        ),
        ("\"slots\": 10,", "\"slots\": 10000000000,", "line "),
        ("\"slots\": 10,", "\"slots\": -1,", "line "),
        ("\"slots\": 10,", "\"slots\": 9,", "10 values for 9 slots"),
        (
            "\"xid\": 0",
            "\"xid\": 79.5",
            "series[0].values[\"xid\"][0]: 79.5 cannot be: want a whole number from 0 to 65534",
        ),
        ("\"xid\": 0", "\"xid\": NaN", "line "),
        ("\"xid\": 0", "\"xid\": 1e999", "number out of range"),
        (
            "\"xid\": 0",
            "\"xid\": 1e300",
            "series[0].values[\"xid\"][0]",
        ),
        (
            "\"xid\": 0",
            "\"xid\": 0, \"xid\": 79",
            "series `xid` is there twice at line",
        ),
        ("\"xid\": 0", "\"x\": 0", "`x` is not a signal"),
        (
            "\"allocatable[nvidia.com/gpu]\"",
            "\"allocated\"",
            "series[1].values[\"allocated\"]: `allocated` is not a node's series",
        ),
        (
            "\"holders\": [",
            "\"holders\": [{\"gpu\":\"GPU-x\",\"namespace\":\"n\",\"pod\":\"p\",\"from\":\"2026-03-14T02:00:00Z\",\"to\":\"2026-03-14T02:00:00Z\"},",
            "holders[0].gpu: no series is about `GPU-x`",
        ),
        (
            "\"finished\": \"2026-03-14T02:05:00Z\"",
            "\"finished\": \"-009000-03-14T02:05:00Z\"",
            "terminations[0].finished",
        ),
        (
            "\"now\": \"2026-03-14T02:07:00Z\"",
            "\"now\": \"9999-03-14T02:07:00Z\"",
            "now: 9999-",
        ),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text, "{from}");
        let error = refused(&changed);
        assert!(error.contains(wanted), "{to}: {error}");
    }
    let mut twice = small();
    twice.nodes.push(twice.nodes[0].clone());
    assert_eq!(
        twice.check().expect_err("twice").to_string(),
        "nodes[1].name: `n1` is there twice"
    );
    let mut sourceless = small();
    sourceless.sources.pop();
    let error = sourceless.check().expect_err("no source").to_string();
    assert!(error.contains("told by the source `kubernetes`"), "{error}");
}

/// Puts a time into a recording.
type Change = fn(&mut Recording, Timestamp);

#[test]
fn what_was_seen_after_now_is_refused() {
    let good = small();
    good.check().expect("good");
    let late = good.now + Span::seconds(16).get();
    let soon = good.now + Span::seconds(15).get();
    let table: [(Change, &str); 8] = [
        (|r, at| r.sources[0].since = at, "sources[0].since"),
        (
            |r, at| r.sources[0].last_attempt = Some(at),
            "sources[0].last_attempt",
        ),
        (
            |r, at| r.sources[0].last_success = Some(at),
            "sources[0].last_success",
        ),
        (
            |r, at| r.sources[0].targets[0].last_success = Some(at),
            "sources[0].targets[0].last_success",
        ),
        (
            |r, at| {
                let lists = r.sources[1].lists.as_mut().expect("lists");
                lists.pods = gpulens::snapshot::ListState::Synced(at);
            },
            "sources[1].lists.pods.synced",
        ),
        (|r, at| r.holders[0].to = at, "holders[0].to"),
        (
            |r, at| {
                let series = &mut r.series[0];
                let back = series.every.get() * i32::try_from(series.slots - 1).expect("few");
                series.from = at - back;
            },
            "series[0].slots",
        ),
        (
            |r, at| r.pods[0].started = (at > r.now).then_some(Timestamp::MAX),
            "pods[0].started",
        ),
    ];
    for (change, place) in table {
        let mut recording = good.clone();
        change(&mut recording, late);
        let error = recording.check().expect_err(place).to_string();
        assert!(error.starts_with(place), "{place}: {error}");
        if !place.starts_with("pods") {
            let wanted = "lies after `now`; want at most 2026-03-14T02:07:15Z";
            assert!(error.contains(wanted), "{error}");
            change(&mut recording, soon);
            recording.check().expect(place);
        }
    }
    let mut ancient = good;
    let old: Timestamp = "1677-12-31T00:00:00Z".parse().expect("a time");
    let lists = ancient.sources[1].lists.as_mut().expect("lists");
    lists.nodes = gpulens::snapshot::ListState::Synced(old);
    let error = ancient.check().expect_err("ancient").to_string();
    assert!(
        error.starts_with("sources[1].lists.nodes.synced"),
        "{error}"
    );
    assert!(error.contains("the years 1678 and 2261"), "{error}");
}

#[test]
fn depth_and_size_are_bounded() {
    let deep = "[".repeat(100_000);
    assert!(refused(&deep).contains("line 1 column"));
    let nested = format!("{{\"series\": {deep}");
    assert!(refused(&nested).contains("line 1 column"));
    let many = "0,".repeat(50_001);
    let text = small()
        .to_json()
        .replacen("\"xid\": 0", &format!("\"xid\": [{many}0]"), 1);
    assert!(refused(&text).contains("more than 50000 values at line"));
    // No values, many slots, many subjects: nothing that is cheap to write is dear to play.
    let mut wide = small();
    let mut series = wide.series[0].clone();
    series.slots = 50_000;
    series.values.clear();
    wide.series = vec![series; 161];
    assert!(
        wide.check()
            .expect_err("wide")
            .to_string()
            .starts_with("series[160].slots: more than")
    );
}

#[test]
fn files_are_read_in_order_and_errors_name_them() {
    let directory = std::env::temp_dir().join(format!("gpulens-recording-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let write = |name: &str, text: &str| {
        std::fs::write(directory.join(name), text).expect("written");
    };
    let empty = read_all(&[&directory]).expect_err("nothing there");
    assert!(matches!(empty, ReadError::Empty { .. }), "{empty}");

    let mut later = small();
    write("b.json", &later.to_json());
    later.now = "2026-03-14T02:08:00Z".parse().expect("a time");
    write("a.json", &later.to_json());
    write("notes.txt", "not a recording");
    write(".hidden.json", "not a recording");
    let timelines = read_all(&[&directory]).expect("valid");
    assert_eq!(timelines.len(), 1);
    let steps = timelines[0].steps.iter();
    let order: Vec<_> = steps
        .filter_map(|step| step.path.file_name()?.to_str())
        .collect();
    assert_eq!(order, ["b.json", "a.json"]);

    write("c.json", &later.to_json());
    let twice = read_all(&[&directory]).expect_err("twice").to_string();
    assert!(
        twice.contains("a.json and ") && twice.contains("c.json are both"),
        "{twice}"
    );

    write("d.json", "{\n  \"schema\": 1\n}");
    let error = read(&directory.join("d.json"))
        .expect_err("wrong")
        .to_string();
    assert!(
        error.contains("d.json: ") && error.contains("at line 2 column 13"),
        "{error}"
    );
    let error = read(&directory.join("e.json"))
        .expect_err("missing")
        .to_string();
    assert!(
        error.starts_with("cannot read ") && error.contains("e.json"),
        "{error}"
    );
    std::fs::remove_dir_all(&directory).expect("removed");
}

/// Text that is nearly a recording.
fn mutated() -> impl Strategy<Value = Vec<u8>> {
    let text = small().to_json().into_bytes();
    let end = text.len();
    let piece = prop_oneof![
        any::<u8>().prop_map(|byte| vec![byte]),
        proptest::sample::select(vec![
            "null",
            "-1",
            "1e308",
            "1e999",
            "0.5",
            "{}",
            "[]",
            "\"\"",
            "true",
            "\\u0000",
            "]",
            "}",
            ",",
            ":",
            "\"",
            "18446744073709551616",
            "\"0001-01-01T00:00:00Z\"",
            "\"1000000y\"",
        ])
        .prop_map(|text| text.as_bytes().to_vec()),
    ];
    let edits = proptest::collection::vec((0..end, 0..24_usize, piece), 1..4);
    edits.prop_map(move |edits| {
        let mut text = text.clone();
        for (start, length, piece) in edits {
            let start = start.min(text.len());
            let end = (start + length).min(text.len());
            text.splice(start..end, piece);
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn changed_text_never_panics_and_errors_have_a_place(text in mutated()) {
        match Recording::parse(&text) {
            Ok(recording) => {
                let again = Recording::parse(recording.to_json().as_bytes());
                prop_assert_eq!(again.expect("its own output"), recording.clone());
                let _ = batches(&recording);
            }
            Err(RecordingError::Json(error)) => {
                prop_assert!(error.line() > 0 && error.to_string().contains(" line "), "{error}");
            }
            Err(RecordingError::Content { place, problem }) => {
                prop_assert!(!place.is_empty() && !problem.is_empty());
            }
        }
    }

    #[test]
    fn any_number_survives_writing(value in proptest::num::f64::ANY) {
        let mut recording = small();
        let values = gpulens::snapshot::SeriesValues::Column(vec![Some(value); 10]);
        recording.series[0].values.insert("energy_joules".to_owned(), values);
        let valid = recording.check().is_ok();
        prop_assert_eq!(valid, (0.0..=1e15).contains(&value));
        if valid {
            let again = Recording::parse(recording.to_json().as_bytes()).expect("its own output");
            prop_assert_eq!(again, recording);
        }
    }
}
