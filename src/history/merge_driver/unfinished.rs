//! A commit that a person is about to make of what a killed command left: files and index have a step already that no commit of the
//! engine has. It would be the person's own, and nothing would say who did it.

use std::path::Path;
use std::time::Duration;

use super::driver::{Open, whole_repository};
use super::places;
use crate::git::{GitError, Locks, Repository};
use crate::project::error::error::OpsError;
use crate::storage::journal;
use crate::storage::journal::JournalState;
use crate::storage::{Holder, WriterLock};
use crate::system::shell::quoted;

/// A command that was to change tasks, and is left unfinished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unfinished {
    /// The command without which no other one can finish it: as long as no branch is checked out, nothing is committed.
    pub first: Option<String>,
}

/// Returns what is left unfinished where tasks are about to be committed. Whoever is at it now finishes it himself, and keeps nobody from
/// committing; and what touches no task is nobody's but the person's.
pub(crate) fn would_commit_unfinished(
    open: Open<'_>,
    here: &Path,
) -> Result<Option<Unfinished>, OpsError> {
    let repository = &whole_repository(here)?;
    let Some(head) = repository.look()?.commit else { return Ok(None) };
    for folder in places::about_to_change(repository, head)? {
        let workspace = open(&repository.worktree_root().join(folder))?;
        if !journal::is_pending(&workspace.paths) {
            continue;
        }
        let holder = Holder::this_process(&*workspace.command, workspace.now());
        let lock = WriterLock::acquire(&workspace.paths, &holder, Duration::ZERO, &mut |_| {});
        if let Ok(lock) = lock
            && let Some(branch) = branch_of(&journal::read(&lock)?)
        {
            return Ok(Some(Unfinished { first: first(&workspace.repository, &branch) }));
        }
    }
    Ok(None)
}

/// Returns the branch that was to move, as far as the record says it; nothing where there is none.
fn branch_of(record: &JournalState) -> Option<String> {
    const SOME: &str = "BRANCH";
    let locks = match record {
        JournalState::Nothing => return None,
        JournalState::Unreadable => None,
        JournalState::Record(record) => {
            record.locks.clone().and_then(|value| serde_json::from_value::<Locks>(value).ok())
        }
    };
    let name = locks
        .and_then(|locks| locks.branch?.reference.strip_prefix("refs/heads/").map(str::to_owned));
    Some(name.unwrap_or_else(|| SOME.to_owned()))
}

fn first(repository: &Repository, branch: &str) -> Option<String> {
    let is_kept_from_it = matches!(repository.head(), Err(GitError::Waiting { .. }));
    is_kept_from_it
        .then(|| repository.way_out().unwrap_or_else(|| format!("git switch {}", quoted(branch))))
}
