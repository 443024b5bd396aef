//! A visit that an agent is run for: its state now, and how a run of it ends. Reads only.

use crate::dispatch::workplaces::{Opening, openings};
use crate::domain::{AgentId, Station, Ticket, Visit};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Workplace;
use crate::rules::brief::GateContext;
use crate::storage::ProjectPath;
use crate::tasks::view::task_view::{brief_of, show};

/// Who is to work at what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    pub agent: AgentId,
    /// Whether this run claimed it already: then it is given back if nothing comes of it.
    pub claimed_here: bool,
}

/// How the run of a visit ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    Completed,
    /// All attempts failed, and the completion says so: why the last one did.
    GivenUp(String),
    /// It is not this runner's any more, or another runner works at it: why.
    Overtaken(String),
    /// Something is wrong with this task, or with the files of this visit: what.
    Broken(String),
    /// The agent cannot be started, or cannot work: why, and what to do.
    Unavailable(String),
    /// The runner was asked to stop.
    Stopped,
}

/// The state of a visit.
pub(crate) enum VisitState {
    Open(Box<RunnableVisit>),
    /// The agent has completed it.
    Completed(Box<CompletedVisit>),
    /// It is not the agent's any more: why.
    Gone(String),
}

/// A visit that is open.
pub(crate) struct RunnableVisit {
    pub in_force: InForce,
    pub file: TaskFile,
    pub path: ProjectPath,
    pub opening: Opening,
    /// What an agent is told there.
    pub context: GateContext,
}

/// A visit that has ended.
pub(crate) struct CompletedVisit {
    /// Its entry.
    pub visit: Visit,
    /// The task as it is now.
    pub file: TaskFile,
    pub in_force: InForce,
}

/// Returns the state of a visit. `since` is how long the history was before: what comes behind it is new.
pub(crate) fn visit_state(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    since: usize,
) -> Result<VisitState, ProjectError> {
    let (view, in_force) = match show(workspace, &ticket.task) {
        Ok(shown) => shown,
        Err(ProjectError::NoTask { .. }) => {
            return Ok(VisitState::Gone(format!("{} is not there any more", ticket.task)));
        }
        Err(error) => return Err(error),
    };
    let task = &view.file.task;
    let is_this = |visit: &&Visit| visit.branch == ticket.branch;
    if let Some(visit) = task.history.iter().skip(since).find(is_this).cloned() {
        // A time limit that ran out names the holder, too: only a completion is the agent's.
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
        let post = Workplace::meant(&in_force.rules, task, opening.station.branch.as_ref())?;
        brief_of(&in_force.rules, &view.file, &post)
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
