//! Claims: claiming, assigning, renewing and releasing a task or a branch of one; and time limits.

use std::fmt;

use super::fold;
use super::visit::Transition;
use crate::act::{Actor, Decision, WorkflowStep};
use crate::refusal::Refusal;
use crate::routing::fork;
use crate::routing::reviews::lost_dependencies;
use crate::routing::workplace::{Workplace, another_has, held_by_another, may_complete};
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, BranchStatus, Duty, Ending, GateId, OpenVisit, Period, Permission, RoleId, Status,
    Task, Ticket, Timestamp, Visit, Workflow,
};

impl Transition<'_> {
    pub(crate) fn claim(
        &self,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<Decision, Refusal> {
        let Self { rules, task, .. } = *self;
        let open = self.open()?;
        let ticket = Ticket { task: task.id.clone(), visit: None, branch: branch.cloned() };
        let branch = fork::find_branch(rules, task, &ticket, agent)?;
        let workplace = self.workplace(open, branch.as_ref())?;
        may_complete(rules, task, &workplace, agent)?;
        if workplace.holder.is_some() {
            return Ok(Decision::Settled { visit: open.visit });
        }
        let part = branch.as_ref().and_then(|id| open.branch(id));
        let part = part.filter(|part| part.status == BranchStatus::Blocked);
        if task.status == Status::Blocked || part.is_some() {
            return Err(Refusal::Blocked {
                ticket: task.ticket_of(branch.as_ref()).without_visit(),
                blockers: part.map_or(&task.blockers, |part| &part.blockers).clone(),
            });
        }
        let mut after = self.changed();
        set_holder(&mut after, branch.as_ref(), Some(agent));
        Ok(WorkflowStep::silent(after).into())
    }

    /// Assigns the task, or a branch of it, to an agent, even if another agent holds it.
    pub(crate) fn assign(
        &self,
        by: &Actor,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<Decision, Refusal> {
        let open = self.open()?;
        self.permit(by, Permission::Assign, branch)?;
        self.known_branch(open, branch)?;
        // The branch is determined as if there were no claims; then only that branch is taken from its holder.
        let meant = Ticket { branch: branch.cloned(), ..self.task.ticket() };
        let branch =
            fork::find_branch(self.rules, &without_agents(self.task, None), &meant, agent)?;
        if self.workplace(open, branch.as_ref())?.holder == Some(agent) {
            return Ok(Decision::Settled { visit: open.visit });
        }
        let free = without_agents(self.task, branch.as_ref());
        Transition { task: &free, ..*self }.claim(agent, branch.as_ref())
    }

    /// Renews a claim: its lease starts now.
    pub(crate) fn renew(
        &self,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<WorkflowStep, Refusal> {
        let open = self.open()?;
        let meant = Ticket { branch: branch.cloned(), ..self.task.ticket() };
        let branch = fork::find_branch(self.rules, self.task, &meant, agent)?;
        let workplace = self.workplace(open, branch.as_ref())?;
        if workplace.holder != Some(agent) {
            return Err(held_by_another(self.task, &workplace, agent));
        }
        let mut after = self.changed();
        let mut updated = after.updated;
        let claimed = match after.branch_mut(branch.as_ref()) {
            Some(part) => &mut part.claimed,
            None => &mut after.routing.claimed,
        };
        if *claimed == Some(updated) {
            // One second later than recorded, so that the file changes.
            let later = updated.checked_add(jiff::SignedDuration::from_secs(1));
            updated = later.unwrap_or(Timestamp::MAX);
        }
        *claimed = Some(updated);
        after.updated = updated;
        Ok(WorkflowStep::silent(after))
    }

    pub(crate) fn release(
        &self,
        by: &Actor,
        branch: Option<&GateId>,
    ) -> Result<WorkflowStep, Refusal> {
        let open = self.open()?;
        self.known_branch(open, branch)?;
        let branch = if fork::active_branches(self.rules, self.task, open).is_empty() {
            let holder = self.task.routing.agent.as_ref().ok_or_else(|| self.not_claimed())?;
            self.may_release(by, holder, None)?;
            None
        } else {
            Some(self.claimed_branch(open, by, branch)?)
        };
        let mut after = self.changed();
        set_holder(&mut after, branch, None);
        Ok(WorkflowStep::silent(after))
    }

    fn not_claimed(&self) -> Refusal {
        Refusal::NotClaimed { task: self.task.id.clone() }
    }

    /// Returns the claimed branch to release: the named one, otherwise the only one that the actor may release.
    fn claimed_branch<'o>(
        &self,
        open: &'o OpenVisit,
        by: &Actor,
        branch: Option<&GateId>,
    ) -> Result<&'o GateId, Refusal> {
        let named = open.branches.iter().filter(|part| branch.is_none_or(|id| part.id == *id));
        let claimed: Vec<(&GateId, &AgentId)> =
            named.filter_map(|part| Some((&part.id, part.agent.as_ref()?))).collect();
        let may =
            |(id, holder): &&(&GateId, &AgentId)| self.may_release(by, holder, Some(id)).is_ok();
        match (&claimed.iter().filter(may).collect::<Vec<_>>()[..], &claimed[..]) {
            ([(id, _)], _) => Ok(id),
            ([], [(id, holder), ..]) => self.may_release(by, holder, Some(id)).map(|()| *id),
            ([], []) => Err(self.not_claimed()),
            _ => Err(Refusal::BranchNeeded {
                task: self.task.id.clone(),
                gate: open.current.clone(),
                open: fork::open_tickets(self.rules, self.task),
            }),
        }
    }

    /// Refuses an actor that may not end the claim. A person may end any claim, an agent its own.
    fn may_release(
        &self,
        by: &Actor,
        holder: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<(), Refusal> {
        match by {
            Actor::Agent(agent) if agent != holder => {
                Err(another_has(self.task, branch, holder.clone(), agent))
            }
            _ => Ok(()),
        }
    }
}

/// Sets the holder of the task, or of a branch of it, as of its last change; `None` releases it.
pub(crate) fn set_holder(task: &mut Task, branch: Option<&GateId>, agent: Option<&AgentId>) {
    let claimed = agent.map(|_| task.updated);
    if let Some(part) = task.branch_mut(branch) {
        (part.agent, part.claimed) = (agent.cloned(), claimed);
        part.lost.take_if(|lost| agent == Some(lost));
        part.status = if agent.is_some() { BranchStatus::InProgress } else { BranchStatus::Ready };
        fork::update_status(task);
        return;
    }
    (task.routing.agent, task.routing.claimed) = (agent.cloned(), claimed);
    task.routing.lost.take_if(|lost| agent == Some(lost));
    if agent.is_some() {
        task.status = Status::InProgress;
    } else if task.status == Status::InProgress {
        task.status = Status::Ready;
    }
}

/// Returns the task without claims, or without the claim of that branch.
fn without_agents(task: &Task, branch: Option<&GateId>) -> Task {
    let mut free = task.clone();
    free.routing.agent.take_if(|_| branch.is_none());
    for part in free.branches_mut() {
        part.agent.take_if(|_| branch.is_none_or(|id| part.id == *id));
    }
    free
}

/// A kind of time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// The time limit of a visit.
    Timeout,
    /// The time limit of a claim that is not renewed.
    Lease,
}

