//! What time has brought: visits that took too long, and claims that nobody renewed.
//!
//! Headers say what runs out, and only what is due is read and moved. Any number may do so at once: each reads a task anew before it
//! moves it, and what another was faster with is no longer due.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::domain::{Duty, Gate, GateId, TaskId, Timestamp, Workflow};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Limit, Limits, Refusal, Rules};
use crate::tasks::actions::choose;
use crate::tasks::apply::batch::{MOST, change_together};
use crate::tasks::apply::change::change;
use crate::tasks::headers::header::{Header, Running};
use crate::tasks::headers::listing::{Listing, Scope, Unreadable, read_all};
use crate::tasks::plan::choice::{Changed, Choice, DryRun};
use crate::tasks::state::task_state::Standing;

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
    pub troubled: Vec<(TaskId, OpsError)>,
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
) -> Result<RanOut, OpsError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, Scope::Active);
    let mut all = limits_of(&in_force.rules, &listing);
    all.sort_by_key(|due| due.at);
    let now = workspace.now();
    let ahead = all.split_off(all.partition_point(|due| due.at <= now));
    let next = ahead.first().map(|due| due.at);
    let mut ran_out = RanOut { next, unreadable: listing.unreadable, ..RanOut::default() };
    if dry_run == DryRun::Yes {
        for due in &all {
            let result = change(workspace, &due.task, dry_run, &mut |standing| {
                chosen_for(workspace, standing, due)
            });
            ran_out.note(due, result);
        }
        return Ok(ran_out);
    }
    // A visit that ended has no claim any more: of one task, what ran out first comes first.
    for batch in all.chunks(MOST) {
        let start = Instant::now();
        let tasks: Vec<&TaskId> = batch.iter().map(|due| &due.task).collect();
        let mut choose = |workspace: &Workspace, place: usize, standing: &Standing| {
            chosen_for(workspace, standing, &batch[place])
        };
        change_together(workspace, wait, &tasks, &mut choose, &mut |place, result| {
            ran_out.note(&batch[place], result);
        })?;
        if rest(start.elapsed()).is_break() {
            break;
        }
    }
    Ok(ran_out)
}

/// Returns how the task goes on.
fn chosen_for(workspace: &Workspace, standing: &Standing, due: &Due) -> Result<Choice, OpsError> {
    choose(workspace, standing, &due.act(), workspace.repository.author_identity()?)
}

impl RanOut {
    /// Notes what became of a task. What somebody else was faster with is no trouble.
    fn note(&mut self, due: &Due, result: Result<Changed, OpsError>) {
        match result {
            Ok(changed) if due.limit == Limit::Timeout => self.timed_out.push(changed),
            Ok(changed) => self.lapsed.push(changed),
            Err(
                OpsError::Refused(
                    Refusal::NotDue { .. } | Refusal::Finished { .. } | Refusal::NotAdopted { .. },
                )
                | OpsError::NoTask { .. },
            ) => {}
            Err(error) => self.troubled.push((due.task.clone(), error)),
        }
    }
}

/// Returns everything that runs, whether or not it has run out.
fn limits_of(rules: &Rules, listing: &Listing) -> Vec<Due> {
    let limited: Vec<&Workflow> =
        rules.project.workflows.iter().filter(|workflow| is_limited(workflow)).collect();
    if limited.is_empty() {
        return Vec::new();
    }
    listing.tasks.iter().flat_map(|(header, _)| of_header(&limited, header)).collect()
}

/// Returns whether anything in the workflow takes its time.
fn is_limited(workflow: &Workflow) -> bool {
    let limited = |duty: &Duty| Limits::of(workflow, duty) != Limits::default();
    let branches = |gate: &Gate| {
        gate.fork().is_some_and(|fork| fork.branches.iter().any(|own| limited(own.duty())))
    };
    workflow.gates.iter().any(|gate| gate.duty().is_some_and(limited) || branches(gate))
}

fn of_header(workflows: &[&Workflow], header: &Header) -> Vec<Due> {
    let found = workflows.iter().find(|workflow| workflow.name.as_str() == header.workflow);
    let gate = header.gate.as_deref();
    let found = found.and_then(|workflow| {
        Some((workflow, workflow.gates.iter().find(|own| gate == Some(own.id.as_str()))?))
    });
    let (Some((workflow, gate)), Ok(task)) = (found, header.id.parse::<TaskId>()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    let mut add =
        |duty: &Duty, running: Option<Running>, agent: Option<&str>, branch: Option<&GateId>| {
            let agent = agent.and_then(|agent| agent.parse().ok());
            let Some(stay) = running.map(|running| running.stay(agent.as_ref())) else { return };
            let due = |(at, limit)| Due { at, task: task.clone(), limit, branch: branch.cloned() };
            all.extend(Limits::of(workflow, duty).of_stay(stay).map(due));
        };
    match gate.fork() {
        None => gate
            .duty()
            .into_iter()
            .for_each(|duty| add(duty, header.running, header.agent.as_deref(), None)),
        Some(fork) => {
            for part in &header.branches {
                if let Some(own) = fork.branches.iter().find(|own| own.id().as_str() == part.branch)
                {
                    add(own.duty(), part.running, part.agent.as_deref(), Some(own.id()));
                }
            }
        }
    }
    all
}
