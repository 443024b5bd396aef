//! The end of an attempt in a worktree: what the agent left there is committed, and the worktree goes once its work has arrived.

use super::VisitRun;
use crate::dispatch::workspaces::tidy;
use crate::domain::Visit;
use crate::project::error::ProjectError;
use crate::project::task_worktrees::{TaskWorktree, TaskWorktrees};
use crate::project::workspace::agent_author;
use crate::tasks::publish::secrets_of;
use crate::tasks::view::task_view::show;

impl VisitRun<'_> {
    /// Leaves the worktree of an attempt. What the agent wrote after its own completion is committed as well; the next attempt goes on with
    /// what one without a verdict left.
    pub(super) fn leave(&self, place: TaskWorktree) -> Result<(), ProjectError> {
        let workspace = self.workspace();
        let in_force = workspace.rules()?;
        let worktrees = TaskWorktrees::of(&workspace, &in_force.rules)?;
        if place.facts.is_detached {
            return worktrees.remove_detached(&place.facts.folder);
        }
        let (ticket, agent) = (&self.assignment.ticket, &self.assignment.agent);
        let (view, _) = show(&workspace, &ticket.task)?;
        let task = &view.file.task;
        if task.gate.as_ref().map(|open| open.visit) == ticket.visit {
            return Ok(());
        }
        if let Some(station) = task.history.last().map(Visit::station) {
            let author = agent_author(&in_force.rules.org, agent)?;
            let secrets = secrets_of(&in_force.rules);
            if let Err(error) = worktrees.settle(&ticket.task, (&author, &station), &secrets) {
                self.remark(error.with_fix());
            }
        }
        // From here on, others may work there.
        drop(place);
        tidy(&workspace, &ticket.task)
    }
}
