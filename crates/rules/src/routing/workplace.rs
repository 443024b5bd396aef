//! A workplace: a gate or a branch of one, its duty, its role, and its holder.

use super::loops::since_round;
use crate::refusal::Refusal;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Branch, Completion, Duty, Ending, Gate, GateId, Identity, Outcome, Period, RoleId,
    RunBounds, RunLimits, Station, Task, Verdict, Visit, WorkFolder, Workflow,
};

/// A gate, or a branch of one, at which agents work.
#[derive(Debug, Clone, Copy)]
pub struct Workplace<'a> {
    /// The gate; for a branch, the branch as a gate.
    pub gate: &'a Gate,
    pub duty: &'a Duty,
    /// The role whose work it is: the duty's, or the one that the visit was escalated to.
    pub role: &'a RoleId,
    /// The fork, if this is a branch of one.
    pub fork: Option<&'a Gate>,
    pub holder: Option<&'a AgentId>,
}

impl<'a> Workplace<'a> {
    /// Returns the workplace of the task's open visit; `None` without an open visit, or if its gate is gone or has no duty.
    pub fn of(rules: &'a Rules, task: &'a Task) -> Option<Self> {
        let open = task.gate.as_ref()?;
        let (_, gate) = rules.workflow_of(task)?.gate(&open.current)?;
        let workplace = Self::at(gate)?;
        let role = open.escalated.as_ref().or(rules.own_role(task));
        Some(Self {
            role: role.unwrap_or(workplace.role),
            holder: task.routing.agent.as_ref(),
            ..workplace
        })
    }

    /// Returns how often a program looks whether the gate may be passed; `None` if an agent works there. A visit that was escalated is
    /// work of its new role.
    pub fn looks_every(&self) -> Option<Period> {
        self.duty.run.looks_every().filter(|_| *self.role == self.duty.role)
    }

    /// Returns the workplace of a branch of the task's open visit; `None` without such a branch, or if the rules no longer have it.
    pub fn of_branch(rules: &'a Rules, task: &'a Task, branch: &GateId) -> Option<Self> {
        let open = task.gate.as_ref()?;
        let (_, fork) = rules.workflow_of(task)?.gate(&open.current)?;
        let part = open.branch(branch)?;
        let (_, branch) = fork.fork()?.branch(branch)?;
        let workplace = Self::at_branch(fork, branch);
        let escalated = part.escalated.as_ref().or(open.escalated.as_ref());
        Some(Self {
            role: escalated.unwrap_or(workplace.role),
            holder: part.agent.as_ref(),
            ..workplace
        })
    }

    /// Returns the open workplaces of the task: the gate, or its open branches.
    pub fn open(rules: &'a Rules, task: &'a Task) -> Vec<Self> {
        let branches = task
            .gate
            .iter()
            .flat_map(|open| &open.branches)
            .filter(|branch| branch.status.is_open());
        let branches = branches.filter_map(|branch| Self::of_branch(rules, task, &branch.id));
        Self::of(rules, task).into_iter().chain(branches).collect()
    }

    /// Returns whether the task's gate has no workplace under the rules in force, which have changed.
    pub fn is_stranded(rules: &Rules, task: &Task) -> bool {
        task.gate.is_some()
            && rules.workflow_of(task).is_some()
            && Workplace::open(rules, task).is_empty()
    }

    /// Returns the workplace of the branch, or of the gate without one.
    pub fn find(rules: &'a Rules, task: &'a Task, branch: Option<&GateId>) -> Option<Self> {
        match branch {
            Some(branch) => Self::of_branch(rules, task, branch),
            None => Self::of(rules, task),
        }
    }

    /// Returns the workplace of a gate for any task, without escalation and holder.
    pub fn at(gate: &'a Gate) -> Option<Self> {
        let duty = gate.duty()?;
        Some(Self { gate, duty, role: &duty.role, fork: None, holder: None })
    }

    /// Returns the workplace of a branch for any task, without escalation and holder.
    pub fn at_branch(fork: &'a Gate, branch: &'a Branch) -> Self {
        let duty = branch.duty();
        Self { gate: branch.gate(), duty, role: &duty.role, fork: Some(fork), holder: None }
    }

    /// Returns the limits that hold for runs of the agent here; the narrowest come first.
    pub fn run_limits(&self, rules: &'a Rules, task: &Task, agent: &AgentId) -> Vec<&'a RunLimits> {
        let launch = rules.org.agent(agent).and_then(|agent| agent.run.as_ref());
        let role = rules.org.role(self.role);
        let workflow = rules.workflow_of(task);
        std::iter::once(&self.duty.run.limits)
            .chain(launch.map(|launch| &launch.limits))
            .chain(role.map(|role| &role.run))
            .chain(workflow.map(|workflow| &workflow.run))
            .chain([&rules.project.run])
            .collect()
    }

    /// Returns the folder in which the agent's program works here.
    pub fn work_folder(&self, rules: &Rules, task: &Task, agent: &AgentId) -> WorkFolder {
        RunBounds::of(&self.run_limits(rules, task, agent)).workspace
    }

    /// Returns the name of the branch.
    pub fn branch(&self) -> Option<&'a GateId> {
        self.fork.map(|_| &self.gate.id)
    }

    /// Returns the workplace's station: the gate, or the branch of it.
    pub fn station(&self) -> Station {
        Station { gate: self.fork.unwrap_or(self.gate).id.clone(), branch: self.branch().cloned() }
    }

    /// Returns whether the workplace is for people only, by its duty or its role.
    pub fn requires_human(&self, rules: &Rules) -> bool {
        self.duty.require_human || rules.org.role(self.role).is_some_and(|role| role.require_human)
    }

