//! What an operation chooses to do with a task, and what that comes to: the new file, its commits, its events. Writes nothing.

use super::gates::pass_on;
use super::place::{Following, destination, following};
use super::write::{ByHand, Write};
use crate::domain::{Event, Timestamp};
use crate::files::task_file::TaskFile;
use crate::git::{CommitId, Person};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Warning, WorkflowStep};
use crate::storage::ProjectPath;
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{FileVersion, Pending, TaskState};

/// Whether an operation is carried out, or only shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DryRun {
    /// Nothing is written.
    Yes,
    /// It is carried out.
    No,
}

/// A change that was made, or would be.
pub struct Changed {
    /// The task before it; nothing for a new one.
    pub before: Option<TaskFile>,
    /// The task after it.
    pub after: TaskFile,
    /// Where its file is.
    pub path: ProjectPath,
    /// The commit; nothing where none was made.
    pub commit: Option<CommitId>,
    /// What happened besides.
    pub events: Vec<Event>,
    /// What whoever acted should know.
    pub warnings: Vec<Warning>,
    /// Whether it had been done before.
    pub settled: bool,
}

/// What an operation wants done with a task.
pub(crate) enum Choice {
    /// A step of the engine.
    Step { step: Box<WorkflowStep>, message: String, author: Person, authored: Timestamp },
    /// The file as a person has it, which says nothing else of what is the engine's.
    File { file: Box<TaskFile>, message: String, author: Person },
    /// The file as it is, at another place, with what goes with it.
    Moved { to: ProjectPath, message: String },
    /// Only what lies between HEAD and the worktree is to be committed.
    Pending,
    /// Nothing: it was done before.
    Settled,
}

/// What a choice comes to.
pub(crate) struct Plan {
    pub changed: Changed,
    pub write: Option<Write>,
}

/// Returns what the choice would make of the task.
pub(crate) fn plan(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Plan, ProjectError> {
    let path = state.snapshot.path.clone();
    let mut write = Write {
        head_path: state.head_path.clone(),
        from: Some((path.clone(), state.snapshot.bytes.clone())),
        ..Write::of_new_file(Some(state.id.clone()), path, Vec::new())
    };
    if let Pending::Versions(versions) = &state.pending {
        write.versions.clone_from(versions);
    }
    let mut after = state.file.clone();
    let (mut events, mut warnings) = (Vec::new(), Vec::new());
    let mut settled = false;
    let mut place = None;
    match choice {
        Choice::Step { step, message, author, authored } => {
            let step = *step;
            let changed = match &step.work {
                Some(work) => state.file.update_with_work(&step.task, work),
                None => state.file.update(&step.task),
            };
            let file = state.changed(workspace, changed)?;
            (events, warnings) = (step.events, step.warnings);
            let bytes = file.bytes().to_vec();
            write.versions.push(FileVersion {
                bytes,
                message,
                author: Some(author.clone()),
                authored,
            });
            let rules = &state.in_force.rules;
            let passed = pass_on(rules, &state.snapshot.path, file, &author, workspace.now())?;
            after = passed.file;
            write.versions.extend(passed.versions);
            events.extend(passed.events);
            warnings.extend(passed.warnings);
        }
        Choice::File { file, message, author } => {
            after = *file;
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(FileVersion { bytes, message, author: Some(author), authored });
        }
        Choice::Moved { to, message } => {
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(FileVersion { bytes, message, author: None, authored });
            place = Some(to);
        }
        Choice::Pending => {}
        // What lies between HEAD and the worktree goes all the same: it may be the very change, written and not yet committed.
        Choice::Settled => settled = true,
    }
    write.to = place.unwrap_or_else(|| destination(state, &after));
    if write.to != state.snapshot.path {
        write.is_program =
            workspace.repository.is_program(state.head.commit, state.snapshot.path.as_str())?;
        let Following { companions, edited, left } = following(workspace, state, &write.to)?;
        write.companions = companions;
        if !edited.is_empty() {
            write
                .by_hand
                .push(ByHand { message: commit_message::of_companions(&state.id), files: edited });
        }
        warnings.extend(left);
    }
    let changed = Changed {
        before: Some(state.file.clone()),
        after,
        path: write.to.clone(),
        commit: None,
        events,
        warnings,
        settled,
    };
    Ok(Plan { changed, write: Some(write).filter(|write| !write.versions.is_empty()) })
}
