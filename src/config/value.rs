//! The values that a configuration can hold. Each is read the same way from the file and from
//! the command line, and says what is allowed when it is given something else.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer};

use crate::source::dcgm::{DcgmConfig, MetricMapping, Target};
use crate::source::read_only::HttpConfig;

use super::decode::unknown;

/// Lets the file read a value by its `FromStr`.
macro_rules! from_text {
    ($($type:ty)*) => { $(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?
                    .parse()
                    .map_err(serde::de::Error::custom)
            }
        }
    )* };
}

from_text! { ListenAddress TelemetryPath KubernetesMode LogLevel LogFormat }

/// Where to listen: `:9836` (every interface), `0.0.0.0:9836`, `[::1]:9836`, `localhost:9836`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenAddress {
    host: String,
    port: u16,
}

impl ListenAddress {
    /// The addresses to try, in this order: the first that can be bound is taken. Without a
    /// host that is IPv6's wildcard, which takes IPv4 as well, and IPv4's where there is no IPv6.
    #[must_use]
    pub fn candidates(&self) -> Vec<String> {
        if self.host.is_empty() {
            return vec![
                format!("[::]:{}", self.port),
                format!("0.0.0.0:{}", self.port),
            ];
        }
        vec![self.to_string()]
    }
}

impl Default for ListenAddress {
    fn default() -> Self {
        Self {
            host: String::new(),
            port: 9836,
        }
    }
}

impl FromStr for ListenAddress {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let fail = || {
            format!(
                "`{text}` is not an address to listen on; want [HOST]:PORT with a port from 0 to \
                 65535, such as :9836, 127.0.0.1:9836, [::1]:9836 or localhost:9836"
            )
        };
        let (host, port) = text.rsplit_once(':').ok_or_else(fail)?;
        let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
        let port = port.parse().ok().filter(|_| digits).ok_or_else(fail)?;
        let good = match host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
            Some(inside) => inside.parse::<std::net::Ipv6Addr>().is_ok(),
            None => host
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-')),
        };
        if !good {
            return Err(fail());
        }
        Ok(Self {
            host: host.to_owned(),
            port,
        })
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.host, self.port)
    }
}

/// The path under which metrics are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TelemetryPath(String);

impl TelemetryPath {
    /// The path, with its leading slash.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for TelemetryPath {
    fn default() -> Self {
        Self("/metrics".into())
    }
}

/// The paths that are something else already; those that end in `/` with all that lies below.
const TAKEN: [&str; 6] = [
    "/",
    "/healthz",
    "/readyz",
    "/style.css",
    "/api/",
    "/incidents/",
];

impl FromStr for TelemetryPath {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let plain = text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '/' | '-' | '_' | '.' | '~'));
        let taken = TAKEN.iter().any(|path| match path.strip_suffix('/') {
            None | Some("") => text == *path,
            Some(folder) => text == folder || text.starts_with(path),
        });
        if !text.starts_with('/') || !plain || text.contains("//") {
            return Err(format!(
                "`{text}` is not a path; want one that starts with / and holds only letters, \
                 digits and - _ . ~, such as /metrics"
            ));
        }
        if taken {
            return Err(format!(
                "`{text}` is served already; want another path than {}, such as /metrics",
                TAKEN.join(", ")
            ));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TelemetryPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a target as a flag gives it: `URL[,node=NAME]`.
pub fn target(text: &str) -> Result<Target, String> {
    let text = text.trim();
    if text.contains(char::is_whitespace) {
        return Err(
            "there is white space in it; want one URL[,node=NAME] each time the flag is given"
                .into(),
        );
    }
    let (url, node) = match text.split_once(',') {
        None => (text, None),
        Some((url, rest)) => (url, Some(rest)),
    };
    match node.map(|rest| rest.strip_prefix("node=")) {
        None => Target::parse(url, None),
        Some(Some(name)) if !name.is_empty() && !name.contains([',', '=']) => {
            Target::parse(url, Some(name))
        }
        // The text is not repeated: a URL may hold a password.
        Some(_) => Err(
            "want URL[,node=NAME], such as http://10.0.0.1:9400/metrics,node=gpu-node-01".into(),
        ),
    }
}

/// Reads the `dcgm` section without holding its parts against each other: the source's own
/// reading does, but knows no place inside of the section.
pub(super) fn dcgm<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DcgmConfig, D::Error> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields, default)]
    struct Section {
        targets: Vec<Target>,
        http: HttpConfig,
        metrics: BTreeMap<String, MetricMapping>,
        concurrency: usize,
    }

    impl Default for Section {
        fn default() -> Self {
            let DcgmConfig {
                targets,
                http,
                metrics,
                concurrency,
            } = DcgmConfig::default();
            Self {
                targets,
                http,
                metrics,
                concurrency,
            }
        }
    }

    let Section {
        targets,
        http,
        metrics,
        concurrency,
    } = Section::deserialize(deserializer)?;
    Ok(DcgmConfig {
        targets,
        http,
        metrics,
        concurrency,
    })
}

