//! Lines of the event stream: writing and reading them.

use std::collections::HashSet;

use tracing::warn;

use crate::domain::{ChangeEvents, Event, EventId, Timestamp};
use crate::files::event::line::{EventLine, EventOrigin, event_line, gate_of};
use crate::files::event::render::event_value;
use crate::git::CommitId;
use crate::history::commit_events::EventDeriver;
use crate::history::unreported::UnreportedCommits;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::event_log::StreamWriter;
use crate::storage::layout::EVENTS;

/// A line of the stream, with its line ending.
#[derive(Debug, Clone)]
pub(crate) struct StreamedLine {
    pub text: String,
    /// The key by which the line is counted.
    pub key: LineKey,
}

/// The key by which lines are counted: the event, the workflow, the gate.
pub(crate) type LineKey = (String, Option<String>, Option<String>);

/// Returns the key by which an event is counted.
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
        origin: EventOrigin<'_>,
    ) -> Self {
        let mut occurrence = happened.occurrence(event);
        // A project without a name gets that of its folder.
        occurrence.project = occurrence.project.or_else(|| workspace.paths.folder_name());
        let value = event_value(&occurrence);
        let gate = gate_of(&value).map(str::to_owned);
        let workflow = occurrence.subject.map(|subject| subject.workflow.to_string());
        let key = (event.kind().as_str().to_owned(), workflow, gate);
        Self { text: event_line(value, origin), key }
    }

    /// Parses a line; returns `None` if it is not an event.
    pub(crate) fn read(text: &str) -> Option<(Self, EventLine)> {
        let event = EventLine::read(text)?;
        let text = format!("{}\n", text.trim_end_matches('\n'));
        Some((Self { text, key: key_of(&event) }, event))
    }
}

impl UncommittedLine {
    /// Parses a line that was left for the stream or is in it; returns `None` unless it is an event that is in no commit.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (line, event) = StreamedLine::read(text)?;
        let is_uncommitted = event.commit().is_none();
        is_uncommitted.then(|| Self { at: event.at, id: event.id(), line })
    }
}

/// The lines of one commit.
pub(crate) struct CommitLines {
    /// The time of the commit.
    pub committed: Timestamp,
    pub lines: Vec<StreamedLine>,
}

/// Returns the lines of a commit.
pub(crate) fn commit_lines(
    workspace: &Workspace,
    deriver: &mut EventDeriver<'_>,
    unreported: &UnreportedCommits,
    commit: CommitId,
) -> Result<CommitLines, ProjectError> {
    let derived = deriver.events(unreported, commit, 0)?;
    let id = commit.to_string();
    let mut lines = Vec::new();
    for happened in &derived.happened {
        lines.extend(
            happened.events.iter().map(|event| {
                StreamedLine::of(workspace, happened, event, EventOrigin::Commit(&id))
            }),
        );
    }
    Ok(CommitLines { committed: derived.committed, lines })
}

/// Events that were left for the stream.
pub(crate) struct PendingEvents {
    /// The events that are not yet in the stream, the oldest first.
    pub waiting: Vec<UncommittedLine>,
    /// The events that are already in the stream, or can never be, because the file's name is not the id of its event.
    done: Vec<EventId>,
}

impl PendingEvents {
    /// Sorts the events that were left; `taken` has the ids of the events in the stream.
    pub(crate) fn of(left: Vec<(EventId, String)>, taken: &[String]) -> Self {
        let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for (id, line) in left {
            let uncommitted = UncommittedLine::read(&line)
                .filter(|uncommitted| uncommitted.id.as_ref() == Some(&id));
            match uncommitted {
                Some(uncommitted) if !taken.contains(id.as_str()) => waiting.push(uncommitted),
                Some(_) => done.push(id),
                None => {
                    warn!(
                        "`{EVENTS}/{id}.json` is no event of that id: it is not taken into the event stream"
                    );
                    done.push(id);
                }
            }
        }
        waiting.sort_by(|a, b| (a.at, &a.id).cmp(&(b.at, &b.id)));
        Self { waiting, done }
    }

    /// Removes the files of done events.
    pub(crate) fn clear_done(&self, writer: &StreamWriter) -> Result<(), ProjectError> {
        Ok(writer.clear(&self.done)?)
    }
}
