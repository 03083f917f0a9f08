//! Recordings as a source: files in, batches out. The format is docs/RECORDING.md's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use jiff::Timestamp;

use crate::snapshot::{
    Batch, BoardIdentity, ClusterName, GpuObservation, GpuUuid, Holder, Holding, InstanceId,
    Inventory, ListState, Node, NodeName, NodeObservation, NodeSeries, Observation, Pod, Recording,
    RecordingError, Series, SeriesKey, SeriesSubject, SeriesValues, Signal, SourceId, SourceStatus,
    gpu_series, node_series,
};

/// Bytes that a file may have: 256 MiB, an hour of a few thousand GPUs.
pub const MAX_BYTES: u64 = 256 << 20;

/// Why recordings could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file or directory could not be opened or read.
    #[error("cannot read {}: {source}", path.display())]
    Io {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The file is too large.
    #[error("{} is larger than {MAX_BYTES} bytes", path.display())]
    TooLarge {
        /// Which.
        path: PathBuf,
    },
    /// The file is no recording; names line and column, or the place and what is allowed.
    #[error("{}: {source}", path.display())]
    Content {
        /// Which.
        path: PathBuf,
        /// What is wrong, and where.
        source: RecordingError,
    },
    /// A directory without recordings.
    #[error("{} holds no *.json file", path.display())]
    Empty {
        /// Which.
        path: PathBuf,
    },
    /// Two files claim to be the same moment of the same cluster.
    #[error(
        "{} and {} are both cluster `{cluster}` at {now}; one of them must go",
        first.display(),
        second.display()
    )]
    Twice {
        /// The cluster.
        cluster: ClusterName,
        /// The moment.
        now: Timestamp,
        /// The file named first.
        first: PathBuf,
        /// The file named second.
        second: PathBuf,
    },
}

/// The recordings of one cluster, as steps in time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timeline {
    /// The cluster.
    pub cluster: ClusterName,
    /// Its recordings, earliest `now` first; at least one.
    pub steps: Vec<Step>,
}

/// One recording and the file that it came from.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    /// The file.
    pub path: PathBuf,
    /// What it holds.
    pub recording: Recording,
}

/// Reads one file.
pub fn read(path: &Path) -> Result<Recording, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(io)?;
    file.take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(io)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(ReadError::TooLarge {
            path: path.to_owned(),
        });
    }
    Recording::parse(&bytes).map_err(|source| ReadError::Content {
        path: path.to_owned(),
        source,
    })
}

/// Reads files, and the `*.json` files of directories, sorted by name. Clusters come sorted by
/// name, the files of one cluster by their `now`.
pub fn read_all<P: AsRef<Path>>(paths: &[P]) -> Result<Vec<Timeline>, ReadError> {
    let mut steps = Vec::new();
    for path in paths {
        for path in files(path.as_ref())? {
            let recording = read(&path)?;
            steps.push(Step { path, recording });
        }
    }
    // Stable: of two files for one moment, the error names them in the caller's order.
    steps.sort_by(|a, b| {
        let key = |step: &Step| (step.recording.cluster.clone(), step.recording.now);
        key(a).cmp(&key(b))
    });
    for pair in steps.windows(2) {
        let (first, second) = (&pair[0], &pair[1]);
        if first.recording.cluster == second.recording.cluster
            && first.recording.now == second.recording.now
        {
            return Err(ReadError::Twice {
                cluster: first.recording.cluster.clone(),
                now: first.recording.now,
                first: first.path.clone(),
                second: second.path.clone(),
            });
        }
    }
    let mut timelines: Vec<Timeline> = Vec::new();
    for step in steps {
        match timelines.last_mut() {
            Some(last) if last.cluster == step.recording.cluster => last.steps.push(step),
            _ => timelines.push(Timeline {
                cluster: step.recording.cluster.clone(),
                steps: vec![step],
            }),
        }
    }
    Ok(timelines)
}

