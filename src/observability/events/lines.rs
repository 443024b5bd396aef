//! Lines of the event stream: how they are made, and how they are read.

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
        origin: EventOrigin<'_>,
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

/// The lines of one commit.
pub(crate) struct OfCommit {
    /// When it was made.
    pub committed: Timestamp,
    pub lines: Vec<StreamedLine>,
}

/// Returns the lines of a commit.
pub(crate) fn of_commit(
    workspace: &Workspace,
    telling: &mut EventDeriver<'_>,
    news: &UnreportedCommits,
    commit: CommitId,
) -> Result<OfCommit, ProjectError> {
    let told = telling.of(news, commit, 0)?;
    let id = commit.to_string();
    let mut lines = Vec::new();
    for happened in &told.happened {
        lines.extend(
            happened.events.iter().map(|event| {
                StreamedLine::of(workspace, happened, event, EventOrigin::Commit(&id))
            }),
        );
    }
    Ok(OfCommit { committed: told.committed, lines })
}

/// What was left for the stream.
pub(crate) struct LeftForStream {
    /// What is not in it yet, the oldest first.
    pub waiting: Vec<UncommittedLine>,
    /// What is in it already, or can never be: it is no event of the id that the file is named by.
    done: Vec<EventId>,
}

impl LeftForStream {
    /// Sorts what was left, when those of the ids in `taken` are in the stream.
    pub(crate) fn of(left: Vec<(EventId, String)>, taken: &[String]) -> Self {
        let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for (id, line) in left {
            let apart = UncommittedLine::read(&line).filter(|apart| apart.id.as_ref() == Some(&id));
            match apart {
                Some(apart) if !taken.contains(id.as_str()) => waiting.push(apart),
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

    /// Removes what nobody waits for any more.
    pub(crate) fn clear_done(&self, writer: &StreamWriter) -> Result<(), ProjectError> {
        Ok(writer.clear(&self.done)?)
    }
}
