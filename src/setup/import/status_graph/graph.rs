//! The graph: which status of which role leads where, and the order in which its gates stand in a list.

use std::collections::HashMap;
use std::ops::Range;

use super::{Role, places};
use crate::domain::nearest;
use crate::files::yaml::{Entry, Fault, Kind};
use crate::setup::import::record::{Field, Record, join};
use crate::setup::import::report::{At, Ledger};

/// The edges of a workflow.
pub(crate) struct Graph {
    /// The role that begins.
    pub(crate) entry: usize,
    /// What it is told.
    pub(crate) opening: Option<(String, At)>,
    /// The edges of each role, by its place in the file.
    pub(crate) edges: Vec<Vec<Edge>>,
    /// The roles that a task can come to, earlier ones first.
    pub(crate) order: Vec<usize>,
}

/// Where one status of a role leads.
pub(crate) struct Edge {
    pub(crate) status: String,
    pub(crate) at: At,
    pub(crate) to: Target,
    pub(crate) prompt: Option<(String, At)>,
}

/// Where an edge leads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Role(usize),
    End,
    Suspend,
}

const START: &str = "$START";

/// The place of each role in the file, by its name there.
type Places<'r> = HashMap<&'r str, usize>;

pub(crate) fn read_graph(
    field: &Field<'_>,
    roles: &[Role],
    ledger: &mut Ledger<'_>,
) -> Option<Graph> {
    let Kind::Mapping(entries) = &field.node.kind else {
        ledger.fault(field.wrong("a mapping of roles and where they lead"));
        return None;
    };
    let places = places(roles);
    let mut edges: Vec<Vec<Edge>> = roles.iter().map(|_| Vec::new()).collect();
    let mut start = None;
    for entry in entries {
        let name = entry.key.text.as_ref();
        let path = join(&field.at.path, name);
        let list = read_edges(entry, &path, &places, ledger);
        if name == START {
            start = Some(list);
        } else if let Some(place) = places.get(name) {
            edges[*place] = list;
        } else if name == "$END" || name == "$SUSPEND" {
            let message = format!("`{name}` leads nowhere");
            ledger.fault(
                Fault::new("invalid_value", entry.key.span.clone(), message).help("remove it"),
            );
        } else {
            ledger.fault(unknown(name, entry.key.span.clone(), &places));
        }
    }
    let Some(start) = start else {
        let fault = Fault::new("missing_field", field.at.span.clone(), "the graph has no `$START`");
        ledger.fault(fault.help("add `$START: {_: {role: NAME, prompt: ...}}`"));
        return None;
    };
    let (entry, opening) = entry_of(start, field, ledger)?;
    let order = order(entry, &edges);
    for place in &order {
        if edges[*place].is_empty() {
            let role = &roles[*place];
            let message = format!("the graph does not say where `{}` leads", role.foreign);
            ledger.fault(
                Fault::new("no_way_on", role.at.span.clone(), message)
                    .help("add its edges to `graph`"),
            );
        }
    }
    Some(Graph { entry, opening, edges, order })
}

/// Where a new task begins; where a finished one is taken up again is not the workflow's to say here.
fn entry_of(
    start: Vec<Edge>,
    field: &Field<'_>,
    ledger: &mut Ledger<'_>,
) -> Option<(usize, Option<(String, At)>)> {
    let mut chosen: Option<Edge> = None;
    for edge in start {
        let first = matches!(edge.status.as_str(), "_" | "new")
            || (chosen.is_none() && edge.status != "resume");
        if first && chosen.is_none() {
            chosen = Some(edge);
        } else if edge.status == "resume" {
            ledger.dropped(
                &edge.at,
                "a finished task is taken up again with `aof task reopen ID --to GATE`",
            );
        } else {
            ledger.lost(&edge.at, "a second way to begin: a workflow begins at its first gate");
        }
    }
    let Some(chosen) = chosen else {
        ledger.fault(Fault::new("missing_field", field.at.span.clone(), "`$START` leads nowhere"));
        return None;
    };
    if let Target::Role(entry) = chosen.to {
        ledger.converted(&chosen.at, "the first gate of the list");
        Some((entry, chosen.prompt))
    } else {
        ledger.fault(Fault::new(
            "invalid_value",
            chosen.at.span.clone(),
            "`$START` leads to no role",
        ));
        None
    }
}

fn read_edges(
    entry: &Entry<'static>,
    path: &str,
    roles: &Places<'_>,
    ledger: &mut Ledger<'_>,
) -> Vec<Edge> {
    let Kind::Mapping(statuses) = &entry.value.kind else {
        let message = format!(
            "`{path}` is a mapping of statuses and where they lead, and this is {}",
            entry.value.noun()
        );
        ledger.fault(Fault::new("wrong_kind", entry.value.span.clone(), message));
        return Vec::new();
    };
    let mut edges = Vec::new();
    for status in statuses {
        let name = status.key.text.clone().into_owned();
        let at = At { path: join(path, &name), span: status.key.span.clone() };
        // The short form is the role itself.
        if let Some(role) = status.value.as_str() {
            if let Some(to) = target(role, status.value.span.clone(), roles, ledger) {
                edges.push(Edge { status: name, at, to, prompt: None });
            }
            continue;
        }
        let Some(mut record) = Record::of(&status.value, &at.path, "an edge", ledger) else {
            continue;
        };
        let to = if let Some((role, field)) = record.text("role", ledger) {
            target(&role, field.node.span.clone(), roles, ledger)
        } else {
            ledger.fault(Fault::new(
                "missing_field",
                at.span.clone(),
                format!("`{}` has no `role`", at.path),
            ));
            None
        };
        let prompt = record.text("prompt", ledger).map(|(text, field)| (text, field.at));
        record.finish(ledger, |_| None);
        if let Some(to) = to {
            edges.push(Edge { status: name, at, to, prompt });
        }
    }
    edges
}

fn target(
    role: &str,
    span: Range<usize>,
    roles: &Places<'_>,
    ledger: &mut Ledger<'_>,
) -> Option<Target> {
    match role {
        "$END" => Some(Target::End),
        "$SUSPEND" => Some(Target::Suspend),
        _ => {
            let place = roles.get(role).copied();
            if place.is_none() {
                ledger.fault(unknown(role, span, roles));
            }
            place.map(Target::Role)
        }
    }
}

fn unknown(role: &str, span: Range<usize>, roles: &Places<'_>) -> Fault {
    let fault = Fault::new("unknown_gate", span, format!("there is no role `{role}`"));
    match nearest(role, roles.keys().copied()) {
        Some(near) => fault.help(format!("did you mean `{near}`?")),
        None => fault.help("define it under `roles`"),
    }
}

/// Returns the roles in an order in which edges lead down the list, as far as they are no loops.
fn order(entry: usize, edges: &[Vec<Edge>]) -> Vec<usize> {
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
        if let Target::Role(to) = edge.to
            && !std::mem::replace(&mut seen[to], true)
        {
            open.push((to, 0));
        }
    }
    finished.reverse();
    finished
}
