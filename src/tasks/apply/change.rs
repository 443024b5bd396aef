//! The one way a task changes on disk.
//!
//! ```text
//!   read and decide     no lock held; a refusal ends here
//!   lock                the writer lock; what a crash left is healed; unchanged since it was read? else from the start
//!   prepare             objects of the commits, under temporary names    kill: temporary files, which git sweeps
//!   intent              `.aof/intent` names the files and git's locks    kill: the record, nothing else
//!   stage               the files under temporary names; the record synced, then they and the objects   kill: temporary files, swept by `heal`
//!   write               the files, each replaced whole                   kill: files ahead of HEAD -> committed by `heal`
//!   commit              the branch and the index move                    <- the commit point
//!   sync                the folders of the files and of the branch       power cut: some old, some new -> brought forward by `heal`
//!   settle              the old file of a moved task goes, the intent is blanked   kill: both are cleared by `heal`
//! ```
//! If the commit fails, the files are put back as they were; nothing is left half-done. Before that the record is noted to be undone:
//! should putting back fail as well, `heal` does it, and commits nothing of what somebody was told had failed.

use std::time::Instant;

use super::commit_message;
use super::place::{Following, following};
use super::rehearsal::rehearse;
use crate::domain::{Event, TaskId, Timestamp};
use crate::files::task_file::{Origin, TaskFile};
use crate::git::{AuditError, CommitId, Head, Person};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Warning, WorkflowStep};
use crate::storage::layout::{ARCHIVE, TASKS, is_archived};
use crate::storage::tasks::task_files;
use crate::storage::tasks::task_files::{Place, Snapshot};
use crate::storage::{ProjectPath, StoreError};
use crate::tasks::adopt::first_gate;
use crate::tasks::automatic::automatic_gates::{owed_first, pass_on};
use crate::tasks::recovery::recover;
use crate::tasks::state::task_state::{Pending, Standing, Version};

use super::commit::commit;
use super::place::destination;
use super::write::{ByHand, Write};

/// How often an operation starts again at least because somebody else was faster; it goes on as long as one waits for a lock.
const ATTEMPTS: usize = 100;

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

/// Reads the task, lets `decide` choose, and carries it out. A hand-made task is adopted
/// first, and one that rests at a gate which decides by itself goes on first.
pub(crate) fn change(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut dyn FnMut(&Standing) -> Result<Choice, OpsError>,
) -> Result<Changed, OpsError> {
    if dry_run == DryRun::Yes {
        workspace.own_folder_is_ours()?;
        let planned = planned(workspace, id, decide)?;
        rehearse(workspace, &planned)?;
        return Ok(planned.changed);
    }
    let mut told_first = Vec::new();
    for attempt in 1.. {
        if attempt > ATTEMPTS && Instant::now() >= workspace.deadline() {
            break;
        }
        recover::heal_if_pending(workspace)?;
        let standing = Standing::read(workspace, id)?.thawed()?;
        if let Some(choice) = due_first(workspace, &standing)? {
            bind_to_open(&standing, decide);
            if let Some(first) = carry_out(workspace, &standing, choice)? {
                told_first.extend(first.warnings);
            }
            continue;
        }
        let choice = decide(&standing)?;
        if let Some(mut changed) = carry_out(workspace, &standing, choice)? {
            told_first.append(&mut changed.warnings);
            return Ok(Changed { warnings: told_first, ..changed });
        }
    }
    Err(OpsError::Restless { id: id.clone() })
}

/// A change that is only thought of.
pub(crate) struct Planned {
    /// What it would come to.
    pub changed: Changed,
    pub(crate) head: Head,
    /// What would be written: what has to be done with the task first, then the change itself.
    pub(crate) writes: Vec<Write>,
}

