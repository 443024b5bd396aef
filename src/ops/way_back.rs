//! Where a task file that cannot be read was readable last: in HEAD, or, where that has the same, in a commit before it. Only reads.

use super::error::OpsError;
use super::in_force::InForce;
use super::workspace::Workspace;
use crate::audit::CommitId;
use crate::format::task_file;
use crate::model::TaskId;
use crate::store::ProjectPath;

/// So many changes of the file are looked at.
const LOOK_BACK: usize = 50;

/// Puts to the error how git names the newest commit that has a version of the file which can be read, if there is one.
pub(super) fn with_way_back(workspace: &Workspace, in_force: &InForce, error: OpsError) -> OpsError {
    match error {
        OpsError::UnreadableTask { id, path, diagnostics, .. } => {
            let readable = last_readable(workspace, in_force, &id, &path);
            OpsError::UnreadableTask { id, path, diagnostics, readable }
        }
        other => other,
    }
}

/// Returns how git names that commit.
pub(super) fn last_readable(
    workspace: &Workspace,
    in_force: &InForce,
    id: &TaskId,
    path: &ProjectPath,
) -> Option<String> {
    let repository = &workspace.repository;
    let defaults = in_force.defaults(workspace.now());
    let is_readable = |commit: CommitId| {
        let bytes = repository.read(commit, path.as_str()).ok().flatten();
        bytes.is_some_and(|bytes| task_file::parse(&bytes, id, &defaults).is_ok())
    };
    let head = repository.look().ok()?.commit?;
    if is_readable(head) {
        return Some("HEAD".to_owned());
    }
    let changes = repository.log_of(head, &[path.as_str()]).ok()?.take(LOOK_BACK);
    let mut before = changes.filter_map(|entry| entry.ok()?.parents.first().copied());
    before
        .find(|commit| repository.has_commit(*commit) && is_readable(*commit))
        .map(|commit| commit.to_string()[..10].to_owned())
}
