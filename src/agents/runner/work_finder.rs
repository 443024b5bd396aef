//! Finds the next work of a runner, and the state of a visit. Both are read again each time: a runner keeps no state that matters.

use std::collections::{BTreeMap, BTreeSet};

use super::run_types::{RunTarget, RunnerSetup, WaitReason, WaitingWork};
use super::usage_limit::{RunPlace, day_pause, find_pause, take_place};
use crate::dispatch::next::{Next, Wanted, next};
use crate::dispatch::workplaces::{Opening, looked_at, openings};
use crate::domain::{
    AgentId, Branch, Gate, RoleId, Station, Status, Task, TaskId, Ticket, Timestamp, Visit,
};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::brief::GateContext;
use crate::rules::{Rules, Workplace};
use crate::storage::ProjectPath;
use crate::storage::header_cache::{Hint, NextLooks, ProgramPause};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::list::is_ready;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::{brief_of, show};

/// Finds work for the agents of a runner.
pub(crate) struct WorkFinder<'a> {
    pub(crate) project: &'a RunnerSetup,
    pub(crate) goal: &'a RunTarget,
    pub(crate) workspace: Workspace,
    pub(crate) running: BTreeSet<Ticket>,
    /// The visits that are not tried again, each with the reason.
    pub(crate) tried: BTreeMap<Ticket, String>,
    pub(crate) unavailable: BTreeMap<AgentId, String>,
    /// The agent that got work last.
    served: Option<AgentId>,
    /// The pause of all programs, if the budget of the day is used up.
    day: Option<ProgramPause>,
}

/// The result of a search for work.
pub(crate) enum AvailableWork {
    Work(Assignment),
    /// There is no work now. For one task, contains what waits there.
    Nothing(Vec<WaitingWork>),
    /// Only programs that may not run more often at once have work.
    Full,
    /// Only programs that pause have work. Contains the pause that ends first.
    Paused(ProgramPause, Vec<WaitingWork>),
    Finished(Status),
}

impl<'a> WorkFinder<'a> {
    pub(crate) fn new(project: &'a RunnerSetup, goal: &'a RunTarget) -> Result<Self, ProjectError> {
        Ok(Self {
            project,
            goal,
            workspace: project.open()?,
            running: BTreeSet::new(),
            tried: BTreeMap::new(),
            unavailable: BTreeMap::new(),
            served: None,
            day: None,
        })
    }

    /// Finds work; a dry run claims nothing.
    pub(crate) fn find(&mut self, dry_run: DryRun) -> Result<AvailableWork, ProjectError> {
        self.workspace.restart_wait(self.project.wait);
        self.day = day_pause(&self.workspace, &self.workspace.rules()?);
        match self.goal {
            RunTarget::Agents { agents, role } => self.of_agents(agents, role.as_ref(), dry_run),
            RunTarget::Task(id) => self.of_task(id),
        }
    }

    /// Finds work that one of the agents holds, otherwise work that it may take.
    fn of_agents(
        &mut self,
        agents: &[AgentId],
        role: Option<&RoleId>,
        dry_run: DryRun,
    ) -> Result<AvailableWork, ProjectError> {
        let (paths, now) = (&self.workspace.paths, self.workspace.now());
        let looked = NextLooks::load(paths).unwrap_or_default().pending(now);
        let others = self.running.iter().chain(self.tried.keys()).cloned();
        let others: Vec<Ticket> = others.chain(looked).collect();
        if let Some(found) = self.look(agents, role)? {
            return Ok(AvailableWork::Work(found));
        }
        // The agents take turns: the one that got work last is last.
        let last = agents.iter().position(|agent| Some(agent) == self.served.as_ref());
        let (earlier, later) = agents.split_at(last.map_or(0, |index| index + 1));
        let turn = later.iter().chain(earlier);
        let turn: Vec<&AgentId> =
            turn.filter(|agent| !self.unavailable.contains_key(*agent)).collect();
        let in_force = self.workspace.rules()?;
        let (mut absence, mut paused, mut is_full) = (None, None::<ProgramPause>, false);
        for agent in self.by_urgency(&in_force, turn, role, &others)? {
            let pause = self.pause_of(&in_force.rules, agent);
            let has_no_place = self.has_no_place(&in_force.rules, agent);
            let dry_run = if pause.is_some() || has_no_place { DryRun::Yes } else { dry_run };
            match next(&self.workspace, &in_force, agent, role, Wanted::Except(&others), dry_run) {
                Ok(Next::Task { .. }) if pause.is_some() => {
                    paused = paused.into_iter().chain(pause).min_by_key(|pause| pause.until);
                }
                Ok(Next::Task { .. }) if has_no_place => is_full = true,
                Ok(Next::Task { changed, ticket, .. }) => {
                    self.served = Some(agent.clone());
                    let ticket = changed.after.task.ticket_of(ticket.branch.as_ref());
                    // This run does not release what the agent already held.
                    let claimed_here = !changed.settled;
                    let (agent, stand_ins) = (agent.clone(), self.startable(agents));
                    let work = Assignment { ticket, agent, claimed_here, stand_ins };
                    return Ok(AvailableWork::Work(work));
                }
                // The agent has as many tasks as it may: they are under way, or wait.
                Err(ProjectError::Unfit { code: "too_many_tasks", .. })
                | Ok(Next::Nothing { .. }) => {}
                // Another agent may still hold something.
                Err(error) if error.code() == "offline" => absence = Some(error),
                Err(error) => return Err(error),
            }
        }
        match (absence, paused) {
            (Some(error), _) => Err(error),
            (None, _) if is_full => Ok(AvailableWork::Full),
            (None, Some(pause)) => Ok(AvailableWork::Paused(pause, Vec::new())),
            (None, None) => Ok(AvailableWork::Nothing(Vec::new())),
        }
    }

