//! The program: see the library for everything.
use std::process::ExitCode;

fn main() -> ExitCode {
    gpulens::source::read_only::install_crypto();
    gpulens::cli::main()
}
