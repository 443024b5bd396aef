//! Where the file of a task stands after a change, and what goes there with it. Reads, and changes nothing.

use super::write::Companion;
use crate::format::task_file::{Origin, TaskFile};
use crate::model::Layout;
use crate::ops::error::OpsError;
use crate::ops::standing::Standing;
use crate::ops::workspace::Workspace;
use crate::store::layout::{archive_path, companions, task_path};
use crate::store::tasks::{self, Place};
use crate::store::{ProjectPath, StoreError};

/// Finished tasks stand in the archive, active ones do not; otherwise a file stays where people put it.
pub(in crate::ops) fn destination(standing: &Standing, after: &TaskFile) -> ProjectPath {
    let layout: Layout = standing.in_force.rules.project.layout;
    let here = &standing.snapshot.path;
    let finished = after.origin == Origin::Adopted && after.task.status.is_finished();
    match (finished, standing.place) {
        (true, Place::Active) => archive_path(&standing.id, after.task.latest()),
        (false, Place::Archived) => task_path(&standing.id, layout),
        _ => here.clone(),
    }
}

/// Returns what goes where the task goes. What git is told to leave out is in no commit because of that, and what is too large to
/// be read at once, a recording, say, keeps no task from being finished: both stay.
pub(super) fn companions_of(
    workspace: &Workspace,
    standing: &Standing,
    to: &ProjectPath,
) -> Result<Vec<Companion>, OpsError> {
    let repository = &workspace.repository;
    let mut list = Vec::new();
    for path in companions(&workspace.paths, &standing.snapshot.path)? {
        let committed = standing.head.commit.map(|commit| repository.blob_id(commit, path.as_str())).transpose()?;
        if committed.flatten().is_none() && repository.is_ignored(path.as_str())? {
            continue;
        }
        let bytes = match tasks::read(&workspace.paths, &path) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => continue,
            Err(fault) => return Err(fault.into()),
        };
        let target = to.sibling(path.name())?;
        list.push(Companion { from: path, to: target, bytes });
    }
    Ok(list)
}