    /// Sorts agents by their next work: what they hold, then in the order of lists. What several may take goes to the one that had it last
    /// there, otherwise to the one whose turn it is.
    fn by_urgency<'g>(
        &self,
        in_force: &InForce,
        turn: Vec<&'g AgentId>,
        role: Option<&RoleId>,
        others: &[Ticket],
    ) -> Result<Vec<&'g AgentId>, ProjectError> {
        if turn.len() < 2 {
            return Ok(turn);
        }
        let mut ranked = Vec::new();
        for (place, agent) in turn.into_iter().enumerate() {
            let wanted = Wanted::Except(others);
            let rank = match next(&self.workspace, in_force, agent, role, wanted, DryRun::Yes) {
                Ok(Next::Task { changed, ticket }) => {
                    let task = &changed.after.task;
                    let mut summary = TaskSummary::of(&changed.after);
                    summary.follow(&in_force.rules);
                    let ticket = task.ticket_of(ticket.branch.as_ref());
                    let opening = openings(&in_force.rules, task).into_iter();
                    let opening = opening.into_iter().find(|opening| opening.ticket == ticket);
                    let is_last = opening
                        .is_some_and(|opening| last_agent(task, &opening.station) == Some(agent));
                    let urgency = summary.urgency(self.workspace.now());
                    Some((!changed.settled, urgency, ticket, !is_last))
                }
                Ok(Next::Nothing { .. })
                | Err(ProjectError::Unfit { code: "too_many_tasks", .. }) => None,
                Err(error) => return Err(error),
            };
            ranked.push((rank.is_none(), rank, place, agent));
        }
        ranked.sort();
        Ok(ranked.into_iter().map(|(.., agent)| agent).collect())
    }

    /// Returns the agents that are not known to be unavailable.
    fn startable(&self, agents: &[AgentId]) -> Vec<AgentId> {
        agents.iter().filter(|agent| !self.unavailable.contains_key(*agent)).cloned().collect()
    }

    /// Returns whether the agent's program may not run more often at once.
    fn has_no_place(&self, rules: &Rules, agent: &AgentId) -> bool {
        let launch = rules.org.agent(agent).and_then(|known| known.run.as_ref());
        launch.is_some_and(|launch| {
            matches!(take_place(&self.workspace.paths, launch), Ok(RunPlace::Full))
        })
    }

    /// Returns a gate at which a program of one of the agents is to look now, without a claim.
    fn look(
        &self,
        agents: &[AgentId],
        role: Option<&RoleId>,
    ) -> Result<Option<Assignment>, ProjectError> {
        let (workspace, in_force) = (&self.workspace, self.workspace.rules()?);
        let rules = &in_force.rules;
        let looks = |gate: &Gate| {
            let branches = gate.fork().into_iter().flat_map(|fork| &fork.branches);
            let mut duties = gate.duty().into_iter().chain(branches.map(Branch::duty));
            duties.any(|duty| duty.run.looks_every().is_some())
        };
        if !rules.project.workflows.iter().flat_map(|workflow| &workflow.gates).any(looks) {
            return Ok(None);
        }
        let listing = read_all(workspace, &in_force, ListScope::Recent);
        let dependencies = Dependencies::read(workspace, &in_force, &listing);
        let (next, now) = (NextLooks::load(&workspace.paths).unwrap_or_default(), workspace.now());
        for (header, _) in listing.by_urgency(now) {
            if !is_ready(header, &dependencies) {
                continue;
            }
            for place in looked_at(&in_force, header, now) {
                let ticket = header.ticket_of(place.ticket.branch.as_ref());
                let is_taken = self.running.contains(&ticket) || self.tried.contains_key(&ticket);
                let is_other = role.is_some_and(|role| *role != place.role);
                if is_taken || is_other || next.after(&ticket, now).is_some() {
                    continue;
                }
                let can = |agent: &&AgentId| {
                    place.suits(rules, agent)
                        && !self.unavailable.contains_key(*agent)
                        && !self.has_no_place(rules, agent)
                        && rules.org.agent(agent).is_some_and(|known| known.run.is_some())
                };
                if let Some(agent) = agents.iter().find(can).cloned() {
                    let (claimed_here, stand_ins) = (false, Vec::new());
                    return Ok(Some(Assignment { ticket, agent, claimed_here, stand_ins }));
                }
            }
        }
        Ok(None)
    }

    fn of_task(&self, id: &TaskId) -> Result<AvailableWork, ProjectError> {
        let (view, in_force) = show(&self.workspace, id)?;
        let task = &view.file.task;
        if task.status.is_finished() {
            return Ok(AvailableWork::Finished(task.status));
        }
        let (mut waits, mut paused, mut is_full) = (Vec::new(), None::<ProgramPause>, false);
        for opening in openings(&in_force.rules, task) {
            if self.running.contains(&opening.ticket) {
                continue;
            }
            match self.agent_for(&in_force.rules, task, &opening) {
                Ok((_, Some(pause))) => {
                    paused = paused.into_iter().chain([pause]).min_by_key(|pause| pause.until);
                }
                Ok((agent, None)) if self.has_no_place(&in_force.rules, &agent) => is_full = true,
                Ok((agent, None)) => {
                    let (ticket, claimed_here) = (opening.ticket, false);
                    let members = in_force.rules.org.role(&opening.role);
                    let members = members.map(|role| role.agents.as_slice()).unwrap_or_default();
                    let stand_ins = self.startable(members);
                    let work = Assignment { ticket, agent, claimed_here, stand_ins };
                    return Ok(AvailableWork::Work(work));
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
        Ok(match paused {
            _ if is_full => AvailableWork::Full,
            Some(pause) => AvailableWork::Paused(pause, waits),
            None => AvailableWork::Nothing(waits),
        })
    }

    fn pause_of(&self, rules: &Rules, agent: &AgentId) -> Option<ProgramPause> {
        let launch = rules.org.agent(agent)?.run.as_ref()?;
        let own = find_pause(&self.workspace.paths, launch, self.workspace.now());
        self.day.clone().or(own)
    }

    /// Returns the agent to start at the opening, with the pause of its program. Fails with the reason if there is none.
    fn agent_for(
        &self,
        rules: &Rules,
        task: &Task,
        opening: &Opening,
    ) -> Result<(AgentId, Option<ProgramPause>), WaitReason> {
        let Opening { agents, holder, blockers, .. } = opening;
        let last_agent = last_agent(task, &opening.station);
        if let Some(blockers) = blockers {
            return Err(WaitReason::Blocked(blockers.clone()));
        }
        if let Some(why) = self.tried.get(&opening.ticket) {
            return Err(WaitReason::Tried(why.clone()));
        }
        let (paths, now) = (&self.workspace.paths, self.workspace.now());
        if let Some(at) = NextLooks::load(paths).unwrap_or_default().after(&opening.ticket, now) {
            return Err(WaitReason::LooksAgain(at));
        }
        if opening.people_only || !agents.is_empty() && agents.iter().all(AgentId::is_human) {
            return Err(WaitReason::People);
        }
        let startable = |agent: &&AgentId| {
            let run = rules.org.agent(agent).and_then(|known| known.run.as_ref());
            run.is_some() && !self.unavailable.contains_key(*agent)
        };
        let all = agents
            .iter()
            .filter(startable)
            .map(|agent| (agent.clone(), self.pause_of(rules, agent)));
        // The agent that had the last visit there may continue its session.
        let order = |(agent, pause): &(AgentId, Option<ProgramPause>)| {
            let until = pause.as_ref().map(|pause| pause.until);
            (until, self.has_no_place(rules, agent), last_agent != Some(agent))
        };
        if let Some(found) = all.min_by_key(order) {
            return Ok(found);
        }
        let unavailable = agents.iter().find_map(|agent| self.unavailable.get(agent));
        Err(match (holder, unavailable) {
            (Some(holder), _) => WaitReason::Held(holder.clone()),
            (None, Some(why)) => WaitReason::Tried(why.clone()),
            (None, None) => WaitReason::NotStartable,
        })
    }
}

/// Returns the agent that completed the last visit of that place.
fn last_agent<'t>(task: &'t Task, station: &Station) -> Option<&'t AgentId> {
    let completed = |visit: &&Visit| visit.completion.is_some() && visit.station() == *station;
    task.history.iter().rev().find(completed)?.agent.as_ref()
}

