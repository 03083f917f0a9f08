//! Recordings as text that people can read and compare: one line a series, one an object of
//! the second rank, numbers without a needless fraction.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::ser::{Formatter, Serializer};

use super::Recording;

impl Recording {
    /// The recording as a file holds it, with a final line feed. The same recording gives the
    /// same bytes.
    #[must_use]
    #[expect(clippy::missing_panics_doc, reason = "neither step can fail")]
    pub fn to_json(&self) -> String {
        let mut bytes = Vec::new();
        let mut serializer = Serializer::with_formatter(&mut bytes, Layout::default());
        // Writing to memory cannot fail, and every map of a recording has text for keys.
        self.serialize(&mut serializer)
            .expect("a recording can be written as JSON");
        bytes.push(b'\n');
        String::from_utf8(bytes).expect("JSON is UTF-8")
    }
}

/// Where the text is: the objects and arrays that are open, and the last key.
#[derive(Default)]
struct Layout {
    open: Vec<Frame>,
    key: String,
    in_key: bool,
}

struct Frame {
    array: bool,
    /// On one line, with everything inside.
    inline: bool,
    /// Something that stands on lines of its own is inside.
    broken: bool,
}

/// Objects that stand on lines of their own, by depth and by the key that they are under.
fn stands_alone(depth: usize, key: &str) -> bool {
    match depth {
        0 => true,
        1 => key != "holders",
        2 => matches!(key, "values" | "labels"),
        _ => false,
    }
}

impl Layout {
    fn inline(&self) -> bool {
        self.open.last().is_some_and(|frame| frame.inline)
    }

    fn push(&mut self, array: bool, inline: bool) {
        self.open.push(Frame {
            array,
            inline,
            broken: false,
        });
    }

    fn line<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if let Some(frame) = self.open.last_mut() {
            frame.broken = true;
        }
        self.indent(writer)
    }

    fn indent<W: ?Sized + Write>(&self, writer: &mut W) -> io::Result<()> {
        write!(writer, "\n{:1$}", "", 2 * self.open.len())
    }

    fn close<W: ?Sized + Write>(&mut self, writer: &mut W, end: &[u8]) -> io::Result<()> {
        let broken = self.open.pop().is_some_and(|frame| frame.broken);
        if broken {
            self.indent(writer)?;
        }
        writer.write_all(end)
    }
}

impl Formatter for Layout {
    fn write_f64<W: ?Sized + Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        // Below 2^53 every whole number is exact; -0 keeps its sign in the general form.
        let whole = value.fract() == 0.0 && value.abs() < 9e15;
        if whole && (value != 0.0 || value.is_sign_positive()) {
            write!(writer, "{}", value as i64)
        } else {
            serde_json::to_writer(writer, &value).map_err(io::Error::from)
        }
    }

    fn begin_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.push(true, self.inline());
        writer.write_all(b"[")
    }

    fn end_array<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"]")
    }

    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        writer.write_all(if first { b"" } else { b"," })
    }

    fn begin_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let depth = self.open.iter().filter(|frame| !frame.array).count();
        let inline = self.inline() || !stands_alone(depth, &self.key);
        if !self.inline() && self.open.last().is_some_and(|frame| frame.array) {
            self.line(writer)?;
        }
        self.push(false, inline);
        writer.write_all(b"{")
    }

    fn end_object<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.close(writer, b"}")
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> io::Result<()> {
        self.in_key = true;
        self.key.clear();
        match (first, self.inline()) {
            (true, true) => Ok(()),
            (false, true) => writer.write_all(b", "),
            (true, false) => self.line(writer),
            (false, false) => {
                writer.write_all(b",")?;
                self.line(writer)
            }
        }
    }

    fn write_string_fragment<W: ?Sized + Write>(
        &mut self,
        writer: &mut W,
        fragment: &str,
    ) -> io::Result<()> {
        if self.in_key {
            self.key.push_str(fragment);
        }
        writer.write_all(fragment.as_bytes())
    }

    fn end_object_key<W: ?Sized + Write>(&mut self, _writer: &mut W) -> io::Result<()> {
        self.in_key = false;
        Ok(())
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, writer: &mut W) -> io::Result<()> {
        writer.write_all(b": ")
    }
}
