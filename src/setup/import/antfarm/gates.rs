//! From steps to gates: one each, and one that asks before a step with a condition; how each is passed, how often it may be tried,
//! and what then.

use std::collections::BTreeSet;

use serde_json::json;

use super::keys::{KeyUse, STATUS, key_of};
use super::outputs::{asked_keys, instructions, outputs};
use super::steps::{AntfarmStep, StepDecision};
use super::{ForeignAgent, seconds};
use crate::setup::import::names::{self, Names};
use crate::setup::import::record::Said;
use crate::setup::import::report::ImportReport;
use crate::setup::import::workflow_draft::{ExhaustedDraft, GateDraft, RouteDraft, WorkflowDraft};

/// The longest line that a reply is looked through for, in bytes.
const LONGEST_LINE: usize = 200;

/// What the whole workflow is built with.
pub(crate) struct GateBuilder<'a, 'r> {
    draft: &'a mut WorkflowDraft,
    steps: &'a [AntfarmStep<'r>],
    agents: &'a [ForeignAgent],
    report: &'r ImportReport<'r>,
    role_names: Names,
    keys: KeyUse<'a>,
}

impl<'a, 'r> GateBuilder<'a, 'r> {
    pub(crate) fn new(
        draft: &'a mut WorkflowDraft,
        steps: &'a [AntfarmStep<'r>],
        agents: &'a [ForeignAgent],
        report: &'r ImportReport<'r>,
    ) -> Self {
        let keys = KeyUse::of(steps);
        Self { draft, steps, agents, report, role_names: Names::default(), keys }
    }

    pub(crate) fn build(mut self) {
        let mut gate_names = Names::default();
        for step in self.steps {
            let _ = gate_names.invent(&step.gate);
        }
        let conditions: Vec<Option<GateDraft>> =
            (0..self.steps.len()).map(|index| self.condition(index, &mut gate_names)).collect();
        for (entry, condition) in self.keys.entries.iter_mut().zip(&conditions) {
            if let Some(condition) = condition {
                entry.clone_from(&condition.id);
            }
        }
        for (index, condition) in conditions.into_iter().enumerate() {
            if let Some(mut condition) = condition {
                let next = self.keys.entries.get(index + 1).map_or("$end", String::as_str);
                condition.route("true", RouteDraft::to(&self.steps[index].gate));
                condition.route("false", RouteDraft::to(next));
                self.draft.gates.push(condition);
            }
            let gate = self.gate(index);
            self.draft.gates.push(gate);
        }
        self.draft.protect_the_rest();
    }

    /// Returns the gate that asks before a step with a condition.
    fn condition(&self, index: usize, gate_names: &mut Names) -> Option<GateDraft> {
        let step = &self.steps[index];
        let Said { value: condition, at, .. } = step.condition.as_ref()?;
        let asked = key_of(condition.trim()).zip(condition.split_once(':'));
        let found = asked.and_then(|(key, (_, value))| {
            let sayer = self.keys.sayers(&key).iter().rev().find(|sayer| **sayer < index)?;
            Some((key, value.trim(), *sayer))
        });
        let Some((key, value, sayer)) = found else {
            at.lost("a condition that is no `KEY: value` of an earlier step's reply");
            return None;
        };
        let id = gate_names.invent(&format!("{}-if", step.gate));
        at.converted(format!("the gate `{id}` before it, of `type: condition`"));
        let gate = json!(self.steps[sayer].gate);
        let when = format!("context[{gate}].{key}.startsWith({})", json!(value));
        Some(GateDraft { id, kind: Some("condition"), when: Some(when), ..GateDraft::default() })
    }

    fn role(&mut self, step: &AntfarmStep<'_>) -> String {
        let field = || format!("steps.{}.agent", step.foreign);
        let Some(agent) = &step.agent else {
            let why = format!("the step names no agent: its role is called `{}`", step.gate);
            self.report.added(field(), why);
            self.draft.roles.add(&step.gate, None);
            return step.gate.clone();
        };
        if let Some(role) = self.role_names.get(agent) {
            return role.to_owned();
        }
        let (role, why) = self.role_names.add(agent, "agent");
        if let Some(why) = why {
            self.report.added(field(), why);
        }
        let known = self.agents.iter().find(|known| known.id == *agent);
        self.draft.roles.add(&role, known.and_then(|known| known.description.as_deref()));
        role
    }

    fn gate(&mut self, index: usize) -> GateDraft {
        let step = &self.steps[index];
        let role = self.role(step);
        let mut gate = GateDraft {
            id: step.gate.clone(),
            role,
            description: step.title.clone(),
            ..GateDraft::default()
        };
        let known = self.agents.iter().find(|known| Some(&known.id) == step.agent.as_ref());
        let own = step.timeout.as_ref().and_then(|said| seconds(said, "`run: {timeout}`"));
        gate.run.timeout = own.or_else(|| known?.timeout.clone());
        gate.run.model.clone_from(&step.model);
        let mut required = BTreeSet::new();
        if let Some(list) = &step.required_outputs {
            list.at.converted("`required` of `outputs`");
            required = asked_keys(list);
        }
        let words = if step.decision_key.is_some() || !step.decisions.is_empty() {
            self.decided(&mut gate, step)
        } else {
            self.judged(&mut gate, step, &mut required);
            Vec::new()
        };
        gate.outputs = outputs(step, index, &self.keys, &required, &words);
        if let Some(input) = &step.input {
            input.at.converted("`brief.instructions`");
            let context = &mut self.draft.context.input;
            let text = instructions(input, self.steps, index, &self.keys, context);
            gate.brief.instructions = Some(text);
        }
        gate
    }

    /// A gate whose decision says where the task goes. Returns its decisions.
    fn decided(&mut self, gate: &mut GateDraft, step: &AntfarmStep<'_>) -> Vec<String> {
        let words: Vec<(String, Option<String>)> =
            names::decisions(step.decisions.iter().map(|decision| decision.value.as_str()));
        for (decision, (word, why)) in step.decisions.iter().zip(&words) {
            gate.route(word, self.route(decision));
            let back = if decision.back { " (back)" } else { "" };
            let usual = || format!("a route of that name{back}");
            decision.at.converted(why.clone().unwrap_or_else(usual));
        }
        if let Some(key) = &step.decision_key {
            key.at.converted(
                "`signal.key`; a reply without it counts as a failure of the step, as there",
            );
            gate.signal = Some(json!({"key": key.value, "missing": "failed"}));
        }
        gate.on_failure = Some(RouteDraft::to(&step.gate));
        if let Some(expects) = &step.expects {
            expects.at.dropped("the decision is what the reply is read for");
        }
        let of_failure = step.on_fail.max_retries.as_ref();
        self.bound(gate, step, step.max_retries.as_ref().or(of_failure));
        if let Some(limit) = of_failure.filter(|_| step.max_retries.is_some()) {
            limit.at.dropped("the gate has one limit, and `max_retries` of the step says it");
        }
        if let Some(Said { value, at, .. }) = &step.on_fail.retry_step
            && let Some(target) = self.keys.entry(value)
        {
            gate.on_failure = Some(RouteDraft::to(target));
            at.converted("`onFailure`");
        }
        words.into_iter().map(|(word, _)| word).collect()
    }

    fn route(&self, decision: &StepDecision<'_>) -> RouteDraft {
        let Some(target) = &decision.target else { return RouteDraft::default() };
        let mut route = RouteDraft::to(self.keys.entry(&target.value).unwrap_or_default());
        if target.at.path != decision.at.path {
            target.at.converted("`to` of the route");
        }
        if let Some(Said { value: keys, at, .. }) = &decision.clear {
            let sayers = keys.iter().flat_map(|key| self.keys.sayers(&key.to_ascii_lowercase()));
            let gates: BTreeSet<usize> = sayers.copied().collect();
            route.clear = gates.into_iter().map(|index| self.steps[index].gate.clone()).collect();
            if route.clear.is_empty() {
                at.dropped("no step says any of these keys");
            } else {
                at.converted(
                    "`clear`, by the gates that say these keys: all that they handed on goes",
                );
            }
        }
        route
    }

    /// A gate that passes or fails.
    fn judged(
        &mut self,
        gate: &mut GateDraft,
        step: &AntfarmStep<'_>,
        required: &mut BTreeSet<String>,
    ) {
        let on_fail = &step.on_fail;
        let sends_back = on_fail.retry_step.as_ref().filter(|back| back.value != step.foreign);
        let expects = step.expects.as_ref().and_then(|said| expected(said, required));
        let fails =
            expects.is_some() || step.max_retries.is_some() || on_fail.escalate_to.is_some();
        if let Some(Said { value, at, .. }) = sends_back {
            let target = self.keys.entry(value).unwrap_or_default();
            at.converted(format!("`needs_review` and `onFailure` lead back to `{target}`"));
            gate.route("needs_review", RouteDraft::to(&target));
            gate.on_failure = Some(RouteDraft::to(target));
            if let Some(limit) = step.max_retries.as_ref().filter(|_| on_fail.max_retries.is_some())
            {
                limit.at.dropped(
                    "a failure leads back by `on_fail`, and `max_retries` there is its limit",
                );
            }
        } else if fails || on_fail.retry_step.is_some() {
            gate.on_failure = Some(RouteDraft::to(&step.gate));
            if let Some(back) = &on_fail.retry_step {
                back.at.converted("`onFailure` to the gate itself");
            }
        }
        gate.can_reject = sends_back.is_some();
        gate.signal = expects.map(|text| match sends_back {
            Some(_) => json!({"expects": text}),
            None => json!({"expects": text, "missing": "failed"}),
        });
        let (of_step, of_failure) = (step.max_retries.as_ref(), on_fail.max_retries.as_ref());
        let limit = match sends_back {
            Some(_) => of_failure.or(of_step),
            None => of_step.or(of_failure),
        };
        if gate.on_failure.is_some() {
            self.bound(gate, step, limit);
        }
    }

    /// Says how often the gate may be tried, and what then.
    fn bound(
        &mut self,
        gate: &mut GateDraft,
        step: &AntfarmStep<'_>,
        limit: Option<&Said<'_, u64>>,
    ) {
        if let Some(Said { value: number, at, .. }) = limit {
            gate.max_retries = Some(*number);
            at.converted(format!(
                "`maxRetries: {number}`: both count how often it is done again, so {} runs in all",
                number + 1
            ));
        } else {
            self.report.added(
                format!("steps.{}.max_retries", step.foreign),
                "not given: the step may be done again 3 times, which is the default here",
            );
        }
        gate.on_exhausted = Some(if let Some(Said { value, at, .. }) = &step.on_fail.escalate_to {
            let role = names::plain(value, "human");
            at.converted(format!("`onExhausted: {{escalateTo: {role}}}`: there the run fails and nobody can go on; here `{role}` can"));
            self.draft.roles.add_people(&role, Some("Decides what agents could not settle"));
            ExhaustedDraft::EscalateTo(role)
        } else {
            ExhaustedDraft::To("$fail".to_owned())
        });
    }
}

/// Returns the line that a reply must have. A key alone (`TIER:`) asks for a value and judges none.
fn expected(said: &Said<'_>, required: &mut BTreeSet<String>) -> Option<String> {
    let at = &said.at;
    let line = said.value.trim();
    let (_, value) = line.split_once(':').unwrap_or((line, line));
    let is_plain =
        !line.contains(['\n', '`', '<']) && !line.starts_with('>') && line.len() <= LONGEST_LINE;
    match key_of(line) {
        Some(key) if value.trim().is_empty() && key == STATUS => {
            at.dropped("any `STATUS` will do there, so nothing is judged by it");
        }
        Some(key) if value.trim().is_empty() => {
            at.converted(format!("the output `{key}` is required: the reply must bring it"));
            required.insert(names::key(&key));
        }
        _ if line.is_empty() => at.dropped("it says nothing"),
        _ if !is_plain => at.lost("a verdict is one plain line here, and this is none"),
        _ => {
            at.converted("`signal.expects`; a reply without that line does not pass");
            return Some(line.to_owned());
        }
    }
    None
}
