//! Whether a node hands each GPU to several pods.

use crate::snapshot::{Node, is_gpu_resource};

/// Whether a node's GPUs are shared by time-slicing or MPS: then its resource does not count
/// boards, and the exporter cannot tell pods apart.
pub(super) fn shares_gpus(node: &Node) -> bool {
    let label = |key: &str| node.labels.get(key).map(|value| &**value);
    let strategy = label("nvidia.com/gpu.sharing-strategy")
        .is_some_and(|strategy| !matches!(strategy, "" | "none"));
    let replicas = label("nvidia.com/gpu.replicas")
        .and_then(|count| count.parse::<u32>().ok())
        .is_some_and(|count| count > 1);
    let product =
        label("nvidia.com/gpu.product").is_some_and(|product| product.ends_with("-SHARED"));
    let resource = node
        .capacity
        .iter()
        .any(|(name, count)| is_gpu_resource(name) && name.ends_with(".shared") && *count > 0);
    strategy || replicas || product || resource
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Cluster;

    #[test]
    fn labels_and_resources_tell_of_sharing() {
        for (key, value, said) in [
            ("sharing-strategy", "time-slicing", true),
            ("sharing-strategy", "mps", true),
            ("sharing-strategy", "none", false),
            ("sharing-strategy", "", false),
            ("replicas", "0", false),
            ("replicas", "1", false),
            ("replicas", "4", true),
            ("replicas", "many", false),
            ("product", "NVIDIA-A100-SXM4-40GB-SHARED", true),
            ("product", "NVIDIA-A100-SXM4-40GB", false),
        ] {
            let cluster = Cluster::new().with_kubernetes().node("n1", 8, &[], |node| {
                let key = format!("nvidia.com/gpu.{key}");
                node.labels.insert(key.as_str().into(), value.into());
            });
            let node = &cluster.snapshot().inventory.nodes[&"n1".into()];
            assert_eq!(shares_gpus(node), said, "{key} {value}");
        }
        for (resource, count, said) in [
            ("nvidia.com/gpu.shared", 8, true),
            ("nvidia.com/gpu.shared", 0, false),
            ("nvidia.com/mig-1g.5gb.shared", 8, true),
            ("nvidia.com/mig-1g.5gb", 8, false),
        ] {
            let cluster = Cluster::new().with_kubernetes().node("n1", 8, &[], |node| {
                node.capacity.insert(resource.into(), count);
            });
            let node = &cluster.snapshot().inventory.nodes[&"n1".into()];
            assert_eq!(shares_gpus(node), said, "{resource} {count}");
        }
    }
}
