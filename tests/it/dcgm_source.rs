//! The dcgm source over real sockets.

use std::io::Write;
use std::time::Duration;

use gpulens::snapshot::{
    Batch, ErrorKind, GpuObservation, NodeAttribution, Observation, SourceState, SourceStatus,
    Span, TargetState, TargetStatus,
};
use gpulens::source::dcgm::{DcgmConfig, DcgmSource, Target};
use gpulens::source::read_only::{HttpConfig, install_crypto};
use tokio::time::{sleep, timeout};

use crate::fake_exporter::{Answer, FakeExporter, Manner};

const PLAIN: &str = "Content-Type: text/plain; version=0.0.4\r\n";

pub(crate) fn line(uuid: &str) -> String {
    format!("DCGM_FI_DEV_GPU_TEMP{{gpu=\"0\",UUID=\"{uuid}\"}} 41\n")
}

pub(crate) fn good(uuid: &str) -> Manner {
    Manner::Answer(Answer::new(200, PLAIN, line(uuid)))
}

pub(crate) fn config(urls: &[String]) -> DcgmConfig {
    let targets = urls.iter().map(|url| Target::parse(url, None).expect(url));
    DcgmConfig {
        targets: targets.collect(),
        ..DcgmConfig::default()
    }
}

pub(crate) fn start(config: &DcgmConfig, interval_millis: u64) -> DcgmSource {
    install_crypto();
    let clock = std::sync::Arc::default();
    DcgmSource::start(config, Duration::from_millis(interval_millis), clock).expect("a source")
}

/// Takes until the status is as wanted; all observations on the way, and the last status.
pub(crate) async fn until(
    source: &DcgmSource,
    wanted: impl Fn(&SourceStatus) -> bool,
) -> (Vec<GpuObservation>, SourceStatus) {
    let mut seen = Vec::new();
    let waiting = async {
        loop {
            let Batch {
                observations,
                status,
                ..
            } = source.take();
            seen.extend(
                observations
                    .into_iter()
                    .map(|observation| match observation {
                        Observation::Gpu(gpu) => gpu,
                        other => panic!("not a GPU: {other:?}"),
                    }),
            );
            if wanted(&status) {
                return status;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    let status = timeout(Duration::from_secs(20), waiting).await;
    let status = status.unwrap_or_else(|_| panic!("never as wanted: {:#?}", source.take().status));
    (seen, status)
}

pub(crate) fn target<'a>(status: &'a SourceStatus, url: &str) -> &'a TargetStatus {
    let found = status.targets.iter().find(|target| &*target.url == url);
    found.unwrap_or_else(|| panic!("{url} is not among {:?}", status.targets))
}

pub(crate) fn uuids(seen: &[GpuObservation]) -> Vec<&str> {
    let mut uuids: Vec<_> = seen.iter().map(|gpu| gpu.uuid.as_str()).collect();
    uuids.sort_unstable();
    uuids.dedup();
    uuids
}

pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

pub(crate) fn raw(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}").into_bytes()
}

