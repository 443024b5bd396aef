//! From roles and edges to gates with decisions.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::GraphRole;
use super::exits::{RoleExits, StatusVariant, with_status};
use super::graph::{EdgeTarget, GraphEdge, RoleGraph};
use super::prompts::prompt;
use crate::domain::listed;
use crate::setup::import::names;
use crate::setup::import::placeholders::{literal, slots};
use crate::setup::import::record::Said;
use crate::setup::import::report::ImportReport;
use crate::setup::import::workflow_draft::{
    GateDraft, ReentryDraft, RouteDraft, WorkflowDraft, tidy,
};

/// How often a gate may be sent back to where it leads to itself: such a loop needs a limit of its own.
const AGAIN: u64 = 3;

pub(crate) fn build(
    draft: &mut WorkflowDraft,
    found: &[GraphRole<'_>],
    graph: &RoleGraph<'_>,
    report: &ImportReport<'_>,
) {
    let mut missing = BTreeSet::new();
    for place in &graph.order {
        let role = &found[*place];
        draft.roles.add(&role.gate, role.description.as_deref().map(str::trim));
        let mut builder = GateBuilder { found, role, missing: &mut missing };
        let mut gate = builder.gate(&graph.edges[*place]);
        if let Some(opening) = graph.opening.as_ref().filter(|_| *place == graph.entry) {
            builder.open(&mut gate, opening);
        }
        draft.gates.push(gate);
    }
    for (place, role) in found.iter().enumerate().filter(|(place, _)| !graph.order.contains(place))
    {
        role.at.dropped("no edge leads to this role, so it never runs there either");
        for edge in &graph.edges[place] {
            edge.at.dropped(format!("nothing leads to `{}`", role.foreign));
        }
    }
    for key in missing {
        let why = "no role hands it on: it comes with the task (`--context`)";
        report.added(format!("context.input.{key}"), why);
        draft.context.input.insert(key, Value::Null);
    }
    draft.leave_out_what_the_order_says();
    draft.protect_the_rest();
    if has_loops(draft) {
        report.added("maxRetries", "loops have no limit there; here a gate sends back 3 times unless `maxRetries` says more");
    }
}

fn has_loops(draft: &WorkflowDraft) -> bool {
    let mut seen = BTreeSet::new();
    draft.gates.iter().any(|gate| {
        seen.insert(gate.id.as_str());
        gate.targets().any(|target| seen.contains(target))
    })
}

struct GateBuilder<'a, 'r> {
    found: &'a [GraphRole<'r>],
    role: &'a GraphRole<'r>,
    missing: &'a mut BTreeSet<String>,
}

