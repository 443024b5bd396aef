//! From steps to gates: one each, and one that asks before a step with a condition.

use serde_json::json;

use super::handed_on::declares;
use super::keys::key_of;
use super::steps::Step;
use super::traffic::Traffic;
use super::{Agent, seconds};
use crate::setup::import::import::Roles;
use crate::setup::import::names::Names;
use crate::setup::import::report::Ledger;
use crate::setup::import::workflow_draft::{
    GateSketch, KindSketch, RouteSketch, Sketch, WorkSketch,
};

/// What the whole workflow is built with.
pub(crate) struct Gates<'a, 'l, 's> {
    pub(crate) sketch: &'a mut Sketch,
    pub(crate) roles: &'a mut Roles,
    agents: &'a [Agent],
    pub(crate) ledger: &'l mut Ledger<'s>,
    role_names: Names,
    gate_names: Names,
}

impl<'a, 'l, 's> Gates<'a, 'l, 's> {
    pub(crate) fn new(
        sketch: &'a mut Sketch,
        roles: &'a mut Roles,
        agents: &'a [Agent],
        ledger: &'l mut Ledger<'s>,
    ) -> Self {
        Self {
            sketch,
            roles,
            agents,
            ledger,
            role_names: Names::default(),
            gate_names: Names::default(),
        }
    }

    pub(crate) fn build(mut self, steps: &[Step]) {
        for step in steps {
            let _ = self.gate_names.invent(&step.gate);
        }
        let mut traffic = Traffic::of(steps);
        let asks: Vec<Option<Ask>> =
            (0..steps.len()).map(|index| self.ask(steps, index, &traffic)).collect();
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
            KindSketch::Work(work) => {
                work.outputs.as_ref().is_some_and(|outputs| declares(outputs, key))
            }
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
        work.run.timeout = known.and_then(|known| known.timeout.clone());
        if let Some((number, at)) = &step.timeout {
            work.run.timeout =
                seconds(*number, at, "`run: {timeout}`", self.ledger).or(work.run.timeout);
        }
        work.run.model.clone_from(&step.model);
        let mut required = self.required(step);
        let mut gate =
            GateSketch { description: step.title.clone(), ..GateSketch::work(&step.gate, work) };
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

    /// A step with a condition becomes two gates: one that asks, and the work.
    fn ask(&mut self, steps: &[Step], index: usize, traffic: &Traffic) -> Option<Ask> {
        let (condition, at) = steps[index].condition.as_ref()?;
        let asked =
            key_of(condition.trim()).zip(condition.split_once(':').map(|(_, value)| value.trim()));
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
        let when =
            format!("context[{}].{key}.startsWith({})", json!(steps[*sayer].gate), json!(value));
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
            routes: vec![
                ("true".to_owned(), RouteSketch::to(step)),
                ("false".to_owned(), otherwise),
            ],
            ..GateSketch::default()
        }
    }
}
