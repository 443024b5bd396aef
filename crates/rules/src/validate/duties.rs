//! Checks the duty of a gate or a branch.

use super::checker::RuleChecker;
use crate::condition::Condition;
use crate::outputs::{Problem, judge_value};
use crate::workflow::rules::{condition_names, deciding_names};
use aof_domain::workflow::gate::Mark;
use aof_domain::workflow::shape::ShapeKind;
use aof_domain::{
    AgentId, Duty, Gate, GateKind, GateRun, Identity, OnConditionError, Outcome, Outputs, RoleId,
    Severity, Shape, Signal, Station, did_you_mean, listed,
};

impl RuleChecker<'_> {
    pub(crate) fn duty(&mut self, duty: &Duty) {
        self.known_role(&duty.role, "role");
        if let Some(role) = &duty.escalate_to {
            self.known_role(role, "escalateTo");
        }
        let human = duty.require_human || self.is_for_people(&duty.role);
        if human {
            self.people(duty);
        }
        self.escalation(duty, human);
        self.separation(duty);
        self.outputs(duty);
        self.run(duty, human);
        if let Some(signal) = &duty.signal {
            self.signal(signal);
        }
    }

    pub(crate) fn known_role(&mut self, role: &RoleId, field: &'static str) {
        if self.project.implicit_workflow || self.org.role(role).is_some() {
            return;
        }
        let names = || self.org.roles.iter().map(|(id, _)| id.as_str());
        let help = match did_you_mean(role.as_str(), names()) {
            Some(question) => format!("{question} the roles of org.yaml are {}", listed(names())),
            None if names().next().is_none() => "add it to `roles` in org.yaml".to_owned(),
            None => format!("add it to `roles` in org.yaml, or name one of {}", listed(names())),
        };
        let message = format!("there is no role `{role}` in org.yaml");
        self.error("unknown_role", field, message, help);
    }

    fn people(&mut self, duty: &Duty) {
        let id = &self.gate.id;
        if duty.can_skip {
            let message = format!("gate `{id}` is for people: it cannot be skipped by an outcome");
            let help = "remove `canSkip`; use `when` for tasks that need no approval";
            self.error("human_gate_skips", "canSkip", message, help);
        }
        let timeout = duty.timeout.or(self.workflow.timeout);
        if timeout.is_none() || duty.escalate_to.is_none() {
            let (lacks, help) = match timeout {
                None => (
                    "`timeout` and `escalateTo`",
                    "add both, as in `timeout: 1d` and `escalateTo: director`",
                ),
                Some(_) => ("`escalateTo`", "add it, as in `escalateTo: director`"),
            };
            let message = format!(
                "gate `{id}` waits for a person with no {lacks}: a task can stay there for ever"
            );
            self.warn("human_gate_waits", "id", message, help);
        }
        if self.lacks_people(&duty.role) {
            let agents = self.org.role(&duty.role).map(|role| listed(&role.agents));
            let agents = agents.unwrap_or_default();
            let message =
                format!("gate `{id}` is for people, and role `{}` has only {agents}", duty.role);
            let help = "add an agent whose id begins with `human-`";
            self.warn("human_gate_unstaffed", "role", message, help);
        }
    }

    fn escalation(&mut self, duty: &Duty, human: bool) {
        let (Some(role), id) = (&duty.escalate_to, &self.gate.id) else { return };
        if duty.timeout.or(self.workflow.timeout).is_none() {
            let help = "add one, as in `timeout: 2h`, or remove `escalateTo`";
            self.ignored("escalateTo", "the gate has no `timeout`", help);
        } else if *role == duty.role {
            let message = format!("gate `{id}` would escalate to its own role `{role}`");
            let help = "name the role that steps in when this one does not answer";
            self.error("escalates_to_itself", "escalateTo", message, help);
        } else if (human || self.is_for_people(role)) && self.lacks_people(role) {
            let message = format!(
                "gate `{id}` is for people, and role `{role}` has none: nobody could complete it then"
            );
            let help = "name a role with an agent whose id begins with `human-`";
            self.warn("no_person_steps_in", "escalateTo", message, help);
        }
    }

    fn is_for_people(&self, role: &RoleId) -> bool {
        self.org.role(role).is_some_and(|role| role.require_human)
    }

    /// Returns whether the role has agents, but no person.
    fn lacks_people(&self, role: &RoleId) -> bool {
        let agents = self.org.role(role).map(|role| role.agents.as_slice()).unwrap_or_default();
        !agents.is_empty() && !agents.iter().any(AgentId::is_human)
    }

    fn separation(&mut self, duty: &Duty) {
        let workflow = self.workflow;
        let works = |gate: &Gate| gate.kind != GateKind::Condition;
        for id in &duty.separate_from {
            let message = match workflow.gate(id) {
                Some((index, _)) if index == self.index => {
                    format!("gate `{id}` cannot be kept apart from itself")
                }
                Some((_, gate)) if works(gate) => continue,
                Some(_) => format!("nobody works at gate `{id}`: it decides by itself"),
                None => format!("there is no gate `{id}` in workflow `{}`", workflow.name),
            };
            let gate_id = &workflow.gates[self.index].id;
            let others = workflow.gates.iter().filter(|gate| works(gate) && gate.id != *gate_id);
            let names: Vec<&str> = others.map(|gate| gate.id.as_str()).collect();
            let help = did_you_mean(id.as_str(), names.iter().copied())
                .unwrap_or_else(|| format!("name one of {}", listed(names)));
            self.error("unknown_gate", "separateFrom", message, help);
        }
        if duty.separate_from.is_empty() && duty.separate_by == Identity::Session {
            self.ignored("separateFrom", "no gate is named", "name the gates");
        }
    }

    fn run(&mut self, duty: &Duty, human: bool) {
        let gate = self.gate;
        if human && duty.run != GateRun::default() {
            let message = format!("gate `{}` is for people: nothing is started there", gate.id);
            self.error("dead_field", "run", message, "remove `run`");
            return;
        }
        let tries_again = self.branch.is_none() && self.workflow.goes_back(gate, &Outcome::Failed);
        if tries_again && duty.run.limits.attempts.is_some() {
            let message = format!(
                "`onFailure` of gate `{}` tries again, so `run.attempts` would multiply the runs",
                gate.id
            );
            let help = "remove `attempts`: `maxRetries` says how often it is tried again";
            self.error("dead_field", "run", message, help);
        }
        let possible = gate.possible();
        if duty.run.looks_every().is_some() {
            if possible.iter().any(|outcome| outcome.as_str() == "wait") {
                let message = format!(
                    "`wait` is an outcome of gate `{}`, and means here that the program is started again",
                    gate.id
                );
                self.error("dead_field", "run", message, "rename the outcome");
            }
            if duty.timeout.is_none() && self.workflow.timeout.is_none() {
                let message = format!("gate `{}` may wait for ever: it has no time limit", gate.id);
                self.warn(
                    "waits_without_limit",
                    "run",
                    message,
                    "add `timeout: 7d`, and `escalateTo` a role of people",
                );
            }
        }
        for (status, outcome) in &duty.run.exit {
            if !possible.contains(outcome) {
                let message = format!(
                    "exit status {status} cannot mean `{outcome}`: gate `{}` has no such outcome",
                    gate.id
                );
                let help = did_you_mean(outcome.as_str(), possible.iter().map(Outcome::as_str))
                    .unwrap_or_else(|| format!("the outcomes here are {}", listed(&possible)));
                self.error("unknown_outcome", "run", message, help);
            }
        }
    }

    /// Compiles the condition of the gate or branch.
    pub(crate) fn condition(&mut self) {
        let gate = self.gate;
        let fails_open = gate.on_condition_error == OnConditionError::Skip;
        let Some(source) = &gate.when else {
            if !fails_open {
                let help = "remove it, or add a condition";
                self.ignored("onConditionError", "the gate has no `when`", help);
            }
            return;
        };
        let decides = gate.kind == GateKind::Condition;
        let names = if decides { deciding_names() } else { condition_names() };
        let at = self.place(None, "when");
        match Condition::compile(source, &names) {
            Ok(condition) => {
                let human = gate.duty().is_some_and(|duty| duty.require_human);
                if fails_open && (human || gate.can_reject()) {
                    let message = format!(
                        "if this condition fails to evaluate, gate `{}` is passed over",
                        gate.id
                    );
                    let help = "add `onConditionError: enter` so that nothing slips past it";
                    self.say(Severity::Note, "condition_fails_open", at, message, help);
                }
                let station = Station {
                    gate: self.workflow.gates[self.index].id.clone(),
                    branch: self.branch.map(|_| gate.id.clone()),
                };
                self.conditions.when.insert((self.workflow.name.clone(), station), condition);
            }
            Err(faults) => self.condition_errors(&at, faults),
        }
    }
}

