//! Finds the next work: what agents hold or may take, or the open places of one task. It is looked up anew each time; a runner keeps
//! no state that matters.

use std::collections::{BTreeMap, BTreeSet};

use super::run_types::{RunTarget, RunnerSetup, WaitReason, WaitingWork};
use super::visit_state::Assignment;
use crate::dispatch::next::{Next, Wanted, next};
use crate::dispatch::workplaces::{Opening, openings};
use crate::domain::{AgentId, RoleId, Status, TaskId, Ticket};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::show;

/// Finds work for the agents of a runner.
pub(crate) struct WorkFinder<'a> {
    pub(crate) project: &'a RunnerSetup,
    pub(crate) wish: &'a RunTarget,
    pub(crate) workspace: Workspace,
    pub(crate) running: BTreeSet<Ticket>,
    /// The visits that failed here and are not tried again, each with the reason.
    pub(crate) tried: BTreeMap<Ticket, String>,
    pub(crate) unavailable: BTreeMap<AgentId, String>,
    /// The agent that got something to do last.
    served: Option<AgentId>,
}

/// What there is to do.
pub(crate) enum AvailableWork {
    Work(Assignment),
    /// Nothing now; with the reasons, where it is about a task.
    Nothing(Vec<WaitingWork>),
    Finished(Status),
}

impl<'a> WorkFinder<'a> {
    pub(crate) fn new(project: &'a RunnerSetup, wish: &'a RunTarget) -> Result<Self, ProjectError> {
        Ok(Self {
            project,
            wish,
            workspace: project.open()?,
            running: BTreeSet::new(),
            tried: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            served: None,
        })
    }

    /// Finds something to do; with a dry run, nothing is claimed.
    pub(crate) fn find(&mut self, dry_run: DryRun) -> Result<AvailableWork, ProjectError> {
        self.workspace.restart_wait(self.project.wait);
        match self.wish {
            RunTarget::Agents { agents, role } => self.of_agents(agents, role.as_ref(), dry_run),
            RunTarget::Task(id) => self.of_task(id),
        }
    }

    /// Finds what one of the agents has already, then what it can take.
    fn of_agents(
        &mut self,
        agents: &[AgentId],
        role: Option<&RoleId>,
        dry_run: DryRun,
    ) -> Result<AvailableWork, ProjectError> {
        let others: Vec<Ticket> = self.running.iter().chain(self.tried.keys()).cloned().collect();
        // The agents take turns: the one that was served last comes last.
        let last = agents.iter().position(|agent| Some(agent) == self.served.as_ref());
        let (earlier, later) = agents.split_at(last.map_or(0, |index| index + 1));
        let turn = later.iter().chain(earlier);
        let in_force = self.workspace.rules()?;
        let mut absence = None;
        for agent in turn.filter(|agent| !self.unavailable.contains_key(*agent)) {
            match next(&self.workspace, &in_force, agent, role, Wanted::But(&others), dry_run) {
                Ok(Next::Task { changed, ticket, .. }) => {
                    self.served = Some(agent.clone());
                    let ticket = changed.after.task.ticket_of(ticket.branch.as_ref());
                    // What the agent held already is not for this run to give back.
                    let claimed_here = !changed.settled;
                    let agent = agent.clone();
                    return Ok(AvailableWork::Work(Assignment { ticket, agent, claimed_here }));
                }
                // The agent holds as many tasks as it may: some are under way, or wait.
                Err(ProjectError::Unfit { code: "too_many_tasks", .. })
                | Ok(Next::Nothing { .. }) => {}
                // Another agent may still hold something.
                Err(error) if error.code() == "offline" => absence = Some(error),
                Err(error) => return Err(error),
            }
        }
        absence.map_or_else(|| Ok(AvailableWork::Nothing(Vec::new())), Err)
    }

    fn of_task(&self, id: &TaskId) -> Result<AvailableWork, ProjectError> {
        let (view, in_force) = show(&self.workspace, id)?;
        let task = &view.file.task;
        if task.status.is_finished() {
            return Ok(AvailableWork::Finished(task.status));
        }
        let mut waits = Vec::new();
        for opening in openings(&in_force.rules, task) {
            if self.running.contains(&opening.ticket) {
                continue;
            }
            match self.agent_for(&in_force.rules, &opening) {
                Ok(agent) => {
                    let (ticket, claimed_here) = (opening.ticket, false);
                    return Ok(AvailableWork::Work(Assignment { ticket, agent, claimed_here }));
                }
                Err(why) => waits.push(WaitingWork {
                    ticket: opening.ticket,
                    station: opening.station,
                    role: opening.role,
                    agents: opening.agents,
                    why,
                }),
            }
        }
        Ok(AvailableWork::Nothing(waits))
    }

    /// Returns the agent to start at the place. Fails with the reason where there is none.
    fn agent_for(&self, rules: &Rules, opening: &Opening) -> Result<AgentId, WaitReason> {
        let Opening { agents, holder, blockers, .. } = opening;
        if let Some(blockers) = blockers {
            return Err(WaitReason::Blocked(blockers.clone()));
        }
        if let Some(why) = self.tried.get(&opening.ticket) {
            return Err(WaitReason::Tried(why.clone()));
        }
        if opening.people_only || !agents.is_empty() && agents.iter().all(AgentId::is_human) {
            return Err(WaitReason::People);
        }
        let startable = |agent: &&AgentId| {
            let run = rules.org.agent(agent).and_then(|known| known.run.as_ref());
            run.is_some() && !self.unavailable.contains_key(*agent)
        };
        if let Some(agent) = agents.iter().find(startable) {
            return Ok(agent.clone());
        }
        let unavailable = agents.iter().find_map(|agent| self.unavailable.get(agent));
        Err(match (holder, unavailable) {
            (Some(holder), _) => WaitReason::Held(holder.clone()),
            (None, Some(why)) => WaitReason::Tried(why.clone()),
            (None, None) => WaitReason::NotStartable,
        })
    }
}
