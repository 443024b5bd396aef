//! What time has brought: visits that took too long, and claims that nobody renewed.
//!
//! Headers say what runs out, and only what is due is read and moved. Any number may do so at once: each reads a task anew before it
//! moves it, and what another was faster with is no longer due.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::domain::{Branch, Duty, Gate, GateId, TaskId, Timestamp, Workflow};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Limit, Limits, Refusal, Rules};
use crate::tasks::actions::choose;
use crate::tasks::apply::batch::{MOST, apply_together};
use crate::tasks::apply::change::due_or;
use crate::tasks::headers::listing::{ListScope, Listing, Unreadable, read_all};
use crate::tasks::headers::summary::{TaskSummary, gate_of};
use crate::tasks::plan::choice::{Changed, DryRun};
use crate::tasks::state::task_state::TaskState;

/// What ran out.
#[derive(Default)]
pub(crate) struct RanOut {
    /// Tasks of which a visit took too long.
    pub timed_out: Vec<Changed>,
    /// Tasks whose claim ended.
    pub lapsed: Vec<Changed>,
    /// When the next thing is due, as far as is known now.
    pub next: Option<Timestamp>,
    /// Tasks that are due and cannot be moved.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// Something that has run out, or will.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Due {
    at: Timestamp,
    task: TaskId,
    limit: Limit,
    branch: Option<GateId>,
}

impl Due {
    fn act(&self) -> Act {
        let branch = self.branch.clone();
        match self.limit {
            Limit::Timeout => Act::Timeout { branch },
            Limit::Lease => Act::Lapse { branch },
        }
    }
}

/// Moves what is due. `rest` is called between batches with how long one took, and says whether to go on.
pub(crate) fn run_out(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<RanOut, ProjectError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, ListScope::Active);
    let mut all = limits_of(&in_force.rules, &listing);
    all.sort_by_key(|due| due.at);
    let now = workspace.now();
    let ahead = all.split_off(all.partition_point(|due| due.at <= now));
    let next = ahead.first().map(|due| due.at);
    let mut ran_out = RanOut { next, unreadable: listing.unreadable, ..RanOut::default() };
    // A visit that ended has no claim any more: of one task, what ran out first comes first.
    for batch in all.chunks(MOST) {
        let start = Instant::now();
        let tasks: Vec<&TaskId> = batch.iter().map(|due| &due.task).collect();
        workspace.restart_wait(wait);
        let mut decide = |workspace: &Workspace, place: usize, state: &mut TaskState| {
            due_or(workspace, state, |state| {
                let author = workspace.repository.author_identity()?;
                choose(workspace, state, &batch[place].act(), author)
            })
        };
        apply_together(workspace, &tasks, dry_run, &mut decide, &mut |place, result| {
            if let Some(result) = result.transpose() {
                ran_out.note(&batch[place], result);
            }
        })?;
        if rest(start.elapsed()).is_break() {
            break;
        }
    }
    Ok(ran_out)
}

impl RanOut {
    /// Notes what became of a task. What somebody else was faster with is no trouble.
    fn note(&mut self, due: &Due, result: Result<Changed, ProjectError>) {
        match result {
            Ok(changed) if due.limit == Limit::Timeout => self.timed_out.push(changed),
            Ok(changed) => self.lapsed.push(changed),
            Err(
                ProjectError::Refused(
                    Refusal::NotDue { .. } | Refusal::Finished { .. } | Refusal::NotAdopted { .. },
                )
                | ProjectError::NoTask { .. },
            ) => {}
            Err(error) => self.troubled.push((due.task.clone(), error)),
        }
    }
}

/// Returns everything that runs, whether or not it has run out.
fn limits_of(rules: &Rules, listing: &Listing) -> Vec<Due> {
    // Most projects have none.
    if !rules.project.workflows.iter().any(is_limited) {
        return Vec::new();
    }
    listing.tasks.iter().flat_map(|(task, _)| limits_of_task(rules, task)).collect()
}

/// Returns whether anything in the workflow takes its time.
fn is_limited(workflow: &Workflow) -> bool {
    let limited = |duty: &Duty| Limits::of(workflow, duty) != Limits::default();
    let branches = |gate: &Gate| {
        gate.fork().is_some_and(|fork| fork.branches.iter().any(|own| limited(own.duty())))
    };
    workflow.gates.iter().any(|gate| gate.duty().is_some_and(limited) || branches(gate))
}

fn limits_of_task(rules: &Rules, task: &TaskSummary) -> Vec<Due> {
    let (Some(workflow), Some(gate)) = (rules.workflow_of(task), gate_of(rules, task)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for clock in &task.clocks {
        let duty = match (&clock.branch, gate.fork()) {
            (None, _) => gate.duty(),
            (Some(id), Some(fork)) => {
                fork.branches.iter().find(|own| own.id() == id).map(Branch::duty)
            }
            (Some(_), None) => None,
        };
        let Some(duty) = duty else { continue };
        let limits = Limits::of(workflow, duty).of_stay(clock.stay());
        all.extend(limits.into_iter().map(|(at, limit)| Due {
            at,
            task: task.id.clone(),
            limit,
            branch: clock.branch.clone(),
        }));
    }
    all
}
