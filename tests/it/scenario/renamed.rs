//! A recording beside a copy of itself in which everything has another name.

use std::sync::Arc;

use gpulens::snapshot::{NodeName, Recording, SeriesSubject};

fn text(text: &str) -> Arc<str> {
    format!("{text}-b").into()
}

fn node(name: &NodeName) -> NodeName {
    NodeName::from(&*text(name.as_str()))
}

/// The recording and its copy.
pub(super) fn doubled(recording: &Recording) -> Recording {
    let mut both = recording.clone();
    let other = renamed(recording.clone());
    both.nodes.extend(other.nodes);
    both.pods.extend(other.pods);
    both.events.extend(other.events);
    both.holders.extend(other.holders);
    both.terminations.extend(other.terminations);
    both.series.extend(other.series);
    for (source, copy) in both.sources.iter_mut().zip(other.sources) {
        source.targets.extend(copy.targets);
    }
    both
}

fn renamed(mut copy: Recording) -> Recording {
    for own in &mut copy.nodes {
        own.name = node(&own.name);
        own.uid = text(&own.uid);
        own.boot_id = own.boot_id.as_deref().map(text);
        own.labels
            .insert("kubernetes.io/hostname".into(), own.name.as_str().into());
    }
    for pod in &mut copy.pods {
        pod.uid = (&*text(pod.uid.as_str())).into();
        pod.name = text(&pod.name);
        pod.node = pod.node.as_ref().map(node);
    }
    for event in &mut copy.events {
        event.uid = text(&event.uid);
        event.name = text(&event.name);
    }
    for held in &mut copy.holders {
        held.gpu = (&*text(held.gpu.as_str())).into();
        held.pod = text(&held.pod);
    }
    for end in &mut copy.terminations {
        end.uid = (&*text(end.uid.as_str())).into();
        end.pod = text(&end.pod);
        end.node = end.node.as_ref().map(node);
    }
    for series in &mut copy.series {
        match &mut series.subject {
            SeriesSubject::Gpu {
                uuid,
                node: on,
                target,
                ..
            } => {
                *uuid = (&*text(uuid.as_str())).into();
                *on = on.as_ref().map(node);
                *target = target.as_deref().map(text);
            }
            SeriesSubject::Node { name, boots } => {
                *name = node(name);
                for (_, boot) in boots {
                    *boot = text(boot);
                }
            }
        }
    }
    for target in copy
        .sources
        .iter_mut()
        .flat_map(|source| &mut source.targets)
    {
        target.url = text(&target.url);
        target.node = target.node.as_ref().map(node);
    }
    copy
}
