//! From steps to gates: verdicts, retries, what is handed on, and the instructions.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use serde_json::{Map, Value, json};

use super::super::Roles;
use super::super::names::{self, Names};
use super::super::placeholders::{Slot, is_bare, rewritten, slots};
use super::super::report::{At, Ledger};
use super::super::sketch::{ExhaustedSketch, GateSketch, KindSketch, RouteSketch, Sketch, WorkSketch};
use super::super::tidy;
use super::keys::{STATUS, asked_for, key_of};
use super::steps::{Decision, Step, places};
use super::{Agent, seconds};

/// The longest line that a reply is looked through for, in bytes.
const LONGEST_LINE: usize = 200;

/// What the whole workflow is built with.
pub(super) struct Gates<'a, 'l, 's> {
    sketch: &'a mut Sketch,
    roles: &'a mut Roles,
    agents: &'a [Agent],
    ledger: &'l mut Ledger<'s>,
    role_names: Names,
    gate_names: Names,
}

/// Who says and who reads each key.
struct Traffic {
    /// The keys that each step asks its agent for.
    said: Vec<BTreeSet<String>>,
    /// The steps that say a key, in order.
    sayers: HashMap<String, Vec<usize>>,
    /// The keys that anybody reads.
    read: BTreeSet<String>,
    places: HashMap<String, usize>,
    /// The gate that a task comes to on its way to each step: the one that asks, where there is a condition.
    entries: Vec<String>,
}

impl<'a, 'l, 's> Gates<'a, 'l, 's> {
    pub(super) fn new(
        sketch: &'a mut Sketch,
        roles: &'a mut Roles,
        agents: &'a [Agent],
        ledger: &'l mut Ledger<'s>,
    ) -> Self {
        Self { sketch, roles, agents, ledger, role_names: Names::default(), gate_names: Names::default() }
    }

    pub(super) fn build(mut self, steps: &[Step]) {
        for step in steps {
            let _ = self.gate_names.invent(&step.gate);
        }
        let mut traffic = Traffic::of(steps);
        let asks: Vec<Option<Ask>> = (0..steps.len()).map(|index| self.ask(steps, index, &traffic)).collect();
        for (entry, ask) in traffic.entries.iter_mut().zip(&asks) {
            if let Some(ask) = ask {
                entry.clone_from(&ask.id);
            }
        }
        for index in 0..steps.len() {
            if let Some(ask) = &asks[index] {
                let next = traffic.entries.get(index + 1).cloned();
                self.sketch.gates.push(ask.gate(&steps[index].gate, next));
            }
            let gate = self.gate(steps, index, &traffic);
            self.sketch.gates.push(gate);
        }
        self.protect();
    }

    /// A key that a gate hands on is no longer only the input's.
    fn protect(&mut self) {
        let declared = |gate: &GateSketch, key: &str| match &gate.kind {
            KindSketch::Work(work) => work.outputs.as_ref().is_some_and(|outputs| declares(outputs, key)),
            _ => false,
        };
        let kept: Vec<String> = ["task", "repo", "branch"]
            .into_iter()
            .filter(|key| !self.sketch.gates.iter().any(|gate| declared(gate, key)))
            .map(str::to_owned)
            .collect();
        if kept.len() < 3 {
            self.sketch.protected = Some(kept);
        }
    }

    fn role(&mut self, step: &Step) -> String {
        let Some(agent) = &step.agent else {
            self.ledger.supplied(
                format!("steps.{}.agent", step.foreign),
                format!("the step names no agent: its role is called `{}`", step.gate),
            );
            self.roles.add(&step.gate, None);
            return step.gate.clone();
        };
        if let Some(role) = self.role_names.get(agent) {
            return role.to_owned();
        }
        let (role, why) = self.role_names.add(agent, "agent");
        if let Some(why) = why {
            self.ledger.supplied(format!("steps.{}.agent", step.foreign), why);
        }
        let known = self.agents.iter().find(|known| known.id == *agent);
        self.roles.add(&role, known.and_then(|known| known.description.as_deref()));
        role
    }

