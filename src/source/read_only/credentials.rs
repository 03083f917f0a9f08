//! Tokens and passwords, and the files they are read from.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};

use super::{HttpConfig, Secret};
use crate::clock::Stopwatch;

/// How long what was read from a file is taken as its content. A rotated token overlaps with its
/// predecessor for minutes, and a 401 reads the file at once.
const TRUST_FILE: Duration = Duration::from_secs(1);
/// Bytes that a token or password may have; service account tokens have about 1,200.
const SECRET_BYTES: u64 = 64 * 1024;

/// What goes into the `Authorization` header.
#[derive(Debug)]
pub(super) struct Credentials {
    scheme: Scheme,
    read: Mutex<Option<(Stopwatch, Secret)>>,
}

#[derive(Debug)]
enum Scheme {
    None,
    Bearer(Origin),
    Basic { username: String, password: Origin },
}

#[derive(Debug)]
enum Origin {
    Literal(Secret),
    File(PathBuf),
}

impl Origin {
    fn of(literal: Option<&Secret>, file: Option<&PathBuf>) -> Option<Self> {
        let literal = literal.cloned().map(Self::Literal);
        literal.or_else(|| file.cloned().map(Self::File))
    }
}

/// Why there is nothing to send. Tells the file, never what is in it.
#[derive(Debug)]
pub(super) struct Unavailable(String);

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Credentials {
    pub(super) fn new(config: &HttpConfig) -> Self {
        let bearer = Origin::of(
            config.bearer_token.as_ref(),
            config.bearer_token_file.as_ref(),
        );
        let scheme = if let Some(basic) = &config.basic_auth {
            let password = Origin::of(basic.password.as_ref(), basic.password_file.as_ref());
            Scheme::Basic {
                username: basic.username.clone(),
                password: password.unwrap_or_else(|| Origin::Literal("".into())),
            }
        } else {
            bearer.map_or(Scheme::None, Scheme::Bearer)
        };
        Self {
            scheme,
            read: Mutex::default(),
        }
    }

    /// Adds the header.
    pub(super) fn apply(&self, headers: &mut HeaderMap) -> Result<(), Unavailable> {
        let text = match &self.scheme {
            Scheme::None => return Ok(()),
            Scheme::Bearer(origin) => {
                let token = self.secret(origin)?;
                if !is_token(token.expose()) {
                    let what = "the bearer token is empty or has characters a header cannot hold";
                    return Err(Unavailable(what.to_owned()));
                }
                format!("Bearer {}", token.expose())
            }
            Scheme::Basic { username, password } => {
                let password = self.secret(password)?;
                let pair = format!("{username}:{}", password.expose());
                format!("Basic {}", BASE64_STANDARD.encode(pair))
            }
        };
        let mut value = HeaderValue::try_from(text)
            .map_err(|_| Unavailable("the credentials do not fit into a header".to_owned()))?;
        value.set_sensitive(true);
        headers.insert(AUTHORIZATION, value);
        Ok(())
    }

    /// Reads the file anew at the next use.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    fn secret(&self, origin: &Origin) -> Result<Secret, Unavailable> {
        let path = match origin {
            Origin::Literal(secret) => return Ok(secret.clone()),
            Origin::File(path) => path,
        };
        let mut kept = self.lock();
        if let Some((read, secret)) = &*kept
            && read.elapsed() < TRUST_FILE
        {
            return Ok(secret.clone());
        }
        let secret = read_secret(path)?;
        *kept = Some((Stopwatch::start(), secret.clone()));
        Ok(secret)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<(Stopwatch, Secret)>> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The first line of a file; editors and `echo` end it with a line feed.
fn read_secret(path: &Path) -> Result<Secret, Unavailable> {
    let unavailable = |error: &dyn fmt::Display| {
        Unavailable(format!(
            "cannot read the credentials file {}: {error}",
            path.display()
        ))
    };
    let mut text = String::new();
    File::open(path)
        .and_then(|file| file.take(SECRET_BYTES).read_to_string(&mut text))
        .map_err(|error| unavailable(&error))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(unavailable(&"it is empty"));
    }
    Ok(text.into())
}

/// Whether a text can be a bearer token: visible ASCII, at least one character.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())
}
