//! Numbers: what follows a name and its labels.

use super::format::Format;
use super::line::{is_blank, skip_blanks};
use super::rejection::Rejection;

/// The value of a sample and its timestamp in milliseconds since 1970, if it has one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    pub(super) value: f64,
    pub(super) timestamp_ms: Option<i64>,
}

/// Powers of ten that an f64 holds exactly.
const EXACT_TENS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16,
    1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
];

/// Decimal digits that always fit a u64.
const U64_DIGITS: usize = 19;

/// Whole numbers up to here are exact in an f64.
const EXACT_WHOLE: u64 = 1 << 53;

/// Reads `[-]digits[.digits]` from the start of `text`, where that can be done exactly; returns the
/// value and the bytes read.
///
/// The result equals `str::parse`: a u64 converts to the nearest f64, and a quotient of two exactly
/// held numbers is rounded once. Anything else is left to `str::parse` ([`number`]).
#[inline]
pub(super) fn plain_decimal(text: &[u8]) -> Option<(f64, usize)> {
    let negative = text.first() == Some(&b'-');
    let start = usize::from(negative);
    let (whole, point) = digits(text, start, 0);
    let mut digit_count = point - start;
    if digit_count == 0 {
        return None;
    }
    let (magnitude, end) = if text.get(point) == Some(&b'.') {
        let (scaled, end) = digits(text, point + 1, whole);
        let decimals = end - point - 1;
        digit_count += decimals;
        if decimals == 0 || digit_count > U64_DIGITS || scaled > EXACT_WHOLE {
            return None;
        }
        (scaled as f64 / EXACT_TENS[decimals], end)
    } else {
        (whole as f64, point)
    };
    if digit_count > U64_DIGITS {
        return None;
    }
    Some((if negative { -magnitude } else { magnitude }, end))
}

/// Appends the digits at `at` to `number`; returns it and the position after them. The number is
/// meaningless (wrapped) after more than [`U64_DIGITS`] digits, which the caller counts.
#[inline]
fn digits(text: &[u8], mut at: usize, mut number: u64) -> (u64, usize) {
    while let Some(&byte) = text.get(at) {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            break;
        }
        number = number.wrapping_mul(10).wrapping_add(u64::from(digit));
        at += 1;
    }
    (number, at)
}

/// A whole token as an f64, exactly as `str::parse` reads it: signs, exponents, `NaN`, `Inf` and
/// `infinity` in any case; no hexadecimal, no underscores.
fn number(token: &[u8]) -> Option<f64> {
    match plain_decimal(token) {
        Some((value, end)) if end == token.len() => Some(value),
        _ => std::str::from_utf8(token).ok()?.parse().ok(),
    }
}

/// A timestamp token in milliseconds: a whole number of them, or in `OpenMetrics` seconds with
/// decimals, rounded to the nearest millisecond.
fn timestamp_ms(token: &[u8], format: Format) -> Option<i64> {
    match format {
        Format::Classic => std::str::from_utf8(token).ok()?.parse().ok(),
        Format::OpenMetrics => {
            let milliseconds = (number(token)? * 1000.0).round();
            // Beyond 2^63 (and for NaN) there is no such i64.
            let fits = milliseconds.abs() < 9_223_372_036_854_775_808.0;
            fits.then_some(milliseconds as i64)
        }
    }
}

/// Reads what follows the labels: a value, perhaps a timestamp, and in `OpenMetrics` perhaps an
/// exemplar.
pub(super) fn reading(text: &[u8], format: Format) -> Result<Reading, Rejection> {
    if let Some(value) = only_a_plain_decimal(text) {
        return Ok(Reading {
            value,
            timestamp_ms: None,
        });
    }
    let (token, rest) = token(text);
    if token.is_empty() {
        return Err(Rejection::NoValue);
    }
    let value = number(token).ok_or(Rejection::BadValue)?;
    let (token, after) = self::token(rest);
    if token.is_empty() || token[0] == b'#' {
        return exemplar(rest, format).map(|()| Reading {
            value,
            timestamp_ms: None,
        });
    }
    let timestamp_ms = Some(timestamp_ms(token, format).ok_or(Rejection::BadTimestamp)?);
    exemplar(after, format).map(|()| Reading {
        value,
        timestamp_ms,
    })
}

/// The shape of nearly all lines, read at once: one blank and a plain number.
fn only_a_plain_decimal(text: &[u8]) -> Option<f64> {
    let number = text.strip_prefix(b" ")?;
    let (value, end) = plain_decimal(number)?;
    (end == number.len()).then_some(value)
}