/// An agent's work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The visit, or its branch.
    pub ticket: Ticket,
    pub agent: AgentId,
    /// True if this run claimed the visit: then the run releases it if it fails to complete it.
    pub claimed_here: bool,
    /// The agents that may try it after this one.
    pub stand_ins: Vec<AgentId>,
}

/// The end of the run of a visit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    Completed,
    /// All attempts failed, and the visit was completed accordingly. Contains the reason of the last failure.
    GivenUp(String),
    /// The attempts of the agent failed, and this one tries next.
    HandedOn(AgentId),
    /// The task's budget is used up, and the task is blocked. Contains the sums.
    OverBudget(String),
    /// Another runner or agent has the visit now. Contains the reason.
    Overtaken(String),
    /// The task or the files of the visit have a fault. Contains its description.
    Broken(String),
    /// The agent cannot be started, or cannot work. Contains the reason and the fix.
    Unavailable(String),
    /// The agent's program is at a usage limit.
    Paused(ProgramPause),
    /// The program asks to be started again at that time, for the reason in its own words.
    Waits(Timestamp, Option<String>),
    /// The runner was asked to stop.
    Stopped,
}

/// The state of a visit.
pub(crate) enum VisitState {
    Open(Box<RunnableVisit>),
    /// The agent has completed the visit.
    Completed(Box<CompletedVisit>),
    /// The visit is no longer the agent's. Contains the reason.
    Gone(String),
}

