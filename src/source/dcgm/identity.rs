//! On which node a board sits, and how that is known.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::labels::{Traits, is_exporter_pod};
use crate::snapshot::{BoardIdentity, NodeAttribution, NodeName, PodRef};

/// What is known of a body's origin before it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// URL of the target, without credentials.
    pub target: Arc<str>,
    /// The node it tells about, and how that is known.
    pub node: Option<(NodeName, NodeAttribution)>,
    /// The exporter's own pod; a series that names it names no workload.
    pub exporter_pod: Option<PodRef>,
    /// The cluster's nodes, where the Kubernetes API tells them.
    pub known_nodes: Option<Arc<BTreeSet<NodeName>>>,
}

impl Origin {
    /// The board's identity.
    pub(super) fn identity(&self, traits: &Traits) -> BoardIdentity {
        let (node, node_by) = self.attribute(traits.hostname.as_deref());
        BoardIdentity {
            node,
            node_by,
            index: traits.index,
            pci: traits.pci.clone(),
            model: traits.model.clone(),
            driver: traits.driver.clone(),
            target: Some(Arc::clone(&self.target)),
        }
    }

    /// The node of a board: as known beforehand, else by the exporter's `Hostname` label.
    ///
    /// The label holds the node's name only where the exporter was told it; else it holds its
    /// pod's name, a container id or the host of a remote hostengine. With a list of nodes it
    /// counts if it is one of them. Without one – static targets outside Kubernetes – people still
    /// want to see which host is meant, so it counts unless it is plainly not a host's name.
    fn attribute(&self, hostname: Option<&str>) -> (Option<NodeName>, NodeAttribution) {
        if let Some((node, by)) = &self.node {
            return (Some(node.clone()), *by);
        }
        let named = hostname
            .map(NodeName::from)
            .filter(|name| match &self.known_nodes {
                Some(known) => known.contains(name),
                None => is_host(name.as_str()),
            });
        match named {
            Some(node) => (Some(node), NodeAttribution::HostnameLabel),
            None => (None, NodeAttribution::Unknown),
        }
    }
}

/// Whether a text may be a host's name: not an exporter pod's, not this machine's word for
/// itself, not an address with a port, and not a container id, which changes with each restart.
fn is_host(name: &str) -> bool {
    let itself = name == "localhost" || name.starts_with("localhost.") || name.starts_with("127.");
    let container_id = name.len() == 12 && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    let odd = |c: char| c == ':' || c == '/' || c.is_whitespace() || c == '\u{fffd}';
    !(itself || container_id || is_exporter_pod(name) || name.contains(odd))
}
