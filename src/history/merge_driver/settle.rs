//! What git left unmerged, merged by its meaning after all: where the driver was not set up or could not be run, or git did not see
//! that a file had moved into the archive. What somebody has begun to solve by hand is left to them.
//!
//! The file is written first, then those go that it stands for, and git's index comes last: after a kill the next run finds what it
//! would write itself. A task that git took for another one, renamed, and left unmerged nowhere, comes before that other one: once that is
//! staged, nothing in git's index tells of it.

use std::collections::BTreeSet;

use super::case::Stood;
use super::replayed::Refused;
use super::unmerged_tasks::{Left, Remains, left_unmerged};
use crate::domain::TaskId;
use crate::history::merge::merge::FileMerge;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::{Durability, Folder, ProjectPath};
use crate::system::shell::quoted;
use crate::tasks::apply::change::DryRun;

/// A file that was merged after all, or is left to a person.
pub(crate) struct Settled {
    /// Where it is.
    pub path: String,
    /// What came of it.
    pub end: End,
}

/// What came of a file that git left unmerged.
pub(crate) enum End {
    /// It was merged; it is staged where it has no conflicts, and else unmerged in this one place.
    Merged(Box<FileMerge>),
    /// Git makes a commit again that cannot stand here: it is not merged.
    Refused(Box<Refused>),
    /// One side removed it: nobody but a person knows which counts.
    Removed,
    /// Somebody has changed it since.
    Touched,
    /// Git took another task for it, and somebody has changed it since.
    MixedAndTouched,
    /// Git took that task for it, and does not tell what the two are.
    Unknown(TaskId),
    /// Git took that task for it, which has to be solved before.
    Waits(TaskId),
    /// The branch that is merged into has no rules that are valid.
    Lawless,
}

/// Merges the task files of the project that git left unmerged, and stages what needs nobody's decision.
pub(crate) fn settle(workspace: &Workspace, dry_run: DryRun) -> Result<Vec<Settled>, OpsError> {
    let _lock = match dry_run {
        DryRun::Yes => None,
        DryRun::No => Some(workspace.lock()?),
    };
    let mut settled = Vec::new();
    let mut stuck = BTreeSet::new();
    for Left { id, path, others, sides, stood, mixed, remains } in left_unmerged(workspace)? {
        let first = mixed.only_here.intersection(&stuck).next();
        let end = match remains {
            Remains::Refused(refused) => End::Refused(refused),
            Remains::Removed => End::Removed,
            Remains::Touched => End::Touched,
            Remains::MixedAndTouched => End::MixedAndTouched,
            Remains::Unknown(other) => End::Unknown(other),
            Remains::Waits(other) => End::Waits(other),
            Remains::Lawless => End::Lawless,
            // Once it is staged, nothing tells of that one any more.
            _ if first.is_some() => End::Waits(first.unwrap_or(&id).clone()),
            // Whoever saves it meanwhile has begun to solve it.
            _ if dry_run == DryRun::No && !is_as_it_stood(workspace, &stood)? => {
                if mixed.with.is_empty() { End::Touched } else { End::MixedAndTouched }
            }
            Remains::Unmerged(merge) | Remains::WithoutTheirs(merge) | Remains::OneSided(merge) => {
                if dry_run == DryRun::No {
                    write(workspace, &path, &merge.bytes, &others)?;
                    let (repository, deadline) = (&workspace.repository, workspace.deadline());
                    if merge.conflicts.is_empty() {
                        repository.stage_merged(&path, &merge.bytes, sides, &others, deadline)?;
                    } else {
                        repository.stage_unmerged(&path, sides, &others, deadline)?;
                    }
                }
                End::Merged(merge)
            }
        };
        if !matches!(end, End::Merged(_)) {
            stuck.insert(id);
        }
        settled.push(Settled { path, end });
    }
    Ok(settled)
}

/// Says how what brought two tasks into one file is taken back, and done again without git taking the one for the other.
pub(crate) fn done_anew(workspace: &Workspace, path: &str) -> String {
    match workspace.repository.merge_heads()[..] {
        [theirs] => format!(
            "take the merge back with `git merge --abort`, make it again with `git merge -X find-renames=100% {theirs}`, then \
             `aof merge-driver --settle`"
        ),
        _ if workspace.head_now().is_err() => {
            "take it back with the option `--abort` of what git is in the middle of, and do that again with `-X find-renames=100%`".to_owned()
        }
        _ => format!(
            "`git restore --source=HEAD --staged --worktree {}` brings back this task; what came in is in the stash still",
            quoted(path)
        ),
    }
}

/// Returns whether what was looked at is what stands there now.
fn is_as_it_stood(workspace: &Workspace, stood: &[(String, Stood)]) -> Result<bool, OpsError> {
    for (path, stood) in stood {
        if Stood::at(workspace, path)? != *stood {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the file, and takes those away that it stands for.
fn write(
    workspace: &Workspace,
    path: &str,
    bytes: &[u8],
    others: &[String],
) -> Result<(), OpsError> {
    let root = workspace.paths.root();
    let path: ProjectPath = path.parse()?;
    Folder::create(root, path.folder())?.replace(path.name(), bytes, Durability::Durable)?;
    for other in others {
        let other: ProjectPath = other.parse()?;
        if let Some(folder) = Folder::open_existing(root, other.folder())? {
            folder.remove(other.name())?;
        }
    }
    Ok(())
}
