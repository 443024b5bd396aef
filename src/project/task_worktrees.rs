//! The git worktrees in which agents work at tasks, each on the task's own branch; of a fork's branch, detached at the head of that.
//!
//! They lie in one folder below the folder where people work in the main worktree (`workspaces.root`). Beside each lies a note of what
//! git does not know: the branch that the work began at, and the files that set-up made. One program works in a worktree at a time.

mod landing;
mod prepare;
mod programs;
mod removal;
mod rest;
mod seen;

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub(crate) use landing::QueuedLanding;
pub(crate) use prepare::{SetupFailed, WorktreeSetup};
pub(crate) use programs::USUAL_LIMITS;
pub(crate) use removal::{StayReason, WorkspaceState};
pub(crate) use rest::UNSETTLED;

use super::error::ProjectError;
use super::open::home;
use super::workspace::Workspace;
use crate::domain::{BranchName, GateId, Task, TaskId, WorkBranch, WorkspaceSettings};
use crate::git::{CommitId, LeftFile, LinkedWorktree, Repository};
use crate::rules::Rules;
use crate::storage::lock::{FileLock, stands_at};
use crate::storage::{Durability, Folder, StoreError};

/// The interval at which a held lock is tried again.
const PAUSE: Duration = Duration::from_millis(50);

/// The worktrees of a project's tasks.
pub(crate) struct TaskWorktrees {
    pub(crate) settings: WorkspaceSettings,
    /// The repository of the code, opened where the command was started.
    pub(crate) repository: Repository,
    /// The folder that contains the worktrees; it may be missing.
    root: PathBuf,
    /// The folder where people work.
    checkout: PathBuf,
    /// The branch of the tasks; `None` if they are beside the code.
    tasks_branch: Option<BranchName>,
}

/// A worktree of a task, or of a fork's branch of it, and the right to work there until it is dropped.
pub(crate) struct TaskWorktree {
    pub(crate) task: TaskId,
    pub(crate) facts: WorkspaceFacts,
    /// The commit that the scripts of programs are compared with; `None` if the base is gone.
    compared: Option<CommitId>,
    note: WorktreeNote,
    _lock: FileLock,
}

/// The facts about a worktree that programs and agents are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkspaceFacts {
    pub(crate) folder: PathBuf,
    /// The task's branch; a fork's branch only reads it.
    pub(crate) branch: BranchName,
    /// The branch that the work began at.
    pub(crate) base: BranchName,
    /// True if what is changed here is not kept.
    pub(crate) is_detached: bool,
}

/// The facts about a worktree that git does not know, in a file beside it.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct WorktreeNote {
    base: BranchName,
    /// True once set-up has ended.
    is_prepared: bool,
    /// The files that set-up made or changed, each with the blob of its content.
    made: BTreeMap<String, String>,
    /// True if some of them were there before, because an earlier set-up failed: a person may have made them.
    #[serde(default)]
    is_mixed: bool,
    /// The changed files of programs that a person has seen, each with its blob.
    #[serde(default)]
    seen: BTreeMap<String, String>,
}

impl TaskWorktrees {
    /// Returns the worktrees of the project's tasks.
    pub(crate) fn of(workspace: &Workspace, rules: &Rules) -> Result<Self, ProjectError> {
        let repository = Repository::discover(&workspace.checkout)?;
        let home = home(&workspace.checkout, &repository);
        let settings = rules.project.workspaces.clone();
        let tasks_branch = rules.project.git.branch.clone();
        let root = home.join(&settings.root);
        let checkout = workspace.checkout.clone();
        Ok(Self { settings, repository, root, checkout, tasks_branch })
    }

    /// Returns the name of the task's branch.
    pub(crate) fn branch_of(&self, task: &TaskId) -> BranchName {
        let name = format!("{}/{task}", self.settings.prefix);
        name.parse().expect("a branch's name and a task's id make a branch's name")
    }

