//! Removes worktrees whose work has arrived on its base. All others stay, and are listed with the reason.
//!
//! Neither age nor a missing upstream is a reason to remove one. Before a forced removal, `refs/aof/salvage/ID` keeps the head and the
//! uncommitted files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{TaskWorktrees, kept_reference, note_name};
use crate::domain::{BranchName, Task, TaskId};
use crate::git::{CommitId, GitError, LinkedWorktree, Repository};
use crate::project::error::ProjectError;
use crate::storage::Folder;
use crate::storage::lock::FileLock;

/// Returns a task that exists, and whether it is over.
pub(crate) type FindTask<'a> = dyn Fn(&TaskId) -> Result<Option<(Task, bool)>, ProjectError> + 'a;

/// The reason why a worktree or a branch stays.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StayReason {
    /// The task is not over.
    Open,
    /// A program works there.
    InUse,
    /// Somebody locked it with `git worktree lock`. Contains the reason.
    Locked(String),
    /// Files are not committed.
    Uncommitted(usize),
    /// Commits are not on the base.
    NotLanded,
    /// The base is unknown, or is gone.
    NoBase,
    /// An operation of git is in progress there, or git cannot remove it.
    Git(String),
}

impl StayReason {
    /// Returns the reason as a text for people.
    pub(crate) fn sentence(&self) -> String {
        match self {
            Self::Open => "the task is open".to_owned(),
            Self::InUse => "a program works there".to_owned(),
            Self::Locked(why) if why.is_empty() => "git has it locked".to_owned(),
            Self::Locked(why) => format!("git has it locked: {why}"),
            Self::Uncommitted(1) => "a file is not committed".to_owned(),
            Self::Uncommitted(count) => format!("{count} files are not committed"),
            Self::NotLanded => "its work is not on the base".to_owned(),
            Self::NoBase => "its base is gone".to_owned(),
            Self::Git(why) => why.clone(),
        }
    }
}

/// The work of a task in this clone.
#[derive(Debug, Clone)]
pub(crate) struct WorkspaceState {
    pub task: TaskId,
    pub branch: BranchName,
    /// `None` if there is a branch without a worktree.
    pub folder: Option<PathBuf>,
    pub base: Option<BranchName>,
    pub head: Option<CommitId>,
    /// The reason why it stays; `None` if it can go.
    pub kept: Option<StayReason>,
}

impl TaskWorktrees {
    /// Returns the work in this clone: of all tasks, or of these.
    pub(crate) fn list(
        &self,
        tasks: &[TaskId],
        find: &FindTask<'_>,
    ) -> Result<Vec<WorkspaceState>, ProjectError> {
        let worktrees = self.repository.linked_worktrees()?;
        let of_worktrees = worktrees.iter().filter(|one| one.is_there);
        let of_worktrees = of_worktrees.filter_map(|one| self.task_of(one.branch.as_deref()?));
        let branches = self.repository.local_branches()?;
        let of_branches = branches.iter().filter_map(|(name, _)| self.task_of(name));
        let of_folders = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let of_folders = of_folders.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let known: BTreeSet<TaskId> = of_worktrees.chain(of_branches).chain(of_folders).collect();
        let is_asked = |task: &TaskId| tasks.is_empty() || tasks.contains(task);
        known.into_iter().filter(is_asked).map(|task| self.state_of(task, find)).collect()
    }

    fn state_of(&self, task: TaskId, find: &FindTask<'_>) -> Result<WorkspaceState, ProjectError> {
        let found = find(&task)?;
        let base = match &found {
            Some((task, _)) => self.base_of(task)?,
            None => self.note_of(&task)?.map(|note| note.base),
        };
        let worktree = self.worktree_of(&task)?;
        let is_over = found.as_ref().is_none_or(|(_, is_over)| *is_over);
        let kept = match self.reason_to_keep(&task, is_over, base.as_ref(), worktree.as_ref()) {
            Ok(kept) => kept,
            Err(error) => Some(StayReason::Git(error.problem())),
        };
        let (branch, head) = (self.branch_of(&task), self.head_of(&task)?);
        Ok(WorkspaceState {
            branch,
            folder: worktree.map(|one| one.folder),
            base,
            head,
            kept,
            task,
        })
    }

