//! The service from end to end: what exporters say on one side, what is published on the other.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::sleep;

use crate::bodies::{self, Board, Generation};
use crate::cli::{gpulens, run};
use crate::fake_exporter::{Answer, FakeExporter, Manner};
use crate::http::{exchange, is_closed};
use crate::service::{File, PATIENCE, QUICK, Service, samples, value};

/// An exporter that writes a board as its generation does.
pub(crate) fn writes(generation: Generation, board: Board) -> Manner {
    Manner::made(move |beat| Answer::new(200, "", generation(board, beat)))
}

/// Generations, the type they send, and their boards.
const GENERATIONS: [(Generation, &str, &str); 8] = [
    (bodies::first, "", "GPU-1x"),
    (bodies::second, "Content-Type: text/plain\r\n", "GPU-2x"),
    (
        bodies::third,
        "Content-Type: text/plain; charset=utf-8\r\n",
        "GPU-3x",
    ),
    (
        bodies::escaped,
        "Content-Type: text/plain; version=0.0.4; charset=utf-8; escaping=underscores\r\n",
        "GPU-483",
    ),
    (bodies::base_units, "", "GPU-49"),
    (bodies::mig, "", "GPU-mig"),
    (bodies::shared, "", "GPU-shared"),
    (bodies::dra, "", "GPU-dra"),
];

/// The only incident of a board, which is open.
fn is_open<'a>(
    incidents: &'a [Value],
    node: &str,
    uuid: &str,
    cause: &str,
    severity: &str,
) -> &'a Value {
    let of_board = incidents
        .iter()
        .filter(|found| found["place"]["uuid"] == uuid);
    let of_board: Vec<_> = of_board.collect();
    let [found] = of_board[..] else {
        panic!("{uuid}: {of_board:#?}")
    };
    let told = [
        &found["state"],
        &found["place"]["node"],
        &found["cause"],
        &found["severity"],
    ];
    assert_eq!(told, ["open", node, cause, severity], "{uuid}");
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_generation_is_read_and_what_happens_is_told() {
    let mut exporters = Vec::new();
    for (generation, typed, uuid) in GENERATIONS {
        let make = move |beat| Answer::new(200, typed, generation(Board::healthy(uuid), beat));
        exporters.push(FakeExporter::start(Manner::made(make)).await);
    }
    let file = File::new("generations.yaml", QUICK);
    let mut flags = vec![format!("--config.file={}", file.path())];
    flags.push("--kubernetes=off".to_owned());
    for (at, exporter) in exporters.iter().enumerate() {
        flags.push(format!("--dcgm.target={},node=n{}", exporter.url(), at + 1));
    }
    let flags: Vec<_> = flags.iter().map(String::as_str).collect();
    let mut service = Service::start(&flags);
    service.ready().await;
    // Longer than every hold: what is healthy stays silent.
    sleep(Duration::from_secs(5)).await;
    all_are_read_and_healthy(&service, &exporters).await;

    let change = |at: usize, what: fn(&mut Board)| {
        let (generation, _, uuid) = GENERATIONS[at];
        let mut board = Board::healthy(uuid);
        what(&mut board);
        exporters[at].set(writes(generation, board));
    };
    change(2, |board| board.xid = Some(79));
    change(3, |board| board.unmapped = Some(true));
    change(4, |board| board.heat = Some(96));
    let all = || async {
        let incidents = service.incidents().await;
        (incidents.len() == 3).then_some(incidents)
    };
    let incidents = service.until("three incidents", all).await;
    let health = is_open(&incidents, "n3", "GPU-3x", "xid_79", "critical");
    is_open(&incidents, "n4", "GPU-483", "row_remap_failure", "critical");
    is_open(&incidents, "n5", "GPU-49", "core_temperature", "critical");
    let metrics = service.metrics().await;
    let id = health["id"].as_str().expect("an id");
    let by_id = [("incident", id)];
    let line = samples(&metrics, "gpulens_incident_active", &by_id);
    assert_eq!(
        line,
        [format!(
            "gpulens_incident_active{{rule=\"GPU-HEALTH-002\",severity=\"critical\",namespace=\"\",workload=\"\",\
         pod=\"\",container=\"\",node=\"n3\",uuid=\"GPU-3x\",incident=\"{id}\"}} 1"
        )]
    );
    let total = [("uuid", "GPU-3x")];
    assert_eq!(value(&metrics, "gpulens_gpu_xid_errors_total", &total), 1.0);

    // Without evidence nothing gets well. What happened at a known time stays seen; a level that
    // cannot be read any more is undecided.
    change(2, |board| board.xid = None);
    change(3, |board| board.unmapped = None);
    change(4, |board| board.heat = None);
    let blind = || async {
        let incidents = service.incidents().await;
        let health = is_open(&incidents, "n3", "GPU-3x", "xid_79", "critical");
        assert_eq!(health["evidence"], "strong");
        let level = is_open(&incidents, "n4", "GPU-483", "row_remap_failure", "critical");
        let heat = is_open(&incidents, "n5", "GPU-49", "core_temperature", "critical");
        let undecided = |incident: &Value| incident["evidence"] == "inconclusive";
        (undecided(level) && undecided(heat)).then(|| level["id"].clone())
    };
    service.until("inconclusive", blind).await;
    sleep(Duration::from_secs(4)).await;
    let level = blind().await.expect("still open, still inconclusive");
    let metrics = service.metrics().await;
    let level = level.as_str().expect("an id");
    let line = [("incident", level), ("evidence", "inconclusive")];
    assert_eq!(value(&metrics, "gpulens_incident_info", &line), 1.0);
    for id in [id, level] {
        let line = [("incident", id)];
        assert_eq!(value(&metrics, "gpulens_incident_active", &line), 1.0);
    }

    service.signal("INT");
    let (status, log) = service.ended(Duration::from_secs(5)).await;
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(
        log.contains("signal=SIGINT") && log.ends_with("msg=stopped\n"),
        "{log}"
    );
    assert!(!log.contains("level=error"), "{log}");
}

