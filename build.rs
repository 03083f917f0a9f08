//! Tells the crate what built it: `gpulens --version` and `gpulens_build_info` say so.

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GPULENS_REVISION");
    // A build from a release archive has no repository to ask, so that the builder tells.
    let revision = variable("GPULENS_REVISION").unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=GPULENS_REVISION={revision}");
    // Cargo names the compiler to every build script. It prints `rustc 1.95.0 (…)`.
    let version = Command::new(variable("RUSTC").unwrap_or_else(|| "rustc".to_owned()))
        .arg("--version")
        .output()
        .ok()
        .and_then(|output| String::from_utf8(output.stdout).ok());
    let version = version.as_deref().and_then(|text| text.split(' ').nth(1));
    println!(
        "cargo:rustc-env=GPULENS_RUSTC={}",
        version.unwrap_or("unknown")
    );
}

#[allow(
    clippy::disallowed_methods,
    reason = "how cargo talks to a build script"
)]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
