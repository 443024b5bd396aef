//! The open visit of a task, `gate`: read strictly, written as it stands.

use serde_json::{Value, json};

use super::applying;
use crate::domain::{OpenBranch, OpenVisit, Visit};
use crate::files::config::decode::{Faults, Fields};
use crate::files::yaml::{Kind, Node};

/// Returns the open visit that the node says. Its number is told by the history: where branches of a fork have spoken, it is the
/// history's length before they did.
pub(crate) fn read(node: &Node<'_>, history: &[Visit], faults: &Faults) -> Option<OpenVisit> {
    let ended = history.iter().rposition(|visit| !visit.leaves_open()).map_or(0, |last| last + 1);
    let fields = Fields::of(node, "`gate`", faults)?;
    let (current, entered) = (fields.parsed("current"), fields.time("entered"));
    if let Some(visit) = fields.parsed("visit").filter(|visit: &usize| *visit != ended) {
        let message = format!("`visit: {visit}`, and the history has {ended}");
        let help = "the history or the visit was changed by hand; bring back what the engine wrote";
        fields.fault("visit", "inconsistent_visit", message, help);
    }
    Some(OpenVisit {
        current: fields.require("current", current)?,
        entered: fields.require("entered", entered)?,
        visit: ended,
        escalated: fields.parsed("escalated"),
        resumed: fields.time("resumed"),
        overdue: fields.time("overdue"),
        held: fields.time("held"),
        branches: fields.with("branches", read_branches).unwrap_or_default(),
    })
}

fn read_branches(node: &Node<'_>, faults: &Faults) -> Vec<OpenBranch> {
    if !matches!(node.kind, Kind::Sequence(_)) {
        faults.wrong_kind(node, "`branches` is the list of the branches of a fork", "");
    }
    node.items().iter().filter_map(|item| read_branch(item, faults)).collect()
}

fn read_branch(node: &Node<'_>, faults: &Faults) -> Option<OpenBranch> {
    let fields = Fields::of(node, "an open branch", faults)?;
    let (id, role, status) =
        (fields.required("id"), fields.required("role"), fields.required("status"));
    Some(OpenBranch {
        escalated: fields.parsed("escalated"),
        agent: fields.parsed("agent"),
        claimed: fields.time("claimed"),
        lost: fields.parsed("lost"),
        resumed: fields.time("resumed"),
        overdue: fields.time("overdue"),
        blockers: fields.list("blockers").unwrap_or_default(),
        id: id?,
        role: role?,
        status: status?,
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