    fn gate(&mut self, steps: &[Step], index: usize, traffic: &Traffic) -> GateSketch {
        let step = &steps[index];
        let mut work = WorkSketch { role: self.role(step), ..WorkSketch::default() };
        let known = self.agents.iter().find(|known| Some(&known.id) == step.agent.as_ref());
        work.timeout = known.and_then(|known| known.timeout.clone());
        if let Some((number, at)) = &step.timeout {
            work.timeout = seconds(*number, at, "`timeout`", self.ledger).or(work.timeout);
        }
        let mut required = self.required(step);
        let mut gate = GateSketch { description: step.title.clone(), ..GateSketch::work(&step.gate, work) };
        let words = if step.decision_key.is_some() || !step.decisions.is_empty() {
            self.decided(&mut gate, steps, step, traffic)
        } else {
            self.judged(&mut gate, steps, index, traffic, &mut required);
            Vec::new()
        };
        let outputs = self.outputs(step, index, traffic, &required, &words);
        let instructions = step.input.as_ref().map(|(text, at)| {
            self.ledger.converted(at, "`brief.instructions`");
            self.instructions(text, at, steps, index, traffic)
        });
        if let Some(work) = gate.worked() {
            work.outputs = outputs;
            work.brief.instructions = instructions;
        }
        gate
    }

    /// Returns the keys without which a step is not done.
    fn required(&mut self, step: &Step) -> BTreeSet<String> {
        let Some((keys, at)) = &step.required_outputs else { return BTreeSet::new() };
        self.ledger.converted(at, "`required` of `outputs`");
        keys.iter().map(|key| names::key(&key.to_ascii_lowercase())).collect()
    }

    /// A gate whose decision says where the task goes. Returns its decisions.
    fn decided(&mut self, gate: &mut GateSketch, steps: &[Step], step: &Step, traffic: &Traffic) -> Vec<String> {
        let words: Vec<(String, Option<String>)> =
            names::decisions(step.decisions.iter().map(|decision| decision.value.as_str()));
        for (decision, (word, why)) in step.decisions.iter().zip(&words) {
            gate.routes.push((word.clone(), self.decision(steps, traffic, decision)));
            let back = if decision.back { " (back)" } else { "" };
            match why {
                Some(why) => self.ledger.converted(&decision.at, why.clone()),
                None => self.ledger.converted(&decision.at, format!("a route of that name{back}")),
            }
        }
        if let Some((key, at)) = &step.decision_key {
            self.ledger.converted(at, "`signal.key`; a reply without it counts as a failure of the step, as there");
            let signal = json!({"key": key, "missing": "failed"});
            if let Some(work) = gate.worked() {
                work.signal = Some(signal);
            }
        }
        gate.on_failure = Some(RouteSketch::to(&step.gate));
        if let Some((_, at)) = &step.expects {
            self.ledger.dropped(at, "the decision is what the reply is read for");
        }
        self.bound(gate, step, step.max_retries.as_ref().or(step.on_fail.max_retries.as_ref()));
        if let Some((_, at)) = step.on_fail.max_retries.as_ref().filter(|_| step.max_retries.is_some()) {
            self.ledger.dropped(at, "the gate has one limit, and `max_retries` of the step says it");
        }
        if let Some((target, at)) = &step.on_fail.retry_step
            && let Some(target) = traffic.entry(target)
        {
            gate.on_failure = Some(RouteSketch::to(target));
            self.ledger.converted(at, "`onFailure`");
        }
        words.into_iter().map(|(word, _)| word).collect()
    }

    fn decision(&mut self, steps: &[Step], traffic: &Traffic, decision: &Decision) -> RouteSketch {
        let Some((target, at)) = &decision.target else { return RouteSketch::default() };
        let mut route = RouteSketch::to(traffic.entry(target).unwrap_or_default());
        if *at != decision.at {
            self.ledger.converted(at, "`to` of the route");
        }
        if let Some((keys, at)) = &decision.clear {
            let sayers =
                keys.iter().flat_map(|key| traffic.sayers.get(&key.to_ascii_lowercase()).into_iter().flatten());
            let gates: BTreeSet<usize> = sayers.copied().collect();
            route.clear = gates.into_iter().map(|index| steps[index].gate.clone()).collect();
            match route.clear.as_slice() {
                [] => self.ledger.dropped(at, "no step says any of these keys"),
                _ => {
                    self.ledger
                        .converted(at, "`clear`, by the gates that say these keys: all that they handed on goes");
                }
            }
        }
        route
    }

