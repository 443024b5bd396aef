//! Events that are in no commit: each is left in a small file, and whoever writes the event stream next takes it in. Neither a refusal
//! nor a message that is given up waits for the stream.

use crate::domain::{Event, EventId, Occurrence, Subject};
use crate::files::event::json::event_value;
use crate::files::event::line::{Origin, event_line};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::EventStream;
use crate::tasks::state::task_state::TaskState;

/// Leaves the event of a completion that came after another one of the same visit. `delivery` tells repeated refusals apart.
pub(crate) fn leave_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &str,
) -> Result<(), ProjectError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let project = in_force(workspace, &workspace.repository.look()?)?.rules.project.name.clone();
    let task = TaskState::read(workspace, &ticket.task)?.file.task;
    let event = Event::Conflict {
        gate: gate.clone(),
        winning_agent: winner.clone(),
        losing_agent: loser.clone(),
    };
    let subject =
        Some(Subject { task: task.id, title: task.title, workflow: task.routing.workflow });
    let at = event.moment().unwrap_or_else(|| workspace.now());
    let mark = format!("conflict {ticket} {delivery}");
    leave(workspace, &mark, Occurrence { at, project, subject, event })
}

/// Leaves an event that is in no commit; the same mark is the same event.
pub(crate) fn leave(
    workspace: &Workspace,
    mark: &str,
    mut occurrence: Occurrence,
) -> Result<(), ProjectError> {
    // A project without a name is called by its folder.
    occurrence.project = occurrence.project.or_else(|| workspace.paths.folder_name());
    let id = EventId::of(mark);
    let line = event_line(event_value(&occurrence), Origin::Nowhere(&id));
    Ok(EventStream::of(&workspace.paths).leave(&id, &line)?)
}
