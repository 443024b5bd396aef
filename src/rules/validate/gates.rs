//! What can be wrong with a gate by itself.

use super::finding::Checker;
use super::finding::Finding;
use crate::domain::{
    AgentId, Duty, Gate, GateKind, Identity, OnConditionError, Place, RoleId, Severity, listed,
    nearest,
};
use crate::rules::condition::Condition;
use crate::rules::workflow::rules::{CONDITION_NAMES, DECIDING_NAMES};

impl Checker<'_> {
    pub(crate) fn identity(&mut self, index: usize, gate: &Gate) {
        let first = self.workflow.gates.iter().position(|other| other.id == gate.id);
        if let Some(first) = first.filter(|first| *first < index) {
            let ordinal = first + 1;
            self.error(
                "duplicate_gate",
                self.at(index, "id"),
                format!(
                    "gate `{}` is defined twice: it is also number {ordinal} of this list",
                    gate.id
                ),
                "give each gate of a workflow a name of its own",
            );
        }
    }

    pub(crate) fn role(&mut self, index: usize, duty: &Duty) {
        if self.project.implicit_workflow {
            return;
        }
        self.known_role(&duty.role, self.at(index, "role"));
        if let Some(role) = &duty.escalate_to {
            self.known_role(role, self.at(index, "escalateTo"));
        }
    }

    pub(crate) fn known_role(&mut self, role: &RoleId, place: Place) {
        if self.org.role(role).is_some() {
            return;
        }
        let names = || self.org.roles.iter().map(|(id, _)| id.as_str());
        let help = match nearest(role.as_str(), names()) {
            Some(name) => {
                format!("did you mean `{name}`? the roles of org.yaml are {}", listed(names()))
            }
            None => format!("add it to `roles` in org.yaml, or name one of {}", listed(names())),
        };
        self.error("unknown_role", place, format!("there is no role `{role}` in org.yaml"), help);
    }

    pub(crate) fn people(&mut self, index: usize, gate: &Gate, duty: &Duty) {
        let role = self.org.role(&duty.role);
        let human = duty.require_human || role.is_some_and(|role| role.require_human);
        if !human {
            return;
        }
        if duty.can_skip {
            self.error(
                "human_gate_skips",
                self.at(index, "canSkip"),
                format!("gate `{}` is for people: it cannot be skipped by an outcome", gate.id),
                "remove `canSkip`; use `when` for tasks that need no approval",
            );
        }
        let timeout = duty.timeout.or(self.workflow.timeout);
        if timeout.is_none() || duty.escalate_to.is_none() {
            self.say(
                Severity::Warning,
                "human_gate_waits",
                self.at(index, "id"),
                format!(
                    "gate `{}` waits for a person with no `timeout` and `escalateTo`: a task can stay there for ever",
                    gate.id
                ),
                "add both, as in `timeout: 1d` and `escalateTo: director`",
            );
        }
        if let Some(role) = role
            .filter(|role| !role.agents.is_empty() && !role.agents.iter().any(AgentId::is_human))
        {
            self.say(
                Severity::Warning,
                "human_gate_unstaffed",
                self.at(index, "role"),
                format!(
                    "gate `{}` is for people, and role `{}` has only {}",
                    gate.id,
                    duty.role,
                    listed(&role.agents)
                ),
                "add an agent whose id begins with `human-`",
            );
        }
    }

    pub(crate) fn timing(&mut self, index: usize, gate: &Gate, duty: &Duty) {
        let Some(role) = &duty.escalate_to else { return };
        if duty.timeout.or(self.workflow.timeout).is_none() {
            self.error(
                "dead_field",
                self.at(index, "escalateTo"),
                "`escalateTo` would be ignored: the gate has no `timeout`".to_owned(),
                "add one, as in `timeout: 2h`, or remove `escalateTo`",
            );
        } else if *role == duty.role {
            self.error(
                "escalates_to_itself",
                self.at(index, "escalateTo"),
                format!("gate `{}` would escalate to its own role `{role}`", gate.id),
                "name the role that steps in when this one does not answer",
            );
        } else if (duty.require_human || self.is_for_people(&duty.role) || self.is_for_people(role))
            && self.lacks_people(role)
        {
            self.say(
                Severity::Warning,
                "no_person_steps_in",
                self.at(index, "escalateTo"),
                format!("gate `{}` is for people, and role `{role}` has none: nobody could complete it then", gate.id),
                "name a role with an agent whose id begins with `human-`",
            );
        }
    }

    fn is_for_people(&self, role: &RoleId) -> bool {
        self.org.role(role).is_some_and(|role| role.require_human)
    }

    /// Returns whether there are agents in the role, and none is a person.
    fn lacks_people(&self, role: &RoleId) -> bool {
        let agents = self.org.role(role).map(|role| role.agents.as_slice()).unwrap_or_default();
        !agents.is_empty() && !agents.iter().any(AgentId::is_human)
    }

    pub(crate) fn condition(&mut self, index: usize, gate: &Gate) -> Option<Condition> {
        let Some(source) = &gate.when else {
            if gate.on_condition_error != OnConditionError::Skip {
                self.error(
                    "dead_field",
                    self.at(index, "onConditionError"),
                    "`onConditionError` would be ignored: the gate has no `when`".to_owned(),
                    "remove it, or add a condition",
                );
            }
            return None;
        };
        let names = if gate.kind == GateKind::Condition { DECIDING_NAMES } else { CONDITION_NAMES };
        match Condition::compile(source, names) {
            Ok(condition) => {
                let guards =
                    gate.can_reject() || gate.duty().is_some_and(|duty| duty.require_human);
                if guards && gate.on_condition_error == OnConditionError::Skip {
                    self.say(
                        Severity::Note,
                        "condition_fails_open",
                        self.at(index, "when"),
                        format!(
                            "if this condition fails to evaluate, gate `{}` is passed over",
                            gate.id
                        ),
                        "add `onConditionError: enter` so that nothing slips past it",
                    );
                }
                Some(condition)
            }
            Err(faults) => {
                for fault in faults {
                    self.findings.push(Finding {
                        severity: Severity::Error,
                        code: "invalid_condition",
                        at: self.at(index, "when"),
                        range: Some(fault.range),
                        message: fault.message,
                        help: fault.help,
                    });
                }
                None
            }
        }
    }

    pub(crate) fn separation(&mut self, index: usize, duty: &Duty) {
        let at = || self.at(index, "separateFrom");
        let mut faults = Vec::new();
        for gate in &duty.separate_from {
            let place = self.workflow.gate(gate);
            if place
                .is_some_and(|(place, other)| place != index && other.kind != GateKind::Condition)
            {
                continue;
            }
            let others =
                self.workflow.gates.iter().filter(|other| other.kind != GateKind::Condition);
            let names = others
                .map(|other| other.id.as_str())
                .filter(|name| *name != self.workflow.gates[index].id.as_str());
            let names: Vec<&str> = names.collect();
            let message = if place.is_some_and(|(place, _)| place == index) {
                format!("gate `{gate}` cannot be kept apart from itself")
            } else if place.is_some() {
                format!("nobody works at gate `{gate}`: it decides by itself")
            } else {
                format!("there is no gate `{gate}` in workflow `{}`", self.workflow.name)
            };
            let help = match nearest(gate.as_str(), names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("name one of {}", listed(names)),
            };
            faults.push((message, help));
        }
        let at = at();
        for (message, help) in faults {
            self.error("unknown_gate", at.clone(), message, help);
        }
        if duty.separate_from.is_empty() && duty.separate_by == Identity::Session {
            self.error(
                "dead_field",
                at,
                "`by` would be ignored: no gate is named".to_owned(),
                "name the gates",
            );
        }
    }
}
