//! Reads openagents files: steps that name the next one, in one or several workflows.
//!
//! In openagents, `max_retries` is the number of tries in all, so `maxRetries` is one less. Without a route for errors, an error there
//! takes the route of a success; here it fails the task.

use serde_json::json;

use super::names::literal;
use super::names::{self, Names};
use super::record::{FieldTable, Record};
use super::steps::{ForeignStep, StepList, Unnamed};
use super::workflow_draft::{
    END_COMPLETES, ExhaustedDraft, GateDraft, ReadWorkflow, RolesNeeded, RouteDraft, WorkflowDraft,
    period, tidy,
};
use crate::domain::FieldFate::{Converted, Dropped, Kept, Lost};
use crate::domain::Period;

/// The role that decides about approvals if the file names none.
const APPROVER: &str = "approver";
/// The target that ends a workflow.
const END: &str = "end";
/// The fields by which a step leads to another.
const ROUTES: [&str; 6] =
    ["on_success", "on_error", "on_approve", "on_reject", "on_true", "on_false"];

const OF_FILE: FieldTable = &[
    ("default_workflow", Dropped, "`defaultWorkflow` of project.yaml says it; that file is yours"),
    ("workflows_dir", Dropped, "workflows are in `workflows/`"),
    ("*", Dropped, "no part of a workflow"),
];
const OF_WORKFLOW: FieldTable =
    &[("name", Dropped, "`id` is its name"), ("visible_to", Converted, "`visibleTo`")];
const OF_STEP: FieldTable = &[
    ("description", Kept, "as `description`"),
    ("name", Kept, "as `description`"),
    ("on_*", Dropped, "a step of this kind never goes that way"),
    (
        "max_retries",
        Converted,
        "`maxRetries` is one less: it counts tries, and again at each arrival; here all of a task are counted",
    ),
    ("retry_delay", Dropped, "only a step of one agent has a run of its own"),
    ("model", Dropped, "only a step of one agent has a run of its own"),
    ("timeout", Dropped, "only an agent or a person can be late"),
    ("message", Dropped, "only approvals show a message"),
];
const OF_AGENT: FieldTable = &[
    ("type", Dropped, "what a gate is anyway"),
    ("agent", Converted, "`role`"),
    ("timeout", Converted, "`run: {timeout}`"),
    ("model", Converted, "`run: {model}`"),
    ("retry_delay", Converted, "`run: {retry: {delay}}`, which doubles each time, up to 5m"),
];
const OF_APPROVAL: FieldTable = &[
    ("type", Converted, "`requireHuman: true`, with the decisions `approve` and `reject`"),
    ("approver", Converted, "`role`"),
    ("agent", Converted, "`role`"),
    ("role", Converted, "`role`"),
    ("message", Converted, "`brief.instructions`"),
    ("timeout", Converted, "`timeout`"),
    ("max_retries", Dropped, "a person is not tried again"),
    ("input", Dropped, "whoever decides sees the task with all that was said before"),
];
const OF_PARALLEL: FieldTable = &[
    ("type", Converted, "`type: fork`; it passes when every branch does"),
    ("agents", Converted, "`branches`, one for each agent"),
];
const OF_CONDITION: FieldTable = &[
    ("type", Kept, ""),
    ("condition", Kept, "as `when`"),
    ("expression", Kept, "as `when`"),
    ("when", Kept, "as `when`"),
    ("if", Kept, "as `when`"),
];

/// Returns the workflows of the file: the file is one, or has several under `workflows`.
pub(crate) fn read(top: &Record<'_>, stem: &str) -> Vec<ReadWorkflow> {
    let mut names = Names::default();
    if !top.has("workflows") {
        return workflow(top, None, stem, &mut names).into_iter().collect();
    }
    let workflows = top.workflows("workflows").into_iter();
    let found: Vec<ReadWorkflow> =
        workflows.filter_map(|(key, record)| workflow(&record, key, stem, &mut names)).collect();
    if found.is_empty() && !top.report.has_faults() {
        let message = "there is no workflow under `workflows`";
        top.at("workflows").fault("no_workflow", message, "");
    }
    top.finish(&[OF_FILE]);
    found
}

