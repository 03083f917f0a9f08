//! The layer beneath the client's interface: whatever is built above it, only reads leave.

use reqwest::{Client, Method, Request, Response};

/// Why a request brought no response.
#[derive(Debug)]
pub(super) enum Failure {
    /// It was not a read, and was not sent.
    Refused(Method),
    /// It failed.
    Http(reqwest::Error),
}

/// Owns the HTTP client. It hands out neither the client nor a request builder, as both can send.
#[derive(Debug)]
pub(super) struct Guard(Client);

impl Guard {
    pub(super) fn new(client: Client) -> Self {
        Self(client)
    }

    /// Sends a request if it is a GET or HEAD without a body.
    pub(super) async fn execute(&self, request: Request) -> Result<Response, Failure> {
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        if !is_read || request.body().is_some() {
            return Err(Failure::Refused(request.method().clone()));
        }
        self.0.execute(request).await.map_err(Failure::Http)
    }
}
