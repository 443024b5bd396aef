//! What the frontmatter of a task file says, as a task. Strict with what is the engine's, blind to all else.

use super::edits::INPUT;
use super::{Defaults, Origin};
use super::{open_visit, visit_entry};
use crate::domain::{ReviewContext, Routing, Status, Task, TaskId};
use crate::files::config::decode::{Faults, Fields};
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
    let faults = Faults::default();
    let read = decoded(node, id, defaults, &faults);
    faults.or_value(read)
}

fn decoded(
    node: &Node<'_>,
    id: &TaskId,
    defaults: &Defaults,
    faults: &Faults,
) -> Option<(Task, Origin)> {
    let fields = Fields::of(node, "a task", faults)?;
    let written: Option<TaskId> = fields.parsed("id");
    if let Some(written) = written.filter(|written| written != id) {
        fields.fault("id", "id_mismatch", format!("this says `{written}`, and the file is named `{id}`"), format!("the file's name counts: if it was renamed, rename it back; if it is a copy, remove it; if not, write `id: {id}`"));
    }
    let history = visit_entry::read_all(fields.take("gateHistory"), faults);
    let gate_node = fields.take("gate");
    let origin =
        if gate_node.is_none() && history.is_empty() { Origin::HandMade } else { Origin::Adopted };
    let gate = gate_node.and_then(|node| open_visit::read(node, &history, faults));
    let routing = routing(fields.take("routing"), defaults, faults)?;
    let created = fields.time("created");
    let title = fields.text("title");
    let title = fields.require("title", title);
    let (status, updated) = match origin {
        // A hand-made file may carry another tool's words here; taking it up writes ours.
        Origin::HandMade => (Some(Status::Ready), None),
        Origin::Adopted => {
            let status = fields.parsed("status");
            (fields.require("status", status), fields.time("updated"))
        }
    };
    let created = created.unwrap_or(defaults.created);
    let task = Task {
        id: id.clone(),
        title: title?,
        description: fields.text("description"),
        status: status?,
        created,
        updated: updated.unwrap_or(created),
        routing,
        gate,
        history,
        review: fields.take("reviewContext").and_then(|node| review(node, faults)),
        blockers: fields.list("blockers").unwrap_or_default(),
        context: fields.object("context").unwrap_or_default(),
        workflow_hash: fields.text("workflowHash"),
        tags: fields.list("tags").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        depends_on: fields.list("dependsOn").unwrap_or_default(),
    };
    consistent(&task, origin, &fields);
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
fn consistent(task: &Task, origin: Origin, fields: &Fields<'_, '_>) {
    if origin == Origin::Adopted && task.status.is_finished() == task.gate.is_some() {
        let says = if task.gate.is_some() { "it stands at a gate" } else { "it stands at no gate" };
        fields.fault(
            "status",
            "inconsistent_state",
            format!("`status: {}`, and {says}", task.status),
            "one of them was changed by hand; bring back what the engine wrote",
        );
    }
}

fn routing(node: Option<&Node<'_>>, defaults: &Defaults, faults: &Faults) -> Option<Routing> {
    let Some(node) = node else {
        return Some(Routing::of(defaults.workflow.clone()));
    };
    let fields = Fields::of(node, "`routing`", faults)?;
    Some(Routing {
        workflow: fields.parsed("workflow").unwrap_or_else(|| defaults.workflow.clone()),
        role: fields.parsed("role"),
        agent: fields.parsed("agent"),
        claimed: fields.time("claimed"),
        lost: fields.parsed("lost"),
    })
}

fn review(node: &Node<'_>, faults: &Faults) -> Option<ReviewContext> {
    let fields = Fields::of(node, "`reviewContext`", faults)?;
    let from_gate = fields.parsed("fromGate");
    let from_role = fields.parsed("fromRole");
    let timestamp = fields.time("timestamp");
    Some(ReviewContext {
        from_agent: fields.parsed("fromAgent"),
        blockers: fields.list("blockers").unwrap_or_default(),
        notes: fields.text("notes"),
        from_gate: fields.require("fromGate", from_gate)?,
        from_role,
        timestamp: fields.require("timestamp", timestamp)?,
    })
}
