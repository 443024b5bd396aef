//! The input of a transition, and the entries that end visits.

use crate::act::Actor;
use crate::refusal::Refusal;
use crate::routing::workplace::Workplace;
use crate::routing::{fork, loops};
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Destination, Ending, Gate, GateId, OpenVisit, Permission, Task, Ticket, Timestamp,
    Visit, Workflow,
};

/// The rules, a task, and the time of the act.
#[derive(Clone, Copy)]
pub(crate) struct Transition<'a> {
    pub(crate) rules: &'a Rules,
    pub(crate) task: &'a Task,
    pub(crate) now: Timestamp,
}

impl<'a> Transition<'a> {
    /// Returns a copy of the task, updated now.
    pub(crate) fn changed(&self) -> Task {
        Task { updated: self.now.max(self.task.updated), ..self.task.clone() }
    }

    /// Returns the open visit. Refuses if the task has ended or is not adopted yet.
    pub(crate) fn open(&self) -> Result<&'a OpenVisit, Refusal> {
        if self.task.status.is_finished() {
            return Err(self.finished());
        }
        let task = self.task;
        task.gate.as_ref().ok_or_else(|| Refusal::NotAdopted { task: task.id.clone() })
    }

    pub(crate) fn finished(&self) -> Refusal {
        let task = self.task;
        Refusal::Finished { task: task.id.clone(), status: task.status, at: task.latest() }
    }

    pub(crate) fn held(&self) -> Refusal {
        Refusal::Held { task: self.task.id.clone(), reasons: self.task.blockers.clone() }
    }

    pub(crate) fn workflow(&self) -> Result<&'a Workflow, Refusal> {
        let known = || self.rules.project.workflows.iter().map(|one| one.name.to_string());
        self.rules.workflow_of(self.task).ok_or_else(|| Refusal::UnknownWorkflow {
            task: self.task.id.clone(),
            workflow: self.task.routing.workflow.to_string(),
            known: known().collect(),
        })
    }

    /// Returns the workflow in force, and the index of the open gate in it.
    pub(crate) fn gate(&self, open: &OpenVisit) -> Result<(&'a Workflow, usize), Refusal> {
        let workflow = self.workflow()?;
        match workflow.gate(&open.current) {
            Some((index, _)) => Ok((workflow, index)),
            None => Err(Refusal::GateGone {
                task: self.task.id.clone(),
                gate: open.current.clone(),
                known: workflow.gates.iter().map(|gate| gate.id.clone()).collect(),
            }),
        }
    }

    /// Returns the workplace of the open visit, or of a branch of it.
    pub(crate) fn workplace(
        &self,
        open: &OpenVisit,
        branch: Option<&GateId>,
    ) -> Result<Workplace<'a>, Refusal> {
        self.gate(open)?;
        match (Workplace::find(self.rules, self.task, branch), branch) {
            (Some(workplace), _) => Ok(workplace),
            (None, None) => {
                let (task, gate) = (self.task.id.clone(), open.current.clone());
                Err(Refusal::NobodyWorksHere { task, gate })
            }
            // The branch is open, but the rules no longer have it.
            (None, Some(id)) => Err(fork::branch_not_open(self.rules, self.task, open, id)),
        }
    }

    /// Refuses a branch that is not open, or not in the rules.
    pub(crate) fn known_branch(
        &self,
        open: &OpenVisit,
        branch: Option<&GateId>,
    ) -> Result<(), Refusal> {
        let counting = fork::active_branches(self.rules, self.task, open);
        match branch.filter(|id| counting.iter().all(|counted| counted.id != **id)) {
            None => Ok(()),
            Some(id) => Err(fork::branch_not_open(self.rules, self.task, open, id)),
        }
    }

    /// Refuses an agent that org.yaml does not permit the act, unless it holds the task or branch. People may always act.
    pub(crate) fn permit(
        &self,
        by: &Actor,
        act: Permission,
        branch: Option<&GateId>,
    ) -> Result<(), Refusal> {
        let Actor::Agent(agent) = by else { return Ok(()) };
        let holder = match branch {
            Some(id) => self.task.gate.as_ref().and_then(|open| open.branch(id)?.agent.as_ref()),
            None => self.task.routing.agent.as_ref(),
        };
        let allowed = self.rules.org.agent(agent).is_some_and(|known| known.may.contains(&act));
        // An override skips gates at which other agents decide, so that holding a task is not enough for it.
        if allowed || holder == Some(agent) && act != Permission::Override {
            return Ok(());
        }
        Err(Refusal::NotPermitted { agent: agent.clone(), act })
    }

    /// Returns the entry of a visit that no completion ended.
    pub(crate) fn ended(
        &self,
        open: &OpenVisit,
        ending: Ending,
        to: Option<&GateId>,
        why: &str,
    ) -> Visit {
        let workflow = self.rules.workflow_of(self.task);
        let gate = workflow.and_then(|workflow| workflow.gate(&open.current));
        let gate = gate.and_then(|(_, gate)| Gate::role(gate));
        let role = open.escalated.as_ref().or(gate).or(self.task.routing.role.as_ref());
        let last = self.task.history.last().and_then(|visit| visit.role.as_ref());
        let hash = workflow.and_then(|workflow| self.rules.hash(&workflow.name));
        let to_item = workflow.zip(to).and_then(|(workflow, to)| {
            loops::arriving(workflow, self.task, &self.task.context, to)
        });
        Visit {
            role: role.or(last.filter(|_| open.branches.is_empty())).cloned(),
            exited: self.now.max(self.task.latest()),
            summary: why.trim().to_owned(),
            unfinished: fork::unfinished(open),
            to: to.cloned().map(Destination::Gate),
            to_item,
            workflow: hash.map(str::to_owned),
            ..Visit::ended(open, ending)
        }
    }
}

/// Returns whether the agent may do the act: by org.yaml, or as the task's holder.
pub fn is_permitted(rules: &Rules, task: &Task, agent: &AgentId, act: Permission) -> bool {
    let transition = Transition { rules, task, now: task.updated };
    transition.permit(&Actor::Agent(agent.clone()), act, None).is_ok()
}

/// Refuses a ticket whose visit has ended, or has not begun.
pub fn check_ticket(task: &Task, ticket: &Ticket, agent: Option<&AgentId>) -> Result<(), Refusal> {
    let Some(visit) = ticket.visit else { return Ok(()) };
    let current = task.gate.as_ref().map_or(task.history.len(), |open| open.visit);
    if visit > current {
        return Err(Refusal::VisitAhead { task: task.id.clone(), visit, current });
    }
    match fork::ending_entry(&task.history, ticket).filter(|_| visit < current) {
        Some(entry) => Err(Refusal::visit_ended(ticket, entry, agent)),
        None => Ok(()),
    }
}
