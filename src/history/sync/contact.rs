//! What is kept here of the last contact with the remote: when it was reached, and what has been in the way since when.

use super::sync::End;
use crate::git::{GitError, Upstream};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::hints::{Hint, RemoteContact, RemoteFailure};

/// Keeps for `aof status` how it went.
pub(crate) fn note(
    workspace: &Workspace,
    upstream: &Upstream,
    end: &Result<End, OpsError>,
) -> Result<(), OpsError> {
    let mut lock = None;
    let (code, said) = match end {
        Ok(End::Offline { said }) => ("offline", said.clone()),
        Ok(End::Rejected { said }) => ("rejected", said.clone()),
        Ok(End::Left(left)) => (left.code(), left.problem(upstream)),
        Ok(End::Unsettled) => ("unsettled", "the remote went on each time".to_owned()),
        Err(OpsError::Remote(error)) => (error.code(), error.to_string()),
        // Something here is in the way: the remote may have gone on, and nobody knows how far. It is read later: no age of
        // a lock would be so any more.
        Err(error @ OpsError::Git(GitError::Locked { path, .. })) => {
            lock = Some(path.clone());
            let held = format!("`{}` is held by another git process", path.display());
            (error.code(), format!("{held}; if no git is running, delete that file"))
        }
        Err(error @ OpsError::Git(GitError::NotStored { .. } | GitError::NotTaken { .. })) => {
            (error.code(), error.to_string())
        }
        Ok(End::Same | End::Rehearsed) => ("", String::new()),
        // It says nothing of the remote.
        Err(_) => return Ok(()),
    };
    let now = workspace.now();
    let before = RemoteContact::load(&workspace.paths).unwrap_or_default();
    let since = before
        .trouble
        .as_ref()
        .filter(|trouble| trouble.code == code)
        .map_or(now, |trouble| trouble.since);
    let is_known = end.is_ok() && code != "offline";
    let reached = if is_known { Some(now) } else { before.reached };
    let trouble =
        (!code.is_empty()).then(|| RemoteFailure { code: code.to_owned(), said, since, lock });
    RemoteContact { reached, trouble }.save(&workspace.paths)?;
    Ok(())
}
