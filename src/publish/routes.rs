//! Which path is answered by what. Paths are matched as they are sent: nothing is decoded,
//! resolved or folded.

use std::io;
use std::sync::Arc;

use hyper::body::{Body, Bytes, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::filter::Filter;
use super::negotiate::{self, Coding};
use super::published::{PATIENCE, Published, awaited};
use super::response::{Answer, CSS, HTML, answer, gzip, set, text};
use super::server::ServerOptions;
use super::{Publisher, json, page};

/// Everything that answers requests.
pub(super) struct Site {
    publisher: Arc<Publisher>,
    telemetry_path: String,
    max_target_bytes: usize,
    /// Turns for answers that are made for one reader. A turn ends when the answer's bytes are
    /// gone, so readers who do not read hold no more memory than this many answers.
    turns: Arc<Semaphore>,
}

const INCIDENTS: &str = "/api/v1/incidents";
const SOURCES: &str = "/api/v1/sources";
const RULES: &str = "/api/v1/rules";
const FIXED: [&str; 7] = [
    "/",
    page::STYLE_PATH,
    "/healthz",
    "/readyz",
    INCIDENTS,
    SOURCES,
    RULES,
];

/// Below this, gzip's own header and the work are not worth it.
const WORTH_GZIP: usize = 1024;

impl Site {
    pub(super) fn new(publisher: Arc<Publisher>, options: &ServerOptions) -> io::Result<Self> {
        let path = &options.telemetry_path;
        let plain = |b: u8| b.is_ascii_alphanumeric() || b"/-._~".contains(&b);
        if !path.starts_with('/')
            || !path.bytes().all(plain)
            || path.starts_with("/api/")
            || FIXED.contains(&path.as_str())
        {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!(
                    "telemetry path `{path}`: want a path such as /metrics that is not under \
                     /api/ and none of {}",
                    FIXED.join(" ")
                ),
            ));
        }
        Ok(Self {
            publisher,
            telemetry_path: path.clone(),
            max_target_bytes: options.max_target_bytes,
            turns: Arc::new(Semaphore::new(options.max_answers)),
        })
    }

    /// Answers one request.
    pub(super) async fn answer(&self, request: Request<Incoming>) -> Answer {
        let has_body = !request.body().is_end_stream();
        let mut answer = self.checked(&request, has_body).await;
        if has_body {
            // The body is not read, so nothing after it can be.
            set(&mut answer, header::CONNECTION, "close");
        }
        let length = HeaderValue::from(answer.body().len());
        answer.headers_mut().insert(header::CONTENT_LENGTH, length);
        if request.method() == Method::HEAD {
            *answer.body_mut() = Bytes::new();
        }
        answer
    }

    async fn checked(&self, request: &Request<Incoming>, has_body: bool) -> Answer {
        let target = request.uri().path_and_query();
        if target.is_some_and(|target| target.as_str().len() > self.max_target_bytes) {
            return text(StatusCode::URI_TOO_LONG, "the request target is too long");
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            let mut answer = text(
                StatusCode::METHOD_NOT_ALLOWED,
                "this service is read-only: GET and HEAD are allowed",
            );
            set(&mut answer, header::ALLOW, "GET, HEAD");
            return answer;
        }
        if has_body {
            return text(
                StatusCode::PAYLOAD_TOO_LARGE,
                "no request here takes a body",
            );
        }
        self.route(request).await
    }

    async fn route(&self, request: &Request<Incoming>) -> Answer {
        let path = request.uri().path();
        let query = request.uri().query().unwrap_or("").to_owned();
        match path {
            _ if path == self.telemetry_path => self.metrics(request).await,
            "/healthz" => text(StatusCode::OK, "ok"),
            "/readyz" => ready(&self.publisher.load()),
            page::STYLE_PATH => answer(StatusCode::OK, CSS, page::STYLE),
            "/" => {
                self.made(request, move |published| overview(published, &query))
                    .await
            }
            INCIDENTS => {
                self.made(request, move |published| {
                    match Filter::parse(&query, published) {
                        Ok(filter) => json::incidents(published, &filter),
                        Err(error) => json::failure(StatusCode::BAD_REQUEST, &error),
                    }
                })
                .await
            }
            _ if !query.is_empty() && path.starts_with("/api/v1/") => json::failure(
                StatusCode::BAD_REQUEST,
                "parameters are allowed on /api/v1/incidents only",
            ),
            SOURCES => self.made(request, json::sources).await,
            RULES => self.made(request, json::all_rules).await,
            _ => match path.strip_prefix("/api/") {
                Some(_) => match path.strip_prefix("/api/v1/incidents/") {
                    Some(id) => {
                        let id = id.to_owned();
                        self.made(request, move |published| json::incident(published, &id))
                            .await
                    }
                    None => json::failure(StatusCode::NOT_FOUND, &self.hint()),
                },
                None => text(StatusCode::NOT_FOUND, self.hint()),
            },
        }
    }

    fn hint(&self) -> String {
        format!(
            "not found; there are / {} {INCIDENTS} {INCIDENTS}/<id> {SOURCES} {RULES} /healthz \
             /readyz, matched exactly",
            self.telemetry_path
        )
    }

    /// `/metrics`: made once a state, format and coding, then copied.
    async fn metrics(&self, request: &Request<Incoming>) -> Answer {
        let (format, content_type) = negotiate::format(&joined(request, &header::ACCEPT));
        let coding = coding(request);
        let published = self.publisher.load();
        let body = match published.made_metrics(format, coding) {
            Some(body) => body,
            // A large body takes a while: not on a thread that others are served by.
            None => match spawn_blocking(move || published.coded_metrics(format, coding)).await {
                Ok(body) => body,
                Err(_) => return failed(),
            },
        };
        let mut answer = answer(StatusCode::OK, content_type, body);
        set(&mut answer, header::VARY, "Accept, Accept-Encoding");
        if coding == Coding::Gzip {
            set(&mut answer, header::CONTENT_ENCODING, "gzip");
        }
        answer
    }

    /// An answer that is made for this reader, when it is its turn.
    async fn made(
        &self,
        request: &Request<Incoming>,
        make: impl FnOnce(&Published) -> Answer + Send + 'static,
    ) -> Answer {
        let coding = coding(request);
        let Ok(Ok(turn)) = timeout(PATIENCE, self.turns.clone().acquire_owned()).await else {
            let (status, error) = (StatusCode::SERVICE_UNAVAILABLE, "too many readers at once");
            let mut answer = if request.uri().path().starts_with("/api/") {
                json::failure(status, error)
            } else {
                text(status, error)
            };
            set(&mut answer, header::RETRY_AFTER, "1");
            return answer;
        };
        let published = self.publisher.load();
        let work = spawn_blocking(move || {
            let mut answer = make(&published);
            set(&mut answer, header::VARY, "Accept-Encoding");
            if coding == Coding::Gzip && answer.body().len() > WORTH_GZIP {
                set(&mut answer, header::CONTENT_ENCODING, "gzip");
                *answer.body_mut() = gzip(answer.body()).into();
            }
            answer.map(|body| Bytes::from_owner(Held { body, _turn: turn }))
        });
        work.await.unwrap_or_else(|_| failed())
    }
}

