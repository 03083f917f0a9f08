//! Tells the binary which compiler and which revision it was built from, for `gpulens_build_info`.

use std::env::var_os;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=GPULENS_REVISION");
    println!("cargo:rerun-if-changed=build.rs");
    let rustc = var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let rustc = first_line(Command::new(rustc).arg("--version"));
    // "rustc 1.95.0 (…)": the number alone, as other exporters print their compiler's.
    let rustc = rustc
        .as_deref()
        .and_then(|line| line.split_whitespace().nth(1));
    println!(
        "cargo:rustc-env=GPULENS_RUSTC={}",
        rustc.unwrap_or("unknown")
    );
    let revision = revision().unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=GPULENS_REVISION={revision}");
}

/// What the packager says, else what git says of a release build. A debug build does not ask:
/// it would be compiled anew after every commit.
fn revision() -> Option<String> {
    let given = var_os("GPULENS_REVISION").and_then(|text| text.into_string().ok());
    if let Some(given) = given.filter(|text| !text.is_empty()) {
        return Some(given);
    }
    if var_os("PROFILE").is_none_or(|profile| profile != "release") {
        return None;
    }
    let log = first_line(Command::new("git").args(["rev-parse", "--git-path", "logs/HEAD"]))?;
    println!("cargo:rerun-if-changed={log}");
    first_line(Command::new("git").args(["rev-parse", "--short=12", "HEAD"]))
}

fn first_line(command: &mut Command) -> Option<String> {
    let output = command.output().ok().filter(|out| out.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    text.lines().next().map(|line| line.trim().to_owned())
}
