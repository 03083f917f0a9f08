//! What the server answers, over real sockets.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use gpulens::cycle::ClusterView;
use gpulens::publish::{PublishOptions, Publisher, Server, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::views::{cold, healthy, publisher, rich};

/// Longer than anything here takes; a test that gets there has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

pub(crate) async fn serve(publisher: Arc<Publisher>, options: ServerOptions) -> Server {
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    Server::bind(any, publisher, options)
        .await
        .expect("a free port")
}

pub(crate) async fn with(views: impl IntoIterator<Item = ClusterView>) -> Server {
    serve(publisher(views), ServerOptions::default()).await
}

/// An answer as it came.
pub(crate) struct Reply {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (have, value) = line.split_once(": ")?;
            have.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        assert_eq!(self.header("content-type"), Some("application/json"));
        serde_json::from_slice(&self.body).expect("JSON")
    }
}

/// Sends bytes and reads one answer, with as much body as it says (`HEAD`: none).
pub(crate) async fn exchange(stream: &mut TcpStream, request: &[u8]) -> Reply {
    stream.write_all(request).await.expect("written");
    answer(stream, !request.starts_with(b"HEAD")).await
}

pub(crate) async fn answer(stream: &mut TcpStream, with_body: bool) -> Reply {
    timeout(PATIENCE, async {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            head.push(stream.read_u8().await.expect("an answer"));
        }
        let head = String::from_utf8(head).expect("ASCII");
        let status = head[9..12].parse().expect("a status");
        let mut reply = Reply {
            status,
            head,
            body: Vec::new(),
        };
        if with_body {
            let length = reply
                .header("content-length")
                .map_or(0, |n| n.parse().expect("a number"));
            reply.body.resize(length, 0);
            stream.read_exact(&mut reply.body).await.expect("a body");
        }
        reply
    })
    .await
    .expect("an answer in time")
}

pub(crate) async fn connect(server: &Server) -> TcpStream {
    TcpStream::connect(server.local_addr())
        .await
        .expect("connected")
}

pub(crate) async fn ask(server: &Server, request_line: &str, headers: &str) -> Reply {
    let request = format!("{request_line} HTTP/1.1\r\nHost: gpulens\r\n{headers}\r\n");
    exchange(&mut connect(server).await, request.as_bytes()).await
}

pub(crate) async fn get(server: &Server, target: &str) -> Reply {
    ask(server, &format!("GET {target}"), "").await
}

/// Whether the server closes the connection, now or soon.
pub(crate) async fn is_closed(stream: &mut TcpStream) -> bool {
    let mut rest = Vec::new();
    timeout(PATIENCE, stream.read_to_end(&mut rest))
        .await
        .is_ok()
}

#[tokio::test]
async fn metrics_in_the_format_and_coding_that_are_asked_for() {
    let server = with([rich("prod")]).await;
    let plain = get(&server, "/metrics").await;
    assert_eq!(plain.status, 200);
    assert_eq!(
        plain.header("content-type"),
        Some("text/plain; version=0.0.4; charset=utf-8")
    );
    assert_eq!(plain.header("vary"), Some("Accept, Accept-Encoding"));
    assert_eq!(plain.header("server"), None);
    let again = get(&server, "/metrics?x=1").await;
    assert_eq!(plain.body, again.body, "two scrapes of one cycle");

    let headers = "Accept: application/openmetrics-text;version=1.0.0\r\nAccept-Encoding: gzip\r\n";
    let modern = ask(&server, "GET /metrics", headers).await;
    let media = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    assert_eq!(modern.header("content-type"), Some(media));
    assert_eq!(modern.header("content-encoding"), Some("gzip"));
    let mut text = String::new();
    let mut decoder = flate2::read::GzDecoder::new(&modern.body[..]);
    std::io::Read::read_to_string(&mut decoder, &mut text).expect("gzip");
    assert!(text.ends_with("# EOF\n"));
    let refused = ask(&server, "GET /metrics", "Accept-Encoding: gzip;q=0\r\n").await;
    assert_eq!(refused.header("content-encoding"), None);
}

