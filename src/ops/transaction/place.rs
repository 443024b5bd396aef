//! Where the file of a task stands after a change, and what goes there with it. Reads, and changes nothing.

use super::write::Companion;
use crate::engine::Warning;
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

/// What becomes of the files beside a task that moves.
pub(super) struct Following {
    pub companions: Vec<Companion>,
    /// What is told of those that stay.
    pub left: Option<Warning>,
}

/// Returns what goes where the task goes. What git is told to leave out is in no commit because of that, and what is too large to
/// be read at once, a recording, say, keeps no task from being finished: both stay.
pub(super) fn following(workspace: &Workspace, standing: &Standing, to: &ProjectPath) -> Result<Following, OpsError> {
    let (repository, head) = (&workspace.repository, standing.head.commit);
    let (mut list, mut ignored, mut too_large) = (Vec::new(), Vec::new(), Vec::new());
    for path in companions(&workspace.paths, &standing.snapshot.path)? {
        let committed = head.map(|commit| repository.blob_id(commit, path.as_str())).transpose()?;
        if committed.flatten().is_none() && repository.is_ignored(path.as_str())? {
            ignored.push(path.to_string());
            continue;
        }
        let bytes = match tasks::read(&workspace.paths, &path) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => {
                too_large.push(path.to_string());
                continue;
            }
            Err(fault) => return Err(fault.into()),
        };
        let target = to.sibling(path.name())?;
        let is_program = repository.is_program(head, path.as_str())?;
        list.push(Companion { from: path, to: target, bytes, is_program });
    }
    let stays = !ignored.is_empty() || !too_large.is_empty();
    Ok(Following { companions: list, left: stays.then_some(Warning::CompanionsStay { ignored, too_large }) })
}
