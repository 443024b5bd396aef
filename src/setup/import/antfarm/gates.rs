//! From steps to gates: one gate for each step, and a gate for the condition of a step, before it. Also when each gate is passed, how
//! often it may be tried, and what follows when it may not be tried again.
//!
//! Counts: `max_retries` of a step and of `on_fail` is the number of times that something is done *again* (so max + 1 runs). That of a
//! decision is compared with the counter of the step that it sends back to. Both are what `maxRetries` means here.

use std::collections::BTreeSet;

use serde_json::json;

use super::agents::{ForeignAgent, read_run};
use super::loops::{LIST_BYTES, StepLoops};
use super::replies::{KeyUse, expected_line, instructions, key_of, outputs, read_keys};
use crate::domain::FieldFate::{Converted, Dropped, Kept, Lost};
use crate::domain::listed;
use crate::setup::import::names;
use crate::setup::import::names::Names;
use crate::setup::import::record::{FieldPlace, FieldTable, Record};
use crate::setup::import::steps::{ForeignStep, StepList};
use crate::setup::import::workflow_draft::{
    END_COMPLETES, ExhaustedDraft, GateDraft, RouteDraft, WorkflowDraft,
};

const OF_STEP: FieldTable = &[
    ("agent", Converted, "`role`"),
    ("name", Converted, "`description`"),
    ("description", Kept, ""),
    ("input", Converted, "`brief.instructions`"),
    ("expects", Dropped, "the decision is what the reply is read for"),
    (
        "decision_key",
        Converted,
        "`signal.key`; a reply without it counts as a failure of the step, as there",
    ),
    ("max_retries", Converted, RETRIES),
    ("on_fail", Converted, "`onExhausted`"),
    ("on_exhausted", Converted, "`onExhausted`"),
    ("output_keys", Converted, OUTPUTS),
    ("outputs", Converted, OUTPUTS),
    ("required_outputs", Converted, "`required` of `outputs`"),
    ("condition", Converted, "a gate before it, of `type: condition`"),
    ("loop", Dropped, "the step is not of `type: loop`, so it is done once, as there"),
    ("timeoutSeconds", Converted, "`run: {timeout}`"),
    ("timeout_minutes", Converted, "`run: {timeout}`, unless `timeoutSeconds` says it"),
    ("model", Converted, "`run: {model}`; `default` is the program's own model"),
    ("delivery", Dropped, "whom to tell is in project.yaml"),
    ("notify", Dropped, "whom to tell is in project.yaml"),
    ("pass_outputs", Dropped, PASSED_ON),
];
/// A step that waits for a person.
const OF_PEOPLE: FieldTable = &[
    ("agent", Dropped, "the step waits for a person"),
    ("expects", Dropped, "a person says the outcome"),
    ("decision_key", Dropped, "a person says the decision"),
];
/// A step that waits for a person, and leads back to no step.
const OF_PEOPLE_ALONE: FieldTable = &[
    ("retry_step", Dropped, "a person who does not approve says `blocked`"),
    ("on_fail", Dropped, "a person who does not approve says `blocked`"),
    ("max_retries", Dropped, NOT_AGAIN),
    ("on_exhausted", Dropped, NOT_AGAIN),
    ("escalate_to", Lost, NOT_AGAIN),
];
const OF_FAILURE: FieldTable = &[
    ("retry_step", Converted, "where `needs_review` and `onFailure` lead"),
    ("max_retries", Converted, RETRIES),
    ("escalate_to", Converted, ESCALATED),
    ("on_exhausted", Converted, "`onExhausted`"),
];
const OF_DECISION: FieldTable = &[
    ("next_step", Converted, "`to` of the route"),
    ("retry_step", Converted, "`to` of the route"),
    (
        "clear_context",
        Converted,
        "`clear`, by the gates that say these keys: all that they handed on goes",
    ),
    ("pass_outputs", Dropped, PASSED_ON),
];
const RETRIES: &str = "`maxRetries`: both count how often it is done again";
const NOT_AGAIN: &str = "nothing is done again unless `retry_step` names another step";
const OUTPUTS: &str = "the properties of `outputs`: anything else is not handed on";
const ESCALATED: &str =
    "`onExhausted: {escalateTo}`: there the run fails and nobody can go on; here that role can";
const PASSED_ON: &str = "not needed: what a gate handed on can be named anywhere after it";

