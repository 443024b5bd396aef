//! The roles and the graph as they are written: the route for each status of each role, and the order of the gates.

use std::collections::HashMap;

use super::conditions::EdgeConditions;
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::files::yaml::{Node, NodeKind};
use crate::setup::import::names::Names;
use crate::setup::import::record::{FieldPlace, FieldTable, Record};

/// A role of the file.
pub(crate) struct GraphRole<'n> {
    /// The name of the role in the file.
    pub(crate) foreign: String,
    /// The name of the role here, as a gate and as a role.
    pub(crate) gate: String,
    pub(crate) place: FieldPlace<'n>,
    pub(crate) record: Record<'n>,
}

/// The route for one status of a role.
#[derive(Clone)]
pub(crate) struct GraphEdge<'n> {
    pub(crate) status: String,
    /// The condition of an edge in a list, as an expression of ours.
    pub(crate) when: Option<String>,
    pub(crate) place: FieldPlace<'n>,
    pub(crate) to: EdgeTarget,
    pub(crate) prompt: Option<(String, FieldPlace<'n>)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EdgeTarget {
    /// The place of a role in the file.
    Role(usize),
    End,
    Suspend,
}

pub(crate) fn read_roles<'n>(top: &Record<'n>) -> Vec<GraphRole<'n>> {
    if !top.has("roles") {
        top.missing("a status-graph workflow needs `roles`");
    }
    let mut names = Names::default();
    let mut roles = Vec::new();
    for (name, place, node) in top.entries("roles", "a mapping of names and roles") {
        if name.starts_with('$') {
            let message =
                format!("`{name}` is no name for a role: what begins with `$` is reserved there");
            place.fault("invalid_value", message, "");
            continue;
        }
        let gate = names.take_gate(&place, name, "role", "as a gate, and as a role in org.yaml");
        if let Some(record) = Record::of(node, &place.path, "a role", top.report) {
            roles.push(GraphRole { foreign: name.to_owned(), gate, place, record });
        }
    }
    roles
}

/// The edges of a workflow.
pub(crate) struct RoleGraph<'n> {
    /// The role that begins.
    pub(crate) entry: usize,
    /// The prompt of that role.
    pub(crate) opening: Option<(String, FieldPlace<'n>)>,
    /// The edges of each role, by its place in the file.
    pub(crate) edges: Vec<Vec<GraphEdge<'n>>>,
    /// The roles that a task can reach, earlier ones first.
    pub(crate) order: Vec<usize>,
}

impl<'n> RoleGraph<'n> {
    pub(crate) fn read(top: &Record<'n>, roles: &[GraphRole<'n>]) -> Option<Self> {
        if !top.has("graph") {
            top.missing("a status-graph workflow needs `graph`");
            return None;
        }
        let places: HashMap<&str, usize> =
            roles.iter().enumerate().map(|(index, role)| (role.foreign.as_str(), index)).collect();
        let mut edges: Vec<Vec<GraphEdge<'n>>> = roles.iter().map(|_| Vec::new()).collect();
        let mut start = None;
        let gates = roles.iter().map(|role| (role.foreign.as_str(), role.gate.as_str())).collect();
        let conditions = EdgeConditions::read(top, gates);
        if let Some(graph) = top.record("graph") {
            for (name, place, _) in top.entries("graph", "a mapping of roles and where they lead") {
                let list = read_edges(&graph, name, &places, &conditions);
                match (name, places.get(name)) {
                    ("$START", _) => start = Some(list),
                    (_, Some(role)) => edges[*role] = list,
                    ("$END" | "$SUSPEND", _) => {
                        place.fault(
                            "invalid_value",
                            format!("`{name}` leads nowhere"),
                            "remove it",
                        );
                    }
                    _ => unknown(name, &place, &places),
                }
            }
        }
        let Some(start) = start else {
            let help = "add `$START: {_: {role: NAME, prompt: ...}}`";
            top.at("graph").fault("missing_field", "the graph has no `$START`", help);
            return None;
        };
        let (entry, opening) = entry_of(start, &top.at("graph"))?;
        let order = order(entry, &edges);
        for role in order.iter().filter(|role| edges[**role].is_empty()).map(|role| &roles[*role]) {
            let message = format!("the graph does not say where `{}` leads", role.foreign);
            role.place.fault("no_way_on", message, "add its edges to `graph`");
        }
        Some(Self { entry, opening, edges, order })
    }
}

