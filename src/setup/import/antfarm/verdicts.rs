//! How a gate is passed, how often it may be tried, and what then.

use std::collections::BTreeSet;

use serde_json::json;

use super::gates::Gates;
use super::keys::{STATUS, key_of};
use super::steps::{Decision, Step};
use super::traffic::Traffic;
use crate::setup::import::names;
use crate::setup::import::report::At;
use crate::setup::import::workflow_draft::{ExhaustedSketch, GateSketch, RouteSketch};

/// The longest line that a reply is looked through for, in bytes.
const LONGEST_LINE: usize = 200;

impl Gates<'_, '_, '_> {
    /// A gate whose decision says where the task goes. Returns its decisions.
    pub(crate) fn decided(
        &mut self,
        gate: &mut GateSketch,
        steps: &[Step],
        step: &Step,
        traffic: &Traffic,
    ) -> Vec<String> {
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
            self.ledger.converted(
                at,
                "`signal.key`; a reply without it counts as a failure of the step, as there",
            );
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
        if let Some((_, at)) =
            step.on_fail.max_retries.as_ref().filter(|_| step.max_retries.is_some())
        {
            self.ledger
                .dropped(at, "the gate has one limit, and `max_retries` of the step says it");
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
            let sayers = keys.iter().flat_map(|key| {
                traffic.sayers.get(&key.to_ascii_lowercase()).into_iter().flatten()
            });
            let gates: BTreeSet<usize> = sayers.copied().collect();
            route.clear = gates.into_iter().map(|index| steps[index].gate.clone()).collect();
            match route.clear.as_slice() {
                [] => self.ledger.dropped(at, "no step says any of these keys"),
                _ => {
                    self.ledger.converted(
                        at,
                        "`clear`, by the gates that say these keys: all that they handed on goes",
                    );
                }
            }
        }
        route
    }

    /// A gate that passes or fails.
    pub(crate) fn judged(
        &mut self,
        gate: &mut GateSketch,
        steps: &[Step],
        index: usize,
        traffic: &Traffic,
        required: &mut BTreeSet<String>,
    ) {
        let step = &steps[index];
        let sends_back =
            step.on_fail.retry_step.as_ref().filter(|(target, _)| *target != step.foreign);
        let expects =
            step.expects.as_ref().and_then(|(text, at)| self.expected(text, at, required));
        let fails =
            expects.is_some() || step.max_retries.is_some() || step.on_fail.escalate_to.is_some();
        if let Some((target, at)) = sends_back {
            let target = traffic.entry(target).unwrap_or_default();
            self.ledger
                .converted(at, format!("`needs_review` and `onFailure` lead back to `{target}`"));
            gate.routes.push(("needs_review".to_owned(), RouteSketch::to(&target)));
            gate.on_failure = Some(RouteSketch::to(target));
            if let Some((_, at)) =
                step.max_retries.as_ref().filter(|_| step.on_fail.max_retries.is_some())
            {
                self.ledger.dropped(
                    at,
                    "a failure leads back by `on_fail`, and `max_retries` there is its limit",
                );
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
                self.ledger.converted(
                    at,
                    format!("the output `{key}` is required: the reply must bring it"),
                );
                required.insert(names::key(&key));
                None
            }
            _ if line.is_empty() => {
                self.ledger.dropped(at, "it says nothing");
                None
            }
            _ if line.contains(['\n', '`', '<'])
                || line.starts_with('>')
                || line.len() > LONGEST_LINE =>
            {
                self.ledger.lost(at, "a verdict is one plain line here, and this is none");
                None
            }
            _ => {
                self.ledger
                    .converted(at, "`signal.expects`; a reply without that line does not pass");
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
}
