//! What `aof status` says of git around the project: locks that somebody left, an index that cannot be gone by.

use std::time::Duration;

use super::error::OpsError;
use super::status::Attention;
use super::workspace::Workspace;
use crate::audit::AuditError;
use crate::model::age;

/// No command of git's that has not been killed holds a lock that long, but for a commit whose message is being written.
pub(super) const OLD_LOCK: Duration = Duration::from_mins(5);

/// Locks of git's that nobody seems to hold any more.
pub(super) fn left_locks(workspace: &Workspace) -> Vec<Attention> {
    let old = |(_, old): &(_, Duration)| *old >= OLD_LOCK;
    let locks = workspace.repository.lock_files().unwrap_or_default();
    let point = |(path, old): (std::path::PathBuf, Duration)| Attention {
        code: "git_locked",
        problem: format!("nothing can be committed: `{}` is {} old", path.display(), age(old)),
        fix: "if no git is running, and no editor with a commit message is open, remove that file".to_owned(),
    };
    locks.into_iter().filter(old).map(point).collect()
}

/// Says why nobody can go by git's index.
pub(super) fn of_index(fault: AuditError) -> Attention {
    let error = OpsError::Audit(fault);
    Attention {
        code: "index_unreadable",
        problem: error.problem(),
        fix: error.fix().unwrap_or_else(|| "see `git status`".to_owned()),
    }
}
