//! Each way a target can fail has its outcome, and the others do not notice.

use std::time::Duration;

use gpulens::snapshot::{ErrorKind, SourceState, SourceStatus, TargetState};
use tokio::time::sleep;

use crate::dcgm_source::{config, good, gzip, line, raw, start, target, until, uuids};
use crate::fake_exporter::{Answer, FakeExporter, Manner};

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
    let short = Manner::Raw(raw("", "<html><body>Sign in</body></html>"));
    let word = Manner::Raw(raw("", "OK"));
    let announced = Manner::Hang(raw("Content-Length: 1073741824\r\n", ""));
    vec![
        fault("a page", Manner::Answer(html), NotMetrics),
        fault("binary data", Manner::Answer(binary), NotMetrics),
        fault("a page that ends with its connection", short, NotMetrics),
        fault("a word that ends with its connection", word, NotMetrics),
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
