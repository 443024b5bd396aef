//! What git left unmerged, merged by its meaning after all: where the driver was not set up or could not be run, or git did not see
//! that a file had moved into the archive. What somebody has begun to solve by hand is left to them.
//!
//! The file is written first, then those go that it stands for, and git's index comes last: after a kill the next run finds what it
//! would write itself.

use super::left::{Left, Remains, Stood, left_unmerged};
use super::replayed::Refused;
use crate::ops::error::OpsError;
use crate::ops::merge::FileMerge;
use crate::ops::transaction::DryRun;
use crate::ops::workspace::Workspace;
use crate::store::{Durability, Folder, ProjectPath};

/// A file that was merged after all, or is left to a person.
pub struct Settled {
    /// Where it is.
    pub path: String,
    /// What came of it.
    pub end: End,
}

/// What came of a file that git left unmerged.
pub enum End {
    /// It was merged; it is staged where it has no conflicts, and else unmerged in this one place.
    Merged(Box<FileMerge>),
    /// Git makes a commit again that cannot stand here: it is not merged.
    Refused(Box<Refused>),
    /// One side removed it: nobody but a person knows which counts.
    Removed,
    /// Somebody has changed it since.
    Touched,
    /// The branch that is merged into has no rules that are valid.
    Lawless,
}

/// Merges the task files of the project that git left unmerged, and stages what needs nobody's decision.
pub fn settle(workspace: &Workspace, dry_run: DryRun) -> Result<Vec<Settled>, OpsError> {
    let _lock = match dry_run {
        DryRun::Yes => None,
        DryRun::No => Some(workspace.lock()?),
    };
    let mut settled = Vec::new();
    for Left { path, others, sides, stood, remains } in left_unmerged(workspace)? {
        let end = match remains {
            Remains::Refused(refused) => End::Refused(refused),
            Remains::Removed => End::Removed,
            Remains::Touched => End::Touched,
            Remains::Lawless => End::Lawless,
            // Whoever saves it meanwhile has begun to solve it.
            _ if dry_run == DryRun::No && !is_as_it_stood(workspace, &stood)? => End::Touched,
            Remains::Unmerged(merge) | Remains::WithoutTheirs(merge) => {
                if dry_run == DryRun::No {
                    write(workspace, &path, &merge.bytes, &others)?;
                    let (repository, deadline) = (&workspace.repository, workspace.deadline());
                    if merge.conflicts.is_empty() {
                        repository.stage_merged(&path, &merge.bytes, sides, &others, deadline)?;
                    } else if !others.is_empty() {
                        repository.stage_unmerged(&path, sides, &others, deadline)?;
                    }
                }
                End::Merged(merge)
            }
        };
        settled.push(Settled { path, end });
    }
    Ok(settled)
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
fn write(workspace: &Workspace, path: &str, bytes: &[u8], others: &[String]) -> Result<(), OpsError> {
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
