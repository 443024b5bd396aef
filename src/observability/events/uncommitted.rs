//! Events that are in no commit, as they were left for the event stream.

use std::collections::HashSet;

use tracing::warn;

use super::derive::Apart;
use crate::domain::EventId;
use crate::project::error::error::OpsError;
use crate::storage::event_log::StreamWriter;
use crate::storage::layout::EVENTS;

/// What was left for the stream.
pub(crate) struct ForStream {
    /// What is not in it yet, the oldest first.
    pub waiting: Vec<Apart>,
    /// What is in it already, or can never be: it is no event of the id that the file is named by.
    done: Vec<EventId>,
}

impl ForStream {
    /// Sorts what was left, when those of the ids in `taken` are in the stream.
    pub(crate) fn of(left: Vec<(EventId, String)>, taken: &[String]) -> Self {
        let taken: HashSet<&str> = taken.iter().map(String::as_str).collect();
        let (mut waiting, mut done) = (Vec::new(), Vec::new());
        for (id, line) in left {
            let apart = Apart::read(&line).filter(|apart| apart.id.as_ref() == Some(&id));
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
