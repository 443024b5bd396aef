//! One task changes: it is read, decided, and carried out under the lock.
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

use std::slice;
use std::time::Instant;

use super::commit::commit_unless_changed;
use crate::domain::TaskId;
use crate::git::Head;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::plan::choice::{Changed, Choice, DryRun, Plan, plan};
use crate::tasks::plan::due::first_due_step;
use crate::tasks::plan::write::Write;
use crate::tasks::publish::commit::drafts;
use crate::tasks::publish::file_writes::look_in_the_way;
use crate::tasks::recovery::{recover, stale_file};
use crate::tasks::state::task_state::TaskState;

/// How often an operation starts again at least because somebody else was faster; it goes on as long as one waits for a lock.
const ATTEMPTS: usize = 100;

/// What an operation does with a task that was read.
pub(crate) enum NextStep {
    /// Nothing.
    Nothing,
    /// This first; then the task is read and asked for again.
    First(Choice),
    /// This.
    Do(Choice),
}

/// Decides what an operation does with a task that was read. It is asked again whenever somebody else was faster.
pub(crate) type Decide<'d> = dyn FnMut(&mut TaskState) -> Result<NextStep, ProjectError> + 'd;

/// Changes a task that nobody froze. A hand-made task is adopted first; one that an automatic gate or changed rules move goes on first.
pub(crate) fn change(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut dyn FnMut(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<Changed, ProjectError> {
    let changed =
        apply(workspace, id, dry_run, &mut |state| due_or(workspace, state, &mut *decide))?;
    changed.ok_or_else(|| ProjectError::Restless { id: id.clone() })
}

/// Decides what is done with a task that nobody froze: what is due first, if anything is, else what `decide` says.
pub(crate) fn due_or(
    workspace: &Workspace,
    state: &TaskState,
    decide: impl FnOnce(&TaskState) -> Result<Choice, ProjectError>,
) -> Result<NextStep, ProjectError> {
    state.ensure_unfrozen()?;
    Ok(match first_due_step(workspace, state)? {
        Some(first) => NextStep::First(first),
        None => NextStep::Do(decide(state)?),
    })
}

/// Does with a task what `decide` says. Returns nothing if that was nothing.
pub(crate) fn apply(
    workspace: &Workspace,
    id: &TaskId,
    dry_run: DryRun,
    decide: &mut Decide<'_>,
) -> Result<Option<Changed>, ProjectError> {
    if dry_run == DryRun::Yes {
        workspace.own_folder_is_ours()?;
        let Some(planned) = planned(workspace, id, decide)? else { return Ok(None) };
        planned.rehearse(workspace)?;
        return Ok(Some(planned.changed));
    }
    let mut warnings = Vec::new();
    for attempt in 1.. {
        if attempt > ATTEMPTS && Instant::now() >= workspace.deadline() {
            break;
        }
        recover::heal_if_pending(workspace)?;
        let mut state = TaskState::read(workspace, id)?;
        if stale_file::refresh(workspace, &state)? {
            continue;
        }
        let (choice, is_first) = match decide(&mut state)? {
            NextStep::Nothing => return Ok(None),
            NextStep::First(choice) => (choice, true),
            NextStep::Do(choice) => (choice, false),
        };
        if let Some(mut changed) = carry_out(workspace, &state, choice)? {
            warnings.append(&mut changed.warnings);
            if !is_first {
                return Ok(Some(Changed { warnings, ..changed }));
            }
        }
    }
    Err(ProjectError::Restless { id: id.clone() })
}

/// A change that is not carried out.
pub(crate) struct Planned {
    /// What it would come to.
    pub changed: Changed,
    pub(crate) head: Head,
    /// What would be written: what has to be done with the task first, then the change itself.
    pub(crate) writes: Vec<Write>,
}

impl Planned {
    /// Returns what would keep the change from being committed, as far as that can be told without the lock.
    pub(crate) fn rehearse(&self, workspace: &Workspace) -> Result<(), ProjectError> {
        if self.writes.is_empty() {
            return Ok(());
        }
        look_in_the_way(&workspace.paths, &self.writes)?;
        Ok(workspace.repository.rehearse(&self.head, &drafts(workspace, &self.writes)?)?)
    }
}

/// Returns what a change would come to. Nothing is written, and whether it could be committed is not asked.
pub(crate) fn planned(
    workspace: &Workspace,
    id: &TaskId,
    decide: &mut Decide<'_>,
) -> Result<Option<Planned>, ProjectError> {
    recover::heal_if_pending(workspace)?;
    let mut state = TaskState::read(workspace, id)?;
    let (mut writes, mut warnings) = (Vec::new(), Vec::new());
    loop {
        let (choice, is_first) = match decide(&mut state)? {
            NextStep::Nothing => return Ok(None),
            NextStep::First(choice) => (choice, true),
            NextStep::Do(choice) => (choice, false),
        };
        let Plan { mut changed, write } = plan(workspace, &state, choice)?;
        warnings.append(&mut changed.warnings);
        if !is_first {
            writes.extend(write);
            let changed = Changed { warnings, ..changed };
            return Ok(Some(Planned { changed, head: state.head, writes }));
        }
        state.file = changed.after;
        if let Some(write) = write {
            state.snapshot.bytes = write.bytes().to_vec();
            writes.push(write);
        }
    }
}

/// Carries a choice out; nothing if the task or the branch changed since they were read.
pub(crate) fn carry_out(
    workspace: &Workspace,
    state: &TaskState,
    choice: Choice,
) -> Result<Option<Changed>, ProjectError> {
    let plan = plan(workspace, state, choice)?;
    let Some(write) = plan.write else { return Ok(Some(plan.changed)) };
    let read = &state.snapshot;
    // What is replaced is compared again as late as can be, so for that it is enough that the system sees no difference.
    let replaced = write.to == read.path && write.bytes() != read.bytes;
    let is_current = || {
        let paths = &workspace.paths;
        Ok(replaced && read.seems_current(paths) || read.is_current(paths)?)
    };
    let commits =
        commit_unless_changed(workspace, &state.head, slice::from_ref(&write), is_current)?;
    Ok(commits.map(|commits| Changed { commit: commits.last().copied(), ..plan.changed }))
}