fn files(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let io = |source| ReadError::Io {
        path: path.to_owned(),
        source,
    };
    if !fs::metadata(path).map_err(io)?.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(io)? {
        let file = entry.map_err(io)?.path();
        // Links are followed: a mounted ConfigMap consists of them. Hidden files are not ours.
        let hidden = file
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
        let json = file.extension().is_some_and(|ext| ext == "json");
        if json && !hidden && file.is_file() {
            found.push(file);
        }
    }
    found.sort();
    if found.is_empty() {
        return Err(ReadError::Empty {
            path: path.to_owned(),
        });
    }
    Ok(found)
}

/// What the sources of a recording have seen: one batch each, in the recording's order.
///
/// Series whose names are not known are left out; a recording that was
/// [checked](Recording::check) has none.
#[must_use]
pub fn batches(recording: &Recording) -> Vec<Batch> {
    recording
        .sources
        .iter()
        .map(|status| Batch {
            source: status.id,
            observations: match status.id {
                SourceId::Dcgm => telemetry(recording),
                SourceId::Kubernetes => kubernetes(recording, status),
            },
            status: sorted(status),
        })
        .collect()
}

/// The status with its targets in the order that every source keeps; a file may have another.
fn sorted(status: &SourceStatus) -> SourceStatus {
    let mut status = status.clone();
    status
        .targets
        .sort_by(|a, b| (&a.node, &a.url).cmp(&(&b.node, &b.url)));
    status
}

fn telemetry(recording: &Recording) -> Vec<Observation> {
    let mut observations = Vec::new();
    let with_xids = with_xids(recording);
    // Grouped once: a large recording has as many holders as series.
    let mut held: BTreeMap<_, Vec<&Holding>> = BTreeMap::new();
    for holding in &recording.holders {
        let board = (&holding.gpu, holding.instance);
        held.entry(board).or_default().push(holding);
    }
    for series in &recording.series {
        let SeriesSubject::Gpu {
            uuid,
            instance,
            profile,
            node,
            node_by,
            index,
            pci,
            model,
            driver,
            target,
        } = &series.subject
        else {
            continue;
        };
        let identity = Arc::new(BoardIdentity {
            node: node.clone(),
            node_by: *node_by,
            index: *index,
            pci: pci.clone(),
            model: model.clone(),
            driver: driver.clone(),
            target: target.clone(),
        });
        let holders = held.get(&(uuid, *instance)).map_or(&[][..], Vec::as_slice);
        let columns: Vec<_> = series
            .values
            .iter()
            .filter_map(|(name, values)| Some((gpu_series(name).ok()?, values)))
            .collect();
        // A column tells of its own slots; beside one in another entry this entry tells nothing.
        let tells_xids = columns.iter().any(|(key, _)| key.signal == Signal::Xid)
            || !with_xids.contains(&(uuid, *instance));
        observations.extend((0..series.slots).filter_map(|slot| {
            let at = series.time_of(slot);
            let readings = row(&columns, slot);
            let has_xid = readings.iter().any(|(key, _)| key.signal == Signal::Xid);
            // A slot without a value is a gap: nothing was seen, which is not the same as 0.
            (!readings.is_empty()).then(|| {
                Observation::Gpu(GpuObservation {
                    at,
                    uuid: uuid.clone(),
                    identity: identity.clone(),
                    instance: instance.map(|id| (id, profile.clone())),
                    holders: holders_at(holders, at),
                    readings,
                    xid_absent: tells_xids && !has_xid,
                })
            })
        }));
    }
    observations
}

/// The boards and instances of which some entry has a column of XIDs.
fn with_xids(recording: &Recording) -> BTreeSet<(&GpuUuid, Option<InstanceId>)> {
    let told = |series: &Series| {
        let mut keys = series
            .values
            .keys()
            .filter_map(|name| gpu_series(name).ok());
        keys.any(|key| key.signal == Signal::Xid)
    };
    recording
        .series
        .iter()
        .filter_map(|series| match &series.subject {
            SeriesSubject::Gpu { uuid, instance, .. } if told(series) => Some((uuid, *instance)),
            SeriesSubject::Gpu { .. } | SeriesSubject::Node { .. } => None,
        })
        .collect()
}

