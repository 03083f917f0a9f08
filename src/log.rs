//! The log: one line an event on standard error, as logfmt or JSON.
//!
//! Only this crate's events follow `--log.level`; of libraries no more than warnings are shown.
//! Control characters are escaped, so that a hostile name cannot forge a line. A secret is never
//! logged because it cannot be: secrets live in types whose `Debug` and `Display` print
//! `<secret>`, and nothing else here takes them apart.

use std::fmt::{self, Write};

use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, FormattedFields};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::{SubscriberInitExt, TryInitError};

use crate::config::{Log, LogFormat, LogLevel};

/// Starts the log. Fails where one was started before.
pub fn init(log: &Log) -> Result<(), TryInitError> {
    tracing_subscriber::registry()
        .with(layer(log.format, crate::clock::now, std::io::stderr))
        .with(filter(log.level))
        .try_init()
}

fn filter(level: LogLevel) -> Targets {
    let ours = match level {
        LogLevel::Error => LevelFilter::ERROR,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Trace => LevelFilter::TRACE,
    };
    Targets::new()
        .with_target(env!("CARGO_CRATE_NAME"), ours)
        .with_default(ours.min(LevelFilter::WARN))
}

fn layer<S, W>(
    format: LogFormat,
    now: fn() -> jiff::Timestamp,
    writer: W,
) -> impl tracing_subscriber::Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> tracing_subscriber::fmt::MakeWriter<'a> + Send + Sync + 'static,
{
    tracing_subscriber::fmt::layer()
        .fmt_fields(Fields(format))
        .event_format(Line { format, now })
        // A log that cannot be written has no place to complain.
        .log_internal_errors(false)
        .with_ansi(false)
        .with_writer(writer)
}

/// Writes a whole event.
struct Line {
    format: LogFormat,
    now: fn() -> jiff::Timestamp,
}

impl<S> FormatEvent<S, Fields> for Line
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, Fields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let ts = (self.now)();
        let level = level(*event.metadata().level());
        match self.format {
            LogFormat::Logfmt => write!(writer, "ts={ts:.3} level={level}")?,
            LogFormat::Json => write!(writer, "{{\"ts\":\"{ts:.3}\",\"level\":\"{level}\"")?,
        }
        let mut message = Pairs::new(self.format, Which::Message);
        event.record(&mut message);
        writer.write_str(&message.text)?;
        for span in context
            .event_scope()
            .into_iter()
            .flat_map(tracing_subscriber::registry::Scope::from_root)
        {
            if let Some(fields) = span.extensions().get::<FormattedFields<Fields>>() {
                writer.write_str(&fields.fields)?;
            }
        }
        let mut others = Pairs::new(self.format, Which::Others);
        event.record(&mut others);
        writer.write_str(&others.text)?;
        match self.format {
            LogFormat::Logfmt => writeln!(writer),
            LogFormat::Json => writeln!(writer, "}}"),
        }
    }
}

fn level(level: Level) -> &'static str {
    match level {
        Level::ERROR => "error",
        Level::WARN => "warn",
        Level::INFO => "info",
        Level::DEBUG => "debug",
        _ => "trace",
    }
}

/// Writes the fields of a span, ready to stand in a line.
struct Fields(LogFormat);

impl<'writer> FormatFields<'writer> for Fields {
    fn format_fields<R: tracing_subscriber::field::RecordFields>(
        &self,
        mut writer: Writer<'writer>,
        fields: R,
    ) -> fmt::Result {
        let mut pairs = Pairs::new(self.0, Which::Others);
        fields.record(&mut pairs);
        writer.write_str(&pairs.text)
    }
}

/// The message stands before what belongs to it.
#[derive(PartialEq)]
enum Which {
    Message,
    Others,
}

/// Collects fields as ` key=value` or `,"key":value`.
struct Pairs {
    format: LogFormat,
    which: Which,
    text: String,
}

impl Pairs {
    fn new(format: LogFormat, which: Which) -> Self {
        Self {
            format,
            which,
            text: String::new(),
        }
    }

