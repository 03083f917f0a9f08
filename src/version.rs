//! What this build is.

/// The crate's version.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The commit that was built: what `GPULENS_REVISION` said to the build; `unknown` without it.
pub const REVISION: &str = env!("GPULENS_REVISION");

/// The version of the compiler that built it.
pub const RUSTC: &str = env!("GPULENS_RUSTC");

/// Everything in one line.
pub const LONG: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (revision ",
    env!("GPULENS_REVISION"),
    ", rustc ",
    env!("GPULENS_RUSTC"),
    ")"
);
