//! Where somebody works: a gate or a branch of one, what is asked there, and whose it is.

use crate::domain::{
    AgentId, Branch, Completion, Duty, Ending, Gate, GateId, Identity, Outcome, RoleId, Station,
    Task, Verdict, Visit, Workflow,
};
use crate::rules::refusal::Refusal;
use crate::rules::workflow::graph::goes_back;
use crate::rules::workflow::rules::Rules;

/// The place of somebody's work in the rules.
#[derive(Debug, Clone, Copy)]
pub struct Workplace<'a> {
    /// The gate; of a branch, what it would be as a gate.
    pub gate: &'a Gate,
    pub duty: &'a Duty,
    /// Whose work it is: the duty's role, or the one that the visit was escalated to.
    pub role: &'a RoleId,
    /// The fork of which the gate is a branch.
    pub fork: Option<&'a Gate>,
    pub holder: Option<&'a AgentId>,
}

impl<'a> Workplace<'a> {
    /// Returns the post of the task's open visit; nothing where none is open, the gate is gone, or nobody works there.
    pub fn of(rules: &'a Rules, task: &'a Task) -> Option<Self> {
        let open = task.gate.as_ref()?;
        let (_, gate) = rules.workflow_of(task)?.gate(&open.current)?;
        let post = Self::at(gate)?;
        let role = open.escalated.as_ref().or(rules.own_role(task));
        Some(Self { role: role.unwrap_or(post.role), holder: task.routing.agent.as_ref(), ..post })
    }

    /// Returns the post of a branch of the task's open visit; nothing where it has no such branch, or the branch is gone.
    pub fn of_branch(rules: &'a Rules, task: &'a Task, branch: &GateId) -> Option<Self> {
        let open = task.gate.as_ref()?;
        let (_, fork) = rules.workflow_of(task)?.gate(&open.current)?;
        let own = open.branch(branch)?;
        let (_, branch) = fork.fork()?.branch(branch)?;
        let post = Self::at_branch(fork, branch);
        let escalated = own.escalated.as_ref().or(open.escalated.as_ref());
        Some(Self { role: escalated.unwrap_or(post.role), holder: own.agent.as_ref(), ..post })
    }

    /// Returns the posts at which somebody may speak now: the gate's, or those of the branches that are still open.
    pub fn open(rules: &'a Rules, task: &'a Task) -> Vec<Self> {
        let branches = task
            .gate
            .iter()
            .flat_map(|open| &open.branches)
            .filter(|branch| branch.status.is_open());
        let branches = branches.filter_map(|branch| Self::of_branch(rules, task, &branch.id));
        Self::of(rules, task).into_iter().chain(branches).collect()
    }

    /// Returns whether the task stands where the rules in force let nobody speak: they have changed since it came there.
    pub fn is_stranded(rules: &Rules, task: &Task) -> bool {
        task.gate.is_some()
            && rules.workflow_of(task).is_some()
            && Workplace::open(rules, task).is_empty()
    }

    /// Returns the post that the ticket names: the gate's, or a branch's.
    pub fn meant(rules: &'a Rules, task: &'a Task, branch: Option<&GateId>) -> Option<Self> {
        match branch {
            Some(branch) => Self::of_branch(rules, task, branch),
            None => Self::of(rules, task),
        }
    }

    /// Returns the post at the gate, as it is for a task that was not escalated.
    pub fn at(gate: &'a Gate) -> Option<Self> {
        let duty = gate.duty()?;
        Some(Self { gate, duty, role: &duty.role, fork: None, holder: None })
    }

    /// Returns the post at a branch, likewise.
    pub fn at_branch(fork: &'a Gate, branch: &'a Branch) -> Self {
        let duty = branch.duty();
        Self { gate: branch.gate(), duty, role: &duty.role, fork: Some(fork), holder: None }
    }

    /// Returns the name of the branch.
    pub fn branch(&self) -> Option<&'a GateId> {
        self.fork.map(|_| &self.gate.id)
    }

    /// Returns where it is: the gate, or the branch of it.
    pub fn station(&self) -> Station {
        Station { gate: self.fork.unwrap_or(self.gate).id.clone(), branch: self.branch().cloned() }
    }

    /// Returns whether it is for people only: the duty says so, or its role does.
    pub fn requires_human(&self, rules: &Rules) -> bool {
        self.duty.require_human || rules.org.role(self.role).is_some_and(|role| role.require_human)
    }

    /// Returns whether somebody can be handed its work: a known agent of its role, and a person where it needs one.
    pub fn is_staffed(&self, rules: &Rules) -> bool {
        if rules.is_open(self.role) {
            return true;
        }
        let human = self.requires_human(rules);
        let fit = |agent: &AgentId| rules.org.is_registered(agent) && (!human || agent.is_human());
        rules.org.role(self.role).is_some_and(|role| role.agents.iter().any(fit))
    }

    /// Returns whether a task may be sent back from here, or a decision is made: then silence means nothing.
    pub fn judges(&self) -> bool {
        self.gate.can_reject() || self.gate.exits.decides()
    }

    /// Returns whether the outcome sends the task back, or says no to it: a rejection by whatever word.
    pub fn sends_back(&self, workflow: &Workflow, outcome: &Outcome) -> bool {
        if *outcome == Outcome::NeedsReview {
            return true;
        }
        let branch = self.branch().and_then(|id| self.fork?.fork()?.branch(id));
        match branch {
            Some((_, branch)) => matches!(branch.verdict(outcome), Verdict::Reject | Verdict::Hold),
            None => goes_back(workflow, self.gate, outcome),
        }
    }

    /// Returns the outcomes that a completion may have here. A gate that decides has no `complete`.
    pub fn outcomes(&self, rules: &Rules) -> Vec<Outcome> {
        let mut outcomes = self.gate.possible();
        outcomes.retain(|outcome| *outcome != Outcome::Skip || !self.requires_human(rules));
        outcomes
    }
}

