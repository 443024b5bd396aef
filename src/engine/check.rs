//! What can be wrong with a project's rules beyond their shape; all of it is found in one go.

use std::collections::BTreeMap;
use std::ops::Range;

use super::condition::Condition;
use super::rules::CONDITION_NAMES;
use crate::model::{
    AgentId, Gate, GateId, OnConditionError, Org, Outcome, Place, Project, RejectionStrategy, Role, RoleId, Severity,
    Workflow, WorkflowName,
};
use crate::model::{listed, nearest};

/// Something to say about the rules.
#[derive(Debug, Clone, PartialEq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    /// Where it stands.
    pub at: Place,
    /// The bytes within a text that are meant, where it is one.
    pub range: Option<Range<usize>>,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
}

/// Returns all there is to say about the rules, and puts the conditions that compile into `conditions`.
pub(super) fn check(
    project: &Project,
    org: &Org,
    conditions: &mut BTreeMap<(WorkflowName, GateId), Condition>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    if project.workflow(&project.default_workflow).is_none() {
        let names = project.workflows.iter().map(|workflow| workflow.name.as_str());
        findings.push(Finding {
            severity: Severity::Error,
            code: "unknown_workflow",
            at: Place::Project { field: "defaultWorkflow" },
            range: None,
            message: format!("there is no workflow `{}`", project.default_workflow),
            help: Some(format!("name one of {}", listed(names))),
        });
    }
    for workflow in &project.workflows {
        Checker { project, org, workflow, findings: &mut findings }.workflow(conditions);
    }
    for (id, role) in &org.roles {
        check_role(org, id, role, &mut findings);
    }
    check_shared(org, &mut findings);
    findings
}

struct Checker<'a> {
    project: &'a Project,
    org: &'a Org,
    workflow: &'a Workflow,
    findings: &'a mut Vec<Finding>,
}

impl Checker<'_> {
    fn workflow(&mut self, conditions: &mut BTreeMap<(WorkflowName, GateId), Condition>) {
        if self.workflow.default_outcome != Outcome::Complete && self.workflow.default_outcome != Outcome::Blocked {
            let place = Place::Workflow { workflow: self.workflow.name.clone(), field: "defaultOutcome" };
            self.say(
                Severity::Warning,
                "dead_default_outcome",
                place,
                format!(
                    "`defaultOutcome: {}` can never apply: it counts only at gates that cannot reject",
                    self.workflow.default_outcome
                ),
                "use `complete`, or leave the field out",
            );
        }
        for (index, gate) in self.workflow.gates.iter().enumerate() {
            self.identity(index, gate);
            self.role(index, gate);
            self.rejection(index, gate);
            self.people(index, gate);
            self.timing(index, gate);
            if let Some(condition) = self.condition(index, gate) {
                conditions.insert((self.workflow.name.clone(), gate.id.clone()), condition);
            }
        }
    }

    fn identity(&mut self, index: usize, gate: &Gate) {
        let first = self.workflow.gates.iter().position(|other| other.id == gate.id);
        if let Some(first) = first.filter(|first| *first < index) {
            let ordinal = first + 1;
            self.error(
                "duplicate_gate",
                self.at(index, "id"),
                format!("gate `{}` is defined twice: it is also number {ordinal} of this list", gate.id),
                "give each gate of a workflow a name of its own",
            );
        }
    }

    fn role(&mut self, index: usize, gate: &Gate) {
        if self.project.implicit_workflow {
            return;
        }
        self.known_role(&gate.role, self.at(index, "role"));
        if let Some(role) = &gate.escalate_to {
            self.known_role(role, self.at(index, "escalateTo"));
        }
    }

    fn known_role(&mut self, role: &RoleId, place: Place) {
        if self.org.role(role).is_some() {
            return;
        }
        let names = || self.org.roles.iter().map(|(id, _)| id.as_str());
        let help = match nearest(role.as_str(), names()) {
            Some(name) => format!("did you mean `{name}`? the roles of org.yaml are {}", listed(names())),
            None => format!("add it to `roles` in org.yaml, or name one of {}", listed(names())),
        };
        self.error("unknown_role", place, format!("there is no role `{role}` in org.yaml"), help);
    }

    fn rejection(&mut self, index: usize, gate: &Gate) {
        if gate.can_reject && index == 0 {
            self.error(
                "first_gate_rejects",
                self.at(index, "canReject"),
                format!("gate `{}` is the first: there is nothing to send a task back to", gate.id),
                "remove `canReject`, or put the gate where the work is done before it",
            );
        }
        let named = self.workflow.rejection == RejectionStrategy::Named;
        match &gate.reject_to {
            None if named && gate.can_reject && index > 0 => self.error(
                "reject_to_missing",
                self.at(index, "id"),
                format!("gate `{}` can reject, and `rejectionStrategy: named` asks each such gate where to", gate.id),
                "add `rejectTo: GATE` with an earlier gate, or use `rejectionStrategy: origin`",
            ),
            Some(_) if !named || !gate.can_reject => self.error(
                "dead_field",
                self.at(index, "rejectTo"),
                "`rejectTo` would be ignored here".to_owned(),
                "it counts only with `rejectionStrategy: named`, at gates with `canReject: true`",
            ),
            Some(target) => self.target(index, target),
            None => {}
        }
    }

    fn target(&mut self, index: usize, target: &GateId) {
        let earlier = || self.workflow.gates[..index].iter().map(|gate| gate.id.as_str());
        let (code, message) = match self.workflow.gate(target) {
            Some((place, _)) if place < index => return,
            Some(_) => {
                ("reject_forward", format!("`{target}` does not come before this gate: that would be no way back"))
            }
            None => ("unknown_gate", format!("there is no gate `{target}` in workflow `{}`", self.workflow.name)),
        };
        let help = match nearest(target.as_str(), earlier()) {
            Some(name) => format!("did you mean `{name}`?"),
            None => format!("name one of {}", listed(earlier())),
        };
        self.error(code, self.at(index, "rejectTo"), message, help);
    }

    fn people(&mut self, index: usize, gate: &Gate) {
        let role = self.org.role(&gate.role);
        let human = gate.require_human || role.is_some_and(|role| role.require_human);
        if !human {
            return;
        }
        if gate.can_skip {
            self.error(
                "human_gate_skips",
                self.at(index, "canSkip"),
                format!("gate `{}` is for people: it cannot be skipped by an outcome", gate.id),
                "remove `canSkip`; use `when` for tasks that need no approval",
            );
        }
        if gate.timeout.is_none() || gate.escalate_to.is_none() {
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
        if let Some(role) = role.filter(|role| !role.agents.is_empty() && !role.agents.iter().any(AgentId::is_human)) {
            self.say(
                Severity::Warning,
                "human_gate_unstaffed",
                self.at(index, "role"),
                format!("gate `{}` is for people, and role `{}` has only {}", gate.id, gate.role, listed(&role.agents)),
                "add an agent whose id begins with `human-`",
            );
        }
    }

    fn timing(&mut self, index: usize, gate: &Gate) {
        let Some(role) = &gate.escalate_to else { return };
        if gate.timeout.is_none() {
            self.error(
                "dead_field",
                self.at(index, "escalateTo"),
                "`escalateTo` would be ignored: the gate has no `timeout`".to_owned(),
                "add one, as in `timeout: 2h`, or remove `escalateTo`",
            );
        } else if *role == gate.role {
            self.error(
                "escalates_to_itself",
                self.at(index, "escalateTo"),
                format!("gate `{}` would escalate to its own role `{role}`", gate.id),
                "name the role that steps in when this one does not answer",
            );
        }
    }

    fn condition(&mut self, index: usize, gate: &Gate) -> Option<Condition> {
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
        match Condition::compile(source, CONDITION_NAMES) {
            Ok(condition) => {
                let guards = gate.can_reject || gate.require_human;
                if guards && gate.on_condition_error == OnConditionError::Skip {
                    self.say(
                        Severity::Note,
                        "condition_fails_open",
                        self.at(index, "when"),
                        format!("if this condition fails to evaluate, gate `{}` is passed over", gate.id),
                        "add `onConditionError: enter` so that nothing slips past it",
                    );
                }
                Some(condition)
            }
            Err(fault) => {
                self.findings.push(Finding {
                    severity: Severity::Error,
                    code: "invalid_condition",
                    at: self.at(index, "when"),
                    range: Some(fault.range),
                    message: fault.message,
                    help: fault.help,
                });
                None
            }
        }
    }

    fn at(&self, gate: usize, field: &'static str) -> Place {
        Place::Gate { workflow: self.workflow.name.clone(), gate, field }
    }

    fn error(&mut self, code: &'static str, at: Place, message: String, help: impl Into<String>) {
        self.say(Severity::Error, code, at, message, help);
    }

    fn say(&mut self, severity: Severity, code: &'static str, at: Place, message: String, help: impl Into<String>) {
        self.findings.push(Finding { severity, code, at, range: None, message, help: Some(help.into()) });
    }
}

