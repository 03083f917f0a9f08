//! Nodes whose series name no pod although pods hold their GPUs.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::labels::{self, Named};
use super::nodes::offered;
use super::remedy;
use super::scene::{Scene, fires};
use crate::finding::{Cause, Evidence, Fact, Finding, Judgement, Reason, Verdict};
use crate::rules::sharing::shares_gpus;
use crate::rules::steps;
use crate::snapshot::{Gpu, Hold, Node, NodeName, Pod, PodPhase, is_gpu_resource};

/// What the API and the series tell of the pods on one node.
pub(super) struct Place<'a> {
    pub(super) name: &'a NodeName,
    pub(super) node: Option<&'a Node>,
    pub(super) boards: &'a [&'a Gpu],
    /// Running pods that hold GPUs here, by the API.
    pub(super) holding: Vec<&'a Pod>,
    /// Whether the list of pods is whole and fresh.
    pub(super) complete: bool,
}

impl<'a> Place<'a> {
    /// The pods that the series name now, each with the board that does.
    pub(super) fn named(&self, scene: &Scene<'_>) -> Vec<(&'a Gpu, &'a Hold)> {
        let fresh = scene.snapshot.limits.stale_after.get();
        let live = self.boards.iter().filter(|gpu| !gpu.is_blind());
        live.flat_map(|gpu| {
            gpu.entities()
                .flat_map(|(_, entity)| &entity.holds)
                .filter(|hold| scene.age(hold.to) <= fresh)
                .map(|hold| (*gpu, hold))
        })
        .collect()
    }

    /// Whether every board of the node is live, and there is one.
    pub(super) fn all_live(&self) -> bool {
        !self.boards.is_empty() && self.boards.iter().all(|gpu| !gpu.is_blind())
    }
}

/// One judgement of each kind for every node with boards; none without Kubernetes.
pub(super) fn judge(scene: &Scene<'_>) -> Vec<Judgement> {
    let inventory = &scene.snapshot.inventory;
    let Some(complete) = scene.is_complete(inventory.complete.pods) else {
        return Vec::new();
    };
    let mut holding: BTreeMap<&NodeName, Vec<&Pod>> = BTreeMap::new();
    for pod in inventory.pods.values().map(|pod| &**pod) {
        let holds = pod
            .gpu_requests
            .iter()
            .any(|(resource, count)| *count > 0 && is_gpu_resource(resource));
        if let Some(node) = &pod.node
            && holds
            && pod.phase == PodPhase::Running
        {
            holding.entry(node).or_default().push(pod);
        }
    }
    let known = Named::index(scene);
    let mut judgements = Vec::new();
    for (name, boards) in &scene.boards {
        let place = Place {
            name,
            node: scene.node(name),
            boards,
            holding: holding.remove(*name).unwrap_or_default(),
            complete,
        };
        for (cause, verdict) in [
            (Cause::PodsUnlabelled, unlabelled(scene, &place)),
            (Cause::LabelsDisagree, labels::judge(scene, &place, &known)),
        ] {
            judgements.push(scene.judgement(Scene::node_key(name, cause), verdict));
        }
    }
    judgements
}

fn unlabelled(scene: &Scene<'_>, place: &Place<'_>) -> Verdict {
    if !place.complete {
        return Verdict::Undecided(Reason::InventoryIncomplete);
    }
    // Where the node is only known from telemetry, no pod can be tied to it.
    let Some(node) = place.node else {
        return Verdict::Undecided(Reason::InventoryIncomplete);
    };
    if place.holding.is_empty() || !place.named(scene).is_empty() {
        return Verdict::Clear;
    }
    if shares_gpus(node) {
        return Verdict::Undecided(Reason::Shared);
    }
    if !place.all_live() {
        return Verdict::Undecided(Reason::Blind);
    }
    let since = unlabelled_since(place);
    match since {
        Some(since) if scene.age(since) >= scene.thresholds.unlabelled_after.get() => {
            fires(no_labels(scene, place, node, since))
        }
        Some(_) => Verdict::Holds,
        None => Verdict::Undecided(Reason::TooFewSamples),
    }
}