/// Returns what a change would come to. Nothing is written, and whether it could be committed is not asked.
pub(crate) fn planned(
    workspace: &Workspace,
    id: &TaskId,
    decide: &mut dyn FnMut(&Standing) -> Result<Choice, OpsError>,
) -> Result<Planned, OpsError> {
    recover::heal_if_pending(workspace)?;
    let mut standing = Standing::read(workspace, id)?.thawed()?;
    let (mut writes, mut told_first) = (Vec::new(), Vec::new());
    if let Some(choice) = due_first(workspace, &standing)? {
        bind_to_open(&standing, decide);
        let first = plan(workspace, &standing, choice)?;
        told_first = first.changed.warnings;
        standing.file = first.changed.after;
        if let Some(write) = first.write {
            standing.snapshot.bytes = write.bytes().to_vec();
            writes.push(write);
        }
    }
    let choice = decide(&standing)?;
    let Plan { mut changed, write } = plan(workspace, &standing, choice)?;
    writes.extend(write);
    told_first.append(&mut changed.warnings);
    changed.warnings = told_first;
    Ok(Planned { changed, head: standing.head, writes })
}

/// What is said now is meant for the visit that is open now: deciding it binds it to that, and it is decided again when the task has
/// gone on.
fn bind_to_open(
    standing: &Standing,
    decide: &mut dyn FnMut(&Standing) -> Result<Choice, OpsError>,
) {
    if standing.file.origin == Origin::Adopted {
        let _ = decide(standing);
    }
}

/// Returns what has to be done with the task before anything else can be.
fn due_first(workspace: &Workspace, standing: &Standing) -> Result<Option<Choice>, OpsError> {
    match standing.file.origin {
        Origin::HandMade => first_gate::choose(workspace, standing).map(Some),
        Origin::Adopted => owed_first(workspace, standing),
    }
}

/// Carries a choice out; nothing if the task or the branch changed since they were read.
pub(crate) fn carry_out(
    workspace: &Workspace,
    standing: &Standing,
    choice: Choice,
) -> Result<Option<Changed>, OpsError> {
    let plan = plan(workspace, standing, choice)?;
    let Some(write) = plan.write else { return Ok(Some(plan.changed)) };
    let commit = commit_if_current(workspace, standing, write)?;
    Ok(commit.map(|commit| Changed { commit: Some(commit), ..plan.changed }))
}

/// What a choice comes to.
pub(crate) struct Plan {
    pub changed: Changed,
    pub write: Option<Write>,
}

/// Returns what the choice would make of the task.
pub(crate) fn plan(
    workspace: &Workspace,
    standing: &Standing,
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
    if standing.place == Place::Active && is_archived(&write.to) {
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
fn refuse_doubled(workspace: &Workspace, standing: &Standing) -> Result<(), OpsError> {
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
fn left_in_head(workspace: &Workspace, standing: &Standing) -> Result<Vec<ProjectPath>, OpsError> {
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
fn moved_from(standing: &Standing, left: Vec<ProjectPath>) -> Option<ByHand> {
    let message = commit_message::of_edit(&standing.file.task, "moved by hand");
    let files: Vec<_> = left.into_iter().map(|path| (path, None)).collect();
    (!files.is_empty()).then_some(ByHand { message, files })
}

/// Commits the write under the lock, unless the task or the branch changed since they were read.
fn commit_if_current(
    workspace: &Workspace,
    standing: &Standing,
    write: Write,
) -> Result<Option<CommitId>, OpsError> {
    let lock = workspace.lock()?;
    if recover::heal(workspace, &lock)? {
        return Ok(None);
    }
    if !is_current(workspace, &standing.snapshot, &write)? {
        return Ok(None);
    }
    match commit(workspace, &lock, &standing.head, &[write]) {
        Ok(commits) => Ok(commits.last().copied()),
        // What was read is looked at once more under git's own lock. Whatever git is in the middle of by now is waited for when
        // the branch is read again.
        Err(
            OpsError::Audit(AuditError::Moved { .. } | AuditError::Waiting { .. })
            | OpsError::Store(StoreError::Changed { .. }),
        ) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns whether the file is what was read. What is replaced is compared again as late as can be, so for that it is enough
/// that the system sees no difference.
fn is_current(workspace: &Workspace, read: &Snapshot, write: &Write) -> Result<bool, StoreError> {
    let replaced = write.to == read.path && write.bytes() != read.bytes;
    Ok(replaced && read.seems_current(&workspace.paths) || read.is_current(&workspace.paths)?)
}
