//! Comments that mention a person, until that person has seen or answered them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::listing::Listing;
use super::summary::{TaskSummary, time};
use crate::domain::{AgentId, Org, TaskId, Timestamp};
use crate::storage::header_cache::Hint;
use crate::storage::{Paths, StoreError};

/// A comment that mentions the reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    pub task: TaskId,
    /// The author, as the comment names them.
    pub by: String,
    pub at: Timestamp,
}

/// `.aof/seen`: the time of the last mention that a person has seen, by task. Without it, mentions are shown again.
#[derive(Debug, Default, Serialize, Deserialize)]
struct SeenMentions(BTreeMap<String, BTreeMap<String, i64>>);

impl Hint for SeenMentions {
    const NAME: &str = "seen";
}

/// Returns the mentions that the person has neither seen nor answered by a later comment: the last one of each task, the latest first.
pub(crate) fn unseen(
    paths: &Paths,
    org: &Org,
    listing: &Listing,
    person: &AgentId,
) -> Vec<Mention> {
    let is_person = |name: &str| org.agent_named(name) == Some(person);
    let mut seen: Option<SeenMentions> = None;
    let mut found = Vec::new();
    let is_near = |task: &TaskSummary| person.is_human() && !task.comments.is_empty();
    for (task, _) in listing.tasks.iter().filter(|(task, _)| is_near(task)) {
        let comments = task.comments.iter().rev().take_while(|head| !is_person(&head.by));
        let mut mentions = comments.filter(|head| head.names.iter().any(|name| is_person(name)));
        let Some(head) = mentions.next() else { continue };
        let SeenMentions(seen) =
            seen.get_or_insert_with(|| SeenMentions::load(paths).unwrap_or_default());
        let last = seen.get(person.as_str()).and_then(|tasks| tasks.get(task.id.as_str()));
        if last.is_none_or(|last| *last < head.at) {
            found.push(Mention { task: task.id.clone(), by: head.by.clone(), at: time(head.at) });
        }
    }
    found.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.task.cmp(&b.task)));
    found
}

/// Notes that the person has seen the mentions of a task up to that time.
pub(crate) fn note_seen(
    paths: &Paths,
    person: &AgentId,
    task: &TaskId,
    at: Timestamp,
) -> Result<(), StoreError> {
    let mut seen = SeenMentions::load(paths).unwrap_or_default();
    seen.0.entry(person.to_string()).or_default().insert(task.to_string(), at.as_second());
    seen.save(paths)
}
