//! The ways out of a gate: which outcome leads where, how often, and what happens when it was too often.

use std::fmt;
use std::str::FromStr;

use serde::Serialize;

use crate::domain::words::words;
use crate::domain::{GateId, IdFault, Outcome, RoleId};

/// The ways out of a gate. What no route says follows the defaults of its outcome.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Exits {
    /// By outcome, in the order in which they are written.
    pub routes: Vec<(Outcome, Route)>,
    /// Where it leads when the agent fails; absent means that `failed` is no outcome here.
    pub on_failure: Option<Route>,
    /// Where it sends a task back to, where the strategy is `named`.
    pub reject_to: Option<GateId>,
    /// How often routes from here may send a task back to one gate; absent means three where the gate has routes of its own,
    /// else the loop guard alone.
    pub max_retries: Option<u32>,
    /// What happens to a task that would be sent back once more.
    pub on_exhausted: Exhausted,
}

/// Where an outcome leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Route {
    pub to: Target,
    /// What opens the next gate's brief; a template.
    #[serde(skip)]
    pub prompt: Option<String>,
    /// Gates whose outputs the context forgets on this way.
    pub clear: Vec<GateId>,
}

/// The end of a route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// That gate.
    Gate(GateId),
    /// The next gate of the list that applies, or the end.
    Next,
    /// The first gate that applies.
    Origin,
    /// The gate of the line that was visited last.
    Previous,
    /// Where it stands, blocked.
    Hold,
    /// The end: the task is complete.
    End,
    /// The end: the task is called off.
    Cancelled,
    /// The end: the task has failed.
    Fail,
}

words!(
    /// What a task is when a route ends it.
    EndsAs, "an end", {
        /// It reached its goal.
        Complete = "complete",
        /// It was called off.
        Cancelled = "cancelled",
    }
);

/// What happens to a task that was sent back too often.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Exhausted {
    /// It goes where it was sent, and waits there for a person.
    #[default]
    Block,
    /// It goes where it was sent, and that visit belongs to the role.
    Escalate(RoleId),
    /// It goes there.
    Route(Target),
}

impl fmt::Display for Exhausted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Block => f.write_str("block"),
            Self::Escalate(role) => write!(f, "escalate to {role}"),
            Self::Route(target) => write!(f, "{target}"),
        }
    }
}

impl Exits {
    /// How often a gate with routes of its own may send back when it does not say.
    pub const DEFAULT_RETRIES: u32 = 3;

    /// Returns the route of the outcome, if one is written.
    pub fn route(&self, outcome: &Outcome) -> Option<&Route> {
        match outcome {
            Outcome::Failed => self.on_failure.as_ref(),
            _ => self
                .routes
                .iter()
                .find(|(of, _)| of.is_meant_by(outcome.as_str()))
                .map(|(_, route)| route),
        }
    }

    /// Returns the decisions of the gate, in their order.
    pub fn decisions(&self) -> impl Iterator<Item = &Outcome> {
        self.routes
            .iter()
            .map(|(outcome, _)| outcome)
            .filter(|outcome| matches!(outcome, Outcome::Decision(_)))
    }

    /// Returns whether the gate decides: it has an outcome of its own, and then `complete` means nothing.
    pub fn decides(&self) -> bool {
        self.decisions().next().is_some()
    }

    /// Returns how often routes from here may send a task back to one gate; absent means that the loop guard alone counts.
    pub fn retries(&self) -> Option<u32> {
        let own = !self.routes.is_empty() || self.on_failure.is_some();
        self.max_retries.or(own.then_some(Self::DEFAULT_RETRIES))
    }

    /// Returns every way that is written, with the outcome that takes it.
    pub fn written(&self) -> impl Iterator<Item = (&Outcome, &Route)> {
        let failure = self.on_failure.as_ref().map(|route| (&Outcome::Failed, route));
        self.routes.iter().map(|(outcome, route)| (outcome, route)).chain(failure)
    }
}

impl Route {
    /// Returns a route that does nothing but lead there.
    pub fn to(to: Target) -> Self {
        Self { to, prompt: None, clear: Vec::new() }
    }
}

impl FromStr for Target {
    type Err = IdFault;

    fn from_str(text: &str) -> Result<Self, IdFault> {
        Ok(match text {
            "$next" => Self::Next,
            "$origin" => Self::Origin,
            "$previous" => Self::Previous,
            "$hold" => Self::Hold,
            "$end" => Self::End,
            "$fail" => Self::Fail,
            _ if text.starts_with('$') => {
                return Err(IdFault {
                    kind: "a target",
                    text: text.to_owned(),
                    rule: "name a gate, or one of `$next`, `$origin`, `$previous`, `$hold`, `$end`, `$fail`",
                });
            }
            _ => Self::Gate(text.parse()?),
        })
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Gate(gate) => gate.as_str(),
            Self::Next => "$next",
            Self::Origin => "$origin",
            Self::Previous => "$previous",
            Self::Hold => "$hold",
            Self::End => "$end",
            Self::Cancelled => "$end as cancelled",
            Self::Fail => "$fail",
        })
    }
}
