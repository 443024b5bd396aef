//! The one way a task changes: (rules, task, act, now) -> decision or refusal.

use super::refusal::Refusal;
use super::signing::verify;
use super::transition::actions;
use super::transition::claims;
use super::transition::completion::{agrees, complete, pass};
use super::transition::dependencies;
use super::transition::guard;
use super::transition::rule_changes;
use super::transition::timeouts;
use super::transition::warning::Warning;
use super::workflow::rules::Rules;
use crate::domain::{AgentId, Completion, Event, GateId, LostDependency, Task, Timestamp, Work};

/// What somebody wants done with a task.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Put a task that stands nowhere at the first gate that applies to it: a new one, or a hand-made file.
    Open,
    /// The same, and give it to an agent there.
    OpenFor {
        /// Whose it is to be.
        agent: AgentId,
    },
    /// End the visit.
    Complete(Completion),
    /// Let a gate that decides by itself decide.
    Pass,
    /// End a visit that the rules in force have no place for any more.
    Move,
    /// Give the work to the role, and to the people in it, that the rules in force name.
    Reroute,
    /// Take the task.
    Claim {
        /// Who takes it.
        agent: AgentId,
        /// The branch that is meant, where the task stands at a fork.
        branch: Option<GateId>,
    },
    /// Give the task to an agent, whoever has it now.
    Assign {
        /// Who does.
        by: Actor,
        /// Whose it is to be.
        agent: AgentId,
        /// The branch that is meant, where the task stands at a fork.
        branch: Option<GateId>,
    },
    /// Say that the work goes on, so that the claim lasts.
    Renew {
        /// Whose claim it is.
        agent: AgentId,
        /// The branch that is meant, where the task stands at a fork.
        branch: Option<GateId>,
        /// How far it is.
        note: Option<String>,
    },
    /// End a claim that nobody renewed.
    Lapse {
        /// The branch, where the task stands at a fork.
        branch: Option<GateId>,
    },
    /// End a visit that has taken too long, or mark it where nobody steps in.
    Timeout {
        /// The branch, where the task stands at a fork.
        branch: Option<GateId>,
    },
    /// Hold the task where it is.
    Hold {
        /// Who does.
        by: Actor,
        /// Why.
        reason: String,
    },
    /// Have the task wait for dependencies that are lost, and for no others.
    Depend {
        /// Those that are.
        lost: Vec<LostDependency>,
    },
    /// Give the task back.
    Release {
        /// Who gives it back.
        by: Actor,
        /// The branch that is meant, where the task stands at a fork.
        branch: Option<GateId>,
    },
    /// Set a blocked task going again.
    Unblock {
        /// Who does.
        by: Actor,
        /// The branch that is meant, where the task stands at a fork; without it, all that are blocked.
        branch: Option<GateId>,
        /// Why it can go on; needed where the history must say so.
        reason: Option<String>,
    },
    /// Call the task off.
    Cancel {
        /// Who does.
        by: Actor,
        /// Why.
        reason: String,
    },
    /// Take a finished task up again.
    Reopen {
        /// Who does.
        by: Actor,
        /// At which gate.
        to: GateId,
        /// Why.
        reason: String,
    },
    /// Move the task against the workflow.
    Override {
        /// Who does.
        by: Actor,
        /// To which gate.
        to: GateId,
        /// Why.
        reason: String,
    },
}

/// Who acts where both people and agents may.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Actor {
    /// A program; it may what org.yaml lets it, and what belongs to the tasks it holds.
    Agent(AgentId),
    /// A person, with the agent id that org.yaml knows the person by.
    Person(Option<AgentId>),
}

impl Actor {
    /// Returns the agent id, if there is one.
    pub fn agent(&self) -> Option<&AgentId> {
        match self {
            Self::Agent(agent) => Some(agent),
            Self::Person(agent) => agent.as_ref(),
        }
    }
}

/// What the engine answers when it does not refuse.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// The task changes.
    Step(Box<Step>),
    /// It was done before: the completion ended that visit, or the agent holds it. Nothing is left to do.
    Settled {
        /// The visit's number.
        visit: usize,
    },
}

/// One change of a task.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// The task after it.
    pub task: Task,
    /// A text for the body of the file.
    pub work: Option<Work>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
}

/// Decides an act.
pub fn decide(rules: &Rules, task: &Task, act: &Act, now: Timestamp) -> Result<Decision, Refusal> {
    guard::reason(act)?;
    let step = match act {
        Act::Complete(completion) => {
            let decision = complete(rules, task, completion, completion.stamp(), now)?;
            if let Decision::Step(step) = &decision {
                agrees(rules, task, completion)?;
                verify::check(rules, &step.task, task.history.len())?;
            }
            return Ok(decision);
        }
        Act::Pass => pass(rules, task, now),
        Act::Move => return rule_changes::move_on(rules, task, now),
        Act::Reroute => return rule_changes::reroute(rules, task, now),
        Act::Open => actions::open(rules, task, now),
        Act::OpenFor { agent } => claims::open_for(rules, task, agent, now),
        Act::Claim { agent, branch } => {
            return claims::claim(rules, task, agent, branch.as_ref(), now);
        }
        Act::Assign { by, agent, branch } => {
            return claims::assign(rules, task, by, agent, branch.as_ref(), now);
        }
        Act::Renew { agent, branch, .. } => claims::renew(rules, task, agent, branch.as_ref(), now),
        Act::Lapse { branch } => timeouts::lapse(rules, task, branch.as_ref(), now),
        Act::Timeout { branch } => timeouts::time_out(rules, task, branch.as_ref(), now),
        Act::Hold { by, reason } => actions::hold(rules, task, by, reason, now),
        Act::Depend { lost } => return dependencies::depend(rules, task, lost, now),
        Act::Release { by, branch } => claims::release(rules, task, by, branch.as_ref(), now),
        Act::Unblock { by, branch, reason } => {
            actions::unblock(rules, task, by, branch.as_ref(), reason.as_deref(), now)
        }
        Act::Cancel { by, reason } => actions::cancel(rules, task, by, reason, now),
        Act::Reopen { by, to, reason } => actions::reopen(rules, task, by, to, reason, now),
        Act::Override { by, to, reason } => actions::override_to(rules, task, by, to, reason, now),
    };
    step.map(|step| Decision::Step(Box::new(step)))
}

impl Step {
    pub(crate) fn silent(task: Task) -> Self {
        Self { task, work: None, events: Vec::new(), warnings: Vec::new() }
    }
}
