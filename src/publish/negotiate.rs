//! Which format and coding a client gets, by its `Accept` and `Accept-Encoding` headers.
//!
//! Nothing a client sends is an error here: what cannot be understood is passed over, and who
//! accepts nothing that we have gets the classic text, plain, as from other exporters.

use super::Format;

/// How a body is coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    /// As it is.
    Identity,
    /// gzip.
    Gzip,
}

/// The media type that OpenMetrics of before its version 1.0 went by. Prometheus up to 2.33
/// asks for it; nothing that we print differs.
const OPENMETRICS_0_0_1: &str = "application/openmetrics-text; version=0.0.1; charset=utf-8";

/// The format of `/metrics`, with its media type, for an `Accept` header.
pub(super) fn format(accept: &str) -> (Format, &'static str) {
    let classic = classic(accept);
    let modern = OpenMetrics::asked(accept);
    // OpenMetrics only for those who know it: a wildcard alone gets what everyone can read.
    let wins = modern.quality > 0
        && (modern.quality > classic || modern.named && modern.quality == classic);
    match wins {
        false => (Format::Classic, Format::Classic.content_type()),
        true if modern.old => (Format::OpenMetrics, OPENMETRICS_0_0_1),
        true => (Format::OpenMetrics, Format::OpenMetrics.content_type()),
    }
}

/// The quality of the classic text: that of the most specific range which covers it.
fn classic(accept: &str) -> u16 {
    best(accept, |range| match (range.value, range.version) {
        ("text/plain", Some("0.0.4")) => 4,
        ("text/plain", None) => 3,
        ("text/*", _) => 2,
        ("*/*", _) => 1,
        _ => 0,
    })
    .0
}

struct OpenMetrics {
    quality: u16,
    /// It was asked for by name.
    named: bool,
    /// It was asked for as 0.0.1, and not better as 1.0.0.
    old: bool,
}

impl OpenMetrics {
    fn asked(accept: &str) -> Self {
        const NAME: &str = "application/openmetrics-text";
        let (new, specific) = best(accept, |range| match (range.value, range.version) {
            (NAME, Some("1.0.0")) => 4,
            (NAME, None) => 3,
            ("application/*", _) => 2,
            ("*/*", _) => 1,
            _ => 0,
        });
        let (old, _) = best(accept, |range| {
            u8::from(range.value == NAME && range.version == Some("0.0.1"))
        });
        let is_old = old > 0 && (specific < 3 || old > new);
        Self {
            quality: if is_old { old } else { new },
            named: is_old || specific >= 3,
            old: is_old,
        }
    }
}

/// The quality, in thousandths, of the range that covers an offer most specifically, and how
/// specifically (0: no range does).
fn best(header: &str, specificity: impl Fn(&Range<'_>) -> u8) -> (u16, u8) {
    let mut best = (0, 0);
    for range in ranges(header) {
        let specific = specificity(&range);
        if specific > best.1 || specific == best.1 && specific > 0 && range.quality > best.0 {
            best = (range.quality, specific);
        }
    }
    best
}

/// The coding for an `Accept-Encoding` header.
pub(super) fn coding(accept_encoding: &str) -> Coding {
    let quality = |names: [&str; 2]| {
        best(accept_encoding, |range| {
            if names.iter().any(|name| range.is(name)) {
                2
            } else {
                u8::from(range.value == "*")
            }
        })
    };
    let (gzip, _) = quality(["gzip", "x-gzip"]);
    let (identity, asked) = quality(["identity", "identity"]);
    // Identity is taken for granted unless it is named: it then never beats gzip.
    let identity = if asked == 2 { identity } else { 0 };
    if gzip > 0 && gzip >= identity {
        Coding::Gzip
    } else {
        Coding::Identity
    }
}

/// One element of such a header.
struct Range<'a> {
    value: &'a str,
    version: Option<&'a str>,
    /// In thousandths.
    quality: u16,
}

impl Range<'_> {
    fn is(&self, name: &str) -> bool {
        self.value.eq_ignore_ascii_case(name)
    }
}

/// The elements that can be understood.
fn ranges(header: &str) -> impl Iterator<Item = Range<'_>> {
    split(header, ',').filter_map(|element| {
        let mut parts = split(element, ';').map(str::trim);
        let value = parts.next().filter(|value| !value.is_empty())?;
        let mut range = Range {
            value: KNOWN
                .into_iter()
                .find(|known| known.eq_ignore_ascii_case(value))
                .unwrap_or(value),
            version: None,
            quality: 1000,
        };
        for part in parts {
            let (name, text) = part.split_once('=').unwrap_or((part, ""));
            let text = text.trim().trim_matches('"');
            match name.trim() {
                "q" | "Q" => range.quality = thousandths(text)?,
                name if name.eq_ignore_ascii_case("version") => range.version = Some(text),
                _ => {}
            }
        }
        Some(range)
    })
}

