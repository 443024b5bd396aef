//! Claims: an agent takes a task, or a branch of one, or is given it, and gives it back.

use super::visit::Transition;
use crate::domain::{AgentId, BranchStatus, GateId, OpenVisit, Permission, Status, Task, Ticket};
use crate::rules::act::{Actor, Decision, WorkflowStep};
use crate::rules::refusal::Refusal;
use crate::rules::routing::eligibility::{another_has, held_by_another, may_complete};
use crate::rules::routing::{branch, fork};

impl Transition<'_> {
    pub(crate) fn claim(
        &self,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<Decision, Refusal> {
        let Self { rules, task, .. } = *self;
        let open = self.open()?;
        let ticket = Ticket { task: task.id.clone(), visit: None, branch: branch.cloned() };
        let branch = branch::meant(rules, task, &ticket, agent)?;
        let post = self.workplace(open, branch.as_ref())?;
        may_complete(rules, task, &post, agent)?;
        if post.holder.is_some() {
            return Ok(Decision::Settled { visit: open.visit });
        }
        let own = branch.as_ref().and_then(|id| open.branch(id));
        let own = own.filter(|own| own.status == BranchStatus::Blocked);
        if task.status == Status::Blocked || own.is_some() {
            return Err(Refusal::Blocked {
                ticket: task.ticket_of(branch.as_ref()).without_visit(),
                blockers: own.map_or(&task.blockers, |own| &own.blockers).clone(),
            });
        }
        let mut after = self.changed();
        set_holder(&mut after, branch.as_ref(), Some(agent));
        Ok(WorkflowStep::silent(after).into())
    }

    /// Gives the task, or the branch of it, to an agent, whoever has it now.
    pub(crate) fn assign(
        &self,
        by: &Actor,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<Decision, Refusal> {
        let open = self.open()?;
        self.permit(by, Permission::Assign, branch)?;
        self.known_branch(open, branch)?;
        // Which branch is meant is asked as if nobody had any of them; only that one is taken from whoever has it.
        let meant = Ticket { branch: branch.cloned(), ..self.task.ticket() };
        let branch = branch::meant(self.rules, &without_agents(self.task, None), &meant, agent)?;
        if self.workplace(open, branch.as_ref())?.holder == Some(agent) {
            return Ok(Decision::Settled { visit: open.visit });
        }
        let free = without_agents(self.task, branch.as_ref());
        Transition { task: &free, ..*self }.claim(agent, branch.as_ref())
    }

    /// Renews a claim: it lasts from now on.
    pub(crate) fn renew(
        &self,
        agent: &AgentId,
        branch: Option<&GateId>,
    ) -> Result<WorkflowStep, Refusal> {
        let open = self.open()?;
        let meant = Ticket { branch: branch.cloned(), ..self.task.ticket() };
        let branch = branch::meant(self.rules, self.task, &meant, agent)?;
        let post = self.workplace(open, branch.as_ref())?;
        if post.holder != Some(agent) {
            return Err(held_by_another(self.task, &post, agent));
        }
        let mut after = self.changed();
        let mut updated = after.updated;
        let claimed = match after.branch_mut(branch.as_ref()) {
            Some(own) => &mut own.claimed,
            None => &mut after.routing.claimed,
        };
        if *claimed == Some(updated) {
            // A second later than what is written, so that something changes.
            updated += jiff::SignedDuration::from_secs(1);
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
        let branch = if fork::counting(self.rules, self.task, open).is_empty() {
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

    /// Returns the claimed branch that is meant: the one that is named, else the only one whose claim the actor may end.
    fn claimed_branch<'o>(
        &self,
        open: &'o OpenVisit,
        by: &Actor,
        branch: Option<&GateId>,
    ) -> Result<&'o GateId, Refusal> {
        let asked = open.branches.iter().filter(|own| branch.is_none_or(|id| own.id == *id));
        let claimed: Vec<(&GateId, &AgentId)> =
            asked.filter_map(|own| Some((&own.id, own.agent.as_ref()?))).collect();
        let may =
            |(id, holder): &&(&GateId, &AgentId)| self.may_release(by, holder, Some(id)).is_ok();
        match (&claimed.iter().filter(may).collect::<Vec<_>>()[..], &claimed[..]) {
            ([(id, _)], _) => Ok(id),
            ([], [(id, holder), ..]) => self.may_release(by, holder, Some(id)).map(|()| *id),
            ([], []) => Err(self.not_claimed()),
            _ => Err(Refusal::BranchNeeded {
                task: self.task.id.clone(),
                gate: open.current.clone(),
                open: branch::open_tickets(self.rules, self.task),
            }),
        }
    }

    /// A person may end any claim, an agent its own.
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

/// Gives the task, or the branch of it, to an agent as of its last change; without one, to nobody.
pub(crate) fn set_holder(task: &mut Task, branch: Option<&GateId>, agent: Option<&AgentId>) {
    let claimed = agent.map(|_| task.updated);
    if let Some(own) = task.branch_mut(branch) {
        (own.agent, own.claimed) = (agent.cloned(), claimed);
        own.lost.take_if(|lost| agent == Some(lost));
        own.status = if agent.is_some() { BranchStatus::InProgress } else { BranchStatus::Ready };
        fork::follow(task);
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

/// Returns the task as if nobody had claimed it, or that branch of it.
fn without_agents(task: &Task, branch: Option<&GateId>) -> Task {
    let mut free = task.clone();
    free.routing.agent.take_if(|_| branch.is_none());
    for own in free.branches_mut() {
        own.agent.take_if(|_| branch.is_none_or(|id| own.id == *id));
    }
    free
}