/// A visit that is open.
pub(crate) struct RunnableVisit {
    pub in_force: InForce,
    pub file: TaskFile,
    pub path: ProjectPath,
    pub opening: Opening,
    pub context: GateContext,
}

/// A visit that has ended.
pub(crate) struct CompletedVisit {
    pub visit: Visit,
    /// The task as it is now.
    pub file: TaskFile,
    pub in_force: InForce,
}

/// Returns the state of a visit. `since` is the earlier length of the history: later entries are new.
pub(crate) fn visit_state(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    since: usize,
) -> Result<VisitState, ProjectError> {
    let (view, in_force) = match show(workspace, &ticket.task) {
        Ok(shown) => shown,
        Err(ProjectError::NoTask { .. }) => {
            return Ok(VisitState::Gone(format!("{} is no longer there", ticket.task)));
        }
        Err(error) => return Err(error),
    };
    let task = &view.file.task;
    let is_this = |visit: &&Visit| visit.branch == ticket.branch;
    if let Some(visit) = task.history.iter().skip(since).find(is_this).cloned() {
        // The entry of a time limit also names the holder: only an entry with a completion is the agent's.
        return Ok(if visit.agent.as_ref() == Some(agent) && visit.completion.is_some() {
            VisitState::Completed(Box::new(CompletedVisit { visit, file: view.file, in_force }))
        } else {
            let who = visit.agent.as_ref().filter(|_| visit.completion.is_some());
            let who = who.map_or_else(String::new, |agent| format!(" by `{agent}`"));
            VisitState::Gone(format!("the visit was ended{who}: {}", visit.outcome))
        });
    }
    if task.gate.as_ref().is_some_and(|open| open.held.is_some()) {
        return Ok(VisitState::Gone("a person holds the task".to_owned()));
    }
    let found =
        openings(&in_force.rules, task).into_iter().find(|opening| opening.ticket == *ticket);
    let context = found.as_ref().and_then(|opening| {
        let workplace = Workplace::find(&in_force.rules, task, opening.station.branch.as_ref())?;
        brief_of(workspace, &in_force.rules, &view.file, &workplace)
    });
    if let (Some(opening), Some(context)) = (found, context) {
        let (file, path) = (view.file, view.path);
        let open = RunnableVisit { in_force, file, path, opening, context };
        return Ok(VisitState::Open(Box::new(open)));
    }
    let station = task.gate.as_ref().map(|open| Station::from(&open.current));
    let now = station.map_or_else(|| "its end".to_owned(), |station| format!("`{station}`"));
    Ok(VisitState::Gone(format!("{} stands at {now} now", ticket.task)))
}
