//! The tasks that two commits changed since they parted: what a merge of the two has to decide, read from the commits alone.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::domain::{AgentId, Task, TaskId, Timestamp};
use crate::git::CommitId;
use crate::git::log::trailers::Trailer;
use crate::history::task_reader::KnownTasks;
use crate::history::touched_tasks::{FileVersion, Touched, touched};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;
use crate::rules::merge::{Merged, Superseded, apart, merge};

/// The trailer with which a merge commit lists an entry that no longer counts.
pub(crate) const SUPERSEDED: &str = "Aof-Superseded";

/// Returns the trailer of an entry that no longer counts: its visit, its completion, by whom, and the outcome.
pub(crate) fn superseded_trailer(superseded: &Superseded) -> Option<Trailer> {
    let entry = &superseded.visit;
    let completion = entry.completion.as_ref().map_or("-", |stamp| stamp.id.as_str());
    let by = entry.agent.as_ref().map_or("nobody", AgentId::as_str);
    let value = format!("{} {completion} by {by} ({})", superseded.ticket, entry.outcome);
    Trailer::new(SUPERSEDED, &value).ok()
}

/// A task that both commits changed, as it was where they parted, and as each of them has it.
pub(crate) struct Pair {
    pub base: Option<Rc<Task>>,
    pub ours: Rc<Task>,
    pub theirs: Rc<Task>,
}

/// The tasks that two commits changed since they parted.
pub(crate) struct TaskChanges {
    pub ours: BTreeMap<TaskId, Touched>,
    pub theirs: BTreeMap<TaskId, Touched>,
}

impl TaskChanges {
    pub(crate) fn since(
        workspace: &Workspace,
        base: CommitId,
        (ours, theirs): (CommitId, CommitId),
    ) -> Result<Self, ProjectError> {
        let repository = &workspace.repository;
        let changed =
            |side| Ok::<_, ProjectError>(touched(&repository.changed_between(base, side)?));
        Ok(Self { ours: changed(ours)?, theirs: changed(theirs)? })
    }

    /// Returns the tasks that both changed, as far as they can be read.
    pub(crate) fn pairs(
        &self,
        workspace: &Workspace,
        rules: &Rules,
        known: &mut KnownTasks,
        at: Timestamp,
    ) -> Result<BTreeMap<TaskId, Pair>, ProjectError> {
        let mut found = BTreeMap::new();
        for (id, mine) in &self.ours {
            let Some(yours) = self.theirs.get(id) else { continue };
            let mut read = |versions: &[FileVersion]| match versions.first() {
                Some((_, content)) => known.read(workspace, (id, *content), rules, at),
                None => Ok(None),
            };
            if let (Some(ours), Some(theirs)) = (read(&mine.after)?, read(&yours.after)?) {
                let base = read(&mine.before)?;
                found.insert(id.clone(), Pair { base, ours, theirs });
            }
        }
        Ok(found)
    }
}

impl Pair {
    /// Returns the merged task, with people's fields as in `people`; nothing where the two cannot be merged.
    pub(crate) fn merged(&self, rules: &Rules, people: &Task) -> Option<Merged> {
        let apart = apart(self.base.as_deref(), &self.ours, &self.theirs).ok()?;
        Some(merge(rules, &apart, people))
    }
}
