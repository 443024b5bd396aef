//! Scripts of programs that the work at a task changed. Trust covers them as the base has them, so no program runs with others before a
//! person has seen the change.

use std::collections::BTreeMap;
use std::path::Path;

use super::{TaskWorktree, TaskWorktrees, WorktreeNote};
use crate::domain::{Digest, Task, TaskId};
use crate::git::{CommitId, Repository};
use crate::project::error::ProjectError;
use crate::project::trust::{ProgramKind, RulePrograms, VARIABLE, is_given};

/// The number of characters of the hash that must be given.
const SHOWN: usize = 32;

/// The changed files of programs that nobody has seen yet.
pub(crate) struct UnseenChanges {
    /// All changed files of programs, each with the blob of its content; empty for a deleted one.
    files: BTreeMap<String, String>,
    /// The change as git shows it.
    pub(crate) diff: String,
}

impl UnseenChanges {
    fn hash(&self) -> String {
        let text = serde_json::to_vec(&self.files).expect("texts are JSON");
        Digest::of(&text).as_str()[..SHOWN].to_owned()
    }

    /// Returns whether `AOF_TRUST` names just these files.
    pub(crate) fn is_named_by_variable(&self) -> bool {
        is_given(&self.hash())
    }

    /// Returns the refusal to run programs with these files.
    pub(crate) fn refusal(&self, task: &TaskId) -> ProjectError {
        let first = self.files.keys().next().map(String::as_str).unwrap_or_default();
        let more = match self.files.len() {
            0 | 1 => String::new(),
            count => format!(" and {} more", count - 1),
        };
        ProjectError::Unfit {
            code: "workspace_program_changed",
            problem: format!(
                "the work at `{task}` changed `{first}`{more}, which a program here runs, so it waits for a person"
            ),
            fix: format!(
                "see the change, and let it run, with `aof trust {task}`; without a terminal, set `{VARIABLE}={}`",
                self.hash()
            )
            .into(),
        }
    }
}

impl TaskWorktrees {
    /// Fails if the task's branch changed a file that these programs name, and no person has seen that.
    pub(crate) fn ensure_seen(
        &self,
        made: &TaskWorktree,
        programs: &RulePrograms,
        wanted: &dyn Fn(ProgramKind, &str) -> bool,
    ) -> Result<(), ProjectError> {
        let files =
            self.unseen(&made.facts.folder, made.compared, &made.note.seen, programs, wanted)?;
        let Some(files) = files else { return Ok(()) };
        let unseen = UnseenChanges { files, diff: String::new() };
        if unseen.is_named_by_variable() { Ok(()) } else { Err(unseen.refusal(&made.task)) }
    }

    /// Returns the changed files of programs in the task's worktree, if there are some that nobody has seen.
    pub(crate) fn unseen_changes(
        &self,
        task: &Task,
        programs: &RulePrograms,
    ) -> Result<Option<UnseenChanges>, ProjectError> {
        let (Some(found), Some(base)) = (self.worktree_of(&task.id)?, self.base_of(task)?) else {
            return Ok(None);
        };
        let base = self.tip(&base)?;
        let seen = self.note_of(&task.id)?.map(|note| note.seen).unwrap_or_default();
        let files = self.unseen(&found.folder, base, &seen, programs, &|_, _| true)?;
        let (Some(files), Some(base)) = (files, base) else { return Ok(None) };
        let paths: Vec<String> = files.keys().cloned().collect();
        let diff = Repository::discover(&found.folder)?.diff_text(base, None, &paths)?;
        Ok(Some(UnseenChanges { files, diff }))
    }

    /// Notes that a person has seen these changed files of programs.
    pub(crate) fn note_seen(
        &self,
        task: &Task,
        changes: UnseenChanges,
    ) -> Result<(), ProjectError> {
        if let Some(note) = self.note_of(&task.id)? {
            self.write_note(&task.id, &WorktreeNote { seen: changes.files, ..note })?;
        }
        Ok(())
    }

    /// Returns all changed files of programs, if nobody has seen one of the wanted ones.
    fn unseen(
        &self,
        folder: &Path,
        base: Option<CommitId>,
        seen: &BTreeMap<String, String>,
        programs: &RulePrograms,
        wanted: &dyn Fn(ProgramKind, &str) -> bool,
    ) -> Result<Option<BTreeMap<String, String>>, ProjectError> {
        let changed = self.changed_programs(folder, base, programs, wanted)?;
        if changed.iter().all(|(path, blob)| seen.get(path) == Some(blob)) {
            return Ok(None);
        }
        self.changed_programs(folder, base, programs, &|_, _| true).map(Some)
    }

    /// Returns the files that these programs name and that differ from the base's, each with the blob of its content.
    fn changed_programs(
        &self,
        folder: &Path,
        base: Option<CommitId>,
        programs: &RulePrograms,
        wanted: &dyn Fn(ProgramKind, &str) -> bool,
    ) -> Result<BTreeMap<String, String>, ProjectError> {
        let there = Repository::discover(folder)?;
        let (Some(head), Some(base)) = (there.head_for_reading()?.commit, base) else {
            return Ok(BTreeMap::new());
        };
        let fork = self.repository.merge_bases(head, base)?.first().copied().unwrap_or(base);
        let left = there.left_files()?;
        let mut changed = BTreeMap::new();
        for path in programs.scripts_in(folder, wanted)? {
            let now = there.blob_anywhere(head, &path)?;
            let is_left = left.iter().any(|file| file.path == path);
            // A version that only the base has left behind is no change of the work.
            let is_known = now == self.repository.blob_anywhere(base, &path)?
                || now == self.repository.blob_anywhere(fork, &path)?;
            if !is_known || is_left {
                let blob = there.hash_file(&folder.join(&path));
                changed.insert(path, blob.map(|blob| blob.to_string()).unwrap_or_default());
            }
        }
        Ok(changed)
    }
}
