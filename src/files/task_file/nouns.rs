//! What the frontmatter of a task file says, as a task. Strict with what is the engine's, blind to all else.

use super::edits::INPUT;
use super::{Defaults, Origin};
use super::{open_visit, visit_entry};
use crate::domain::{ReviewContext, Routing, Status, Task, TaskId};
use crate::files::config::decode::Fields;
use crate::files::timestamp::time;
use crate::files::yaml::{Fault, Node};

/// Returns the task, and whether the engine has taken it up; or everything that is wrong with it.
pub(crate) fn decode(
    node: &Node<'_>,
    id: &TaskId,
    defaults: &Defaults,
) -> Result<(Task, Origin), Vec<Fault>> {
    let (mut task, origin) = decode_as_written(node, id, defaults)?;
    if origin == Origin::HandMade {
        begin_plainly(&mut task);
    }
    Ok((task, origin))
}

/// Returns the same with what a hand-made file says of what is the engine's.
pub(crate) fn decode_as_written(
    node: &Node<'_>,
    id: &TaskId,
    defaults: &Defaults,
) -> Result<(Task, Origin), Vec<Fault>> {
    let mut faults = Vec::new();
    match decoded(node, id, defaults, &mut faults) {
        Some(read) if faults.is_empty() => Ok(read),
        _ => Err(faults),
    }
}

fn decoded(
    node: &Node<'_>,
    id: &TaskId,
    defaults: &Defaults,
    faults: &mut Vec<Fault>,
) -> Option<(Task, Origin)> {
    let mut fields = Fields::of(node, "a task", faults)?;
    let written: Option<TaskId> = fields.parsed("id", faults);
    if let Some(written) = written.filter(|written| written != id) {
        faults.push(
            Fault::new(
                "id_mismatch",
                fields.key_span("id"),
                format!("this says `{written}`, and the file is named `{id}`"),
            )
            .help(format!("the file's name counts: if it was renamed, rename it back; if it is a copy, remove it; if not, write `id: {id}`")),
        );
    }
    let history = visit_entry::read_all(fields.take("gateHistory"), faults);
    let gate_node = fields.take("gate");
    let origin =
        if gate_node.is_none() && history.is_empty() { Origin::HandMade } else { Origin::Adopted };
    let gate = gate_node.and_then(|node| open_visit::read(node, &history, faults));
    let routing = routing(fields.take("routing"), defaults, faults)?;
    let created = time(&mut fields, "created", faults);
    let title = fields.text("title", faults);
    let title = fields.require("title", title, faults);
    let (status, updated) = match origin {
        // A hand-made file may carry another tool's words here; taking it up writes ours.
        Origin::HandMade => (Some(Status::Ready), None),
        Origin::Adopted => {
            let status = fields.parsed("status", faults);
            (fields.require("status", status, faults), time(&mut fields, "updated", faults))
        }
    };
    let created = created.unwrap_or(defaults.created);
    let task = Task {
        id: id.clone(),
        title: title?,
        description: fields.text("description", faults),
        status: status?,
        created,
        updated: updated.unwrap_or(created),
        routing,
        gate,
        history,
        review: fields.take("reviewContext").and_then(|node| review(node, faults)),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        context: fields.object("context", faults).unwrap_or_default(),
        workflow_hash: fields.text("workflowHash", faults),
        tags: fields.list("tags", faults).unwrap_or_default(),
        metadata: fields.object("metadata", faults).unwrap_or_default(),
        depends_on: fields.list("dependsOn", faults).unwrap_or_default(),
    };
    consistent(&task, origin, &fields, faults);
    Some((task, origin))
}

/// A task that stands at no gate yet has from the engine what the engine says, whatever its file says: nobody has sent it back, claimed
/// it or handed anything on.
fn begin_plainly(task: &mut Task) {
    // Where there is no workflow, whose it is stands in its file.
    task.routing =
        Routing { role: task.routing.role.take(), ..Routing::of(task.routing.workflow.clone()) };
    task.review = None;
    task.blockers.clear();
    task.context.retain(|name, _| name == INPUT);
    task.workflow_hash = None;
}

/// A finished task has no open visit, and an unfinished one has: anything else was done by hand.
fn consistent(task: &Task, origin: Origin, fields: &Fields<'_, '_>, faults: &mut Vec<Fault>) {
    if origin == Origin::Adopted && task.status.is_finished() == task.gate.is_some() {
        let says = if task.gate.is_some() { "it stands at a gate" } else { "it stands at no gate" };
        faults.push(
            Fault::new(
                "inconsistent_state",
                fields.key_span("status"),
                format!("`status: {}`, and {says}", task.status),
            )
            .help("one of them was changed by hand; bring back what the engine wrote"),
        );
    }
}

fn routing(
    node: Option<&Node<'_>>,
    defaults: &Defaults,
    faults: &mut Vec<Fault>,
) -> Option<Routing> {
    let Some(node) = node else {
        return Some(Routing::of(defaults.workflow.clone()));
    };
    let mut fields = Fields::of(node, "`routing`", faults)?;
    Some(Routing {
        workflow: fields.parsed("workflow", faults).unwrap_or_else(|| defaults.workflow.clone()),
        role: fields.parsed("role", faults),
        agent: fields.parsed("agent", faults),
        claimed: time(&mut fields, "claimed", faults),
        lost: fields.parsed("lost", faults),
    })
}

fn review(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<ReviewContext> {
    let mut fields = Fields::of(node, "`reviewContext`", faults)?;
    let from_gate = fields.parsed("fromGate", faults);
    let from_role = fields.parsed("fromRole", faults);
    let timestamp = time(&mut fields, "timestamp", faults);
    Some(ReviewContext {
        from_agent: fields.parsed("fromAgent", faults),
        blockers: fields.list("blockers", faults).unwrap_or_default(),
        notes: fields.text("notes", faults),
        from_gate: fields.require("fromGate", from_gate, faults)?,
        from_role,
        timestamp: fields.require("timestamp", timestamp, faults)?,
    })
}
