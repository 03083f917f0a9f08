//! From signs to one finding.

use std::fmt::Write;

use super::sign::{Doubt, Found, Kind, Sign, Weight};
use crate::finding::{Cause, Evidence, Finding, Grade, Severity, Step};
use crate::rules::steps::{describe_node, pods_of, quoted, run};
use crate::snapshot::Gpu;

/// Signs that a summary names beside the worst.
const NAMED_BESIDE: usize = 3;
/// Entries of a time line; the latest are kept.
const MAX_TIMELINE: usize = 30;

/// What a finding is about.
pub(super) struct Place<'a> {
    /// How people name it.
    pub title: String,
    /// Its node, where Kubernetes knows it.
    pub kubernetes_node: Option<&'a str>,
    /// The board, where it is one.
    pub gpu: Option<&'a Gpu>,
}

/// One finding, named by its worst sign. `None` where nothing was found.
pub(super) fn finding(place: &Place<'_>, mut found: Found) -> Option<Finding> {
    let mut signs = std::mem::take(&mut found.signs);
    signs.sort_by_key(|sign| {
        (
            std::cmp::Reverse(sign.severity),
            rank(sign),
            sign.since,
            sign.cause,
        )
    });
    let worst = signs.first()?;
    let (cause, severity, grade) = (worst.cause, worst.severity, grade(&signs));
    let summary = summary(place, &signs);
    let started = signs.iter().map(|sign| sign.since).min()?;
    let checklist = checklist(place, &signs);
    let mut finding = Finding {
        cause,
        severity,
        grade,
        summary,
        started,
        gpu: place.gpu.and_then(|gpu| gpu.identity.index),
        facts: Vec::new(),
        supporting: Vec::new(),
        contradicting: Vec::new(),
        missing: Vec::new(),
        timeline: Vec::new(),
        checklist,
    };
    for sign in signs {
        finding
            .timeline
            .extend(in_time(&sign).into_iter().chain(sign.timeline));
        finding.supporting.push(sign.evidence);
        add(&mut finding.facts, sign.facts);
        add(&mut finding.contradicting, sign.against);
        add(&mut finding.missing, sign.missing);
    }
    add(&mut finding.facts, found.facts);
    add(&mut finding.contradicting, found.against);
    add(&mut finding.missing, found.missing);
    finding.timeline.extend(found.timeline);
    finding
        .timeline
        .sort_by(|a, b| (a.at, &a.text).cmp(&(b.at, &b.text)));
    finding
        .timeline
        .dedup_by(|a, b| a.at == b.at && a.text == b.text);
    let excess = finding.timeline.len().saturating_sub(MAX_TIMELINE);
    let undated = finding.timeline.partition_point(|entry| entry.at.is_none());
    finding
        .timeline
        .drain(undated.min(MAX_TIMELINE)..undated.min(MAX_TIMELINE) + excess);
    Some(finding)
}

/// XIDs have entries of their own, all of them; the rest began at some time. What may be older than
/// its first evidence has no place in the order: it comes before what has one.
fn in_time(sign: &Sign) -> Option<Evidence> {
    let source = sign.evidence.source.clone();
    match sign.kind {
        Kind::Xid => None,
        _ if sign.older => {
            let text = format!("{}{}", sign.headline, sign.may_be_older());
            Some(Evidence::of(text, source))
        }
        _ => Some(Evidence::at(sign.headline.clone(), source, sign.since)),
    }
}

fn add<T: PartialEq>(to: &mut Vec<T>, from: Vec<T>) {
    for item in from {
        if !to.contains(&item) {
            to.push(item);
        }
    }
}

/// Of signs that are equally bad, the one that tells most about the GPU names the finding.
fn rank(sign: &Sign) -> u8 {
    match sign.cause {
        Cause::Xid(_) => 0,
        Cause::RowRemapFailure => 1,
        Cause::EccDoubleBit => 2,
        Cause::Nvlink => 3,
        Cause::RowRemapPending => 4,
        Cause::PcieReplay => 5,
        Cause::EccSingleBitRate => 6,
        Cause::DcgmHealth => 7,
        Cause::GpuCountMismatch => 8,
        Cause::AllocatableDrop => 9,
        Cause::DevicePluginDown => 10,
        _ => 11,
    }
}

