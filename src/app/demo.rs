//! The built-in clusters: the fixtures, one cluster each, named by the file's stem.

use anyhow::{Context, Result};

use crate::snapshot::{ClusterName, Recording};
use crate::source::recording::{Step, Timeline};

/// Declares the built-in recordings.
macro_rules! built_in {
    ($( $stem:literal )*) => {
        const BUILT_IN: &[(&str, &[u8])] =
            &[$( ($stem, include_bytes!(concat!("../../fixtures/", $stem, ".json"))), )*];
    };
}

built_in! {
    "scenario_1_healthy"
    "scenario_3_hardware_thermal"
    "scenario_6_stale_telemetry"
}

/// The built-in clusters, sorted by name.
pub(super) fn timelines() -> Result<Vec<Timeline>> {
    BUILT_IN
        .iter()
        .map(|(stem, json)| {
            let recording = Recording::parse(json).with_context(|| format!("built-in {stem}"))?;
            let recording = Recording {
                cluster: ClusterName::from(*stem),
                ..recording
            };
            let cluster = recording.cluster.clone();
            Ok(Timeline {
                cluster,
                steps: vec![Step {
                    path: (*stem).into(),
                    recording,
                }],
            })
        })
        .collect()
}