    /// Returns the reason why the task's worktree and branch must stay.
    fn reason_to_keep(
        &self,
        task: &TaskId,
        is_over: bool,
        base: Option<&BranchName>,
        worktree: Option<&LinkedWorktree>,
    ) -> Result<Option<StayReason>, ProjectError> {
        if self.is_in_use(task)? {
            return Ok(Some(StayReason::InUse));
        }
        if !is_over {
            return Ok(Some(StayReason::Open));
        }
        if let Some(why) = worktree.and_then(|one| one.lock.clone()) {
            return Ok(Some(StayReason::Locked(why)));
        }
        if let Some(one) = worktree {
            let repository = Repository::discover(&one.folder)?;
            if let Err(GitError::Waiting { reason, is_lasting: false }) = repository.head() {
                return Ok(Some(StayReason::Git(reason)));
            }
            let left = self.agents_files(task, &one.folder, &repository)?.len();
            if left > 0 {
                return Ok(Some(StayReason::Uncommitted(left)));
            }
        }
        let heads = self.heads(task, worktree)?;
        if heads.is_empty() {
            return Ok(None);
        }
        let tip = match base {
            Some(base) => self.tip(base)?,
            None => None,
        };
        let Some(tip) = tip else { return Ok(Some(StayReason::NoBase)) };
        for head in heads {
            if !self.repository.has_arrived(head, tip)? {
                return Ok(Some(StayReason::NotLanded));
            }
        }
        Ok(None)
    }

    fn is_in_use(&self, task: &TaskId) -> Result<bool, ProjectError> {
        if !self.root.is_dir() {
            return Ok(false);
        }
        let name = format!("{task}.lock");
        let file = Folder::open(&self.root, "")?.open_to_write(&name)?;
        let Some((file, _)) = file else { return Ok(false) };
        Ok(FileLock::attempt(file, &self.root.join(name))?.is_none())
    }

    /// Returns the commits that the task's work consists of: its branch, what is checked out, and what was kept.
    fn heads(
        &self,
        task: &TaskId,
        worktree: Option<&LinkedWorktree>,
    ) -> Result<BTreeSet<CommitId>, ProjectError> {
        let checked_out = worktree.and_then(|one| one.head);
        let kept = self.repository.commit_named(&kept_reference(task))?;
        Ok(checked_out.into_iter().chain(kept).chain(self.head_of(task)?).collect())
    }

    /// Removes the worktree and the branch of a task whose work has arrived. Returns the reason if something has come in between.
    pub(crate) fn remove(
        &self,
        state: &WorkspaceState,
        find: &FindTask<'_>,
    ) -> Result<Option<StayReason>, ProjectError> {
        let task = &state.task;
        let Some((_lock, _)) = self.lock(&format!("{task}.lock"), &|| true)? else {
            return Ok(Some(StayReason::InUse));
        };
        let over = find(task)?.is_none_or(|(_, is_over)| is_over);
        let worktree = self.worktree_of(task)?;
        // The lock is ours, so that only the other reasons count.
        let kept = self.reason_to_keep(task, over, state.base.as_ref(), worktree.as_ref())?;
        if let Some(kept) = kept.filter(|kept| *kept != StayReason::InUse) {
            return Ok(Some(kept));
        }
        if let Some(one) = &worktree {
            let left_behind = self.left_behind(task, one)?;
            if !left_behind.is_empty() {
                self.salvage(task, one, left_behind)?;
            }
            self.remove_made(task, &one.folder)?;
            if let Err(error) = self.repository.remove_work_folder(&one.folder, false) {
                if !error.to_string().contains("submodule") {
                    return Ok(Some(StayReason::Git(error.to_string())));
                }
                // Git removes a worktree with submodules by force alone.
                self.salvage(task, one, Vec::new())?;
                self.repository.remove_work_folder(&one.folder, true)?;
            }
        }
        self.forget(task)?;
        Ok(None)
    }

    /// Removes the worktree of a task whatever is in it, and keeps that under `refs/aof/salvage/`. Its branch stays unless its work has
    /// arrived.
    pub(crate) fn remove_by_force(
        &self,
        state: &WorkspaceState,
    ) -> Result<Option<StayReason>, ProjectError> {
        let task = &state.task;
        let Some((_lock, _)) = self.lock(&format!("{task}.lock"), &|| true)? else {
            return Ok(Some(StayReason::InUse));
        };
        let Some(one) = self.worktree_of(task)? else { return Ok(state.kept.clone()) };
        if let Some(why) = one.lock {
            return Ok(Some(StayReason::Locked(why)));
        }
        let repository = Repository::discover(&one.folder)?;
        let left = repository.left_files()?;
        if let Some(inner) = left.iter().find(|file| file.path.ends_with('/')) {
            let why = format!("`{}` is a git repository of its own, which is not kept", inner.path);
            return Ok(Some(StayReason::Git(why)));
        }
        let left_behind = self.left_behind(task, &one)?;
        self.salvage(task, &one, left_behind)?;
        self.keep(task)?;
        self.repository.remove_work_folder(&one.folder, true)?;
        Ok(None)
    }

