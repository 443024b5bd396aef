//! What there is to do, and for whom: of agents whatever they have or may take, of a task where it stands.

use super::work::{Found, Rounds};
use crate::agents::runner::news::{Waits, Why};
use crate::agents::runner::request::Wish;
use crate::agents::runner::visit::Assignment;
use crate::dispatch::claim::take;
use crate::dispatch::claimable_work::{Opening, openings};
use crate::dispatch::next::{Next, Wanted, next};
use crate::domain::{AgentId, RoleId, TaskId, Ticket};
use crate::project::error::error::OpsError;
use crate::rules::Rules;
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::view::task_view::show;

impl Rounds<'_> {
    /// Looks for something to do; what is found in a rehearsal is not claimed.
    pub(crate) fn find(&mut self, dry_run: DryRun) -> Result<Found, OpsError> {
        self.workspace.restart_wait(self.project.wait);
        match self.wish {
            Wish::Agents { agents, role } => self.of_agents(agents, role.as_ref(), dry_run),
            Wish::Task(id) => self.of_task(id),
        }
    }

    /// Looks for what one of the agents has already, then for what it can take.
    fn of_agents(
        &mut self,
        agents: &[AgentId],
        role: Option<&RoleId>,
        dry_run: DryRun,
    ) -> Result<Found, OpsError> {
        let others: Vec<Ticket> = self.running.iter().chain(self.tried.keys()).cloned().collect();
        // In turn: whoever was served last comes last.
        let last = agents.iter().position(|agent| Some(agent) == self.served.as_ref());
        let (earlier, later) = agents.split_at(last.map_or(0, |index| index + 1));
        let turn = later.iter().chain(earlier);
        let mut absence = None;
        for agent in turn.filter(|agent| !self.unavailable.contains_key(*agent)) {
            while let Some(ticket) = self.ahead.next(agent) {
                if others
                    .iter()
                    .any(|other| (&other.task, &other.branch) == (&ticket.task, &ticket.branch))
                {
                    continue;
                }
                if let Some(changed) = take(&self.workspace, &ticket, agent)? {
                    return Ok(Found::Work(assigned(&changed, &ticket, agent)));
                }
            }
            let in_force = self.workspace.rules()?;
            match next(&self.workspace, &in_force, agent, role, Wanted::But(&others), dry_run) {
                Ok(Next::Task { changed, ticket, besides }) => {
                    if dry_run == DryRun::No {
                        self.ahead.put(agent, besides);
                    }
                    return Ok(Found::Work(assigned(&changed, &ticket, agent)));
                }
                // It has as many as it may have: some are under way, or wait for somebody.
                Err(OpsError::Unfit { code: "too_many_tasks", .. }) | Ok(Next::Nothing { .. }) => {}
                // Another one may have something all the same.
                Err(error) if error.code() == "offline" => absence = Some(error),
                Err(error) => return Err(error),
            }
        }
        absence.map_or_else(|| Ok(Found::Nothing(Vec::new())), Err)
    }

    /// Sees whether what was known to be ahead still is, now that a visit of the task has ended: what comes back to one of the agents
    /// goes first, and so may what waited for it.
    pub(crate) fn look_after(&mut self, id: &TaskId) -> Result<(), OpsError> {
        let Wish::Agents { agents, .. } = self.wish else { return Ok(()) };
        let comes_back = match show(&self.workspace, id) {
            Ok((view, in_force)) => {
                let openings = openings(&in_force.rules, &view.file.task);
                openings
                    .iter()
                    .any(|opening| opening.agents.iter().any(|agent| agents.contains(agent)))
            }
            // Whatever is wrong with it now, the next look meets it.
            Err(error) if !error.is_general() || error.passes() => true,
            Err(error) => return Err(error),
        };
        if comes_back || self.ahead.awaits(id) {
            self.ahead.forget();
        }
        Ok(())
    }

    fn of_task(&self, id: &TaskId) -> Result<Found, OpsError> {
        let (view, in_force) = show(&self.workspace, id)?;
        let task = &view.file.task;
        if task.status.is_finished() {
            return Ok(Found::Finished(task.status));
        }
        let mut waits = Vec::new();
        for opening in openings(&in_force.rules, task) {
            if self.running.contains(&opening.ticket) {
                continue;
            }
            match self.who(&in_force.rules, &opening) {
                Ok(agent) => {
                    return Ok(Found::Work(Assignment {
                        ticket: opening.ticket,
                        agent,
                        claimed_here: false,
                    }));
                }
                Err(why) => waits.push(Waits {
                    ticket: opening.ticket,
                    station: opening.station,
                    role: opening.role,
                    agents: opening.agents,
                    why,
                }),
            }
        }
        Ok(Found::Nothing(waits))
    }

    /// Returns who is started for the place, or why nobody is.
    fn who(&self, rules: &Rules, opening: &Opening) -> Result<AgentId, Why> {
        if let Some(blockers) = &opening.blockers {
            return Err(Why::Blocked(blockers.clone()));
        }
        if let Some(why) = self.tried.get(&opening.ticket) {
            return Err(Why::Tried(why.clone()));
        }
        let people = opening.people_only
            || opening.agents.iter().all(AgentId::is_human) && !opening.agents.is_empty();
        if people {
            return Err(Why::People);
        }
        let startable = |agent: &&AgentId| {
            let run = rules.org.agent(agent).and_then(|known| known.run.as_ref());
            run.is_some() && !self.unavailable.contains_key(*agent)
        };
        match (opening.agents.iter().find(startable), &opening.holder) {
            (Some(agent), _) => Ok(agent.clone()),
            (None, Some(holder)) => Err(Why::Held(holder.clone())),
            (None, None) => {
                match opening.agents.iter().find_map(|agent| self.unavailable.get(agent)) {
                    Some(why) => Err(Why::Tried(why.clone())),
                    None => Err(Why::NotStartable),
                }
            }
        }
    }
}

/// Returns what was claimed, or held already: that is not for this run to give back.
fn assigned(changed: &Changed, ticket: &Ticket, agent: &AgentId) -> Assignment {
    let ticket = changed.after.task.ticket_of(ticket.branch.as_ref());
    Assignment { ticket, agent: agent.clone(), claimed_here: !changed.settled }
}
