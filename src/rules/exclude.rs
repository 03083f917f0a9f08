//! What the configuration takes out of a rule's sight.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::finding::Subject;
use crate::snapshot::ClusterSnapshot;

/// Subjects that a rule leaves alone. Excluded ones are counted, not forgotten.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Exclude {
    /// Namespaces of workloads.
    pub namespaces: Vec<String>,
    /// Names of nodes.
    pub nodes: Vec<String>,
    /// Labels of nodes: any one that matches excludes.
    pub node_labels: BTreeMap<String, String>,
}

impl Exclude {
    /// Whether a subject is excluded.
    #[must_use]
    pub fn covers(&self, subject: &Subject, snapshot: &ClusterSnapshot) -> bool {
        let place = subject.place();
        if !place.namespace.is_empty() && self.namespaces.iter().any(|name| name == place.namespace)
        {
            return true;
        }
        if place.node.is_empty() {
            return false;
        }
        if self.nodes.iter().any(|name| name == place.node) {
            return true;
        }
        let node = snapshot.inventory.nodes.get(&place.node.into());
        node.is_some_and(|node| {
            self.node_labels.iter().any(|(key, value)| {
                node.labels
                    .get(key.as_str())
                    .is_some_and(|have| **have == **value)
            })
        })
    }
}