/// Strong: the worst sign is direct, or signs of independent kinds agree.
fn grade(signs: &[Sign]) -> Grade {
    let Some(worst) = signs.first() else {
        return Grade::Inconclusive;
    };
    if signs
        .iter()
        .all(|sign| sign.doubt == Some(Doubt::Inconclusive))
    {
        return Grade::Inconclusive;
    }
    if worst.doubt == Some(Doubt::Contradicted) {
        return Grade::Contradicted;
    }
    if worst.weight == Weight::Direct {
        return Grade::Strong;
    }
    let mut kinds: Vec<Kind> = signs
        .iter()
        .filter(|sign| sign.severity >= Severity::Warning && sign.doubt.is_none())
        .map(|sign| sign.kind)
        .filter(|kind| *kind != Kind::Derived)
        .collect();
    kinds.sort();
    kinds.dedup();
    if kinds.len() > 1 && worst.weight != Weight::Capped {
        Grade::Strong
    } else {
        Grade::Moderate
    }
}

fn summary(place: &Place<'_>, signs: &[Sign]) -> String {
    let Some(worst) = signs.first() else {
        return String::new();
    };
    let mut beside: Vec<&str> = Vec::new();
    for sign in &signs[1..] {
        if sign.headline != worst.headline && !beside.contains(&&*sign.headline) {
            beside.push(&sign.headline);
        }
    }
    let more = beside.len().saturating_sub(NAMED_BESIDE);
    beside.truncate(NAMED_BESIDE);
    let mut text = format!("{}: {}", place.title, worst.headline);
    if !beside.is_empty() {
        text.push_str("; also ");
        text.push_str(&beside.join(", "));
    }
    if more > 0 {
        let _ = write!(text, " and {more} more");
    }
    text.push_str("; consistent with ");
    text.push_str(&worst.reading);
    text
}

/// Where to look next. Every command reads; none changes anything.
fn checklist(place: &Place<'_>, signs: &[Sign]) -> Vec<Step> {
    let has = |kinds: &[Kind]| signs.iter().any(|sign| kinds.contains(&sign.kind));
    let mut steps = Vec::new();
    if let Some(node) = place.kubernetes_node {
        steps.push(describe_node(node));
        let of = quoted(&format!(
            "involvedObject.kind=Node,involvedObject.name={node}"
        ));
        steps.push(run(
            "Look for restarts of the kubelet and for what agents reported.",
            format!("kubectl get events --all-namespaces --field-selector {of}"),
        ));
        if has(&[Kind::Capacity, Kind::Count]) {
            steps.push(pods_of(
                "Find the device plugin's pod of the node and read its log for \"unhealthy\".",
                node,
            ));
        }
    }
    if has(&[Kind::Capacity, Kind::Count]) {
        steps.push(run(
            "Count the boards that the driver sees, on the node.",
            "nvidia-smi -L".to_owned(),
        ));
    }
    steps.push(run(
        "Read the kernel log on the node: it has every XID with its details, repeats included.",
        "dmesg --ctime | grep -iE 'NVRM|Xid|fallen off'".to_owned(),
    ));
    if let Some(gpu) = place.gpu {
        board_steps(&quoted(gpu.uuid.as_str()), &has, &mut steps);
    }
    steps
}

fn board_steps(uuid: &str, has: &dyn Fn(&[Kind]) -> bool, steps: &mut Vec<Step>) {
    if has(&[Kind::Memory, Kind::Xid, Kind::Derived]) {
        steps.push(run(
            "Read ECC counters, row remaps and retired pages, on the node.",
            format!("nvidia-smi -q -i {uuid} -d ECC,ROW_REMAPPER,PAGE_RETIREMENT"),
        ));
    }
    if has(&[Kind::Link]) {
        steps.push(run(
            "Read the state and error counters of the links, on the node.",
            format!("nvidia-smi nvlink --status -i {uuid} && nvidia-smi nvlink --errorcounters -i {uuid}"),
        ));
    }
    if has(&[Kind::Pcie]) {
        steps.push(run(
            "Compare the PCIe link as trained with what it can do, on the node.",
            format!("nvidia-smi -i {uuid} --format=csv --query-gpu=pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,pcie.link.width.max"),
        ));
    }
    if has(&[Kind::Xid]) {
        steps.push(run(
            "See temperature, power and clock events of the GPU, on the node.",
            format!("nvidia-smi -q -i {uuid} -d TEMPERATURE,POWER,PERFORMANCE"),
        ));
    }
}
