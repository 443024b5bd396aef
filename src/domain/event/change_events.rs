//! The events of one change.

use std::rc::Rc;

use super::event::{Event, Occurrence, Subject};
use crate::domain::{Task, Timestamp};

/// What happened in one change of a task or of the rules.
pub(crate) struct ChangeEvents {
    /// Identifies the change.
    pub mark: String,
    /// When, as far as an event does not say it itself.
    pub at: Timestamp,
    /// Sorts changes of the same second.
    pub later: usize,
    /// What the project was called.
    pub project: Option<String>,
    /// The task after it.
    pub task: Option<Rc<Task>>,
    /// In order.
    pub events: Vec<Event>,
}

impl ChangeEvents {
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
