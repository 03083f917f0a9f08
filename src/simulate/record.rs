//! What a cluster's sources would have told of a fleet.

mod cluster;

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};

use super::column::{Columns, values};
use super::{Board, Fault, Fleet, Host, Load, Workload};
use crate::snapshot::{
    GpuUuid, Holding, NodeAttribution, PodUid, Recording, SCHEMA, Series, SeriesSubject,
};

/// The resource that whole GPUs are.
pub(super) const GPU_RESOURCE: &str = "nvidia.com/gpu";

/// A driver of the production branch that knows all simulated products.
const DRIVER: &str = "570.133.20";

/// PCI buses of an eight-GPU server's boards; further boards follow in steps of one.
const PCI_BUSES: [u32; 8] = [0x1B, 0x43, 0x52, 0x61, 0x9D, 0xC3, 0xD1, 0xDF];

impl Fleet {
    /// Plays the fleet from the start of the window to its end and writes it down.
    #[must_use]
    pub fn record(&self) -> Recording {
        let mut recording = Recording {
            schema: SCHEMA.to_owned(),
            cluster: self.cluster.clone(),
            now: self.now,
            interval: self.interval,
            sources: Vec::new(),
            nodes: self.nodes(),
            pods: self.pods(),
            events: Vec::new(),
            holders: Vec::new(),
            terminations: self.terminations(),
            series: Vec::new(),
        };
        let mut samples = BTreeMap::new();
        for (number, host) in self.hosts.iter().enumerate() {
            for gpu in 0..host.gpus {
                *samples.entry(number).or_default() += self.board(number, gpu, &mut recording);
            }
        }
        recording.sources = self.sources(&samples);
        let nodes = self.hosts.iter().map(|host| self.node_series(host));
        recording.series.extend(nodes);
        recording
    }

    /// The name of a board, the same in every recording of the fleet.
    #[must_use]
    pub fn uuid(&self, host: usize, gpu: u32) -> GpuUuid {
        let short = self.hosts[host].product.short;
        let name = format!("GPU-{short}-n{:02}-{gpu}", host + 1);
        name.as_str().into()
    }

    /// The UID of a pod.
    #[must_use]
    pub fn pod_uid(&self, workload: &Workload) -> PodUid {
        let name = format!("pod {}/{}", workload.namespace, workload.name);
        self.seed.stream(&name).uuid().into()
    }

    fn slots(&self) -> u32 {
        let slots = self.window.get().as_secs() / self.collection.get().as_secs().max(1);
        u32::try_from(slots.max(1)).unwrap_or(u32::MAX)
    }

    /// The time of a slot of the grid whose last slot is at `newest`.
    fn time_of(&self, newest: Timestamp, slot: u32) -> Timestamp {
        let back = i64::from(self.slots() - 1 - slot) * self.collection.get().as_secs();
        newest - SignedDuration::from_secs(back)
    }

    /// Plays one board; adds its series and holders and returns how many samples a body has
    /// of it.
    fn board(&self, number: usize, gpu: u32, recording: &mut Recording) -> u64 {
        let host = &self.hosts[number];
        let newest = self.now - host.sample_age.get();
        let random = self.seed.stream(&format!("board {} {gpu}", host.name));
        let mut board = Board::new(host.product, random, host.faults_of(gpu));
        let mut columns = Columns::default();
        let mut holders = Holders::default();
        let mut samples = 0;
        for slot in 0..self.slots() {
            let at = self.time_of(newest, slot);
            let work = self
                .workloads
                .iter()
                .position(|w| w.works_on(&host.name, gpu, at));
            let load = work.map_or(Load::IDLE, |work| self.workloads[work].load);
            let mut readings = board.step(at, &load);
            if let Some(readings) = &mut readings {
                readings.retain(|(key, _)| host.export.has(key.signal));
                samples = readings.len() as u64;
            }
            let unnamed = board.lasting(at, |fault| fault == Fault::LosePodLabels);
            holders.push(at, work.filter(|_| readings.is_some() && !unnamed));
            columns.push(readings.as_deref());
        }
        let uuid = self.uuid(number, gpu);
        for (work, from, to) in holders.runs {
            let holding = holding(&uuid, &self.workloads[work], from, to);
            recording.holders.push(holding);
        }
        if let Some(trimmed) = columns.trim() {
            recording.series.push(Series {
                subject: self.subject(number, gpu, uuid),
                from: self.time_of(newest, trimmed.first),
                every: self.collection,
                slots: trimmed.slots,
                values: trimmed.values,
            });
        }
        samples
    }

    fn subject(&self, number: usize, gpu: u32, uuid: GpuUuid) -> SeriesSubject {
        let host = &self.hosts[number];
        let bus = PCI_BUSES
            .get(gpu as usize)
            .copied()
            .unwrap_or(0xE0 + gpu - 8);
        SeriesSubject::Gpu {
            uuid,
            instance: None,
            profile: None,
            node: Some(host.name.clone()),
            node_by: NodeAttribution::ExporterPod,
            index: Some(gpu),
            pci: Some(format!("00000000:{bus:02X}:00.0").into()),
            model: Some(host.product.model.into()),
            driver: Some(DRIVER.into()),
            target: Some(target_url(number)),
        }
    }

    fn node_series(&self, host: &Host) -> Series {
        let times = (0..self.slots()).map(|slot| self.time_of(self.now, slot));
        let allocatable = times.map(|at| Some(host.allocatable_at(at) as f64));
        let series = [
            ("allocatable", values(allocatable.collect())),
            ("capacity", values(vec![Some(f64::from(host.gpus))])),
        ];
        let mut by_name: BTreeMap<_, _> = series
            .into_iter()
            .map(|(what, values)| (format!("{what}[{GPU_RESOURCE}]"), values))
            .collect();
        by_name.insert("unschedulable".to_owned(), values(vec![Some(0.0)]));
        Series {
            subject: SeriesSubject::Node {
                name: host.name.clone(),
                boots: vec![(0, self.boot_id(host))],
            },
            from: self.time_of(self.now, 0),
            every: self.collection,
            slots: self.slots(),
            values: by_name,
        }
    }

    fn boot_id(&self, host: &Host) -> Arc<str> {
        let name = format!("boot {}", host.name);
        self.seed.stream(&name).uuid().into()
    }
}

fn holding(gpu: &GpuUuid, work: &Workload, from: Timestamp, to: Timestamp) -> Holding {
    Holding {
        gpu: gpu.clone(),
        instance: None,
        namespace: work.namespace.clone(),
        pod: work.name.clone(),
        container: work.container.clone(),
        // The exporter prints UIDs only when asked to.
        uid: None,
        from,
        to,
    }
}

/// Where the exporter of a host listens.
fn target_url(number: usize) -> Arc<str> {
    let (third, fourth) = (1 + number / 200, 11 + number % 200);
    format!("http://10.0.{third}.{fourth}:9400/metrics").into()
}

/// Runs of collections that name the same pod.
#[derive(Default)]
struct Holders {
    runs: Vec<(usize, Timestamp, Timestamp)>,
    open: bool,
}

impl Holders {
    fn push(&mut self, at: Timestamp, work: Option<usize>) {
        match (work, self.runs.last_mut()) {
            (Some(work), Some(run)) if self.open && run.0 == work => run.2 = at,
            (Some(work), _) => self.runs.push((work, at, at)),
            (None, _) => {}
        }
        self.open = work.is_some();
    }
}