async fn all_are_read_and_healthy(service: &Service, exporters: &[FakeExporter]) {
    let source = service.source("").await;
    let metrics = service.metrics().await;
    for (at, (_, _, uuid)) in GENERATIONS.into_iter().enumerate() {
        let node = format!("n{}", at + 1);
        let place = [("node", &*node), ("gpu", "0"), ("uuid", uuid)];
        let seen = value(
            &metrics,
            "gpulens_gpu_last_reading_timestamp_seconds",
            &place,
        );
        assert!(seen > 1.7e9, "{uuid}");
        let instances: &[&str] = if uuid == "GPU-mig" {
            &["7", "8"]
        } else {
            &[""]
        };
        let xids = samples(&metrics, "gpulens_gpu_xid_errors_total", &place);
        assert_eq!(xids.len(), instances.len(), "{uuid}: {xids:?}");
        for instance in instances {
            let place = [("uuid", uuid), ("gpu_instance", instance)];
            assert_eq!(value(&metrics, "gpulens_gpu_xid_errors_total", &place), 0.0);
        }
        let url = exporters[at].url();
        let targets = source["targets"].as_array().expect("targets");
        let target = targets
            .iter()
            .find(|target| target["url"] == *url)
            .expect("listed");
        assert_eq!(
            (&target["state"], &target["gpus"]),
            (&"up".into(), &1.into()),
            "{uuid}"
        );
        assert!(target["notes"].is_null(), "{target}");
        let up = [("node", &*node), ("target", &url)];
        assert_eq!(value(&metrics, "gpulens_target_up", &up), 1.0);
    }
    assert_eq!(value(&metrics, "gpulens_tracked_gpus", &[]), 8.0);
    assert_eq!(
        value(&metrics, "gpulens_fleet_gpus", &[("state", "ok")]),
        8.0
    );
    assert_eq!(service.incidents().await, Vec::<Value>::new());
    let opened = samples(&metrics, "gpulens_incidents_opened_total", &[]);
    assert!(
        !opened.is_empty() && opened.iter().all(|line| line.ends_with(" 0")),
        "{opened:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_being_answered_is_finished_before_it_stops() {
    let exporter = FakeExporter::start(writes(bodies::third, Board::healthy("GPU-1"))).await;
    let mut service = Service::start(&[&format!("--dcgm.target={},node=n1", exporter.url())]);
    service.ready().await;
    let mut idle = service.connect().await;
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(exchange(&mut idle, request).await.status, 200);
    let mut stream = service.connect().await;
    let head = b"GET /metrics HTTP/1.1\r\nHost:";
    stream.write_all(head).await.expect("written");
    sleep(Duration::from_millis(300)).await;
    service.signal("TERM");
    assert!(is_closed(&mut idle).await, "who waits is let go");
    assert!(TcpStream::connect(service.address()).await.is_err());
    assert!(service.is_alive(), "it waits for the request");
    let reply = exchange(&mut stream, b" a\r\n\r\n").await;
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("gpulens_tracked_gpus 1\n"));
    assert!(is_closed(&mut stream).await);
    let (status, log) = service.ended(Duration::from_secs(5)).await;
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(
        log.contains("signal=SIGTERM") && log.ends_with("msg=stopped\n"),
        "{log}"
    );
}