/// The end of a time limit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deadline {
    pub at: Timestamp,
    pub limit: Limit,
    /// The branch, if the task is at a fork.
    pub branch: Option<GateId>,
}

/// The data of an open visit or branch that time limits depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stay<'a> {
    /// The time when it began, or was last unblocked.
    pub since: Timestamp,
    pub agent: Option<&'a AgentId>,
    /// The time of the claim, or of its last renewal.
    pub claimed: Option<Timestamp>,
    /// True if its time limit has ended already, or it was escalated.
    pub timer_spent: bool,
}

/// The time limits of a gate or a branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TimeLimits {
    /// The time limit of a visit.
    pub timeout: Option<Period>,
    /// The time that a claim lasts.
    pub lease: Option<Period>,
}

impl TimeLimits {
    /// Returns the limits of the duty, with the workflow's as defaults.
    pub fn of(workflow: &Workflow, duty: &Duty) -> Self {
        Self { timeout: duty.timeout.or(workflow.timeout), lease: duty.lease.or(workflow.lease) }
    }

    /// Returns the ends of a stay's limits. A person's claim does not expire.
    pub fn of_stay(self, stay: Stay<'_>) -> impl Iterator<Item = (Timestamp, Limit)> {
        let timeout = self.timeout.filter(|_| !stay.timer_spent);
        let lease = self.lease.filter(|_| stay.agent.is_some_and(|agent| !agent.is_human()));
        let timeout = timeout.map(|period| (after(stay.since, period), Limit::Timeout));
        let lease =
            lease.zip(stay.claimed).map(|(period, since)| (after(since, period), Limit::Lease));
        timeout.into_iter().chain(lease)
    }
}