/// Media types and ranges that matter here; their case does not.
const KNOWN: [&str; 5] = [
    "application/openmetrics-text",
    "text/plain",
    "text/*",
    "application/*",
    "*/*",
];

/// The parts of a header between separators that do not stand in quotes.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    text.split(move |c| {
        quoted ^= c == '"';
        c == separator && !quoted
    })
}

/// A quality from 0 to 1 with at most three decimals.
fn thousandths(text: &str) -> Option<u16> {
    let plain = text.len() <= 5 && text.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let value: f64 = text.parse().ok().filter(|_| plain)?;
    (value <= 1.0).then_some((value * 1000.0).round() as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_format_follows_accept() {
        let classic = "text/plain; version=0.0.4; charset=utf-8";
        let modern = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let old = OPENMETRICS_0_0_1;
        for (accept, want) in [
            ("", classic),
            ("*/*", classic), // curl
            // Prometheus 2.42
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                modern,
            ),
            // Prometheus 2.20
            (
                "application/openmetrics-text; version=0.0.1,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                old,
            ),
            // Prometheus 2.4x with native histograms
            (
                "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,application/openmetrics-text;version=1.0.0;q=0.8,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1",
                modern,
            ),
            // Prometheus 3
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5,text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
                modern,
            ),
            // Prometheus 3 with scrape_protocols: [PrometheusText0.0.4]
            ("text/plain;version=0.0.4;q=0.5,*/*;q=0.1", classic),
            (
                "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.6,*/*;q=0.5",
                classic,
            ),
            // Firefox, Chromium
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
                classic,
            ),
            (
                "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7",
                classic,
            ),
            ("application/openmetrics-text", modern),
            (
                "APPLICATION/OpenMetrics-Text; Version=1.0.0; Q=0.9, text/plain;q=0.8",
                modern,
            ),
            ("application/openmetrics-text;version=\"1.0.0\"", modern),
            ("application/openmetrics-text;q=0.5,text/plain", classic),
            (
                "application/openmetrics-text;q=0.5,text/plain;q=0.5",
                modern,
            ),
            ("application/openmetrics-text;q=0,*/*", classic),
            (
                "application/openmetrics-text;version=1.0.0;q=0,application/openmetrics-text;version=0.0.1",
                old,
            ),
            ("application/openmetrics-text;version=2.0.0", classic),
            ("text/plain;q=0,*/*", modern),
            ("text/*;q=0.3,application/*;q=0.2", classic),
            ("application/json", classic),
            // Broken: passed over.
            (",,;;q=,=;\"", classic),
            ("application/openmetrics-text;q=2,text/plain;q=0.1", classic),
            ("application/openmetrics-text;q=-1", classic),
            ("application/openmetrics-text;q=NaN", classic),
            ("application/openmetrics-text;q=1e0", classic),
            ("x;a=\"b,application/openmetrics-text\"", classic),
        ] {
            assert_eq!(format(accept).1, want, "{accept}");
            let of_format = format(accept).0.content_type();
            assert!(want == old || want == of_format, "{accept}");
        }
    }

    #[test]
    fn the_coding_follows_accept_encoding() {
        for (accept, want) in [
            ("", Coding::Identity),
            ("gzip", Coding::Gzip),
            ("gzip, deflate, br, zstd", Coding::Gzip),
            ("GZIP;q=0.5", Coding::Gzip),
            ("x-gzip", Coding::Gzip),
            ("*", Coding::Gzip),
            ("gzip;q=0", Coding::Identity),
            ("gzip;q=0.000, *", Coding::Identity),
            ("*;q=0", Coding::Identity),
            ("*;q=0, gzip", Coding::Gzip),
            ("identity", Coding::Identity),
            ("identity, gzip", Coding::Gzip),
            ("identity;q=1, gzip;q=0.5", Coding::Identity),
            ("identity;q=0.2, gzip;q=0.5", Coding::Gzip),
            ("deflate", Coding::Identity),
            ("gzip;q=many", Coding::Identity),
            ("gzipped", Coding::Identity),
            (";;,q=1", Coding::Identity),
        ] {
            assert_eq!(coding(accept), want, "{accept}");
        }
    }
}