#[tokio::test]
async fn the_last_line_counts_only_where_its_end_is_known() {
    let part = |uuid: &str| {
        let whole = line(uuid);
        format!("{whole}DCGM_FI_DEV_POWER_USAGE{{UUID=\"{uuid}\"}} 30")
    };
    let length = Manner::Answer(Answer::new(200, PLAIN, part("GPU-length")));
    let text = part("GPU-chunks");
    let chunks = format!("{:x}\r\n{text}\r\n0\r\n\r\n", text.len());
    let chunks = Manner::Raw(raw("Transfer-Encoding: chunked\r\n", &chunks));
    let open = Manner::Raw(raw(PLAIN, &part("GPU-open")));
    let old = Manner::Raw(format!("HTTP/1.0 200 OK\r\n\r\n{}", part("GPU-old")).into_bytes());
    let ended = Manner::Raw(raw(PLAIN, &(part("GPU-ended") + "\n")));
    let mut exporters = Vec::new();
    for manner in [length, chunks, open, old, ended] {
        exporters.push(FakeExporter::start(manner).await);
    }
    let urls: Vec<_> = exporters.iter().map(FakeExporter::url).collect();
    let source = start(&config(&urls), 10_000);
    let (seen, status) = until(&source, SourceStatus::is_tried).await;
    for (uuid, url, readings, notes) in [
        ("GPU-length", &urls[0], 2, 0),
        ("GPU-chunks", &urls[1], 2, 0),
        ("GPU-open", &urls[2], 1, 1),
        ("GPU-old", &urls[3], 1, 1),
        ("GPU-ended", &urls[4], 2, 0),
    ] {
        let target = target(&status, url);
        assert_eq!(target.state, TargetState::Up, "{uuid}: {:?}", target.error);
        assert_eq!(target.notes.len(), notes, "{uuid}: {:?}", target.notes);
        let gpu = seen.iter().find(|gpu| gpu.uuid.as_str() == uuid);
        assert_eq!(gpu.expect(uuid).readings.len(), readings, "{uuid}");
    }
    assert_eq!(status.rejected["truncated"], 2);
}

#[tokio::test]
async fn a_lenient_body_is_read_whatever_its_type() {
    let messy = [
        "# HELP DCGM_FI_DEV_GPU_TEMP °C\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
        &line("GPU-1"),
        "# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n",
        &line("GPU-1"),
        "DCGM_FI_DEV_POWER_USAGE{UUID=\"GPU-1\"} NaN\n",
        "DCGM_FI_DEV_MEMORY_TEMP{UUID=\"GPU-1\"} 9223372036854775794\n",
        "DCGM_FI_DEV_GPU_UTIL{UUID=\"GPU-1\"} 808334905\n",
        "DCGM_FI_DEV_FB_USED{UUID=\"GPU-1\"} +Inf\n",
    ]
    .concat();
    let mut messy = messy.into_bytes();
    messy.extend_from_slice(b"DCGM_FI_DEV_SM_CLOCK{UUID=\"GPU-\xff\"} 1\n");
    let typed = "Content-Type: application/octet-stream\r\n";
    let messy = FakeExporter::start(Manner::Answer(Answer::new(200, typed, messy))).await;
    let packed = gzip(line("GPU-2").as_bytes());
    let packed = Answer::new(200, "Content-Encoding: gzip\r\n", packed);
    let packed = FakeExporter::start(Manner::Answer(packed)).await;
    let text = line("GPU-3");
    let (a, b) = text.split_at(20);
    let chunks = format!("{:x}\r\n{a}\r\n{:x}\r\n{b}\r\n0\r\n\r\n", a.len(), b.len());
    let chunked = raw("Transfer-Encoding: chunked\r\n", &chunks);
    let chunked = FakeExporter::start(Manner::Raw(chunked)).await;
    let old = b"HTTP/1.0 200 OK\r\n\r\nDCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-4\"} 41\n";
    let old = FakeExporter::start(Manner::Raw(old.to_vec())).await;

    let exporters = [&messy, &packed, &chunked, &old];
    let source = start(&config(&exporters.map(FakeExporter::url)), 1000);
    let (seen, status) = until(&source, SourceStatus::is_tried).await;
    assert!(
        status.targets.iter().all(|t| t.state == TargetState::Up),
        "{status:#?}"
    );
    assert_eq!(uuids(&seen), ["GPU-1", "GPU-2", "GPU-3", "GPU-4"]);
    assert_eq!(status.rejected["sentinel"], 2);
    assert_eq!(status.rejected["out_of_bounds"], 2);
    assert_eq!(status.rejected["invalid_utf8"], 1);
    let notes = &target(&status, &messy.url()).notes;
    assert!(
        notes.len() == 1 && notes[0].contains("invalid_utf8"),
        "{notes:?}"
    );
}

