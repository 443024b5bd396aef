//! From roles and edges to gates with decisions.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Role;
use super::exits::{Exits, Variant, with_status};
use super::graph::{Edge, Graph, Target};
use super::prompts::prompt;
use crate::domain::listed;
use crate::files::yaml::Fault;
use crate::setup::import::import::Roles;
use crate::setup::import::import::tidy;
use crate::setup::import::names;
use crate::setup::import::placeholders::{literal, slots};
use crate::setup::import::report::{At, Ledger};
use crate::setup::import::workflow_draft::{GateSketch, RouteSketch, Sketch, WorkSketch};

/// How often a gate may be sent back to where it leads to itself: such a loop needs a limit of its own.
const AGAIN: u64 = 3;

pub(crate) fn build(
    sketch: &mut Sketch,
    roles: &mut Roles,
    found: &[Role],
    graph: &Graph,
    ledger: &mut Ledger<'_>,
) {
    let mut missing = BTreeSet::new();
    for place in &graph.order {
        let role = &found[*place];
        roles.add(&role.gate, role.description.as_deref().map(str::trim));
        let mut builder = Builder { found, role, missing: &mut missing, ledger };
        let mut gate = builder.gate(&graph.edges[*place]);
        if *place == graph.entry
            && let Some((text, at)) = &graph.opening
        {
            builder.open(&mut gate, text, at);
        }
        sketch.gates.push(gate);
    }
    let reached: BTreeSet<usize> = graph.order.iter().copied().collect();
    for (place, role) in found.iter().enumerate().filter(|(place, _)| !reached.contains(place)) {
        ledger.dropped(&role.at, "no edge leads to this role, so it never runs there either");
        for edge in &graph.edges[place] {
            ledger.dropped(&edge.at, format!("nothing leads to `{}`", role.foreign));
        }
    }
    for key in missing {
        ledger.supplied(
            format!("context.input.{key}"),
            "no role hands it on: it comes with the task (`--context`)",
        );
        sketch.input.insert(key, Value::Null);
    }
    sketch.leave_out_what_the_order_says();
    protect(sketch);
    if loops(sketch) {
        ledger.supplied(
            "maxRetries",
            "loops have no limit there; here a gate sends back 3 times unless `maxRetries` says more",
        );
    }
}

/// A key that a gate hands on is no longer only the input's.
fn protect(sketch: &mut Sketch) {
    let outputs: Vec<String> = sketch
        .gates
        .iter_mut()
        .filter_map(GateSketch::worked)
        .filter_map(|work| work.outputs.as_ref().map(Value::to_string))
        .collect();
    let declared =
        |key: &str| outputs.iter().any(|outputs| outputs.contains(&format!("\"{key}\":")));
    let kept: Vec<String> = ["task", "repo", "branch"]
        .into_iter()
        .filter(|key| !declared(key))
        .map(str::to_owned)
        .collect();
    if kept.len() < 3 {
        sketch.protected = Some(kept);
    }
}

fn loops(sketch: &Sketch) -> bool {
    let mut seen = BTreeSet::new();
    sketch.gates.iter().any(|gate| {
        seen.insert(gate.id.as_str());
        gate.targets().any(|target| seen.contains(target))
    })
}

struct Builder<'a, 'l, 's> {
    found: &'a [Role],
    role: &'a Role,
    missing: &'a mut BTreeSet<String>,
    ledger: &'l mut Ledger<'s>,
}

