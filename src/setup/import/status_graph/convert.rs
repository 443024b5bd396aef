//! From roles and a graph to a workflow: the order of the gates, and each role with its edges as a gate with decisions.
//!
//! The source has no limit on retries. A gate with routes of its own sends back 3 times here, unless `maxRetries` says more.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::graph::{EdgeTarget, GraphEdge, GraphRole, RoleGraph, read_roles};
use super::role_outputs::{RoleOutputs, StatusVariant, properties_of, read_outputs, with_status};
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::domain::listed;
use crate::setup::import::names;
use crate::setup::import::names::{Names, is_bare, literal, rewritten, slots};
use crate::setup::import::record::{FieldPlace, FieldTable, ImportReport, Record};
use crate::setup::import::workflow_draft::{
    GateDraft, ReadWorkflow, RouteDraft, WorkflowDraft, tidy,
};

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
pub(crate) fn read(top: &Record<'_>, stem: &str) -> Vec<ReadWorkflow> {
    let mut draft = WorkflowDraft::begin(top, "name", (None, stem), &mut Names::default());
    let roles = read_roles(top);
    let graph = RoleGraph::read(top, &roles);
    top.finish(&[OF_FILE]);
    if let Some(graph) = graph.filter(|_| !top.report.has_faults()) {
        build(&mut draft, &roles, &graph, top.report);
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
            RoleGateBuilder { roles, role, missing: &mut missing }.gate(&graph.edges[*index]);
        if let Some((text, place)) = graph.opening.as_ref().filter(|_| *index == graph.entry) {
            place.note(Converted, "`brief.instructions` of the first gate");
            prepend_opening(&mut gate, &convert_slots(text, place, |_| false, &mut missing));
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
    draft.drop_default_routes();
    draft.set_protected_keys();
    if has_loops(draft) {
        report.added("maxRetries", "loops have no limit there; here a gate sends back 3 times unless `maxRetries` says more");
    }
}

/// The entry prompt comes before the procedure, and only the first time.
fn prepend_opening(gate: &mut GateDraft, opening: &str) {
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

/// How often a gate may be sent back to where it leads to itself: such a loop needs a limit of its own.
const SELF_LOOP_RETRIES: u64 = 3;

pub(crate) struct RoleGateBuilder<'a, 'n> {
    pub(crate) roles: &'a [GraphRole<'n>],
    pub(crate) role: &'a GraphRole<'n>,
    /// The keys of prompts that no role hands on.
    pub(crate) missing: &'a mut BTreeSet<String>,
}

impl<'n> RoleGateBuilder<'_, 'n> {
    pub(crate) fn gate(&mut self, edges: &[GraphEdge<'n>]) -> GateDraft {
        let GraphRole { gate: name, record, .. } = self.role;
        let given = |key| record.text(key).filter(|text| !text.trim().is_empty());
        let text = |key| given(key).map(|text| tidy(&literal(&text)));
        let mut gate = GateDraft {
            id: name.clone(),
            role: name.clone(),
            description: given("description").map(|text| tidy(&text)),
            ..GateDraft::default()
        };
        gate.brief.role = text("goal");
        gate.brief.expectations = text("output").into_iter().collect();
        gate.brief.instructions = text("procedure");
        if let Some(list) = record.texts("capabilities").filter(|list| !list.is_empty()) {
            gate.metadata.insert("capabilities".to_owned(), json!(list));
        }
        let Some(outputs) = read_outputs(record) else { return gate };
        match edges {
            [only] if only.status == "_" => self.single_route(&mut gate, only, outputs),
            _ => self.decisions(&mut gate, edges, outputs),
        }
        if gate.targets().any(|target| target == gate.id) {
            gate.max_retries = Some(SELF_LOOP_RETRIES);
        }
        gate
    }

    /// One way out, without a name.
    fn single_route(
        &mut self,
        gate: &mut GateDraft,
        edge: &GraphEdge<'_>,
        outputs: RoleOutputs<'_>,
    ) {
        let shape = match outputs {
            RoleOutputs::Undeclared => None,
            RoleOutputs::One(shape) | RoleOutputs::Open(shape) => Some(shape),
            RoleOutputs::Each(variants) => {
                let words = listed(variants.iter().map(|variant| &variant.status));
                let message = format!(
                    "`{}` has one edge, `_`, and its frontmatter has {words}",
                    self.role.foreign
                );
                edge.place.fault("status_mismatch", message, "name the statuses in the graph");
                None
            }
        };
        let keys = shape.as_ref().map(properties_of).unwrap_or_default();
        let route = self.route(edge, &keys);
        let note = format!("`complete` leads to `{}`: one way out needs no name", route.to);
        edge.place.note(Converted, note);
        gate.route("complete", route);
        gate.outputs = shape.map(Value::Object);
    }

    /// A decision for each status.
    fn decisions(
        &mut self,
        gate: &mut GateDraft,
        edges: &[GraphEdge<'n>],
        outputs: RoleOutputs<'n>,
    ) {
        let variants = self.variants(edges, outputs);
        let variant = |edge: &GraphEdge<'_>| variants.iter().find(|own| own.status == edge.status);
        let mut named = Vec::new();
        for edge in edges {
            if !self.use_built_in_outcome(gate, edge, variant(edge), variants.len()) {
                named.push(edge);
            }
        }
        let words = names::decisions(named.iter().map(|edge| edge.status.as_str()));
        let mut shapes = Vec::new();
        for (edge, (word, why)) in named.into_iter().zip(words) {
            if edge.status == "_" {
                let note = "`_` beside other statuses: a gate with decisions has none for silence";
                edge.place.note(Lost, note);
                continue;
            }
            let shape = variant(edge).map(|variant| &variant.shape);
            let route = self.route(edge, &shape.map(properties_of).unwrap_or_default());
            if why.is_some() {
                let status = &edge.status;
                let tip = format!("Where these instructions say `{status}`, say `{word}`");
                gate.brief.tips.push(tip);
            }
            let usual = || format!("the decision `{word}` leads to `{}`", route.to);
            edge.place.note(Converted, why.unwrap_or_else(usual));
            gate.route(&word, route);
            shapes.extend(shape.map(|shape| with_status(shape, "$status", &word)));
        }
        // A reply without a status that is known cannot go on there either.
        let signal = || json!({"status": true, "missing": "blocked"});
        gate.signal = (!gate.routes.is_empty()).then(signal);
        gate.outputs = (!shapes.is_empty()).then(|| json!({"oneOf": shapes}));
    }

    /// Returns the variants, each of which must have an edge, as each edge must have a variant.
    fn variants(
        &self,
        edges: &[GraphEdge<'n>],
        outputs: RoleOutputs<'n>,
    ) -> Vec<StatusVariant<'n>> {
        let variants = match outputs {
            RoleOutputs::Undeclared => return Vec::new(),
            RoleOutputs::One(shape) | RoleOutputs::Open(shape) => {
                let variant = |edge: &GraphEdge<'n>| StatusVariant {
                    status: edge.status.clone(),
                    shape: with_status(&shape, "$status", &edge.status),
                    place: edge.place.clone(),
                };
                return edges.iter().map(variant).collect();
            }
            RoleOutputs::Each(variants) => variants,
        };
        let foreign = &self.role.foreign;
        for edge in edges.iter().filter(|edge| edge.status != "_") {
            if !variants.iter().any(|variant| variant.status == edge.status) {
                let known = listed(variants.iter().map(|variant| &variant.status));
                let message =
                    format!("the frontmatter of `{foreign}` has no `$status` `{}`", edge.status);
                edge.place.fault("status_mismatch", message, &format!("it has {known}"));
            }
        }
        for StatusVariant { status, place, .. } in &variants {
            if !edges.iter().any(|edge| edge.status == *status) {
                let message =
                    format!("the graph does not say where `{status}` of `{foreign}` leads");
                place.fault("status_mismatch", message, &format!("add it under `graph.{foreign}`"));
            }
        }
        variants
    }

    /// Some statuses are outcomes that every gate has: a failure, and a task that cannot go on. Returns whether this is one.
    fn use_built_in_outcome(
        &mut self,
        gate: &mut GateDraft,
        edge: &GraphEdge<'_>,
        variant: Option<&StatusVariant<'_>>,
        variants: usize,
    ) -> bool {
        let is_bare = variant.is_none_or(|variant| properties_of(&variant.shape).len() <= 1);
        let suspends = edge.status == "blocked" && edge.to == EdgeTarget::Suspend && is_bare;
        if edge.status == "$SUSPEND" || suspends {
            let note = "the outcome `blocked`, which every gate has: the task waits";
            edge.place.note(Converted, note);
            return true;
        }
        let is_silent = edge.prompt.as_ref().is_none_or(|(prompt, _)| slots(prompt).is_empty());
        if edge.status != "failed" || !is_bare || !is_silent || variants == 1 {
            return false;
        }
        let mut route = self.route(edge, &Map::new());
        if edge.to == EdgeTarget::End {
            route = RouteDraft::to("$fail");
        }
        let target = &route.to;
        let note = format!("`onFailure` leads to `{target}`: `failed` is an outcome of aof's own");
        edge.place.note(Converted, note);
        gate.on_failure = Some(route);
        true
    }

    fn route(&mut self, edge: &GraphEdge<'_>, keys: &Map<String, Value>) -> RouteDraft {
        let mut route = RouteDraft::to(match edge.to {
            EdgeTarget::Role(index) => self.roles[index].gate.as_str(),
            EdgeTarget::End => "$end",
            EdgeTarget::Suspend => "$hold",
        });
        let prompt = edge.prompt.as_ref().filter(|(text, _)| !text.trim().is_empty());
        if let Some((text, place)) = prompt {
            if edge.to == EdgeTarget::End {
                place.note(Dropped, "nobody reads a prompt at the end");
            } else {
                place.note(Converted, "`prompt` of the route");
                let is_own = |key: &str| keys.contains_key(key);
                route.prompt = Some(convert_slots(text, place, is_own, self.missing));
            }
        }
        route
    }
}

/// Returns a prompt with the slots of Mustache and Liquid as ours. Keys that are not the role's own are put into `missing`: the
/// input has to have them.
pub(crate) fn convert_slots(
    text: &str,
    place: &FieldPlace<'_>,
    is_own: impl Fn(&str) -> bool,
    missing: &mut BTreeSet<String>,
) -> String {
    let converted = rewritten(text, |inner| {
        let (name, filters) = inner.split_once('|').unwrap_or((inner, ""));
        let name = name.trim().trim_start_matches('&').trim();
        if !is_bare(name) {
            place.note_slot(inner, Dropped, "left as it stands: it is no key");
            return None;
        }
        for filter in filters.split('|').filter(|filter| !filter.trim().is_empty()) {
            let filter = filter.split(':').next().unwrap_or_default().trim();
            let note = match filter {
                "join" => "`join` is not needed: a list is shown as lines".to_owned(),
                _ => format!("there is no filter `{filter}`: the value is shown as it is"),
            };
            place.note_slot(inner, Dropped, note);
        }
        if !is_own(name) {
            missing.insert(name.to_owned());
        }
        Some(name.to_owned())
    });
    if text.contains("{%") {
        place.note(Dropped, "Liquid's `{% ... %}` is not carried out: it stands there as text");
    }
    tidy(&converted)
}
