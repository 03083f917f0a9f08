//! What went wrong: its kind, and a sentence that says what was attempted, on what, and what to do.

use std::error::Error;
use std::fmt::Display;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Method, StatusCode, Url};

use super::SourceUrl;
use super::credentials::Unavailable;
use super::url::shown;
use crate::snapshot::{ErrorKind, SourceError};

/// Why a client cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// A certificate or key file cannot be used.
    #[error("cannot use the certificate file {}: {why}; want PEM", path.display())]
    Pem {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The HTTP client cannot be made.
    #[error("cannot set up the HTTP client: {0}")]
    Client(String),
}

/// One request, as its errors tell of it.
#[derive(Debug)]
pub(super) struct Attempt<'a> {
    method: &'static str,
    url: &'a SourceUrl,
    deadline: Duration,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(method: &'static str, url: &'a SourceUrl, deadline: Duration) -> Self {
        Self {
            method,
            url,
            deadline,
        }
    }

    pub(super) fn url(&self) -> &'a SourceUrl {
        self.url
    }

    fn error(&self, kind: ErrorKind, what: impl Display) -> SourceError {
        let message = format!("{} {}: {what}", self.method, self.url);
        SourceError { kind, message }
    }

    pub(super) fn no_answer(&self) -> SourceError {
        let seconds = self.deadline.as_secs_f64();
        self.error(
            ErrorKind::Timeout,
            format_args!(
                "no answer within {seconds} s; look whether the exporter hangs (its log, its \
                 pod's CPU limit) and whether a network policy drops packets"
            ),
        )
    }

    pub(super) fn slow_body(&self, arrived: usize) -> SourceError {
        let seconds = self.deadline.as_secs_f64();
        self.error(
            ErrorKind::Timeout,
            format_args!(
                "the body was not complete within {seconds} s ({arrived} bytes had come); collect \
                 fewer metrics, or raise the timeout"
            ),
        )
    }

    pub(super) fn too_large(&self, limit: usize) -> SourceError {
        self.error(
            ErrorKind::TooLarge,
            format_args!(
                "the body is larger than body_limit_bytes ({limit} bytes, decoded); look whether \
                 this is an exporter, collect fewer metrics, or raise the limit"
            ),
        )
    }

    pub(super) fn no_credentials(&self, cause: &Unavailable) -> SourceError {
        self.error(ErrorKind::Unauthorized, format_args!("not sent: {cause}"))
    }

    pub(super) fn not_a_read(&self, method: &Method) -> SourceError {
        self.error(
            ErrorKind::Protocol,
            format_args!("not sent: {method} is not a read"),
        )
    }

    /// A status other than 2xx.
    pub(super) fn refused_by_status(
        &self,
        status: StatusCode,
        location: Option<&str>,
    ) -> SourceError {
        let code = status.as_u16();
        if status.is_redirection() {
            let to = location.and_then(|to| self.url.get().join(to).ok());
            let to = to.map_or_else(|| "elsewhere".to_owned(), |to: Url| shown(&to));
            let what = format_args!(
                "answered {code}, a redirect to {to}, and none is followed; set the final \
                 address, or look for a login proxy in between"
            );
            return self.error(ErrorKind::Redirect, what);
        }
        let (kind, hint) = match code {
            401 => (
                ErrorKind::Unauthorized,
                "set or renew bearer_token(_file) or basic_auth",
            ),
            403 => (ErrorKind::Forbidden, "these credentials may not read this"),
            404 => (
                ErrorKind::ClientError,
                "look at the path; dcgm-exporter serves /metrics",
            ),
            400..=499 => (
                ErrorKind::ClientError,
                "look at the URL, and whether it needs https",
            ),
            500 => (
                ErrorKind::ServerError,
                "look at the exporter's log; one duplicate series or unreadable field fails the \
                 whole page of dcgm-exporter 4.8.3",
            ),
            501..=599 => (ErrorKind::ServerError, "look at the exporter's log"),
            _ => (ErrorKind::Protocol, "not a status that ends a request"),
        };
        self.error(kind, format_args!("answered {code}; {hint}"))
    }

    /// A failure before the response.
    pub(super) fn failed(&self, error: &reqwest::Error) -> SourceError {
        let kind = kind_of(error);
        let hint = match kind {
            ErrorKind::Dns => "look at the host's spelling and the cluster's DNS",
            ErrorKind::Refused => "look whether the exporter runs and listens on this port",
            ErrorKind::Timeout => {
                "look whether the host is up and whether a network policy drops packets"
            }
            ErrorKind::Tls => "look at tls.ca_file, tls.server_name and whether the port is TLS",
            _ => "look whether this is the exporter's port and whether it restarts",
        };
        self.error(kind, format_args!("{}; {hint}", root_cause(error)))
    }

    /// A failure inside the body.
    pub(super) fn broken_body(&self, error: &reqwest::Error, arrived: usize) -> SourceError {
        let cause = root_cause(error);
        if !ended(error) {
            return self.error(
                ErrorKind::Protocol,
                format_args!("unreadable body: {cause}; look whether a proxy in between alters it"),
            );
        }
        self.error(
            ErrorKind::Truncated,
            format_args!(
                "the connection ended inside the body after {arrived} bytes ({cause}); look \
                 whether the exporter restarts or needs longer than its write timeout"
            ),
        )
    }
}

