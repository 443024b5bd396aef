//! What was told of a commit before a rebase made it again: the same act may lead from another state to another one there, and is
//! still the same act.

use super::derive_events::{Telling, of_tasks, said};
use super::news::News;
use crate::domain::{Event, TaskId};
use crate::git::{CommitId, LogEntry};
use crate::project::error::error::OpsError;

impl Telling<'_> {
    /// Returns what was told of a task when this commit was made first; nothing where it was not.
    pub(crate) fn told_first(
        &mut self,
        news: &News,
        entry: &LogEntry,
        id: &TaskId,
    ) -> Result<Vec<Event>, OpsError> {
        let mut told = Vec::new();
        for gone in news.made_first(entry) {
            told.extend(self.told_of_gone(*gone, id)?);
        }
        Ok(told)
    }

    fn told_of_gone(&mut self, commit: CommitId, id: &TaskId) -> Result<Vec<Event>, OpsError> {
        let repository = &self.workspace.repository;
        let changed =
            of_tasks(repository.changed_files(commit)?).into_iter().find(|(own, ..)| own == id);
        let Some((_, old, Some((_, new)))) = changed else { return Ok(Vec::new()) };
        if old.as_ref().is_some_and(|(_, content)| *content == new) {
            return Ok(Vec::new());
        }
        let entry = repository.log_entry(commit)?;
        let rules = self.rules_of_gone.behind(self.workspace, &entry)?;
        let before = match &old {
            Some(version) => self.before(&rules, &entry, id, version)?,
            None => None,
        };
        let after = self.tasks.read(self.workspace, (id, new), &rules, entry.committed)?;
        Ok(after.map_or_else(Vec::new, |after| {
            said(&rules, &entry, before.as_deref(), &after, old.is_some())
        }))
    }
}
