//! What happens to tasks without a command: hand edits are committed, tasks follow changed rules, time limits end.
//!
//! Summaries say which tasks that concerns; only those are read whole, and decided anew. Several processes may do this at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use crate::domain::{Duty, Gate, GateId, TaskId, Timestamp, Workflow};
use crate::files::task_file::Origin;
use crate::git::{CommitId, Head, ObjectId, TreeFile};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::rule_files::rules_mark;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Limit, Limits, Refusal, Rules, passes_by_itself};
use crate::storage::layout::TASKS;
use crate::storage::task_files::orphaned_companions;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::task_files::{hidden, read, walk_active};
use crate::storage::{FileStat, StoreError};
use crate::tasks::actions::choose;
use crate::tasks::apply::{MOST, NextStep, apply_in_batches, apply_together, due_or};
use crate::tasks::headers::listing::{ListScope, Unreadable, open_in_archive, read_all};
use crate::tasks::headers::summary::{TaskSummary, gate_of};
use crate::tasks::plan::{Changed, Choice, DryRun, first_due_step, home, step_owed_to_rules};
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Why a task file is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TendReason {
    /// It is hand-made, and now at its first gate.
    Adopt,
    /// The task rested at an automatic gate.
    Pass,
    /// The rules have changed.
    Follow,
    /// The file was in the wrong folder.
    Move,
    /// A person edited it.
    Commit,
}

/// What was done about files that people made or edited.
#[derive(Default)]
pub(crate) struct Tended {
    /// What was committed, and why; by reason.
    pub changed: Vec<(TendReason, Changed)>,
    /// Tasks that a person has to look at, with why.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// Files that are named like tasks and are none.
    pub strays: Vec<Stray>,
    /// How many files changed too recently: a person may be editing them.
    pub waiting: usize,
}

/// What is remembered between two looks at the task files, so that a look at ten thousand opens only those that changed.
#[derive(Default)]
pub(crate) struct SeenFiles {
    /// By path: what the system said of a file that had nothing to tend, and what HEAD had for it.
    files: HashMap<String, (FileStat, Option<ObjectId>)>,
    /// What HEAD has below `tasks/`.
    committed: HashMap<String, ObjectId>,
    head: Option<CommitId>,
    /// Which rules HEAD has: under others every file is looked at again.
    rules: Vec<TreeFile>,
}

impl SeenFiles {
    fn refresh(&mut self, workspace: &Workspace, head: &Head) -> Result<(), ProjectError> {
        if self.head == head.commit {
            return Ok(());
        }
        let (mut files, mut rules) = (Vec::new(), Vec::new());
        if let Some(commit) = head.commit {
            files = workspace.repository.list(commit, TASKS)?;
            rules = rules_mark(&workspace.repository, commit)?;
        }
        self.committed = files.into_iter().map(|file| (file.path, file.id)).collect();
        if rules != self.rules {
            self.files.clear();
            self.rules = rules;
        }
        self.head = head.commit;
        Ok(())
    }

    fn knows(&self, task: &TaskEntry) -> bool {
        let path = task.path.as_str();
        self.files.get(path).is_some_and(|(stat, blob)| {
            *stat == task.stat && blob.as_ref() == self.committed.get(path)
        })
    }

    /// Returns whether the file is what HEAD has: its writer is done.
    fn is_committed(&self, workspace: &Workspace, task: &TaskEntry) -> bool {
        let Ok(snapshot) = read(&workspace.paths, &task.path) else { return false };
        let committed = self.committed.get(task.path.as_str());
        committed.is_some_and(|blob| workspace.repository.is_same_text(&snapshot.bytes, *blob))
    }

    fn learn(&mut self, task: &TaskEntry) {
        let path = task.path.as_str();
        self.files.insert(path.to_owned(), (task.stat, self.committed.get(path).copied()));
    }
}

