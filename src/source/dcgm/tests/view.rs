//! What is kept between scrapes and takes, and when scrapes are due.

use std::time::Duration;

use jiff::SignedDuration;

use super::super::target::Schedule;
use super::super::view::{Scrape, View};
use super::*;
use crate::snapshot::{ErrorKind, Observation, SourceError, SourceState, TargetState};

fn endpoint(url: &str) -> Endpoint {
    Endpoint::from(&Target::parse(url, None).expect("a URL"))
}

fn view(urls: &[&str]) -> View {
    let mut view = View::new(at());
    for url in urls {
        view.set(endpoint(url), at());
    }
    view
}

fn good(seconds: i64, text: &str) -> Scrape {
    let at = at() + SignedDuration::from_secs(seconds);
    let body = Body {
        at,
        ..body(text.as_bytes())
    };
    Scrape {
        at,
        took: Duration::from_millis(20),
        read: Some(decoder().decode(body, &origin())),
        error: None,
    }
}

fn failed(seconds: i64, kind: ErrorKind) -> Scrape {
    Scrape {
        at: at() + SignedDuration::from_secs(seconds),
        took: Duration::from_millis(20),
        read: None,
        error: Some(SourceError {
            kind,
            message: "said why".to_owned(),
        }),
    }
}

/// Files an attempt long after it began.
fn record(view: &mut View, url: &std::sync::Arc<str>, scrape: Scrape) {
    view.record(url, scrape, at() + SignedDuration::from_hours(1));
}

fn url(name: &str) -> std::sync::Arc<str> {
    format!("http://{name}:9400/metrics").into()
}

fn line(uuid: &str) -> String {
    format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{uuid}\",Hostname=\"host-{uuid}\"}} 41\n")
}

fn uuids(batch: &crate::snapshot::Batch) -> Vec<String> {
    let told = batch
        .observations
        .iter()
        .map(|observation| match observation {
            Observation::Gpu(gpu) => {
                let target = gpu.identity.target.as_deref().unwrap_or_default();
                assert_eq!(target, "http://n1:9400/metrics");
                gpu.uuid.to_string()
            }
            other => panic!("not a GPU: {other:?}"),
        });
    told.collect()
}

#[test]
fn a_target_is_pending_up_down_and_remembers() {
    let mut view = view(&["n1:9400"]);
    let first = view.take().status;
    assert_eq!(first.state, SourceState::Pending);
    assert!(!first.is_tried());
    assert_eq!(first.errors.len(), ErrorKind::ALL.len());
    assert!(
        first
            .errors
            .values()
            .chain(first.rejected.values())
            .all(|count| *count == 0)
    );
    assert!(first.rejected.contains_key("no_gpu") && first.rejected.contains_key("bad_labels"));

    record(&mut view, &url("n1"), good(0, &line("GPU-1")));
    let batch = view.take();
    assert_eq!(uuids(&batch), ["GPU-1"]);
    let target = &batch.status.targets[0];
    assert_eq!(
        (target.state, target.gpus, target.samples),
        (TargetState::Up, 1, 1)
    );
    assert_eq!(target.node, Some("host-GPU-1".into()));
    assert_eq!(batch.status.state, SourceState::Up);
    assert!(
        view.take().observations.is_empty(),
        "each scrape is given once"
    );

    record(&mut view, &url("n1"), failed(15, ErrorKind::Refused));
    let status = view.take().status;
    assert_eq!(
        (status.state, status.errors[&ErrorKind::Refused]),
        (SourceState::Down, 1)
    );
    assert_eq!(
        status.error.as_ref().map(|error| error.kind),
        Some(ErrorKind::Refused)
    );
    let target = &status.targets[0];
    assert_eq!(target.state, TargetState::Down);
    assert_eq!(target.last_success, Some(at()));
    assert_eq!(target.gpus, 1, "as of the last good body");
    assert_eq!(
        (target.since, target.node.clone()),
        (at(), Some("host-GPU-1".into()))
    );

    record(&mut view, &url("n1"), good(30, &line("GPU-1")));
    let status = view.take().status;
    assert_eq!(status.targets[0].error, None);
    assert_eq!(status.error, None);
    assert_eq!(status.errors[&ErrorKind::Refused], 1, "counted since start");
}

