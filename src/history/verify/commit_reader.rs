//! The tasks and rules of commits, read one commit after the other.

use std::collections::BTreeMap;
use std::rc::Rc;

use crate::domain::{Task, TaskId};
use crate::files::config::configuration::Subject as RuleFile;
use crate::git::{ChangedFile, LogEntry, ObjectId};
use crate::history::merge::task_pairs::{Pair, TaskChanges};
use crate::history::task_reader::{KnownRules, KnownTasks};
use crate::history::touched_tasks::{FileVersion, KnownFiles};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Rules;

/// Reads tasks and rules, and keeps what the next commits need again.
pub(crate) struct CommitReader<'w> {
    pub workspace: &'w Workspace,
    pub files: KnownFiles,
    rules: KnownRules,
    tasks: KnownTasks,
}

impl<'w> CommitReader<'w> {
    pub(crate) fn new(workspace: &'w Workspace) -> Self {
        Self {
            workspace,
            files: KnownFiles::default(),
            rules: KnownRules::default(),
            tasks: KnownTasks::default(),
        }
    }

    /// Returns the rules that judge a commit: those of its parent.
    pub(crate) fn rules(&mut self, entry: &LogEntry) -> Result<Rc<Rules>, ProjectError> {
        self.rules.behind(self.workspace, entry)
    }

    /// Notes what a commit changed: where it left the rules alone, they judge the next one too.
    pub(crate) fn note(&mut self, entry: &LogEntry, changed: &[ChangedFile]) {
        if !changed.iter().any(|file| RuleFile::of(&file.path).is_some()) {
            self.rules.are_kept_by(entry);
        }
    }

    /// Returns what a version of a task's file says; nothing where it cannot be read.
    pub(crate) fn read(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        version: ObjectId,
    ) -> Result<Option<Rc<Task>>, ProjectError> {
        self.tasks.read(self.workspace, (id, version), rules, entry.committed)
    }

    /// Returns what those versions say that can be read.
    pub(crate) fn read_all(
        &mut self,
        rules: &Rules,
        entry: &LogEntry,
        id: &TaskId,
        versions: &[FileVersion],
    ) -> Result<Vec<Rc<Task>>, ProjectError> {
        let read = versions.iter().map(|(_, version)| self.read(rules, entry, id, *version));
        Ok(read.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
    }

    /// Returns the tasks that both parents of a merge changed since they parted.
    pub(crate) fn pairs(
        &mut self,
        entry: &LogEntry,
        changes: &TaskChanges,
    ) -> Result<BTreeMap<TaskId, Pair>, ProjectError> {
        let rules = self.rules(entry)?;
        changes.pairs(self.workspace, &rules, &mut self.tasks, entry.committed)
    }
}

/// Returns the task with the longest history; one that nobody has taken up counts least.
pub(crate) fn longest(tasks: Vec<Rc<Task>>) -> Option<Rc<Task>> {
    tasks.into_iter().max_by_key(|task| (!is_new(task), task.history.len()))
}

/// Returns whether nobody has taken the task up.
pub(crate) fn is_new(task: &Task) -> bool {
    task.gate.is_none() && task.history.is_empty()
}
