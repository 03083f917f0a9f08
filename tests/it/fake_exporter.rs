//! An exporter on a loopback socket that misbehaves on request.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

/// What to do with a request.
#[derive(Clone, Debug)]
pub(crate) enum Manner {
    /// A whole response with its length, on a connection that stays open.
    Answer(Answer),
    /// These bytes as they are, then an orderly end.
    Raw(Vec<u8>),
    /// These bytes as they are, then a reset.
    Reset(Vec<u8>),
    /// These bytes as they are, then nothing.
    Hang(Vec<u8>),
    /// The first bytes at once, the others one by one.
    Drip(Vec<u8>, Vec<u8>),
    /// The first bytes at once, then a block again and again, up to a gibibyte.
    Flood(Vec<u8>),
    /// The first request of a connection is answered, the next ends it.
    OncePerConnection(Answer),
    /// A whole response that is made for each request, from its number.
    Made(Maker),
    /// Answered only with this `Authorization` header; else with the status.
    Guarded(u16, String, Answer),
}

/// Makes a response from a request's number.
#[derive(Clone)]
pub(crate) struct Maker(Arc<dyn Fn(u64) -> Answer + Send + Sync>);

impl Manner {
    pub(crate) fn made(make: impl Fn(u64) -> Answer + Send + Sync + 'static) -> Self {
        Self::Made(Maker(Arc::new(make)))
    }
}

impl std::fmt::Debug for Maker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Maker")
    }
}

/// A response.
#[derive(Clone, Debug)]
pub(crate) struct Answer {
    status: u16,
    headers: String,
    body: Vec<u8>,
}

impl Answer {
    pub(crate) fn new(status: u16, headers: &str, body: impl Into<Vec<u8>>) -> Self {
        Self {
            status,
            headers: headers.to_owned(),
            body: body.into(),
        }
    }

    fn bytes(&self) -> Vec<u8> {
        let (status, headers, length) = (self.status, &self.headers, self.body.len());
        let head = format!("HTTP/1.1 {status} X\r\n{headers}Content-Length: {length}\r\n\r\n");
        [head.as_bytes(), &self.body].concat()
    }
}

/// The exporter; it ends when dropped.
pub(crate) struct FakeExporter {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    task: JoinHandle<()>,
}

struct Shared {
    manner: Mutex<Manner>,
    requests: Mutex<Vec<String>>,
    connections: AtomicU64,
    sent: AtomicU64,
}

impl FakeExporter {
    pub(crate) async fn start(manner: Manner) -> Self {
        Self::serve(manner, None).await
    }

    pub(crate) async fn start_tls(manner: Manner, tls: TlsAcceptor) -> Self {
        Self::serve(manner, Some(tls)).await
    }

    async fn serve(manner: Manner, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let shared = Arc::new(Shared {
            manner: Mutex::new(manner),
            requests: Mutex::default(),
            connections: AtomicU64::new(0),
            sent: AtomicU64::new(0),
        });
        let for_task = Arc::clone(&shared);
        let task = tokio::spawn(async move {
            let mut open = tokio::task::JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                for_task.connections.fetch_add(1, Ordering::Relaxed);
                let (shared, tls) = (Arc::clone(&for_task), tls.clone());
                open.spawn(async move {
                    match tls {
                        None => talk(stream, &shared).await,
                        Some(tls) => match tls.accept(stream).await {
                            Ok(stream) => talk(stream, &shared).await,
                            Err(_) => None,
                        },
                    }
                });
            }
        });
        Self {
            address,
            shared,
            task,
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/metrics", self.address)
    }

    pub(crate) fn set(&self, manner: Manner) {
        *self.shared.manner.lock().expect("no panic") = manner;
    }

    /// The heads of all requests.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.shared.requests.lock().expect("no panic").clone()
    }

    pub(crate) fn connections(&self) -> u64 {
        self.shared.connections.load(Ordering::Relaxed)
    }

    /// Bytes of bodies that a flood has sent.
    pub(crate) fn sent(&self) -> u64 {
        self.shared.sent.load(Ordering::Relaxed)
    }
}

impl Drop for FakeExporter {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// What can be reset.
trait Connection: AsyncRead + AsyncWrite + Unpin {
    fn reset_at_end(&self);
}

impl Connection for TcpStream {
    fn reset_at_end(&self) {
        self.set_zero_linger().expect("a socket option");
    }
}

impl Connection for tokio_rustls::server::TlsStream<TcpStream> {
    fn reset_at_end(&self) {
        self.get_ref().0.reset_at_end();
    }
}

/// Answers the requests of a connection; ends it by returning.
async fn talk<C: Connection>(mut stream: C, shared: &Shared) -> Option<()> {
    for round in 0.. {
        let head = read_head(&mut stream).await?;
        let number = {
            let mut requests = shared.requests.lock().expect("no panic");
            requests.push(head.clone());
            requests.len() as u64
        };
        let manner = shared.manner.lock().expect("no panic").clone();
        let answer = match manner {
            Manner::Answer(answer) => answer,
            Manner::Made(Maker(make)) => make(number),
            Manner::Guarded(status, wanted, answer) => {
                let wanted = format!("\r\nauthorization: {wanted}\r\n");
                let open = head.contains(&wanted);
                if open {
                    answer
                } else {
                    Answer::new(status, "", "")
                }
            }
            Manner::OncePerConnection(answer) if round == 0 => answer,
            Manner::OncePerConnection(_) => return None,
            other => {
                misbehave(&mut stream, other, shared).await;
                return None;
            }
        };
        stream.write_all(&answer.bytes()).await.ok()?;
        stream.flush().await.ok()?;
    }
    None
}

async fn misbehave<C: Connection>(stream: &mut C, manner: Manner, shared: &Shared) -> Option<()> {
    match manner {
        Manner::Raw(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            stream.shutdown().await.ok()?;
        }
        Manner::Reset(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            stream.flush().await.ok()?;
            // What was sent must be read before the reset throws it away.
            sleep(Duration::from_millis(100)).await;
            stream.reset_at_end();
        }
        Manner::Hang(bytes) => {
            stream.write_all(&bytes).await.ok()?;
            stream.flush().await.ok()?;
            sleep(Duration::from_hours(1)).await;
        }
        Manner::Drip(head, body) => {
            stream.write_all(&head).await.ok()?;
            for byte in body {
                stream.write_all(&[byte]).await.ok()?;
                stream.flush().await.ok()?;
                sleep(Duration::from_millis(1)).await;
            }
            sleep(Duration::from_hours(1)).await;
        }
        Manner::Flood(head) => {
            stream.write_all(&head).await.ok()?;
            let block = b"# HELP x y\n".repeat(6_000);
            while shared.sent.load(Ordering::Relaxed) < 1 << 30 {
                stream.write_all(&block).await.ok()?;
                shared.sent.fetch_add(block.len() as u64, Ordering::Relaxed);
            }
        }
        Manner::Answer(_)
        | Manner::Made(_)
        | Manner::Guarded(..)
        | Manner::OncePerConnection(_) => {}
    }
    Some(())
}

/// Reads up to the blank line after a request's headers.
async fn read_head<C: Connection>(stream: &mut C) -> Option<String> {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        stream.read_exact(&mut byte).await.ok()?;
        head.push(byte[0]);
    }
    Some(String::from_utf8_lossy(&head).into_owned())
}