impl Builder<'_, '_, '_> {
    fn gate(&mut self, edges: &[Edge]) -> GateSketch {
        let role = self.role;
        let mut work = WorkSketch { role: role.gate.clone(), ..WorkSketch::default() };
        work.brief.role = role.goal.as_deref().map(|text| tidy(&literal(text)));
        work.brief.expectations = role.output.iter().map(|text| tidy(&literal(text))).collect();
        work.brief.instructions = role.procedure.as_deref().map(|text| tidy(&literal(text)));
        let mut gate = GateSketch::work(&role.gate, work);
        gate.description = role.description.as_deref().map(tidy);
        if !role.capabilities.is_empty() {
            gate.metadata.insert("capabilities".to_owned(), json!(role.capabilities));
        }
        match edges {
            [only] if only.status == "_" => self.one(&mut gate, only),
            _ => self.each(&mut gate, edges),
        }
        if gate.targets().any(|target| target == gate.id) {
            gate.max_retries = Some(AGAIN);
        }
        gate
    }

    /// The entry prompt comes before the procedure, and only the first time.
    fn open(&mut self, gate: &mut GateSketch, text: &str, at: &At) {
        self.ledger.converted(at, "`brief.instructions` of the first gate");
        let opening = prompt(text, at, &|_| false, self.missing, self.ledger);
        if let Some(work) = gate.worked() {
            let procedure = work.brief.instructions.take();
            work.brief.again.clone_from(&procedure);
            work.brief.instructions = Some(match procedure {
                Some(procedure) => tidy(&format!("{}\n\n{procedure}", opening.trim_end())),
                None => opening,
            });
        }
    }

    /// One way out, without a name.
    fn one(&mut self, gate: &mut GateSketch, edge: &Edge) {
        let outputs = match &self.role.exits {
            Exits::Undeclared => None,
            Exits::One(shape) => Some(shape.clone()),
            Exits::Each { variants, .. } => {
                let words = listed(variants.iter().map(|variant| &variant.status));
                let message = format!(
                    "`{}` has one edge, `_`, and its frontmatter has {words}",
                    self.role.foreign
                );
                let fault = Fault::new("status_mismatch", edge.at.span.clone(), message);
                self.ledger.fault(fault.help("name the statuses in the graph"));
                None
            }
        };
        let keys = outputs
            .as_ref()
            .and_then(|shape| shape.get("properties"))
            .and_then(Value::as_object)
            .cloned();
        let route = self.route(edge, &keys.unwrap_or_default());
        self.ledger.converted(
            &edge.at,
            format!("`complete` leads to `{}`: one way out needs no name", route.to),
        );
        gate.routes.push(("complete".to_owned(), route));
        if let Some(work) = gate.worked() {
            work.outputs = outputs;
        }
    }

    /// A decision for each status.
    fn each(&mut self, gate: &mut GateSketch, edges: &[Edge]) {
        let variants = self.variants(edges);
        let edges: Vec<&Edge> =
            edges.iter().filter(|edge| !self.built_in(gate, edge, &variants)).collect();
        let words = names::decisions(edges.iter().map(|edge| edge.status.as_str()));
        let mut shapes = Vec::new();
        let mut tips = Vec::new();
        for (edge, (word, why)) in edges.iter().zip(&words) {
            if edge.status == "_" {
                self.ledger.lost(
                    &edge.at,
                    "`_` beside other statuses: a gate with decisions has none for silence",
                );
                continue;
            }
            let variant = variants.iter().find(|variant| variant.status == edge.status);
            let keys =
                variant.and_then(|variant| variant.shape.get("properties")?.as_object().cloned());
            let route = self.route(edge, &keys.unwrap_or_default());
            match why {
                Some(why) => {
                    self.ledger.converted(&edge.at, why.clone());
                    tips.push(format!(
                        "Where these instructions say `{}`, say `{word}`",
                        edge.status
                    ));
                }
                None => self
                    .ledger
                    .converted(&edge.at, format!("the decision `{word}` leads to `{}`", route.to)),
            }
            gate.routes.push((word.clone(), route));
            shapes.extend(
                variant.map(|variant| Value::Object(with_status(&variant.shape, "$status", word))),
            );
        }
        let decides = !gate.routes.is_empty();
        if let Some(work) = gate.worked() {
            // A reply without a status that is known cannot go on there either.
            work.signal = decides.then(|| json!({"status": true, "missing": "blocked"}));
            work.outputs = (!shapes.is_empty()).then(|| json!({"oneOf": shapes}));
            work.brief.tips = tips;
        }
    }

    /// Returns the variants, each of which must have an edge, as each edge must have a variant.
    fn variants(&mut self, edges: &[Edge]) -> Vec<Variant> {
        let role = self.role;
        let (variants, open) = match &role.exits {
            Exits::Undeclared => return Vec::new(),
            Exits::One(shape) => (Vec::new(), shape.as_object().cloned()),
            Exits::Each { variants, open } => {
                (variants.clone(), open.as_ref().and_then(Value::as_object).cloned())
            }
        };
        if let Some(open) = open {
            // The schema names no status, so those of the graph are all there are.
            let variant = |edge: &Edge| Variant {
                status: edge.status.clone(),
                shape: with_status(&open, "$status", &edge.status),
                at: edge.at.clone(),
            };
            return edges.iter().map(variant).collect();
        }
        for edge in edges.iter().filter(|edge| edge.status != "_") {
            if !variants.iter().any(|variant| variant.status == edge.status) {
                let message = format!(
                    "the frontmatter of `{}` has no `$status` `{}`",
                    role.foreign, edge.status
                );
                let known = listed(variants.iter().map(|variant| &variant.status));
                let fault = Fault::new("status_mismatch", edge.at.span.clone(), message);
                self.ledger.fault(fault.help(format!("it has {known}")));
            }
        }
        for variant in &variants {
            if !edges.iter().any(|edge| edge.status == variant.status) {
                let message = format!(
                    "the graph does not say where `{}` of `{}` leads",
                    variant.status, role.foreign
                );
                let fault = Fault::new("status_mismatch", variant.at.span.clone(), message);
                self.ledger.fault(fault.help(format!("add it under `graph.{}`", role.foreign)));
            }
        }
        variants
    }

    /// Some statuses are outcomes that every gate has: a failure, and a task that cannot go on.
    fn built_in(&mut self, gate: &mut GateSketch, edge: &Edge, variants: &[Variant]) -> bool {
        let bare = variants
            .iter()
            .find(|variant| variant.status == edge.status)
            .and_then(|variant| variant.shape.get("properties")?.as_object())
            .is_none_or(|properties| properties.len() == 1);
        let silent = edge.prompt.as_ref().is_none_or(|(text, _)| slots(text).next().is_none());
        if edge.status == "$SUSPEND"
            || (edge.status == "blocked" && edge.to == Target::Suspend && bare)
        {
            self.ledger
                .converted(&edge.at, "the outcome `blocked`, which every gate has: the task waits");
            return true;
        }
        if edge.status != "failed" || !bare || !silent || variants.len() == 1 {
            return false;
        }
        let mut route = self.route(edge, &Map::new());
        if edge.to == Target::End {
            route = RouteSketch::to("$fail");
        }
        self.ledger.converted(
            &edge.at,
            format!("`onFailure` leads to `{}`: `failed` is an outcome of aof's own", route.to),
        );
        gate.on_failure = Some(route);
        true
    }

    fn route(&mut self, edge: &Edge, keys: &Map<String, Value>) -> RouteSketch {
        let to = match edge.to {
            Target::Role(place) => self.found[place].gate.clone(),
            Target::End => "$end".to_owned(),
            Target::Suspend => "$hold".to_owned(),
        };
        let mut route = RouteSketch::to(to);
        if let Some((text, at)) = edge.prompt.as_ref().filter(|(text, _)| !text.trim().is_empty()) {
            if edge.to == Target::End {
                self.ledger.dropped(at, "nobody reads a prompt at the end");
            } else {
                self.ledger.converted(at, "`prompt` of the route");
                let own = |key: &str| keys.contains_key(key);
                route.prompt = Some(prompt(text, at, &own, self.missing, self.ledger));
            }
        }
        route
    }
}
