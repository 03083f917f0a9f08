//! The dcgm source over real sockets: each way a target can fail has its outcome.

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

fn line(uuid: &str) -> String {
    format!("DCGM_FI_DEV_GPU_TEMP{{gpu=\"0\",UUID=\"{uuid}\"}} 41\n")
}

fn good(uuid: &str) -> Manner {
    Manner::Answer(Answer::new(200, PLAIN, line(uuid)))
}

fn config(urls: &[String]) -> DcgmConfig {
    let targets = urls.iter().map(|url| Target::parse(url, None).expect(url));
    DcgmConfig {
        targets: targets.collect(),
        ..DcgmConfig::default()
    }
}

fn start(config: &DcgmConfig, interval_millis: u64) -> DcgmSource {
    install_crypto();
    DcgmSource::start(config, Duration::from_millis(interval_millis)).expect("a source")
}

/// Takes until the status is as wanted; all observations on the way, and the last status.
async fn until(
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

fn target<'a>(status: &'a SourceStatus, url: &str) -> &'a TargetStatus {
    let found = status.targets.iter().find(|target| &*target.url == url);
    found.unwrap_or_else(|| panic!("{url} is not among {:?}", status.targets))
}

fn uuids(seen: &[GpuObservation]) -> Vec<&str> {
    let mut uuids: Vec<_> = seen.iter().map(|gpu| gpu.uuid.as_str()).collect();
    uuids.sort_unstable();
    uuids.dedup();
    uuids
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).expect("memory");
    encoder.finish().expect("memory")
}

fn raw(head: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 200 OK\r\n{head}\r\n{body}").into_bytes()
}

/// A port that nothing listens on.
async fn unused_url() -> String {
    let exporter = FakeExporter::start(good("GPU-none")).await;
    exporter.url()
}

/// A way to fail, the kind of its error, and the boards that are read all the same.
struct Fault {
    what: &'static str,
    manner: Manner,
    kind: ErrorKind,
    boards: &'static [&'static str],
}

fn fault(what: &'static str, manner: Manner, kind: ErrorKind) -> Fault {
    let boards = &[];
    Fault {
        what,
        manner,
        kind,
        boards,
    }
}

impl Fault {
    fn but_reads(self, boards: &'static [&'static str]) -> Self {
        Self { boards, ..self }
    }
}

const LONG: &str = "Content-Length: 100000\r\n";
const GZIP: &str = "Content-Encoding: gzip\r\n";

/// A line, and the start of another.
fn cut() -> String {
    line("GPU-part") + "DCGM_FI_DEV_GPU_TEMP{UUID=\"GPU-cut\"} 4"
}

fn faults_of_time() -> Vec<Fault> {
    use ErrorKind::Timeout;
    let part = &["GPU-part"];
    let drip = Manner::Drip(raw(LONG, ""), cut().repeat(100).into());
    vec![
        fault("hangs before headers", Manner::Hang(vec![]), Timeout),
        fault("hangs after headers", Manner::Hang(raw(LONG, "")), Timeout),
        fault(
            "hangs inside the body",
            Manner::Hang(raw(LONG, &cut())),
            Timeout,
        )
        .but_reads(part),
        fault("drips", drip, Timeout).but_reads(part),
    ]
}

fn faults_of_connections() -> Vec<Fault> {
    use ErrorKind::{Protocol, Truncated};
    let part = &["GPU-part"];
    let chunk = format!("fff\r\n{}", cut());
    let chunk = Manner::Raw(raw("Transfer-Encoding: chunked\r\n", &chunk));
    let packed = gzip(line("GPU-part").repeat(2000).as_bytes());
    let half = Manner::Answer(Answer::new(200, GZIP, &packed[..packed.len() / 2]));
    let garbled = Manner::Answer(Answer::new(200, GZIP, "this is not gzip at all"));
    let other = Manner::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec());
    vec![
        fault("resets before headers", Manner::Reset(vec![]), Protocol),
        fault("ends before headers", Manner::Raw(vec![]), Protocol),
        fault("speaks something else", other, Protocol),
        fault("garbled gzip", garbled, Protocol),
        fault(
            "resets in the body",
            Manner::Reset(raw(LONG, &cut())),
            Truncated,
        )
        .but_reads(part),
        fault(
            "ends in the body",
            Manner::Raw(raw(LONG, &cut())),
            Truncated,
        )
        .but_reads(part),
        fault("ends in a chunk", chunk, Truncated).but_reads(part),
        fault("ends in gzip", half, Truncated).but_reads(part),
    ]
}