fn workflow(
    record: &Record<'_>,
    key: Option<&str>,
    stem: &str,
    names: &mut Names,
) -> Option<ReadWorkflow> {
    let name_key = if record.has("id") || key.is_some() { "id" } else { "name" };
    let mut draft = WorkflowDraft::begin(record, name_key, (key, stem), names);
    for name in record.texts("visible_to").unwrap_or_default() {
        let name = names::plain(&name, "agent");
        if !draft.visible_to.contains(&name) {
            draft.visible_to.push(name);
        }
    }
    for (key, place, node) in record.entries("context", "a mapping of keys and values") {
        place.note(Kept, "as `context.input`");
        draft.context.input.insert(names::key(key), node.to_value());
    }
    let steps = StepList::read(record, "id", Unnamed::IsRefused);
    record.finish(&[OF_WORKFLOW]);
    if steps.steps.is_empty() {
        return None;
    }
    let roles = &mut draft.roles;
    let mut builder = OpenagentsGateBuilder { roles, steps: &steps, agents: Names::default() };
    for (step, reached) in steps.steps.iter().zip(reachable(&steps)) {
        if reached {
            draft.gates.extend(builder.gate(step));
        } else {
            let note = "nothing leads to this step, so it never runs there either";
            step.record.note("id", Dropped, note);
            step.record.finish(&[&[("*", Dropped, "nothing leads to this step")]]);
        }
    }
    record.report.added("run.exit", END_COMPLETES);
    move_error_gates(&mut draft.gates);
    draft.drop_default_routes();
    Some(draft.finish())
}

/// Moves the gates that errors of forks lead to before these forks, because a fork only sends back. Every route is written out, so the
/// order of the list has no meaning; if it would begin with such a gate, a condition leads to the fork.
fn move_error_gates(gates: &mut Vec<GateDraft>) {
    let mut place = 0;
    while let Some(gate) = gates.get(place) {
        let failed = gate.routes.iter().find(|(outcome, _)| outcome == "needs_review");
        let target = failed.filter(|_| gate.kind == Some("fork")).map(|(_, route)| &route.to);
        let later = target.and_then(|to| gates[place..].iter().position(|gate| gate.id == *to));
        if let Some(later) = later.filter(|later| *later > 0) {
            if place == 0 {
                let (id, when) = (format!("{}-start", gate.id), Some("true".to_owned()));
                let kind = Some("condition");
                let mut start = GateDraft { id, kind, when, ..GateDraft::default() };
                for outcome in ["true", "false"] {
                    start.route(outcome, RouteDraft::to(&gate.id));
                }
                gates.insert(0, start);
                place = 1;
            }
            let target = gates.remove(place + later);
            gates.insert(place, target);
            place += 1;
        }
        place += 1;
    }
}

/// Returns, for each step, whether it can be reached from the first.
fn reachable(steps: &StepList<'_>) -> Vec<bool> {
    let mut reached = vec![false; steps.steps.len()];
    let mut open = vec![0];
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            let targets = ROUTES.iter().filter_map(|key| steps.steps[index].record.text(key));
            open.extend(targets.filter_map(|target| steps.place(&target)));
        }
    }
    reached
}

struct OpenagentsGateBuilder<'a, 'n> {
    roles: &'a mut RolesNeeded,
    steps: &'a StepList<'n>,
    agents: Names,
}

impl OpenagentsGateBuilder<'_, '_> {
    fn gate(&mut self, step: &ForeignStep<'_>) -> Option<GateDraft> {
        let record = &step.record;
        let description = record.text("description").or_else(|| record.text("name"));
        let mut gate = GateDraft { id: step.gate.clone(), description, ..GateDraft::default() };
        // A step without a type is an agent's, unless its fields show another kind.
        let kind = match record.text("type") {
            Some(kind) => kind,
            None if record.has("agents") => "parallel".to_owned(),
            None if record.has("on_approve") || record.has("on_reject") => "approval".to_owned(),
            None => "agent".to_owned(),
        };
        let of_kind = match kind.as_str() {
            "agent" => self.agent(&mut gate, step),
            "approval" => self.approval(&mut gate, step),
            "parallel" => self.parallel(&mut gate, step)?,
            "condition" => self.condition(&mut gate, step),
            other => {
                let message = format!("`{other}` is no kind of step");
                let help = "it is one of `agent`, `approval`, `parallel`, `condition`";
                record.value_at("type").fault("invalid_value", message, help);
                return None;
            }
        };
        record.finish(&[of_kind, OF_STEP]);
        Some(gate)
    }