#[test]
fn an_empty_page_is_an_answer_and_dated() {
    let mut view = view(&["n1:9400"]);
    let empty_since = |view: &mut View| view.take().status.targets[0].empty_since;
    record(&mut view, &url("n1"), good(0, ""));
    assert_eq!(view.take().status.targets[0].state, TargetState::Up);
    record(
        &mut view,
        &url("n1"),
        good(15, "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"),
    );
    record(&mut view, &url("n1"), failed(30, ErrorKind::Timeout));
    assert_eq!(empty_since(&mut view), Some(at()), "a failure is no page");
    record(&mut view, &url("n1"), good(45, &line("GPU-1")));
    assert_eq!(empty_since(&mut view), None);
}

#[test]
fn of_what_nobody_takes_the_latest_is_kept() {
    let mut view = view(&["n1:9400"]);
    for round in 0..7 {
        record(
            &mut view,
            &url("n1"),
            good(15 * round, &(line("GPU-1") + &line("GPU-2"))),
        );
    }
    let batch = view.take();
    assert_eq!(batch.observations.len(), 8);
    assert_eq!(batch.status.rejected["not_taken"], 6);
    let oldest = batch
        .observations
        .iter()
        .map(|observation| match observation {
            Observation::Gpu(gpu) => gpu.at,
            other => panic!("not a GPU: {other:?}"),
        });
    assert_eq!(oldest.min(), Some(at() + SignedDuration::from_secs(45)));
}

#[test]
fn of_two_targets_with_one_board_the_first_counts_while_it_answers() {
    let mut view = view(&["a:9400", "b:9400"]);
    let both = line("GPU-1") + &line("GPU-2");
    record(&mut view, &url("a"), good(0, &line("GPU-1")));
    record(&mut view, &url("b"), good(0, &both));
    let batch = view.take();
    assert_eq!(uuids(&batch), ["GPU-1", "GPU-2"]);
    assert_eq!(batch.status.rejected["other_target"], 1);
    for (target, other) in [(0, "http://b:9400"), (1, "http://a:9400")] {
        let notes = &batch
            .status
            .targets
            .iter()
            .find(|t| *t.url == *url(["a", "b"][target]));
        let notes = &notes.expect("a target").notes;
        assert!(
            notes.len() == 1 && notes[0].contains(other) && notes[0].contains("GPU-1"),
            "{notes:?}"
        );
    }
    // The first falls silent: the second is believed, and there is nothing to note.
    record(&mut view, &url("a"), failed(15, ErrorKind::Refused));
    record(&mut view, &url("b"), good(15, &both));
    let batch = view.take();
    assert_eq!(uuids(&batch), ["GPU-1", "GPU-2"]);
    assert!(
        batch
            .status
            .targets
            .iter()
            .all(|target| target.notes.is_empty())
    );
    // It comes back, then is no target any more.
    record(&mut view, &url("a"), good(30, &line("GPU-1")));
    record(&mut view, &url("b"), good(30, &both));
    assert_eq!(view.take().observations.len(), 2);
    view.remove(&url("a"));
    record(&mut view, &url("b"), good(45, &both));
    let batch = view.take();
    assert_eq!(uuids(&batch), ["GPU-1", "GPU-2"]);
    assert_eq!(batch.status.targets.len(), 1);
}

#[test]
fn no_targets_are_tried_and_down() {
    let status = view(&[]).take().status;
    assert_eq!(status.state, SourceState::Down);
    assert!(status.is_tried());
}