/// Since when pods have been holding GPUs, series have been arriving, and no pod was named.
fn unlabelled_since(place: &Place<'_>) -> Option<Timestamp> {
    let started = place
        .holding
        .iter()
        .map(|pod| pod.started.unwrap_or(pod.created))
        .min()?;
    let entities = || {
        place
            .boards
            .iter()
            .flat_map(|gpu| gpu.entities().map(|(_, entity)| entity))
    };
    let seen = entities().filter_map(|entity| entity.first_seen).min()?;
    let resumed = entities()
        .flat_map(|entity| &entity.tracks)
        .filter_map(|(_, track)| track.gap().map(|(_, resumed)| resumed))
        .max();
    let named = entities()
        .flat_map(|entity| &entity.holds)
        .map(|hold| hold.to)
        .max();
    [Some(started), Some(seen), resumed, named]
        .into_iter()
        .flatten()
        .max()
}

fn no_labels(scene: &Scene<'_>, place: &Place<'_>, node: &Node, since: Timestamp) -> Finding {
    let name = place.name;
    let gpus = place.boards.len();
    let held: i64 = place
        .holding
        .iter()
        .flat_map(|pod| &pod.gpu_requests)
        .filter(|(resource, _)| is_gpu_resource(resource))
        .map(|(_, count)| *count)
        .sum();
    let mut finding = scene.finding(
        Cause::PodsUnlabelled,
        Some(name),
        format!(
            "{name}: pods hold {held} GPU resources, and no series of its {gpus} GPUs has named a pod for {}",
            scene.ago(since)
        ),
        since,
    );
    for pod in place.holding.iter().take(8) {
        let requests: Vec<_> = pod
            .gpu_requests
            .iter()
            .map(|(resource, count)| format!("{count} {resource}"))
            .collect();
        finding.facts.push(Fact {
            name: format!("running pod {}", pod.pod_ref()).into(),
            value: requests.join(", "),
            source: "kubernetes".into(),
            at: pod.started,
        });
    }
    finding.supporting.push(Evidence::of(
        format!("all {gpus} GPUs of the node are live, so the labels are what is missing"),
        "dcgm",
    ));
    for cause in likely(place, node) {
        finding
            .supporting
            .push(Evidence::of(cause, "dcgm-exporter"));
    }
    last_named(place, &mut finding);
    finding.missing.push(Evidence::of(
        "which pod uses which GPU: findings about pods of this node rest on the API alone",
        "dcgm",
    ));
    finding.checklist.push(steps::run(
        "Check that the exporter maps pods: DCGM_EXPORTER_KUBERNETES=true and the host path /var/lib/kubelet/pod-resources mounted.",
        "kubectl get daemonset -A -l app=nvidia-dcgm-exporter -o yaml".to_owned(),
    ));
    finding
        .checklist
        .extend(remedy::exporter(scene, Some(name)));
    finding
}

fn last_named(place: &Place<'_>, finding: &mut Finding) {
    let last = place
        .boards
        .iter()
        .flat_map(|gpu| gpu.entities().flat_map(|(_, entity)| &entity.holds))
        .max_by_key(|hold| hold.to);
    match last {
        Some(named) => finding.timeline.push(Evidence::at(
            format!("{} was the last pod named", named.pod),
            "dcgm",
            named.to,
        )),
        None => finding.missing.push(Evidence::of(
            "any pod label of this node since it is watched",
            "dcgm",
        )),
    }
}

/// What the node's mode makes likely.
fn likely(place: &Place<'_>, node: &Node) -> Vec<&'static str> {
    let mig = offered(node).any(|(name, count)| name.starts_with("nvidia.com/mig-") && count > 0)
        || place.boards.iter().any(|gpu| !gpu.instances.is_empty());
    let mut causes = Vec::new();
    if mig {
        causes.push("under MIG, consistent with instance ids that the exporter cannot match (issues 272, 577)");
    }
    causes.push("consistent with pod mapping being off, the kubelet's pod-resources socket not mounted, or device ids by name instead of uid (issues 349, 477)");
    causes
}