impl RuleChecker<'_> {
    /// Checks the outputs: variants are for ways out, and every way out has one.
    pub(crate) fn outputs(&mut self, duty: &Duty) {
        let gate = self.gate;
        for (path, problem) in duty.outputs.shapes().flat_map(|shape| unsound(shape, "")) {
            let message = format!(
                "what is written for `{path}` is not what its own schema allows: {}",
                problem.message()
            );
            let help = "fix the `default`, `examples`, `const` or `enum`, or the schema";
            self.error("unsound_schema", "outputs", message, help);
        }
        let Outputs::Variants(variants) = &duty.outputs else { return };
        let mut exits = gate.possible();
        exits.retain(Outcome::judges);
        for variant in variants {
            let status = &variant.status;
            if exits.iter().any(|outcome| outcome.as_str().eq_ignore_ascii_case(status)) {
                continue;
            }
            let (id, status) = (&gate.id, status.escape_debug());
            let help = did_you_mean(&variant.status, exits.iter().map(Outcome::as_str));
            let help = help.unwrap_or_else(|| {
                let words = listed(&exits);
                format!(
                    "its outcomes are {words}; add a route for `{status}`, or remove the variant"
                )
            });
            let message =
                format!("gate `{id}` has no outcome `{status}` that this variant could be for");
            self.error("unknown_variant", "outputs", message, help);
        }
        // A rejection by default has no outputs.
        for outcome in exits.iter().filter(|outcome| **outcome != Outcome::NeedsReview) {
            if duty.outputs.shape(outcome.as_str()).is_none() {
                let message = format!("`outputs` does not say what comes with `{outcome}`");
                let help = format!(
                    "add a variant, as in `- {{properties: {{$status: {{const: {outcome}}}}}}}`"
                );
                self.error("missing_variant", "outputs", message, help);
            }
        }
    }

    /// Checks the signal: a verdict must stand for an outcome that the gate has.
    pub(crate) fn signal(&mut self, signal: &Signal) {
        let gate = self.gate;
        let possible = gate.possible();
        let words = listed(&possible);
        let means = |word: &str| possible.iter().any(|known| known.is_meant_by(word));
        let named =
            |word: &str| possible.iter().any(|known| known.as_str().eq_ignore_ascii_case(word));
        let mut meanings: Vec<(&'static str, Outcome)> = Vec::new();
        match &signal.mark {
            Mark::Tag { pass, fail, .. } => {
                let general = pass.is_some()
                    || fail.is_some()
                    || !gate.exits.decides()
                    || ["pass", "fail"].into_iter().any(means);
                if general && !named("pass") {
                    meanings.push(("signal.pass", pass.clone().unwrap_or(Outcome::Complete)));
                }
                if general && !named("fail") {
                    meanings.push(("signal.fail", fail.clone().unwrap_or(Outcome::NeedsReview)));
                }
            }
            Mark::Expects(_) => meanings.push(("signal.expects", Outcome::Complete)),
            Mark::Key(_) | Mark::Status => {}
        }
        meanings.extend(signal.missing.clone().map(|outcome| ("signal.missing", outcome)));
        meanings.extend(signal.words.iter().map(|(_, outcome)| ("signal.words", outcome.clone())));
        for (field, outcome) in meanings {
            if means(outcome.as_str()) {
                continue;
            }
            let word = field.trim_start_matches("signal.");
            let help = match word {
                "pass" | "fail" => format!(
                    "say what it stands for, as in `signal: {{tag: gate, pass: .., fail: ..}}`, with {words}"
                ),
                "expects" => {
                    "use `key` at gates that decide, as in `signal: {key: DECISION}`".to_owned()
                }
                _ => format!("name one of {words}"),
            };
            let message = format!(
                "`{word}` stands for `{outcome}`, which is no outcome of gate `{}`",
                gate.id
            );
            self.error("unknown_outcome", field, message, help);
        }
        if signal.missing.is_none() && !gate.can_reject() {
            let message = format!(
                "no verdict would mean a rejection, and gate `{}` does not send back",
                gate.id
            );
            let help = format!(
                "say what no verdict means, as in `signal: {{.., missing: OUTCOME}}`, with {words}"
            );
            self.error("missing_field", "signal", message, help);
        }
        if signal.missing == Some(Outcome::Complete) {
            let help = "name an outcome that holds the task or sends it back";
            self.error("fails_open", "signal.missing", "work without a verdict would pass", help);
        }
    }
}

/// Returns the values in a schema that do not fit their own shape, with their places.
fn unsound(shape: &Shape, path: &str) -> Vec<(String, Problem)> {
    let bare = Shape { values: Vec::new(), ..shape.clone() };
    let written = shape.about.default.iter().chain(&shape.about.examples);
    let written = written.map(|value| (value, shape));
    let written = written.chain(shape.values.iter().map(|value| (value, &bare)));
    let first = |(value, of): (_, &Shape)| judge_value(of, value).into_iter().next();
    let mut found: Vec<(String, Problem)> =
        written.filter_map(first).map(|problem| (path.to_owned(), problem)).collect();
    for kind in &shape.kinds {
        match kind {
            ShapeKind::Object(fields) => {
                for (name, inner) in &fields.properties {
                    let dot = if path.is_empty() { "" } else { "." };
                    found.extend(unsound(inner, &format!("{path}{dot}{name}")));
                }
            }
            ShapeKind::List(list) => {
                let items = list.items.iter();
                found.extend(items.flat_map(|items| unsound(items, &format!("{path}[]"))));
            }
            _ => {}
        }
    }
    found.extend(shape.any_of.iter().flat_map(|inner| unsound(inner, path)));
    found
}