#[tokio::test]
async fn head_has_the_length_and_no_body() {
    let server = with([rich("")]).await;
    for path in ["/metrics", "/", "/api/v1/incidents", "/healthz", "/nothing"] {
        let full = get(&server, path).await;
        let mut stream = connect(&server).await;
        let request = format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n");
        let head = exchange(&mut stream, request.as_bytes()).await;
        assert_eq!(
            (head.status, head.header("content-length")),
            (full.status, full.header("content-length"))
        );
        // The next answer begins where the first one ended: nothing came after its header.
        let next = exchange(&mut stream, b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n").await;
        assert_eq!(next.text(), "ok\n", "{path}");
    }
}

#[tokio::test]
async fn only_get_and_head_are_allowed() {
    let server = with([healthy("")]).await;
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"] {
        let reply = ask(&server, &format!("{method} /metrics"), "").await;
        assert_eq!(
            (reply.status, reply.header("allow")),
            (405, Some("GET, HEAD")),
            "{method}"
        );
        assert!(reply.text().starts_with("this service is read-only"));
    }
    for body in ["Content-Length: 5\r\n", "Transfer-Encoding: chunked\r\n"] {
        for (method, status) in [("GET", 413), ("POST", 405)] {
            let mut stream = connect(&server).await;
            let request = format!("{method} /metrics HTTP/1.1\r\nHost: a\r\n{body}\r\n");
            let reply = exchange(&mut stream, request.as_bytes()).await;
            assert_eq!(
                (reply.status, reply.header("connection")),
                (status, Some("close"))
            );
            assert!(is_closed(&mut stream).await);
        }
    }
}

#[tokio::test]
async fn paths_are_matched_exactly() {
    let server = with([healthy("")]).await;
    for path in [
        "//metrics",
        "/metrics/",
        "/Metrics",
        "/%6detrics",
        "/metrics%00",
        "/./metrics",
        "/x/../metrics",
        "/..;/metrics",
        "/metrics;x",
        "/..%2f..%2fetc/passwd",
        "/healthz/",
        "/metric",
        "/style.css/",
        "/incidents",
        "/debug/pprof",
    ] {
        let reply = get(&server, path).await;
        assert_eq!(reply.status, 404, "{path}");
        assert!(
            reply.text().starts_with("not found; there are / /metrics"),
            "{path}"
        );
        assert_eq!(
            reply.header("content-type"),
            Some("text/plain; charset=utf-8")
        );
    }
    for path in [
        "/api/v1/incident",
        "/api/v1/incidents/",
        "/api/v1/incidents/..%2f",
        "/api/",
        "/api/v1/incidents/C6544F851928",
    ] {
        let reply = get(&server, path).await;
        assert_eq!(
            (reply.status, reply.json()["status"].as_str()),
            (404, Some("error")),
            "{path}"
        );
    }
    // What a proxy sends is the same resource.
    assert_eq!(
        get(&server, "http://gpulens:9836/healthz").await.status,
        200
    );
    let long = format!("/{}", "x".repeat(3000));
    assert_eq!(get(&server, &long).await.status, 414);
}

#[tokio::test]
async fn the_telemetry_path_can_be_set() {
    let options = |path: &str| ServerOptions {
        telemetry_path: path.to_owned(),
        ..Default::default()
    };
    let server = serve(publisher([healthy("")]), options("/gpu-metrics")).await;
    assert_eq!(get(&server, "/gpu-metrics").await.status, 200);
    assert_eq!(get(&server, "/metrics").await.status, 404);
    for path in [
        "",
        "metrics",
        "/",
        "/healthz",
        "/api/v1/incidents",
        "/a b",
        "/m?x",
    ] {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let error = Server::bind(any, publisher([]), options(path))
            .await
            .expect_err(path);
        assert!(
            error.to_string().contains("want a path such as /metrics"),
            "{error}"
        );
    }
}

#[tokio::test]
async fn readiness_names_what_is_awaited() {
    let publisher = Publisher::new(["a".into(), "b".into()], PublishOptions::default());
    let publisher = Arc::new(publisher);
    let server = serve(publisher.clone(), ServerOptions::default()).await;
    let first = get(&server, "/readyz").await;
    assert_eq!(first.status, 503);
    assert!(
        first
            .text()
            .contains("cluster a waits for its first cycle\nnot ready: cluster b")
    );
    assert_eq!(
        get(&server, "/healthz").await.text(),
        "ok\n",
        "alive all the same"
    );
    publisher.replace(healthy("a"));
    publisher.replace(cold("b"));
    let second = get(&server, "/readyz").await;
    assert_eq!(
        second.text(),
        "not ready: cluster b waits for the first answer of dcgm (1 of 3 targets)\n"
    );
    publisher.replace(healthy("b"));
    assert_eq!(get(&server, "/readyz").await.status, 200);
}