fn faults_of_statuses() -> Vec<Fault> {
    use ErrorKind as E;
    let status = |code| Manner::Answer(Answer::new(code, "", "why"));
    let elsewhere = "Location: http://127.0.0.1:1/login?token=s3cr3t\r\n";
    vec![
        fault("400", status(400), E::ClientError),
        fault("401", status(401), E::Unauthorized),
        fault("403", status(403), E::Forbidden),
        fault("404", status(404), E::ClientError),
        fault("500", status(500), E::ServerError),
        fault("503", status(503), E::ServerError),
        fault(
            "302",
            Manner::Answer(Answer::new(302, elsewhere, "")),
            E::Redirect,
        ),
    ]
}

fn faults_of_bodies() -> Vec<Fault> {
    use ErrorKind::{NotMetrics, TooLarge};
    let html = "<!DOCTYPE html>\n<html><body>Sign in</body></html>\n";
    let html = Answer::new(200, "Content-Type: text/html\r\n", html);
    let binary = Answer::new(200, "", "\u{0}\u{1}\u{2}\n\u{fffd}\n");
    let bomb = Answer::new(200, GZIP, gzip(&vec![b'\n'; 64 << 20]));
    let announced = Manner::Hang(raw("Content-Length: 1073741824\r\n", ""));
    vec![
        fault("a page", Manner::Answer(html), NotMetrics),
        fault("binary data", Manner::Answer(binary), NotMetrics),
        fault("a gzip bomb", Manner::Answer(bomb), TooLarge),
        fault("too long by its header", announced, TooLarge),
        fault("floods", Manner::Flood(raw("", "")), TooLarge),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_fault_has_its_kind_and_leaves_the_others_alone() {
    let healthy = FakeExporter::start(good("GPU-healthy")).await;
    let mut cases = Vec::new();
    let faults = [
        faults_of_time(),
        faults_of_connections(),
        faults_of_statuses(),
        faults_of_bodies(),
    ];
    for fault in faults.into_iter().flatten() {
        let exporter = FakeExporter::start(fault.manner.clone()).await;
        cases.push((fault, exporter));
    }
    let refused = unused_url().await;
    let mut urls: Vec<_> = cases.iter().map(|(_, exporter)| exporter.url()).collect();
    urls.extend([healthy.url(), refused.clone()]);
    let mut config = config(&urls);
    config.http.body_limit_bytes = 2 << 20;
    // One place for all: what hangs must not keep it.
    config.concurrency = 1;
    let source = start(&config, 700);
    let (mut seen, _) = until(&source, SourceStatus::is_tried).await;
    sleep(Duration::from_millis(1500)).await;
    let (more, status) = until(&source, |_| true).await;
    seen.extend(more);

    assert_eq!(status.state, SourceState::Up);
    let up = target(&status, &healthy.url());
    assert_eq!((up.state, up.gpus, &up.error), (TargetState::Up, 1, &None));
    assert!(healthy.requests().len() >= 2, "scraped once an interval");
    let nothing_there = target(&status, &refused).error.as_ref().expect("an error");
    assert_eq!(nothing_there.kind, ErrorKind::Refused);
    for (fault, exporter) in &cases {
        let Fault {
            what, kind, boards, ..
        } = fault;
        let target = target(&status, &exporter.url());
        let error = target
            .error
            .as_ref()
            .unwrap_or_else(|| panic!("{what}: no error"));
        assert_eq!(
            (target.state, error.kind),
            (TargetState::Down, *kind),
            "{what}: {error:?}"
        );
        assert!(
            error.message.contains(&exporter.url()),
            "{what}: {}",
            error.message
        );
        assert!(
            !error.message.contains("s3cr3t"),
            "{what}: {}",
            error.message
        );
        assert!(status.errors[kind] > 0, "{what}");
        let from_it = seen
            .iter()
            .filter(|gpu| gpu.identity.target.as_deref() == Some(&*exporter.url()));
        let from_it: Vec<_> = from_it.cloned().collect();
        assert_eq!(uuids(&from_it), *boards, "{what}");
        assert!(
            exporter.sent() < 64 << 20,
            "{what}: {} bytes were taken",
            exporter.sent()
        );
    }
    let from_healthy = seen.iter().filter(|gpu| gpu.uuid.as_str() == "GPU-healthy");
    assert!(from_healthy.count() >= 2);
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
    config.concurrency = 16;
    let _source = start(&config, 1000);
    sleep(Duration::from_secs(7)).await;
    // 40 hang for 1 s each. Were their places kept that long, a round would take 2.5 s.
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
