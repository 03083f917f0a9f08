//! What this binary was built from.

/// What this binary was built from; `unknown` where the build could not tell.
#[derive(Clone, Copy, Debug)]
pub struct Build {
    /// The crate's version.
    pub version: &'static str,
    /// The source's revision.
    pub revision: &'static str,
    /// The compiler's version.
    pub rustc: &'static str,
}

/// This binary.
pub(super) const BUILD: Build = Build {
    version: env!("CARGO_PKG_VERSION"),
    revision: env!("GPULENS_REVISION"),
    rustc: env!("GPULENS_RUSTC"),
};

impl Build {
    /// This binary's.
    #[must_use]
    pub const fn this() -> Self {
        BUILD
    }
}
