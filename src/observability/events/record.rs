//! What is kept beside the stream: up to which commits it goes, and how often each event is in it.

use std::collections::BTreeMap;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::lines::{LineKey, StreamedLine, key_of};
use crate::domain::{EventId, EventKind};
use crate::files::event::line::EventLine;
use crate::git::{CommitId, Head};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::event_log::StreamWriter;
use crate::storage::{EventStream, ToldCursor};

const PAUSE: Duration = Duration::from_millis(2);
/// How many ids of what was left for the stream are remembered.
const MOST_TAKEN: usize = 1_000;

/// What is kept beside the stream.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Kept {
    /// Up to which commits all is written.
    pub cursor: ToldCursor,
    pub counts: StreamCounts,
    /// What was left for the stream and is in it, the last of it: somebody may leave it again.
    pub taken: Vec<String>,
}

impl Kept {
    /// Notes what is in the stream now.
    pub(crate) fn take(&mut self, ids: impl IntoIterator<Item = EventId>) {
        self.taken.extend(ids.into_iter().map(|id| id.to_string()));
        let surplus = self.taken.len().saturating_sub(MOST_TAKEN);
        self.taken.drain(..surplus);
    }
}

/// The branch, and where it is.
pub(crate) struct Ground {
    pub head: Head,
    pub newest: CommitId,
}

impl Ground {
    /// Looks; there is nothing to tell of before the first commit. Where no branch is checked out only those are told of anything
    /// who know of none: it may be any commit, for a moment.
    pub(crate) fn look(
        workspace: &Workspace,
        cursor: Option<&ToldCursor>,
    ) -> Result<Option<Self>, ProjectError> {
        let head = workspace.repository.look()?;
        let knows = cursor.is_some_and(|cursor| cursor.commits().next().is_some());
        let Some(newest) = head.commit.filter(|_| head.reference != "HEAD" || !knows) else {
            return Ok(None);
        };
        Ok(Some(Self { head, newest }))
    }
}

/// Takes the right to write the stream; waits that long for whoever has it.
pub(crate) fn patiently(
    stream: &EventStream,
    patience: Duration,
) -> Result<Option<StreamWriter>, ProjectError> {
    let until = Instant::now() + patience;
    loop {
        match stream.writing()? {
            None if Instant::now() < until => thread::sleep(PAUSE),
            outcome => return Ok(outcome),
        }
    }
}

/// How often an event is in the stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventCount {
    /// The event.
    pub kind: EventKind,
    /// The workflow; an event about no task has none.
    pub workflow: Option<String>,
    /// The gate that it is about first of all, as `gate` or `gate/branch`: the one that was left, or else the one that was entered.
    pub gate: Option<String>,
    /// How often.
    pub count: u64,
}

/// The counts, as they are kept beside the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(LineKey, u64)>", into = "Vec<(LineKey, u64)>")]
pub(crate) struct StreamCounts(BTreeMap<LineKey, u64>);

impl StreamCounts {
    /// Counts a line.
    pub(crate) fn add(&mut self, line: &StreamedLine) {
        if let Some(count) = self.0.get_mut(&line.key) {
            *count += 1;
        } else {
            self.0.insert(line.key.clone(), 1);
        }
    }

    /// Counts a line that stands in the stream, if it is an event.
    pub(crate) fn add_read(&mut self, text: &str) {
        if let Some(event) = EventLine::read(text) {
            *self.0.entry(key_of(&event)).or_default() += 1;
        }
    }

    pub(crate) fn list(self) -> Vec<EventCount> {
        let known = self.0.into_iter().filter_map(|((event, workflow, gate), count)| {
            Some(EventCount { kind: event.parse().ok()?, workflow, gate, count })
        });
        known.collect()
    }
}

impl From<Vec<(LineKey, u64)>> for StreamCounts {
    fn from(list: Vec<(LineKey, u64)>) -> Self {
        Self(list.into_iter().collect())
    }
}

impl From<StreamCounts> for Vec<(LineKey, u64)> {
    fn from(counts: StreamCounts) -> Self {
        counts.0.into_iter().collect()
    }
}
