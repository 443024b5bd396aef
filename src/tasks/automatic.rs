//! Changes of tasks without a command: hand edits are committed, tasks follow changed rules, expired time limits end visits and claims.
//!
//! Summaries select the tasks. Only those are read in full and decided. Several processes may do this at the same time.

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
use crate::project::rule_files::rule_blobs;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Limit, Refusal, Rules, TimeLimits, passes_by_itself};
use crate::storage::layout::TASKS;
use crate::storage::task_files::orphaned_companions;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::task_files::{hidden, read, walk_active};
use crate::storage::{FileStat, StoreError};
use crate::tasks::actions::decide_act;
use crate::tasks::apply::{BATCH_SIZE, NextStep, apply_in_batches, apply_together, due_step_or};
use crate::tasks::headers::listing::{ListScope, Unreadable, open_in_archive, read_all};
use crate::tasks::headers::summary::{TaskSummary, gate_of};
use crate::tasks::plan::{
    Changed, Choice, DryRun, first_due_step, held_by_outsiders, relocation, step_due_by_rules,
};
use crate::tasks::recovery::recover::recover_if_pending;
use crate::tasks::state::task_state::{Pending, TaskState};

/// The reason why a task file is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum UpkeepReason {
    /// The file is hand-made: the task gets its first gate.
    Adopt,
    /// The task is at an automatic gate.
    Pass,
    /// The rules have changed.
    Follow,
    /// The file was in the wrong folder.
    Move,
    /// A person edited it.
    Commit,
}

/// The results of [`keep_up_files`].
#[derive(Default)]
pub(crate) struct UpkeepReport {
    /// The commits, in the order of their reasons.
    pub changed: Vec<(UpkeepReason, Changed)>,
    /// Tasks that need a person, with the error.
    pub failures: Vec<(TaskId, ProjectError)>,
    /// Entries that are named like task files but are not.
    pub strays: Vec<Stray>,
    /// The number of files that changed so recently that a person may still be editing.
    pub waiting: usize,
}

/// The task files that needed nothing the last time, so that only changed files are opened again.
#[derive(Default)]
pub(crate) struct SeenFiles {
    /// By path: metadata of a file that needed nothing, and its blob in HEAD.
    files: HashMap<String, (FileStat, Option<ObjectId>)>,
    /// The blobs in HEAD below `tasks/`, by path.
    committed: HashMap<String, ObjectId>,
    head: Option<CommitId>,
    /// HEAD's rule files. If they change, every file is checked again.
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
            rules = rule_blobs(&workspace.repository, commit)?;
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

