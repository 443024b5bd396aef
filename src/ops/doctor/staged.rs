//! What git's index says of task files, where HEAD says otherwise: a person's next `git commit` would take a step back, or bring one in.

use super::{Complaint, Patient, count};
use crate::audit::{CommitId, StagedFile};
use crate::format::shell::all_quoted;
use crate::ops::attention::some;
use crate::ops::error::OpsError;
use crate::ops::workspace::Workspace;
use crate::store::layout::TASKS;
use crate::store::tasks;

pub(super) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let Apart { behind, staged } = apart(patient.workspace)?;
    let mut complaints = Vec::new();
    if !behind.is_empty() {
        let names: Vec<&str> = behind.iter().map(String::as_str).collect();
        let complaint = Complaint::wrong(
            "index_behind",
            format!(
                "git's index has an earlier version of {}: {}",
                count(names.len(), "task file", "task files"),
                some(&names)
            ),
            "the next `git commit` would take back what was committed since",
            format!("`git restore --staged {}`; `aof doctor --fix` does it", all_quoted(names.iter().copied())),
        );
        complaints.push(complaint.cured_by(|workspace| {
            let _lock = workspace.lock()?;
            // Since they were looked at, a person may have staged something, or git begun a merge.
            let Apart { behind, .. } = apart(workspace)?;
            if behind.is_empty() { Ok(()) } else { Ok(workspace.repository.unstage(&behind)?) }
        }));
    }
    if !staged.is_empty() {
        let names: Vec<&str> = staged.iter().map(String::as_str).collect();
        complaints.push(Complaint::advice(
            "task_staged",
            format!(
                "{} staged and not committed: {}",
                count(names.len(), "task file is", "task files are"),
                some(&names)
            ),
            "a command that changes one of them is refused, so that what you staged is not lost",
            format!("commit it, or take it back with `git restore --staged {}`", all_quoted(names.iter().copied())),
        ));
    }
    Ok(complaints)
}

/// The task files that the index has otherwise than HEAD.
#[derive(Default)]
struct Apart {
    /// Those that nobody staged.
    behind: Vec<String>,
    /// Those that a person did.
    staged: Vec<String>,
}

fn apart(workspace: &Workspace) -> Result<Apart, OpsError> {
    let repository = &workspace.repository;
    let mut apart = Apart::default();
    // In the middle of a merge, what is staged is git's to tell.
    let Some(head) = repository.head().ok().and_then(|head| head.commit) else { return Ok(apart) };
    for file in repository.staged_below(TASKS)? {
        let list = if is_left_behind(workspace, head, &file)? { &mut apart.behind } else { &mut apart.staged };
        list.push(file.path);
    }
    Ok(apart)
}

/// Returns whether nobody staged that: the file is as HEAD has it, and the index has what a commit before had.
fn is_left_behind(workspace: &Workspace, head: CommitId, file: &StagedFile) -> Result<bool, OpsError> {
    let here = file.path.parse().ok().and_then(|path| tasks::read(&workspace.paths, &path).ok());
    let is_same = match (here, file.head) {
        (Some(here), Some(head)) => workspace.repository.is_same_text(&here.bytes, head),
        (here, head) => here.is_none() && head.is_none(),
    };
    if !is_same {
        return Ok(false);
    }
    match file.staged {
        Some(staged) => Ok(workspace.repository.has_had(head, &file.path, staged)?),
        // `git rm --cached`: only a person takes a file out of the index and leaves it where it is.
        None => Ok(false),
    }
}
