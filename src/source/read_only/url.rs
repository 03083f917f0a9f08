//! An address, and what may be shown of it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use reqwest::Url;

/// An `http` or `https` URL without credentials. Shown without its query, which may hold some.
#[derive(Clone, PartialEq, Eq)]
pub struct SourceUrl {
    url: Url,
    shown: Arc<str>,
}

impl SourceUrl {
    /// The URL as it is shown: in messages, labels and lists.
    #[must_use]
    pub fn shown(&self) -> &Arc<str> {
        &self.shown
    }

    /// The same URL with this path if it has none.
    #[must_use]
    pub fn or_path(mut self, path: &str) -> Self {
        if self.url.path() == "/" {
            self.url.set_path(path);
            self.shown = shown(&self.url).into();
        }
        self
    }

    pub(super) fn get(&self) -> &Url {
        &self.url
    }
}

/// A URL without user, password, query and fragment.
pub(super) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // Fails for URLs that cannot hold credentials, which is as good.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.into()
}

impl FromStr for SourceUrl {
    type Err = String;

    /// Reads a URL; `http://` may be left out. The text is not repeated in an error, as it may
    /// hold a password.
    fn from_str(text: &str) -> Result<Self, String> {
        let wanted = "want a URL such as http://10.0.0.7:9400/metrics";
        let text = text.trim();
        let full = if text.contains("://") {
            text.to_owned()
        } else {
            format!("http://{text}")
        };
        let mut url = Url::parse(&full).map_err(|error| format!("not a URL: {error}; {wanted}"))?;
        if !matches!(url.scheme(), "http" | "https") {
            let scheme = url.scheme();
            return Err(format!(
                "the scheme `{scheme}` is not http or https; {wanted}"
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            let instead = "set `basic_auth` of the HTTP settings instead";
            return Err(format!(
                "a user or password in a URL ends up in logs; {instead}"
            ));
        }
        url.set_fragment(None);
        let shown = shown(&url).into();
        Ok(Self { url, shown })
    }
}

impl fmt::Display for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for SourceUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.shown, f)
    }
}