#[test]
fn scrapes_are_spread_and_an_interval_apart() {
    let interval = Duration::from_secs(15);
    let mut thirds = [0; 3];
    for n in 0..3000 {
        let schedule = Schedule::new(
            &format!("http://10.0.{}.{}:9400/metrics", n / 250, n % 250),
            interval,
        );
        let first = schedule.first();
        assert!(first < Duration::from_secs(2), "{first:?}");
        let second = first + schedule.next(first, first);
        let gap = second.as_secs_f64() - first.as_secs_f64();
        assert!((7.4..=22.6).contains(&gap), "{gap}");
        thirds[(second.as_secs_f64() % 15.0 / 5.0) as usize] += 1;
        // From then on exactly an interval apart, also after a slow scrape.
        let slow = second + Duration::from_secs(9);
        let third = slow + schedule.next(second, slow);
        let apart = third.as_secs_f64() - second.as_secs_f64();
        assert!((apart - 15.0).abs() < 1e-6, "{apart}");
    }
    assert!(
        thirds.iter().all(|count| (900..1100).contains(count)),
        "{thirds:?}"
    );
    let again = Schedule::new("http://n1:9400/metrics", interval);
    assert_eq!(again, Schedule::new("http://n1:9400/metrics", interval));
}

#[test]
fn configuration_is_read_strictly() {
    let read = serde_saphyr::from_str::<DcgmConfig>;
    let good = read("targets:\n  - { url: 'n1:9400', node: n1 }\n  - url: https://n2:9400/x?y=z\n")
        .expect("good");
    let urls: Vec<_> = good
        .targets
        .iter()
        .map(|target| &**target.url.shown())
        .collect();
    assert_eq!(urls, ["http://n1:9400/metrics", "https://n2:9400/x"]);
    for (bad, why) in [
        ("targets: [{url: 'ftp://n1/'}]", "not http or https"),
        ("targets: [{url: 'http://u:hunter2@n1/'}]", "basic_auth"),
        ("targets: [{url: 'http://'}]", "not a URL"),
        (
            "targets: [{url: 'n1:9400'}, {url: 'http://n1:9400/metrics?a=b'}]",
            "two targets",
        ),
        ("targets: [{url: 'n1:9400', node: ''}]", "node"),
        ("target: []", "target"),
        ("concurrency: 0", "between 1 and 10000"),
        (
            "metrics: {my-temp: {signal: core_temperature_celsius}}",
            "not a metric name",
        ),
        (
            "metrics: {my_temp: {signal: core_temperature}}",
            "core_temperature_celsius",
        ),
        (
            "metrics: {my_temp: {signal: core_temperature_celsius, factor: 0}}",
            "above 0",
        ),
        ("metrics: {a: {signal: xid}, A: {signal: xid}}", "twice"),
        (
            "http: {bearer_token: a, basic_auth: {username: u}}",
            "one of",
        ),
    ] {
        let error = read(bad).expect_err(bad).to_string();
        assert!(error.contains(why), "{bad}: {error}");
        // The parser shows the line beneath its message; the message itself must not.
        let message = error.lines().next().unwrap_or_default();
        assert!(!message.contains("hunter2"), "{message}");
    }
}

#[test]
fn nothing_was_seen_later_than_now() {
    let mut view = view(&["n1:9400"]);
    let own_time = at().as_millisecond() + 7_230_000;
    let text = line("GPU-1") + &line("GPU-2").replace(" 41", &format!(" 41 {own_time}"));
    // It began at a time that the clock, set back by two hours meanwhile, has yet to reach.
    let now = at() + SignedDuration::from_secs(5);
    view.record(&url("n1"), good(7200, &text), now);
    let batch = view.take();
    let times = batch.observations.iter().map(|seen| match seen {
        Observation::Gpu(gpu) => gpu.at,
        other => panic!("not a GPU: {other:?}"),
    });
    assert_eq!(times.collect::<Vec<_>>(), [now; 2]);
    let target = &batch.status.targets[0];
    assert_eq!(
        (target.last_attempt, target.last_success),
        (Some(now), Some(now))
    );
}