/// The parts from which the whole workflow is built.
pub(crate) struct AntfarmGateBuilder<'a, 'n> {
    draft: &'a mut WorkflowDraft,
    steps: &'a StepList<'n>,
    agents: &'a [ForeignAgent],
    role_names: Names,
    keys: KeyUse,
    /// The gate at which a task on its way to each step arrives: the gate for the condition, if the step has one.
    entries: Vec<String>,
    /// The loops of steps.
    loops: StepLoops,
}

/// The reaction to the failure of a step.
#[derive(Default)]
struct OnFail {
    retry_step: Option<usize>,
    max_retries: Option<u64>,
    escalate_to: Option<String>,
}

impl<'a, 'n> AntfarmGateBuilder<'a, 'n> {
    pub(crate) fn new(
        draft: &'a mut WorkflowDraft,
        steps: &'a StepList<'n>,
        agents: &'a [ForeignAgent],
    ) -> Self {
        let mut keys = KeyUse::of(steps, &draft.context.input);
        let loops = StepLoops::read(steps, &mut keys, &draft.context.input);
        let entries = steps.steps.iter().map(|step| step.gate.clone()).collect();
        let role_names = Names::default();
        Self { draft, steps, agents, role_names, keys, entries, loops }
    }

    pub(crate) fn build(mut self) {
        let steps = self.steps;
        if !self.loops.by_step.is_empty() {
            self.draft.context.max_bytes = Some(LIST_BYTES);
            let note = "a list may be larger than the 4096 bytes that a value usually has";
            steps.steps[0].record.report.added("context.maxBytes", note);
        }
        let mut names = Names::default();
        for step in &steps.steps {
            names.invent(&step.gate);
        }
        let mut conditions = Vec::new();
        for (index, step) in steps.steps.iter().enumerate() {
            let when = self.condition(index, &step.record);
            let id = |when| (names.invent(&format!("{}-if", step.gate)), when);
            conditions.push(when.map(id));
            if let Some((id, _)) = &conditions[index] {
                self.entries[index].clone_from(id);
            }
        }
        for (index, condition) in conditions.into_iter().enumerate() {
            if let Some((id, when)) = condition {
                let kind = Some("condition");
                let mut gate = GateDraft { id, kind, when: Some(when), ..GateDraft::default() };
                let mut after = index + 1..self.entries.len();
                let next = after.find(|place| self.loops.verified_by(*place).is_none());
                let next = next.map_or("$end", |next| self.entries[next].as_str());
                gate.route("true", RouteDraft::to(&steps.steps[index].gate));
                gate.route("false", RouteDraft::to(next));
                self.draft.gates.push(gate);
            }
            let gate = self.gate(index, &steps.steps[index]);
            self.draft.gates.push(gate);
        }
        for (key, writers) in self.keys.shared() {
            let gates = writers.iter().map(|writer| &steps.steps[*writer].gate);
            let note = format!("{} write it, and each replaces the other's value", listed(gates));
            steps.steps[writers[0]].record.report.added(format!("context.{key}"), note);
        }
        self.draft.set_protected_keys();
    }

    /// Returns the expression of the gate for a step's condition.
    fn condition(&self, index: usize, record: &Record<'_>) -> Option<String> {
        let condition = record.text("condition")?;
        if self.loops.verified_by(index).is_some() {
            record.note("condition", Lost, "each item is verified, without a condition");
            return None;
        }
        let compared = key_of(condition.trim()).zip(condition.split_once(':'));
        let compared = compared.and_then(|(key, (_, value))| {
            Some((self.keys.writer_before(&key, index)?, key, value.trim()))
        });
        let Some((writer, key, value)) = compared else {
            let note = "a condition that is no `KEY: value` of an earlier step's reply";
            record.note("condition", Lost, note);
            return None;
        };
        let gate = json!(self.steps.steps[writer].gate);
        Some(format!("context[{gate}].{key}.startsWith({})", json!(value)))
    }

    fn role(&mut self, step: &ForeignStep<'_>) -> (String, Option<&'a ForeignAgent>) {
        let Some(agent) = step.record.text("agent") else {
            let note = format!("the step names no agent: its role is called `{}`", step.gate);
            step.record.added("agent", note);
            self.draft.roles.add(&step.gate, None, false);
            return (step.gate.clone(), None);
        };
        let known = self.agents.iter().find(|known| known.id == agent);
        if let Some(role) = self.role_names.get(&agent) {
            return (role.to_owned(), known);
        }
        let (role, why) = self.role_names.add(&agent, "agent");
        if let Some(why) = why {
            step.record.added("agent", why);
        }
        let description = known.and_then(|known| known.description.as_deref());
        self.draft.roles.add(&role, description, false);
        (role, known)
    }

