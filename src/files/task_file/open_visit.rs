//! The open visit of a task, `gate`: read strictly, written as it stands.

use serde_json::{Value, json};

use crate::domain::{AgentId, Map, OpenBranch, OpenVisit, RoleId, Visit};
use crate::files::config::decode::{Fields, wrong_kind};
use crate::files::timestamp::{put_time, time};
use crate::files::yaml::{Fault, Kind, Node};

/// Returns the open visit that the node says. Its number is told by the history: where branches of a fork have spoken, it is the
/// history's length before they did.
pub(crate) fn read(
    node: &Node<'_>,
    history: &[Visit],
    faults: &mut Vec<Fault>,
) -> Option<OpenVisit> {
    let ended = history.iter().rposition(|visit| !visit.leaves_open()).map_or(0, |last| last + 1);
    let mut fields = Fields::of(node, "`gate`", faults)?;
    let current = fields.parsed("current", faults);
    let entered = time(&mut fields, "entered", faults);
    let visit: Option<usize> = fields.parsed("visit", faults);
    if let Some(visit) = visit.filter(|visit| *visit != ended) {
        faults.push(
            Fault::new(
                "inconsistent_visit",
                fields.key_span("visit"),
                format!("`visit: {visit}`, and the history has {ended}"),
            )
            .help("the history or the visit was changed by hand; bring back what the engine wrote"),
        );
    }
    Some(OpenVisit {
        current: fields.require("current", current, faults)?,
        entered: fields.require("entered", entered, faults)?,
        visit: ended,
        escalated: fields.parsed("escalated", faults),
        resumed: time(&mut fields, "resumed", faults),
        overdue: time(&mut fields, "overdue", faults),
        held: time(&mut fields, "held", faults),
        branches: fields
            .take("branches")
            .map(|node| read_branches(node, faults))
            .unwrap_or_default(),
    })
}

fn read_branches(node: &Node<'_>, faults: &mut Vec<Fault>) -> Vec<OpenBranch> {
    if !matches!(node.kind, Kind::Sequence(_)) {
        faults.push(wrong_kind(node, "`branches` is the list of the branches of a fork"));
    }
    node.items().iter().filter_map(|item| read_branch(item, faults)).collect()
}

fn read_branch(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<OpenBranch> {
    let mut fields = Fields::of(node, "an open branch", faults)?;
    let (id, role) = (fields.parsed("id", faults), fields.parsed("role", faults));
    let status = fields.parsed("status", faults);
    Some(OpenBranch {
        escalated: fields.parsed("escalated", faults),
        agent: fields.parsed("agent", faults),
        claimed: time(&mut fields, "claimed", faults),
        lost: fields.parsed("lost", faults),
        resumed: time(&mut fields, "resumed", faults),
        overdue: time(&mut fields, "overdue", faults),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        id: fields.require("id", id, faults)?,
        role: fields.require("role", role, faults)?,
        status: fields.require("status", status, faults)?,
    })
}

/// Returns the open visit as files show it.
pub(crate) fn write(gate: &OpenVisit) -> Value {
    let mut map = Map::new();
    map.insert("current".to_owned(), json!(gate.current.as_str()));
    map.insert("entered".to_owned(), json!(gate.entered.to_string()));
    map.insert("visit".to_owned(), json!(gate.visit));
    if let Some(role) = &gate.escalated {
        map.insert("escalated".to_owned(), json!(role.as_str()));
    }
    put_time(&mut map, "resumed", gate.resumed);
    put_time(&mut map, "overdue", gate.overdue);
    put_time(&mut map, "held", gate.held);
    if !gate.branches.is_empty() {
        map.insert("branches".to_owned(), gate.branches.iter().map(branch_value).collect());
    }
    Value::Object(map)
}

/// Returns an open branch as files and JSON show it.
pub(crate) fn branch_value(branch: &OpenBranch) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(branch.id.as_str()));
    map.insert("role".to_owned(), json!(branch.role.as_str()));
    map.insert("status".to_owned(), json!(branch.status.as_str()));
    let words = [
        ("escalated", branch.escalated.as_ref().map(RoleId::as_str)),
        ("agent", branch.agent.as_ref().map(AgentId::as_str)),
        ("lost", branch.lost.as_ref().map(AgentId::as_str)),
    ];
    for (key, word) in words {
        map.extend(word.map(|word| (key.to_owned(), json!(word))));
    }
    put_time(&mut map, "claimed", branch.claimed);
    put_time(&mut map, "resumed", branch.resumed);
    put_time(&mut map, "overdue", branch.overdue);
    if !branch.blockers.is_empty() {
        map.insert("blockers".to_owned(), json!(branch.blockers));
    }
    Value::Object(map)
}