    /// Returns commits that only the worktree's reflog knows: made there with a detached HEAD, or replaced since.
    fn left_behind(
        &self,
        task: &TaskId,
        worktree: &LinkedWorktree,
    ) -> Result<Vec<CommitId>, ProjectError> {
        let heads = self.heads(task, Some(worktree))?;
        Ok(self.repository.unreachable_of_reflog(worktree, &heads)?)
    }

    /// Keeps the head and the uncommitted files of a worktree, and these commits, under a reference of the task.
    fn salvage(
        &self,
        task: &TaskId,
        worktree: &LinkedWorktree,
        others: Vec<CommitId>,
    ) -> Result<(), ProjectError> {
        let name = salvage_reference(task);
        let before = self.repository.commit_named(&name)?;
        let mut parents: Vec<CommitId> = worktree.head.into_iter().collect();
        for commit in before.into_iter().chain(others) {
            if !parents.contains(&commit) {
                parents.push(commit);
            }
        }
        let message = format!("{task}: what a removed workspace had\n");
        let repository = Repository::discover(&worktree.folder)?;
        let commit = repository.write_salvage(&parents, &message)?;
        Ok(self.repository.move_reference(&name, commit, before)?)
    }

    /// Keeps what only git's records of the task's removed folders know.
    pub(super) fn salvage_removed(&self, task: &TaskId) -> Result<(), ProjectError> {
        let folder = fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone());
        let folder = folder.join(task.as_str());
        for one in self.repository.linked_worktrees()? {
            if one.is_there || one.folder != folder {
                continue;
            }
            let name = salvage_reference(task);
            let before = self.repository.commit_named(&name)?;
            let heads = self.heads(task, None)?.into_iter().chain(before).collect();
            let mut lost = self.repository.unreachable_of_reflog(&one, &heads)?;
            let Some(tree) = lost.first().map(|last| format!("{last}^{{tree}}")) else { continue };
            lost.extend(before);
            let message = format!("{task}: what a removed workspace had\n");
            let commit = self.repository.write_commit_of_tree(&tree, &lost, &message)?;
            self.repository.move_reference(&name, commit, before)?;
        }
        Ok(())
    }

    /// Removes the untracked files that set-up made, so that git can tell whether there are others.
    fn remove_made(&self, task: &TaskId, folder: &Path) -> Result<(), ProjectError> {
        let made = self.note_of(task)?.map(|note| note.made).unwrap_or_default();
        let repository = Repository::discover(folder)?;
        for file in repository.left_files()? {
            if made.contains_key(&file.path) && file.is_untracked {
                let _ = fs::remove_file(folder.join(&file.path));
            } else if made.contains_key(&file.path) {
                repository.restore_file(&file.path)?;
            }
        }
        Ok(())
    }

    /// Removes the branch and the note of a task whose work has arrived.
    fn forget(&self, task: &TaskId) -> Result<(), ProjectError> {
        self.keep(task)?;
        if let Some(head) = self.head_of(task)? {
            let name = format!("refs/heads/{}", self.branch_of(task));
            self.repository.delete_reference(&name, head)?;
        }
        if self.root.is_dir() {
            let folder = Folder::open(&self.root, "")?;
            for name in [note_name(task), format!("{task}.lock")] {
                if folder.kind(&name)?.is_some() {
                    folder.remove(&name)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the worktree of a fork's branch, in which nothing is kept.
    pub(crate) fn remove_detached(&self, folder: &Path) -> Result<(), ProjectError> {
        let real = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
        let all = self.repository.linked_worktrees()?;
        if all.iter().any(|one| one.folder == real && one.branch.is_none()) {
            self.repository.remove_work_folder(&real, true)?;
        }
        Ok(())
    }
}

/// Returns the reference that keeps what a removed worktree of the task had.
fn salvage_reference(task: &TaskId) -> String {
    format!("refs/aof/salvage/{task}")
}