    /// Returns a role for the people who approve at a step.
    fn people(&mut self, step: &ForeignStep<'_>) -> String {
        let note = "`requireHuman: true`: the step waits for a person, and has a role of its own";
        step.record.note("gate", Converted, note);
        let role = self.role_names.invent(&step.gate);
        self.draft.roles.add(&role, Some("Approves what was done"), true);
        role
    }

    fn gate(&mut self, index: usize, step: &ForeignStep<'_>) -> GateDraft {
        let record = &step.record;
        let is_for_people = record.flag("gate") == Some(true);
        let (role, agent) = if is_for_people { (self.people(step), None) } else { self.role(step) };
        let description = record.text("name").or_else(|| record.text("description"));
        let id = step.gate.clone();
        let mut gate = GateDraft { id, role, description, ..GateDraft::default() };
        gate.run = read_run(record);
        gate.run.timeout = gate.run.timeout.or_else(|| agent?.run.timeout.clone());
        gate.run.model = gate.run.model.or_else(|| agent?.run.model.clone());
        self.check_order(index, record);
        let mut required = read_keys(record, &["required_outputs"]).unwrap_or_default();
        let lists = self.loops.by_step.values().filter(|list| list.writer == Some(index));
        required.extend(lists.map(|list| list.key.clone()));
        if let Some(list) = self.loops.by_step.get(&index) {
            let writer = list.writer.map_or("input", |writer| &self.steps.steps[writer].gate);
            gate.for_each = Some(format!("{writer}.{}", list.key));
            gate.max_items = Some(list.max_items);
            gate.verify_each = list.verify.map(|verify| self.steps.steps[verify].gate.clone());
        }
        gate.detour = self.loops.verified_by(index).is_some();
        gate.require_human = is_for_people;
        let on_fail = self.on_fail(index, record);
        let decides = record.has("on_decision") || record.has("decision_key") && !is_for_people;
        let words = if decides {
            self.read_decision_gate(&mut gate, index, record, &on_fail)
        } else {
            self.read_verdict_gate(&mut gate, index, record, &on_fail, &mut required);
            Vec::new()
        };
        if is_for_people {
            // People do not fail, and their outcomes are not read from a text.
            (gate.signal, gate.on_failure) = (None, None);
        }
        gate.outputs = outputs(&self.keys, index, record, &required, &words);
        if let Some(input) = record.text("input") {
            let slots = self.loops.slots(self.steps, index);
            let context = &mut self.draft.context.input;
            let (steps, keys) = (self.steps, &self.keys);
            gate.brief.instructions =
                Some(instructions(&input, (index, slots), record, steps, keys, context));
        }
        let of_people = if is_for_people { OF_PEOPLE } else { &[] };
        let alone = self.unread_of_people(index, record, &on_fail);
        record.finish(&[of_people, alone, OF_STEP]);
        gate
    }

