//! Bodies with the traits of real exporters, one row a trait.

mod bodies;
mod labels;
mod values;
mod view;
mod xid;

use jiff::Timestamp;

use super::*;
use crate::snapshot::GpuObservation;

pub(super) const A: &str = "GPU-0000000a-1111-2222-3333-00000000000a";
pub(super) const B: &str = "GPU-0000000b-1111-2222-3333-00000000000b";

pub(super) fn at() -> Timestamp {
    "2026-03-01T12:00:00Z".parse().expect("a time")
}

pub(super) fn origin() -> Origin {
    Origin {
        target: "http://n1:9400/metrics".into(),
        node: None,
        exporter_pod: None,
        known_nodes: None,
    }
}

pub(super) fn decoder() -> Decoder {
    Decoder::new(&Names::new(&DcgmConfig::default()), DecodeLimits::default())
}

pub(super) fn body(bytes: &[u8]) -> Body<'_> {
    Body {
        bytes,
        content_type: None,
        complete: true,
        at: at(),
    }
}

pub(super) fn decode_from(text: &str, origin: &Origin) -> Decoded {
    decoder().decode(body(text.as_bytes()), origin)
}

/// Decodes a body in which `{A}` and `{B}` stand for two boards' UUID labels.
pub(super) fn decode(text: &str) -> Decoded {
    let text = text
        .replace("{A", &format!("{{UUID=\"{A}\""))
        .replace("{B", &format!("{{UUID=\"{B}\""));
    decode_from(&text, &origin())
}

/// A reading as text: `name[part]=value`.
pub(super) fn shown(observation: &GpuObservation) -> String {
    let readings = observation.readings.iter().map(|(key, value)| {
        let part = key.part.number().map(|n| format!("[{n}]"));
        format!(
            "{}{}={value}",
            key.signal.spec().name,
            part.unwrap_or_default()
        )
    });
    let instance = observation.instance.as_ref().map(|(id, _)| id.0);
    let instance = instance.map(|id| format!("/{id} ")).unwrap_or_default();
    instance + &readings.collect::<Vec<_>>().join(" ")
}

pub(super) fn all_shown(decoded: &Decoded) -> Vec<String> {
    decoded.observations.iter().map(shown).collect()
}

pub(super) fn holders(observation: &GpuObservation) -> Vec<String> {
    let text = |h: &crate::snapshot::Holder| {
        let uid = h.uid.as_ref().map(|uid| format!(" {uid}"));
        format!("{} {}{}", h.pod, h.container, uid.unwrap_or_default())
    };
    observation.holders.iter().map(text).collect()
}
