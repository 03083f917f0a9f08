//! The labels of a series, in any of the exporter's dialects.

use std::borrow::Cow;
use std::sync::Arc;

use crate::snapshot::{
    ClockEvent, GpuUuid, HealthWatch, Holder, InstanceId, Part, PartLabel, PodRef,
};
use crate::source::exposition::Labels;

/// Bytes of a label value that are kept.
const VALUE_BYTES: usize = 256;

/// What the labels of one series say.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Described {
    /// The board.
    pub(super) uuid: GpuUuid,
    /// The MIG instance and its profile.
    pub(super) instance: Option<(InstanceId, Option<Arc<str>>)>,
    /// What is known of the board.
    pub(super) traits: Traits,
    /// The container that the series names.
    pub(super) holder: Option<Holder>,
    /// Which part of a signal the series is about, by label.
    pub(super) parts: Parts,
}

/// What series say of a board beside its UUID. Merging takes the greater of two words, so the
/// order of lines does not matter; an absent one is the least.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Traits {
    pub(super) index: Option<u32>,
    pub(super) pci: Option<Arc<str>>,
    pub(super) model: Option<Arc<str>>,
    pub(super) driver: Option<Arc<str>>,
    pub(super) hostname: Option<Arc<str>>,
}

impl Traits {
    pub(super) fn merge(&mut self, other: &Self) {
        fn take<T: Ord + Clone>(mine: &mut Option<T>, theirs: Option<&T>) {
            if theirs > mine.as_ref() {
                *mine = theirs.cloned();
            }
        }
        take(&mut self.index, other.index.as_ref());
        take(&mut self.pci, other.pci.as_ref());
        take(&mut self.model, other.model.as_ref());
        take(&mut self.driver, other.driver.as_ref());
        take(&mut self.hostname, other.hostname.as_ref());
    }
}

/// The labels that name parts of signals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    xid: PartWord,
    nvlink: PartWord,
    peer: PartWord,
    watch: PartWord,
    event: PartWord,
}

/// A part that a label names: none, one, or a word that is not understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartWord {
    Absent,
    Named(Part),
    Strange,
}

impl PartWord {
    fn of(value: Option<&str>, read: impl Fn(&str) -> Option<Part>) -> Self {
        value.map_or(Self::Absent, |value| {
            read(value.trim()).map_or(Self::Strange, Self::Named)
        })
    }
}

impl Parts {
    /// The part of a signal whose parts this label names; `None` where its word is strange.
    pub(super) fn part(self, label: Option<PartLabel>, link: Option<u16>) -> Option<Part> {
        let word = match label {
            None => PartWord::Absent,
            Some(PartLabel::Xid) => self.xid,
            // A link series of a per-link field carries both; the label is the series' own.
            Some(PartLabel::NvLink) if self.nvlink == PartWord::Absent => {
                link.map_or(PartWord::Absent, |link| PartWord::Named(Part(link)))
            }
            Some(PartLabel::NvLink) => self.nvlink,
            Some(PartLabel::PeerGpu) => self.peer,
            Some(PartLabel::HealthWatch) => self.watch,
            Some(PartLabel::ClockEvent) => self.event,
        };
        match word {
            PartWord::Absent => Some(Part::WHOLE),
            PartWord::Named(part) => Some(part),
            PartWord::Strange => None,
        }
    }
}

/// Pod, namespace and container in one spelling.
#[derive(Clone, Copy, Default)]
struct Workload<'a> {
    pod: Option<&'a str>,
    namespace: Option<&'a str>,
    container: Option<&'a str>,
}

