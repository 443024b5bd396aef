//! From roles and a graph to a workflow: the order of the gates, and each role with its edges as a gate with decisions.
//!
//! The source has no limit on retries. A gate with routes of its own sends back 3 times here, unless `maxRetries` says more.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::graph::{EdgeTarget, GraphEdge, GraphRole, RoleGraph, read_roles};
use super::loops::limit_loops;
use super::role_outputs::{
    RoleOutputs, StatusVariant, declared_keys, properties_of, read_outputs, with_status,
    without_status,
};
use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::domain::listed;
use crate::setup::import::names;
use crate::setup::import::names::{Names, is_bare, literal, rewritten, slots};
use crate::setup::import::record::{FieldPlace, FieldTable, ImportReport, Record};
use crate::setup::import::workflow_draft::{
    BriefDraft, GateDraft, ReadWorkflow, RouteDraft, WorkflowDraft, tidy,
};

const OF_ROLE: FieldTable = &[
    ("description", Converted, "`description`, and the role's in org.yaml"),
    ("goal", Converted, "`brief.role`"),
    ("identity", Converted, "`brief.role`"),
    ("prepare", Converted, "`brief.instructions`"),
    ("execute", Converted, "`brief.instructions`"),
    ("procedure", Converted, "`brief.instructions`"),
    ("systemPrompt", Converted, "`brief.instructions`"),
    ("output", Converted, "`brief.expectations`"),
    ("report", Converted, "`brief.expectations`"),
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
    let keys: Vec<_> = roles.iter().map(|role| declared_keys(&role.record)).collect();
    let mut names = Names::default();
    for role in roles {
        names.invent(&role.gate);
    }
    for index in &graph.order {
        let (role, edges) = (&roles[*index], graph.edges[*index].as_slice());
        let mut builder = RoleGateBuilder { roles, role, keys: &keys, missing: &mut missing };
        let mut gate = builder.gate(edges);
        let conditions = builder.conditions(&mut gate, edges, &mut names);
        if let Some((text, place)) = graph.opening.as_ref().filter(|_| *index == graph.entry) {
            place.note(Converted, "`brief.instructions` of the first gate");
            let as_input = |key: &str, _: &str| {
                missing.insert(key.to_owned());
                format!("input.{key}")
            };
            prepend_opening(&mut gate, &convert_slots(text, place, as_input));
        }
        keep_texts(&mut gate);
        role.record.finish(&[OF_ROLE]);
        let description = gate.description.as_deref().map(str::trim);
        draft.roles.add(&gate.role, description, false);
        draft.gates.push(gate);
        draft.gates.extend(conditions);
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
        let note = "it comes with the task (`--context`)";
        report.added(format!("context.input.{key}"), note);
        draft.context.input.insert(key, Value::Null);
    }
    draft.drop_default_routes();
    draft.set_protected_keys();
    limit_loops(draft, report);
}

/// Puts the entry prompt before the procedure, for the first visit only.
fn prepend_opening(gate: &mut GateDraft, opening: &str) {
    let procedure = gate.brief.instructions.take();
    gate.brief.instructions = Some(match &procedure {
        Some(procedure) => tidy(&format!("{}\n\n{procedure}", opening.trim_end())),
        None => opening.to_owned(),
    });
    let again = procedure.unwrap_or_else(|| "Go on from where you are.\n".to_owned());
    gate.brief.reentry = Some(json!({"instructions": again}));
}

/// Repeats the texts of a role in its later visits: texts missing in the brief for a later visit would be generated.
fn keep_texts(gate: &mut GateDraft) {
    let BriefDraft { role, expectations, tips, reentry, .. } = &mut gate.brief;
    let again = reentry.take().unwrap_or_default();
    let again = json!({"role": role, "expectations": expectations, "tips": tips, "instructions": again["instructions"]});
    *reentry = Some(again);
}

pub(crate) struct RoleGateBuilder<'a, 'n> {
    pub(crate) roles: &'a [GraphRole<'n>],
    pub(crate) role: &'a GraphRole<'n>,
    /// The keys that each role hands on with any status.
    pub(crate) keys: &'a [BTreeSet<String>],
    /// The keys of prompts that no role hands on.
    pub(crate) missing: &'a mut BTreeSet<String>,
}

