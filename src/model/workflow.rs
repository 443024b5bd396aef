//! A workflow: the ordered gates that a class of tasks goes through. Definitions only; where a task stands is the task's.

use super::words::words;
use super::{GateId, Map, Outcome, Period, RoleId, WorkflowName};

/// An ordered list of gates (spec 1, 1.2 and appendix A).
#[derive(Debug, Clone, PartialEq)]
pub struct Workflow {
    /// What tasks call it in `routing.workflow`.
    pub name: WorkflowName,
    /// What it is for.
    pub description: Option<String>,
    /// What an omitted outcome means at gates that cannot reject.
    pub default_outcome: Outcome,
    /// Where a rejection leads.
    pub rejection: RejectionStrategy,
    /// Whether `needs_review` sends back (the default), or holds the task at the gate for a person.
    pub holds_rejections: bool,
    /// The gates, in order; never empty.
    pub gates: Vec<Gate>,
}

impl Workflow {
    /// Returns the gate of that id and its place in the list.
    pub fn gate(&self, id: &GateId) -> Option<(usize, &Gate)> {
        self.gates.iter().enumerate().find(|(_, gate)| gate.id == *id)
    }
}

/// One stage (spec 1, 1.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Its name.
    pub id: GateId,
    /// Whose work it is.
    pub role: RoleId,
    /// What it is for.
    pub description: Option<String>,
    /// Whether it may send a task back.
    pub can_reject: bool,
    /// Where it sends a task back to, where the strategy is `named`.
    pub reject_to: Option<GateId>,
    /// Whether its agent may say that it does not apply.
    pub can_skip: bool,
    /// When it applies: a JavaScript expression; absent means always.
    pub when: Option<String>,
    /// What a condition that fails to evaluate means.
    pub on_condition_error: OnConditionError,
    /// Whether only people may complete it.
    pub require_human: bool,
    /// How long a visit may take.
    pub timeout: Option<Period>,
    /// The role that a visit goes to when it takes longer.
    pub escalate_to: Option<RoleId>,
    /// What agents are told; what is absent is generated.
    pub brief: Brief,
    /// A person's own facts about the gate.
    pub metadata: Map,
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

words!(
    /// What a condition that fails to evaluate means (spec 1, 9.8).
    OnConditionError, "an answer to a failing condition", {
        /// The gate is passed over.
        Skip = "skip",
        /// The gate is entered: nothing slips past it.
        Enter = "enter",
    }
);

/// What agents are told at a gate, and what they are told when the task comes back to it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Brief {
    /// On first entry.
    pub entry: BriefText,
    /// After a rejection; absent parts are generated, not taken from `entry`.
    pub reentry: BriefText,
}

/// The parts of a brief; what is absent is generated.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct BriefText {
    /// Who the agent is here, in plain words.
    pub role: Option<String>,
    /// A checklist.
    pub expectations: Option<Vec<String>>,
    /// What each outcome means here.
    pub outcomes: Vec<(Outcome, String)>,
    /// Practical advice.
    pub tips: Option<Vec<String>>,
    /// Instructions at length.
    pub instructions: Option<String>,
}
