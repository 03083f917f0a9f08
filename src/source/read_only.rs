//! The only HTTP client that sources get. GET and HEAD are all it can say.
//!
//! | file | holds |
//! | --- | --- |
//! | `read_only.rs` | [`ReadOnlyClient`]: one request, one bounded [`Answer`] |
//! | `guard` | the layer that lets no other method out |
//! | `config` | [`HttpConfig`]: what an operator can set |
//! | `credentials` | tokens and passwords, re-read from their files |
//! | `secret` | [`Secret`]: text that is never shown |
//! | `tls` | certificates and their verification |
//! | `url` | [`SourceUrl`]: an address as it may be shown |
//! | `failure` | errors as [`ErrorKind`] and a sentence |
//!
//! Absent on purpose: redirects (a login page is not metrics, and a redirect can lead a token
//! elsewhere), proxies from the environment (pod addresses are reached directly), cookies, request
//! bodies, and any method that could change something.

mod config;
mod credentials;
mod failure;
mod guard;
mod secret;
#[cfg(test)]
mod tests;
mod tls;
mod url;

pub use config::{BasicAuth, HttpConfig, TlsConfig};
pub use failure::SetupError;
pub use secret::Secret;
pub use url::SourceUrl;

use std::time::Duration;

use reqwest::header::{
    ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION, TRANSFER_ENCODING,
};
use reqwest::{Method, Request, Response, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::timeout;

use crate::clock::Stopwatch;
use crate::snapshot::{ErrorKind, SourceError};
use credentials::Credentials;
use failure::Attempt;
use guard::Guard;

/// Bodies up to this size are read without asking; larger ones take turns.
const SMALL_BODY_BYTES: usize = 1 << 20;
/// Turns of bodies above [`SMALL_BODY_BYTES`]: how many all clients of the process, one a cluster,
/// hold at a time. It bounds what thousands of hostile targets can make us keep; a node of GPUs
/// answers with 50 to 500 KiB.
static LARGE_BODIES: Semaphore = Semaphore::const_new(16);
/// Room that a large body gets at once, whatever its limit. Pages that are not written cost
/// nothing. Beyond 32 MiB glibc's allocator maps memory for each request and gives it back
/// afterwards; below, it would keep tens of MiB for each thread that ever read a large body.
const LARGE_BODY_ROOM: usize = 33 << 20;

/// Makes ring the process' TLS provider, once. `main` calls it first, as do tests; other TLS
/// users of the process (the Kubernetes client, the server) rely on it.
pub fn install_crypto() {
    // An error means that a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
}

/// What came back with a 2xx status.
#[derive(Debug)]
pub struct Answer {
    /// The `Content-Type` header, if it is text.
    pub content_type: Option<String>,
    /// The body, decoded.
    pub body: Vec<u8>,
    /// Why the body is not whole, if it is not: the connection ended or the deadline passed inside
    /// it. What had arrived is in `body`.
    pub cut: Option<SourceError>,
    /// Whether the response itself said where its body ends, by a length or by chunks. Where it
    /// did not, the end of the connection is the only end, and a cut looks like it. A packed body
    /// with a length counts as one that did not: unpacking takes the length away.
    pub framed: bool,
}

impl Answer {
    /// Whether the body's last byte is known to be really its last.
    #[must_use]
    pub fn complete(&self) -> bool {
        self.cut.is_none() && self.framed
    }
}

/// An HTTP client that reads and cannot do anything else.
#[derive(Debug)]
pub struct ReadOnlyClient {
    guard: Guard,
    credentials: Credentials,
    deadline: Duration,
    body_limit: usize,
}

impl ReadOnlyClient {
    /// A client with these settings. Certificate files are read now, token files at each use.
    pub fn new(config: &HttpConfig) -> Result<Self, SetupError> {
        let client = reqwest::Client::builder()
            .user_agent(concat!("gpulens/", env!("CARGO_PKG_VERSION")))
            .tls_backend_preconfigured(tls::client_config(&config.tls)?)
            .dns_resolver(failure::Names)
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .connect_timeout(config.connect_timeout.unsigned())
            .pool_max_idle_per_host(1)
            .tcp_nodelay(true)
            .build()
            .map_err(|error| SetupError::Client(failure::root_cause(&error)))?;
        Ok(Self {
            guard: Guard::new(client),
            credentials: Credentials::new(config),
            deadline: config.timeout.unsigned(),
            body_limit: usize::try_from(config.body_limit_bytes).unwrap_or(usize::MAX),
        })
    }

    /// The same client with a deadline of at most this.
    #[must_use]
    pub fn with_deadline_at_most(mut self, longest: Duration) -> Self {
        self.deadline = self.deadline.min(longest);
        self
    }

    /// The time that one request may take, its body included.
    #[must_use]
    pub fn deadline(&self) -> Duration {
        self.deadline
    }

    /// Reads what is at a URL.
    pub async fn get(&self, url: &SourceUrl, accept: &str) -> Result<Answer, SourceError> {
        let attempt = Attempt::new("GET", url, self.deadline);
        let stopwatch = Stopwatch::start();
        let mut response = self.send(Method::GET, &attempt, accept).await?;
        let content_type = text_header(&response, CONTENT_TYPE);
        let framed = [CONTENT_LENGTH, TRANSFER_ENCODING]
            .iter()
            .any(|name| response.headers().contains_key(name));
        let mut body = Body::default();
        let left = self.deadline.saturating_sub(stopwatch.elapsed());
        let read = timeout(left, self.read(&mut response, &mut body, &attempt)).await;
        let cut = match read {
            Ok(Ok(())) => None,
            Ok(Err(error)) if error.kind == ErrorKind::Truncated => Some(error),
            Ok(Err(error)) => return Err(error),
            Err(_) => Some(attempt.slow_body(body.bytes.len())),
        };
        Ok(Answer {
            content_type,
            body: body.bytes,
            cut,
            framed,
        })
    }

    /// Asks whether there is something at a URL, without reading it.
    pub async fn head(&self, url: &SourceUrl) -> Result<(), SourceError> {
        let attempt = Attempt::new("HEAD", url, self.deadline);
        self.send(Method::HEAD, &attempt, "*/*").await.map(drop)
    }

    /// Sends a request and waits for a 2xx status, all inside the deadline.
    async fn send(
        &self,
        method: Method,
        attempt: &Attempt<'_>,
        accept: &str,
    ) -> Result<Response, SourceError> {
        let response = timeout(self.deadline, self.exchange(method, attempt, accept))
            .await
            .map_err(|_| attempt.no_answer())??;
        if response.status() == StatusCode::UNAUTHORIZED {
            // The file may hold a newer token than the one just refused.
            self.credentials.forget();
        }
        if response.status().is_success() {
            return Ok(response);
        }
        let location = text_header(&response, LOCATION);
        Err(attempt.refused_by_status(response.status(), location.as_deref()))
    }

    /// Sends a request, and a second time if the connection ended before anything came back: a
    /// kept connection may be closed by the other side (dcgm-exporter: after 10 s) in the moment
    /// it is used again, and a read can safely be repeated.
    async fn exchange(
        &self,
        method: Method,
        attempt: &Attempt<'_>,
        accept: &str,
    ) -> Result<Response, SourceError> {
        let mut repeat = true;
        loop {
            let request = self.request(method.clone(), attempt, accept)?;
            match self.guard.execute(request).await {
                Ok(response) => return Ok(response),
                Err(guard::Failure::Refused(method)) => return Err(attempt.not_a_read(&method)),
                Err(guard::Failure::Http(error)) if repeat && failure::ended_early(&error) => {
                    repeat = false;
                }
                Err(guard::Failure::Http(error)) => return Err(attempt.failed(&error)),
            }
        }
    }

    fn request(
        &self,
        method: Method,
        attempt: &Attempt<'_>,
        accept: &str,
    ) -> Result<Request, SourceError> {
        let mut request = Request::new(method, attempt.url().get().clone());
        let headers = request.headers_mut();
        let accept = HeaderValue::from_str(accept).unwrap_or(HeaderValue::from_static("*/*"));
        headers.insert(ACCEPT, accept);
        self.credentials
            .apply(headers)
            .map_err(|cause| attempt.no_credentials(&cause))?;
        Ok(request)
    }

    /// Reads the body up to the limit on its decoded size. What arrived stays in `body`.
    async fn read(
        &self,
        response: &mut Response,
        body: &mut Body,
        attempt: &Attempt<'_>,
    ) -> Result<(), SourceError> {
        let announced = response.content_length().unwrap_or(0);
        if announced > self.body_limit as u64 {
            return Err(attempt.too_large(self.body_limit));
        }
        loop {
            let chunk = match response.chunk().await {
                Ok(Some(chunk)) => chunk,
                Ok(None) => return Ok(()),
                Err(error) => return Err(attempt.broken_body(&error, body.bytes.len())),
            };
            let size = body.bytes.len() + chunk.len();
            if size > self.body_limit {
                return Err(attempt.too_large(self.body_limit));
            }
            if size > SMALL_BODY_BYTES && body.turn.is_none() {
                body.turn = LARGE_BODIES.acquire().await.ok();
            }
            if size > body.bytes.capacity() {
                let capacity = if size > SMALL_BODY_BYTES {
                    LARGE_BODY_ROOM.max((2 * size).min(self.body_limit))
                } else {
                    2 * size
                };
                body.bytes.reserve_exact(capacity - body.bytes.len());
            }
            body.bytes.extend_from_slice(&chunk);
        }
    }
}

/// A body while it is read.
#[derive(Default)]
struct Body {
    bytes: Vec<u8>,
    /// The turn that a large body takes.
    turn: Option<SemaphorePermit<'static>>,
}

fn text_header(response: &Response, name: HeaderName) -> Option<String> {
    let value = response.headers().get(name)?;
    value.to_str().ok().map(str::to_owned)
}
