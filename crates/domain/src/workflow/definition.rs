//! A workflow: its gates, and the rules for the context of its tasks.

use serde::Serialize;
use serde_json::{Value, json};

use super::gate::{Branch, Duty, Exhausted, Gate, Station, Target};
use crate::words::words;
use crate::{GateId, Map, Outcome, Period, RoleId, RunBudget, RunLimits, WorkflowName};

/// An ordered list of gates (spec 1, 1.2 and appendix A). All of it serializes, to compare two versions; `Rules` defines the part
/// that its hash covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// The name that tasks have in `routing.workflow`.
    pub name: WorkflowName,
    pub description: Option<String>,
    /// The name of this edition, for people; no rule reads it.
    pub version: Option<String>,
    /// The roles and agents that may see and start it; empty means all.
    pub visible_to: Vec<String>,
    /// The meaning of an omitted outcome at gates that cannot reject.
    pub default_outcome: Outcome,
    #[serde(rename = "rejectionStrategy")]
    pub rejection: RejectionStrategy,
    /// False if `needs_review` sends back (the default), true if it holds the task at the gate for a person.
    pub holds_rejections: bool,
    /// The time limit of a visit at gates that set none.
    pub timeout: Option<Period>,
    /// The time that a claim lasts without renewal, at gates that set none.
    pub lease: Option<Period>,
    /// The limits of agents' runs at gates that set none.
    pub run: RunLimits,
    /// The budget of each of its tasks, in place of the project's.
    pub budget: RunBudget,
    /// The rounds in which it runs.
    pub repeat: Option<Repeat>,
    /// The values that tasks start with, and the rules for outputs.
    pub context: ContextRules,
    /// The gates, in order; never empty.
    pub gates: Vec<Gate>,
}

impl Workflow {
    /// Returns the gate of that id and its place in the list.
    pub fn gate(&self, id: &GateId) -> Option<(usize, &Gate)> {
        self.gates.iter().enumerate().find(|(_, gate)| gate.id == *id)
    }

    /// Returns the gates, each fork followed by its branches as gates.
    pub fn parts(&self) -> impl Iterator<Item = (Station, &Gate)> {
        self.gates.iter().flat_map(|gate| {
            let branches = gate.fork().into_iter().flat_map(|fork| &fork.branches);
            let branches = branches.map(|branch| {
                let station = Station { gate: gate.id.clone(), branch: Some(branch.id().clone()) };
                (station, branch.gate())
            });
            std::iter::once((Station::from(&gate.id), gate)).chain(branches)
        })
    }

    /// Returns whether the route from the gate at this place to `to` is backward: to an earlier gate, to the gate itself, to a detour, or
    /// from one.
    pub fn is_backward(&self, place: usize, to: &GateId) -> bool {
        self.gates[place].detour
            || self.gate(to).is_some_and(|(other, gate)| other <= place || gate.detour)
    }

    /// Returns whether the gate's own route for the outcome leads back.
    pub fn goes_back(&self, gate: &Gate, outcome: &Outcome) -> bool {
        let place = self.gate(&gate.id).map_or(0, |(place, _)| place);
        match gate.exits.route(outcome).map(|route| &route.to) {
            Some(Target::Gate(to)) => self.is_backward(place, to),
            Some(Target::Origin | Target::Previous) => true,
            _ => false,
        }
    }

    /// Returns every role that the workflow names, each once, in the order of the gates; roles that only step in come last.
    pub fn roles(&self) -> Vec<&RoleId> {
        let working = self.gates.iter().flat_map(Gate::roles);
        let stepping_in = self.gates.iter().flat_map(|gate| {
            let exhausted = match &gate.exits.on_exhausted {
                Exhausted::Escalate(role) => Some(role),
                Exhausted::Block | Exhausted::Route(_) => None,
            };
            let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
            let duties = gate.duty().into_iter().chain(branches.iter().map(Branch::duty));
            exhausted.into_iter().chain(duties.filter_map(|duty| duty.escalate_to.as_ref()))
        });
        let mut roles = Vec::new();
        for role in working.chain(stepping_in) {
            if !roles.contains(&role) {
                roles.push(role);
            }
        }
        roles
    }

    /// Returns whether the name always means a value that the task started with.
    pub fn protects(&self, name: &str) -> bool {
        let declares = |duty: &Duty| duty.outputs.names().contains(&name);
        let declared = |gate: &Gate| {
            gate.duty().is_some_and(declares)
                || gate
                    .fork()
                    .is_some_and(|fork| fork.branches.iter().any(|branch| declares(branch.duty())))
        };
        match &self.context.protected {
            Some(names) => names.iter().any(|known| known == name),
            None => {
                ContextRules::USUALLY_PROTECTED.contains(&name)
                    && self.context.declares(name)
                    && !self.gates.iter().any(declared)
            }
        }
    }
}

/// The rounds of a workflow, which starts again until a condition holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repeat {
    /// A JavaScript expression, evaluated when the task would be complete.
    pub until: String,
    /// The most rounds.
    pub max: u32,
    /// The consequence if the condition does not hold after the last round.
    pub on_exhausted: Exhausted,
}

impl Repeat {
    /// The most rounds if the workflow sets none.
    pub const DEFAULT_ROUNDS: u32 = 20;
}

words!(
    /// The destination of a rejection (spec 1, 1.2).
    RejectionStrategy, "a rejection strategy", {
        /// The first gate that applies.
        Origin = "origin",
        /// The gate that passed the task on.
        Previous = "previous",
        /// The gate that the rejecting gate names in `rejectTo`.
        Named = "named",
    }
);

/// The rules of a workflow for its tasks' context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextRules {
    /// The values that a task starts with: names and defaults. Null means that the creator of the task must give the value. `None`
    /// allows any names.
    pub input: Option<Map>,
    /// The names that always mean the input; absent means the usual ones.
    pub protected: Option<Vec<String>>,
    /// The largest value that a gate may hand on under one name, in bytes of its JSON.
    pub max_bytes: usize,
}

impl ContextRules {
    /// The largest value if the workflow sets none.
    pub const DEFAULT_BYTES: usize = 4096;

    /// The names that are protected by default, if a task starts with them and no gate declares them.
    pub(crate) const USUALLY_PROTECTED: &[&str] = &["task", "repo", "branch"];

    /// Returns whether a task starts with a value of that name.
    pub fn declares(&self, name: &str) -> bool {
        self.input.as_ref().is_some_and(|input| input.contains_key(name))
    }
}

impl Default for ContextRules {
    fn default() -> Self {
        Self { input: None, protected: None, max_bytes: Self::DEFAULT_BYTES }
    }
}

words!(
    /// The result for a field of a foreign file.
    FieldFate, "a fate", {
        /// The new file has it as the old one had it.
        Kept = "kept",
        /// The new file has it in another form.
        Converted = "converted",
        /// The file does not have it; the new one requires it, or has it by default.
        Added = "added",
        /// The new file does not have it; routing does not depend on it.
        Dropped = "dropped",
        /// The new file does not have it, and the task would have been routed by it.
        Lost = "lost",
    }
);

/// A remark about one field of the foreign file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRemark {
    /// The field's line, from 1; absent if the file does not have it.
    pub line: Option<usize>,
    /// The path of the field: `steps.review.on_fail`.
    pub field: String,
    pub fate: FieldFate,
    /// The reason, or the field that replaced it.
    pub note: String,
}

impl ImportRemark {
    /// Returns the remark as `--json` shows it.
    pub fn to_value(&self) -> Value {
        json!({"line": self.line, "field": self.field, "fate": self.fate.as_str(), "note": self.note})
    }
}
