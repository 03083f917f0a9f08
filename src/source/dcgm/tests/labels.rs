//! What labels say, in every dialect.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::*;
use crate::snapshot::{BoardIdentity, NodeAttribution, NodeName, PodRef};

#[test]
fn workloads_are_found_in_every_spelling() {
    for (labels, want) in [
        (r#"pod="p",namespace="n",container="c""#, vec!["n/p c"]),
        (
            r#"pod="p",namespace="n",container="c",pod_uid="u-1""#,
            vec!["n/p c u-1"],
        ),
        (
            r#"pod="p",namespace="n",container="c",pod_uid="""#,
            vec!["n/p c"],
        ),
        (
            r#"pod_name="p",pod_namespace="n",container_name="c""#,
            vec!["n/p c"],
        ),
        (
            r#"exported_pod="p",exported_namespace="n",exported_container="c",pod="dcgm-exporter-x1y2z",namespace="gpu-operator",container="exporter""#,
            vec!["n/p c"],
        ),
        (
            r#"pod="nvidia-dcgm-exporter-x1y2z",namespace="gpu-operator",container="exporter""#,
            vec![],
        ),
        (r#"pod="own",namespace="monitoring",container="c""#, vec![]),
        (
            r#"pod="own",namespace="another",container="c""#,
            vec!["another/own c"],
        ),
        (r#"pod="",namespace="",container="""#, vec![]),
        (r#"pod_name="",pod_namespace="",container_name="""#, vec![]),
        (
            r#"pod="<<<NOT_FOUND>>>",namespace="n",container="c""#,
            vec![],
        ),
        (r#"pod="p",container="c""#, vec![]),
        (r#"pod="SKIPPING DCGM VALUE",namespace="n""#, vec![]),
        (
            r#"pod="a\nb",namespace="n",container="c""#,
            vec!["n/a\u{fffd}b c"],
        ),
    ] {
        let origin = Origin {
            exporter_pod: Some(PodRef {
                namespace: "monitoring".into(),
                pod: "own".into(),
            }),
            ..origin()
        };
        let text = format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\",{labels}}} 41\n");
        let decoded = decode_from(&text, &origin);
        assert_eq!(holders(&decoded.observations[0]), want, "{labels}");
    }
}

#[test]
fn what_is_known_of_a_board_is_gathered_from_all_its_series() {
    let decoded = decode(concat!(
        "DCGM_FI_DEV_GPU_TEMP{A,gpu=\"3\",modelName=\"NVIDIA H100\",DCGM_FI_DRIVER_VERSION=\"550.90.07\"} 41\n",
        "DCGM_FI_DEV_NVLINK_REPLAY_ERROR_COUNT_TOTAL{nvlink=\"0\",gpu_uuid=\"GPU-0000000a-1111-2222-3333-00000000000a\",pci_bus_id=\"00000008:01:00.0\",model_name=\"NVIDIA H100\",hostname=\"n1\"} 0\n",
        "DCGM_FI_DEV_GPU_TEMP{B,gpu=\"<<<NULL>>>\",pci_bus_id=\"\",DCGM_FI_SYSTEM_DRIVER_VERSION=\"590.48.01\"} 41\n",
    ));
    let [a, b] = &decoded.observations[..] else {
        panic!("{decoded:?}");
    };
    let want = BoardIdentity {
        node: Some("n1".into()),
        node_by: NodeAttribution::HostnameLabel,
        index: Some(3),
        pci: Some("00000008:01:00.0".into()),
        model: Some("NVIDIA H100".into()),
        driver: Some("550.90.07".into()),
        target: Some("http://n1:9400/metrics".into()),
    };
    assert_eq!(*a.identity, want);
    assert_eq!((b.identity.index, &b.identity.pci), (None, &None));
    assert_eq!(b.identity.driver.as_deref(), Some("590.48.01"));
    assert_eq!(decoded.node, None, "one of the boards is nowhere");
}

#[test]
fn the_hostname_label_counts_where_it_names_a_host() {
    let known = |names: &[&str]| -> Option<Arc<BTreeSet<NodeName>>> {
        Some(Arc::new(
            names.iter().copied().map(NodeName::from).collect(),
        ))
    };
    let label = NodeAttribution::HostnameLabel;
    let unknown = NodeAttribution::Unknown;
    for (hostname, nodes, want, by) in [
        ("node-1", None, Some("node-1"), label),
        ("10.0.0.7", None, Some("10.0.0.7"), label),
        ("dcgm-exporter-x1y2z", None, None, unknown),
        ("nvidia-dcgm-exporter-x1y2z", None, None, unknown),
        ("localhost", None, None, unknown),
        ("localhost:5555", None, None, unknown),
        ("3fa85f64a1b2", None, None, unknown),
        ("", None, None, unknown),
        (
            "node-1",
            known(&["node-1", "node-2"]),
            Some("node-1"),
            label,
        ),
        ("node-9", known(&["node-1", "node-2"]), None, unknown),
        ("node-1", known(&[]), None, unknown),
    ] {
        let text = format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\",Hostname=\"{hostname}\"}} 41\n");
        let mut origin = Origin {
            known_nodes: nodes,
            ..origin()
        };
        let identity = |origin: &Origin| {
            let decoded = decode_from(&text, origin);
            BoardIdentity::clone(&decoded.observations[0].identity)
        };
        let found = identity(&origin);
        assert_eq!(
            found.node.as_ref().map(NodeName::as_str),
            want,
            "{hostname}"
        );
        assert_eq!(found.node_by, by, "{hostname}");
        origin.node = Some(("configured".into(), NodeAttribution::Configured));
        let found = identity(&origin);
        assert_eq!(found.node, Some("configured".into()));
        assert_eq!(found.node_by, NodeAttribution::Configured);
    }
}

#[test]
fn label_values_are_cut_between_characters() {
    let model = "é".repeat(200);
    let text = format!("DCGM_FI_DEV_GPU_TEMP{{UUID=\"{A}\",modelName=\"x{model}\"}} 41\n");
    let decoded = decode_from(&text, &origin());
    let kept = decoded.observations[0]
        .identity
        .model
        .as_deref()
        .expect("a model");
    assert_eq!((kept.len(), kept.chars().count()), (255, 128));
}
