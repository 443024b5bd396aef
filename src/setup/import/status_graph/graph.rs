//! The graph: which status of which role leads where, and the order in which its gates stand in a list.

use std::collections::HashMap;

use super::{GraphRole, places};
use crate::files::yaml::{Entry, Kind};
use crate::setup::import::record::{Field, Record, Said, join};
use crate::setup::import::report::At;

/// The edges of a workflow.
pub(crate) struct RoleGraph<'r> {
    /// The role that begins.
    pub(crate) entry: usize,
    /// What it is told.
    pub(crate) opening: Option<Said<'r>>,
    /// The edges of each role, by its place in the file.
    pub(crate) edges: Vec<Vec<GraphEdge<'r>>>,
    /// The roles that a task can come to, earlier ones first.
    pub(crate) order: Vec<usize>,
}

/// Where one status of a role leads.
pub(crate) struct GraphEdge<'r> {
    pub(crate) status: String,
    pub(crate) at: At<'r>,
    pub(crate) to: EdgeTarget,
    pub(crate) prompt: Option<Said<'r>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeTarget {
    Role(usize),
    End,
    Suspend,
}

/// The place of each role in the file, by its name there.
type Places<'r> = HashMap<&'r str, usize>;

pub(crate) fn read_graph<'r>(field: &Field<'r>, roles: &[GraphRole<'_>]) -> Option<RoleGraph<'r>> {
    let Kind::Mapping(entries) = &field.node.kind else {
        field.wrong("a mapping of roles and where they lead");
        return None;
    };
    let places = places(roles);
    let mut edges: Vec<Vec<GraphEdge<'r>>> = roles.iter().map(|_| Vec::new()).collect();
    let mut start = None;
    for entry in entries {
        let name = entry.key.text.as_ref();
        let path = join(&field.at.path, name);
        let at = At { path, span: entry.key.span.clone(), report: field.at.report };
        let list = read_edges(entry, &at, &places);
        match (name, places.get(name)) {
            ("$START", _) => start = Some(list),
            (_, Some(place)) => edges[*place] = list,
            ("$END" | "$SUSPEND", _) => {
                at.fault("invalid_value", format!("`{name}` leads nowhere"), "remove it");
            }
            _ => unknown(name, &at, &places),
        }
    }
    let Some(start) = start else {
        let help = "add `$START: {_: {role: NAME, prompt: ...}}`";
        field.at.fault("missing_field", "the graph has no `$START`", help);
        return None;
    };
    let (entry, opening) = entry_of(start, field)?;
    let order = order(entry, &edges);
    for role in order.iter().filter(|place| edges[**place].is_empty()).map(|place| &roles[*place]) {
        let message = format!("the graph does not say where `{}` leads", role.foreign);
        role.at.fault("no_way_on", message, "add its edges to `graph`");
    }
    Some(RoleGraph { entry, opening, edges, order })
}

/// Where a new task begins; where a finished one is reopened is not the workflow's to say here.
fn entry_of<'r>(start: Vec<GraphEdge<'r>>, field: &Field<'r>) -> Option<(usize, Option<Said<'r>>)> {
    let mut chosen: Option<GraphEdge<'_>> = None;
    for edge in start {
        if edge.status == "resume" {
            edge.at
                .dropped("a finished task is taken up again with `aof task reopen ID --to GATE`");
        } else if chosen.is_none() {
            chosen = Some(edge);
        } else {
            edge.at.lost("a second way to begin: a workflow begins at its first gate");
        }
    }
    let Some(chosen) = chosen else {
        field.at.fault("missing_field", "`$START` leads nowhere", "");
        return None;
    };
    let EdgeTarget::Role(entry) = chosen.to else {
        chosen.at.fault("invalid_value", "`$START` leads to no role", "");
        return None;
    };
    chosen.at.converted("the first gate of the list");
    Some((entry, chosen.prompt))
}

fn read_edges<'r>(
    entry: &'r Entry<'static>,
    at: &At<'r>,
    roles: &Places<'_>,
) -> Vec<GraphEdge<'r>> {
    let Kind::Mapping(statuses) = &entry.value.kind else {
        Field { node: &entry.value, at: at.clone() }
            .wrong("a mapping of statuses and where they lead");
        return Vec::new();
    };
    let mut edges = Vec::new();
    for status in statuses {
        let name = status.key.text.clone().into_owned();
        let path = join(&at.path, &name);
        let at = At { path, span: status.key.span.clone(), report: at.report };
        let value_at = At { span: status.value.span.clone(), ..at.clone() };
        // The short form is the role itself.
        let (to, prompt) = if let Some(role) = status.value.as_str() {
            (target(role, &value_at, roles), None)
        } else {
            let Some(mut record) = Record::of(&status.value, &at.path, "an edge", at.report) else {
                continue;
            };
            let role = record.text("role");
            if role.is_none() {
                at.fault("missing_field", format!("`{}` has no `role`", at.path), "");
            }
            let to = role.and_then(|role| target(&role.value, &role.value_at(), roles));
            let prompt = record.text("prompt");
            record.finish(|_| None);
            (to, prompt)
        };
        edges.extend(to.map(|to| GraphEdge { status: name, at, to, prompt }));
    }
    edges
}

fn target(role: &str, at: &At<'_>, roles: &Places<'_>) -> Option<EdgeTarget> {
    match (role, roles.get(role)) {
        ("$END", _) => Some(EdgeTarget::End),
        ("$SUSPEND", _) => Some(EdgeTarget::Suspend),
        (_, Some(place)) => Some(EdgeTarget::Role(*place)),
        _ => {
            unknown(role, at, roles);
            None
        }
    }
}

fn unknown(role: &str, at: &At<'_>, roles: &Places<'_>) {
    let message = format!("there is no role `{role}`");
    at.unknown(role, roles.keys().copied(), message, "define it under `roles`");
}

/// Returns the roles in an order in which edges lead down the list, as far as they are no loops.
fn order(entry: usize, edges: &[Vec<GraphEdge<'_>>]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::new();
    // Depth first, without recursion: a graph of ten thousand roles may be one chain.
    let mut open = vec![(entry, 0)];
    seen[entry] = true;
    while let Some((role, next)) = open.last_mut() {
        let Some(edge) = edges[*role].get(*next) else {
            finished.push(*role);
            open.pop();
            continue;
        };
        *next += 1;
        if let EdgeTarget::Role(to) = edge.to
            && !std::mem::replace(&mut seen[to], true)
        {
            open.push((to, 0));
        }
    }
    finished.reverse();
    finished
}