    fn agent(&mut self, gate: &mut GateDraft, step: &ForeignStep<'_>) -> FieldTable {
        let record = &step.record;
        gate.role = if let Some(agent) = record.text("agent") {
            self.role(record, &agent)
        } else {
            let note = format!("the step names no agent: its role is called `{}`", step.gate);
            record.report.added(format!("{}.agent", step.foreign), note);
            self.roles.add(&step.gate, None, false);
            step.gate.clone()
        };
        gate.brief.instructions = self.input(step);
        let (success, failure) = self.success_and_failure(step);
        gate.route("complete", success);
        gate.on_failure = Some(RouteDraft::to(retries(gate, step, failure)));
        gate.run.timeout = period(record, "timeout");
        gate.run.model = record.text("model");
        gate.run.end_completes();
        // Without a delay, the runner uses its own.
        let delay = record.count("retry_delay").filter(|delay| *delay > 0);
        let delay = delay.map(|delay| match delay % 1000 {
            0 => Period::of_seconds(delay / 1000).to_string(),
            _ => format!("{delay}ms"),
        });
        gate.run.retry = delay.map(|delay| json!({"delay": delay}));
        OF_AGENT
    }

    fn approval(&mut self, gate: &mut GateDraft, step: &ForeignStep<'_>) -> FieldTable {
        let record = &step.record;
        let who = ["approver", "agent", "role"].into_iter().find_map(|key| record.text(key));
        gate.role = names::plain(who.as_deref().unwrap_or(APPROVER), APPROVER);
        gate.require_human = true;
        self.roles.add(&gate.role, Some("Decides where a person has to"), true);
        gate.brief.instructions = record.text("message").map(|text| tidy(&literal(&text)));
        gate.timeout = period(record, "timeout");
        gate.route("approve", self.success(step, &["on_approve", "on_success"]));
        let rejected = match self.route_target(step, &["on_reject", "on_error"], "") {
            Some(target) if target.is_empty() => RouteDraft::cancelled(),
            Some(target) => RouteDraft::to(target),
            None => {
                let note = "not given: there a no goes the way of a yes; here `reject` ends the task as cancelled";
                record.report.added(format!("{}.on_reject", step.foreign), note);
                RouteDraft::cancelled()
            }
        };
        gate.route("reject", rejected);
        OF_APPROVAL
    }

    fn parallel(&mut self, gate: &mut GateDraft, step: &ForeignStep<'_>) -> Option<FieldTable> {
        let record = &step.record;
        gate.kind = Some("fork");
        let instructions = self.input(step);
        let agents = record.texts("agents").unwrap_or_default();
        if agents.is_empty() {
            record.missing(format!("the parallel step `{}` has no `agents`", step.foreign));
            return None;
        }
        let mut ids = Names::default();
        for agent in agents {
            let role = self.role(record, &agent);
            let (id, _) = ids.add(&agent, "branch");
            let mut branch = GateDraft { id, role, can_reject: true, ..GateDraft::default() };
            branch.brief.instructions.clone_from(&instructions);
            branch.on_failure = Some(RouteDraft::to("$previous"));
            branch.run.end_completes();
            gate.branches.push(branch);
        }
        let (success, failure) = self.success_and_failure(step);
        let is_later = |other: &&ForeignStep<'_>| other.gate == step.gate || other.gate == failure;
        if self.steps.steps.iter().rfind(is_later).is_some_and(|last| last.gate == failure) {
            let note = "a task does not end with an error of a branch: from there it comes back to the branches";
            record.added("on_error", note);
        }
        gate.route("complete", success);
        let failure = retries(gate, step, failure);
        gate.route("needs_review", RouteDraft::to(failure));
        Some(OF_PARALLEL)
    }

