//! What git left unmerged, merged by its meaning after all: where the driver was not set up or could not be run, or git did not see
//! that a file had moved into the archive. What somebody has begun to solve by hand is left to them.

use super::left::{Left, Remains, left_unmerged};
use crate::ops::error::OpsError;
use crate::ops::merge::FileMerge;
use crate::ops::workspace::Workspace;
use crate::store::{ProjectPath, StoreError};

/// A file that was merged after all, or is left to a person.
pub struct Settled {
    /// Where it is.
    pub path: String,
    /// What came of it.
    pub end: End,
}

/// What came of a file that git left unmerged.
pub enum End {
    /// It was merged; it is staged where it has no conflicts.
    Merged(Box<FileMerge>),
    /// Nothing is left of the commit that is picked: it is to be left out.
    Spent,
    /// One side removed it: nobody but a person knows which counts.
    Removed,
    /// Somebody has changed it since.
    Touched,
}

/// Merges the task files of the project that git left unmerged, and stages what needs nobody's decision.
pub fn settle(workspace: &Workspace) -> Result<Vec<Settled>, OpsError> {
    let _lock = workspace.lock()?;
    let mut settled = Vec::new();
    for Left { path, others, remains } in left_unmerged(workspace)? {
        let end = match remains {
            Remains::Spent => End::Spent,
            Remains::Removed => End::Removed,
            Remains::Touched => End::Touched,
            Remains::Unmerged(merge) | Remains::WithoutTheirs(merge) => {
                write(workspace, &path, &merge.bytes, &others)?;
                if merge.conflicts.is_empty() {
                    workspace.repository.stage_merged(&path, &merge.bytes, &others)?;
                }
                End::Merged(merge)
            }
        };
        settled.push(Settled { path, end });
    }
    Ok(settled)
}

/// Writes the file, and takes those away that it stands for.
fn write(workspace: &Workspace, path: &str, bytes: &[u8], others: &[String]) -> Result<(), OpsError> {
    let place = |path: &str| Ok::<_, StoreError>(path.parse::<ProjectPath>()?.below(workspace.paths.root()));
    let target = place(path)?;
    let written = target.parent().map_or(Ok(()), std::fs::create_dir_all).and_then(|()| std::fs::write(&target, bytes));
    written.map_err(|cause| StoreError::Io { doing: "write the merged file", path: target, cause })?;
    for other in others {
        let other = place(other)?;
        match std::fs::remove_file(&other) {
            Err(cause) if cause.kind() != std::io::ErrorKind::NotFound => {
                return Err(StoreError::Io { doing: "take away", path: other, cause }.into());
            }
            _ => {}
        }
    }
    Ok(())
}