    /// Returns the task whose work is on that branch.
    fn task_of(&self, branch: &str) -> Option<TaskId> {
        branch.strip_prefix(self.settings.prefix.as_str())?.strip_prefix('/')?.parse().ok()
    }

    /// Returns the newest commit of the task's branch.
    pub(crate) fn head_of(&self, task: &TaskId) -> Result<Option<CommitId>, ProjectError> {
        self.tip(&self.branch_of(task))
    }

    /// Returns the newest commit of a branch.
    pub(crate) fn tip(&self, branch: &BranchName) -> Result<Option<CommitId>, ProjectError> {
        Ok(self.repository.commit_named(&format!("refs/heads/{branch}"))?)
    }

    /// Returns the worktree of the task's branch, wherever it was moved.
    pub(crate) fn worktree_of(
        &self,
        task: &TaskId,
    ) -> Result<Option<LinkedWorktree>, ProjectError> {
        Ok(self.linked(task)?.filter(|one| one.is_whole))
    }

    /// Returns the worktree of the task's branch, even if git was killed while it checked that out.
    fn linked(&self, task: &TaskId) -> Result<Option<LinkedWorktree>, ProjectError> {
        let (branch, usual) = (self.branch_of(task), self.folder_of(task, None));
        let all = self.repository.linked_worktrees()?;
        let is_its = |one: &&LinkedWorktree| one.branch.as_deref() == Some(branch.as_str());
        let found = all.iter().filter(|one| one.is_there).find(is_its);
        // An agent may have checked something else out there.
        let is_here = |one: &&LinkedWorktree| one.folder == usual || one.name() == task.as_str();
        let here = || all.iter().filter(|one| one.is_there).find(is_here);
        Ok(found.or_else(here).cloned())
    }

    /// Returns the usual folder of the task's worktree, or of that of a fork's branch.
    fn folder_of(&self, task: &TaskId, branch: Option<&GateId>) -> PathBuf {
        let branch = branch.map(|branch| format!(".{branch}")).unwrap_or_default();
        self.real_root().join(format!("{task}{branch}"))
    }

    /// Returns the folder of the worktrees as git names it.
    fn real_root(&self) -> PathBuf {
        fs::canonicalize(&self.root).unwrap_or_else(|_| self.root.clone())
    }

    /// Returns the state of the work at the task; `None` if none has begun here.
    pub(crate) fn work_of(
        &self,
        task: &Task,
        branch: Option<&GateId>,
    ) -> Result<Option<WorkBranch>, ProjectError> {
        let detached = branch.map(|branch| self.folder_of(&task.id, Some(branch)));
        let head = match detached.filter(|folder| folder.join(".git").exists()) {
            Some(folder) => Repository::discover(&folder)?.head_for_reading()?.commit,
            None => self.head_of(&task.id)?,
        };
        let Some(head) = head else { return Ok(None) };
        let (branch, base) = (self.branch_of(&task.id), self.base_of(task)?);
        let head = head.to_string().parse().expect("a commit's name");
        Ok(base.map(|base| WorkBranch { branch, base, head }))
    }

    /// Returns what the work at the task changes against its base, with what is not committed yet; `None` if none has begun here.
    pub(crate) fn changes(&self, task: &Task) -> Result<Option<String>, ProjectError> {
        let (Some(head), Some(base)) = (self.head_of(&task.id)?, self.base_of(task)?) else {
            return Ok(None);
        };
        let Some(tip) = self.tip(&base)? else { return Ok(None) };
        let fork = self.repository.merge_bases(head, tip)?.first().copied().unwrap_or(tip);
        let Some(found) = self.worktree_of(&task.id)? else {
            return Ok(Some(self.repository.diff_text(fork, Some(head), &[])?));
        };
        let there = Repository::discover(&found.folder)?;
        let mut text = there.diff_text(fork, None, &[])?;
        for file in self.agents_files(&task.id, &there)? {
            if file.is_untracked {
                text.push_str(&format!("new file, not added: {}\n", file.path));
            }
        }
        Ok(Some(text))
    }