impl<'r> GateBuilder<'_, 'r> {
    fn gate(&mut self, edges: &[GraphEdge<'r>]) -> GateDraft {
        let role = self.role;
        let text = |text: &String| tidy(&literal(text));
        let mut gate = GateDraft {
            id: role.gate.clone(),
            role: role.gate.clone(),
            description: role.description.as_deref().map(tidy),
            ..GateDraft::default()
        };
        gate.brief.role = role.goal.as_ref().map(text);
        gate.brief.expectations = role.output.iter().map(text).collect();
        gate.brief.instructions = role.procedure.as_ref().map(text);
        if !role.capabilities.is_empty() {
            gate.metadata.insert("capabilities".to_owned(), json!(role.capabilities));
        }
        match edges {
            [only] if only.status == "_" => self.only_way(&mut gate, only),
            _ => self.decisions(&mut gate, edges),
        }
        if gate.targets().any(|target| target == gate.id) {
            gate.max_retries = Some(AGAIN);
        }
        gate
    }

    /// The entry prompt comes before the procedure, and only the first time.
    fn open(&mut self, gate: &mut GateDraft, text: &Said<'_>) {
        text.at.converted("`brief.instructions` of the first gate");
        let opening = prompt(text, &|_| false, self.missing);
        let procedure = gate.brief.instructions.take();
        gate.brief.instructions = Some(match &procedure {
            Some(procedure) => tidy(&format!("{}\n\n{procedure}", opening.trim_end())),
            None => opening,
        });
        gate.brief.reentry = procedure.map(|instructions| ReentryDraft { instructions });
    }

    /// One way out, without a name.
    fn only_way(&mut self, gate: &mut GateDraft, edge: &GraphEdge<'_>) {
        gate.outputs = match &self.role.exits {
            RoleExits::Undeclared => None,
            RoleExits::One(shape) => Some(shape.clone()),
            RoleExits::Each { variants, .. } => {
                let words = listed(variants.iter().map(|variant| &variant.status));
                let role = &self.role.foreign;
                let message =
                    format!("`{role}` has one edge, `_`, and its frontmatter has {words}");
                edge.at.fault("status_mismatch", message, "name the statuses in the graph");
                None
            }
        };
        let keys = gate.outputs.as_ref().and_then(|shape| shape["properties"].as_object().cloned());
        let route = self.route(edge, &keys.unwrap_or_default());
        edge.at.converted(format!("`complete` leads to `{}`: one way out needs no name", route.to));
        gate.route("complete", route);
    }

    /// A decision for each status.
    fn decisions(&mut self, gate: &mut GateDraft, edges: &[GraphEdge<'r>]) {
        let variants = self.variants(edges);
        let edges: Vec<&GraphEdge<'_>> =
            edges.iter().filter(|edge| !self.built_in(gate, edge, &variants)).collect();
        let words = names::decisions(edges.iter().map(|edge| edge.status.as_str()));
        let mut shapes = Vec::new();
        for (edge, (word, why)) in edges.into_iter().zip(words) {
            if edge.status == "_" {
                edge.at
                    .lost("`_` beside other statuses: a gate with decisions has none for silence");
                continue;
            }
            let variant = variants.iter().find(|variant| variant.status == edge.status);
            let route = self.route(edge, &variant.map(properties).unwrap_or_default());
            if why.is_some() {
                let status = &edge.status;
                let tip = format!("Where these instructions say `{status}`, say `{word}`");
                gate.brief.tips.push(tip);
            }
            let usual = || format!("the decision `{word}` leads to `{}`", route.to);
            edge.at.converted(why.unwrap_or_else(usual));
            gate.route(&word, route);
            shapes.extend(variant.map(|variant| with_status(&variant.shape, "$status", &word)));
        }
        // A reply without a status that is known cannot go on there either.
        let signal = || json!({"status": true, "missing": "blocked"});
        gate.signal = (!gate.routes.is_empty()).then(signal);
        gate.outputs = (!shapes.is_empty()).then(|| json!({"oneOf": shapes}));
    }

    /// Returns the variants, each of which must have an edge, as each edge must have a variant.
    fn variants(&self, edges: &[GraphEdge<'r>]) -> Vec<StatusVariant<'r>> {
        let role = self.role;
        let (variants, open) = match &role.exits {
            RoleExits::Undeclared => return Vec::new(),
            RoleExits::One(shape) => (Vec::new(), shape.as_object()),
            RoleExits::Each { variants, open } => (variants.clone(), open.as_ref()),
        };
        if let Some(open) = open {
            // The schema names no status, so those of the graph are all there are.
            let variant = |edge: &GraphEdge<'r>| StatusVariant {
                status: edge.status.clone(),
                shape: with_status(open, "$status", &edge.status),
                at: edge.at.clone(),
            };
            return edges.iter().map(variant).collect();
        }
        let foreign = &role.foreign;
        for edge in edges.iter().filter(|edge| edge.status != "_") {
            if !variants.iter().any(|variant| variant.status == edge.status) {
                let known = listed(variants.iter().map(|variant| &variant.status));
                let message =
                    format!("the frontmatter of `{foreign}` has no `$status` `{}`", edge.status);
                edge.at.fault("status_mismatch", message, &format!("it has {known}"));
            }
        }
        for StatusVariant { status, at, .. } in &variants {
            if !edges.iter().any(|edge| edge.status == *status) {
                let message =
                    format!("the graph does not say where `{status}` of `{foreign}` leads");
                at.fault("status_mismatch", message, &format!("add it under `graph.{foreign}`"));
            }
        }
        variants
    }

    /// Some statuses are outcomes that every gate has: a failure, and a task that cannot go on.
    fn built_in(
        &mut self,
        gate: &mut GateDraft,
        edge: &GraphEdge<'_>,
        variants: &[StatusVariant<'_>],
    ) -> bool {
        let variant = variants.iter().find(|variant| variant.status == edge.status);
        let is_bare = variant.map(properties).is_none_or(|properties| properties.len() <= 1);
        let is_silent =
            edge.prompt.as_ref().is_none_or(|prompt| slots(&prompt.value).next().is_none());
        let suspends = edge.status == "blocked" && edge.to == EdgeTarget::Suspend && is_bare;
        if edge.status == "$SUSPEND" || suspends {
            edge.at.converted("the outcome `blocked`, which every gate has: the task waits");
            return true;
        }
        if edge.status != "failed" || !is_bare || !is_silent || variants.len() == 1 {
            return false;
        }
        let mut route = self.route(edge, &Map::new());
        if edge.to == EdgeTarget::End {
            route = RouteDraft::to("$fail");
        }
        let target = &route.to;
        edge.at.converted(format!(
            "`onFailure` leads to `{target}`: `failed` is an outcome of aof's own"
        ));
        gate.on_failure = Some(route);
        true
    }

    fn route(&mut self, edge: &GraphEdge<'_>, keys: &Map<String, Value>) -> RouteDraft {
        let mut route = RouteDraft::to(match edge.to {
            EdgeTarget::Role(place) => self.found[place].gate.as_str(),
            EdgeTarget::End => "$end",
            EdgeTarget::Suspend => "$hold",
        });
        if let Some(text) = edge.prompt.as_ref().filter(|text| !text.value.trim().is_empty()) {
            if edge.to == EdgeTarget::End {
                text.at.dropped("nobody reads a prompt at the end");
            } else {
                text.at.converted("`prompt` of the route");
                route.prompt = Some(prompt(text, &|key| keys.contains_key(key), self.missing));
            }
        }
        route
    }
}

/// Returns what is handed on with a status.
fn properties(variant: &StatusVariant<'_>) -> Map<String, Value> {
    variant.shape.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}