fn row(columns: &[(SeriesKey, &SeriesValues)], slot: u32) -> Vec<(SeriesKey, f64)> {
    columns
        .iter()
        .filter_map(|(key, values)| Some((*key, values.get(slot)?)))
        .collect()
}

fn holders_at(holders: &[&Holding], at: Timestamp) -> Vec<Holder> {
    holders
        .iter()
        .filter(|holding| holding.from <= at && at <= holding.to)
        .map(|holding| Holder {
            pod: holding.pod_ref(),
            container: holding.container.clone(),
            uid: holding.uid.clone(),
        })
        .collect()
}

fn kubernetes(recording: &Recording, status: &SourceStatus) -> Vec<Observation> {
    let mut observations = Vec::new();
    for series in &recording.series {
        if let SeriesSubject::Node { name, boots } = &series.subject {
            let row = |slot| Observation::Node(node_row(name, boots, series, slot));
            observations.extend((0..series.slots).map(row));
        }
    }
    // After the series: it is the newest word, beside which the older ones would come too late.
    observations.push(Observation::Inventory {
        at: told_at(recording, status),
        inventory: Arc::new(inventory(recording, status)),
    });
    let ends = recording.terminations.iter().cloned().map(Arc::new);
    observations.extend(ends.map(Observation::Termination));
    observations
}

/// As of when the lists are: their own word, else the last answer, else the recording's moment.
fn told_at(recording: &Recording, status: &SourceStatus) -> Timestamp {
    let synced = status.lists.iter().flat_map(|lists| {
        [lists.nodes, lists.pods, lists.events].map(|list| match list {
            ListState::Synced(at) => Some(at),
            ListState::NotConfigured | ListState::Pending | ListState::Failed => None,
        })
    });
    synced
        .flatten()
        .max()
        .or(status.last_success)
        .unwrap_or(recording.now)
}

fn inventory(recording: &Recording, status: &SourceStatus) -> Inventory {
    let mut events: Vec<_> = recording.events.iter().cloned().map(Arc::new).collect();
    events.sort_by(|a, b| (a.last, &a.uid).cmp(&(b.last, &b.uid)));
    let node = |node: &Node| (node.name.clone(), Arc::new(node.clone()));
    let pod = |pod: &Pod| (pod.uid.clone(), Arc::new(pod.clone()));
    Inventory {
        nodes: recording.nodes.iter().map(node).collect(),
        pods: recording.pods.iter().map(pod).collect(),
        events,
        complete: status.lists.unwrap_or_default(),
    }
}

fn boot_at(boots: &[(u32, Arc<str>)], slot: u32) -> Option<Arc<str>> {
    let after = boots.partition_point(|(from, _)| *from <= slot);
    Some(boots[after.checked_sub(1)?].1.clone())
}

fn node_row(
    name: &NodeName,
    boots: &[(u32, Arc<str>)],
    series: &Series,
    slot: u32,
) -> NodeObservation {
    let mut seen = NodeObservation {
        at: series.time_of(slot),
        node: name.clone(),
        allocatable: Vec::new(),
        capacity: Vec::new(),
        unschedulable: None,
        boot_id: boot_at(boots, slot),
    };
    for (name, values) in &series.values {
        match (node_series(name), values.get(slot)) {
            (Ok(NodeSeries::Allocatable(resource)), Some(value)) => {
                seen.allocatable.push((resource, value));
            }
            (Ok(NodeSeries::Capacity(resource)), Some(value)) => {
                seen.capacity.push((resource, value));
            }
            (Ok(NodeSeries::Unschedulable), Some(value)) => {
                seen.unschedulable = Some(value != 0.0);
            }
            (Err(_), _) | (_, None) => {}
        }
    }
    seen
}