    fn condition(&self, gate: &mut GateDraft, step: &ForeignStep<'_>) -> FieldTable {
        let record = &step.record;
        gate.kind = Some("condition");
        let keys = ["condition", "expression", "when", "if"];
        gate.when = keys.into_iter().find_map(|key| record.text(key));
        if gate.when.is_none() {
            record.note("id", Lost, "a condition that says nothing to judge");
            gate.when = Some("true".to_owned());
        }
        gate.route("true", self.success(step, &["on_true", "on_success"]));
        gate.route("false", self.success(step, &["on_false", "on_error"]));
        OF_CONDITION
    }

    /// Returns the target of the first existing field of these, and notes the field; `end` is used for the end of the workflow.
    fn route_target(&self, step: &ForeignStep<'_>, keys: &[&str], end: &str) -> Option<String> {
        let record = &step.record;
        let (key, foreign) = keys.iter().find_map(|key| Some((*key, record.text(key)?)))?;
        if foreign == END {
            let note = match end {
                "" => "ends the task as cancelled: a person said no".to_owned(),
                "$fail" => "`$fail`: what ends by an error has not succeeded".to_owned(),
                end => format!("leads to `{end}`"),
            };
            record.note(key, Converted, note);
            return Some(end.to_owned());
        }
        let gate = &self.steps.steps[self.steps.target(record, key, &foreign)?].gate;
        record.note(key, Converted, format!("leads to `{gate}`"));
        Some(gate.clone())
    }

    /// Returns the route of a success: without a field, to the end of the workflow.
    fn success(&self, step: &ForeignStep<'_>, keys: &[&str]) -> RouteDraft {
        RouteDraft::to(self.route_target(step, keys, "$end").unwrap_or_else(|| {
            let note = "not given, which ends the workflow: leads to `$end`";
            step.record.report.added(format!("{}.{}", step.foreign, keys[0]), note);
            "$end".to_owned()
        }))
    }

    /// Returns the route of a success and the target of a failure.
    fn success_and_failure(&self, step: &ForeignStep<'_>) -> (RouteDraft, String) {
        let success = self.success(step, &["on_success"]);
        let failure = self.route_target(step, &["on_error"], "$fail").unwrap_or_else(|| {
            let note = "not given: there an error goes the way of a success; here it fails the task (`$fail`)";
            step.record.report.added(format!("{}.on_error", step.foreign), note);
            "$fail".to_owned()
        });
        (success, failure)
    }

    fn role(&mut self, record: &Record<'_>, agent: &str) -> String {
        if let Some(role) = self.agents.get(agent) {
            return role.to_owned();
        }
        let (role, why) = self.agents.add(agent, "agent");
        if let Some(why) = why {
            record.report.added(format!("agent {agent}"), why);
        }
        self.roles.add(&role, None, false);
        role
    }

    /// Returns the input of a step: the result of another step, or a text.
    fn input(&self, step: &ForeignStep<'_>) -> Option<String> {
        let text = step.record.text("input")?;
        if let Some(gate) = self.steps.gate(&text) {
            let note = format!("`brief.instructions`: the result of `{gate}`");
            step.record.note("input", Converted, note);
            return Some(format!("Work from the result of `{gate}`:\n\n{{{{{gate}}}}}\n"));
        }
        let note = "`brief.instructions`: there is no step of that name, so it is a text";
        step.record.note("input", Converted, note);
        Some(tidy(&literal(&text)))
    }
}

/// Sets how often a gate is tried. Returns the target of a failure: the gate itself, as long as it may be tried again.
fn retries(gate: &mut GateDraft, step: &ForeignStep<'_>, failure: String) -> String {
    match step.record.count("max_retries") {
        Some(0) => {
            let place = step.record.value_at("max_retries");
            let message = format!("`{}` is how often a step is tried, so at least 1", place.path);
            place.fault("invalid_value", message, "");
            failure
        }
        None | Some(1) => failure,
        Some(tries) => {
            gate.max_retries = Some(tries - 1);
            gate.on_exhausted = Some(ExhaustedDraft::To(failure));
            step.gate.clone()
        }
    }
}