/// Returns whether the agent may complete the open visit, or why not.
pub fn may_complete(
    rules: &Rules,
    task: &Task,
    post: &Workplace<'_>,
    agent: &AgentId,
) -> Result<(), Refusal> {
    let members = || rules.org.role(post.role).map(|role| role.agents.clone()).unwrap_or_default();
    let gate = &post.station();
    if post.holder.is_some_and(|holder| holder != agent) {
        return Err(held_by_another(task, post, agent));
    }
    if post.requires_human(rules) && !agent.is_human() {
        return Err(Refusal::HumanRequired {
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            people: members().into_iter().filter(AgentId::is_human).collect(),
        });
    }
    let holds_it = post.holder == Some(agent);
    if !holds_it && !rules.is_open(post.role) && !members().contains(agent) {
        return Err(Refusal::WrongRole {
            task: task.id.clone(),
            gate: gate.clone(),
            role: post.role.clone(),
            agent: agent.clone(),
            roles: rules.org.roles_of(agent).cloned().collect(),
            members: members(),
        });
    }
    same_worker_visit(task, post, Identity::Agent, |visit| visit.agent.as_ref() == Some(agent))
        .map_or(Ok(()), |done| Err(not_separate(task, post, agent, done)))
}

/// Returns the refusal for an agent that does not have what another has: a conflict if it had it before and let its claim end.
pub(crate) fn held_by_another(task: &Task, post: &Workplace<'_>, agent: &AgentId) -> Refusal {
    match post.holder.cloned() {
        Some(holder) => another_has(task, post.branch(), holder, agent),
        None => Refusal::NotClaimed { task: task.id.clone() },
    }
}

/// Returns the same, where it is known who has it.
pub(crate) fn another_has(
    task: &Task,
    branch: Option<&GateId>,
    holder: AgentId,
    agent: &AgentId,
) -> Refusal {
    let ticket = task.ticket_of(branch).without_visit();
    let own = branch.and_then(|id| task.gate.as_ref()?.branch(id));
    let lost = own.map_or(task.routing.lost.as_ref(), |own| own.lost.as_ref());
    if lost == Some(agent) {
        Refusal::ClaimLost { ticket, holder, agent: agent.clone() }
    } else {
        Refusal::AssignedToAnother { ticket, holder, agent: agent.clone() }
    }
}

/// Refuses a completion from the session of work that this gate must be kept apart from.
pub(crate) fn check_separate_session(
    task: &Task,
    post: &Workplace<'_>,
    completion: &Completion,
) -> Result<(), Refusal> {
    let session = completion.metadata.get("session");
    let same = |visit: &Visit| {
        session.is_none() || visit.metadata.get("session").is_none_or(|own| Some(own) == session)
    };
    same_worker_visit(task, post, Identity::Session, same)
        .map_or(Ok(()), |done| Err(not_separate(task, post, &completion.agent, done)))
}

/// Returns the last work at a gate that this one keeps apart from, if it was the same worker's.
fn same_worker_visit<'a>(
    task: &'a Task,
    post: &Workplace<'_>,
    by: Identity,
    same: impl Fn(&Visit) -> bool,
) -> Option<&'a Visit> {
    let duty = post.duty;
    let worked = |visit: &&Visit| {
        let somebody = visit.agent.is_some() && matches!(visit.outcome, Ending::Said(_));
        somebody && duty.separate_from.contains(&visit.gate) && same(visit)
    };
    task.history.iter().rev().filter(|_| duty.separate_by == by).find(worked)
}

fn not_separate(task: &Task, post: &Workplace<'_>, agent: &AgentId, done: &Visit) -> Refusal {
    Refusal::NotSeparate {
        task: task.id.clone(),
        gate: post.station(),
        agent: agent.clone(),
        by: post.duty.separate_by,
        worked_at: done.gate.clone(),
    }
}