    /// Returns the branch that the task's work began at, as far as that is known here.
    fn base_of(&self, task: &Task) -> Result<Option<BranchName>, ProjectError> {
        let noted = self.note_of(&task.id)?.map(|note| note.base);
        Ok(noted.or_else(|| task.work().map(|work| work.base.clone())))
    }

    /// Waits for the right to work in the task's worktree. Returns `None` if it is to stop.
    fn lock(
        &self,
        name: &str,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<(FileLock, File)>, ProjectError> {
        let folder = self.open_root()?;
        let path = self.root.join(name);
        loop {
            let file = folder.open_lock(name)?;
            let share = file.try_clone().map_err(|cause| StoreError::io("open", &path, cause))?;
            // Another process may have removed the file meanwhile.
            if let Some(lock) = FileLock::attempt(share, &path)?
                && stands_at(&file, &path)
            {
                return Ok(Some((lock, file)));
            }
            if is_stopped() {
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Creates the folder of the worktrees, which git ignores.
    fn open_root(&self) -> Result<Folder, ProjectError> {
        fs::create_dir_all(&self.root)
            .map_err(|cause| StoreError::io("make", &self.root, cause))?;
        let folder = Folder::open(&self.root, "")?;
        match folder.create_new(".gitignore", b"*\n") {
            Ok(()) | Err(StoreError::Exists { .. }) => Ok(folder),
            Err(error) => Err(error.into()),
        }
    }

    fn note_of(&self, task: &TaskId) -> Result<Option<WorktreeNote>, ProjectError> {
        if !self.root.is_dir() {
            return Ok(None);
        }
        Ok(Folder::open(&self.root, "")?.read_json(note_name(task))?)
    }

    fn write_note(&self, task: &TaskId, note: &WorktreeNote) -> Result<(), ProjectError> {
        let text = serde_json::to_vec_pretty(note).expect("a note is JSON");
        Ok(self.open_root()?.replace(&note_name(task), &text, Durability::Durable)?)
    }
}

impl WorktreeNote {
    fn new(base: &BranchName) -> Self {
        let (made, seen) = (BTreeMap::new(), BTreeMap::new());
        Self { base: base.clone(), is_prepared: false, made, is_mixed: false, seen }
    }

    /// Returns whether the file is just as set-up made it.
    fn is_as_made(&self, file: &LeftFile, repository: &Repository) -> bool {
        let now = repository.hash_file(&repository.worktree_root().join(&file.name));
        self.made.get(&file.path) == Some(&now.map(|blob| blob.to_string()).unwrap_or_default())
    }
}

impl WorkspaceFacts {
    /// Returns the variables that tell a program where it works.
    pub(crate) fn variables(&self) -> Vec<(String, String)> {
        vec![
            ("AOF_WORKSPACE".to_owned(), self.folder.to_string_lossy().into_owned()),
            ("AOF_BRANCH".to_owned(), self.branch.to_string()),
        ]
    }
}

impl TaskWorktree {
    /// Opens the repository of the worktree.
    pub(crate) fn repository(&self) -> Result<Repository, ProjectError> {
        Ok(Repository::discover(&self.facts.folder)?)
    }
}

/// Returns the name of the note beside a task's worktree.
fn note_name(task: &TaskId) -> String {
    format!("{task}.json")
}

/// Returns the reference that keeps the newest work of a task.
fn kept_reference(task: &TaskId) -> String {
    format!("refs/aof/work/{task}")
}

/// Returns the branch that is checked out in a folder.
fn branch_in(folder: &Path) -> Result<Option<BranchName>, ProjectError> {
    let head = Repository::discover(folder)?.head_for_reading()?;
    Ok(head.reference.strip_prefix("refs/heads/").and_then(|name| name.parse().ok()))
}