fn check_role(org: &Org, id: &RoleId, role: &Role, findings: &mut Vec<Finding>) {
    if role.agents.is_empty() {
        findings.push(Finding {
            severity: Severity::Warning,
            code: "role_without_agents",
            at: Place::Role { role: id.clone(), field: "agents" },
            range: None,
            message: format!("role `{id}` has no agents: tasks that come to its gates are blocked"),
            help: Some("list at least one, as in `agents: [agent-1]`".to_owned()),
        });
    }
    for (index, agent) in role.agents.iter().enumerate() {
        let at = || Place::Member { role: id.clone(), index };
        if role.agents[..index].contains(agent) {
            findings.push(Finding {
                severity: Severity::Error,
                code: "duplicate_agent",
                at: at(),
                range: None,
                message: format!("`{agent}` stands twice in role `{id}`"),
                help: Some("remove one of the two".to_owned()),
            });
        } else if !org.is_registered(agent) {
            let known = org.agents.iter().flatten().map(|(id, _)| id.as_str());
            let help = match nearest(agent.as_str(), known) {
                Some(name) => format!("did you mean `{name}`? or add `{agent}` to `agents`"),
                None => format!("add `{agent}` to `agents`, or remove it here"),
            };
            findings.push(Finding {
                severity: Severity::Warning,
                code: "unregistered_agent",
                at: at(),
                range: None,
                message: format!("`{agent}` is not in the `agents` of this file and is handed no work"),
                help: Some(help),
            });
        }
    }
}

fn check_shared(org: &Org, findings: &mut Vec<Finding>) {
    for agent in org.all_agents() {
        let roles: Vec<&RoleId> = org.roles_of(agent).collect();
        let [first, .., last] = roles.as_slice() else { continue };
        let index = org.role(last).and_then(|role| role.agents.iter().position(|other| other == agent));
        findings.push(Finding {
            severity: Severity::Note,
            code: "shared_agent",
            at: Place::Member { role: (*last).clone(), index: index.unwrap_or(0) },
            range: None,
            message: format!("`{agent}` is in {} roles: {}", roles.len(), listed(&roles)),
            help: Some(format!(
                "fine for a small team; note that it may review its own work where `{first}` hands on to `{last}`"
            )),
        });
    }
}
