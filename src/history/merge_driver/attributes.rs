//! The line in `.gitattributes` that has our driver merge tasks. It is committed; what else stands in that file stays as it is.

use crate::git::{Head, Repository, with_lf};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::task_files::read;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::apply::commit_files;
use crate::tasks::write::Beside;

/// The file that says which files our driver merges.
pub(crate) const ATTRIBUTES: &str = ".gitattributes";

/// The line that says so, and that git writes them as they were committed: tasks are compared byte for byte.
const LINE: &str = "tasks/**/*.md merge=aof -text";

/// Returns what the file is to say, if it does not say it yet.
pub(crate) fn attributes_after(before: Option<&[u8]>) -> Option<Vec<u8>> {
    let before = before.unwrap_or_default();
    if before.split(|byte| *byte == b'\n').any(|line| line.trim_ascii() == LINE.as_bytes()) {
        return None;
    }
    let end: &[u8] = if before.ends_with(b"\r\n") { b"\r\n" } else { b"\n" };
    let apart = if before.is_empty() || before.ends_with(b"\n") { &b""[..] } else { end };
    Some([before, apart, LINE.as_bytes(), end].concat())
}

/// Returns whether the file says what HEAD has; line ends that git may have written are no difference.
pub(crate) fn is_as_committed(
    repository: &Repository,
    standing: Option<&[u8]>,
    committed: Option<&[u8]>,
) -> bool {
    match (standing, committed) {
        (Some(standing), Some(committed)) => {
            repository.is_same_text(standing, repository.hash_blob(committed))
        }
        (standing, committed) => standing.is_none() && committed.is_none(),
    }
}

/// The file in the worktree.
enum AttributesFile {
    /// It says what HEAD has; nothing where there is none.
    Committed(Option<Vec<u8>>),
    /// It has changes that are not committed.
    Changed,
}

/// Returns whether the file has changes that are not committed, so that nobody adds the line.
pub(crate) fn is_held(workspace: &Workspace) -> Result<bool, ProjectError> {
    Ok(matches!(look(workspace, &workspace.repository.look()?)?, AttributesFile::Changed))
}

fn look(workspace: &Workspace, head: &Head) -> Result<AttributesFile, ProjectError> {
    let committed = head
        .commit
        .map(|commit| workspace.repository.read(commit, ATTRIBUTES))
        .transpose()?
        .flatten();
    let standing = match read(&workspace.paths, &ATTRIBUTES.parse()?) {
        Ok(standing) => Some(standing.bytes),
        Err(StoreError::Gone { .. }) => None,
        Err(_) => return Ok(AttributesFile::Changed),
    };
    let is_unchanged =
        is_as_committed(&workspace.repository, standing.as_deref(), committed.as_deref());
    Ok(if is_unchanged { AttributesFile::Committed(standing) } else { AttributesFile::Changed })
}

/// Appends the line, and commits it. A file with changes that are not committed is left alone.
pub(crate) fn commit_attributes(workspace: &Workspace) -> Result<bool, ProjectError> {
    let path: ProjectPath = ATTRIBUTES.parse()?;
    loop {
        let head = workspace.head()?;
        let AttributesFile::Committed(standing) = look(workspace, &head)? else { return Ok(false) };
        let Some(bytes) = attributes_after(standing.as_deref()) else { return Ok(true) };
        // Git may have written CRLF here, and would convert it.
        let bytes = with_lf(&bytes).into_owned();
        let file = Beside { path: path.clone(), before: standing, bytes };
        let message = "Merge tasks by their meaning, and keep their line ends";
        if commit_files(workspace, &head, &[file], message)?.is_some() {
            return Ok(true);
        }
    }
}
