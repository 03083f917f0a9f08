//! The service among other programs: a real Prometheus, promtool, and clients that mean no good.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::bodies::{self, Board};
use crate::fake_exporter::{Answer, FakeExporter, Manner};
use crate::http::{exchange, is_closed};
use crate::outside::{
    INSTALL_PROMETHEUS, INSTALL_PYTHON, KNOWN_TO_PROMTOOL, fetch, printed, prometheus, run,
};
use crate::serve::writes;
use crate::service::{File, PATIENCE, QUICK, Service, value};

/// What Prometheus 2.42 sends.
const PROMETHEUS_ACCEPTS: &str = "application/openmetrics-text;version=1.0.0,\
    application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1";

async fn ids(service: &Service) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let incidents = service.incidents().await;
    let mut ids: Vec<_> = incidents
        .iter()
        .map(|incident| (text(&incident["cause"]), text(&incident["id"])))
        .collect();
    ids.sort();
    ids
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_real_prometheus_scrapes_the_service() {
    let sick = Board {
        unmapped: Some(true),
        ..Board::healthy("GPU-sick")
    };
    let sick = FakeExporter::start(writes(bodies::third, sick)).await;
    let down = FakeExporter::start(Manner::Answer(Answer::new(500, "", "why"))).await;
    let file = File::new("prometheus.yaml", QUICK);
    let flags = [
        format!("--config.file={}", file.path()),
        format!("--dcgm.target={},node=n1", sick.url()),
        format!("--dcgm.target={},node=n2", down.url()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let service = Service::start(&flags);
    let prometheus = prometheus(&service.address().to_string());
    let both = || async {
        let ids = ids(&service).await;
        (ids.len() == 2).then_some(ids)
    };
    let before = service.until("two incidents", both).await;
    let [(_, board), (_, node)] = &before[..] else {
        panic!("{before:?}")
    };

    for (id, labels) in [
        (
            board,
            [
                ("node", "n1"),
                ("uuid", "GPU-sick"),
                ("severity", "critical"),
            ],
        ),
        (
            node,
            [("node", "n2"), ("uuid", ""), ("severity", "warning")],
        ),
    ] {
        let query = format!("gpulens_incident_active{{incident=\"{id}\"}}");
        let found = prometheus.query(&query).await;
        let [found] = &found[..] else {
            panic!("{found:?}")
        };
        let has = |label: &str| found["metric"][label].as_str().unwrap_or("").to_owned();
        for (label, value) in labels {
            assert_eq!(has(label), value, "{id}");
        }
        for label in ["namespace", "pod", "container"] {
            assert_eq!(has(label), "", "{label} is the service's own");
        }
        assert_eq!(found["value"][1], "1");
    }
    // The labels were there to be taken.
    let up = prometheus
        .query("up{pod=\"gpulens-0\",namespace=\"monitoring\"}")
        .await;
    assert_eq!(up[0]["value"][1], "1");
    // Only OpenMetrics names a counter without its suffix, and knows of infos.
    let request = "GET /api/v1/metadata HTTP/1.0\r\nHost: localhost\r\n\r\n";
    let metadata = fetch(prometheus.port, request).await.expect("an answer");
    let metadata: Value = serde_json::from_str(&metadata).expect("JSON");
    assert_eq!(
        metadata["data"]["gpulens_cycles"][0]["type"], "counter",
        "{metadata}"
    );

    let classic = service.metrics().await;
    let mut promtool = Command::new("promtool");
    let output = run(
        promtool.args(["check", "metrics"]),
        &classic,
        INSTALL_PROMETHEUS,
    );
    let printed = printed(&output);
    let complaints = printed
        .lines()
        .filter(|line| !line.starts_with(KNOWN_TO_PROMTOOL));
    assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&str>::new());
    let request =
        format!("GET /metrics HTTP/1.1\r\nHost: a\r\nAccept: {PROMETHEUS_ACCEPTS}\r\n\r\n");
    let modern = exchange(&mut service.connect().await, request.as_bytes()).await;
    assert!(modern.text().ends_with("# EOF\n"));

    // What is known by an id is known by it after a restart.
    let port = service.address().port();
    drop(service);
    let service = Service::start_on(port, &flags);
    let both = || async {
        let ids = ids(&service).await;
        (ids.len() == 2).then_some(ids)
    };
    assert_eq!(service.until("the same two", both).await, before);
}

/// Opens many connections, half of them with half a request, says how many, and holds them until
/// its input ends. It rests now and then: one whose turn does not come is tried again after 1 s.
const CROWD: &str = "
import resource, socket, sys, time
host, port, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
crowd = []
for n in range(count):
    try:
        crowd.append(socket.create_connection((host, port), timeout=5))
        if n % 2: crowd[-1].send(b'GET /metr')
        if n % 10 == 0: time.sleep(0.01)
    except OSError as error:
        if error.errno == 24: sys.exit('too few file descriptors: raise ulimit -n')
print(len(crowd), flush=True)
sys.stdin.read()
";

async fn serving() -> (FakeExporter, Service) {
    let exporter = FakeExporter::start(writes(bodies::third, Board::healthy("GPU-1"))).await;
    let target = format!("--dcgm.target={},node=n1", exporter.url());
    let service = Service::start(&[&target, "--cycle.interval=1s"]);
    service.ready().await;
    (exporter, service)
}

/// Scrapes, and it does not take long.
async fn scrape(service: &Service) {
    let scrape = timeout(Duration::from_secs(5), service.metrics()).await;
    let metrics = scrape.expect("not held up");
    assert_eq!(value(&metrics, "gpulens_tracked_gpus", &[]), 1.0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn thousands_of_connections_of_another_process_keep_no_scrape_out() {
    let (_exporter, mut service) = serving().await;
    let mut crowd = Command::new("python3");
    let address = service.address();
    crowd.args(["-c", CROWD, &address.ip().to_string()]);
    crowd.args([address.port().to_string(), "5000".to_owned()]);
    crowd
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit());
    let Ok(mut crowd) = crowd.spawn() else {
        panic!("{INSTALL_PYTHON}")
    };
    // Its input ends with this process at the latest, and it with its input.
    let stdin = crowd.stdin.take().expect("piped");
    while service_fds(&service) < 256 {
        assert!(
            matches!(crowd.try_wait(), Ok(None)),
            "{:?}",
            crowd.wait_with_output()
        );
        sleep(Duration::from_millis(20)).await;
    }
    for _ in 0..10 {
        scrape(&service).await;
        sleep(Duration::from_millis(100)).await;
    }
    let ended = tokio::task::spawn_blocking(move || {
        let mut out = std::io::BufReader::new(crowd.stdout.take().expect("piped"));
        let mut line = String::new();
        std::io::BufRead::read_line(&mut out, &mut line).expect("a line");
        (crowd, line)
    });
    let (mut crowd, line) = timeout(PATIENCE, ended)
        .await
        .expect("in time")
        .expect("joined");
    let connected: usize = line.trim().parse().unwrap_or(0);
    assert!(connected >= 4500, "{connected} connected");
    scrape(&service).await;
    assert!(service_fds(&service) < 700, "places are limited");
    assert!(
        service.peak_mebibytes() < 150,
        "{} MiB",
        service.peak_mebibytes()
    );
    drop(stdin);
    crowd.wait().expect("it ends");
    scrape(&service).await;
    assert!(service.is_alive());
}

/// How many files the service has open.
fn service_fds(service: &Service) -> usize {
    let directory = format!("/proc/{}/fd", service.pid());
    std::fs::read_dir(directory).map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_that_misbehave_are_refused_and_keep_nobody_out() {
    let (_exporter, mut service) = serving().await;
    let mut slow = Vec::new();
    for _ in 0..100 {
        slow.push(service.connect().await);
    }
    let began = tokio::time::Instant::now();
    let request = b"GET /metrics HTTP/1.1\r\nHost: gpulens\r\nX-Slow: ";
    let mut cut = false;
    while !cut && began.elapsed() < PATIENCE {
        let at = began.elapsed().as_millis() as usize / 200;
        let byte = [*request.get(at).unwrap_or(&b'x')];
        for stream in &mut slow {
            cut |= stream.write_all(&byte).await.is_err();
        }
        scrape(&service).await;
        sleep(Duration::from_millis(200)).await;
    }
    let took = began.elapsed();
    assert!(
        cut && took < Duration::from_secs(20),
        "let go after {took:?}"
    );

    let huge = format!(
        "GET /metrics HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n",
        "x".repeat(60_000)
    );
    let mut stream = service.connect().await;
    assert_eq!(exchange(&mut stream, huge.as_bytes()).await.status, 431);
    assert!(is_closed(&mut stream).await);
    for path in [
        "/../etc/passwd",
        "/..%2f..%2fetc/passwd",
        "//metrics",
        "/metrics/..",
        "/metrics%00",
        "/%2e%2e/metrics",
        "/metrics;/../api",
    ] {
        let reply = service.get(path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(!reply.text().contains("root:"), "{path}");
    }
    let post = b"POST /metrics HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n";
    assert_eq!(
        exchange(&mut service.connect().await, post).await.status,
        405
    );
    let mut rude: TcpStream = service.connect().await;
    rude.write_all(&[0x16, 3, 1, 0, 0]).await.expect("written");
    drop(rude);
    scrape(&service).await;
    assert!(service.is_alive());
}
