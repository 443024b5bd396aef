//! What there is to do, and for whom: of agents whatever they have or may take, of a task where it stands. It is looked up anew
//! each time; a runner keeps no state that matters.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use crate::agents::runner::news::{Waits, Why};
use crate::agents::runner::request::{RunnerSetup, Wish};
use crate::agents::runner::visit_run::Assignment;
use crate::dispatch::claim::take;
use crate::dispatch::next::{Besides, Next, Wanted, next};
use crate::dispatch::openings::{Opening, openings};
use crate::domain::{AgentId, RoleId, Status, TaskId, Ticket};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::view::task_view::show;

/// How often the audience is asked to show that time passes, when nothing happens.
pub(crate) const TICK: Duration = Duration::from_millis(100);
/// How often new work is looked for while somebody is at work and others could begin.
pub(crate) const LOOK: Duration = Duration::from_secs(1);
/// How long a look at all tasks holds: others work at the same tasks.
const FRESH: Duration = Duration::from_secs(1);

/// What the last look at all tasks showed that each agent can do, so that a short visit does not cost another look. It is forgotten
/// when it may not be all any more, or in another order.
#[derive(Debug, Default)]
pub(crate) struct Lookahead {
    agents: BTreeMap<AgentId, (Instant, Besides)>,
}

impl Lookahead {
    /// Keeps what a look just showed.
    pub(crate) fn put(&mut self, agent: &AgentId, besides: Besides) {
        self.agents.insert(agent.clone(), (Instant::now(), besides));
    }

    /// Takes out what the agent is to do next, if that is known.
    pub(crate) fn next(&mut self, agent: &AgentId) -> Option<Ticket> {
        let (looked, besides) = self.agents.get_mut(agent)?;
        besides.tickets.pop_front().filter(|_| looked.elapsed() < FRESH)
    }

    /// Returns whether other tasks wait for this one.
    pub(crate) fn awaits(&self, id: &TaskId) -> bool {
        self.agents.values().any(|(_, besides)| besides.awaited.contains(id))
    }

    /// Forgets it all.
    pub(crate) fn forget(&mut self) {
        self.agents.clear();
    }
}

/// What is known of a run of the loop.
pub(crate) struct Rounds<'a> {
    pub(crate) project: &'a RunnerSetup,
    pub(crate) wish: &'a Wish,
    pub(crate) workspace: Workspace,
    pub(crate) running: BTreeSet<Ticket>,
    /// What came to nothing here, and is not tried again.
    pub(crate) tried: BTreeMap<Ticket, String>,
    pub(crate) unavailable: BTreeMap<AgentId, String>,
    pub(crate) given_up: Vec<(Ticket, String)>,
    pub(crate) visits: usize,
    pub(crate) begun: usize,
    /// The agent that got something to do last.
    pub(crate) served: Option<AgentId>,
    pub(crate) ahead: Lookahead,
    /// Whether it was told that the remote cannot be reached, and it has not been since.
    pub(crate) told_of_absence: bool,
}

/// What there is to do.
pub(crate) enum Found {
    Work(Assignment),
    /// Nothing now; with why, where it is about a task.
    Nothing(Vec<Waits>),
    Finished(Status),
}

impl<'a> Rounds<'a> {
    pub(crate) fn new(project: &'a RunnerSetup, wish: &'a Wish) -> Result<Self, OpsError> {
        Ok(Self {
            project,
            wish,
            workspace: project.open()?,
            running: BTreeSet::new(),
            tried: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            given_up: Vec::new(),
            visits: 0,
            begun: 0,
            served: None,
            ahead: Lookahead::default(),
            told_of_absence: false,
        })
    }

    /// Passes over what was found; returns whether it had been already.
    pub(crate) fn pass_over(&mut self, assignment: &Assignment) -> bool {
        !self.running.insert(assignment.ticket.clone())
    }

    /// Looks for something to do; with a dry run, nothing is claimed.
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