/// Resolves names as the system does; a failure keeps its type, so that it is told apart.
#[derive(Debug)]
pub(super) struct Names;

/// A name that does not resolve.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Unresolved(String);

impl Resolve for Names {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await;
            let found = found.map_err(|error| Unresolved(error.to_string()))?;
            let found: Vec<_> = found.collect();
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Every error beneath an error, outermost first, those that `io::Error` wraps included.
fn causes<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |error| beneath(*error))
}

fn beneath<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    match error.downcast_ref::<io::Error>() {
        Some(io) => io.get_ref().map(|inner| inner as &(dyn Error + 'static)),
        None => error.source(),
    }
}

fn find<'a, T: Error + 'static>(error: &'a (dyn Error + 'static)) -> Option<&'a T> {
    causes(error).find_map(|cause| cause.downcast_ref::<T>())
}

/// What lies beneath, in its own words. The outer layers would repeat the URL with its query.
pub(super) fn root_cause(error: &(dyn Error + 'static)) -> String {
    causes(error)
        .last()
        .map_or_else(String::new, ToString::to_string)
}

fn kind_of(error: &reqwest::Error) -> ErrorKind {
    let io = find::<io::Error>(error).map(io::Error::kind);
    let hyper = find::<hyper::Error>(error);
    if find::<Unresolved>(error).is_some() {
        ErrorKind::Dns
    } else if find::<rustls::Error>(error).is_some() {
        ErrorKind::Tls
    } else if error.is_timeout() || hyper.is_some_and(hyper::Error::is_timeout) {
        ErrorKind::Timeout
    } else {
        match io {
            Some(
                io::ErrorKind::ConnectionRefused
                | io::ErrorKind::HostUnreachable
                | io::ErrorKind::NetworkUnreachable,
            ) => ErrorKind::Refused,
            Some(io::ErrorKind::TimedOut) => ErrorKind::Timeout,
            _ => ErrorKind::Protocol,
        }
    }
}

/// Whether the connection ended, as opposed to saying something wrong.
fn ended(error: &reqwest::Error) -> bool {
    let by_io = |error: &io::Error| {
        matches!(
            error.kind(),
            io::ErrorKind::UnexpectedEof
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::ConnectionAborted
                | io::ErrorKind::BrokenPipe
        )
    };
    causes(error).any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(by_io)
            || cause
                .downcast_ref::<hyper::Error>()
                .is_some_and(hyper::Error::is_incomplete_message)
    })
}

/// Whether a connection ended before anything came back on it. TLS handshakes do not count: what
/// ends them once ends them again.
pub(super) fn ended_early(error: &reqwest::Error) -> bool {
    !error.is_connect() && ended(error)
}
