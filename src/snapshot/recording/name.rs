//! Names of series in a file: `signal`, `signal[part]`, `allocatable[resource]`.

use std::sync::Arc;

use crate::snapshot::{Part, SeriesKey, Signal};

/// The key of a GPU's series name: `name`, or `name[part]`.
pub fn gpu_series(name: &str) -> Result<SeriesKey, String> {
    let (signal, part) = split_part(name);
    let signal = Signal::from_name(signal).ok_or_else(|| {
        format!("`{signal}` is not a signal; `gpulens metrics --signals` lists them")
    })?;
    let part = match part {
        None => Part::WHOLE,
        Some(text) => Part(
            text.parse()
                .map_err(|_| format!("`{text}` is not a part number"))?,
        ),
    };
    Ok(SeriesKey { signal, part })
}

/// The name of a GPU's series in a recording.
#[must_use]
pub fn gpu_series_name(key: SeriesKey) -> String {
    match key.part.number() {
        None => key.signal.spec().name.to_owned(),
        Some(part) => format!("{}[{part}]", key.signal.spec().name),
    }
}

/// What a node's series is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeSeries {
    /// Allocatable pieces of a resource.
    Allocatable(Arc<str>),
    /// Capacity in pieces of a resource.
    Capacity(Arc<str>),
    /// 1 while cordoned.
    Unschedulable,
}

/// The meaning of a node's series name.
pub fn node_series(name: &str) -> Result<NodeSeries, String> {
    match split_part(name) {
        ("allocatable", Some(resource)) => Ok(NodeSeries::Allocatable(resource.into())),
        ("capacity", Some(resource)) => Ok(NodeSeries::Capacity(resource.into())),
        ("unschedulable", None) => Ok(NodeSeries::Unschedulable),
        _ => Err(format!(
            "`{name}` is not a node's series; want allocatable[resource], capacity[resource] or unschedulable"
        )),
    }
}

fn split_part(name: &str) -> (&str, Option<&str>) {
    name.strip_suffix(']')
        .and_then(|rest| rest.split_once('['))
        .map_or((name, None), |(name, part)| (name, Some(part)))
}
