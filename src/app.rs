//! The wiring: sources, cycles and what is published, from top to bottom.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};

use crate::config::Config;
use crate::cycle::ClusterView;
use crate::snapshot::Recording;

/// Serves until it is told to stop.
#[allow(clippy::unused_async, reason = "the signature is the contract")]
pub async fn serve(config: Config) -> anyhow::Result<()> {
    let _ = config;
    bail!("not wired yet: serving comes with the next commits")
}

/// Serves the built-in clusters until it is told to stop.
#[allow(clippy::unused_async, reason = "the signature is the contract")]
pub async fn demo(config: Config) -> anyhow::Result<()> {
    let _ = config;
    bail!("not wired yet: the built-in clusters come with the next commits")
}

/// Judges recordings, one view a cluster, sorted by name.
pub fn check(recordings: Vec<Recording>, config: &Config) -> anyhow::Result<Vec<ClusterView>> {
    let _ = (recordings, config);
    bail!("not wired yet: judging recordings comes with the next commits")
}

/// What `/metrics` can hold, as Markdown where `markdown` is asked for, else for a terminal.
pub fn metrics_catalogue(markdown: bool) -> anyhow::Result<String> {
    let _ = markdown;
    bail!("not wired yet: the catalogue comes with the next commits; `--signals` is complete")
}

/// Reads recordings: files, and every `*.json` directly in a directory, by name.
pub fn read_recordings(paths: &[PathBuf]) -> anyhow::Result<Vec<Recording>> {
    let mut recordings = Vec::new();
    for path in paths {
        if path.is_dir() {
            let mut files: Vec<PathBuf> = std::fs::read_dir(path)
                .and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect())
                .with_context(|| format!("cannot list {}", path.display()))?;
            files.retain(|file| file.extension().is_some_and(|e| e == "json"));
            files.sort();
            if files.is_empty() {
                bail!("{} holds no recording (*.json)", path.display());
            }
            for file in files {
                recordings.push(read_recording(&file)?);
            }
        } else {
            recordings.push(read_recording(path)?);
        }
    }
    Ok(recordings)
}

fn read_recording(path: &Path) -> anyhow::Result<Recording> {
    let json = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Recording::parse(&json).with_context(|| format!("{} is no recording", path.display()))
}