    /// Returns whether the file equals HEAD's version: then no person is still editing it.
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

/// Adopts hand-made files, commits hand edits that are older than `quiet`, moves tasks that are due by automatic gates or changed rules,
/// and moves files that a merge left in the wrong folder.
pub(crate) fn keep_up_files(
    workspace: &mut Workspace,
    wait: Duration,
    quiet: Duration,
    seen: &mut SeenFiles,
    pause: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<UpkeepReport, ProjectError> {
    workspace.restart_wait(wait);
    recover_if_pending(workspace)?;
    if let Some(fault) = hidden(&workspace.paths) {
        return Err(fault.into());
    }
    seen.refresh(workspace, &workspace.head()?)?;
    let now = workspace.clock()().as_nanosecond();
    let mut report = UpkeepReport::default();
    // The archive is listed first: a file that moves back meanwhile is in the second listing.
    let mut all = open_in_archive(workspace);
    for entry in walk_active(&workspace.paths) {
        match entry {
            WalkEntry::Task(task) => all.push(task),
            WalkEntry::Stray(stray) => report.strays.push(stray),
        }
    }
    let quiet = i128::try_from(quiet.as_nanos()).unwrap_or(i128::MAX);
    all.retain(|task| !seen.knows(task));
    let known = all.len();
    // A modification time in the future was set by hand, or the clock was set back: no person is editing the file.
    all.retain(|task| {
        let is_young = (0..quiet).contains(&(now - i128::from(task.stat.mtime)));
        !is_young || seen.is_committed(workspace, task)
    });
    report.waiting = known - all.len();
    if report.strays.iter().any(|stray| stray.companion_of().is_some()) {
        // `aof status` reports orphaned companions.
        let orphaned = orphaned_companions(&workspace.paths);
        let is_orphaned = |stray: &Stray| {
            orphaned.iter().any(|found| Path::new(found.path.as_str()) == stray.path)
        };
        report.strays.retain(|stray| !is_orphaned(stray));
    }
    let tasks: Vec<&TaskId> = all.iter().map(|task| &task.id).collect();
    let reasons = RefCell::new(vec![None; all.len()]);
    let decide = &mut |workspace: &Workspace, place: usize, state: &mut TaskState| {
        let step = upkeep_step(workspace, state)?;
        reasons.borrow_mut()[place] = step.as_ref().map(|(reason, _)| *reason);
        Ok(step.map_or(NextStep::Nothing, |(_, choice)| NextStep::Do(choice)))
    };
    let receive = &mut |place: usize, result| match (result, reasons.borrow()[place]) {
        (Ok(Some(changed)), Some(reason)) => report.changed.push((reason, changed)),
        (Ok(_), _) => seen.learn(&all[place]),
        // An editor is replacing the file, or a person deleted it: the next round decides.
        (
            Err(
                ProjectError::NoTask { .. }
                | ProjectError::Contended { .. }
                | ProjectError::Store(StoreError::Gone { .. }),
            ),
            _,
        ) => {}
        // An error is reported once, until the file changes.
        (Err(error), _) => {
            seen.learn(&all[place]);
            report.failures.push((all[place].id.clone(), error));
        }
    };
    apply_in_batches(workspace, wait, &tasks, DryRun::No, decide, receive, pause)?;
    report.changed.sort_by_key(|(reason, _)| *reason);
    Ok(report)
}

/// Returns the step that the file needs. Fails if the task is frozen.
fn upkeep_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<(UpkeepReason, Choice)>, ProjectError> {
    state.ensure_unfrozen()?;
    let (rules, origin) = (&state.in_force.rules, state.file.origin);
    if let Some(choice) = first_due_step(workspace, state)? {
        let reason = match origin {
            Origin::HandMade => UpkeepReason::Adopt,
            Origin::Adopted if passes_by_itself(rules, &state.file.task) => UpkeepReason::Pass,
            Origin::Adopted => UpkeepReason::Follow,
        };
        return Ok(Some((reason, choice)));
    }
    let relocation = relocation(state);
    Ok(match &state.pending {
        Pending::Nothing => relocation.map(|choice| (UpkeepReason::Move, choice)),
        Pending::Versions(_) if rules.project.commit_edits => {
            // A person's move is one commit, and the move back is another.
            let by_hand = state.head_path.as_ref() != Some(&state.snapshot.path);
            Some(match relocation.filter(|_| by_hand) {
                Some(choice) => (UpkeepReason::Move, choice),
                None => (UpkeepReason::Commit, Choice::Pending),
            })
        }
        _ => None,
    })
}

/// The tasks that were changed to follow the rules in force.
#[derive(Default)]
pub(crate) struct RuleChanges {
    /// Tasks that were moved, given to another role, blocked or unblocked.
    pub changed: Vec<Changed>,
    /// Tasks that need a person, with the error.
    pub failures: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// Changes all tasks that the rules in force require to be changed.
pub(crate) fn follow_rules(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    pause: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<RuleChanges, ProjectError> {
    workspace.restart_wait(wait);
    recover_if_pending(workspace)?;
    let (due, unreadable) = due_tasks(workspace)?;
    let mut done = RuleChanges { unreadable, ..RuleChanges::default() };
    apply_to_each(workspace, wait, &due, dry_run, &due_step, &mut done, pause)?;
    Ok(done)
}

/// Changes these tasks within the deadline of a command. Ignores the errors of single tasks.
pub(crate) fn follow_rules_now(workspace: &Workspace) -> Result<(), ProjectError> {
    recover_if_pending(workspace)?;
    let (due, _) = due_tasks(workspace)?;
    let mut decide =
        |workspace: &Workspace, _: usize, state: &mut TaskState| due_step(workspace, state);
    for batch in due.iter().collect::<Vec<_>>().chunks(BATCH_SIZE) {
        apply_together(workspace, batch, DryRun::No, &mut decide, &mut |_, _| {})?;
    }
    Ok(())
}

/// Carries out what `decide` returns for each of the tasks, and adds the results to `done`.
pub(crate) fn apply_to_each(
    workspace: &mut Workspace,
    wait: Duration,
    tasks: &[TaskId],
    dry_run: DryRun,
    decide: &dyn Fn(&Workspace, &mut TaskState) -> Result<NextStep, ProjectError>,
    done: &mut RuleChanges,
    pause: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<(), ProjectError> {
    let ids: Vec<&TaskId> = tasks.iter().collect();
    let decide =
        &mut |workspace: &Workspace, _: usize, state: &mut TaskState| decide(workspace, state);
    let receive = &mut |place: usize, result| match result {
        Ok(changed) => done.changed.extend(changed),
        // The task was finished or deleted meanwhile.
        Err(ProjectError::NoTask { .. } | ProjectError::Store(StoreError::Gone { .. })) => {}
        Err(error) => done.failures.push((tasks[place].clone(), error)),
    };
    apply_in_batches(workspace, wait, &ids, dry_run, decide, receive, pause)
}

/// Returns the tasks that the rules in force require to be changed.
fn due_tasks(workspace: &Workspace) -> Result<(Vec<TaskId>, Vec<Unreadable>), ProjectError> {
    let in_force = in_force(workspace, &workspace.head()?)?;
    let mut listing = read_all(workspace, &in_force, ListScope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let rules = &in_force.rules;
    let due = listing.tasks.iter().filter(|(task, _)| {
        task.has_due_act(rules) || !held_by_outsiders(rules, &task.task).is_empty()
    });
    Ok((due.map(|(task, _)| task.id.clone()).collect(), listing.unreadable))
}

fn due_step(workspace: &Workspace, state: &mut TaskState) -> Result<NextStep, ProjectError> {
    if state.file.origin == Origin::HandMade {
        return Ok(NextStep::Nothing);
    }
    state.ensure_unfrozen()?;
    Ok(step_due_by_rules(workspace, state)?.map_or(NextStep::Nothing, NextStep::Do))
}

/// The time limits that ended.
#[derive(Default)]
pub(crate) struct ExpiredLimits {
    /// Tasks with a visit that exceeded its timeout.
    pub timed_out: Vec<Changed>,
    /// Tasks with a claim that expired.
    pub lapsed: Vec<Changed>,
    /// The time when the next time limit ends.
    pub next: Option<Timestamp>,
    /// Tasks that are due but cannot be changed, with the error.
    pub failures: Vec<(TaskId, ProjectError)>,
    /// Files that cannot be read as tasks.
    pub unreadable: Vec<Unreadable>,
}

/// A time limit of a task or of one of its branches.
struct TimeLimit {
    at: Timestamp,
    task: TaskId,
    limit: Limit,
    branch: Option<GateId>,
}

/// Ends visits whose timeout has passed, and claims that were not renewed.
pub(crate) fn end_expired_limits(
    workspace: &mut Workspace,
    wait: Duration,
    dry_run: DryRun,
    pause: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<ExpiredLimits, ProjectError> {
    let in_force = workspace.rules()?;
    let listing = read_all(workspace, &in_force, ListScope::Active);
    let mut due = Vec::new();
    // This saves the reading of tasks: most projects have no time limits.
    if in_force.rules.project.workflows.iter().any(is_limited) {
        due.extend(listing.tasks.iter().flat_map(|(task, _)| limits_of(&in_force.rules, task)));
    }
    // In the order of time: a timeout ends the visit, and with it the claim.
    due.sort_by_key(|due| due.at);
    let now = workspace.now();
    let ahead = due.split_off(due.partition_point(|due| due.at <= now));
    let next = ahead.first().map(|due| due.at);
    let mut expired =
        ExpiredLimits { next, unreadable: listing.unreadable, ..ExpiredLimits::default() };
    let tasks: Vec<&TaskId> = due.iter().map(|due| &due.task).collect();
    let decide = &mut |workspace: &Workspace, place: usize, state: &mut TaskState| {
        due_step_or(workspace, state, |state| {
            let author = workspace.repository.author_identity()?;
            let branch = due[place].branch.clone();
            let act = match due[place].limit {
                Limit::Timeout => Act::Timeout { branch },
                Limit::Lease => Act::Lapse { branch },
            };
            decide_act(workspace, state, &act, author)
        })
    };
    let receive = &mut |place: usize, result: Result<Option<Changed>, ProjectError>| match result {
        Ok(changed) if due[place].limit == Limit::Timeout => expired.timed_out.extend(changed),
        Ok(changed) => expired.lapsed.extend(changed),
        // Another process was faster.
        Err(
            ProjectError::Refused(
                Refusal::NotDue { .. } | Refusal::Finished { .. } | Refusal::NotAdopted { .. },
            )
            | ProjectError::NoTask { .. },
        ) => {}
        Err(error) => expired.failures.push((due[place].task.clone(), error)),
    };
    apply_in_batches(workspace, wait, &tasks, dry_run, decide, receive, pause)?;
    Ok(expired)
}

/// Returns whether a gate or branch of the workflow has a time limit.
fn is_limited(workflow: &Workflow) -> bool {
    let limited = |duty: &Duty| TimeLimits::of(workflow, duty) != TimeLimits::default();
    let branches = |gate: &Gate| {
        gate.fork().is_some_and(|fork| fork.branches.iter().any(|branch| limited(branch.duty())))
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
            |id| Some(gate.fork()?.branches.iter().find(|branch| branch.id() == id)?.duty());
        let duty = clock.branch.as_ref().map_or_else(|| gate.duty(), branch_duty);
        for (at, limit) in
            duty.iter().flat_map(|duty| TimeLimits::of(workflow, duty).of_stay(clock.stay()))
        {
            let (task, branch) = (task.id.clone(), clock.branch.clone());
            all.push(TimeLimit { at, task, limit, branch });
        }
    }
    all
}
