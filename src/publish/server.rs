//! The server: HTTP/1.1 on hyper alone, for its time-outs and limits.
//!
//! At most [`ServerOptions::max_connections`] clients are connected. A further one takes the
//! place of the client that has waited longest without a request, else of the one that has
//! longest not taken its answer; only where all are being answered at this moment is it told to
//! come back (503). So thousands of idle connections from elsewhere never stop a scrape.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::{GracefulShutdown, Watcher};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{sleep, timeout};

use super::Publisher;
use super::connection::Guarded;
use super::registry::{Connections, Entry, Phase};
use super::routes::Site;

/// Limits and paths of the server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// The path of the metrics.
    pub telemetry_path: String,
    /// Clients that may be connected at once.
    pub max_connections: usize,
    /// Time from a request's first byte to the end of its header, and from the connection's
    /// start to the end of the first.
    pub header_timeout: Duration,
    /// Time that a connection may wait for its next request: longer than a scrape interval.
    pub idle_timeout: Duration,
    /// Time in which a client must take an answer.
    pub write_timeout: Duration,
    /// Largest request header, in bytes; 8 KiB is the least.
    pub max_header_bytes: usize,
    /// Longest request target, in bytes.
    pub max_target_bytes: usize,
    /// API answers and pages that are in memory at once; further readers wait for their turn.
    pub max_answers: usize,
    /// Time that answers under way get when the server stops.
    pub grace: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            telemetry_path: "/metrics".to_owned(),
            max_connections: 512,
            header_timeout: Duration::from_secs(10),
            idle_timeout: Duration::from_mins(3),
            write_timeout: Duration::from_secs(30),
            max_header_bytes: 16 * 1024,
            max_target_bytes: 2048,
            max_answers: 8,
            grace: Duration::from_secs(5),
        }
    }
}

/// A running server. It stops when it is dropped; [`Server::shutdown`] also waits for it.
#[derive(Debug)]
pub struct Server {
    local_addr: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Server {
    /// Listens and serves. Must be called inside a runtime.
    pub async fn bind(
        addr: SocketAddr,
        publisher: Arc<Publisher>,
        options: ServerOptions,
    ) -> io::Result<Self> {
        let site = Site::new(publisher, &options)?;
        let listener = TcpListener::bind(addr)
            .await
            .map_err(|error| io::Error::new(error.kind(), format!("listen on {addr}: {error}")))?;
        let local_addr = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        let accept = Accept {
            site: Arc::new(site),
            places: Arc::new(Semaphore::new(options.max_connections)),
            connections: Arc::default(),
            builder: builder(&options),
            options,
        };
        let task = tokio::spawn(accept.run(listener, stopped));
        Ok(Self {
            local_addr,
            stop,
            task,
        })
    }

    /// Where it listens: the real port where port 0 was asked for.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.local_addr
    }

    /// Accepts nobody more, lets answers under way end within the grace time, then returns.
    pub async fn shutdown(self) {
        // An error means that the task has ended already.
        let _ = self.stop.send(());
        let _ = self.task.await;
    }
}

fn builder(options: &ServerOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .timer(TokioTimer::new())
        // hyper's clock runs from the end of the last answer; the header's own deadline, which
        // is shorter, is the guarded socket's.
        .header_read_timeout(options.idle_timeout.max(options.header_timeout))
        .max_buf_size(options.max_header_bytes.max(8 * 1024))
        .half_close(true);
    builder
}

/// Clients may be refused for this long; then nobody answers them.
const REFUSAL_TIMEOUT: Duration = Duration::from_secs(1);
const REFUSAL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
    Content-Type: text/plain; charset=utf-8\r\nContent-Length: 21\r\n\
    Retry-After: 1\r\nConnection: close\r\n\r\ntoo many connections\n";
/// A wait after a failed accept, most likely for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

struct Accept {
    site: Arc<Site>,
    places: Arc<Semaphore>,
    connections: Arc<Connections>,
    builder: http1::Builder,
    options: ServerOptions,
}

impl Accept {
    async fn run(self, listener: TcpListener, mut stopped: oneshot::Receiver<()>) {
        let graceful = GracefulShutdown::new();
        let mut tasks = JoinSet::new();
        loop {
            let stream = tokio::select! {
                _ = &mut stopped => break,
                Some(_) = tasks.join_next() => continue,
                accepted = listener.accept() => match accepted {
                    Ok((stream, _)) => stream,
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(ACCEPT_PAUSE).await;
                        continue;
                    }
                },
            };
            match self.place().await {
                Some(place) => {
                    let entry = self.connections.enter();
                    tasks.spawn(self.serve(stream, entry, place, graceful.watcher()));
                }
                None => {
                    tasks.spawn(refuse(stream));
                }
            }
        }
        drop(listener);
        // Connections that are idle end at once; what is left after the grace time is cut.
        let _ = timeout(self.options.grace, graceful.shutdown()).await;
        tasks.shutdown().await;
    }

    /// A place for one more client, if need be that of another.
    async fn place(&self) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = self.places.clone().try_acquire_owned() {
            return Some(place);
        }
        if !self.connections.evict() {
            return None;
        }
        // Whoever is told to go does so as soon as its task is run.
        let place = timeout(REFUSAL_TIMEOUT, self.places.clone().acquire_owned());
        place.await.ok()?.ok()
    }

    fn serve(
        &self,
        stream: TcpStream,
        entry: Entry,
        place: OwnedSemaphorePermit,
        watcher: Watcher,
    ) -> impl Future<Output = ()> + use<> {
        let activity = entry.activity.clone();
        // An error here only means small packets wait for each other.
        let _ = stream.set_nodelay(true);
        let guarded = Guarded::new(
            stream,
            activity.clone(),
            self.options.header_timeout,
            self.options.write_timeout,
        );
        let site = self.site.clone();
        let requests = {
            let activity = activity.clone();
            service_fn(move |request| {
                activity.enter(Phase::Busy);
                let site = site.clone();
                let activity = activity.clone();
                async move {
                    let answer = site.answer(request).await;
                    activity.enter(Phase::Answered);
                    Ok::<_, std::convert::Infallible>(answer.map(Full::new))
                }
            })
        };
        let connection = self
            .builder
            .serve_connection(TokioIo::new(guarded), requests);
        async move {
            tokio::select! {
                outcome = watcher.watch(connection) => if let Err(error) = outcome {
                    tracing::debug!(%error, "a client's connection ended");
                },
                () = activity.evicted() => tracing::debug!("a client's place was given away"),
            }
            drop((entry, place));
        }
    }
}

async fn refuse(mut stream: TcpStream) {
    let _ = timeout(REFUSAL_TIMEOUT, async {
        stream.write_all(REFUSAL).await?;
        stream.shutdown().await
    })
    .await;
}