    /// A gate that passes or fails.
    fn judged(
        &mut self,
        gate: &mut GateSketch,
        steps: &[Step],
        index: usize,
        traffic: &Traffic,
        required: &mut BTreeSet<String>,
    ) {
        let step = &steps[index];
        let sends_back = step.on_fail.retry_step.as_ref().filter(|(target, _)| *target != step.foreign);
        let expects = step.expects.as_ref().and_then(|(text, at)| self.expected(text, at, required));
        let fails = expects.is_some() || step.max_retries.is_some() || step.on_fail.escalate_to.is_some();
        if let Some((target, at)) = sends_back {
            let target = traffic.entry(target).unwrap_or_default();
            self.ledger.converted(at, format!("`needs_review` and `onFailure` lead back to `{target}`"));
            gate.routes.push(("needs_review".to_owned(), RouteSketch::to(&target)));
            gate.on_failure = Some(RouteSketch::to(target));
            if let Some((_, at)) = step.max_retries.as_ref().filter(|_| step.on_fail.max_retries.is_some()) {
                self.ledger.dropped(at, "a failure leads back by `on_fail`, and `max_retries` there is its limit");
            }
        } else if fails || step.on_fail.retry_step.is_some() {
            gate.on_failure = Some(RouteSketch::to(&step.gate));
            if let Some((_, at)) = &step.on_fail.retry_step {
                self.ledger.converted(at, "`onFailure` to the gate itself");
            }
        }
        if let Some(work) = gate.worked() {
            work.can_reject = sends_back.is_some();
            work.signal = expects.map(|text| match sends_back {
                Some(_) => json!({"expects": text}),
                None => json!({"expects": text, "missing": "failed"}),
            });
        }
        let limit = match sends_back {
            Some(_) => step.on_fail.max_retries.as_ref().or(step.max_retries.as_ref()),
            None => step.max_retries.as_ref().or(step.on_fail.max_retries.as_ref()),
        };
        if gate.on_failure.is_some() {
            self.bound(gate, step, limit);
        }
    }

    /// Returns the line that a reply must have. A key alone (`TIER:`) asks for a value and judges none.
    fn expected(&mut self, text: &str, at: &At, required: &mut BTreeSet<String>) -> Option<String> {
        let line = text.trim();
        let (_, value) = line.split_once(':').unwrap_or((line, line));
        match key_of(line) {
            Some(key) if value.trim().is_empty() && key == STATUS => {
                self.ledger.dropped(at, "any `STATUS` will do there, so nothing is judged by it");
                None
            }
            Some(key) if value.trim().is_empty() => {
                self.ledger.converted(at, format!("the output `{key}` is required: the reply must bring it"));
                required.insert(names::key(&key));
                None
            }
            _ if line.is_empty() => {
                self.ledger.dropped(at, "it says nothing");
                None
            }
            _ if line.contains(['\n', '`', '<']) || line.starts_with('>') || line.len() > LONGEST_LINE => {
                self.ledger.lost(at, "a verdict is one plain line here, and this is none");
                None
            }
            _ => {
                self.ledger.converted(at, "`signal.expects`; a reply without that line does not pass");
                Some(line.to_owned())
            }
        }
    }

    /// How often, and what then.
    fn bound(&mut self, gate: &mut GateSketch, step: &Step, limit: Option<&(u64, At)>) {
        if let Some((number, at)) = limit {
            gate.max_retries = Some(*number);
            self.ledger.converted(
                at,
                format!("`maxRetries: {number}`: both count how often it is done again, so {} runs in all", number + 1),
            );
        } else {
            self.ledger.supplied(
                format!("steps.{}.max_retries", step.foreign),
                "not given: the step may be done again 3 times, which is the default here",
            );
        }
        gate.on_exhausted = Some(match &step.on_fail.escalate_to {
            Some((whom, at)) => {
                let role = names::plain(whom, "human");
                self.ledger.converted(
                    at,
                    format!("`onExhausted: {{escalateTo: {role}}}`: there the run fails and nobody can go on; here `{role}` can"),
                );
                self.roles.add_people(&role, Some("Decides what agents could not settle"));
                ExhaustedSketch::EscalateTo(role)
            }
            None => ExhaustedSketch::To("$fail".to_owned()),
        });
    }

