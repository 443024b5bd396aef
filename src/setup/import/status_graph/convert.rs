//! From roles and a graph to a workflow: which role a task comes to, and in which order the gates stand in a list.
//!
//! How it counts: not at all. A gate with routes of its own may be sent back to 3 times here, unless `maxRetries` says more.

use std::collections::BTreeSet;

use serde_json::Value;

use super::gates::{GateBuilder, slots_of_ours};
use super::graph::{GraphRole, RoleGraph, read_roles};
use crate::domain::FieldFate::{Converted, Dropped};
use crate::files::yaml::Node;
use crate::setup::import::names::Names;
use crate::setup::import::record::{FieldTable, ImportReport, Record};
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
        build(&mut draft, &roles, &graph, report);
    }
    vec![draft.finish()]
}

fn build(
    draft: &mut WorkflowDraft,
    roles: &[GraphRole<'_>],
    graph: &RoleGraph<'_>,
    report: &ImportReport<'_>,
) {
    let mut missing = BTreeSet::new();
    for index in &graph.order {
        let role = &roles[*index];
        let mut gate =
            GateBuilder { roles, role, missing: &mut missing }.gate(&graph.edges[*index]);
        if let Some((text, place)) = graph.opening.as_ref().filter(|_| *index == graph.entry) {
            place.note(Converted, "`brief.instructions` of the first gate");
            open(&mut gate, &slots_of_ours(text, place, |_| false, &mut missing));
        }
        role.record.finish(&[OF_ROLE]);
        let description = gate.description.as_deref().map(str::trim);
        draft.roles.add(&gate.role, description, false);
        draft.gates.push(gate);
    }
    for (index, role) in roles.iter().enumerate() {
        if !graph.order.contains(&index) {
            let note = "no edge leads to this role, so it never runs there either";
            role.place.note(Dropped, note);
            role.record.finish(&[&[("*", Dropped, "no edge leads to this role")]]);
            for edge in &graph.edges[index] {
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
