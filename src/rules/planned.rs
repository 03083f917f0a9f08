//! Work that somebody planned on a node: for a while, absence there is expected.

use jiff::{SignedDuration, Timestamp};

use super::words;
use crate::snapshot::Node;

/// Taints that say that a node is about to go.
const LEAVING: [&str; 2] = ["ToBeDeletedByClusterAutoscaler", "karpenter.sh/disrupted"];

/// What work is planned on a node, if any, as the rest of a sentence that begins with the node:
/// cordoned, about to be removed, paused by the GPU operator, changing its MIG layout, or younger
/// than `young`.
#[must_use]
pub fn planned_work(node: &Node, now: Timestamp, young: SignedDuration) -> Option<String> {
    if node.unschedulable {
        return Some("is cordoned".to_owned());
    }
    if let Some(taint) = node
        .taints
        .iter()
        .find(|taint| LEAVING.contains(&&*taint.key))
    {
        return Some(format!("has the taint {}", taint.key));
    }
    let pausing = |key: &str, value: &str| {
        let paused = matches!(value, "paused-for-driver-upgrade" | "paused-for-mig-change");
        let changing = matches!(value, "pending" | "rebooting");
        (key.starts_with("nvidia.com/gpu.deploy.") && paused)
            || (key == "nvidia.com/mig.config.state" && changing)
    };
    if let Some((key, value)) = node.labels.iter().find(|(key, value)| pausing(key, value)) {
        return Some(format!("has the label {key}={value}"));
    }
    let age = now.duration_since(node.created);
    (age < young).then(|| format!("joined {} ago", words::length(age)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Taint;
    use crate::testing::{Cluster, at, now};

    fn of(change: impl FnOnce(&mut Node)) -> Option<String> {
        let snapshot = Cluster::new()
            .with_kubernetes()
            .node("n1", 8, &[], change)
            .snapshot();
        let node = &snapshot.inventory.nodes[&"n1".into()];
        planned_work(node, now(), SignedDuration::from_mins(20))
    }

    #[test]
    fn what_counts_as_planned() {
        let label = |key: &'static str, value: &'static str| {
            move |node: &mut Node| _ = node.labels.insert(key.into(), value.into())
        };
        let taint = |key: &'static str| {
            move |node: &mut Node| {
                let (value, effect) = ("".into(), "NoSchedule".into());
                node.taints.push(Taint {
                    key: key.into(),
                    value,
                    effect,
                    added: None,
                });
            }
        };
        assert_eq!(of(|_| {}), None);
        assert_eq!(
            of(|node| node.unschedulable = true).as_deref(),
            Some("is cordoned")
        );
        assert!(of(taint("karpenter.sh/disrupted")).is_some());
        assert!(of(taint("ToBeDeletedByClusterAutoscaler")).is_some());
        assert_eq!(of(taint("nvidia.com/gpu")), None);
        assert!(
            of(label(
                "nvidia.com/gpu.deploy.driver",
                "paused-for-driver-upgrade"
            ))
            .is_some()
        );
        assert!(of(label("nvidia.com/mig.config.state", "rebooting")).is_some());
        assert_eq!(of(label("nvidia.com/gpu.deploy.driver", "true")), None);
        assert_eq!(of(label("nvidia.com/mig.config.state", "success")), None);
        assert_eq!(
            of(|node| node.created = at(-1199)).as_deref(),
            Some("joined 19 min 59 s ago")
        );
        assert_eq!(of(|node| node.created = at(-1200)), None);
    }
}
