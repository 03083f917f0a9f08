//! Steps of checklists. Commands only look; what they name came from outside, so it is quoted.

use crate::finding::Step;

/// A step with a command.
pub(super) fn run(text: impl Into<String>, command: String) -> Step {
    Step {
        text: text.into(),
        command: Some(command),
    }
}

/// A step without a command.
pub(super) fn look(text: impl Into<String>) -> Step {
    Step {
        text: text.into(),
        command: None,
    }
}

/// Looks at a node.
pub(super) fn describe_node(node: &str) -> Step {
    run(
        "Look at the node: conditions, taints, capacity and allocatable, recent events.",
        format!("kubectl describe node {}", quoted(node)),
    )
}

/// Looks at the pods of a node.
pub(super) fn pods_of(text: &str, node: &str) -> Step {
    let selector = quoted(&format!("spec.nodeName={node}"));
    run(
        text,
        format!("kubectl get pods --all-namespaces -o wide --field-selector {selector}"),
    )
}

/// A word for the shell, whatever it contains.
pub(super) fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=".contains(c);
    if !text.is_empty() && text.chars().all(plain) && !text.starts_with('-') {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_stay_one_word() {
        for (name, word) in [
            ("gpu-node-01", "gpu-node-01"),
            ("GPU-00000001-1111", "GPU-00000001-1111"),
            ("", "''"),
            ("-v", "'-v'"),
            ("n1; rm -rf /", "'n1; rm -rf /'"),
            ("$(reboot)", "'$(reboot)'"),
            ("it's", r"'it'\''s'"),
        ] {
            assert_eq!(quoted(name), word);
        }
        let step = describe_node("n1`id`");
        assert_eq!(
            step.command.as_deref(),
            Some("kubectl describe node 'n1`id`'")
        );
    }
}