#[tokio::test]
async fn a_page_without_a_gpu_is_an_answer() {
    let exporter = FakeExporter::start(Manner::Answer(Answer::new(200, "", ""))).await;
    let source = start(&config(&[exporter.url()]), 50);
    let (_, status) = until(&source, SourceStatus::is_tried).await;
    let first = status.targets[0].empty_since.expect("empty");
    assert_eq!((status.state, status.targets[0].gpus), (SourceState::Up, 0));
    let later = |status: &SourceStatus| status.last_success > Some(first);
    let (_, status) = until(&source, later).await;
    assert_eq!(status.targets[0].empty_since, Some(first));
    exporter.set(good("GPU-1"));
    until(&source, |status| status.targets[0].gpus == 1).await;
    exporter.set(Manner::Answer(Answer::new(500, "", "")));
    let (_, status) = until(&source, |status| status.state == SourceState::Down).await;
    assert_eq!(status.error.expect("an error").kind, ErrorKind::ServerError);
    exporter.set(good("GPU-1"));
    until(&source, |status| status.state == SourceState::Up).await;
}

#[tokio::test]
async fn a_connection_is_kept_and_a_lost_one_costs_nothing() {
    let exporter = FakeExporter::start(good("GPU-1")).await;
    let closing = Answer::new(200, PLAIN, line("GPU-2"));
    let closing = FakeExporter::start(Manner::OncePerConnection(closing)).await;
    let source = start(&config(&[exporter.url(), closing.url()]), 40);
    let mut failures = 0;
    while exporter.requests().len() < 10 || closing.requests().len() < 10 {
        let status = source.take().status;
        failures = status.errors.values().sum();
        sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(exporter.connections(), 1);
    assert!(closing.connections() > 1);
    assert_eq!(failures, 0);
    let head = &exporter.requests()[0];
    assert!(head.starts_with("GET /metrics HTTP/1.1\r\n"), "{head}");
    let agent = concat!("user-agent: gpulens/", env!("CARGO_PKG_VERSION"), "\r\n");
    assert!(
        head.contains(agent) && head.contains("accept-encoding: gzip\r\n"),
        "{head}"
    );
    assert!(
        !head.contains("authorization") && !head.contains("cookie"),
        "{head}"
    );
}

#[tokio::test]
async fn many_hanging_targets_do_not_delay_the_others() {
    let hanging = FakeExporter::start(Manner::Hang(vec![])).await;
    let healthy = FakeExporter::start(good("GPU-1")).await;
    let mut urls: Vec<_> = (0..40).map(|n| format!("{}/{n}", hanging.url())).collect();
    urls.push(healthy.url());
    let mut config = config(&urls);
    config.concurrency = 12;
    let _source = start(&config, 1000);
    sleep(Duration::from_secs(7)).await;
    // 40 hang for 1 s each. Were their places kept that long, a round would take 3.3 s.
    let rounds = healthy.requests().len();
    assert!(rounds >= 5, "{rounds}");
}

#[tokio::test]
async fn a_configured_node_and_a_second_exporter_are_told() {
    let body = "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-1\",Hostname=\"by-label\"} 41\n";
    let answer = || Manner::Answer(Answer::new(200, PLAIN, body));
    let (one, two) = (
        FakeExporter::start(answer()).await,
        FakeExporter::start(answer()).await,
    );
    let mut config = config(&[one.url(), two.url()]);
    config.targets[0].node = Some("by-hand".into());
    config.targets[1].node = Some("by-hand".into());
    let source = start(&config, 200);
    until(&source, SourceStatus::is_tried).await;
    sleep(Duration::from_millis(500)).await;
    let (seen, status) = until(&source, |_| true).await;
    let first = one.url().min(two.url());
    assert!(!seen.is_empty());
    for gpu in &seen {
        assert_eq!(gpu.identity.node, Some("by-hand".into()));
        assert_eq!(gpu.identity.node_by, NodeAttribution::Configured);
        assert_eq!(gpu.identity.target.as_deref(), Some(&*first));
    }
    assert!(
        status.targets.iter().all(|target| target.notes.len() == 1),
        "{status:?}"
    );
    assert!(status.rejected["other_target"] > 0);
}

#[tokio::test]
async fn a_name_that_does_not_resolve_is_told_apart() {
    let source = start(
        &config(&["http://gpulens-test.invalid:9400".to_owned()]),
        5000,
    );
    let (_, status) = until(&source, SourceStatus::is_tried).await;
    let error = status.targets[0].error.as_ref().expect("an error");
    assert_eq!(error.kind, ErrorKind::Dns, "{error:?}");
}

#[tokio::test]
async fn stopping_ends_every_scrape() {
    let exporter = FakeExporter::start(good("GPU-1")).await;
    let hanging = FakeExporter::start(Manner::Hang(vec![])).await;
    let urls = [exporter.url(), hanging.url()];
    let source = start(&config(&urls), 30);
    until(&source, |status| status.last_success.is_some()).await;
    timeout(Duration::from_secs(1), source.stop())
        .await
        .expect("prompt");
    let before = exporter.requests().len();
    sleep(Duration::from_millis(150)).await;
    assert_eq!(exporter.requests().len(), before);
    // Dropping does as well, and a target taken from the list is left alone.
    let source = start(&config(&urls), 30);
    until(&source, |status| status.last_success.is_some()).await;
    source.retarget(Vec::new());
    assert!(source.take().status.targets.is_empty());
    sleep(Duration::from_millis(50)).await;
    let before = exporter.requests().len();
    sleep(Duration::from_millis(150)).await;
    assert_eq!(exporter.requests().len(), before);
    drop(source);
}

#[tokio::test]
async fn credentials_are_sent_renewed_and_never_shown() {
    let ok = || Answer::new(200, PLAIN, line("GPU-1"));
    let directory = std::env::temp_dir().join(format!("gpulens-token-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("a directory");
    let file = directory.join("token");
    std::fs::write(&file, "first-s3cr3t\n").expect("a file");
    let guarded = |wanted: &str| Manner::Guarded(401, wanted.to_owned(), ok());
    let exporter = FakeExporter::start(guarded("Bearer first-s3cr3t")).await;
    let mut config = config(&[exporter.url()]);
    config.http = serde_json::from_value::<HttpConfig>(serde_json::json!({
        "bearer_token_file": file,
    }))
    .expect("good settings");
    let source = start(&config, 50);
    until(&source, |status| status.state == SourceState::Up).await;
    std::fs::write(&file, "second-s3cr3t").expect("a file");
    exporter.set(guarded("Bearer second-s3cr3t"));
    // The refused one makes us read the file anew.
    let refused = |status: &SourceStatus| status.errors[&ErrorKind::Unauthorized] > 0;
    let (_, status) = until(&source, refused).await;
    assert!(!format!("{status:?}").contains("s3cr3t"));
    until(&source, |status| status.state == SourceState::Up).await;
    drop(source);
    std::fs::remove_dir_all(&directory).expect("our directory");
    let source = start(&config, 50);
    let (_, status) = until(&source, SourceStatus::is_tried).await;
    let error = status.targets[0].error.as_ref().expect("an error");
    assert_eq!(error.kind, ErrorKind::Unauthorized);
    assert!(
        error.message.contains("token"),
        "names the file: {}",
        error.message
    );

    let basic = FakeExporter::start(guarded("Basic dXNlcjpzM2NyM3Q=")).await;
    config.targets = vec![Target::parse(&basic.url(), None).expect("a URL")];
    config.http = serde_json::from_value(serde_json::json!({
        "basic_auth": { "username": "user", "password": "s3cr3t" },
    }))
    .expect("good settings");
    let shown = format!(
        "{config:?} {}",
        serde_json::to_string(&config).expect("JSON")
    );
    assert!(
        !shown.contains("s3cr3t") && shown.contains("<secret>"),
        "{shown}"
    );
    let source = start(&config, 50);
    until(&source, |status| status.state == SourceState::Up).await;
    assert_eq!(config.http.timeout, Span::seconds(10));
}
