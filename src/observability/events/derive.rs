//! Lines of the stream from commits, and between them what is in no commit, at its time.

use super::counts::{Key, key_of};
use crate::domain::{Event, EventId, Timestamp};
use crate::files::event::json::event_value;
use crate::files::event::line::{EventLine, Origin, event_line, gate_of};
use crate::git::CommitId;
use crate::history::new_commits::derive_events::Telling;
use crate::history::new_commits::new_commits::Happened;
use crate::history::new_commits::news::News;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// A line of the stream, with its end.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub text: String,
    /// What it is counted by.
    pub key: Key,
}

/// The lines of one commit.
pub(crate) struct OfCommit {
    pub commit: CommitId,
    /// When it was made.
    pub committed: Timestamp,
    pub lines: Vec<Line>,
}

/// A line that is in no commit.
#[derive(Debug, Clone)]
pub(crate) struct Apart {
    pub at: Timestamp,
    pub id: Option<EventId>,
    pub line: Line,
}

impl Line {
    /// Returns an event as a line.
    pub(crate) fn of(
        workspace: &Workspace,
        happened: &Happened,
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

impl Apart {
    /// Returns a line that was left, or stood in the stream, if it is an event in no commit.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let (line, event) = Line::read(text)?;
        let is_apart = event.commit().is_none();
        is_apart.then(|| Self { at: event.at, id: event.id(), line })
    }
}

/// Returns the lines of a commit.
pub(crate) fn of_commit(
    workspace: &Workspace,
    telling: &mut Telling<'_>,
    news: &News,
    commit: CommitId,
) -> Result<OfCommit, OpsError> {
    let told = telling.of(news, commit, 0)?;
    let id = commit.to_string();
    let mut lines = Vec::new();
    for happened in &told.happened {
        lines.extend(
            happened
                .events
                .iter()
                .map(|event| Line::of(workspace, happened, event, Origin::Commit(&id))),
        );
    }
    Ok(OfCommit { commit, committed: told.committed, lines })
}
