//! The latest activity of a project: the visits that ended last.

use serde::Serialize;

use crate::domain::{TaskId, Timestamp};
use crate::observability::stats::numbers::end;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::{EndedVisit, TaskSummary};

/// A visit that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ActivityEntry {
    pub at: Timestamp,
    pub task: TaskId,
    pub title: String,
    pub station: String,
    pub outcome: String,
    pub to: Option<String>,
    pub agent: Option<String>,
    pub seconds: u64,
}

/// Returns at most `most` visits: those that ended last, the latest first.
pub(crate) fn latest(listing: &Listing, most: usize) -> Vec<ActivityEntry> {
    let tasks = listing.tasks.iter().map(|(task, _)| task);
    let mut ended: Vec<_> = tasks
        .flat_map(|task| task.visits.iter().enumerate().map(move |(at, visit)| (task, at, visit)))
        .collect();
    ended.sort_by_key(|(task, at, visit)| (std::cmp::Reverse((end(visit), *at)), &task.id));
    ended.truncate(most);
    ended.into_iter().filter_map(|(task, _, visit)| ActivityEntry::of(task, visit)).collect()
}

impl ActivityEntry {
    /// Returns true if a person acted.
    pub(crate) fn is_person(&self) -> bool {
        self.agent.as_deref().is_some_and(|agent| agent.starts_with("human-"))
    }

    fn of(task: &TaskSummary, visit: &EndedVisit) -> Option<Self> {
        Some(Self {
            at: Timestamp::from_second(end(visit)).ok()?,
            task: task.id.clone(),
            title: task.title.clone(),
            station: visit.gate.clone(),
            outcome: visit.ended.clone(),
            to: visit.to.clone(),
            agent: visit.agent.clone(),
            seconds: visit.seconds,
        })
    }
}
