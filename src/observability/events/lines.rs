//! Lines of the stream: those of a commit, and those that are in no commit and were left for the stream.

use std::collections::HashSet;

use tracing::warn;

use crate::domain::{EventId, Timestamp};
use crate::files::event::line::Origin;
use crate::git::CommitId;
use crate::history::new_commits::derive_events::Telling;
use crate::history::new_commits::unreported::News;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::event_log::StreamWriter;
use crate::storage::layout::EVENTS;
use crate::tasks::uncommitted_events::{StreamedLine, UncommittedLine};

/// The lines of one commit.
pub(crate) struct OfCommit {
    pub commit: CommitId,
    /// When it was made.
    pub committed: Timestamp,
    pub lines: Vec<StreamedLine>,
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
                .map(|event| StreamedLine::of(workspace, happened, event, Origin::Commit(&id))),
        );
    }
    Ok(OfCommit { commit, committed: told.committed, lines })
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
    pub(crate) fn clear_done(&self, writer: &StreamWriter) -> Result<(), OpsError> {
        Ok(writer.clear(&self.done)?)
    }
}
