//! The rest of a visit: files that an agent leaves uncommitted are committed as its own, or its verdict is refused.

use std::fs;
use std::io::Read;
use std::path::Path;

use super::{TaskWorktrees, kept_reference};
use crate::domain::{Station, TaskId, UncommittedPolicy};
use crate::git::{CommitId, GitError, LeftFile, Person, Repository};
use crate::project::error::ProjectError;
use crate::system::process::Secrets;

/// The code of the refusal of a verdict because of what is left in its workspace.
pub(crate) const UNSETTLED: &str = "workspace_unsettled";
/// The most bytes of a file that is committed for an agent.
const MOST_BYTES: u64 = 10 * 1024 * 1024;
/// The most files that a refusal names.
const MOST_NAMED: usize = 5;

impl TaskWorktrees {
    /// Commits what is left in the task's worktree as the author's, and returns the head of the work; `None` without any work. Fails if that
    /// is not possible or not wanted: then the verdict is refused.
    pub(crate) fn settle(
        &self,
        task: &TaskId,
        (author, station): (&Person, &Station),
        secrets: &Secrets,
    ) -> Result<Option<CommitId>, ProjectError> {
        let Some(found) = self.worktree_of(task)? else { return self.head_of(task) };
        let repository = Repository::discover(&found.folder)?;
        let branch = self.branch_of(task);
        match repository.head() {
            Err(GitError::Waiting { reason, is_lasting: false }) => {
                return Err(unsettled(reason, "finish that, or abort it"));
            }
            Err(GitError::Waiting { is_lasting: true, .. }) => {
                let problem =
                    format!("HEAD is detached in the workspace, and its branch is `{branch}`");
                return Err(unsettled(problem, "move the branch to the work with `git switch -C`"));
            }
            Err(error) => return Err(error.into()),
            Ok(head) if head.branch() != branch.as_str() => {
                let problem = format!(
                    "the workspace has `{}` checked out, and its branch is `{branch}`",
                    head.branch()
                );
                return Err(unsettled(
                    problem,
                    "bring the work onto that branch, and check it out",
                ));
            }
            Ok(_) => {}
        }
        let left = self.agents_files(task, &repository)?;
        if !left.is_empty() {
            if self.settings.uncommitted == UncommittedPolicy::Refuse {
                let problem = format!("these files are not committed: {}", named(&left));
                return Err(unsettled(problem, "commit them, or remove them"));
            }
            for file in &left {
                refuse_unfit(&found.folder, file, secrets)?;
            }
            let message = format!("{task}: what {} left uncommitted at {station}\n", author.name());
            repository.commit_left_files(&left, author, &message).map_err(|error| {
                let problem = format!("what is left in the workspace cannot be committed: {error}");
                unsettled(problem, "correct that, or commit it yourself")
            })?;
        }
        self.keep(task)?;
        self.head_of(task)
    }

    /// Fails if the task's worktree has files that are not committed.
    pub(crate) fn ensure_committed(&self, task: &TaskId) -> Result<(), ProjectError> {
        let Some(found) = self.worktree_of(task)? else { return Ok(()) };
        let left = self.agents_files(task, &Repository::discover(&found.folder)?)?;
        if left.is_empty() {
            return Ok(());
        }
        let problem = format!("these files of the work are not committed: {}", named(&left));
        Err(unsettled(problem, "commit them, or remove them"))
    }

    /// Returns the changed files of a worktree that are not just as set-up made them.
    pub(super) fn agents_files(
        &self,
        task: &TaskId,
        repository: &Repository,
    ) -> Result<Vec<LeftFile>, ProjectError> {
        let mut left = repository.left_files()?;
        if let Some(note) = self.note_of(task)? {
            // A new file of set-up stays its own; a changed one may have been changed again.
            let is_own = |file: &LeftFile| file.is_untracked || note.is_as_made(file, repository);
            left.retain(|file| !note.made.contains_key(&file.path) || !is_own(file));
        }
        Ok(left)
    }

    /// Keeps the newest commit of the task's branch, whatever becomes of the branch.
    pub(crate) fn keep(&self, task: &TaskId) -> Result<(), ProjectError> {
        let Some(head) = self.head_of(task)? else { return Ok(()) };
        let name = kept_reference(task);
        let before = self.repository.commit_named(&name)?;
        if before != Some(head) {
            self.repository.move_reference(&name, head, before)?;
        }
        Ok(())
    }
}

/// Fails if the file must not be committed for an agent.
fn refuse_unfit(folder: &Path, file: &LeftFile, secrets: &Secrets) -> Result<(), ProjectError> {
    let path = folder.join(&file.name);
    if file.path.ends_with('/') {
        let problem = format!("`{}` is a git repository of its own", file.path);
        return Err(unsettled(problem, "move it out of the workspace, or add it as a submodule"));
    }
    let Ok(meta) = fs::symlink_metadata(&path) else { return Ok(()) };
    if meta.len() > MOST_BYTES {
        let problem = format!("`{}` is larger than 10 MiB, and it is not committed", file.path);
        return Err(unsettled(problem, "remove it, let git ignore it, or commit it yourself"));
    }
    if !meta.is_file() || secrets.is_empty() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    let read = fs::File::open(&path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    if read.is_err() || secrets.masked(&bytes) != bytes {
        let problem = format!("`{}` has the value of a secret in it", file.path);
        return Err(unsettled(problem, "take it out: what is committed stays in the history"));
    }
    Ok(())
}

fn named(files: &[LeftFile]) -> String {
    let names: Vec<String> =
        files.iter().take(MOST_NAMED).map(|file| format!("`{}`", file.path)).collect();
    let more = files.len().saturating_sub(MOST_NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    names.join(", ") + &more
}

fn unsettled(problem: String, fix: &'static str) -> ProjectError {
    ProjectError::Unfit { code: UNSETTLED, problem, fix: fix.into() }
}
