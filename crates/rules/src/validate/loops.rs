//! Checks the loop of a gate, and the rounds of a workflow.

use super::checker::RuleChecker;
use crate::condition::Condition;
use crate::workflow::rules::deciding_names;
use aof_domain::{ConfigPlace, Exhausted, ForEach, GateKind, Target, did_you_mean, listed};

impl RuleChecker<'_> {
    /// Checks the loop of the gate, if it has one.
    pub(crate) fn for_each(&mut self) {
        let gate = self.gate;
        let Some(each) = gate.for_each() else { return };
        if gate.detour {
            let message = format!("gate `{}` is a detour, and a detour has no `forEach`", gate.id);
            let help = "let the gate with the loop stand on the line, and name this one in its `verifyEach`";
            self.error("loop_at_detour", "forEach", message, help);
        }
        if gate.duty().is_some_and(|duty| duty.outputs.names().contains(&"items")) {
            let message = format!(
                "gate `{}` hands on `items`, where its loop keeps the outputs of each item",
                gate.id
            );
            self.error("loop_hands_on_items", "outputs", message, "call it otherwise");
        }
        self.list(each);
        self.verification(each);
    }

    /// Checks that the list can be handed on.
    fn list(&mut self, each: &ForEach) {
        let mut path = each.path();
        let (Some(of), Some(name)) = (path.next(), path.next()) else { return };
        let context = &self.workflow.context;
        if of == "input" {
            if let Some(input) = context.input.as_ref().filter(|input| !input.contains_key(name)) {
                let message = format!("a task does not begin with `{name}`");
                let help = did_you_mean(name, input.keys().map(String::as_str))
                    .unwrap_or_else(|| format!("add `{name}` to `context.input`"));
                self.error("unknown_list", "forEach", message, help);
            }
            return;
        }
        let others = self.workflow.gates.iter().filter(|gate| gate.id != self.gate.id);
        let names: Vec<&str> = others.map(|gate| gate.id.as_str()).collect();
        let found = self.workflow.gates.iter().find(|gate| gate.id.as_str() == of);
        let Some(found) = found.filter(|gate| gate.id != self.gate.id) else {
            let message = format!("no other gate of the workflow is called `{of}`");
            let help = did_you_mean(of, names.iter().copied())
                .unwrap_or_else(|| format!("name one of {}, or `input`", listed(&names)));
            self.error("unknown_list", "forEach", message, help);
            return;
        };
        let declared = found.duty().map(|duty| duty.outputs.names()).unwrap_or_default();
        let is_closed = found.duty().is_some_and(|duty| !super::texts::is_open(duty));
        if is_closed && !declared.contains(&name) {
            let message = format!("gate `{of}` does not hand on `{name}`");
            let help = did_you_mean(name, declared.iter().copied())
                .unwrap_or_else(|| format!("it hands on {}", listed(&declared)));
            self.error("unknown_list", "forEach", message, help);
        }
    }

    /// Checks the gate that judges each item.
    fn verification(&mut self, each: &ForEach) {
        let Some(id) = &each.verify_each else { return };
        if !self.known_gate(id, None, "verifyEach") {
            return;
        }
        let Some((_, verify)) = self.workflow.gate(id) else { return };
        if !verify.detour || !matches!(verify.kind, GateKind::Work(_)) {
            let message = format!(
                "gate `{id}` stands on the line: tasks would come to it without an item, too"
            );
            let help = "let it be a gate with a `role` and `detour: true`";
            self.error("loop_verifies_on_line", "verifyEach", message, help);
        }
    }

    /// Checks and compiles the condition that ends the rounds.
    pub(crate) fn rounds(&mut self) {
        let Some(repeat) = &self.workflow.repeat else { return };
        let name = self.workflow.name.clone();
        match Condition::compile(&repeat.until, &deciding_names()) {
            Ok(condition) => drop(self.conditions.until.insert(name.clone(), condition)),
            Err(faults) => {
                let at = ConfigPlace::Workflow { workflow: name.clone(), field: "repeat.until" };
                self.condition_errors(&at, faults);
            }
        }
        let Exhausted::Route(Target::Gate(to)) = &repeat.on_exhausted else { return };
        if self.workflow.gate(to).is_none() {
            let names: Vec<&str> = self.workflow.gates.iter().map(|one| one.id.as_str()).collect();
            let help = did_you_mean(to.as_str(), names.iter().copied())
                .unwrap_or_else(|| format!("name one of {}", listed(&names)));
            let message = format!("there is no gate `{to}` in workflow `{name}`");
            self.workflow_error("unknown_gate", "repeat.onExhausted", message, help);
        }
    }
}
