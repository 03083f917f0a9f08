//! Numbers and times as people read them in findings.

use jiff::{SignedDuration, Timestamp};

use crate::finding::Fact;
use crate::snapshot::{Point, Signal};

/// A value with its unit: `91 °C`, `74.5 GiB`, `83.9 %`, `1.98 GHz`.
#[must_use]
pub fn quantity(value: f64, unit: &str) -> String {
    match unit {
        "ratio" => format!("{} %", short(value * 100.0)),
        "bytes" => scaled(value, 1024.0, &["B", "KiB", "MiB", "GiB", "TiB"]),
        "bytes/s" => scaled(value, 1000.0, &["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
        "Hz" => scaled(value, 1000.0, &["Hz", "kHz", "MHz", "GHz"]),
        "J" => scaled(value, 1000.0, &["J", "kJ", "MJ", "GJ"]),
        "" => short(value),
        unit => format!("{} {unit}", short(value)),
    }
}

fn scaled(value: f64, step: f64, units: &[&str]) -> String {
    let mut value = value;
    let mut unit = 0;
    while value.abs() >= step && unit + 1 < units.len() {
        value /= step;
        unit += 1;
    }
    format!("{} {}", short(value), units[unit])
}

/// At most three digits after the point, fewer for larger numbers, no trailing zeros.
#[must_use]
pub fn short(value: f64) -> String {
    let digits = match value.abs() {
        size if size >= 100.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 3,
    };
    let text = format!("{value:.digits$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A length of time by its two largest units: `45 s`, `14 min`, `2 min 30 s`, `3 h 5 min`, `2 d`.
#[must_use]
pub fn length(span: SignedDuration) -> String {
    let seconds = span.as_secs().max(0);
    let pair = |size: i64, unit: &str, less: i64, small: &str| {
        let (whole, rest) = (seconds / size, seconds % size / less);
        if rest == 0 {
            format!("{whole} {unit}")
        } else {
            format!("{whole} {unit} {rest} {small}")
        }
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3600 => pair(60, "min", 1, "s"),
        3600..86_400 => pair(3600, "h", 60, "min"),
        _ => pair(86_400, "d", 3600, "h"),
    }
}

/// A moment in UTC to the second.
#[must_use]
pub fn moment(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S UTC").to_string()
}

/// A reading as a fact: what the signal is without its explanation, value with unit, and time.
#[must_use]
pub fn fact(signal: Signal, point: Point) -> Fact {
    let spec = signal.spec();
    let name = spec.help.split([':', ';', '(']).next().unwrap_or_default();
    Fact {
        name: name.trim_end().into(),
        value: quantity(point.value, spec.unit),
        source: spec.name.into(),
        at: Some(point.at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_read_well() {
        for (value, unit, text) in [
            (91.0, "°C", "91 °C"),
            (0.839, "ratio", "83.9 %"),
            (80_000_000_000.0, "bytes", "74.5 GiB"),
            (1.98e9, "Hz", "1.98 GHz"),
            (0.0, "", "0"),
            (0.000_01, "", "0"),
            (1234.0, "", "1234"),
            (100.0, "W", "100 W"),
        ] {
            assert_eq!(quantity(value, unit), text);
        }
    }

    #[test]
    fn facts_have_short_names() {
        let point = Point {
            at: Timestamp::UNIX_EPOCH,
            value: 0.0,
        };
        for signal in Signal::ALL {
            let name = fact(*signal, point).name;
            assert!((3..=64).contains(&name.len()), "{name}");
            assert!(!name.contains([':', ';', '(']), "{name}");
        }
        let margin = fact(Signal::TemperatureMargin, point).name;
        assert_eq!(margin, "temperature margin");
    }

    #[test]
    fn lengths_read_well() {
        for (seconds, text) in [
            (0, "0 s"),
            (45, "45 s"),
            (840, "14 min"),
            (150, "2 min 30 s"),
            (11_100, "3 h 5 min"),
            (172_800, "2 d"),
            (-5, "0 s"),
        ] {
            assert_eq!(length(SignedDuration::from_secs(seconds)), text);
        }
    }
}