/// Returns the deadlines of the task, the earliest first.
pub fn deadlines(rules: &Rules, task: &Task) -> Vec<Deadline> {
    let Some(workflow) = rules.workflow_of(task) else { return Vec::new() };
    let mut all: Vec<Deadline> = Workplace::open(rules, task)
        .iter()
        .filter_map(|workplace| Some((workplace, stay(task, workplace.branch())?)))
        .flat_map(|(workplace, stay)| {
            let branch = workplace.branch().cloned();
            let ends = TimeLimits::of(workflow, workplace.duty).of_stay(stay);
            ends.map(move |(at, limit)| Deadline { at, limit, branch: branch.clone() })
        })
        .collect();
    all.sort_by_key(|deadline| deadline.at);
    all
}

/// Returns the stay of the open visit, or of an open branch; `None` while it is blocked or held.
pub fn stay<'a>(task: &'a Task, branch: Option<&GateId>) -> Option<Stay<'a>> {
    let open = task
        .gate
        .as_ref()
        .filter(|open| open.held.is_none() && lost_dependencies(task).is_empty())?;
    match branch {
        None => (task.status != Status::Blocked).then(|| Stay {
            since: open.resumed.unwrap_or(open.entered),
            agent: task.routing.agent.as_ref(),
            claimed: task.routing.claimed,
            timer_spent: open.escalated.is_some() || open.overdue_since().is_some(),
        }),
        Some(id) => open
            .branch(id)
            .filter(|part| part.status != BranchStatus::Blocked && part.status.is_open())
            .map(|part| Stay {
                since: part.resumed.unwrap_or_else(|| fork::branch_entered(task, open, id)),
                agent: part.agent.as_ref(),
                claimed: part.claimed,
                timer_spent: part.escalated.is_some()
                    || open.escalated.is_some()
                    || part.overdue_since().is_some(),
            }),
    }
}

fn after(since: Timestamp, period: Period) -> Timestamp {
    let seconds = i64::try_from(period.seconds()).unwrap_or(i64::MAX);
    since.checked_add(jiff::SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX)
}

