//! Where the file of a task stands after a change, and what goes there with it. Reads, and changes nothing.

use crate::domain::Layout;
use crate::files::task_file::{Origin, TaskFile};
use crate::git::can_be_committed;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::Warning;
use crate::storage::layout::{archive_path, companions, task_path};
use crate::storage::task_files;
use crate::storage::task_files::TaskPlace;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::plan::write::Companion;
use crate::tasks::state::task_state::TaskState;

/// Finished tasks stand in the archive, active ones do not; otherwise a file stays where people put it.
pub(crate) fn destination(state: &TaskState, after: &TaskFile) -> ProjectPath {
    let layout: Layout = state.in_force.rules.project.layout;
    let here = &state.snapshot.path;
    let finished = after.origin == Origin::Adopted && after.task.status.is_finished();
    match (finished, state.place) {
        (true, TaskPlace::Active) => archive_path(&state.id, after.task.latest()),
        (false, TaskPlace::Archived) => task_path(&state.id, layout),
        _ => here.clone(),
    }
}

/// What becomes of the files beside a task that moves.
pub(crate) struct Following {
    pub companions: Vec<Companion>,
    /// Those that a person changed since HEAD: whoever moves the task did not.
    pub edited: Vec<(ProjectPath, Option<Vec<u8>>)>,
    /// What is told of those that stay.
    pub left: Option<Warning>,
}

/// Returns what goes where the task goes. What git is told to leave out is in no commit because of that; what git converts, encrypts or
/// stores elsewhere would be in the commit as it stands here; and what is too large to be read at once, a recording, say, or has a name that no
/// commit can have, keeps no task from being finished: all these stay.
pub(crate) fn following(
    workspace: &Workspace,
    state: &TaskState,
    to: &ProjectPath,
) -> Result<Following, ProjectError> {
    let (repository, head) = (&workspace.repository, state.head.commit);
    let here = companions(&workspace.paths, &state.snapshot.path)?;
    let there =
        here.iter().map(|path| to.sibling(path.name())).collect::<Result<Vec<ProjectPath>, _>>()?;
    let mut edited = Vec::new();
    let (mut list, mut ignored, mut filtered) = (Vec::new(), Vec::new(), Vec::new());
    let (mut too_large, mut misnamed) = (Vec::new(), Vec::new());
    for (from, to) in here.into_iter().zip(there) {
        if !can_be_committed(from.as_str()) {
            misnamed.push(from.to_string());
            continue;
        }
        let committed =
            head.map(|commit| repository.blob_id(commit, from.as_str())).transpose()?.flatten();
        if committed.is_none() && repository.is_ignored(from.as_str())? {
            ignored.push(from.to_string());
            continue;
        }
        let bytes = match task_files::read(&workspace.paths, &from) {
            Ok(snapshot) => snapshot.bytes,
            Err(StoreError::TooLarge { .. }) => {
                too_large.push(from.to_string());
                continue;
            }
            Err(fault) => return Err(fault.into()),
        };
        if repository.conversion(from.as_str(), &bytes)?.is_some()
            || repository.conversion(to.as_str(), &bytes)?.is_some()
        {
            filtered.push(from.to_string());
            continue;
        }
        let is_program = repository.is_program(head, from.as_str())?;
        if committed.is_some_and(|blob| !repository.is_same_text(&bytes, blob)) {
            edited.push((from.clone(), Some(bytes.clone())));
        }
        list.push(Companion { from, to, bytes, is_program });
    }
    let stays = ![&ignored, &filtered, &too_large, &misnamed].into_iter().all(Vec::is_empty);
    let left = stays.then_some(Warning::CompanionsStay { ignored, filtered, too_large, misnamed });
    Ok(Following { companions: list, edited, left })
}
