//! From roles and a graph to a workflow: which role a task comes to, and in which order the gates stand in a list.
//!
//! How it counts: not at all. A gate with routes of its own may be sent back to 3 times here, unless `maxRetries` says more.

use std::collections::{BTreeSet, HashMap};

use serde_json::Value;

use super::gates::{GateBuilder, slots_of_ours};
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::files::yaml::Node;
use crate::setup::import::names::Names;
use crate::setup::import::record::{FieldPlace, FieldTable, ImportReport, Record};
use crate::setup::import::workflow_draft::{GateDraft, ReadWorkflow, WorkflowDraft, tidy};

const OF_ROLE: FieldTable = &[
    ("description", Converted, "`description`, and the role's in org.yaml"),
    ("goal", Converted, "`brief.role`"),
    ("procedure", Converted, "`brief.instructions`"),
    ("output", Converted, "`brief.expectations`"),
    ("capabilities", Converted, "`metadata.capabilities`"),
    (
        "model",
        Dropped,
        "which model an agent is, is the agent's matter: see org.yaml and the runner",
    ),
    (
        "agent",
        Dropped,
        "which model an agent is, is the agent's matter: see org.yaml and the runner",
    ),
];
const OF_FILE: FieldTable =
    &[("x-*", Dropped, "what others of the file refer to; it stands where they do")];

/// A role of the file.
pub(crate) struct GraphRole<'n> {
    /// Its name there.
    pub(crate) foreign: String,
    /// Its name here, as a gate and as a role.
    pub(crate) gate: String,
    pub(crate) place: FieldPlace<'n>,
    pub(crate) record: Record<'n>,
}

/// Where one status of a role leads.
pub(crate) struct GraphEdge<'n> {
    pub(crate) status: String,
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

/// Returns the workflow of the file.
pub(crate) fn read<'r>(
    root: &'r Node<'static>,
    stem: &str,
    report: &'r ImportReport<'r>,
) -> Vec<ReadWorkflow> {
    let Some(top) = Record::of(root, "", "a workflow", report) else { return Vec::new() };
    let mut draft = WorkflowDraft::begin(&top, "name", (None, stem), &mut Names::default());
    let roles = read_roles(&top);
    let graph = RoleGraph::read(&top, &roles);
    top.finish(&[OF_FILE]);
    if let Some(graph) = graph.filter(|_| !report.has_faults()) {
        graph.build(&mut draft, &roles, report);
    }
    vec![draft.finish()]
}

fn read_roles<'n>(top: &Record<'n>) -> Vec<GraphRole<'n>> {
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
struct RoleGraph<'n> {
    /// The role that begins.
    entry: usize,
    /// What it is told.
    opening: Option<(String, FieldPlace<'n>)>,
    /// The edges of each role, by its place in the file.
    edges: Vec<Vec<GraphEdge<'n>>>,
    /// The roles that a task can come to, earlier ones first.
    order: Vec<usize>,
}

impl<'n> RoleGraph<'n> {
    fn read(top: &Record<'n>, roles: &[GraphRole<'n>]) -> Option<Self> {
        if !top.has("graph") {
            top.missing("a status-graph workflow needs `graph`");
            return None;
        }
        let places: HashMap<&str, usize> =
            roles.iter().enumerate().map(|(index, role)| (role.foreign.as_str(), index)).collect();
        let mut edges: Vec<Vec<GraphEdge<'n>>> = roles.iter().map(|_| Vec::new()).collect();
        let mut start = None;
        if let Some(graph) = top.record("graph") {
            for (name, place, _) in top.entries("graph", "a mapping of roles and where they lead") {
                let list = read_edges(&graph, name, &places);
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

    fn build(self, draft: &mut WorkflowDraft, roles: &[GraphRole<'n>], report: &ImportReport<'_>) {
        let mut missing = BTreeSet::new();
        for index in &self.order {
            let role = &roles[*index];
            let mut gate =
                GateBuilder { roles, role, missing: &mut missing }.gate(&self.edges[*index]);
            if let Some((text, place)) = self.opening.as_ref().filter(|_| *index == self.entry) {
                place.note(Converted, "`brief.instructions` of the first gate");
                open(&mut gate, &slots_of_ours(text, place, |_| false, &mut missing));
            }
            role.record.finish(&[OF_ROLE]);
            let description = gate.description.as_deref().map(str::trim);
            draft.roles.add(&gate.role, description, false);
            draft.gates.push(gate);
        }
        for (index, role) in roles.iter().enumerate() {
            if !self.order.contains(&index) {
                let note = "no edge leads to this role, so it never runs there either";
                role.place.note(Dropped, note);
                role.record.finish(&[&[("*", Dropped, "no edge leads to this role")]]);
                for edge in &self.edges[index] {
                    edge.place.note(Dropped, format!("nothing leads to `{}`", role.foreign));
                }
            }
        }
        for key in missing {
            let note = "no role hands it on: it comes with the task (`--context`)";
            report.added(format!("context.input.{key}"), note);
            draft.context.input.insert(key, Value::Null);
        }
        draft.leave_out_what_the_order_says();
        draft.protect_the_rest();
        if has_loops(draft) {
            report.added("maxRetries", "loops have no limit there; here a gate sends back 3 times unless `maxRetries` says more");
        }
    }
}

/// The entry prompt comes before the procedure, and only the first time.
fn open(gate: &mut GateDraft, opening: &str) {
    let procedure = gate.brief.instructions.take();
    gate.brief.instructions = Some(match &procedure {
        Some(procedure) => tidy(&format!("{}\n\n{procedure}", opening.trim_end())),
        None => opening.to_owned(),
    });
    gate.brief.reentry = procedure.map(|text| serde_json::json!({"instructions": text}));
}

fn has_loops(draft: &WorkflowDraft) -> bool {
    let mut seen = BTreeSet::new();
    draft.gates.iter().any(|gate| {
        seen.insert(gate.id.as_str());
        gate.targets().any(|target| seen.contains(target))
    })
}

/// Where a new task begins; where a finished one is reopened is not the workflow's to say here.
fn entry_of<'n>(
    start: Vec<GraphEdge<'n>>,
    graph: &FieldPlace<'n>,
) -> Option<(usize, Option<(String, FieldPlace<'n>)>)> {
    let mut chosen: Option<GraphEdge<'_>> = None;
    for edge in start {
        if edge.status == "resume" {
            let note = "a finished task is taken up again with `aof task reopen ID --to GATE`";
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
    role: &str,
    roles: &HashMap<&str, usize>,
) -> Vec<GraphEdge<'n>> {
    let mut edges = Vec::new();
    for (name, place, node) in graph.entries(role, "a mapping of statuses and where they lead") {
        // The short form is the role itself.
        let (role, prompt) = if let Some(role) = node.as_str() {
            let span = node.span.clone();
            (Some((role.to_owned(), FieldPlace { span, ..place.clone() })), None)
        } else {
            let Some(record) = Record::of(node, &place.path, "an edge", graph.report) else {
                continue;
            };
            let role = record.text("role").map(|role| (role, record.value_at("role")));
            let prompt = record.text("prompt").map(|text| (text, record.at("prompt")));
            record.at("role").mark_told();
            record.at("prompt").mark_told();
            if role.is_none() {
                place.fault("missing_field", format!("`{}` has no `role`", place.path), "");
            }
            record.finish(&[]);
            (role, prompt)
        };
        let to = role.and_then(|(role, place)| target(&role, &place, roles));
        edges.extend(to.map(|to| GraphEdge { status: name.to_owned(), place, to, prompt }));
    }
    edges
}

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