/// Whether the Kubernetes API is a source. This version has no such source yet, so that there
/// is one value; the others are refused by name rather than silently ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KubernetesMode {
    /// It is not read.
    #[default]
    Off,
}

impl FromStr for KubernetesMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" | "false" => Ok(Self::Off),
            "auto" | "on" | "true" => Err(format!(
                "`{text}`: the Kubernetes source comes with a later version; this one takes `off`, \
                 and targets are named one by one (`--dcgm.target`)"
            )),
            _ => Err(unknown("value", text, &["off"])),
        }
    }
}

impl fmt::Display for KubernetesMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("off")
    }
}

/// Declares a choice of words.
macro_rules! choice {
    ($( #[doc = $doc:literal] $type:ident { $( #[doc = $meaning:literal] $variant:ident $word:literal )* } )*) => { $(
        #[doc = $doc]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $type {
            $( #[doc = $meaning] $variant, )*
        }

        impl $type {
            /// Every choice as it is written.
            pub const WORDS: &'static [&'static str] = &[$( $word, )*];

            /// As it is written.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $( Self::$variant => $word, )*
                }
            }
        }

        impl FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                match text {
                    $( $word => Ok(Self::$variant), )*
                    _ => Err(unknown("value", text, Self::WORDS)),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }
    )* };
}

choice! {
    #[doc = "How much is logged."]
    LogLevel {
        #[doc = "What ended or could not be begun."]
        Error "error"
        #[doc = "What is wrong and was survived."]
        Warn "warn"
        #[doc = "What an operator wants to know of a healthy day."]
        Info "info"
        #[doc = "Each cycle and each request."]
        Debug "debug"
        #[doc = "Everything."]
        Trace "trace"
    }
    #[doc = "How a log line looks."]
    LogFormat {
        #[doc = "`ts=… level=… msg=… key=value`"]
        Logfmt "logfmt"
        #[doc = "One JSON object a line."]
        Json "json"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text with what it is read as, or with a part of what is said about it.
    fn table<T: FromStr<Err = String> + ToString>(rows: &[(&str, Result<&str, &str>)]) {
        for (text, wanted) in rows {
            match (text.parse::<T>(), wanted) {
                (Ok(value), Ok(shown)) => assert_eq!(value.to_string(), *shown, "{text}"),
                (Err(error), Err(part)) => assert!(error.contains(part), "{text}: {error}"),
                (Ok(value), Err(part)) => {
                    panic!(
                        "{text} is read as {}, not refused: {part}",
                        value.to_string()
                    )
                }
                (Err(error), Ok(_)) => panic!("{text} is refused: {error}"),
            }
        }
    }

    #[test]
    fn addresses() {
        table::<ListenAddress>(&[
            (":9836", Ok(":9836")),
            ("0.0.0.0:0", Ok("0.0.0.0:0")),
            ("[::]:9836", Ok("[::]:9836")),
            ("localhost:65535", Ok("localhost:65535")),
            ("9836", Err("want [HOST]:PORT")),
            (":65536", Err("from 0 to 65535")),
            (":+1", Err("such as :9836")),
            ("::1:9836", Err("[::1]:9836")),
            ("http://a:1", Err("is not an address")),
            ("", Err("is not an address")),
        ]);
        let bound = |text: &str| text.parse::<ListenAddress>().expect(text).candidates();
        assert_eq!(bound(":1"), ["[::]:1", "0.0.0.0:1"]);
        assert_eq!(bound("a:1"), ["a:1"]);
    }

    #[test]
    fn paths() {
        table::<TelemetryPath>(&[
            ("/metrics", Ok("/metrics")),
            ("/gpu/metrics.txt", Ok("/gpu/metrics.txt")),
            ("metrics", Err("starts with /")),
            ("/a b", Err("starts with /")),
            ("/a?b", Err("only letters")),
            ("/", Err("served already")),
            ("/healthz", Err("served already")),
            ("/api", Err("served already")),
            ("/api/v1/x", Err("served already")),
            ("/apis", Ok("/apis")),
        ]);
    }

    #[test]
    fn targets() {
        let good = target("http://10.0.0.1:9400,node=n1").expect("good");
        assert_eq!(good.node, Some("n1".into()));
        assert_eq!(good.url.to_string(), "http://10.0.0.1:9400/metrics");
        for text in [
            "http://n1,",
            "http://n1,n2",
            "http://n1,node=",
            "http://n1,node=a,node=b",
            "http://n1,node=a b",
            "http://n1 http://n2",
            "http://n1/a\tb",
        ] {
            let error = target(text).expect_err(text);
            assert!(error.contains("URL[,node=NAME]"), "{error}");
        }
    }

    #[test]
    fn choices_name_what_is_allowed() {
        table::<LogLevel>(&[
            ("debug", Ok("debug")),
            (
                "debgu",
                Err("did you mean `debug`? allowed: debug, error, info, trace, warn"),
            ),
        ]);
        table::<KubernetesMode>(&[
            ("off", Ok("off")),
            ("on", Err("comes with a later version")),
            ("auto", Err("comes with a later version")),
            ("maybe", Err("allowed: off")),
        ]);
    }
}