    /// Reads a gate whose decision determines the route of the task. Returns its decisions.
    fn read_decision_gate(
        &mut self,
        gate: &mut GateDraft,
        index: usize,
        record: &Record<'_>,
        on_fail: &OnFail,
    ) -> Vec<String> {
        if let Some(key) = record.text("decision_key") {
            if !record.has("on_decision") {
                let message = "`decision_key` names a decision, and there is no `on_decision` to say where it leads";
                let help = "add `on_decision`, or remove `decision_key`";
                record.at("decision_key").fault("missing_field", message, help);
            }
            gate.signal = Some(json!({"key": key, "missing": "failed"}));
        }
        let mut decisions: Vec<(&str, FieldPlace<'_>, RouteDraft)> = Vec::new();
        for (value, place, node) in
            record.entries("on_decision", "a mapping of decisions and where they lead")
        {
            let is_same = |known: &&(&str, _, _)| known.0.eq_ignore_ascii_case(value);
            if let Some((first, ..)) = decisions.iter().find(is_same) {
                let message =
                    format!("`{value}` and `{first}` are one decision: they differ only in case");
                place.fault("ambiguous_decision", message, "keep one of the two");
                continue;
            }
            // The short form is the id of the next step.
            let route = match node.as_str() {
                Some(target) => {
                    let target =
                        self.loops.target(self.steps, index, (record, "on_decision"), target);
                    target.map(|target| RouteDraft::to(&self.entries[target]))
                }
                None => self.decision(index, &place, node),
            };
            decisions.extend(route.map(|route| (value, place, route)));
        }
        let words = names::decisions(decisions.iter().map(|(value, ..)| *value));
        for ((_, place, route), (word, why)) in decisions.into_iter().zip(&words) {
            place.note(Converted, why.clone().unwrap_or_else(|| "a route of that name".to_owned()));
            gate.route(word, route);
        }
        let back = on_fail.retry_step.map_or(&gate.id, |target| &self.entries[target]);
        gate.on_failure = Some(RouteDraft::to(back));
        self.limit_retries(
            gate,
            record,
            on_fail,
            record.count("max_retries").or(on_fail.max_retries),
        );
        words.into_iter().map(|(word, _)| word).collect()
    }

    /// Returns the route of a decision.
    fn decision(
        &self,
        index: usize,
        place: &FieldPlace<'_>,
        node: &'n crate::files::yaml::Node<'static>,
    ) -> Option<RouteDraft> {
        let inner = Record::of(node, &place.path, "what a decision does", place.report)?;
        if inner.has("next_step") && inner.has("retry_step") {
            let message = format!("`{}` leads forward and back at once", place.path);
            inner.at("retry_step").fault("ambiguous_decision", message, "keep one of the two");
        }
        let key = if inner.has("next_step") { "next_step" } else { "retry_step" };
        let Some(target) = inner.text(key) else {
            let message = format!("`{}` has neither `next_step` nor `retry_step`", place.path);
            place.fault("missing_field", message, "");
            return None;
        };
        let target = self.loops.target(self.steps, index, (&inner, key), &target)?;
        if key == "retry_step" && target >= index {
            self.refuse_forward(&inner, target);
        }
        let mut route = RouteDraft::to(&self.entries[target]);
        let keys = inner.texts("clear_context").unwrap_or_default();
        let writers = keys.iter().flat_map(|key| self.keys.writers(&key.to_ascii_lowercase()));
        let writers: BTreeSet<usize> = writers.copied().collect();
        route.clear = writers.iter().map(|index| self.steps.steps[*index].gate.clone()).collect();
        if !keys.is_empty() && route.clear.is_empty() {
            inner.note("clear_context", Dropped, "no step says any of these keys");
        }
        inner.finish(&[OF_DECISION]);
        Some(route)
    }

    fn refuse_forward(&self, record: &Record<'_>, target: usize) {
        let place = record.at("retry_step");
        let target = &self.steps.steps[target].foreign;
        let message = format!("`{}` sends back, and `{target}` comes later", place.path);
        place.fault("not_backward", message, "name an earlier step");
    }

    /// Reads a gate that passes or fails.
    fn read_verdict_gate(
        &mut self,
        gate: &mut GateDraft,
        index: usize,
        record: &Record<'_>,
        on_fail: &OnFail,
        required: &mut BTreeSet<String>,
    ) {
        let of_step = record.count("max_retries");
        let verified = self.loops.verified_by(index).map(|(place, _)| place);
        let back = on_fail.retry_step.filter(|target| *target != index);
        if let Some(place) = verified.filter(|_| back.is_none()) {
            let to = &self.steps.steps[place].gate;
            record.added("on_fail", format!("not given: an item that fails goes back to `{to}`"));
        }
        let sends_back = back.or(verified);
        let is_for_people = gate.require_human;
        let expects = (!is_for_people).then(|| expected_line(record, required)).flatten();
        let is_tried_again = on_fail.retry_step.is_some()
            || expects.is_some()
            || of_step.or(on_fail.max_retries).is_some()
            || on_fail.escalate_to.is_some();
        if let Some(target) = sends_back {
            gate.route("needs_review", RouteDraft::to(&self.entries[target]));
            gate.on_failure = Some(RouteDraft::to(&self.entries[target]));
        } else if is_tried_again && !is_for_people {
            gate.on_failure = Some(RouteDraft::to(&gate.id));
        }
        gate.can_reject = sends_back.is_some();
        gate.signal = expects.map(|text| match sends_back {
            Some(_) => json!({"expects": text}),
            None => json!({"expects": text, "missing": "failed"}),
        });
        let limit = match sends_back {
            Some(_) => on_fail.max_retries.or(of_step),
            None => of_step.or(on_fail.max_retries),
        };
        if gate.signal.is_none() && !is_for_people {
            record.added("run.exit", END_COMPLETES);
            gate.run.end_completes();
        }
        if gate.on_failure.is_some() {
            self.limit_retries(gate, record, on_fail, limit);
        }
    }

    /// Sets how often the gate may be tried, and the reaction to the last failure.
    fn limit_retries(
        &mut self,
        gate: &mut GateDraft,
        record: &Record<'_>,
        on_fail: &OnFail,
        limit: Option<u64>,
    ) {
        // In antfarm the default is 2; for decisions it is 3, which is the default here as well.
        gate.max_retries = limit.or((!record.has("decision_key")).then_some(2));
        if limit.is_none() {
            let times = gate.max_retries.unwrap_or(3);
            record.added("max_retries", format!("not given: {times}, which is the default there"));
        }
        gate.on_exhausted = Some(if let Some(role) = &on_fail.escalate_to {
            let role = names::plain(role, "human");
            self.draft.roles.add(&role, Some("Decides what agents could not settle"), true);
            ExhaustedDraft::EscalateTo(role)
        } else {
            ExhaustedDraft::To("$fail".to_owned())
        });
    }

    /// Returns the fields that have no meaning if a person's "no" leads to no other step.
    fn unread_of_people(&self, index: usize, record: &Record<'_>, on_fail: &OnFail) -> FieldTable {
        let leads_back = on_fail.retry_step.is_some_and(|target| target != index)
            || self.loops.verified_by(index).is_some()
            || record.has("on_decision");
        if record.flag("gate") == Some(true) && !leads_back { OF_PEOPLE_ALONE } else { &[] }
    }

    fn on_fail(&self, index: usize, record: &Record<'_>) -> OnFail {
        let mut on_fail = OnFail { escalate_to: read_escalation(record), ..OnFail::default() };
        match record.get("on_fail").map(|node| node.as_str()) {
            None => {}
            Some(Some("escalate_to_human" | "escalate")) => {
                on_fail.escalate_to = on_fail.escalate_to.or(Some("human".to_owned()));
            }
            Some(Some("retry" | "fail" | "abort" | "stop")) => {
                let note = "a failed step is done again by `max_retries`, and then fails, anyway";
                record.note("on_fail", Dropped, note);
            }
            Some(Some(word)) => {
                let note = format!("`{word}` is nothing to do about a failure that is known here");
                record.note("on_fail", Lost, note);
            }
            Some(None) => {
                let Some(inner) = record.record("on_fail") else { return on_fail };
                let back = inner.text("retry_step");
                let place = (&inner, "retry_step");
                on_fail.retry_step =
                    back.and_then(|back| self.loops.target(self.steps, index, place, &back));
                if let Some(target) = on_fail.retry_step.filter(|target| *target > index) {
                    self.refuse_forward(&inner, target);
                }
                on_fail.max_retries = inner.count("max_retries");
                let role = on_fail.escalate_to.take().or_else(|| read_escalation(&inner));
                on_fail.escalate_to = role.or_else(|| inner.text("escalate_to"));
                inner.finish(&[self.unread_of_people(index, record, &on_fail), OF_FAILURE]);
            }
        }
        on_fail
    }

    /// Checks that `depends_on` names only earlier steps: the order of the list then ensures the same.
    fn check_order(&self, index: usize, record: &Record<'_>) {
        for field in ["depends_on", "dependsOn"] {
            let Some(names) = record.texts(field) else { continue };
            let places: Vec<Option<usize>> =
                names.iter().map(|name| self.steps.place(name)).collect();
            if places.contains(&None) {
                let message =
                    format!("`{field}` names a step that is not there: {}", listed(names));
                record.at(field).fault("unknown_gate", message, "");
            } else if places.iter().flatten().any(|place| *place >= index) {
                record.note(field, Lost, "it waits for a step that comes later in the list");
            } else {
                record.note(field, Converted, "the order of the gates");
            }
        }
        match record.text("type").as_deref() {
            None | Some("loop") => {}
            Some("single" | "agent" | "step") => {
                record.note("type", Dropped, "what a gate is anyway");
            }
            Some(other) => {
                let note = format!("`{other}` is no kind of step that is known here");
                record.note("type", Lost, note);
            }
        }
    }
}

/// Returns the role that is asked when the retries are used up, according to `on_exhausted`.
fn read_escalation(record: &Record<'_>) -> Option<String> {
    match record.get("on_exhausted")?.as_str() {
        Some("escalate_to_human" | "escalate") => Some("human".to_owned()),
        Some("fail" | "abort" | "stop") => None,
        Some(word) => {
            let note =
                format!("`{word}` is nothing to do about used-up retries that is known here");
            record.note("on_exhausted", Lost, note);
            None
        }
        None => {
            let inner = record.record("on_exhausted")?;
            inner.finish(&[OF_FAILURE]);
            inner.text("escalate_to")
        }
    }
}
