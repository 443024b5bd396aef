//! Whether a file in the worktree says what HEAD has, or goes on from there: an edit of a person's, or a step that is not committed yet.
//! What git's index has otherwise is not what anybody is at then.

use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::git::{ObjectId, StagedFile};
use crate::project::workspace::Workspace;
use crate::storage::layout::task_id;
use crate::storage::task_files;

/// Returns whether the file is as HEAD has it, or a task's that goes on from there. What is staged as it stands, a person is at.
pub(crate) fn goes_on(workspace: &Workspace, file: &StagedFile) -> bool {
    let here =
        file.path.parse().ok().and_then(|path| task_files::read(&workspace.paths, &path).ok());
    let (here, head) = match (here, file.head) {
        (Some(here), Some(head)) => (here.bytes, head),
        (here, head) => return here.is_none() && head.is_none(),
    };
    let is_same = |content| workspace.repository.is_same_text(&here, content);
    is_same(head)
        || !file.staged.is_some_and(is_same)
            && comes_after(workspace, file, &here, head).unwrap_or(false)
}

fn comes_after(
    workspace: &Workspace,
    file: &StagedFile,
    here: &[u8],
    head: ObjectId,
) -> Option<bool> {
    let id = named(file)?;
    let (here, head) = (parse(here, &id)?.task, committed(workspace, &id, head)?.task);
    Some(here.updated >= head.updated && here.history.starts_with(&head.history))
}

/// Returns whether HEAD has there a task that was taken up. Such a one never leaves git.
pub(crate) fn is_taken_up(workspace: &Workspace, file: &StagedFile) -> bool {
    let task = named(file).zip(file.head).and_then(|(id, head)| committed(workspace, &id, head));
    task.is_some_and(|task| task.origin != Origin::HandMade)
}

fn named(file: &StagedFile) -> Option<TaskId> {
    task_id(file.name())?.ok()
}

fn committed(workspace: &Workspace, id: &TaskId, content: ObjectId) -> Option<TaskFile> {
    parse(&workspace.repository.read_blob(content).ok()?, id)
}

/// Whatever the file leaves open is of no account here.
fn parse(bytes: &[u8], id: &TaskId) -> Option<TaskFile> {
    let defaults = Defaults { workflow: "default".parse().ok()?, created: Timestamp::UNIX_EPOCH };
    task_file::parse(bytes, id, &defaults).ok()
}
