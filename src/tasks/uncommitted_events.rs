//! Events that are in no commit. They are left where they happen, in one small file each, and whoever writes the stream next puts
//! them into it: neither a refusal nor a message that is given up waits for the stream.

use std::rc::Rc;

use crate::domain::{ChangeEvents, Event, EventId, Timestamp};
use crate::files::event::json::event_value;
use crate::files::event::line::{EventLine, Origin, event_line, gate_of};
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::Refusal;
use crate::storage::EventStream;
use crate::tasks::state::task_state::Standing;

/// Leaves what is to be said of a completion that came after another one of the same visit. `delivery` is what makes it this one.
pub(crate) fn leave_conflict(
    workspace: &Workspace,
    refusal: &Refusal,
    delivery: &str,
) -> Result<(), OpsError> {
    let Refusal::VisitEnded { ticket, gate, agent: Some(loser), winner, .. } = refusal else {
        return Ok(());
    };
    let rules = in_force(workspace, &workspace.repository.look()?)?.rules;
    let task = Standing::read(workspace, &ticket.task)?.file.task;
    leave(
        workspace,
        &ChangeEvents {
            mark: format!("conflict {ticket} {delivery}"),
            at: workspace.now(),
            later: 0,
            project: rules.project.name.clone(),
            task: Some(Rc::new(task)),
            events: vec![Event::Conflict {
                gate: gate.clone(),
                winner: winner.clone(),
                loser: loser.clone(),
            }],
        },
    )
}

/// Leaves events that are in no commit.
pub(crate) fn leave(workspace: &Workspace, happened: &ChangeEvents) -> Result<(), OpsError> {
    let stream = EventStream::of(&workspace.paths);
    let id = EventId::of(&happened.mark);
    for event in &happened.events {
        let line = StreamedLine::of(workspace, happened, event, Origin::Nowhere(&id));
        stream.leave(&id, &line.text)?;
    }
    Ok(())
}

/// A line of the stream, with its end.
#[derive(Debug, Clone)]
pub(crate) struct StreamedLine {
    pub text: String,
    /// What it is counted by.
    pub key: LineKey,
}

/// What lines are counted by: the event, the workflow, the gate.
pub(crate) type LineKey = (String, Option<String>, Option<String>);

/// Returns what an event is counted by.
pub(crate) fn key_of(event: &EventLine) -> LineKey {
    (event.name.clone(), event.text("workflow").map(str::to_owned), event.gate().map(str::to_owned))
}

/// A line that is in no commit.
#[derive(Debug, Clone)]
pub(crate) struct UncommittedLine {
    pub at: Timestamp,
    pub id: Option<EventId>,
    pub line: StreamedLine,
}

impl StreamedLine {
    /// Returns an event as a line.
    pub(crate) fn of(
        workspace: &Workspace,
        happened: &ChangeEvents,
        event: &Event,
        origin: Origin<'_>,
    ) -> Self {
        let mut occurrence = happened.occurrence(event);
        // What has no name is called by its folder.
        occurrence.project = occurrence.project.or_else(|| workspace.paths.folder_name());
        let value = event_value(&occurrence);
        let gate = gate_of(&value).map(str::to_owned);
        let workflow = occurrence.subject.map(|subject| subject.workflow.to_string());
        let key = (event.kind().as_str().to_owned(), workflow, gate);
        Self { text: event_line(value, origin), key }
    }

    /// Returns a line that was read; nothing if it is no event.
    pub(crate) fn read(text: &str) -> Option<(Self, EventLine)> {
        let event = EventLine::read(text)?;
        let text = format!("{}\n", text.trim_end_matches('\n'));
        Some((Self { text, key: key_of(&event) }, event))
    }
}

impl UncommittedLine {
    /// Returns a line that was left, or stood in the stream, if it is an event in no commit.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (line, event) = StreamedLine::read(text)?;
        let is_apart = event.commit().is_none();
        is_apart.then(|| Self { at: event.at, id: event.id(), line })
    }
}
