//! Answers: every one has a Content-Type, a length, and headers that keep browsers from guessing.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use hyper::body::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Response, StatusCode};

/// An answer whose body is in memory.
pub(super) type Answer = Response<Bytes>;

pub(super) const TEXT: &str = "text/plain; charset=utf-8";
pub(super) const JSON: &str = "application/json";
pub(super) const HTML: &str = "text/html; charset=utf-8";
pub(super) const CSS: &str = "text/css; charset=utf-8";

/// Our own style sheet, and nothing else: no script, no frame, no form, no other host.
const POLICY: &str = "default-src 'none'; style-src 'self'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'";

/// An answer with a body of a media type.
pub(super) fn answer(
    status: StatusCode,
    content_type: &'static str,
    body: impl Into<Bytes>,
) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    for (name, value) in [
        (header::CONTENT_TYPE, content_type),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        set(&mut answer, name, value);
    }
    answer
}

/// Sets a header to a value of our own.
pub(super) fn set(answer: &mut Answer, name: HeaderName, value: &'static str) {
    answer
        .headers_mut()
        .insert(name, HeaderValue::from_static(value));
}

/// A line of plain text.
pub(super) fn text(status: StatusCode, line: impl Into<String>) -> Answer {
    let mut line = line.into();
    line.push('\n');
    answer(status, TEXT, line)
}

/// A body as gzip: the same body gives the same bytes.
pub(super) fn gzip(body: &[u8]) -> Vec<u8> {
    // The fastest level: repeated label blocks shrink to a twelfth with it already.
    let room = Vec::with_capacity(body.len() / 8);
    let mut encoder = GzEncoder::new(room, Compression::fast());
    // Writing to a vector cannot fail.
    let _ = encoder.write_all(body);
    encoder.finish().unwrap_or_default()
}