    /// Returns what the gate hands on: the keys that somebody reads, and those it must bring.
    fn outputs(
        &mut self,
        step: &Step,
        index: usize,
        traffic: &Traffic,
        required: &BTreeSet<String>,
        words: &[String],
    ) -> Option<Value> {
        let allowed: Option<BTreeSet<String>> = step.output_keys.as_ref().map(|(keys, at)| {
            self.ledger.converted(at, "the properties of `outputs`: anything else is not handed on");
            keys.iter().map(|key| names::key(&key.to_ascii_lowercase())).filter(|key| key != STATUS).collect()
        });
        let read = traffic.said[index].iter().filter(|key| traffic.read.contains(*key)).cloned();
        let keys: BTreeSet<String> = match allowed {
            Some(allowed) => allowed,
            None => read.collect(),
        };
        let keys: BTreeSet<String> = keys.into_iter().chain(required.iter().cloned()).collect();
        if keys.is_empty() {
            return None;
        }
        let properties = |first: Option<(&str, Value)>| {
            let own = keys.iter().map(|key| (key.as_str(), json!({"type": "string"})));
            first.into_iter().chain(own).map(|(key, value)| (key.to_owned(), value)).collect::<Map<String, Value>>()
        };
        if words.is_empty() {
            let mut shape = Map::new();
            shape.insert("type".to_owned(), json!("object"));
            shape.insert("properties".to_owned(), Value::Object(properties(None)));
            if !required.is_empty() {
                shape.insert("required".to_owned(), json!(required));
            }
            return Some(Value::Object(shape));
        }
        let variant = |word: &String| {
            let required: Vec<&str> = ["$status"].into_iter().chain(required.iter().map(String::as_str)).collect();
            json!({"properties": properties(Some(("$status", json!({"const": word})))), "required": required})
        };
        Some(json!({"oneOf": words.iter().map(variant).collect::<Vec<Value>>()}))
    }

    fn instructions(&mut self, text: &str, at: &At, steps: &[Step], index: usize, traffic: &Traffic) -> String {
        let mut told: BTreeMap<String, String> = BTreeMap::new();
        let mut inputs = BTreeSet::new();
        let context = &self.sketch.input;
        let tagged = slots(text).any(|slot| slot.starts_with("if ") || slot.starts_with("range "));
        let text = rewritten(text, |inner| {
            if inner == "task" {
                return Slot::Name("task".to_owned());
            }
            if inner == "run_id" {
                told.insert(inner.to_owned(), "`{{task.id}}`".to_owned());
                return Slot::Name("task.id".to_owned());
            }
            if let Some(step) = inner.strip_prefix("steps.") {
                let (step, part) = step.rsplit_once('.').unwrap_or((step, "output"));
                let Some(gate) = traffic.gate(steps, step) else {
                    told.insert(inner.to_owned(), "left as it stands: there is no such step".to_owned());
                    return Slot::Literal;
                };
                let name = if part == "summary" { format!("{gate}.summary") } else { gate };
                told.insert(inner.to_owned(), format!("`{{{{{name}}}}}`"));
                return Slot::Name(name);
            }
            if !is_bare(inner) || (tagged && matches!(inner, "end" | "else")) {
                told.insert(inner.to_owned(), "left as it stands: it is no key".to_owned());
                return Slot::Literal;
            }
            let key =
                if context.contains_key(inner) { inner.to_owned() } else { names::key(&inner.to_ascii_lowercase()) };
            let sayers = traffic.sayers.get(&key).map(Vec::as_slice).unwrap_or_default();
            let before = sayers.iter().rev().find(|sayer| **sayer < index);
            if before.is_none() && !context.contains_key(&key) {
                inputs.insert(key.clone());
            }
            // A gate's own name means all that it handed on.
            if traffic.places.contains_key(&key)
                && let Some(sayer) = before.or(sayers.first())
            {
                return Slot::Name(format!("{}.{key}", steps[*sayer].gate));
            }
            Slot::Name(key)
        });
        for (slot, became) in told {
            let at = At { path: format!("{}: {{{{{slot}}}}}", at.path), ..at.clone() };
            self.ledger.converted(&at, became);
        }
        for key in inputs {
            let why = if traffic.sayers.contains_key(&key) {
                "only said later, so it is empty the first time"
            } else {
                "nobody says this key: it comes with the task, or stays empty"
            };
            self.ledger.supplied(format!("context.input.{key}"), why);
            self.sketch.input.insert(key, json!(""));
        }
        tidy(&text)
    }