impl<'n> RoleGateBuilder<'_, 'n> {
    pub(crate) fn gate(&mut self, edges: &[GraphEdge<'n>]) -> GateDraft {
        let GraphRole { gate: name, record, .. } = self.role;
        let given = |key| record.text(key).filter(|text| !text.trim().is_empty());
        let text = |key| given(key).map(|text| tidy(&literal(&text)));
        let parts = |keys: &[&'static str]| {
            let list: Vec<String> = keys.iter().filter_map(|key| text(key)).collect();
            (!list.is_empty()).then(|| tidy(&list.join("\n")))
        };
        let mut gate = GateDraft {
            id: name.clone(),
            role: name.clone(),
            description: given("description").map(|text| tidy(&text)),
            ..GateDraft::default()
        };
        gate.brief.role = parts(&["goal", "identity"]);
        gate.brief.expectations = parts(&["output", "report"]).into_iter().collect();
        gate.brief.instructions = parts(&["systemPrompt", "prepare", "execute", "procedure"]);
        if let Some(list) = record.texts("capabilities").filter(|list| !list.is_empty()) {
            gate.metadata.insert("capabilities".to_owned(), json!(list));
        }
        let has_conditions = edges.iter().any(|edge| edge.when.is_some());
        let Some(outputs) = read_outputs(record, has_conditions) else { return gate };
        match (edges, outputs) {
            // In the schema, `_` means that there is a single exit.
            ([only], RoleOutputs::Each(variants))
                if only.status == "_" && variants.iter().all(|variant| variant.status == "_") =>
            {
                let shape =
                    variants.into_iter().next().map(|variant| without_status(variant.shape));
                self.single_route(&mut gate, only, RoleOutputs::One(shape.unwrap_or_default()));
            }
            ([only], RoleOutputs::Each(variants)) if only.status == "_" => {
                // All statuses lead the same way.
                let edge = |variant: &StatusVariant<'_>| GraphEdge {
                    status: variant.status.clone(),
                    ..only.clone()
                };
                let edges: Vec<GraphEdge<'n>> = variants.iter().map(edge).collect();
                self.decisions(&mut gate, &edges, RoleOutputs::Each(variants));
            }
            ([only], outputs) if only.status == "_" && !has_conditions => {
                self.single_route(&mut gate, only, outputs);
            }
            (_, outputs) if has_conditions => gate.set_only_exit(outputs),
            (_, outputs) => self.decisions(&mut gate, edges, outputs),
        }
        gate
    }

    /// Returns the gates for the conditions of a role's edges, one after the other, in the order of the list.
    fn conditions(
        &mut self,
        gate: &mut GateDraft,
        edges: &[GraphEdge<'n>],
        names: &mut Names,
    ) -> Vec<GateDraft> {
        let mut list: Vec<GateDraft> = Vec::new();
        let mut is_closed = !edges.iter().any(|edge| edge.when.is_some());
        for edge in edges {
            if is_closed {
                break;
            }
            let route = self.route(edge, &Map::new());
            let note = format!("leads to `{}`, by gates of `type: condition`", route.to);
            edge.place.note(Converted, note);
            is_closed = edge.when.is_none();
            let asks = edge.when.is_some().then(|| names.invent(&format!("{}-if", self.role.gate)));
            let entry = asks.clone().map_or_else(|| route.clone(), RouteDraft::to);
            match list.last_mut() {
                Some(before) => before.route("false", entry),
                None => gate.route("complete", entry),
            }
            if let Some(id) = asks {
                let (kind, when) = (Some("condition"), edge.when.clone());
                let mut ask = GateDraft { id, kind, when, ..GateDraft::default() };
                ask.route("true", route);
                list.push(ask);
            }
        }
        if let Some(last) = list.last_mut().filter(|_| !is_closed) {
            last.route("false", RouteDraft::to("$hold"));
        }
        list
    }

    /// Converts a single exit without a name.
    fn single_route(
        &mut self,
        gate: &mut GateDraft,
        edge: &GraphEdge<'_>,
        outputs: RoleOutputs<'_>,
    ) {
        gate.set_only_exit(outputs);
        let keys = gate.outputs.as_ref().and_then(Value::as_object).map(properties_of);
        let route = self.route(edge, &keys.unwrap_or_default());
        let note = format!("`complete` leads to `{}`: one way out needs no name", route.to);
        edge.place.note(Converted, note);
        gate.route("complete", route);
    }

    /// Converts each status to a decision.
    fn decisions(
        &mut self,
        gate: &mut GateDraft,
        edges: &[GraphEdge<'n>],
        outputs: RoleOutputs<'n>,
    ) {
        let variants = self.variants(edges, outputs);
        let variant =
            |edge: &GraphEdge<'_>| variants.iter().find(|variant| variant.status == edge.status);
        let mut named = Vec::new();
        for edge in edges {
            if !self.use_built_in_outcome(gate, edge, variant(edge), variants.len()) {
                named.push(edge);
            }
        }
        let words = names::decisions(named.iter().map(|edge| edge.status.as_str()));
        let (mut shapes, mut renamed) = (Vec::new(), Map::new());
        for (edge, (word, why)) in named.into_iter().zip(words) {
            if edge.status == "_" {
                let note = "`_` beside other statuses: a gate with decisions has none for silence";
                edge.place.note(Lost, note);
                continue;
            }
            let shape = variant(edge).map(|variant| &variant.shape);
            let route = self.route(edge, &shape.map(properties_of).unwrap_or_default());
            let status = &edge.status;
            let is_twin = |other: &&GraphEdge<'_>| other.status.eq_ignore_ascii_case(status);
            if why.is_some() && edges.iter().filter(is_twin).count() == 1 {
                renamed.insert(status.clone(), json!(word));
            } else if why.is_some() {
                let tip = format!("Where these instructions say `{status}`, say `{word}`");
                gate.brief.tips.push(tip);
            }
            let usual = || format!("the decision `{word}` leads to `{}`", route.to);
            edge.place.note(Converted, why.unwrap_or_else(usual));
            gate.route(&word, route);
            shapes.extend(shape.map(|shape| with_status(shape, "$status", &word)));
        }
        gate.signal = (!gate.routes.is_empty()).then(reply_signal);
        if let Some(signal) = gate.signal.as_mut().filter(|_| !renamed.is_empty()) {
            signal["words"] = json!(renamed);
        }
        gate.outputs = (!shapes.is_empty()).then(|| json!({"oneOf": shapes}));
    }

    /// Returns the variants. Reports a variant without an edge, and an edge without a variant.
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

    /// Converts a status that is an outcome of every gate: a failure, or a task that cannot go on. Returns true if this is one.
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
            if let Some((_, place)) = &edge.prompt {
                place.note(Dropped, "a person reads what the reply says instead");
            }
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

    /// Returns the name of a key that the status of an edge does not hand on: the sender's text, another's key, or the input's.
    fn foreign_key(
        &mut self,
        key: &str,
        (inner, status): (&str, &str),
        place: &FieldPlace<'_>,
    ) -> String {
        let GraphRole { foreign, gate, .. } = self.role;
        if key == "_body" {
            place.note_slot(
                inner,
                Converted,
                format!("`{{{{{gate}.body}}}}`: the text of its reply"),
            );
            return format!("{gate}.body");
        }
        let has_key = |index: &usize| self.keys[*index].contains(key);
        let others = (0..self.roles.len()).filter(|index| self.roles[*index].gate != *gate);
        let of_gate = (0..self.roles.len()).filter(|index| self.roles[*index].gate == *gate);
        let Some(index) = others.chain(of_gate).find(has_key) else {
            self.missing.insert(key.to_owned());
            return key.to_owned();
        };
        let name = format!("{}.{key}", self.roles[index].gate);
        let note = format!(
            "`{{{{{name}}}}}`: a fault of the file, for `{foreign}` does not hand on `{key}` with `{status}`, and there nothing would be shown"
        );
        place.note_slot(inner, Converted, note);
        name
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
                let of_hold = "`prompt` of the route: it opens the brief of whoever goes on; the person who unblocks the task reads the reply's first line instead";
                let is_hold = edge.to == EdgeTarget::Suspend;
                place.note(Converted, if is_hold { of_hold } else { "`prompt` of the route" });
                let slot = |key: &str, inner: &str| {
                    if keys.contains_key(key) {
                        return key.to_owned();
                    }
                    self.foreign_key(key, (inner, &edge.status), place)
                };
                route.prompt = Some(convert_slots(text, place, slot));
            }
        } else if edge.prompt.is_none() && matches!(edge.to, EdgeTarget::Role(_)) {
            route.prompt = Some(format!("{{{{{}}}}}", self.role.gate));
        }
        route
    }
}

