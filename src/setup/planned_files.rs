//! Plans, writes and commits files. Plans again whenever another commit was faster.

use crate::git::{CommitId, Head};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;
use crate::tasks::apply::{commit_files, write_new};
use crate::tasks::plan::DryRun;
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::write::PlainFile;

/// The files to write, and the outcome to report.
pub(crate) struct PlannedFiles<T> {
    pub(crate) outcome: T,
    pub(crate) files: Vec<PlainFile>,
    /// True if the files are committed; otherwise they stay in the worktree for a person to commit.
    pub(crate) is_committed: bool,
}

/// Returns a new file.
pub(crate) fn new_file(path: ProjectPath, bytes: impl Into<Vec<u8>>) -> PlainFile {
    PlainFile { path, before: None, bytes: bytes.into() }
}

/// Writes what `plan` returns for HEAD, and commits exactly that. A dry run only plans.
pub(crate) fn write_planned<T>(
    workspace: &Workspace,
    dry_run: DryRun,
    message: &str,
    plan: impl Fn(&Head) -> Result<PlannedFiles<T>, ProjectError>,
) -> Result<(T, Option<CommitId>), ProjectError> {
    loop {
        if dry_run == DryRun::No {
            recover_if_pending(workspace)?;
        }
        let head = workspace.head()?;
        let PlannedFiles { outcome, files, is_committed } = plan(&head)?;
        if files.is_empty() {
            return Ok((outcome, None));
        }
        workspace.check_own_folder()?;
        if dry_run == DryRun::Yes {
            return Ok((outcome, None));
        }
        if is_committed {
            if let Some(commit) = commit_files(workspace, &head, &files, message)? {
                return Ok((outcome, Some(commit)));
            }
        } else if write_new(workspace, &files)? {
            return Ok((outcome, None));
        }
    }
}
