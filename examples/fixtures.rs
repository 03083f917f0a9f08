//! Writes the scenario fixtures: `cargo run --quiet --example fixtures [DIRECTORY]`.
//!
//! Without a directory they go to `fixtures/` beside the manifest.

use std::path::PathBuf;

use anyhow::Context as _;
use gpulens::simulate::scenario;

fn main() -> anyhow::Result<()> {
    let default = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures");
    let directory = std::env::args_os()
        .nth(1)
        .map_or_else(|| PathBuf::from(default), PathBuf::from);
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    for scenario in scenario::ALL {
        let path = directory.join(format!("{}.json", scenario.stem));
        std::fs::write(&path, (scenario.fleet)().record().to_json())
            .with_context(|| format!("cannot write {}", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