/// Labels that matter, by role; of several names of a role the exporter's usual one comes first,
/// as pod labels of tenants may carry the others.
#[derive(Default)]
struct Found<'a> {
    uuid: [Option<&'a str>; 3],
    hostname: [Option<&'a str>; 2],
    model: [Option<&'a str>; 2],
    driver: [Option<&'a str>; 2],
    index: Option<&'a str>,
    pci: Option<&'a str>,
    instance: Option<&'a str>,
    profile: Option<&'a str>,
    pod_uid: Option<&'a str>,
    /// As Prometheus renames them, as the exporter prints them, and with `-o`.
    workloads: [Workload<'a>; 3],
    xid: Option<&'a str>,
    nvlink: Option<&'a str>,
    peer: Option<&'a str>,
    watch: Option<&'a str>,
    event: Option<&'a str>,
}

impl<'a> Found<'a> {
    fn in_labels(labels: &Labels<'a>) -> Self {
        let mut found = Self::default();
        for (name, value) in labels.iter() {
            if let (Some(place), Some(value)) = (found.place(name), present(value)) {
                *place = Some(value);
            }
        }
        found
    }

    fn place(&mut self, name: &str) -> Option<&mut Option<&'a str>> {
        let [exported, plain, old] = &mut self.workloads;
        Some(match name {
            "UUID" => &mut self.uuid[0],
            "gpu_uuid" => &mut self.uuid[1],
            "uuid" => &mut self.uuid[2],
            "Hostname" => &mut self.hostname[0],
            "hostname" => &mut self.hostname[1],
            "modelName" => &mut self.model[0],
            "model_name" => &mut self.model[1],
            "DCGM_FI_DRIVER_VERSION" => &mut self.driver[0],
            "DCGM_FI_SYSTEM_DRIVER_VERSION" => &mut self.driver[1],
            "gpu" => &mut self.index,
            "pci_bus_id" => &mut self.pci,
            "GPU_I_ID" => &mut self.instance,
            "GPU_I_PROFILE" => &mut self.profile,
            "pod_uid" => &mut self.pod_uid,
            "exported_pod" => &mut exported.pod,
            "exported_namespace" => &mut exported.namespace,
            "exported_container" => &mut exported.container,
            "pod" => &mut plain.pod,
            "namespace" => &mut plain.namespace,
            "container" => &mut plain.container,
            "pod_name" => &mut old.pod,
            "pod_namespace" => &mut old.namespace,
            "container_name" => &mut old.container,
            "xid" => &mut self.xid,
            "nvlink" => &mut self.nvlink,
            "peer_gpu" => &mut self.peer,
            "health_watch" => &mut self.watch,
            "clock_event" => &mut self.event,
            _ => return None,
        })
    }
}

impl Described {
    /// What the labels say; `None` where they name no board. `own` is the exporter's own pod.
    pub(super) fn of(labels: &Labels<'_>, own: Option<&PodRef>) -> Option<Self> {
        let found = Found::in_labels(labels);
        let uuid = first(&found.uuid).filter(|uuid| is_key(uuid))?;
        let number = |text: &str| text.parse().ok().filter(|number| *number < Part::WHOLE.0);
        let profile = found.profile.map(kept);
        let instance = match found.instance {
            // Without its number an instance's series would pass for the board's.
            Some(id) => Some((InstanceId(id.trim().parse().ok()?), profile)),
            None => None,
        };
        Some(Self {
            uuid: uuid.into(),
            instance,
            holder: found.holder(own),
            parts: Parts {
                xid: PartWord::of(found.xid, |text| number(text).map(Part)),
                nvlink: PartWord::of(found.nvlink, |text| number(text).map(Part)),
                peer: PartWord::of(found.peer, |text| number(text).map(Part)),
                watch: PartWord::of(found.watch, |text| {
                    HealthWatch::from_label(text).map(HealthWatch::part)
                }),
                event: PartWord::of(found.event, |text| {
                    ClockEvent::from_label(text).map(ClockEvent::part)
                }),
            },
            traits: Traits {
                index: found.index.and_then(|index| index.trim().parse().ok()),
                pci: found.pci.map(kept),
                model: first(&found.model).map(kept),
                driver: first(&found.driver).map(kept),
                hostname: first(&found.hostname).map(kept),
            },
        })
    }
}

impl Found<'_> {
    /// The container that holds the GPU. The exporter's own pod is none: it is what a Prometheus
    /// in between writes where no workload is named.
    fn holder(&self, own: Option<&PodRef>) -> Option<Holder> {
        let named = self
            .workloads
            .iter()
            .find(|workload| workload.pod.is_some())?;
        let pod = PodRef {
            namespace: kept(named.namespace?),
            pod: kept(named.pod?),
        };
        if own == Some(&pod) || is_exporter_pod(&pod.pod) {
            return None;
        }
        Some(Holder {
            pod,
            container: kept(named.container.unwrap_or_default()),
            uid: self.pod_uid.map(|uid| (&*kept(uid)).into()),
        })
    }
}

/// Whether a name is that of a dcgm-exporter pod: the operator's, the chart's and the static
/// manifest's all hold these words, and no node's or workload's name does.
pub(super) fn is_exporter_pod(name: &str) -> bool {
    name.contains("dcgm-exporter")
}

fn first<'a>(values: &[Option<&'a str>]) -> Option<&'a str> {
    values.iter().copied().flatten().next()
}

/// A label's value, unless it is one of the ways of saying that there is none.
fn present(value: &str) -> Option<&str> {
    let blank = value.trim().is_empty()
        || (value.starts_with("<<<") && value.ends_with(">>>"))
        || value.contains("SKIPPING DCGM VALUE");
    (!blank).then_some(value)
}

/// Whether a text can be a board's key as it stands: a cut or cleaned one could be another's.
fn is_key(text: &str) -> bool {
    text.len() <= VALUE_BYTES && !text.chars().any(|c| c.is_control() || c.is_whitespace())
}

/// A value as it is kept: at most [`VALUE_BYTES`], control characters replaced.
fn kept(value: &str) -> Arc<str> {
    let cut = &value[..value.floor_char_boundary(VALUE_BYTES)];
    let clean = if cut.chars().any(char::is_control) {
        Cow::Owned(cut.replace(char::is_control, "\u{fffd}"))
    } else {
        Cow::Borrowed(cut)
    };
    clean.as_ref().into()
}
