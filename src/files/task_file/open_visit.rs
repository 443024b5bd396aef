//! The open visit of a task, `gate`: read strictly, written as it stands.

use serde_json::{Value, json};

use super::applying;
use crate::domain::{OpenBranch, OpenVisit, Visit};
use crate::files::config::decode::{Fields, wrong_kind};
use crate::files::timestamp::time;
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
    Value::Object(applying(json!({
        "current": gate.current,
        "entered": gate.entered,
        "visit": gate.visit,
        "escalated": gate.escalated,
        "resumed": gate.resumed,
        "overdue": gate.overdue,
        "held": gate.held,
        "branches": gate.branches.iter().map(branch_value).collect::<Vec<_>>(),
    })))
}

/// Returns an open branch as files and JSON show it.
pub(crate) fn branch_value(branch: &OpenBranch) -> Value {
    Value::Object(applying(json!({
        "id": branch.id,
        "role": branch.role,
        "status": branch.status,
        "escalated": branch.escalated,
        "agent": branch.agent,
        "lost": branch.lost,
        "claimed": branch.claimed,
        "resumed": branch.resumed,
        "overdue": branch.overdue,
        "blockers": branch.blockers,
    })))
}
