//! What an operator can set about requests.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::Secret;
use super::credentials::is_token;
use crate::snapshot::Span;

/// How a source's endpoints are reached. Without credentials or TLS settings by default.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Unchecked")]
pub struct HttpConfig {
    /// How long one request may take, body included. Default 10 s, dcgm-exporter's own write
    /// timeout; a target is never given more than the interval.
    pub timeout: Span,
    /// How long connecting may take, TLS included. Default 5 s.
    pub connect_timeout: Span,
    /// Bytes of one decoded body; a longer one is an error and is not kept. Default 16 MiB: 16
    /// boards with 7 instances each, 60 metrics and 400 bytes a line make 2.7 MB, and a body with
    /// a copy for each of 30 pods a board is still below.
    pub body_limit_bytes: u64,
    /// Sent as `Authorization: Bearer …`.
    pub bearer_token: Option<Secret>,
    /// File with the bearer token; read again at most once a second, so a rotated token is used.
    pub bearer_token_file: Option<PathBuf>,
    /// Sent as `Authorization: Basic …`.
    pub basic_auth: Option<BasicAuth>,
    /// Certificates, for `https` URLs.
    pub tls: TlsConfig,
}

/// A user and its password.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BasicAuth {
    /// The user.
    pub username: String,
    /// The password.
    #[serde(default)]
    pub password: Option<Secret>,
    /// File with the password; read again at most once a second.
    #[serde(default)]
    pub password_file: Option<PathBuf>,
}

/// Certificates. Their files are read once, at start.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// PEM file with the authorities to trust, instead of the system's.
    pub ca_file: Option<PathBuf>,
    /// PEM file with the client's certificate chain.
    pub cert_file: Option<PathBuf>,
    /// PEM file with the client's private key.
    pub key_file: Option<PathBuf>,
    /// The name that the server's certificate must carry, instead of the URL's host.
    pub server_name: Option<String>,
    /// Accept any certificate. Whoever stands in between can then read credentials.
    pub insecure_skip_verify: bool,
}

impl Default for HttpConfig {
    fn default() -> Self {
        Self {
            timeout: Span::seconds(10),
            connect_timeout: Span::seconds(5),
            body_limit_bytes: 16 << 20,
            bearer_token: None,
            bearer_token_file: None,
            basic_auth: None,
            tls: TlsConfig::default(),
        }
    }
}

impl HttpConfig {
    /// Settings that contradict each other or cannot work, as a sentence.
    pub fn check(&self) -> Result<(), String> {
        let basic = self.basic_auth.as_ref();
        let ways = usize::from(self.bearer_token.is_some())
            + usize::from(self.bearer_token_file.is_some())
            + usize::from(basic.is_some());
        if ways > 1 {
            return fail("set one of bearer_token, bearer_token_file and basic_auth");
        }
        if basic.is_some_and(|basic| basic.password.is_some() && basic.password_file.is_some()) {
            return fail("set password or password_file of basic_auth, not both");
        }
        if basic.is_some_and(|basic| {
            basic
                .username
                .contains(|c: char| c == ':' || c.is_control())
        }) {
            return fail("the username of basic_auth cannot hold a colon or control character");
        }
        if self
            .bearer_token
            .as_ref()
            .is_some_and(|token| !is_token(token.expose()))
        {
            return fail("bearer_token is empty or has characters that a header cannot hold");
        }
        if self.tls.cert_file.is_some() != self.tls.key_file.is_some() {
            return fail("tls.cert_file and tls.key_file belong together; set both or neither");
        }
        if self.tls.insecure_skip_verify && self.tls.ca_file.is_some() {
            return fail(
                "tls.ca_file has no effect with tls.insecure_skip_verify; set one of them",
            );
        }
        if let Some(name) = &self.tls.server_name
            && rustls::pki_types::ServerName::try_from(name.as_str()).is_err()
        {
            return fail("tls.server_name must be a DNS name or an IP address");
        }
        if self.timeout < Span::seconds(1) || self.connect_timeout.unsigned().is_zero() {
            return fail("timeout must be at least 1s, connect_timeout more than 0s");
        }
        if !(1 << 10..=1 << 30).contains(&self.body_limit_bytes) {
            return fail("body_limit_bytes must be between 1024 and 1073741824 (1 GiB)");
        }
        Ok(())
    }
}

fn fail(why: &str) -> Result<(), String> {
    Err(why.to_owned())
}

/// As written, before [`HttpConfig::check`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Unchecked {
    timeout: Span,
    connect_timeout: Span,
    body_limit_bytes: u64,
    bearer_token: Option<Secret>,
    bearer_token_file: Option<PathBuf>,
    basic_auth: Option<BasicAuth>,
    tls: TlsConfig,
}

impl Default for Unchecked {
    fn default() -> Self {
        let HttpConfig {
            timeout,
            connect_timeout,
            body_limit_bytes,
            bearer_token,
            bearer_token_file,
            basic_auth,
            tls,
        } = HttpConfig::default();
        Self {
            timeout,
            connect_timeout,
            body_limit_bytes,
            bearer_token,
            bearer_token_file,
            basic_auth,
            tls,
        }
    }
}

impl TryFrom<Unchecked> for HttpConfig {
    type Error = String;

    fn try_from(raw: Unchecked) -> Result<Self, String> {
        let config = Self {
            timeout: raw.timeout,
            connect_timeout: raw.connect_timeout,
            body_limit_bytes: raw.body_limit_bytes,
            bearer_token: raw.bearer_token,
            bearer_token_file: raw.bearer_token_file,
            basic_auth: raw.basic_auth,
            tls: raw.tls,
        };
        config.check().map(|()| config)
    }
}
