//! Rules that changed while tasks are under way, for all tasks at once: whatever they want done is done, a commit each.
//!
//! Which tasks that concerns is told from their headers; only those are read whole, and judged anew.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::domain::TaskId;
use crate::files::task_file::Origin;
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::tasks::apply::batch::{MOST, apply_together};
use crate::tasks::apply::change::NextStep;
use crate::tasks::headers::listing::{ListScope, Unreadable, read_all};
use crate::tasks::plan::choice::{Changed, DryRun};
use crate::tasks::plan::due::step_owed_to_rules;
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::task_state::TaskState;

/// What the rules in force did to tasks.
#[derive(Default)]
pub(crate) struct RuleChanges {
    /// Tasks that were moved, given to another role, blocked or set going.
    pub changed: Vec<Changed>,
    /// Tasks that somebody has to look at, with why.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// Has all tasks stand where the rules in force have them. `rest` is called between batches with how long one took, and says
/// whether to go on.
pub(crate) fn follow_rules(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<RuleChanges, ProjectError> {
    workspace.restart_wait(wait);
    heal_if_pending(workspace)?;
    let (due, unreadable) = due(workspace)?;
    let mut settled = RuleChanges { unreadable, ..RuleChanges::default() };
    apply_to_each(workspace, wait, &due, dry_run, &owes, &mut settled, rest)?;
    Ok(settled)
}

/// Decides what is done with a task that was read.
pub(crate) type Choose<'c> =
    &'c dyn Fn(&Workspace, &mut TaskState) -> Result<NextStep, ProjectError>;

/// Does what `choose` says with each of the tasks, as many as can in one move of the branch.
pub(crate) fn apply_to_each(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    dry_run: DryRun,
    choose: Choose<'_>,
    settled: &mut RuleChanges,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), ProjectError> {
    for batch in tasks.chunks(MOST) {
        let start = Instant::now();
        workspace.restart_wait(wait);
        apply_to_batch(workspace, batch, dry_run, choose, settled)?;
        if rest(start.elapsed()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Does the same within the time that a command has; tasks in trouble are left alone.
pub(crate) fn follow(workspace: &Workspace) -> Result<(), ProjectError> {
    heal_if_pending(workspace)?;
    for batch in due(workspace)?.0.chunks(MOST) {
        apply_to_batch(workspace, batch, DryRun::No, &owes, &mut RuleChanges::default())?;
    }
    Ok(())
}

/// Returns the tasks that the rules want something of.
fn due(workspace: &Workspace) -> Result<(Vec<TaskId>, Vec<Unreadable>), ProjectError> {
    let in_force = in_force(workspace, &workspace.head()?)?;
    let mut listing = read_all(workspace, &in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let due = listing.tasks.iter().filter(|(task, _)| task.is_owed(&in_force.rules));
    Ok((due.map(|(task, _)| task.id.clone()).collect(), listing.unreadable))
}

fn apply_to_batch(
    workspace: &Workspace,
    batch: &[TaskId],
    dry_run: DryRun,
    choose: Choose<'_>,
    settled: &mut RuleChanges,
) -> Result<(), ProjectError> {
    let tasks: Vec<&TaskId> = batch.iter().collect();
    apply_together(
        workspace,
        &tasks,
        dry_run,
        &mut |workspace, _, state| choose(workspace, state),
        &mut |place, result| match result {
            Ok(changed) => settled.changed.extend(changed),
            // Somebody finished it, or took it away.
            Err(ProjectError::NoTask { .. } | ProjectError::Store(StoreError::Gone { .. })) => {}
            Err(error) => settled.troubled.push((batch[place].clone(), error)),
        },
    )
}

fn owes(workspace: &Workspace, state: &mut TaskState) -> Result<NextStep, ProjectError> {
    if state.file.origin == Origin::HandMade {
        return Ok(NextStep::Nothing);
    }
    state.ensure_unfrozen()?;
    Ok(step_owed_to_rules(workspace, state)?.map_or(NextStep::Nothing, NextStep::Do))
}
