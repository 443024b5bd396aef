//! Rules that changed while tasks are under way, for all tasks at once: whatever they want done is done, a commit each.
//!
//! Which tasks that concerns is told from their headers; only those are read whole, and judged anew.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::automatic_gates::owed_first;
use crate::domain::TaskId;
use crate::files::task_file::Origin;
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::tasks::apply::batch::{MOST, carry_out_together};
use crate::tasks::apply::change::{Changed, Choice, DryRun, carry_out, plan};
use crate::tasks::headers::listing::{Scope, Unreadable, read_all};
use crate::tasks::headers::stand::is_owed;
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::task_state::Standing;

/// What the rules in force did to tasks.
#[derive(Default)]
pub(crate) struct Settled {
    /// Tasks that were moved, given to another role, blocked or set going.
    pub changed: Vec<Changed>,
    /// Tasks that somebody has to look at, with why.
    pub troubled: Vec<(TaskId, OpsError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// Has all tasks stand where the rules in force have them. `rest` is called between batches with how long one took, and says
/// whether to go on.
pub(crate) fn settle_rules(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Settled, OpsError> {
    workspace.restart_wait(wait);
    heal_if_pending(workspace)?;
    let (due, unreadable) = due(workspace)?;
    let mut settled = Settled { unreadable, ..Settled::default() };
    settle_each(workspace, wait, &due, dry_run, &owes, &mut settled, rest)?;
    Ok(settled)
}

/// Says what is to be done with a task that was read; nothing where nothing is.
pub(crate) type Choose<'c> = &'c dyn Fn(&Workspace, Standing) -> Result<Option<Owed>, OpsError>;

/// A task, and what is to be done with it.
pub(crate) type Owed = (Standing, Choice);

/// Does what `choose` says with each of the tasks, as many as can in one move of the branch.
pub(crate) fn settle_each(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    dry_run: DryRun,
    choose: Choose<'_>,
    settled: &mut Settled,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), OpsError> {
    for batch in tasks.chunks(MOST) {
        let start = Instant::now();
        workspace.restart_wait(wait);
        settle_batch(workspace, batch, dry_run, choose, settled)?;
        if rest(start.elapsed()).is_break() {
            break;
        }
    }
    Ok(())
}

/// Does the same within the time that a command has; tasks in trouble are left alone.
pub(crate) fn follow(workspace: &Workspace) -> Result<(), OpsError> {
    heal_if_pending(workspace)?;
    for batch in due(workspace)?.0.chunks(MOST) {
        settle_batch(workspace, batch, DryRun::No, &owes, &mut Settled::default())?;
    }
    Ok(())
}

/// Returns the tasks that the rules want something of.
fn due(workspace: &Workspace) -> Result<(Vec<TaskId>, Vec<Unreadable>), OpsError> {
    let in_force = in_force(workspace, &workspace.head()?)?;
    let mut listing = read_all(workspace, &in_force, Scope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let due = listing.tasks.iter().filter(|(header, _)| is_owed(&in_force.rules, header));
    Ok((due.filter_map(|(header, _)| header.id.parse().ok()).collect(), listing.unreadable))
}

fn settle_batch(
    workspace: &Workspace,
    batch: &[TaskId],
    dry_run: DryRun,
    choose: Choose<'_>,
    settled: &mut Settled,
) -> Result<(), OpsError> {
    let head = workspace.head()?;
    let in_force = Rc::new(in_force(workspace, &head)?);
    let (mut ids, mut chosen) = (Vec::new(), Vec::new());
    for id in batch {
        let standing = Standing::read_under(workspace, id, head.clone(), Rc::clone(&in_force));
        match standing.and_then(|standing| choose(workspace, standing)) {
            Ok(Some(owed)) => {
                ids.push(id);
                chosen.push(owed);
            }
            Ok(None) => {}
            Err(error) => settled.trouble(id, error)?,
        }
    }
    if dry_run == DryRun::Yes {
        workspace.own_folder_is_ours()?;
        for (id, (standing, choice)) in ids.into_iter().zip(chosen) {
            match plan(workspace, &standing, choice) {
                Ok(plan) => settled.changed.push(plan.changed),
                Err(error) => settled.trouble(id, error)?,
            }
        }
        return Ok(());
    }
    for (id, result) in ids.into_iter().zip(carry_out_together(workspace, &head, chosen)?) {
        let result = match result {
            // Somebody was faster: what is still to be done is judged anew.
            Ok(None) => alone(workspace, id, choose),
            other => other,
        };
        match result {
            Ok(changed) => settled.changed.extend(changed),
            Err(error) => settled.trouble(id, error)?,
        }
    }
    Ok(())
}

fn alone(
    workspace: &Workspace,
    id: &TaskId,
    choose: Choose<'_>,
) -> Result<Option<Changed>, OpsError> {
    loop {
        let Some((standing, choice)) = choose(workspace, Standing::read(workspace, id)?)? else {
            return Ok(None);
        };
        if let Some(changed) = carry_out(workspace, &standing, choice)? {
            return Ok(Some(changed));
        }
        if Instant::now() >= workspace.deadline() {
            return Err(OpsError::Restless { id: id.clone() });
        }
    }
}

fn owes(workspace: &Workspace, standing: Standing) -> Result<Option<Owed>, OpsError> {
    if standing.file.origin == Origin::HandMade {
        return Ok(None);
    }
    let standing = standing.thawed()?;
    Ok(owed_first(workspace, &standing)?.map(|choice| (standing, choice)))
}

impl Settled {
    fn trouble(&mut self, id: &TaskId, error: OpsError) -> Result<(), OpsError> {
        match error {
            error if error.is_general() => return Err(error),
            // Somebody finished it, or took it away.
            OpsError::NoTask { .. } | OpsError::Store(StoreError::Gone { .. }) => {}
            error => self.troubled.push((id.clone(), error)),
        }
        Ok(())
    }
}
