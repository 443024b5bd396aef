//! A workflow: its gates, and the rules for the context of its tasks.

use serde::Serialize;
use serde_json::{Value, json};

use super::gate::{Branch, Duty, Exhausted, Gate};
use crate::domain::words::words;
use crate::domain::{GateId, Map, Outcome, Period, RoleId, RunLimits, WorkflowName};

/// An ordered list of gates (spec 1, 1.2 and appendix A). All of it serializes, to compare two versions; `Rules` spells out what its
/// hash covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Workflow {
    /// What tasks call it in `routing.workflow`.
    pub name: WorkflowName,
    pub description: Option<String>,
    /// What people call this edition of it; decides nothing.
    pub version: Option<String>,
    /// The roles and agents that may see and start it; empty means everybody.
    pub visible_to: Vec<String>,
    /// What an omitted outcome means at gates that cannot reject.
    pub default_outcome: Outcome,
    #[serde(rename = "rejectionStrategy")]
    pub rejection: RejectionStrategy,
    /// Whether `needs_review` sends back (the default), or holds the task at the gate for a person.
    pub holds_rejections: bool,
    /// How long a visit may take at gates that do not say.
    pub timeout: Option<Period>,
    /// How long a claim lasts, where it is not renewed, at gates that do not say.
    pub lease: Option<Period>,
    /// What bounds the runs of agents at gates that do not say.
    pub run: RunLimits,
    /// The rounds in which it runs.
    pub repeat: Option<Repeat>,
    /// What tasks start with, and what gates hand on.
    pub context: ContextRules,
    /// The gates, in order; never empty.
    pub gates: Vec<Gate>,
}

impl Workflow {
    /// Returns the gate of that id and its place in the list.
    pub fn gate(&self, id: &GateId) -> Option<(usize, &Gate)> {
        self.gates.iter().enumerate().find(|(_, gate)| gate.id == *id)
    }

    /// Returns every role that it names, each once, in the order of the gates; those that only step in come last.
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

    /// Tells whether the name always means what a task starts with.
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

/// The rounds of a workflow: it begins again until a condition holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Repeat {
    /// A JavaScript expression, evaluated when the task would be complete.
    pub until: String,
    /// The most rounds.
    pub max: u32,
    /// What happens after the last round if the condition does not hold.
    pub on_exhausted: Exhausted,
}

impl Repeat {
    /// The most rounds if the workflow does not say.
    pub const DEFAULT_ROUNDS: u32 = 20;
}

words!(
    /// Where a rejection leads (spec 1, 1.2).
    RejectionStrategy, "a rejection strategy", {
        /// To the first gate that applies.
        Origin = "origin",
        /// To the gate that passed the task on.
        Previous = "previous",
        /// To the gate that the rejecting gate names in `rejectTo`.
        Named = "named",
    }
);

/// The rules of a workflow for its tasks' context.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ContextRules {
    /// What a task starts with: names and defaults; null is for what whoever makes the task must say. Absent means that
    /// anything may be said.
    pub input: Option<Map>,
    /// The names that always mean the input; absent means the usual ones.
    pub protected: Option<Vec<String>>,
    /// The largest value that a gate may hand on under one name, in bytes of its JSON.
    pub max_bytes: usize,
}

impl ContextRules {
    /// The largest value where the workflow does not say.
    pub const DEFAULT_BYTES: usize = 4096;

    /// The names that are protected where the workflow does not say, as far as a task starts with them and no gate declares them.
    pub const USUALLY_PROTECTED: &[&str] = &["task", "repo", "branch"];

    /// Tells whether a task starts with a value of that name.
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
    /// What became of a field.
    FieldFate, "a fate", {
        /// It stands in the new file as it stood in the old one.
        Kept = "kept",
        /// It says the same in other words.
        Converted = "converted",
        /// The file does not say it, and the new one has to, or does by a default.
        Added = "added",
        /// It is not in the new file; where a task goes does not depend on it.
        Dropped = "dropped",
        /// It is not in the new file, and a task would go another way for it.
        Lost = "lost",
    }
);

/// One field of the foreign file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRemark {
    /// Its line, from 1; absent where the file says nothing of it.
    pub line: Option<usize>,
    /// The way to it: `steps.review.on_fail`.
    pub field: String,
    pub fate: FieldFate,
    /// Why, or into what.
    pub note: String,
}

impl ImportRemark {
    /// Returns the remark as `--json` shows it.
    pub fn to_value(&self) -> Value {
        json!({"line": self.line, "field": self.field, "fate": self.fate.as_str(), "note": self.note})
    }
}
