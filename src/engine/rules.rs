//! The rules that decide: a project's workflows and org chart, checked, with their conditions compiled.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::check::{Finding, check};
use super::condition::Condition;
use crate::model::{
    AgentId, Digest, Gate, GateId, Map, Org, Project, RoleId, Severity, Task, Visit, Workflow, WorkflowName,
};

/// What a condition may speak of (spec 1, 3.2).
pub(super) const CONDITION_NAMES: &[&str] = &["tags", "metadata", "gateHistory"];

/// Checked rules. They exist only whole: a project with an error in it has none.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The project and its workflows.
    pub project: Project,
    /// Who there is.
    pub org: Org,
    conditions: BTreeMap<(WorkflowName, GateId), Condition>,
    hashes: BTreeMap<WorkflowName, String>,
}

impl Rules {
    /// Checks and compiles the rules. Returns them with what is worth saying about them, or everything that is wrong.
    pub fn new(project: Project, org: Org) -> Result<(Self, Vec<Finding>), Vec<Finding>> {
        let mut conditions = BTreeMap::new();
        let findings = check(&project, &org, &mut conditions);
        if findings.iter().any(|finding| finding.severity == Severity::Error) {
            return Err(findings);
        }
        let hashes = project.workflows.iter().map(|workflow| (workflow.name.clone(), hash(workflow))).collect();
        Ok((Self { project, org, conditions, hashes }, findings))
    }

    /// Returns the workflow that the task follows: the one it names, else the project's default.
    pub fn workflow_of(&self, task: &Task) -> Option<&Workflow> {
        self.project.workflow(&task.routing.workflow)
    }

    /// Returns the hash that stands for a workflow in a task's history: 16 hexadecimal digits.
    pub fn hash(&self, workflow: &WorkflowName) -> Option<&str> {
        self.hashes.get(workflow).map(String::as_str)
    }

    /// Returns whether the gate is for people only: it says so, or its role does.
    pub fn requires_human(&self, gate: &Gate) -> bool {
        gate.require_human || self.org.role(&gate.role).is_some_and(|role| role.require_human)
    }

    /// Returns whether somebody can be handed the work of the gate: a known agent of its role, and a person where it needs one.
    pub fn is_staffed(&self, gate: &Gate) -> bool {
        if self.is_open(&gate.role) {
            return true;
        }
        let human = self.requires_human(gate);
        let fit = |agent: &AgentId| self.org.is_registered(agent) && (!human || agent.is_human());
        self.org.role(&gate.role).is_some_and(|role| role.agents.iter().any(fit))
    }

    /// Returns whether any agent may do the work of the role: it is the stand-in workflow's, and org.yaml does not define it.
    pub fn is_open(&self, role: &RoleId) -> bool {
        self.project.implicit_workflow && self.org.role(role).is_none()
    }

    pub(super) fn condition(&self, workflow: &Workflow, gate: &Gate) -> Option<&Condition> {
        self.conditions.get(&(workflow.name.clone(), gate.id.clone()))
    }
}

/// Returns what the conditions of a workflow see of a task.
pub(super) struct Scope {
    tags: Value,
    metadata: Value,
    history: Value,
}

impl Scope {
    pub(super) fn of(task: &Task, history: &[Visit]) -> Self {
        Self {
            tags: json!(task.tags),
            metadata: Value::Object(task.metadata.clone()),
            history: history.iter().map(visible).collect(),
        }
    }

    pub(super) fn names(&self) -> [(&str, &Value); 3] {
        [("tags", &self.tags), ("metadata", &self.metadata), ("gateHistory", &self.history)]
    }
}

/// Returns an entry as conditions see it: the fields of spec 1, appendix B.
fn visible(visit: &Visit) -> Value {
    json!({
        "gate": visit.gate.as_str(),
        "role": visit.role.as_str(),
        "agent": visit.agent.as_ref().map(crate::model::AgentId::as_str),
        "entered": visit.entered.to_string(),
        "exited": visit.exited.to_string(),
        "duration": visit.duration(),
        "outcome": visit.outcome.as_str(),
        "summary": visit.summary,
        "blockers": visit.blockers,
        "rejectionNotes": visit.rejection_notes,
        "outputs": visit.outputs,
        "metadata": visit.metadata,
    })
}

/// Returns the hash of what the workflow says; its comments and layout do not count, nor do texts that decide nothing.
fn hash(workflow: &Workflow) -> String {
    let gates: Vec<Value> = workflow.gates.iter().map(|gate| Value::Object(deciding_fields(gate))).collect();
    let said = json!({
        "name": workflow.name.as_str(),
        "defaultOutcome": workflow.default_outcome.as_str(),
        "rejectionStrategy": workflow.rejection.as_str(),
        "holdsRejections": workflow.holds_rejections,
        "gates": gates,
    });
    Digest::of(said.to_string().as_bytes()).as_str()[..16].to_owned()
}

fn deciding_fields(gate: &Gate) -> Map {
    let mut fields = Map::new();
    fields.insert("id".to_owned(), json!(gate.id.as_str()));
    fields.insert("role".to_owned(), json!(gate.role.as_str()));
    fields.insert("canReject".to_owned(), json!(gate.can_reject));
    fields.insert("canSkip".to_owned(), json!(gate.can_skip));
    fields.insert("rejectTo".to_owned(), json!(gate.reject_to.as_ref().map(GateId::as_str)));
    fields.insert("when".to_owned(), json!(gate.when));
    fields.insert("onConditionError".to_owned(), json!(gate.on_condition_error.as_str()));
    fields.insert("requireHuman".to_owned(), json!(gate.require_human));
    fields.insert("timeout".to_owned(), json!(gate.timeout.map(crate::model::Period::seconds)));
    fields.insert("escalateTo".to_owned(), json!(gate.escalate_to.as_ref().map(RoleId::as_str)));
    fields
}