/// Bytes that hold a turn until they are gone.
struct Held {
    body: Bytes,
    _turn: OwnedSemaphorePermit,
}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

fn failed() -> Answer {
    text(
        StatusCode::INTERNAL_SERVER_ERROR,
        "the answer could not be made; the log says why",
    )
}

fn coding(request: &Request<Incoming>) -> Coding {
    negotiate::coding(&joined(request, &header::ACCEPT_ENCODING))
}

/// A header's values as one list, which repeated headers are.
fn joined(request: &Request<Incoming>, name: &HeaderName) -> String {
    let values = request.headers().get_all(name);
    let values: Vec<_> = values
        .iter()
        .filter_map(|value| value.to_str().ok())
        .collect();
    values.join(",")
}

fn overview(published: &Published, query: &str) -> Answer {
    if query.is_empty() {
        return answer(StatusCode::OK, HTML, published.overview());
    }
    match Filter::parse(query, published) {
        Ok(filter) => answer(StatusCode::OK, HTML, page::overview(published, &filter)),
        Err(error) => text(StatusCode::BAD_REQUEST, error),
    }
}

/// Whether every cluster's first complete cycle is published; if not, what is awaited.
fn ready(published: &Published) -> Answer {
    let mut lines = Vec::new();
    for (name, _) in &published.cycles {
        if let Some(what) = awaited(published, name) {
            lines.push(if name.is_empty() {
                format!("not ready: waiting for {what}")
            } else {
                format!("not ready: cluster {name} waits for {what}")
            });
        }
    }
    if lines.is_empty() {
        text(StatusCode::OK, "ready")
    } else {
        text(StatusCode::SERVICE_UNAVAILABLE, lines.join("\n"))
    }
}
