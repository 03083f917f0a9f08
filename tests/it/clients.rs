//! How the server bears clients that are slow, idle, greedy or broken.

use std::time::Duration;

use gpulens::finding::Severity;
use gpulens::publish::ServerOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::http::{PATIENCE, answer, ask, connect, exchange, get, is_closed, serve, with};
use crate::views::{healthy, many, publisher};

#[tokio::test]
async fn requests_in_a_row_are_answered_in_order() {
    let server = with([healthy("")]).await;
    let mut stream = connect(&server).await;
    let one = |path: &str| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n");
    let row = one("/healthz") + &one("/nothing") + &one("/metrics");
    stream.write_all(row.as_bytes()).await.expect("written");
    for status in [200, 404, 200] {
        assert_eq!(answer(&mut stream, true).await.status, status);
    }
    let closing = b"GET /healthz HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    assert_eq!(exchange(&mut stream, closing).await.status, 200);
    assert!(is_closed(&mut stream).await);
    let mut old = connect(&server).await;
    assert_eq!(
        exchange(&mut old, b"GET /healthz HTTP/1.0\r\n\r\n")
            .await
            .text(),
        "ok\n"
    );
    assert!(is_closed(&mut old).await);
}

#[tokio::test]
async fn headers_that_are_too_large_or_broken_are_refused() {
    let server = with([healthy("")]).await;
    let large = format!("X: {}\r\n", "x".repeat(20_000));
    assert_eq!(ask(&server, "GET /metrics", &large).await.status, 431);
    let lots = "X: y\r\n".repeat(200);
    assert_eq!(ask(&server, "GET /metrics", &lots).await.status, 431);
    for nonsense in [
        "\0\0\0\0\r\n\r\n",
        "GET\r\n\r\n",
        "GET /metrics SPDY/9\r\n\r\n",
        "\u{16}\u{3}\u{1}\r\n\r\n",
    ] {
        let mut stream = connect(&server).await;
        assert_eq!(
            exchange(&mut stream, nonsense.as_bytes()).await.status,
            400,
            "{nonsense:?}"
        );
        assert!(is_closed(&mut stream).await);
    }
    let broken = "Accept: ,;q=,\u{1}\r\nAccept-Encoding: ;;\r\n".replace('\u{1}', "\t");
    assert_eq!(ask(&server, "GET /metrics", &broken).await.status, 200);
}

#[tokio::test]
async fn a_header_that_drips_in_is_cut_off_and_an_idle_client_is_not() {
    let options = ServerOptions {
        header_timeout: Duration::from_millis(300),
        ..Default::default()
    };
    let server = serve(publisher([healthy("")]), options).await;
    let mut slow = connect(&server).await;
    let mut silent = connect(&server).await;
    let mut idle = connect(&server).await;
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(exchange(&mut idle, request).await.status, 200);
    let drip = async {
        for byte in b"GET /metrics HTTP/1.1\r\nHost: gpulens".iter().cycle() {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if slow.write_all(&[*byte]).await.is_err() {
                return;
            }
        }
    };
    timeout(PATIENCE, drip).await.expect("cut off");
    assert!(is_closed(&mut silent).await);
    // Between requests a client may rest for longer than a header may take.
    assert_eq!(exchange(&mut idle, request).await.status, 200);
}

#[tokio::test]
async fn a_client_that_stays_idle_is_let_go() {
    let limit = Duration::from_millis(300);
    let options = ServerOptions {
        header_timeout: limit,
        idle_timeout: limit,
        ..Default::default()
    };
    let server = serve(publisher([healthy("")]), options).await;
    let mut idle = connect(&server).await;
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(exchange(&mut idle, request).await.status, 200);
    assert!(is_closed(&mut idle).await);
}

#[tokio::test]
async fn idle_connections_do_not_keep_a_scrape_out() {
    let options = ServerOptions {
        max_connections: 16,
        ..Default::default()
    };
    let server = serve(publisher([healthy("")]), options).await;
    let mut idle = Vec::new();
    for n in 0..400 {
        let mut stream = connect(&server).await;
        if n % 3 == 0 {
            stream.write_all(b"GET /metr").await.expect("written");
        }
        idle.push(stream);
        if n % 100 == 0 {
            assert_eq!(get(&server, "/metrics").await.status, 200);
        }
    }
    assert_eq!(get(&server, "/metrics").await.status, 200);
    assert!(is_closed(&mut idle[0]).await, "the oldest gave way");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_that_do_not_read_delay_nobody_and_are_dropped() {
    let options = ServerOptions {
        max_connections: 8,
        write_timeout: Duration::from_secs(2),
        ..Default::default()
    };
    let mut view = healthy("");
    view.open = many("", 3_000, Severity::Critical);
    let server = serve(publisher([view]), options).await;
    let body = get(&server, "/metrics").await.body.len();
    // More than the kernel takes on behalf of a client that does not read.
    let row = "GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n".repeat(1 + 32_000_000 / body);
    let mut stuck = Vec::new();
    for _ in 0..7 {
        let mut stream = connect(&server).await;
        stream.write_all(row.as_bytes()).await.expect("written");
        stuck.push(stream);
    }
    let healthy = timeout(Duration::from_secs(10), get(&server, "/metrics")).await;
    assert_eq!(healthy.expect("not delayed").body.len(), body);
    // Dropped: what the kernel had taken ends before all was sent.
    let mut rest = Vec::new();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let first = &mut stuck[0];
    let _ = timeout(PATIENCE, first.read_to_end(&mut rest))
        .await
        .expect("an end");
    assert!(rest.len() < 32_000_000, "{}", rest.len());
    // With every place taken by such readers, a new client still gets one.
    for _ in 0..10 {
        let mut stream = connect(&server).await;
        stream.write_all(row.as_bytes()).await.expect("written");
        stuck.push(stream);
    }
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(get(&server, "/metrics").await.status, 200);
}

#[tokio::test]
async fn stopping_ends_idle_clients_and_refuses_new_ones() {
    let server = with([healthy("")]).await;
    let addr = server.local_addr();
    let mut idle = connect(&server).await;
    let request = b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(exchange(&mut idle, request).await.status, 200);
    timeout(PATIENCE, server.shutdown()).await.expect("stopped");
    assert!(is_closed(&mut idle).await);
    assert!(TcpStream::connect(addr).await.is_err());
}