/// Returns the signal of a status in the reply. A reply without a known status is `blocked`: it cannot go on in the source either.
fn reply_signal() -> Value {
    json!({"status": true, "missing": "blocked"})
}

impl GateDraft {
    /// Sets the outputs of the only exit; fields are read from the reply.
    fn set_only_exit(&mut self, outputs: RoleOutputs<'_>) {
        if let RoleOutputs::One(shape) | RoleOutputs::Open(shape) = outputs {
            self.outputs = Some(Value::Object(shape));
            self.signal = Some(reply_signal());
        } else {
            self.run.end_completes();
        }
    }
}

/// Returns a prompt with the slots of Mustache and Liquid as ours; `convert` renames their keys.
pub(crate) fn convert_slots(
    text: &str,
    place: &FieldPlace<'_>,
    mut convert: impl FnMut(&str, &str) -> String,
) -> String {
    let converted = rewritten(text, |inner| {
        let (name, filters) = inner.split_once('|').unwrap_or((inner, ""));
        let name = name.trim().trim_start_matches('&').trim();
        if !is_bare(name) {
            place.note_slot(inner, Lost, "left as it stands: it is no key");
            return None;
        }
        for filter in filters.split('|').filter(|filter| !filter.trim().is_empty()) {
            let filter = filter.split(':').next().unwrap_or_default().trim();
            let note = match filter {
                "join" => "`join` is not needed: a list is shown as lines".to_owned(),
                _ => format!("there is no filter `{filter}`: the value is shown as it is"),
            };
            place.note_slot(inner, if filter == "join" { Dropped } else { Lost }, note);
        }
        Some(convert(name, inner))
    });
    if text.contains("{%") {
        place.note(Lost, "Liquid's `{% ... %}` is not carried out: it stands there as text");
    }
    tidy(&converted)
}
