//! What an operation chooses to do with a task, and what that comes to: the new file, its commits, its events. Writes nothing.

use super::gates::pass_on;
use super::place::{Following, destination, following};
use super::write::{ByHand, Write};
use crate::domain::{Event, Timestamp};
use crate::files::task_file::TaskFile;
use crate::git::{CommitId, Person};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Warning, WorkflowStep};
use crate::storage::layout::{ARCHIVE, TASKS, is_archived};
use crate::storage::tasks::task_files;
use crate::storage::tasks::task_files::TaskPlace;
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::{Pending, TaskState, Version};

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
    standing: &TaskState,
    choice: Choice,
) -> Result<Plan, OpsError> {
    let mut write = Write {
        id: Some(standing.id.clone()),
        head_path: standing.head_path.clone(),
        from: Some((standing.snapshot.path.clone(), standing.snapshot.bytes.clone())),
        to: standing.snapshot.path.clone(),
        is_program: false,
        versions: Vec::new(),
        companions: Vec::new(),
        beside: Vec::new(),
        by_hand: Vec::new(),
        recorded: None,
    };
    if let Pending::Versions(versions) = &standing.pending {
        write.versions.clone_from(versions);
    }
    let mut after = standing.file.clone();
    let (mut events, mut warnings) = (Vec::new(), Vec::new());
    let mut settled = false;
    let mut place = None;
    match choice {
        Choice::Step { step, message, author, authored } => {
            let step = *step;
            let changed = match &step.work {
                Some(work) => standing.file.update_with_work(&step.task, work),
                None => standing.file.update(&step.task),
            };
            let file = standing.changed(workspace, changed)?;
            (events, warnings) = (step.events, step.warnings);
            let bytes = file.bytes().to_vec();
            write.versions.push(Version { bytes, message, author: Some(author.clone()), authored });
            let rules = &standing.in_force.rules;
            let passed = pass_on(rules, &standing.snapshot.path, file, &author, workspace.now())?;
            after = passed.file;
            write.versions.extend(passed.versions);
            events.extend(passed.events);
            warnings.extend(passed.warnings);
        }
        Choice::File { file, message, author } => {
            after = *file;
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(Version { bytes, message, author: Some(author), authored });
        }
        Choice::Moved { to, message } => {
            let (bytes, authored) = (after.bytes().to_vec(), workspace.now());
            write.versions.push(Version { bytes, message, author: None, authored });
            place = Some(to);
        }
        Choice::Pending => {}
        // What lies between HEAD and the worktree goes all the same: it may be the very change, written and not yet committed.
        Choice::Settled => settled = true,
    }
    write.to = place.unwrap_or_else(|| destination(standing, &after));
    if standing.place == TaskPlace::Active && is_archived(&write.to) {
        refuse_doubled(workspace, standing)?;
        write.by_hand.extend(moved_from(standing, left_in_head(workspace, standing)?));
    }
    if write.to != standing.snapshot.path {
        write.is_program = workspace
            .repository
            .is_program(standing.head.commit, standing.snapshot.path.as_str())?;
        let Following { companions, edited, left } = following(workspace, standing, &write.to)?;
        write.companions = companions;
        if !edited.is_empty() {
            write.by_hand.push(ByHand {
                message: commit_message::of_companions(&standing.id),
                files: edited,
            });
        }
        warnings.extend(left);
    }
    let changed = Changed {
        before: Some(standing.file.clone()),
        after,
        path: write.to.clone(),
        commit: None,
        events,
        warnings,
        settled,
    };
    Ok(Plan { changed, write: Some(write).filter(|write| !write.versions.is_empty()) })
}

/// A task that ends while another active file has its id would rise again: that file would be the task from then on. It is looked for here
/// alone, since that takes the longer the more folders there are.
fn refuse_doubled(workspace: &Workspace, standing: &TaskState) -> Result<(), OpsError> {
    let own = &standing.snapshot.path;
    let mut paths = task_files::doubles(&workspace.paths, &standing.id, own)?;
    if paths.is_empty() {
        return Ok(());
    }
    paths.insert(0, own.clone());
    Err(StoreError::TaskDoubled { id: standing.id.clone(), paths }.into())
}

/// Returns where HEAD has the task besides: it would stand there in every clone. Whoever moved it by hand has not committed that it went
/// from there; where anything stands there now, nobody can say so. Looked for here alone, as the others are.
fn left_in_head(workspace: &Workspace, standing: &TaskState) -> Result<Vec<ProjectPath>, OpsError> {
    let Some(commit) = standing.head.commit else { return Ok(Vec::new()) };
    let own = &standing.snapshot.path;
    let name = format!("{}.md", standing.id);
    let archive = ARCHIVE.strip_prefix(TASKS).map_or(ARCHIVE, |name| name.trim_start_matches('/'));
    let found = workspace.repository.named_below(commit, TASKS, &name, archive)?;
    let mut left: Vec<ProjectPath> =
        found.into_iter().filter_map(|path| path.parse().ok()).collect();
    left.retain(|path| path != own && Some(path) != standing.head_path.as_ref());
    for path in &left {
        if task_files::stands(&workspace.paths, path)? {
            let paths = vec![own.clone(), path.clone()];
            return Err(StoreError::TaskDoubled { id: standing.id.clone(), paths }.into());
        }
    }
    Ok(left)
}

/// Returns the commit of a person that says that the task went from there.
fn moved_from(standing: &TaskState, left: Vec<ProjectPath>) -> Option<ByHand> {
    let message = commit_message::of_edit(&standing.file.task, "moved by hand");
    let files: Vec<_> = left.into_iter().map(|path| (path, None)).collect();
    (!files.is_empty()).then_some(ByHand { message, files })
}
