//! A task's way through its gates.

use super::error::OpsError;
use super::view::show;
use super::workspace::Workspace;
use crate::model::{Ending, ReviewContext, Task, TaskId, Timestamp, Visit};

/// A task's way so far.
pub struct HistoryView {
    /// The task.
    pub task: Task,
    /// The ended visits, oldest first.
    pub ended: Vec<Visit>,
    /// The open one.
    pub open: Option<Stay>,
}

/// The open visit, as history tells it.
#[derive(Debug, Clone, PartialEq)]
pub struct Stay {
    /// The gate.
    pub gate: String,
    /// Its role.
    pub role: String,
    /// Who has claimed it.
    pub agent: Option<String>,
    /// Since when.
    pub entered: Timestamp,
    /// For how many seconds.
    pub seconds: u64,
    /// What the last rejection wants.
    pub review: Option<ReviewContext>,
    /// Why it is blocked.
    pub blockers: Vec<String>,
}

/// Returns the way of a task through its gates.
pub fn history(workspace: &Workspace, id: &TaskId) -> Result<HistoryView, OpsError> {
    let (view, _) = show(workspace, id)?;
    let task = view.file.task;
    let now = workspace.now();
    let open = task.gate.as_ref().map(|open| Stay {
        gate: open.current.to_string(),
        role: task.routing.role.as_ref().map(ToString::to_string).unwrap_or_default(),
        agent: task.routing.agent.as_ref().map(ToString::to_string),
        entered: open.entered,
        seconds: u64::try_from(now.as_second() - open.entered.as_second()).unwrap_or(0),
        review: task.review.clone(),
        blockers: task.blockers.clone(),
    });
    Ok(HistoryView { ended: task.history.clone(), open, task })
}

/// Returns whether somebody sent the task back in this visit.
pub fn is_rejection(visit: &Visit) -> bool {
    visit.outcome == Ending::Said(crate::model::Outcome::NeedsReview)
}
