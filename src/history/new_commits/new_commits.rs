//! What happened, told from commits: which of them are new to somebody who was told up to others, and what each of them says.
//!
//! Notices and the event stream are the two receivers. What is told of a commit depends on history alone, not on the worktree, on
//! the clock, or on when it is asked for: told again, it is the same.

use std::rc::Rc;

use crate::domain::{Event, Occurrence, Subject, Task, Timestamp};

/// What happened in one change, to one task or to the rules.
pub(crate) struct Happened {
    /// What makes it this change and no other.
    pub mark: String,
    /// When, as far as an event does not say it itself.
    pub at: Timestamp,
    /// What sorts changes of the same second.
    pub later: usize,
    /// What the project was called.
    pub project: Option<String>,
    /// The task after it.
    pub task: Option<Rc<Task>>,
    /// What it is, in order.
    pub events: Vec<Event>,
}

impl Happened {
    /// Returns one of the events with when it happened, and to what.
    pub(crate) fn occurrence(&self, event: &Event) -> Occurrence {
        Occurrence {
            at: event.moment().unwrap_or(self.at),
            project: self.project.clone(),
            subject: self.task.as_ref().map(|task| Subject {
                task: task.id.clone(),
                title: task.title.clone(),
                workflow: task.routing.workflow.clone(),
            }),
            event: event.clone(),
        }
    }
}