/// Returns the entry of a new task. The workflow here cannot say where a finished task is reopened.
fn entry_of<'n>(
    start: Vec<GraphEdge<'n>>,
    graph: &FieldPlace<'n>,
) -> Option<(usize, Option<(String, FieldPlace<'n>)>)> {
    let mut chosen: Option<GraphEdge<'_>> = None;
    for edge in start {
        if edge.status == "resume" {
            let note = "a finished task is taken up again with `aof reopen ID --to GATE`";
            edge.place.note(Dropped, note);
        } else if chosen.is_none() {
            chosen = Some(edge);
        } else {
            let note = "a second way to begin: a workflow begins at its first gate";
            edge.place.note(Lost, note);
        }
    }
    let Some(chosen) = chosen else {
        graph.fault("missing_field", "`$START` leads nowhere", "");
        return None;
    };
    let EdgeTarget::Role(entry) = chosen.to else {
        chosen.place.fault("invalid_value", "`$START` leads to no role", "");
        return None;
    };
    chosen.place.note(Converted, "the first gate of the list");
    Some((entry, chosen.prompt))
}

fn read_edges<'n>(
    graph: &Record<'n>,
    from: &str,
    roles: &HashMap<&str, usize>,
    conditions: &EdgeConditions<'_>,
) -> Vec<GraphEdge<'n>> {
    if graph.get(from).is_some_and(|node| matches!(node.kind, NodeKind::Sequence(_))) {
        // Older files: the first edge of the list whose condition holds.
        let records = graph.records(from, "a list of edges", "an edge").into_iter();
        let edge = |record: Record<'n>| {
            let (place, status) = (record.at("role"), record.text("status"));
            let when = match record.text("condition") {
                Some(name) => Some(conditions.expression(&name, from, &record.at("condition"))?),
                None => None,
            };
            record.at("condition").mark_reported();
            record.at("status").mark_reported();
            let (to, prompt) = edge_target(&record, &place, roles)?;
            let status = status.unwrap_or_else(|| "_".to_owned());
            Some(GraphEdge { status, when, place, to, prompt })
        };
        return records.filter_map(edge).collect();
    }
    let entries = graph.entries(from, "a mapping of statuses and where they lead").into_iter();
    let edge = |(name, place, node): (&str, FieldPlace<'n>, &'n Node<'static>)| {
        // The short form is the name of the role.
        let (to, prompt) = if let Some(role) = node.as_str() {
            let span = node.span.clone();
            (target(role, &FieldPlace { span, ..place.clone() }, roles)?, None)
        } else {
            edge_target(&Record::of(node, &place.path, "an edge", graph.report)?, &place, roles)?
        };
        Some(GraphEdge { status: name.to_owned(), when: None, place, to, prompt })
    };
    entries.filter_map(edge).collect()
}

/// Returns the target of an edge, and its prompt.
fn edge_target<'n>(
    record: &Record<'n>,
    place: &FieldPlace<'n>,
    roles: &HashMap<&str, usize>,
) -> Option<(EdgeTarget, Option<(String, FieldPlace<'n>)>)> {
    let prompt = record.text("prompt").map(|text| (text, record.at("prompt")));
    record.at("role").mark_reported();
    record.at("prompt").mark_reported();
    let role = record.text("role");
    if role.is_none() {
        place.fault("missing_field", format!("`{}` has no `role`", place.path), "");
    }
    record.finish(&[OF_EDGE]);
    Some((target(&role?, &record.value_at("role"), roles)?, prompt))
}

const OF_EDGE: FieldTable = &[("location", Dropped, "where an agent works is the runner's matter")];

fn target(role: &str, place: &FieldPlace<'_>, roles: &HashMap<&str, usize>) -> Option<EdgeTarget> {
    match (role, roles.get(role)) {
        ("$END", _) => Some(EdgeTarget::End),
        ("$SUSPEND", _) => Some(EdgeTarget::Suspend),
        (_, Some(index)) => Some(EdgeTarget::Role(*index)),
        _ => {
            unknown(role, place, roles);
            None
        }
    }
}

fn unknown(role: &str, place: &FieldPlace<'_>, roles: &HashMap<&str, usize>) {
    place.unknown(("role", role), roles.keys().copied(), "define it under `roles`");
}

/// Returns the roles in an order in which edges lead down the list, except for loops.
fn order(entry: usize, edges: &[Vec<GraphEdge<'_>>]) -> Vec<usize> {
    let mut seen = vec![false; edges.len()];
    let mut finished = Vec::new();
    // The search is depth-first without recursion, because a graph of ten thousand roles may be one chain.
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