    /// A step with a condition becomes two gates: one that asks, and the work.
    fn ask(&mut self, steps: &[Step], index: usize, traffic: &Traffic) -> Option<Ask> {
        let (condition, at) = steps[index].condition.as_ref()?;
        let asked = key_of(condition.trim()).zip(condition.split_once(':').map(|(_, value)| value.trim()));
        let sayer = asked.as_ref().and_then(|(key, _)| {
            let sayers = traffic.sayers.get(key)?;
            sayers.iter().rev().find(|sayer| **sayer < index)
        });
        let (Some((key, value)), Some(sayer)) = (asked, sayer) else {
            self.ledger.lost(at, "a condition that is no `KEY: value` of an earlier step's reply");
            return None;
        };
        let id = self.gate_names.invent(&format!("{}-if", steps[index].gate));
        self.ledger.converted(at, format!("the gate `{id}` before it, of `type: condition`"));
        let when = format!("context[{}].{key}.startsWith({})", json!(steps[*sayer].gate), json!(value));
        Some(Ask { id, when })
    }
}

/// The question before a step.
struct Ask {
    id: String,
    when: String,
}

impl Ask {
    fn gate(&self, step: &str, next: Option<String>) -> GateSketch {
        let otherwise = RouteSketch::to(next.unwrap_or_else(|| "$end".to_owned()));
        GateSketch {
            id: self.id.clone(),
            kind: KindSketch::Condition,
            when: Some(self.when.clone()),
            routes: vec![("true".to_owned(), RouteSketch::to(step)), ("false".to_owned(), otherwise)],
            ..GateSketch::default()
        }
    }
}

impl Traffic {
    fn of(steps: &[Step]) -> Self {
        let mut said = Vec::with_capacity(steps.len());
        let mut sayers: HashMap<String, Vec<usize>> = HashMap::new();
        let mut read: BTreeSet<String> = BTreeSet::new();
        for (index, step) in steps.iter().enumerate() {
            let input = step.input.as_ref().map_or("", |(text, _)| text.as_str());
            let mut keys = asked_for(input);
            keys.extend(step.output_keys.iter().flat_map(|(keys, _)| keys).map(|key| key.to_ascii_lowercase()));
            keys.extend(step.required_outputs.iter().flat_map(|(keys, _)| keys).map(|key| key.to_ascii_lowercase()));
            keys.extend(step.decision_key.iter().map(|(key, _)| key.to_ascii_lowercase()));
            keys.extend(step.expects.iter().filter_map(|(text, _)| key_of(text.trim())));
            keys.remove(STATUS);
            let keys: BTreeSet<String> = keys.iter().map(|key| names::key(key)).collect();
            for key in &keys {
                sayers.entry(key.clone()).or_default().push(index);
            }
            said.push(keys);
            read.extend(slots(input).filter(|slot| is_bare(slot)).map(|slot| names::key(&slot.to_ascii_lowercase())));
            read.extend(step.condition.iter().filter_map(|(text, _)| key_of(text.trim())));
        }
        let entries = steps.iter().map(|step| step.gate.clone()).collect();
        Self { said, sayers, read, places: places(steps), entries }
    }

    /// Returns the gate that a route to a step leads to.
    fn entry(&self, foreign: &str) -> Option<String> {
        Some(self.entries[*self.places.get(foreign)?].clone())
    }

    /// Returns the gate that a step became.
    fn gate(&self, steps: &[Step], foreign: &str) -> Option<String> {
        Some(steps[*self.places.get(foreign)?].gate.clone())
    }
}

/// Tells whether outputs declare a key, in any variant.
fn declares(outputs: &Value, key: &str) -> bool {
    let own = |shape: &Value| shape["properties"].get(key).is_some();
    own(outputs) || outputs["oneOf"].as_array().is_some_and(|variants| variants.iter().any(own))
}
