//! The program: see the library for everything.
use std::process::ExitCode;

fn main() -> ExitCode {
    // Every client needs it, and the first one that is made without it panics. It fails only
    // where one is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    gpulens::cli::main()
}