    /// `bare` values (numbers, booleans) need no quotes in JSON.
    fn push(&mut self, field: &Field, value: &str, bare: bool) {
        let is_message = field.name() == "message";
        if is_message != (self.which == Which::Message) {
            return;
        }
        let key = if is_message { "msg" } else { field.name() };
        // Writing to a String cannot fail.
        let _ = match self.format {
            LogFormat::Logfmt => {
                let _ = write!(self.text, " {key}=");
                logfmt_value(&mut self.text, value)
            }
            LogFormat::Json if bare => write!(self.text, ",\"{key}\":{value}"),
            LogFormat::Json => {
                let value =
                    serde_json::Value::from(crate::printable::printable(value).into_owned());
                write!(self.text, ",\"{key}\":{value}")
            }
        };
    }
}

/// Quotes a value where it would not be one word.
fn logfmt_value(text: &mut String, value: &str) -> fmt::Result {
    let plain = !value.is_empty()
        && value
            .chars()
            .all(|c| c > ' ' && !matches!(c, '"' | '=' | '\\') && !crate::printable::is_unsafe(c));
    if plain {
        return text.write_str(value);
    }
    text.push('"');
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c => text.push_str(&crate::printable::printable(c.encode_utf8(&mut [0; 4]))),
        }
    }
    text.push('"');
    Ok(())
}

impl Visit for Pairs {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.push(field, &value.to_string(), value.is_finite());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.push(field, &value.to_string(), true);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.push(field, &value.to_string(), true);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.push(field, &value.to_string(), true);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.push(field, value, false);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        let mut text = value.to_string();
        let mut source = value.source();
        while let Some(cause) = source {
            let _ = write!(text, ": {cause}");
            source = cause.source();
        }
        self.push(field, &text, false);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.push(field, &format!("{value:?}"), false);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Sink(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Sink {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0
                .lock()
                .expect("not poisoned")
                .extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn logged(format: LogFormat, level: LogLevel, write: impl FnOnce()) -> String {
        let sink = Sink::default();
        let writer = sink.clone();
        let now = || jiff::Timestamp::UNIX_EPOCH;
        let subscriber = tracing_subscriber::registry()
            .with(layer(format, now, move || writer.clone()))
            .with(filter(level));
        tracing::subscriber::with_default(subscriber, write);
        String::from_utf8(sink.0.lock().expect("not poisoned").clone()).expect("UTF-8")
    }

    fn events() {
        let span = tracing::info_span!("cycle", cluster = "prod eu");
        let _entered = span.enter();
        tracing::info!(gpus = 8, ratio = 0.5, ok = true, "cycle done");
        tracing::warn!(
            pod = "a\nlevel=error msg=\"forged\"",
            empty = "",
            r"back\slash"
        );
        tracing::debug!("not shown");
        tracing::info!(target: "hyper::proto", "a library's chatter");
        let error = io::Error::other("no\u{1b}[2J");
        tracing::error!(
            error = &error as &dyn std::error::Error,
            "target {} failed",
            1
        );
    }

    #[test]
    fn logfmt() {
        assert_eq!(
            logged(LogFormat::Logfmt, LogLevel::Info, events),
            "ts=1970-01-01T00:00:00.000Z level=info msg=\"cycle done\" cluster=\"prod eu\" gpus=8 ratio=0.5 ok=true\n\
             ts=1970-01-01T00:00:00.000Z level=warn msg=\"back\\\\slash\" cluster=\"prod eu\" pod=\"a\\nlevel=error msg=\\\"forged\\\"\" empty=\"\"\n\
             ts=1970-01-01T00:00:00.000Z level=error msg=\"target 1 failed\" cluster=\"prod eu\" error=\"no\\u{1b}[2J\"\n"
        );
    }

    #[test]
    fn json() {
        let text = logged(LogFormat::Json, LogLevel::Warn, events);
        let lines: Vec<serde_json::Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect();
        assert_eq!(lines.len(), 2, "{text}");
        assert_eq!(lines[0]["level"], "warn");
        assert_eq!(lines[0]["msg"], r"back\slash");
        assert_eq!(lines[0]["pod"], "a\\nlevel=error msg=\"forged\"");
        assert_eq!(lines[1]["ts"], "1970-01-01T00:00:00.000Z");
        assert_eq!(lines[1]["error"], "no\\u{1b}[2J");
    }
}
