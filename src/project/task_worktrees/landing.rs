//! The place of a landing: a turn in the queue of its target, a worktree for the join, and a note of what is about to land.
//!
//! A file `landing.ID.queue` is locked by its process for as long as that waits or lands: a file that nobody has locked is a dead one.
//! Its id gives the order; only the lock of the target decides who lands.

use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::thread;

use serde::{Deserialize, Serialize};

use super::{PAUSE, SetupFailed, TaskWorktree, TaskWorktrees, WorkspaceFacts};
use crate::domain::{BranchName, Digest, Landing, TaskId, Timestamp};
use crate::git::CommitId;
use crate::project::error::ProjectError;
use crate::storage::lock::FileLock;
use crate::storage::random::ulid;
use crate::storage::{Durability, Folder, StoreError};

/// A landing that waits for its turn, or is under way.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct QueuedLanding {
    pub task: TaskId,
    /// The branch that it lands on.
    pub onto: BranchName,
    pub since: Timestamp,
}

/// The right to land on a branch, until it is dropped.
pub(crate) struct LandingTurn {
    folder: Folder,
    name: String,
    _place: FileLock,
    _target: FileLock,
}

impl Drop for LandingTurn {
    fn drop(&mut self) {
        // The next one removes what stays.
        let _ = self.folder.remove(&self.name);
    }
}

impl TaskWorktrees {
    /// Waits for the task's turn to land on a branch, in the order of arrival. Returns `None` if it is to stop. `waits` receives the
    /// landing before it.
    pub(crate) fn take_turn(
        &self,
        queued: &QueuedLanding,
        waits: &mut dyn FnMut(&QueuedLanding),
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<Option<LandingTurn>, ProjectError> {
        let (folder, id) = (self.open_root()?, ulid(queued.since)?);
        let name = format!("landing.{id}.queue");
        let path = self.root.join(&name);
        let Some((place, mut file)) = self.lock(&name, is_stopped)? else { return Ok(None) };
        let text = serde_json::to_vec(queued).expect("plain fields are JSON");
        file.write_all(&text).map_err(|cause| StoreError::io("write", &path, cause))?;
        let target =
            format!("landing.{}.lock", &Digest::of(queued.onto.as_str().as_bytes()).as_str()[..16]);
        let mut told = None;
        loop {
            let mut queue = self.queue()?;
            queue.retain(|(other, one)| one.onto == queued.onto && *other < name);
            if let Some((_, before)) = queue.pop() {
                if told.as_ref() != Some(&before) {
                    waits(&before);
                    told = Some(before);
                }
            } else if let Some(lock) =
                FileLock::attempt(folder.open_lock(&target)?, &self.root.join(&target))?
            {
                return Ok(Some(LandingTurn { folder, name, _place: place, _target: lock }));
            }
            if is_stopped() {
                folder.remove(&name)?;
                return Ok(None);
            }
            thread::sleep(PAUSE);
        }
    }

    /// Returns the landings that wait or are under way, in their order.
    pub(crate) fn landings(&self) -> Result<Vec<QueuedLanding>, ProjectError> {
        Ok(self.queue()?.into_iter().map(|(_, queued)| queued).collect())
    }

    fn queue(&self) -> Result<Vec<(String, QueuedLanding)>, ProjectError> {
        let mut queue = Vec::new();
        let names = fs::read_dir(&self.root).into_iter().flatten().flatten();
        let names = names.filter_map(|entry| entry.file_name().into_string().ok());
        let is_place = |name: &String| {
            name.strip_prefix("landing.").is_some_and(|rest| rest.strip_suffix(".queue").is_some())
        };
        for name in names.filter(is_place) {
            let folder = Folder::open(&self.root, "")?;
            let Some((file, _)) = folder.open_to_write(&name)? else { continue };
            if FileLock::attempt(file, &self.root.join(&name))?.is_some() {
                folder.remove(&name)?;
            } else if let Some(queued) = folder.read_json(&name)? {
                queue.push((name, queued));
            }
        }
        queue.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(queue)
    }

    /// Returns a new worktree with a detached HEAD at the target's newest commit, in which the work is joined with it.
    pub(crate) fn add_landing(
        &self,
        task: &TaskId,
        onto: &BranchName,
        tip: CommitId,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<TaskWorktree, SetupFailed> {
        let Some((lock, _)) = self.lock(&format!("landing.{task}.lock"), is_stopped)? else {
            return Err(SetupFailed::Stopped);
        };
        let folder = self.landing_folder(task);
        let note = self.add_detached(task, &folder, (onto, tip), is_stopped)?;
        let (branch, base) = (onto.clone(), onto.clone());
        let facts = WorkspaceFacts { folder, branch, base, is_detached: true };
        let (task, compared) = (task.clone(), Some(tip));
        Ok(TaskWorktree { task, facts, compared, note, _lock: lock })
    }

    fn landing_folder(&self, task: &TaskId) -> PathBuf {
        self.real_root().join(format!("landing.{task}"))
    }

    /// Returns what the task was about to land when a process was killed.
    pub(crate) fn noted_landing(&self, task: &TaskId) -> Result<Option<Landing>, ProjectError> {
        if !self.root.is_dir() {
            return Ok(None);
        }
        Ok(Folder::open(&self.root, "")?.read_json(landing_note(task))?)
    }

    /// Notes what is about to land, before anything moves.
    pub(crate) fn note_landing(
        &self,
        task: &TaskId,
        landing: &Landing,
    ) -> Result<(), ProjectError> {
        let folder = self.open_root()?;
        Ok(folder.replace_json(&landing_note(task), landing, Durability::Durable)?)
    }

    /// Removes what a landing left here, once its entry is committed.
    pub(crate) fn forget_landing(&self, task: &TaskId) -> Result<(), ProjectError> {
        self.remove_detached(&self.landing_folder(task))?;
        let folder = self.open_root()?;
        folder.remove(landing_note(task))?;
        Ok(folder.remove(format!("landing.{task}.lock"))?)
    }
}

fn landing_note(task: &TaskId) -> String {
    format!("landing.{task}.json")
}
