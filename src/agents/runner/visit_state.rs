//! How a visit stands that an agent is run for: open, said by the agent itself, or gone. Reads only.

use crate::dispatch::claimable_work::{Opening, openings};
use crate::domain::{AgentId, Station, Ticket, Visit};
use crate::files::task_file::TaskFile;
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Post;
use crate::rules::brief::brief::GateContext;
use crate::storage::ProjectPath;
use crate::tasks::view::task_view::brief_of;
use crate::tasks::view::task_view::show;

/// How the visit stands.
pub(crate) enum Standing {
    /// It is open.
    Open(Box<Open>),
    /// The agent has ended it.
    Said(Box<Ended>),
    /// It is nobody's here any more: why.
    Gone(String),
}

/// A visit that is open.
pub(crate) struct Open {
    /// The rules in force.
    pub in_force: InForce,
    /// The task.
    pub file: TaskFile,
    /// Where its file is.
    pub path: ProjectPath,
    /// The place.
    pub opening: Opening,
    /// What an agent is told there.
    pub context: GateContext,
}

/// A visit that has ended.
pub(crate) struct Ended {
    /// Its entry.
    pub visit: Visit,
    /// The task as it is now.
    pub file: TaskFile,
    /// The rules in force.
    pub in_force: InForce,
}

/// Returns how it stands. `since` is how long the history was before: what comes behind it is news.
pub(crate) fn standing(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    since: usize,
) -> Result<Standing, OpsError> {
    let (view, in_force) = match show(workspace, &ticket.task) {
        Ok(shown) => shown,
        Err(OpsError::NoTask { .. }) => {
            return Ok(Standing::Gone(format!("{} is not there any more", ticket.task)));
        }
        Err(error) => return Err(error),
    };
    let task = &view.file.task;
    let is_this = |visit: &&Visit| match &ticket.branch {
        Some(branch) => visit.branch.as_ref() == Some(branch),
        None => visit.branch.is_none(),
    };
    if let Some(visit) = task.history.iter().skip(since).find(is_this).cloned() {
        // A time limit that ran out names whoever had it, too: only a completion is a word of the agent's.
        return Ok(if visit.agent.as_ref() == Some(agent) && visit.completion.is_some() {
            Standing::Said(Box::new(Ended { visit, file: view.file, in_force }))
        } else {
            let who = visit.agent.as_ref().filter(|_| visit.completion.is_some());
            let who = who.map_or_else(String::new, |agent| format!(" by `{agent}`"));
            Standing::Gone(format!("the visit was ended{who}: {}", visit.outcome))
        });
    }
    if task.gate.as_ref().is_some_and(|open| open.held.is_some()) {
        return Ok(Standing::Gone("a person holds the task".to_owned()));
    }
    let found =
        openings(&in_force.rules, task).into_iter().find(|opening| opening.ticket == *ticket);
    let context = found.as_ref().and_then(|opening| {
        let post = Post::meant(&in_force.rules, task, opening.station.branch.as_ref())?;
        brief_of(&in_force.rules, &view.file, &post)
    });
    Ok(match (found, context) {
        (Some(opening), Some(context)) => Standing::Open(Box::new(Open {
            in_force,
            file: view.file,
            path: view.path,
            opening,
            context,
        })),
        _ => Standing::Gone(format!(
            "{} stands at {} now",
            task.id,
            now_at(view.file.task.gate.as_ref().map(|open| Station::from(&open.current)))
        )),
    })
}

fn now_at(station: Option<Station>) -> String {
    station.map_or_else(|| "its end".to_owned(), |station| format!("`{station}`"))
}
