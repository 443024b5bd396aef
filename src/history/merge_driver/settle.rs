//! Merges by meaning what git left unmerged, and stages it: where the driver was not set up or could not run, or git did not see that a
//! file had moved into the archive. What somebody has begun to solve by hand is left alone.
//!
//! The file is written first, then the files go that it replaces, and git's index comes last: after a kill the next run finds what it
//! would write itself.

use super::unmerged::{UnmergedState, UnmergedTask, WorktreeFile, unmerged_tasks};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::{Durability, Folder, ProjectPath};
use crate::tasks::plan::DryRun;

/// Merges the task files of the project that git left unmerged, and stages those without conflicts. Returns each file with what it was, or
/// is now that somebody has changed it meanwhile.
pub(crate) fn settle(
    workspace: &Workspace,
    dry_run: DryRun,
) -> Result<Vec<UnmergedTask>, ProjectError> {
    if dry_run == DryRun::Yes {
        return unmerged_tasks(workspace);
    }
    let _lock = workspace.lock()?;
    let mut tasks = unmerged_tasks(workspace)?;
    for task in &mut tasks {
        let Some(merge) = task.state.merge() else { continue };
        if !is_as_seen(workspace, &task.seen)? {
            task.state = UnmergedState::EditedByHand;
            continue;
        }
        write(workspace, &task.path, &merge.bytes, &task.others)?;
        let (repository, deadline) = (&workspace.repository, workspace.deadline());
        let UnmergedTask { path, others, sides, .. } = task;
        if merge.conflicts.is_empty() {
            repository.stage_merged(path, &merge.bytes, *sides, others, deadline)?;
        } else {
            repository.stage_unmerged(path, *sides, others, deadline)?;
        }
    }
    Ok(tasks)
}

fn is_as_seen(
    workspace: &Workspace,
    seen: &[(String, WorktreeFile)],
) -> Result<bool, ProjectError> {
    for (path, file) in seen {
        if WorktreeFile::at(workspace, path)? != *file {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Writes the file, and removes those that it replaces.
fn write(
    workspace: &Workspace,
    path: &str,
    bytes: &[u8],
    others: &[String],
) -> Result<(), ProjectError> {
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
