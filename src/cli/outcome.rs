//! How a run ends: what is printed, and the exit code.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::config::ConfigError;
use crate::printable::printable;

/// How a run ended that did what it was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Done; for `check`: nothing was found.
    Done,
    /// `check` found something.
    Findings,
    /// `check` found nothing but could not decide everything.
    Undecided,
}

impl From<Outcome> for ExitCode {
    fn from(outcome: Outcome) -> Self {
        Self::from(match outcome {
            Outcome::Done => 0,
            Outcome::Findings => 1,
            Outcome::Undecided => 3,
        })
    }
}

/// How a run ended that did not.
#[derive(Debug)]
pub(super) enum Failure {
    /// What was asked makes no sense: exit code 2.
    Input(anyhow::Error),
    /// It could not be done: exit code 1.
    Runtime(anyhow::Error),
}

impl Failure {
    /// Says what went wrong on standard error.
    pub(super) fn report(&self) -> ExitCode {
        let (error, code) = match self {
            Self::Input(error) => (error, 2),
            Self::Runtime(error) => (error, 1),
        };
        let mut text = String::new();
        for line in told(error).lines() {
            // What is indented belongs to the line before it.
            if !line.starts_with("  ") {
                text.push_str("error: ");
            }
            text.push_str(&printable(line));
            text.push('\n');
        }
        if let Some(hint) = hint(error) {
            text.push_str("\n  tip: ");
            text.push_str(hint);
            text.push('\n');
        }
        // Where standard error is closed the exit code still tells.
        let _ = io::stderr().write_all(text.as_bytes());
        ExitCode::from(code)
    }
}

/// An error with its causes, each once: many messages hold their cause's already.
fn told(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text.push_str(": ");
            text.push_str(&cause);
        }
    }
    text
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Self::Input(error.into())
    }
}

/// What to do about failures that operators meet.
fn hint(error: &anyhow::Error) -> Option<&'static str> {
    let kind = error
        .chain()
        .find_map(|cause| Some(cause.downcast_ref::<io::Error>()?.kind()))?;
    match kind {
        ErrorKind::AddrInUse => Some(
            "another process listens there; stop it, or choose another port: --web.listen-address=:PORT",
        ),
        ErrorKind::AddrNotAvailable => Some(
            "this machine has no such address; --web.listen-address=:PORT listens on all it has",
        ),
        _ => None,
    }
}

/// Prints to standard output. A reader that has gone (`| head`) has read what it wanted.
pub(super) fn print(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            let error = anyhow::Error::new(error).context("cannot write to standard output");
            Err(Failure::Runtime(error))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_told_once() {
        let error = anyhow::anyhow!("no such file")
            .context("cannot read x: no such file")
            .context("it failed");
        assert_eq!(told(&error), "it failed: cannot read x: no such file");
    }

    #[test]
    fn a_taken_port_comes_with_advice() {
        let error = anyhow::Error::new(io::Error::from(ErrorKind::AddrInUse))
            .context("cannot listen on :9836");
        assert!(hint(&error).is_some_and(|hint| hint.contains("--web.listen-address")));
        assert_eq!(hint(&anyhow::anyhow!("else")), None);
    }
}
