//! A fork: branches that are open at the same time, and how their verdicts join.

use std::fmt;
use std::str::FromStr;

use crate::domain::values::word_enum::words;
use crate::domain::{Duty, Gate, GateId, GateKind, IdFault, Outcome, Target};

/// Branches and how they join.
#[derive(Debug, Clone, PartialEq)]
pub struct Fork {
    /// The branches, in the order in which they are written.
    pub branches: Vec<Branch>,
    /// How many of them must pass.
    pub join: JoinStrategy,
}

/// One branch of a fork: a gate at which somebody works, which leads nowhere by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct Branch(Gate);

words!(
    /// What an outcome at a branch means for its fork.
    Verdict, "a verdict", {
        /// The branch passes the task.
        Pass = "pass",
        /// The branch wants something mended.
        Reject = "reject",
        /// The branch cannot go on, and waits.
        Hold = "hold",
        /// The branch does not apply.
        Skip = "skip",
    }
);

words!(
    /// How many branches of a fork must pass.
    JoinStrategy, "a join strategy", {
        /// Each of them.
        All = "all",
        /// One of them.
        Any = "any",
        /// More than half of them.
        Majority = "majority",
    }
);

impl Branch {
    /// Returns the gate as a branch; nothing if nobody works at it, or if it is a detour.
    pub fn new(gate: Gate) -> Option<Self> {
        (matches!(gate.kind, GateKind::Work(_)) && !gate.detour).then_some(Self(gate))
    }

    /// Returns its name.
    pub fn id(&self) -> &GateId {
        &self.0.id
    }

    /// Returns what it would be as a gate: `complete` goes on, and its routes are verdicts.
    pub fn gate(&self) -> &Gate {
        &self.0
    }

    /// Returns what is asked of whoever works there.
    pub fn duty(&self) -> &Duty {
        self.0.duty().expect("a branch is made of a gate at which somebody works")
    }

    /// Returns what an outcome there means for the fork.
    pub fn verdict(&self, outcome: &Outcome) -> Verdict {
        match (self.0.exits.route(outcome).map(|route| &route.to), outcome) {
            (Some(Target::Next), _) | (None, Outcome::Complete) => Verdict::Pass,
            (None, Outcome::Skip) => Verdict::Skip,
            // A decision and a failure have no meaning without a route, so nothing but `blocked` is meant.
            (Some(Target::Hold), _)
            | (None, Outcome::Blocked | Outcome::Failed | Outcome::Decision(_)) => Verdict::Hold,
            (Some(_), _) | (None, Outcome::NeedsReview) => Verdict::Reject,
        }
    }

    /// Returns whether something that can be said there is a rejection.
    pub fn rejects(&self) -> bool {
        let says_so = self.0.can_reject() && self.verdict(&Outcome::NeedsReview) == Verdict::Reject;
        says_so
            || self
                .0
                .exits
                .routes
                .iter()
                .any(|(outcome, _)| self.verdict(outcome) == Verdict::Reject)
    }
}

impl Fork {
    /// Returns the branch of that name and its place in the list.
    pub fn branch(&self, id: &GateId) -> Option<(usize, &Branch)> {
        self.branches.iter().enumerate().find(|(_, branch)| branch.id() == id)
    }
}

/// A gate, or one branch of it: `review`, `review/security`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Station {
    /// The gate.
    pub gate: GateId,
    /// The branch of it.
    pub branch: Option<GateId>,
}

impl FromStr for Station {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        Ok(match text.split_once('/') {
            Some((gate, branch)) => Self { gate: gate.parse()?, branch: Some(branch.parse()?) },
            None => Self { gate: text.parse()?, branch: None },
        })
    }
}

impl fmt::Display for Station {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.branch {
            Some(branch) => f.pad(&format!("{}/{branch}", self.gate)),
            None => f.pad(self.gate.as_str()),
        }
    }
}

impl From<&GateId> for Station {
    fn from(gate: &GateId) -> Self {
        Self { gate: gate.clone(), branch: None }
    }
}
