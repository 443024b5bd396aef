//! Removes worktrees whose work has arrived on its base. All others stay, and are listed with the reason.
//!
//! Neither age nor a missing upstream is a reason to remove one. `refs/aof/salvage/ID` keeps what no branch has: files that are not
//! committed, and commits of a detached HEAD.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use super::{TaskWorktrees, kept_reference};
use crate::domain::{BranchName, Task, TaskId};
use crate::git::{CommitId, GitError, LinkedWorktree, Repository};
use crate::project::error::ProjectError;
use crate::storage::Folder;
use crate::storage::lock::FileLock;

/// Returns a task; `None` if it does not exist.
pub(crate) type FindTask<'a> = dyn Fn(&TaskId) -> Result<Option<Task>, ProjectError> + 'a;

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
        let there = worktrees.iter().filter(|one| one.is_there);
        let of_worktrees = there.clone().filter_map(|one| self.task_of(one.branch.as_deref()?));
        let of_folders = there.filter_map(|one| self.task_in(&one.folder));
        let branches = self.repository.local_branches()?;
        let of_branches = branches.iter().filter_map(|(name, _)| self.task_of(name));
        let known: BTreeSet<TaskId> = of_worktrees.chain(of_branches).chain(of_folders).collect();
        let is_asked = |task: &TaskId| tasks.is_empty() || tasks.contains(task);
        let state = |task| self.state_of(task, find, false);
        known.into_iter().filter(is_asked).map(state).collect()
    }

    /// Returns the task whose worktree, landing or fork's branch has that folder.
    fn task_in(&self, folder: &Path) -> Option<TaskId> {
        let name = folder.strip_prefix(self.real_root()).ok()?.to_str()?;
        name.strip_prefix("landing.").unwrap_or(name).split('.').next()?.parse().ok()
    }

    /// `is_locked`: this process has the right to work in the task's worktree.
    fn state_of(
        &self,
        task: TaskId,
        find: &FindTask<'_>,
        is_locked: bool,
    ) -> Result<WorkspaceState, ProjectError> {
        let found = find(&task)?;
        let base = match &found {
            Some(task) => self.base_of(task)?,
            None => self.note_of(&task)?.map(|note| note.base),
        };
        let worktree = self.linked(&task)?;
        let kept = if !is_locked && self.is_in_use(&task)? {
            Some(StayReason::InUse)
        } else if found.is_some_and(|task| !task.status.is_finished()) {
            Some(StayReason::Open)
        } else {
            let kept = self.reason_to_keep(&task, base.as_ref(), worktree.as_ref());
            kept.unwrap_or_else(|error| Some(StayReason::Git(error.problem())))
        };
        let (branch, head) = (self.branch_of(&task), self.head_of(&task)?);
        let folder = worktree.map(|one| one.folder);
        Ok(WorkspaceState { task, branch, folder, base, head, kept })
    }

    /// Returns the reason why the worktree and the branch of a task that is over must stay.
    fn reason_to_keep(
        &self,
        task: &TaskId,
        base: Option<&BranchName>,
        worktree: Option<&LinkedWorktree>,
    ) -> Result<Option<StayReason>, ProjectError> {
        if let Some(one) = worktree.filter(|one| one.is_whole) {
            if let Some(why) = &one.lock {
                return Ok(Some(StayReason::Locked(why.clone())));
            }
            let repository = Repository::discover(&one.folder)?;
            if let Err(GitError::Waiting { reason, is_lasting: false }) = repository.head() {
                return Ok(Some(StayReason::Git(reason)));
            }
            let left = self.agents_files(task, &repository)?.len();
            if left > 0 {
                return Ok(Some(StayReason::Uncommitted(left)));
            }
        }
        if worktree.is_none() && self.head_of(task)?.is_none() {
            return Ok(None);
        }
        let tip = match base {
            Some(base) => self.tip(base)?,
            None => None,
        };
        let Some(tip) = tip else { return Ok(Some(StayReason::NoBase)) };
        for head in self.heads(task, worktree)? {
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

    /// Removes the worktree and the branch of a task whose work has arrived. `is_forced`: also the worktree of another one, whose branch
    /// stays. Keeps under `refs/aof/salvage/` what no branch has. Returns the reason if it stays.
    pub(crate) fn remove(
        &self,
        task: &TaskId,
        find: &FindTask<'_>,
        is_forced: bool,
    ) -> Result<Option<StayReason>, ProjectError> {
        let Some((_lock, _)) = self.lock(&format!("{task}.lock"), &|| true)? else {
            return Ok(Some(StayReason::InUse));
        };
        // Something may have come in between.
        let kept = self.state_of(task.clone(), find, true)?.kept;
        let worktree = self.linked(task)?;
        let removed = match &worktree {
            _ if kept.is_some() && !is_forced => return Ok(kept),
            None if kept.is_some() => return Ok(kept),
            Some(one) => self.remove_worktree(task, one),
            None => self.salvage(task, None).map(|()| None),
        };
        match removed {
            Ok(None) if kept.is_some() => self.keep(task).map(|()| None),
            Ok(None) => self.forget(task),
            Ok(why) => Ok(why),
            Err(error) => Ok(Some(StayReason::Git(error.problem()))),
        }
    }

    fn remove_worktree(
        &self,
        task: &TaskId,
        one: &LinkedWorktree,
    ) -> Result<Option<StayReason>, ProjectError> {
        if !one.is_whole {
            let Some(_lock) = self.lock("lock", &|| true)? else {
                return Ok(Some(StayReason::InUse));
            };
            self.repository.remove_work_folder(&one.folder, true)?;
            return Ok(None);
        }
        if let Some(why) = &one.lock {
            return Ok(Some(StayReason::Locked(why.clone())));
        }
        let left = Repository::discover(&one.folder)?.left_files()?;
        if let Some(inner) = left.iter().find(|file| file.path.ends_with('/')) {
            let why = format!("`{}` is a git repository of its own, which is not kept", inner.path);
            return Ok(Some(StayReason::Git(why)));
        }
        self.salvage(task, Some(one))?;
        self.repository.remove_work_folder(&one.folder, false)?;
        Ok(None)
    }

    /// Keeps, under a reference of the task, what only the worktree or git's records of its removed folders know: changed files, and
    /// commits that no branch reaches.
    pub(super) fn salvage(
        &self,
        task: &TaskId,
        worktree: Option<&LinkedWorktree>,
    ) -> Result<(), ProjectError> {
        let name = format!("refs/aof/salvage/{task}");
        for one in self.repository.linked_worktrees()? {
            let is_here = worktree.is_some_and(|here| here.folder == one.folder);
            // Git names its record of a worktree after the folder, with a number if there was one.
            let rest = one.name().strip_prefix(task.as_str());
            let is_its = rest.is_some_and(|rest| rest.bytes().all(|byte| byte.is_ascii_digit()));
            if !is_here && (one.is_there || !is_its) {
                continue;
            }
            let before = self.repository.commit_named(&name)?;
            let lost = self.repository.unreachable_of_reflog(&one, before)?;
            let tree = if is_here {
                let there = Repository::discover(&one.folder)?;
                let note = self.note_of(task)?.filter(|note| !note.is_mixed);
                let is_made =
                    |file| note.as_ref().is_some_and(|note| note.is_as_made(file, &there));
                if lost.is_empty() && there.left_files()?.iter().all(is_made) {
                    continue;
                }
                there.write_tree_of_files()?
            } else {
                let Some(last) = lost.first() else { continue };
                format!("{last}^{{tree}}")
            };
            // Git ignores a parent that is named twice.
            let head = one.head.filter(|head| self.repository.has_commit(*head));
            let parents: Vec<CommitId> = head.into_iter().chain(before).chain(lost).collect();
            let message = format!("{task}: what a removed workspace had\n");
            let commit = self.repository.write_commit_of_tree(&tree, &parents, &message)?;
            self.repository.move_reference(&name, commit, before)?;
        }
        Ok(())
    }

    /// Removes all the rest of a task whose work has arrived: its branch, its notes and locks, and what killed processes left of forks and landings.
    fn forget(&self, task: &TaskId) -> Result<Option<StayReason>, ProjectError> {
        let folder = self.open_root()?;
        for one in self.repository.linked_worktrees()? {
            let is_its = self.task_in(&one.folder).as_ref() == Some(task);
            if !one.is_there || !is_its || one.folder == self.folder_of(task, None) {
                continue;
            }
            let name = one.folder.file_name().unwrap_or_default().to_string_lossy();
            let lock = format!("{name}.lock");
            let Some(_lock) = self.lock(&lock, &|| true)? else {
                return Ok(Some(StayReason::InUse));
            };
            self.remove_detached(&one.folder)?;
        }
        self.keep(task)?;
        if let Some(head) = self.head_of(task)? {
            let name = format!("refs/heads/{}", self.branch_of(task));
            self.repository.delete_reference(&name, head)?;
        }
        for entry in fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let path = self.real_root().join(entry.file_name());
            let is_ours = path.extension().is_some_and(|kind| kind == "json" || kind == "lock");
            if is_ours && path.is_file() && self.task_in(&path).as_ref() == Some(task) {
                folder.remove(entry.file_name())?;
            }
        }
        Ok(None)
    }

    /// Removes the worktree of a fork's branch or a landing, in which nothing is kept.
    pub(crate) fn remove_detached(&self, folder: &Path) -> Result<(), ProjectError> {
        let all = self.repository.linked_worktrees()?;
        if let Some(one) = all.iter().find(|one| one.folder == folder) {
            self.repository.remove_work_folder(folder, !one.is_whole)?;
        }
        Ok(())
    }
}