#[test]
fn a_wrong_file_ends_the_service_with_its_place() {
    let target = "clusters: [{ dcgm: { targets: [{ url: 'http://n1:9400' }";
    for (at, (text, wanted)) in [
        (
            "cycel: {}".to_owned(),
            ":1:1: cycel: unknown key `cycel`; did you mean `cycle`?",
        ),
        (
            format!("rules: {{ fresh: {{ unreachable_after: 3 }} }}\n{target}] }} }}]"),
            ":1:38: rules.fresh.unreachable_after: `3`: time unit needed",
        ),
        (
            format!("{target}, {{ url: 'http://n1:9400/metrics' }}] }} }}]"),
            ":1:66: clusters[0].dcgm.targets[1].url: http://n1:9400/metrics is the target of",
        ),
        (
            format!("rules:\n  therm:\n    framebuffer: 1.5\n{target}] }} }}]"),
            ":3:18: rules.therm.framebuffer: 1.5 is out of range; want a number from 0 to 1",
        ),
        (
            "clusters: [{ dcgm: { targets: [{ url: 'http://u:pl4nted@n1:9400' }] } }]".to_owned(),
            ": a user or password in a URL",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        let file = File::new(&format!("wrong-{at}.yaml"), &text);
        let flag = format!("--config.file={}", file.path());
        let (code, stdout, stderr) = run(&mut gpulens(&["serve", &flag]));
        assert_eq!((code, stdout.as_str()), (2, ""), "{stderr}");
        assert!(stderr.contains(wanted), "{wanted}\nis not in\n{stderr}");
        assert!(!stderr.contains("pl4nted"), "{stderr}");
    }
}

#[test]
fn a_port_that_is_taken_is_said_to_be() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("an address");
    let listen = format!("--web.listen-address={address}");
    let arguments = ["serve", &listen, "--dcgm.target=http://127.0.0.1:1"];
    let (code, stdout, stderr) = run(&mut gpulens(&arguments));
    assert_eq!((code, stdout.as_str()), (1, ""));
    for part in [&*address.to_string(), "in use", "--web.listen-address"] {
        assert!(stderr.contains(part), "{part} is not in {stderr}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn secrets_are_used_and_never_shown() {
    let answer = Answer::new(200, "", bodies::third(Board::healthy("GPU-1"), 1));
    let guard = |wanted: &str| Manner::Guarded(401, wanted.to_owned(), answer.clone());
    let token = FakeExporter::start(guard("Bearer pl4nted-token")).await;
    let wrong = FakeExporter::start(guard("Bearer another")).await;
    // b2JzZXJ2ZXI6cGw0bnRlZC1wYXNz is observer:pl4nted-pass.
    let basic = FakeExporter::start(guard("Basic b2JzZXJ2ZXI6cGw0bnRlZC1wYXNz")).await;
    let unread = FakeExporter::start(Manner::Answer(answer)).await;
    let file = |http: &str, name: &str, exporter: &FakeExporter| {
        format!(
            "- name: {name}\n  dcgm:\n    http: {{ {http} }}\n    \
             targets: [{{ url: '{}?key=pl4nted-query', node: n1 }}]\n",
            exporter.url()
        )
    };
    let token_file = File::new("token", "pl4nted-token\n");
    let by_file = format!("bearer_token_file: {}", token_file.path());
    let absent = "bearer_token_file: /nonexistent/token";
    let login = "basic_auth: { username: observer, password: pl4nted-pass }";
    let clusters = [
        file("bearer_token: pl4nted-token", "inline", &token),
        file(&by_file, "file", &wrong),
        file(login, "basic", &basic),
        file(absent, "absent", &unread),
    ];
    let config = File::new(
        "secrets.yaml",
        &format!("{QUICK}clusters:\n{}", clusters.concat()),
    );
    let flag = format!("--config.file={}", config.path());
    let mut service = Service::start(&[&flag, "--log.level=trace"]);
    service.ready().await;
    for (cluster, state, kind) in [
        ("inline", "up", None),
        ("basic", "up", None),
        ("file", "down", Some("unauthorized")),
        ("absent", "down", Some("unauthorized")),
    ] {
        let source = service.source(cluster).await;
        let target = &source["targets"][0];
        assert_eq!(target["state"], state, "{target}");
        assert_eq!(target["error"]["kind"].as_str(), kind, "{target}");
    }
    assert_eq!(
        unread.requests(),
        Vec::<String>::new(),
        "nothing is sent without the token"
    );
    let found = || async {
        let incidents = service.incidents().await;
        (incidents.len() >= 2).then_some(())
    };
    service
        .until("incidents of both that are refused", found)
        .await;
    let mut shown = String::new();
    for path in [
        "/",
        "/metrics",
        "/api/v1/incidents?state=all",
        "/api/v1/sources",
        "/api/v1/rules",
        "/readyz",
    ] {
        let reply = service.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        shown.push_str(reply.text());
    }
    assert!(
        shown.contains("/nonexistent/token"),
        "the file that cannot be read is named"
    );
    service.signal("TERM");
    let (_, log) = service.ended(PATIENCE).await;
    for text in [&shown, &log] {
        for secret in ["pl4nted", "cGw0bnRlZC1wYXNz", "cGw0bnRlZC10b2tlbg"] {
            assert!(!text.contains(secret), "{secret}");
        }
    }
}