impl Transition<'_> {
    /// Returns the open visit. Fails if the limit has not ended.
    fn due(&self, limit: Limit, branch: Option<&GateId>) -> Result<&OpenVisit, Refusal> {
        let open = self.open()?;
        let all = deadlines(self.rules, self.task);
        let end = all.iter().find(|end| end.limit == limit && end.branch.as_ref() == branch);
        let at = end.map(|end| end.at);
        if at.is_some_and(|at| at <= self.now) {
            return Ok(open);
        }
        Err(Refusal::NotDue { ticket: self.task.ticket_of(branch), at })
    }

    /// Ends a visit at its time limit and escalates to another role; without one, marks the visit overdue.
    pub(crate) fn time_out(&self, branch: Option<&GateId>) -> Result<WorkflowStep, Refusal> {
        let Self { rules, task, .. } = *self;
        let open = self.due(Limit::Timeout, branch)?;
        let mut after = self.changed();
        let workplace = Workplace::find(rules, task, branch);
        let Some((workplace, role)) =
            workplace.and_then(|workplace| Some((workplace, workplace.duty.escalate_to.as_ref()?)))
        else {
            let overdue = Some(after.updated);
            match after.branch_mut(branch) {
                Some(part) => part.overdue = overdue,
                None => after.gate.as_mut().into_iter().for_each(|open| open.overdue = overdue),
            }
            return Ok(WorkflowStep::silent(after));
        };
        let workflow = rules.workflow_of(task);
        let limit = workflow.and_then(|workflow| TimeLimits::of(workflow, workplace.duty).timeout);
        let limit = limit.map(|period| format!(" after {period}")).unwrap_or_default();
        let to = branch.is_none().then_some(&open.current);
        let mut visit = Visit {
            role: Some(workplace.role.clone()),
            agent: workplace.holder.cloned(),
            branch: branch.cloned(),
            escalated_to: Some(role.clone()),
            ..self.ended(open, Ending::Timeout, to, &format!("Timed out{limit}"))
        };
        if let Some(id) = branch {
            visit.entered = fork::branch_entered(task, open, id);
            visit.overdue = open.branch(id).and_then(|part| part.overdue);
            visit.unfinished = Vec::new();
        }
        fold::apply(rules, &mut after, visit);
        Ok(fold::arrive(rules, WorkflowStep::silent(after)))
    }

    /// Ends an expired claim, and records the earlier holder.
    pub(crate) fn lapse(&self, branch: Option<&GateId>) -> Result<WorkflowStep, Refusal> {
        self.due(Limit::Lease, branch)?;
        let mut after = self.changed();
        set_holder(&mut after, branch, None);
        match after.branch_mut(branch) {
            Some(part) => {
                let had = self.task.branches().find(|before| before.id == part.id);
                part.lost = had.and_then(|before| before.agent.clone());
            }
            None => after.routing.lost.clone_from(&self.task.routing.agent),
        }
        Ok(WorkflowStep::silent(after))
    }
}

/// The reason why a visit belongs to another role than its gate's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Escalation {
    /// The role that stepped in.
    pub role: RoleId,
    /// The agent that had the visit, or that sent the task back too often.
    pub from: Option<AgentId>,
    pub from_role: Option<RoleId>,
    pub since: Timestamp,
    pub why: String,
}

impl fmt::Display for Escalation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "escalated to role `{}` at {}", self.role, self.since)?;
        match (&self.from, &self.from_role) {
            (Some(agent), Some(role)) => write!(f, " from `{agent}` (role {role})")?,
            (Some(agent), None) => write!(f, " from `{agent}`")?,
            (None, Some(role)) => write!(f, " from role `{role}`")?,
            (None, None) => {}
        }
        write!(f, ": {}", self.why)
    }
}

/// Returns the reason why the open visit, or a branch of it, was escalated.
pub fn escalation(task: &Task, branch: Option<&GateId>) -> Option<Escalation> {
    let open = task.gate.as_ref()?;
    let part = branch.and_then(|id| open.branch(id)).and_then(|part| part.escalated.as_ref());
    let role = part.or(open.escalated.as_ref())?.clone();
    let of = part.and(branch);
    let mut entries = task.history.iter().rev();
    let entry = entries.find(|visit| {
        visit.escalated_to.as_ref() == Some(&role) && (of.is_none() || visit.branch.as_ref() == of)
    })?;
    let why = match (&entry.outcome, entry.retry) {
        (Ending::Completed(_), Some(count)) => format!("sent back {count} times, too often"),
        _ => entry.summary.clone(),
    };
    Some(Escalation {
        role,
        from: entry.agent.clone(),
        from_role: entry.role.clone(),
        since: entry.exited,
        why,
    })
}

/// Returns the conflict for an agent whose own visit timed out and was escalated meanwhile.
pub(crate) fn too_late(task: &Task, workplace: &Workplace<'_>, agent: &AgentId) -> Option<Refusal> {
    let last = task
        .history
        .iter()
        .enumerate()
        .rev()
        .find(|(_, entry)| entry.branch.as_ref() == workplace.branch());
    let (visit, entry) = last.filter(|(_, entry)| {
        entry.outcome == Ending::Timeout && entry.agent.as_ref() == Some(agent)
    })?;
    let ticket = Ticket { visit: Some(visit), ..task.ticket_of(workplace.branch()) };
    Some(Refusal::visit_ended(&ticket, entry, Some(agent)))
}