    /// Returns whether the workplace's role has a registered agent, or a person if one is required.
    pub(crate) fn is_staffed(&self, rules: &Rules) -> bool {
        let mut able = rules.org.able(self.role, self.duty.require_human);
        rules.is_open(self.role) || able.next().is_some()
    }

    /// Returns whether a completion here judges the task, so that it must name an outcome: the gate can reject or decides.
    pub fn judges(&self) -> bool {
        self.gate.can_reject() || self.gate.exits.decides()
    }

    /// Returns whether the outcome rejects the task, whatever its name.
    pub fn sends_back(&self, workflow: &Workflow, outcome: &Outcome) -> bool {
        if *outcome == Outcome::NeedsReview {
            return true;
        }
        let branch = self.branch().and_then(|id| self.fork?.fork()?.branch(id));
        match branch {
            Some((_, branch)) => matches!(branch.verdict(outcome), Verdict::Reject | Verdict::Hold),
            None => workflow.goes_back(self.gate, outcome),
        }
    }

    /// Returns the outcomes that a completion may have here. A gate that decides has no `complete`.
    pub fn outcomes(&self, rules: &Rules) -> Vec<Outcome> {
        let mut outcomes = self.gate.possible();
        outcomes.retain(|outcome| *outcome != Outcome::Skip || !self.requires_human(rules));
        outcomes
    }
}

/// Fails if the agent may not complete the open visit.
pub fn may_complete(
    rules: &Rules,
    task: &Task,
    workplace: &Workplace<'_>,
    agent: &AgentId,
) -> Result<(), Refusal> {
    let members =
        || rules.org.role(workplace.role).map(|role| role.agents.clone()).unwrap_or_default();
    let gate = &workplace.station();
    if workplace.holder.is_some_and(|holder| holder != agent) {
        return Err(held_by_another(task, workplace, agent));
    }
    if workplace.requires_human(rules) && !agent.is_human() {
        return Err(Refusal::HumanRequired {
            gate: gate.clone(),
            role: workplace.role.clone(),
            agent: agent.clone(),
            people: members().into_iter().filter(AgentId::is_human).collect(),
        });
    }
    let holds_it = workplace.holder == Some(agent);
    if !holds_it && !rules.is_open(workplace.role) && !members().contains(agent) {
        return Err(Refusal::WrongRole {
            task: task.id.clone(),
            gate: gate.clone(),
            role: workplace.role.clone(),
            agent: agent.clone(),
            roles: rules.org.roles_of(agent).cloned().collect(),
            members: members(),
        });
    }
    // If an agent's earlier visit names no session, another session makes no difference.
    let same = |visit: &Visit| {
        let by_agent = workplace.duty.separate_by == Identity::Agent || visit.session().is_none();
        by_agent && visit.agent.as_ref() == Some(agent)
    };
    same_worker_visit(task, workplace, same)
        .map_or(Ok(()), |done| Err(not_separate(task, workplace, agent, Identity::Agent, done)))
}

/// Returns the refusal for an agent that is not the holder; a conflict if it was, and its claim expired.
pub(crate) fn held_by_another(task: &Task, workplace: &Workplace<'_>, agent: &AgentId) -> Refusal {
    match workplace.holder.cloned() {
        Some(holder) => another_has(task, workplace.branch(), holder, agent),
        None => Refusal::NotClaimed { task: task.id.clone() },
    }
}

/// Returns the refusal for an agent that is not the holder, given the holder.
pub(crate) fn another_has(
    task: &Task,
    branch: Option<&GateId>,
    holder: AgentId,
    agent: &AgentId,
) -> Refusal {
    let ticket = task.ticket_of(branch).without_visit();
    let part = branch.and_then(|id| task.gate.as_ref()?.branch(id));
    let lost = part.map_or(task.routing.lost.as_ref(), |part| part.lost.as_ref());
    if lost == Some(agent) {
        Refusal::ClaimLost { ticket, holder, agent: agent.clone() }
    } else {
        Refusal::AssignedToAnother { ticket, holder, agent: agent.clone() }
    }
}

/// Refuses a completion by the session that completed a gate which this one must be separate from. Without two sessions to compare,
/// the agents are compared.
pub(crate) fn check_separate_session(
    task: &Task,
    workplace: &Workplace<'_>,
    completion: &Completion,
) -> Result<(), Refusal> {
    let session = completion.content.metadata.get("session");
    let same = |visit: &Visit| match (session, visit.session()) {
        (Some(session), Some(other)) => session == other,
        _ => visit.agent.as_ref() == Some(&completion.agent),
    };
    let by = workplace.duty.separate_by;
    same_worker_visit(task, workplace, |visit| by == Identity::Session && same(visit))
        .map_or(Ok(()), |done| Err(not_separate(task, workplace, &completion.agent, by, done)))
}

/// Returns the last visit in this round by the same worker, at a gate which this one must be separate from.
fn same_worker_visit<'a>(
    task: &'a Task,
    workplace: &Workplace<'_>,
    same: impl Fn(&Visit) -> bool,
) -> Option<&'a Visit> {
    let duty = workplace.duty;
    let worked = |visit: &&Visit| {
        let somebody = visit.agent.is_some() && matches!(visit.outcome, Ending::Completed(_));
        somebody && duty.separate_from.contains(&visit.gate) && same(visit)
    };
    since_round(&task.history).iter().rev().find(worked)
}

fn not_separate(
    task: &Task,
    workplace: &Workplace<'_>,
    agent: &AgentId,
    by: Identity,
    done: &Visit,
) -> Refusal {
    Refusal::NotSeparate {
        task: task.id.clone(),
        gate: workplace.station(),
        agent: agent.clone(),
        by,
        worked_at: done.gate.clone(),
    }
}
