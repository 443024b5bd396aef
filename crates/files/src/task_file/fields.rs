//! Converts a task to the fields of its file and back: strict for engine fields, ignoring all others.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{Defaults, Origin, applying, visits};
use crate::config::decode::{Faults, FieldReader, one_or_many, text_of};
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::{Link, Map, ReviewContext, Routing, Status, Task, TaskId, TaskPlan};

/// The key of a task's input in `context`.
pub(crate) const INPUT: &str = "input";

/// Returns the fields of a task without its history: people's fields first, then the engine's.
pub(crate) fn fields(task: &Task) -> Map {
    let heading = json!({"title": task.title, "description": task.description});
    let plan = task.plan.values().map(|(key, value)| (key.to_owned(), value));
    let people = json!({
        "links": task.plan.links.iter().map(link_value).collect::<Vec<_>>(),
        "tags": task.tags,
        "metadata": task.metadata,
        "dependsOn": task.depends_on,
        "parent": task.parent,
    });
    let engine = json!({
        "id": task.id,
        "status": task.status,
        "created": task.created,
        "createdBy": task.created_by,
        "updated": task.updated,
        "routing": applying(json!({
            "workflow": task.routing.workflow,
            "role": task.routing.role,
            "agent": task.routing.agent,
            "claimed": task.routing.claimed,
            "lost": task.routing.lost,
        })),
        "gate": task.gate.as_ref().map(visits::open_visit_value),
        "reviewContext": task.review.as_ref().map(review_value),
        "blockers": task.blockers,
        "context": task.context,
        "workflowHash": task.workflow_hash,
    });
    [heading, Value::Object(plan.collect()), people, engine]
        .into_iter()
        .flat_map(applying)
        .collect()
}

/// Returns the review context as files and JSON show it.
pub fn review_value(review: &ReviewContext) -> Value {
    let mut fields = applying(json!({
        "fromGate": review.from_gate,
        "fromAgent": review.from_agent,
        "fromRole": review.from_role,
        "timestamp": review.timestamp,
    }));
    fields.insert("blockers".to_owned(), json!(review.blockers));
    fields.extend(review.notes.as_ref().map(|notes| ("notes".to_owned(), json!(notes))));
    Value::Object(fields)
}

/// Decodes a task, and whether it is adopted; fails with all faults.
pub(crate) fn decode(
    node: &Node<'_>,
    id: &TaskId,
    defaults: &Defaults,
) -> Result<(Task, Origin), Vec<Fault>> {
    let (mut task, origin) = decode_as_written(node, id, defaults)?;
    if origin == Origin::HandMade {
        clear_engine_fields(&mut task);
    }
    Ok((task, origin))
}

/// Decodes a task as [`decode`] does, but leaves the engine's fields of a hand-made file as written.
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
    let fields = FieldReader::of(node, "a task", faults)?;
    let written: Option<TaskId> = fields.parsed("id");
    if let Some(written) = written.filter(|written| written != id) {
        fields.fault("id", "id_mismatch", format!("this says `{written}`, and the file is named `{id}`"), format!("the file's name counts: if it was renamed, rename it back; if it is a copy, remove it; if not, write `id: {id}`"));
    }
    let history = visits::read_history(fields.take("gateHistory"), faults);
    let gate_node = fields.take("gate");
    let origin =
        if gate_node.is_none() && history.is_empty() { Origin::HandMade } else { Origin::Adopted };
    let gate = gate_node.and_then(|node| visits::read_open_visit(node, &history, faults));
    let routing = routing(fields.take("routing"), defaults, faults)?;
    let created = fields.time("created");
    let title = fields.text("title");
    let title = fields.require("title", title);
    let (status, updated) = match origin {
        // A hand-made file may have another tool's words here; adoption writes ours.
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
        created_by: fields.parsed("createdBy"),
        updated: updated.unwrap_or(created),
        routing,
        gate,
        history,
        review: fields.take("reviewContext").and_then(|node| review(node, faults)),
        blockers: fields.list("blockers").unwrap_or_default(),
        context: fields.object("context").unwrap_or_default(),
        workflow_hash: fields.text("workflowHash"),
        plan: plan(&fields, faults),
        tags: fields.list("tags").unwrap_or_default(),
        metadata: fields.object("metadata").unwrap_or_default(),
        depends_on: fields.list("dependsOn").unwrap_or_default(),
        parent: fields.parsed("parent"),
    };
    check_status(&task, origin, &fields);
    Some((task, origin))
}

fn plan(fields: &FieldReader<'_, '_>, faults: &Faults) -> TaskPlan {
    let links = fields.take("links").map_or(&[][..], one_or_many);
    let assignee = fields.take("assignee").map_or(&[][..], one_or_many);
    TaskPlan {
        priority: fields.text("priority"),
        due: fields.parsed("due"),
        // A text that is no time counts as absent; `misread` reports it.
        not_before: fields.take("notBefore").and_then(text_of).and_then(|text| text.parse().ok()),
        milestone: fields.text("milestone"),
        assignee: assignee.iter().filter_map(|node| text_of(node).map(Cow::into_owned)).collect(),
        links: links.iter().filter_map(|node| link(node, faults)).collect(),
    }
}

/// Reads a link: a text, or a mapping with `url` and perhaps `title`.
fn link(node: &Node<'_>, faults: &Faults) -> Option<Link> {
    match &node.kind {
        NodeKind::String(url) => Some(Link { title: None, url: url.clone().into_owned() }),
        NodeKind::Mapping(_) => {
            let fields = FieldReader::of(node, "a link", faults)?;
            let (title, url) = (fields.text("title"), fields.required("url"));
            fields.refuse_unknown();
            Some(Link { title, url: url? })
        }
        _ => {
            let wanted = "a link is a URL, a path, or a mapping of `title` and `url`";
            faults.wrong_kind(node, wanted, "");
            None
        }
    }
}

/// Returns a link as files and JSON show it.
pub fn link_value(link: &Link) -> Value {
    match &link.title {
        Some(title) => json!({"title": title, "url": link.url}),
        None => json!(link.url),
    }
}

/// Clears the fields that only the engine sets: a task that was never at a gate was not sent back or claimed, and has no outputs.
fn clear_engine_fields(task: &mut Task) {
    // A task without a workflow takes its role from its file.
    task.routing =
        Routing { role: task.routing.role.take(), ..Routing::of(task.routing.workflow.clone()) };
    task.created_by = None;
    task.review = None;
    task.blockers.clear();
    task.context.retain(|name, _| name == INPUT);
    task.workflow_hash = None;
}

/// Reports a finished task with an open visit, and an unfinished one without: one of the two fields was edited by hand.
fn check_status(task: &Task, origin: Origin, fields: &FieldReader<'_, '_>) {
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
    let fields = FieldReader::of(node, "`routing`", faults)?;
    Some(Routing {
        workflow: fields.parsed("workflow").unwrap_or_else(|| defaults.workflow.clone()),
        role: fields.parsed("role"),
        agent: fields.parsed("agent"),
        claimed: fields.time("claimed"),
        lost: fields.parsed("lost"),
    })
}

fn review(node: &Node<'_>, faults: &Faults) -> Option<ReviewContext> {
    let fields = FieldReader::of(node, "`reviewContext`", faults)?;
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