/// Adopts hand-made files, commits people's edits that have been quiet for so long, moves tasks on from automatic gates and after
/// changed rules, and moves files back that a merge left in the wrong folder.
pub(crate) fn tend(
    workspace: &mut Workspace,
    wait: Duration,
    quiet: Duration,
    seen: &mut SeenFiles,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Tended, ProjectError> {
    workspace.restart_wait(wait);
    heal_if_pending(workspace)?;
    if let Some(fault) = hidden(&workspace.paths) {
        return Err(fault.into());
    }
    seen.refresh(workspace, &workspace.head()?)?;
    let now = workspace.clock()().as_nanosecond();
    let mut tended = Tended::default();
    // Before the active ones are listed: a file that is moved back meanwhile is among those then.
    let mut all = open_in_archive(workspace);
    for entry in walk_active(&workspace.paths) {
        match entry {
            WalkEntry::Task(task) => all.push(task),
            WalkEntry::Stray(stray) => tended.strays.push(stray),
        }
    }
    let quiet = i128::try_from(quiet.as_nanos()).unwrap_or(i128::MAX);
    all.retain(|task| !seen.knows(task));
    let known = all.len();
    // A time ahead of now was set by hand, or the clock was set back: nobody is writing.
    all.retain(|task| {
        let is_young = (0..quiet).contains(&(now - i128::from(task.stat.mtime)));
        !is_young || seen.is_committed(workspace, task)
    });
    tended.waiting = known - all.len();
    if tended.strays.iter().any(|stray| stray.companion_of().is_some()) {
        // `aof status` reports companions whose task is elsewhere.
        let orphans = orphaned_companions(&workspace.paths);
        let is_orphan = |stray: &Stray| {
            orphans.iter().any(|found| Path::new(found.path.as_str()) == stray.path)
        };
        tended.strays.retain(|stray| !is_orphan(stray));
    }
    let tasks: Vec<&TaskId> = all.iter().map(|task| &task.id).collect();
    let reasons = RefCell::new(vec![None; all.len()]);
    let decide = &mut |workspace: &Workspace, place: usize, state: &mut TaskState| {
        let step = tend_step(workspace, state)?;
        reasons.borrow_mut()[place] = step.as_ref().map(|(reason, _)| *reason);
        Ok(step.map_or(NextStep::Nothing, |(_, choice)| NextStep::Do(choice)))
    };
    let each = &mut |place: usize, result| match (result, reasons.borrow()[place]) {
        (Ok(Some(changed)), Some(reason)) => tended.changed.push((reason, changed)),
        (Ok(_), _) => seen.learn(&all[place]),
        // An editor is replacing the file, or a person took it away: the next look finds out.
        (
            Err(
                ProjectError::NoTask { .. }
                | ProjectError::Restless { .. }
                | ProjectError::Store(StoreError::Gone { .. }),
            ),
            _,
        ) => {}
        // An error is reported once, until the file changes.
        (Err(error), _) => {
            seen.learn(&all[place]);
            tended.troubled.push((all[place].id.clone(), error));
        }
    };
    apply_in_batches(workspace, wait, &tasks, DryRun::No, decide, each, rest)?;
    tended.changed.sort_by_key(|(reason, _)| *reason);
    Ok(tended)
}

/// Returns what is to be done with the file of a task that is not frozen.
fn tend_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<(TendReason, Choice)>, ProjectError> {
    state.ensure_unfrozen()?;
    let (rules, origin) = (&state.in_force.rules, state.file.origin);
    if let Some(choice) = first_due_step(workspace, state)? {
        let reason = match origin {
            Origin::HandMade => TendReason::Adopt,
            Origin::Adopted if passes_by_itself(rules, &state.file.task) => TendReason::Pass,
            Origin::Adopted => TendReason::Follow,
        };
        return Ok(Some((reason, choice)));
    }
    let home = home(state);
    Ok(match &state.pending {
        Pending::Nothing => home.map(|choice| (TendReason::Move, choice)),
        Pending::Versions(_) if rules.project.commit_edits => {
            // A person's move is one commit, and the move back another.
            let by_hand = state.head_path.as_ref() != Some(&state.snapshot.path);
            Some(match home.filter(|_| by_hand) {
                Some(choice) => (TendReason::Move, choice),
                None => (TendReason::Commit, Choice::Pending),
            })
        }
        _ => None,
    })
}

/// What the rules in force did to tasks.
#[derive(Default)]
pub(crate) struct RuleChanges {
    /// Tasks that were moved, given to another role, blocked or unblocked.
    pub changed: Vec<Changed>,
    /// Tasks that a person has to look at, with why.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// Moves all tasks to where the rules in force have them.
pub(crate) fn follow_rules(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<RuleChanges, ProjectError> {
    workspace.restart_wait(wait);
    heal_if_pending(workspace)?;
    let (due, unreadable) = owed_tasks(workspace)?;
    let mut done = RuleChanges { unreadable, ..RuleChanges::default() };
    apply_to_each(workspace, wait, &due, dry_run, &owed_step, &mut done, rest)?;
    Ok(done)
}

/// Does the same within the time that a command has, and ignores the errors of single tasks.
pub(crate) fn follow_rules_now(workspace: &Workspace) -> Result<(), ProjectError> {
    heal_if_pending(workspace)?;
    let (due, _) = owed_tasks(workspace)?;
    let mut decide =
        |workspace: &Workspace, _: usize, state: &mut TaskState| owed_step(workspace, state);
    for batch in due.iter().collect::<Vec<_>>().chunks(MOST) {
        apply_together(workspace, batch, DryRun::No, &mut decide, &mut |_, _| {})?;
    }
    Ok(())
}

/// Does what `choose` says with each of the tasks.
pub(crate) fn apply_to_each(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    dry_run: DryRun,
    choose: &dyn Fn(&Workspace, &mut TaskState) -> Result<NextStep, ProjectError>,
    done: &mut RuleChanges,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), ProjectError> {
    let ids: Vec<&TaskId> = tasks.iter().collect();
    let decide =
        &mut |workspace: &Workspace, _: usize, state: &mut TaskState| choose(workspace, state);
    let each = &mut |place: usize, result| match result {
        Ok(changed) => done.changed.extend(changed),
        // It was finished, or taken away.
        Err(ProjectError::NoTask { .. } | ProjectError::Store(StoreError::Gone { .. })) => {}
        Err(error) => done.troubled.push((tasks[place].clone(), error)),
    };
    apply_in_batches(workspace, wait, &ids, dry_run, decide, each, rest)
}

/// Returns the tasks that the rules want something done with.
fn owed_tasks(workspace: &Workspace) -> Result<(Vec<TaskId>, Vec<Unreadable>), ProjectError> {
    let in_force = in_force(workspace, &workspace.head()?)?;
    let mut listing = read_all(workspace, &in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let due = listing.tasks.iter().filter(|(task, _)| task.is_owed(&in_force.rules));
    Ok((due.map(|(task, _)| task.id.clone()).collect(), listing.unreadable))
}

fn owed_step(workspace: &Workspace, state: &mut TaskState) -> Result<NextStep, ProjectError> {
    if state.file.origin == Origin::HandMade {
        return Ok(NextStep::Nothing);
    }
    state.ensure_unfrozen()?;
    Ok(step_owed_to_rules(workspace, state)?.map_or(NextStep::Nothing, NextStep::Do))
}

/// What ran out.
#[derive(Default)]
pub(crate) struct RanOut {
    /// Tasks of which a visit took too long.
    pub timed_out: Vec<Changed>,
    /// Tasks whose claim ended.
    pub lapsed: Vec<Changed>,
    /// When the next time limit ends, as far as is known now.
    pub next: Option<Timestamp>,
    /// Tasks that are due and cannot be moved.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// A time limit of a task or of a branch of it.
struct TimeLimit {
    at: Timestamp,
    task: TaskId,
    limit: Limit,
    branch: Option<GateId>,
}

/// Ends visits that took too long, and claims that nobody renewed.
pub(crate) fn run_out(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<RanOut, ProjectError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, ListScope::Active);
    let mut due = Vec::new();
    // Most projects have no time limits.
    if in_force.rules.project.workflows.iter().any(is_limited) {
        due.extend(listing.tasks.iter().flat_map(|(task, _)| limits_of(&in_force.rules, task)));
    }
    // A visit that ended has no claim any more: of one task, what ran out first comes first.
    due.sort_by_key(|due| due.at);
    let now = workspace.now();
    let ahead = due.split_off(due.partition_point(|due| due.at <= now));
    let next = ahead.first().map(|due| due.at);
    let mut ran_out = RanOut { next, unreadable: listing.unreadable, ..RanOut::default() };
    let tasks: Vec<&TaskId> = due.iter().map(|due| &due.task).collect();
    let decide = &mut |workspace: &Workspace, place: usize, state: &mut TaskState| {
        due_or(workspace, state, |state| {
            let author = workspace.repository.author_identity()?;
            let branch = due[place].branch.clone();
            let act = match due[place].limit {
                Limit::Timeout => Act::Timeout { branch },
                Limit::Lease => Act::Lapse { branch },
            };
            choose(workspace, state, &act, author)
        })
    };
    let each = &mut |place: usize, result: Result<Option<Changed>, ProjectError>| match result {
        Ok(changed) if due[place].limit == Limit::Timeout => ran_out.timed_out.extend(changed),
        Ok(changed) => ran_out.lapsed.extend(changed),
        // Another process was faster.
        Err(
            ProjectError::Refused(
                Refusal::NotDue { .. } | Refusal::Finished { .. } | Refusal::NotAdopted { .. },
            )
            | ProjectError::NoTask { .. },
        ) => {}
        Err(error) => ran_out.troubled.push((due[place].task.clone(), error)),
    };
    apply_in_batches(workspace, wait, &tasks, dry_run, decide, each, rest)?;
    Ok(ran_out)
}

/// Returns whether anything in the workflow has a time limit.
fn is_limited(workflow: &Workflow) -> bool {
    let limited = |duty: &Duty| Limits::of(workflow, duty) != Limits::default();
    let branches = |gate: &Gate| {
        gate.fork().is_some_and(|fork| fork.branches.iter().any(|own| limited(own.duty())))
    };
    workflow.gates.iter().any(|gate| gate.duty().is_some_and(limited) || branches(gate))
}

/// Returns all time limits of a task.
fn limits_of(rules: &Rules, task: &TaskSummary) -> Vec<TimeLimit> {
    let (Some(workflow), Some(gate)) = (rules.workflow_of(task), gate_of(rules, task)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for clock in &task.clocks {
        let branch_duty =
            |id| Some(gate.fork()?.branches.iter().find(|own| own.id() == id)?.duty());
        let duty = clock.branch.as_ref().map_or_else(|| gate.duty(), branch_duty);
        for (at, limit) in
            duty.iter().flat_map(|duty| Limits::of(workflow, duty).of_stay(clock.stay()))
        {
            let (task, branch) = (task.id.clone(), clock.branch.clone());
            all.push(TimeLimit { at, task, limit, branch });
        }
    }
    all
}
