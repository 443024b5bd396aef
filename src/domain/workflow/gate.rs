//! A gate: one stage of a workflow, what is asked of whoever stands at it, and the ways out.

use crate::domain::values::word_enum::words;
use crate::domain::{
    Branch, Brief, Exits, Fork, GateId, GateRun, Map, Outcome, Outputs, Period, RoleId, Signal,
};

/// One stage (spec 1, 1.1).
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Its name.
    pub id: GateId,
    /// What it is for.
    pub description: Option<String>,
    /// When it applies: a JavaScript expression; absent means always. What a condition gate decides by.
    pub when: Option<String>,
    /// What a condition that fails to evaluate means.
    pub on_condition_error: OnConditionError,
    /// Whether it lies off the line: entered only by a route, and left to where the task came from.
    pub detour: bool,
    /// The ways out of it.
    pub exits: Exits,
    /// A person's own facts about the gate.
    pub metadata: Map,
    /// What happens at it.
    pub kind: GateKind,
}

/// What happens at a gate.
#[derive(Debug, Clone, PartialEq)]
pub enum GateKind {
    /// Somebody works.
    Work(Box<Duty>),
    /// Nobody does: `when` chooses between the decisions `true` and `false`.
    Condition,
    /// Several do, each at a branch; what they say joins to one `complete` or `needs_review`.
    Fork(Fork),
}

/// What is asked of whoever works at a gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Duty {
    /// Whose work it is.
    pub role: RoleId,
    /// Whether it may send a task back.
    pub can_reject: bool,
    /// Whether its agent may say that it does not apply.
    pub can_skip: bool,
    /// Whether only people may complete it.
    pub require_human: bool,
    /// How long a visit may take.
    pub timeout: Option<Period>,
    /// The role that a visit goes to when it takes longer.
    pub escalate_to: Option<RoleId>,
    /// How long a claim lasts when it is not renewed.
    pub lease: Option<Period>,
    /// Gates whose workers may not work here for the same task.
    pub separate_from: Vec<GateId>,
    /// What counts as the same worker.
    pub separate_by: Identity,
    /// What completions hand on.
    pub outputs: Outputs,
    /// Where the verdict is read from when a completion names no outcome.
    pub signal: Option<Signal>,
    /// What the work may touch, as patterns of paths; told to the agent.
    pub files: Vec<String>,
    /// What agents are told; what is absent is generated.
    pub brief: Brief,
    /// What is said of the runs of its agents.
    pub run: GateRun,
}

impl Duty {
    /// Returns the plain duty of a role.
    pub fn of(role: RoleId) -> Self {
        Self {
            role,
            can_reject: false,
            can_skip: false,
            require_human: false,
            timeout: None,
            escalate_to: None,
            lease: None,
            separate_from: Vec::new(),
            separate_by: Identity::Agent,
            outputs: Outputs::Open,
            signal: None,
            files: Vec::new(),
            brief: Brief::default(),
            run: GateRun::default(),
        }
    }
}

impl Gate {
    /// Returns what is asked of whoever works here; nothing where nobody does.
    pub fn duty(&self) -> Option<&Duty> {
        match &self.kind {
            GateKind::Work(duty) => Some(duty),
            GateKind::Condition | GateKind::Fork(_) => None,
        }
    }

    /// Returns the branches; nothing where it is no fork.
    pub fn fork(&self) -> Option<&Fork> {
        match &self.kind {
            GateKind::Fork(fork) => Some(fork),
            GateKind::Work(_) | GateKind::Condition => None,
        }
    }

    /// Returns every outcome that a completion may ever have here, `failed` and `skip` only where the gate says so.
    pub fn possible(&self) -> Vec<Outcome> {
        let Some(duty) = self.duty() else { return Vec::new() };
        let mut outcomes: Vec<Outcome> = self.exits.decisions().cloned().collect();
        if outcomes.is_empty() {
            outcomes.push(Outcome::Complete);
        }
        if self.can_reject() {
            outcomes.push(Outcome::NeedsReview);
        }
        outcomes.push(Outcome::Blocked);
        if duty.can_skip {
            outcomes.push(Outcome::Skip);
        }
        if self.exits.on_failure.is_some() {
            outcomes.push(Outcome::Failed);
        }
        outcomes
    }

    /// Returns whose work it is.
    pub fn role(&self) -> Option<&RoleId> {
        self.duty().map(|duty| &duty.role)
    }

    /// Returns whose work there is: the gate's, or its branches'.
    pub fn roles(&self) -> Vec<&RoleId> {
        let branches = self.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
        self.role().into_iter().chain(branches.iter().map(|branch| &branch.duty().role)).collect()
    }

    /// Returns whether it may send a task back by `needs_review`: it says so, has a route for it, or is a fork whose branches
    /// may.
    pub fn can_reject(&self) -> bool {
        match &self.kind {
            GateKind::Work(duty) => {
                duty.can_reject || self.exits.route(&Outcome::NeedsReview).is_some()
            }
            GateKind::Condition => false,
            GateKind::Fork(fork) => fork.branches.iter().any(Branch::rejects),
        }
    }
}

words!(
    /// What happens at a gate, as files say it.
    GateType, "a type of gate", {
        /// Somebody works.
        Work = "work",
        /// `when` decides.
        Condition = "condition",
        /// Several work, each at a branch.
        Fork = "fork",
    }
);

words!(
    /// What counts as the same worker.
    Identity, "a way to tell workers apart", {
        /// The same agent id.
        Agent = "agent",
        /// The same `metadata.session` of the completions.
        Session = "session",
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
