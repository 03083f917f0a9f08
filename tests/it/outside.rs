//! What other programs make of us: promtool, an OpenMetrics parser, a real Prometheus.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use gpulens::publish::{Format, ServerOptions};
use tokio::time::sleep;

use crate::http::serve;
use crate::metrics::text;
use crate::views::{self, publisher, rich};

/// Families that users fixed the name of, which promtool would name otherwise.
pub(crate) const KNOWN_TO_PROMTOOL: &str = "gpulens_low_util_gpu_hours";

pub(crate) fn run(command: &mut Command, input: &str, install: &str) -> Output {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let Ok(mut child) = command.spawn() else {
        panic!("{install}")
    };
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let feed = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
    let output = child.wait_with_output().expect("it ends");
    feed.join().expect("fed").expect("written");
    output
}

pub(crate) fn printed(output: &Output) -> String {
    let out = [&*output.stdout, &*output.stderr].concat();
    String::from_utf8_lossy(&out).into_owned()
}

pub(crate) const INSTALL_PROMETHEUS: &str = "install prometheus: apt-get install -y prometheus";
pub(crate) const INSTALL_PYTHON: &str =
    "install the parser: apt-get install -y python3-prometheus-client";

#[test]
fn promtool_has_nothing_to_say() {
    for publisher in [publisher([rich("")]), publisher([rich("a"), rich("b")])] {
        let text = text(&publisher, Format::Classic);
        let output = run(
            Command::new("promtool").args(["check", "metrics"]),
            &text,
            INSTALL_PROMETHEUS,
        );
        let printed = printed(&output);
        let complaints = printed
            .lines()
            .filter(|line| !line.starts_with(KNOWN_TO_PROMTOOL));
        assert_eq!(complaints.collect::<Vec<_>>(), Vec::<&str>::new());
    }
}

/// A directory that is taken away again.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("gpulens-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a directory");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A Python that has the reference parser: what `PYTHON` names, else Debian's.
fn python() -> String {
    let named = std::env::var_os("PYTHON").and_then(|name| name.into_string().ok());
    named.unwrap_or_else(|| "/usr/bin/python3".to_owned())
}

#[test]
fn the_openmetrics_parser_reads_every_family() {
    let script = "
import sys
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse
families = list(parse(sys.stdin.buffer.read().decode()))
names = sorted({s.name for f in families for s in f.samples})
print(len(families), sum(len(f.samples) for f in families))
pods = {s.labels['pod'] for f in families for s in f.samples if s.name == 'gpulens_incident_active'}
print(sorted(pods))
";
    let text = text(&publisher([rich("a"), rich("b")]), Format::OpenMetrics);
    let output = run(
        Command::new(python()).args(["-c", script]),
        &text,
        INSTALL_PYTHON,
    );
    let printed = printed(&output);
    assert!(output.status.success(), "{printed}");
    let families = gpulens::publish::catalogue::ALL.len();
    let samples = text.lines().filter(|line| !line.starts_with('#')).count();
    assert!(
        printed.starts_with(&format!("{families} {samples}\n")),
        "{printed}"
    );
    assert!(printed.contains(r"['', '<script>alert("), "{printed}");
}

/// A Prometheus of our own, ended by its process id.
pub(crate) struct Prometheus {
    child: Child,
    pub(crate) port: u16,
    _home: Scratch,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Scrapes a target the way a `ServiceMonitor` has it: with the exporter's own pod as labels.
pub(crate) fn prometheus(target: &str) -> Prometheus {
    let home = Scratch::new(&format!("prometheus-{}", target.replace(':', "-")));
    let config = home.0.join("prometheus.yml");
    let text = format!(
        "global: {{scrape_interval: 1s, scrape_timeout: 1s}}\n\
         scrape_configs:\n\
         - job_name: gpulens\n\
         \x20 honor_labels: true\n\
         \x20 static_configs:\n\
         \x20 - targets: ['{target}']\n\
         \x20   labels: {{namespace: monitoring, pod: gpulens-0, container: gpulens}}\n"
    );
    std::fs::write(&config, text).expect("written");
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .and_then(|listener| listener.local_addr())
        .expect("a free port")
        .port();
    let child = Command::new("prometheus")
        .arg(format!("--config.file={}", config.display()))
        .arg(format!(
            "--storage.tsdb.path={}",
            home.0.join("data").display()
        ))
        .arg(format!("--web.listen-address=127.0.0.1:{port}"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    let Ok(child) = child else {
        panic!("{INSTALL_PROMETHEUS}")
    };
    Prometheus {
        child,
        port,
        _home: home,
    }
}

impl Prometheus {
    /// Asks until there is a result, for the samples of an instant query.
    pub(crate) async fn query(&self, query: &str) -> Vec<serde_json::Value> {
        let bytes: Vec<_> = query.bytes().map(|byte| format!("%{byte:02x}")).collect();
        let encoded = bytes.concat();
        let request =
            format!("GET /api/v1/query?query={encoded} HTTP/1.0\r\nHost: localhost\r\n\r\n");
        for _ in 0..120 {
            sleep(Duration::from_millis(250)).await;
            let Some(body) = fetch(self.port, &request).await else {
                continue;
            };
            let json: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
            match json["data"]["result"].as_array() {
                Some(result) if !result.is_empty() => return result.clone(),
                _ => {}
            }
        }
        panic!("Prometheus has no result for {query}")
    }
}

pub(crate) async fn fetch(port: u16, request: &str) -> Option<String> {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port))
        .await
        .ok()?;
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut text = String::new();
    stream.read_to_string(&mut text).await.ok()?;
    let (_, body) = text.split_once("\r\n\r\n")?;
    Some(body.to_owned())
}

#[tokio::test]
async fn a_finding_about_a_node_is_not_blamed_on_our_own_pod() {
    let server = serve(publisher([rich("prod")]), ServerOptions::default()).await;
    let prometheus = prometheus(&server.local_addr().to_string());

    let node = views::rich("prod").open[1].id;
    let found = prometheus
        .query(&format!("gpulens_incident_active{{incident=\"{node}\"}}"))
        .await;
    assert_eq!(found.len(), 1);
    let labels = found[0]["metric"].as_object().expect("labels");
    assert_eq!(labels["node"], "n1");
    assert_eq!(labels["cluster"], "prod");
    for label in ["namespace", "pod", "container"] {
        assert_eq!(labels.get(label), None, "{label} is the exporter's own");
    }

    let closed = prometheus
        .query("gpulens_incident_active{pod=\"gone-0\"} == 0")
        .await;
    let labels = &closed[0]["metric"];
    assert_eq!(
        (&labels["namespace"], &labels["severity"]),
        (&"ml".into(), &"warning".into())
    );
    assert_eq!(labels.get("container"), None);

    let up = prometheus.query("up{job=\"gpulens\"}").await;
    assert_eq!(up[0]["value"][1], "1");
    let samples = prometheus
        .query("scrape_samples_scraped{job=\"gpulens\"}")
        .await;
    let printed = text(&publisher([rich("prod")]), Format::Classic);
    let lines = printed
        .lines()
        .filter(|line| !line.starts_with('#'))
        .count();
    assert_eq!(samples[0]["value"][1], lines.to_string());
}
