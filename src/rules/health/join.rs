//! What a node says, and which of its signs belong to one of its boards.

use std::collections::BTreeMap;

use super::assemble::{Place, finding};
use super::fleet::Fleet;
use super::node::{Claim, NodeFound, View, is_complete};
use super::sign::{Found, Kind, Sign};
use super::{board, capacity, condition, count, key};
use crate::finding::{Key, Reason, Severity, Subject, Verdict};
use crate::snapshot::NodeName;

/// Judges a node, and hands the signs that belong to one of its boards to that board. A board is
/// doubted where its node could have had a sign of it that can no longer be seen.
pub(super) fn node_verdict(
    fleet: &Fleet<'_>,
    name: &NodeName,
    founds: &mut [Found],
    doubted: &mut BTreeMap<usize, Reason>,
) -> Verdict {
    let snapshot = fleet.snapshot;
    let boards = fleet
        .boards
        .get(name)
        .map_or(&[] as &[usize], Vec::as_slice);
    if !snapshot.warm {
        return Verdict::Undecided(Reason::WarmUp);
    }
    let known = snapshot.inventory.nodes.get(name);
    let (true, Some(node)) = (is_complete(fleet), known) else {
        // A list that was never had cannot have shown anything.
        if snapshot.nodes.contains_key(name) {
            doubted.extend(boards.iter().map(|at| (*at, Reason::InventoryIncomplete)));
        }
        return Verdict::Undecided(Reason::InventoryIncomplete);
    };
    let view = View {
        node,
        track: snapshot.nodes.get(name).map(|track| &**track),
        boards,
    };
    let mut seen = NodeFound::default();
    capacity::look(fleet, &view, founds, &mut seen);
    count::look(fleet, &view, &mut seen);
    condition::look(fleet, &view, &mut seen);
    doubted.extend(seen.doubted.iter().map(|at| (*at, Reason::Blind)));
    let joined = place_signs(fleet, &view, &mut seen, founds);
    let (holds, undecided) = (seen.found.holds, seen.undecided);
    let place = Place {
        title: format!("node {name}"),
        kubernetes_node: Some(name.as_str()),
        gpu: None,
    };
    if let Some(finding) = finding(&place, seen.found) {
        return Verdict::Fires(Box::new(finding));
    }
    if !joined.is_empty() {
        return Verdict::Merged(joined);
    }
    match undecided {
        _ if holds => Verdict::Holds,
        Some(reason) => Verdict::Undecided(reason),
        None => Verdict::Clear,
    }
}

/// Gives each sign of a node to the board that it is about; the rest stay with the node. Returns
/// the keys of the boards that got one.
fn place_signs(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    seen: &mut NodeFound,
    founds: &mut [Found],
) -> Vec<Key> {
    let mut by_board: BTreeMap<usize, Vec<Sign>> = BTreeMap::new();
    for (sign, claim) in std::mem::take(&mut seen.signs) {
        match owner(fleet, view, founds, &sign, &claim) {
            Some(at) => by_board.entry(at).or_default().push(sign),
            None => seen.found.signs.push(sign),
        }
    }
    let mut joined = Vec::new();
    for (at, signs) in by_board {
        let lost = signs.iter().any(|sign| {
            matches!(sign.kind, Kind::Capacity | Kind::Count) && sign.severity > Severity::Info
        });
        founds[at] = board(fleet, at, lost);
        founds[at].signs.extend(signs);
        founds[at].facts.extend(seen.found.facts.iter().cloned());
        founds[at]
            .missing
            .extend(seen.found.missing.iter().cloned());
        let gpu = &fleet.snapshot.gpus[at];
        joined.push(key(Subject::Gpu {
            node: gpu.identity.node.clone(),
            uuid: gpu.uuid.clone(),
        }));
    }
    for at in view.boards {
        if !founds[*at].signs.is_empty() {
            let against = seen.found.against.iter().cloned();
            founds[*at].against.extend(against);
        }
    }
    joined
}

/// The board that a sign of a node is about, where exactly one can be.
fn owner(
    fleet: &Fleet<'_>,
    view: &View<'_>,
    founds: &[Found],
    sign: &Sign,
    claim: &Claim,
) -> Option<usize> {
    let boards = match claim {
        Claim::Node => return None,
        Claim::Named(at) => return Some(*at),
        Claim::OneInTrouble => view.boards,
        Claim::Boards(boards) if boards.len() == 1 => boards,
        Claim::Boards(_) => return None,
    };
    match *capacity::candidates(fleet, boards, founds, sign.since) {
        [at] => Some(at),
        _ => None,
    }
}
