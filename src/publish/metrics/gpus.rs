//! Telemetry with its semantics repaired: the families per GPU and target.

use std::fmt;

use prometheus_client::encoding::DescriptorEncoder;

use super::Page;
use super::label::Label;
use super::row::{Row, family};
use crate::cycle::{EntityRow, GpuRow};
use crate::publish::catalogue as c;
use crate::publish::published::seconds;
use crate::snapshot::{NodeName, TargetState};

pub(super) fn encode(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    xids(page, encoder)?;
    throttling(page, encoder)?;
    let readings = boards(page).map(|(cluster, gpu)| {
        let [node, index, uuid] = place(gpu);
        Row::new(cluster, [node, index, uuid], seconds(gpu.live_at))
    });
    family(encoder, &c::GPU_LAST_READING_TIMESTAMP_SECONDS, readings)?;
    utilization(page, encoder)?;
    targets(page, encoder)
}

fn boards(page: &Page) -> impl Iterator<Item = (&str, &GpuRow)> {
    page.warm()
        .flat_map(|view| view.gpus.iter().map(|gpu| (view.cluster.as_str(), gpu)))
}

fn entities(page: &Page) -> impl Iterator<Item = (&str, &GpuRow, &EntityRow)> {
    boards(page).flat_map(|(cluster, gpu)| gpu.entities.iter().map(move |row| (cluster, gpu, row)))
}

/// The labels node, gpu, uuid.
fn place(gpu: &GpuRow) -> [Label<'_>; 3] {
    [
        name(gpu.node.as_ref()),
        Label::Number(gpu.index),
        gpu.uuid.as_str().into(),
    ]
}

fn name(node: Option<&NodeName>) -> Label<'_> {
    Label::Text(node.map_or("", NodeName::as_str))
}

fn instance(entity: &EntityRow) -> Label<'_> {
    Label::Number(entity.instance.map(|instance| instance.0))
}

fn xids(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let totals = entities(page).filter_map(|(cluster, gpu, entity)| {
        let [node, index, uuid] = place(gpu);
        let labels = [node, index, uuid, instance(entity)];
        Some(Row::new(cluster, labels, entity.xid_total?))
    });
    family(encoder, &c::GPU_XID_ERRORS_TOTAL, totals)?;
    let last = entities(page).filter_map(|(cluster, gpu, entity)| {
        let [node, index, uuid] = place(gpu);
        let xid = Label::Number(Some(u32::from(entity.last_xid?)));
        Some(Row::new(
            cluster,
            [node, index, uuid, instance(entity), xid],
            1,
        ))
    });
    family(encoder, &c::GPU_LAST_XID_INFO, last)
}

fn throttling(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = boards(page).flat_map(|(cluster, gpu)| {
        let [node, index, uuid] = place(gpu);
        gpu.throttle_seconds.iter().map(move |(reason, time)| {
            Row::new(cluster, [node, index, uuid, (*reason).into()], *time)
        })
    });
    family(encoder, &c::GPU_THROTTLE_SECONDS_TOTAL, rows)
}

fn utilization(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = entities(page).filter_map(|(cluster, gpu, entity)| {
        let [node, index, uuid] = place(gpu);
        let (namespace, pod) = entity
            .pod
            .as_ref()
            .map_or(("", ""), |pod| (&pod.namespace, &pod.pod));
        let labels = [
            node,
            index,
            uuid,
            instance(entity),
            namespace.into(),
            pod.into(),
        ];
        Some(Row::new(cluster, labels, entity.mean_utilization?))
    });
    family(encoder, &c::GPU_MEAN_UTILIZATION_RATIO, rows)
}

fn targets(page: &Page, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let rows = page.warm().flat_map(|view| {
        let targets = view.sources.iter().flat_map(|source| &source.targets);
        targets
            .filter(|target| target.state != TargetState::Pending)
            .map(|target| {
                let labels = [name(target.node.as_ref()), (&*target.url).into()];
                Row::new(
                    view.cluster.as_str(),
                    labels,
                    target.state == TargetState::Up,
                )
            })
    });
    family(encoder, &c::TARGET_UP, rows)
}
