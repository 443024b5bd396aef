//! Where somebody is to work at one task, and who may: what a runner goes by. Reads only.

use crate::domain::{AgentId, BranchStatus, RoleId, Station, Status, Task, Ticket, Timestamp};
use crate::git::{LeftBehind, Repository};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Rules, Workplace};
use crate::tasks::view::task_view::who_at;

/// A place of a task where somebody is to work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Opening {
    /// The visit, or the branch of it.
    pub ticket: Ticket,
    /// The gate, or the branch of it.
    pub station: Station,
    /// Whose work it is.
    pub role: RoleId,
    /// Who has it.
    pub holder: Option<AgentId>,
    /// Who may complete it now: the holder alone where there is one.
    pub agents: Vec<AgentId>,
    /// Whether it is for people only.
    pub people_only: bool,
    /// What it waits for, where it is blocked.
    pub blockers: Option<Vec<String>>,
}

/// Returns the places at which the task is open, in the order of the workflow.
pub(crate) fn openings(rules: &Rules, task: &Task) -> Vec<Opening> {
    let opening = |post: &Workplace<'_>| {
        let own = post.branch().and_then(|id| task.gate.as_ref()?.branch(id));
        let blockers = match own {
            Some(own) if own.status == BranchStatus::Blocked => Some(own.blockers.clone()),
            _ if task.status == Status::Blocked => Some(task.blockers.clone()),
            _ => None,
        };
        Opening {
            ticket: task.ticket_of(post.branch()),
            station: post.station(),
            role: post.role.clone(),
            holder: post.holder.cloned(),
            agents: who_at(rules, task, post),
            people_only: post.requires_human(rules),
            blockers,
        }
    };
    Workplace::open(rules, task).iter().map(opening).collect()
}

/// Returns what was changed in the worktree since then and is not committed, task files aside.
pub(crate) fn left_behind(
    workspace: &Workspace,
    since: Timestamp,
) -> Result<LeftBehind, ProjectError> {
    if workspace.checkout == workspace.paths.root() {
        return Ok(workspace.repository.left_behind(since.as_second())?);
    }
    Ok(Repository::discover(&workspace.checkout)?.left_behind(since.as_second())?)
}
