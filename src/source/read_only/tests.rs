//! That nothing but a read leaves, and that nothing secret shows.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::Request;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::guard::Failure;
use super::*;

/// Counts the bytes that reach it, and answers a GET or HEAD.
struct Ear {
    url: SourceUrl,
    heard: Arc<AtomicUsize>,
}

impl Ear {
    async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let heard = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&heard);
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                // A connection alone says something, too.
                count.fetch_add(1, Ordering::SeqCst);
                let count = Arc::clone(&count);
                tokio::spawn(async move {
                    let mut bytes = [0; 1024];
                    while let Ok(n @ 1..) = stream.read(&mut bytes).await {
                        count.fetch_add(n, Ordering::SeqCst);
                        if bytes[..n].ends_with(b"\r\n\r\n") {
                            let _ = stream
                                .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                                .await;
                        }
                    }
                });
            }
        });
        let url = format!("http://{address}/metrics").parse().expect("a URL");
        Self { url, heard }
    }

    async fn heard(&self) -> usize {
        tokio::time::sleep(Duration::from_millis(50)).await;
        self.heard.load(Ordering::SeqCst)
    }
}

fn client(config: &HttpConfig) -> ReadOnlyClient {
    install_crypto();
    ReadOnlyClient::new(config).expect("a client")
}

#[tokio::test]
async fn no_other_method_leaves() {
    let ear = Ear::open().await;
    let client = client(&HttpConfig::default());
    let attempt = Attempt::new("GET", &ear.url, Duration::from_secs(1));
    let verbs = [
        "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "TRACE", "PROPFIND", "get", "Head",
        "GETX", "PURGE",
    ];
    for verb in verbs {
        let method = || Method::from_bytes(verb.as_bytes()).expect("a method");
        // Every function below the interface that takes a method, innermost first.
        let request = Request::new(method(), ear.url.get().clone());
        let refused = client.guard.execute(request).await;
        assert!(matches!(refused, Err(Failure::Refused(_))), "{verb}");
        let refused = client.exchange(method(), &attempt, "*/*").await;
        assert_eq!(refused.expect_err(verb).kind, ErrorKind::Protocol);
        let refused = client.send(method(), &attempt, "*/*").await;
        let message = refused.expect_err(verb).message;
        assert!(message.contains("is not a read"), "{message}");
    }
    let mut with_body = Request::new(Method::GET, ear.url.get().clone());
    *with_body.body_mut() = Some("x".into());
    let refused = client.guard.execute(with_body).await;
    assert!(matches!(refused, Err(Failure::Refused(_))));
    assert_eq!(ear.heard().await, 0);
    client.get(&ear.url, "*/*").await.expect("an answer");
    assert!(ear.heard().await > 0, "the ear works");
}

#[tokio::test]
async fn no_text_becomes_a_second_request() {
    let ear = Ear::open().await;
    let smuggled = "x\r\n\r\nPOST / HTTP/1.1\r\n\r\n";
    let config = HttpConfig {
        bearer_token: Some(smuggled.into()),
        ..HttpConfig::default()
    };
    assert!(config.check().is_err());
    let error = client(&config).get(&ear.url, "*/*").await;
    assert_eq!(error.expect_err("no token").kind, ErrorKind::Unauthorized);
    assert_eq!(ear.heard().await, 0);
    let plain = client(&HttpConfig::default());
    plain.get(&ear.url, smuggled).await.expect("an answer");
    let url: SourceUrl = format!("{}/a b\r\nPOST / HTTP/1.1\r\n?\r\nDELETE", ear.url)
        .parse()
        .expect("a URL");
    plain.get(&url, "*/*").await.expect("an answer");
    assert!(
        !url.get().as_str().contains(['\r', '\n', ' ']),
        "{}",
        url.get()
    );
}

#[test]
fn secrets_do_not_show() {
    let config = HttpConfig {
        basic_auth: Some(BasicAuth {
            username: "user".to_owned(),
            password: Some("hunter2".into()),
            password_file: None,
        }),
        ..HttpConfig::default()
    };
    let written = serde_json::to_string(&config).expect("JSON");
    let client = client(&config);
    for shown in [
        written,
        format!("{config:?}"),
        format!("{client:?}"),
        format!("{}", Secret::from("hunter2")),
    ] {
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}

#[test]
fn settings_that_cannot_work_are_refused() {
    let read = serde_saphyr::from_str::<HttpConfig>;
    assert_eq!(read("{}").expect("defaults"), HttpConfig::default());
    read("{timeout: 20s, basic_auth: {username: u, password_file: /x}, tls: {ca_file: /y}}")
        .expect("good");
    for (bad, why) in [
        ("{timeout: 10}", "duration"),
        ("{timeout: 10ms}", "at least 1s"),
        ("{connect_timeout: 0s}", "more than 0s"),
        ("{body_limit_bytes: 10}", "between"),
        ("{bearer_token: a, bearer_token_file: /b}", "one of"),
        ("{bearer_token: ''}", "bearer_token"),
        (
            "{basic_auth: {username: u, password: a, password_file: /b}}",
            "not both",
        ),
        ("{basic_auth: {username: 'u:v'}}", "colon"),
        ("{tls: {cert_file: /a}}", "together"),
        (
            "{tls: {ca_file: /a, insecure_skip_verify: true}}",
            "no effect",
        ),
        ("{tls: {server_name: 'not a name'}}", "server_name"),
        ("{proxy: 'http://p'}", "proxy"),
    ] {
        let error = read(bad).expect_err(bad).to_string();
        assert!(error.contains(why), "{bad}: {error}");
    }
}

#[tokio::test]
async fn large_bodies_take_turns_in_the_whole_process() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("an address");
    tokio::spawn(async move {
        let length = SMALL_BODY_BYTES + 1;
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        let answer = [head.into_bytes(), vec![b'\n'; length]].concat();
        while let Ok((mut stream, _)) = listener.accept().await {
            let answer = answer.clone();
            tokio::spawn(async move {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(&answer).await;
            });
        }
    });
    let url: SourceUrl = format!("http://{address}/metrics").parse().expect("a URL");
    let turns = LARGE_BODIES.acquire_many(16).await.expect("never closed");
    let clients = [(); 2]
        .map(|()| client(&HttpConfig::default()).with_deadline_at_most(Duration::from_millis(300)));
    for client in &clients {
        let waiting = client.get(&url, "*/*").await.expect("a part");
        assert!(waiting.cut.is_some(), "it waits for a turn of another's");
    }
    drop(turns);
    for client in &clients {
        let read = client.get(&url, "*/*").await.expect("an answer");
        assert!(read.complete());
    }
}