/// Checks the end of a line: nothing, or in `OpenMetrics` an exemplar. That is not looked into, but
/// no line is accepted that is not UTF-8.
fn exemplar(text: &[u8], format: Format) -> Result<(), Rejection> {
    match token(text).0.first() {
        None => Ok(()),
        Some(b'#') if format == Format::OpenMetrics => match std::str::from_utf8(text) {
            Ok(_) => Ok(()),
            Err(_) => Err(Rejection::InvalidUtf8),
        },
        Some(_) => Err(Rejection::TrailingText),
    }
}

/// The next run of bytes between blanks, empty at the end, and what follows it.
fn token(text: &[u8]) -> (&[u8], &[u8]) {
    let text = &text[skip_blanks(text, 0)..];
    let end = text
        .iter()
        .position(|&byte| is_blank(byte))
        .unwrap_or(text.len());
    text.split_at(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same(token: &str) {
        let std = token.parse::<f64>().ok().map(f64::to_bits);
        let ours = number(token.as_bytes()).map(f64::to_bits);
        assert_eq!(ours, std, "{token:?}");
    }

    #[test]
    fn numbers_are_those_of_the_standard_library() {
        for token in [
            "0",
            "-0",
            "+0",
            "33",
            "-33",
            "+33",
            "0.0",
            "-0.0",
            "8.969000",
            "0.000000",
            "1.",
            ".5",
            "-.5",
            "1.98e+09",
            "9.223372036854776e+18",
            "1E3",
            "1e400",
            "-1e400",
            "5e-324",
            "1e-400",
            "9223372036854775792",
            "9999999999999999999",
            "18446744073709551615",
            "18446744073709551616",
            "99999999999999999999",
            "00000000000000000000000000001",
            "140737488355330.000000",
            "9007199254740992",
            "9007199254740993",
            "9007199254740995",
            "0.1",
            "0.3",
            "123456.789012",
            "9007199254740991.5",
            "0.9007199254740993",
            "0.0000000000000000001",
            "1.0000000000000000000",
            "NaN",
            "nan",
            "-NaN",
            "Inf",
            "+Inf",
            "-Inf",
            "inf",
            "INFINITY",
            "infinit",
            "",
            "-",
            "+",
            ".",
            "e5",
            "1e",
            "1e+",
            "--1",
            "+-1",
            "1-",
            "1.2.3",
            "1_000",
            "1,0",
            "0x10",
            "0x1p3",
            "0b1",
            "1f",
            "GPU-0000005a",
            "ERROR",
            "true",
            "1\0",
            "١",
        ] {
            same(token);
        }
    }

    #[test]
    fn milliseconds_of_each_format() {
        let classic = [
            ("1395066363000", Some(1_395_066_363_000)),
            ("-3", Some(-3)),
            ("0", Some(0)),
            ("+1", Some(1)),
            ("9223372036854775807", Some(i64::MAX)),
            ("9223372036854775808", None),
            ("1.5", None),
            ("1e3", None),
            ("NaN", None),
            ("x", None),
        ];
        for (token, expected) in classic {
            assert_eq!(
                timestamp_ms(token.as_bytes(), Format::Classic),
                expected,
                "{token}"
            );
        }
        let open_metrics = [
            ("1395066363", Some(1_395_066_363_000)),
            ("1395066363.123", Some(1_395_066_363_123)),
            ("0.0004", Some(0)),
            ("0.0006", Some(1)),
            ("-1.001", Some(-1001)),
            ("1e3", Some(1_000_000)),
            ("1700000000.9999", Some(1_700_000_001_000)),
            ("NaN", None),
            ("+Inf", None),
            ("1e300", None),
            ("9.3e15", None),
            ("-9.3e15", None),
            ("x", None),
        ];
        for (token, expected) in open_metrics {
            assert_eq!(
                timestamp_ms(token.as_bytes(), Format::OpenMetrics),
                expected,
                "{token}"
            );
        }
    }

    proptest! {
        #[test]
        fn any_float_text_parses_as_in_the_standard_library(bits in any::<u64>(), decimals in 0usize..25) {
            let value = f64::from_bits(bits);
            same(&format!("{value}"));
            same(&format!("{value:e}"));
            same(&format!("{value:.decimals$}"));
        }

        #[test]
        fn digits_parse_as_in_the_standard_library(token in "[-+]?[0-9]{0,24}(\\.[0-9]{0,24})?(e[-+]?[0-9]{0,3})?") {
            same(&token);
        }

        #[test]
        fn short_digits_parse_as_in_the_standard_library(token in "-?[0-9]{1,17}(\\.[0-9]{1,9})?") {
            same(&token);
        }
    }
}
