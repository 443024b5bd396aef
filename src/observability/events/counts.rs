//! How often each event is in the stream. It is counted when a line is written, so nobody has to read the stream for it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::catch_up::{Kept, catch_up_events, unwritten};
use super::derive::Line;
use crate::domain::EventKind;
use crate::files::event::line::EventLine;
use crate::history::new_commits::news::Left;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::EventStream;

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

/// Returns how often each event is in the stream, which is brought up to date first; that reads what was committed since, and
/// nothing of what was counted already. Events of kinds that this version does not know are left out.
pub fn event_counts(workspace: &Workspace) -> Result<Vec<EventCount>, OpsError> {
    let missing = match catch_up_events(workspace) {
        Ok(Left::Nothing) => Vec::new(),
        // Somebody else is about to write it, and takes long.
        Ok(Left::Commits) => unwritten(workspace)?,
        Err(OpsError::Store(fault)) if fault.is_read_only() => unwritten(workspace)?,
        Err(error) => return Err(error),
    };
    let record = EventStream::of(&workspace.paths).record::<Kept>()?;
    let mut counts = record.map(|(record, _)| record.kept.counts).unwrap_or_default();
    for line in &missing {
        counts.add(line);
    }
    Ok(counts.list())
}

/// What lines are counted by: the event, the workflow, the gate.
pub(crate) type Key = (String, Option<String>, Option<String>);

/// The counts, as they are kept beside the stream.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<(Key, u64)>", into = "Vec<(Key, u64)>")]
pub(crate) struct Counts(BTreeMap<Key, u64>);

impl Counts {
    /// Counts a line.
    pub(crate) fn add(&mut self, line: &Line) {
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

    fn list(self) -> Vec<EventCount> {
        let known = self.0.into_iter().filter_map(|((event, workflow, gate), count)| {
            Some(EventCount { kind: event.parse().ok()?, workflow, gate, count })
        });
        known.collect()
    }
}

/// Returns what an event is counted by.
pub(crate) fn key_of(event: &EventLine) -> Key {
    (event.name.clone(), event.text("workflow").map(str::to_owned), event.gate().map(str::to_owned))
}

impl From<Vec<(Key, u64)>> for Counts {
    fn from(list: Vec<(Key, u64)>) -> Self {
        Self(list.into_iter().collect())
    }
}

impl From<Counts> for Vec<(Key, u64)> {
    fn from(counts: Counts) -> Self {
        counts.0.into_iter().collect()
    }
}
