//! What happens to tasks without a command: hand edits are committed, tasks follow changed rules, time limits end.
//!
//! Summaries say which tasks that concerns; only those are read whole, and decided anew. Several processes may do this at once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::{Branch, Duty, Gate, GateId, TaskId, Timestamp, Workflow};
use crate::files::task_file::Origin;
use crate::git::{CommitId, Head, ObjectId, TreeFile};
use crate::project::active_rules::in_force;
use crate::project::error::ProjectError;
use crate::project::rule_files::rules_mark;
use crate::project::workspace::Workspace;
use crate::rules::{Act, Limit, Limits, Refusal, Rules, passes_by_itself};
use crate::storage::layout::TASKS;
use crate::storage::orphaned_companions::stayed;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::task_files::{hidden, read, walk_active};
use crate::storage::{FileStat, StoreError};
use crate::tasks::actions::choose;
use crate::tasks::apply::{MOST, NextStep, apply_together, due_or};
use crate::tasks::headers::listing::{ListScope, Listing, Unreadable, open_in_archive, read_all};
use crate::tasks::headers::summary::{TaskSummary, gate_of};
use crate::tasks::plan::{Changed, Choice, DryRun, first_due_step, home, step_owed_to_rules};
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::task_state::{Pending, TaskState};

/// Why a task file is committed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TendReason {
    /// It is hand-made, and at its first gate now.
    Adopt,
    /// The task rested at a gate which decides by itself.
    Pass,
    /// The task stood where the rules have changed.
    Follow,
    /// The file stood where it does not belong.
    Move,
    /// A person edited it.
    Commit,
}

/// What was done about the files that people made or edited.
#[derive(Default)]
pub(crate) struct Tended {
    /// What was committed, and why; by reason.
    pub changed: Vec<(TendReason, Changed)>,
    /// Tasks that somebody has to look at, with why.
    pub troubled: Vec<(TaskId, ProjectError)>,
    /// What stands among the tasks, looks like one, and is none.
    pub strays: Vec<Stray>,
    /// Files that were changed too recently: somebody may be at them.
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
    /// Which rules HEAD has: what they had nothing to say about, or refused, is looked at again under others.
    rules: Vec<TreeFile>,
}

impl SeenFiles {
    fn refresh(&mut self, workspace: &Workspace, head: &Head) -> Result<(), ProjectError> {
        if self.head != head.commit {
            let files =
                head.commit.map(|commit| workspace.repository.list(commit, TASKS)).transpose()?;
            self.committed =
                files.unwrap_or_default().into_iter().map(|file| (file.path, file.id)).collect();
            let rules =
                head.commit.map(|commit| rules_mark(&workspace.repository, commit)).transpose()?;
            let rules = rules.unwrap_or_default();
            if rules != self.rules {
                self.files.clear();
                self.rules = rules;
            }
            self.head = head.commit;
        }
        Ok(())
    }

    fn knows(&self, task: &TaskEntry) -> bool {
        let path = task.path.as_str();
        self.files.get(path).is_some_and(|(stat, blob)| {
            *stat == task.stat && blob.as_ref() == self.committed.get(path)
        })
    }

    /// Returns whether the file says what HEAD has: whoever wrote it is done.
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

/// Takes up hand-made files and commits people's edits that have been quiet for so long. `rest` is called between batches with
/// how long one took, and says whether to go on.
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
    let mut due = Vec::new();
    let mut strays = Vec::new();
    // Before the active ones are gone through: one that is brought back meanwhile is among those then.
    let mut all = open_in_archive(workspace);
    all.extend(walk_active(&workspace.paths).filter_map(|entry| match entry {
        WalkEntry::Task(task) => Some(task),
        WalkEntry::Stray(stray) => {
            strays.push(stray);
            None
        }
    }));
    for task in all {
        if seen.knows(&task) {
            continue;
        }
        let age = now - i128::from(task.stat.mtime);
        // A time ahead of now was set by hand, or the clock was set back: nobody is writing.
        let young = (0..i128::try_from(quiet.as_nanos()).unwrap_or(i128::MAX)).contains(&age);
        if young && !seen.is_committed(workspace, &task) {
            tended.waiting += 1;
        } else {
            due.push(task);
        }
    }
    tended.strays = without_stayed(workspace, strays);
    for batch in due.chunks(MOST) {
        let start = Instant::now();
        workspace.restart_wait(wait);
        let wrote = tend_batch(workspace, batch, seen, &mut tended)?;
        if rest(if wrote { start.elapsed() } else { Duration::ZERO }).is_break() {
            break;
        }
    }
    tended.changed.sort_by_key(|(reason, _)| *reason);
    Ok(tended)
}

/// Leaves out the companions that stayed where their task is no more: what they are is told elsewhere.
fn without_stayed(workspace: &Workspace, mut strays: Vec<Stray>) -> Vec<Stray> {
    if strays.iter().any(|stray| stray.companion_of().is_some()) {
        let stayed = stayed(&workspace.paths);
        strays.retain(|stray| {
            !stayed.iter().any(|found| Path::new(found.path.as_str()) == stray.path)
        });
    }
    strays
}

/// Returns whether anything was to be done.
fn tend_batch(
    workspace: &Workspace,
    batch: &[TaskEntry],
    seen: &mut SeenFiles,
    tended: &mut Tended,
) -> Result<bool, ProjectError> {
    let tasks: Vec<&TaskId> = batch.iter().map(|task| &task.id).collect();
    let dues = RefCell::new(vec![None; batch.len()]);
    apply_together(
        workspace,
        &tasks,
        DryRun::No,
        &mut |workspace, place, state| {
            let found = tend_step(workspace, state)?;
            dues.borrow_mut()[place] = found.as_ref().map(|(due, _)| *due);
            Ok(found.map_or(NextStep::Nothing, |(_, choice)| NextStep::Do(choice)))
        },
        &mut |place, result| match (result, dues.borrow()[place]) {
            (Ok(Some(changed)), Some(due)) => tended.changed.push((due, changed)),
            (Ok(_), _) => seen.learn(&batch[place]),
            (Err(error), _) => tended.trouble(&batch[place], error, seen),
        },
    )?;
    Ok(dues.borrow().iter().any(Option::is_some))
}

/// Returns what is to be done with the file of a task that nobody froze.
fn tend_step(
    workspace: &Workspace,
    state: &TaskState,
) -> Result<Option<(TendReason, Choice)>, ProjectError> {
    state.ensure_unfrozen()?;
    let (rules, origin) = (&state.in_force.rules, state.file.origin);
    if let Some(choice) = first_due_step(workspace, state)? {
        let due = match origin {
            Origin::HandMade => TendReason::Adopt,
            Origin::Adopted if passes_by_itself(rules, &state.file.task) => TendReason::Pass,
            Origin::Adopted => TendReason::Follow,
        };
        return Ok(Some((due, choice)));
    }
    let home = home(state);
    Ok(match &state.pending {
        Pending::Nothing => home.map(|choice| (TendReason::Move, choice)),
        Pending::Versions(_) if rules.project.commit_edits => {
            // That a person moved it there is one commit, and that it does not belong there another.
            let by_hand = state.head_path.as_ref() != Some(&state.snapshot.path);
            Some(match home.filter(|_| by_hand) {
                Some(choice) => (TendReason::Move, choice),
                None => (TendReason::Commit, Choice::Pending),
            })
        }
        _ => None,
    })
}

impl Tended {
    /// Notes the error of one file, which is told once, until the file changes.
    fn trouble(&mut self, task: &TaskEntry, error: ProjectError, seen: &mut SeenFiles) {
        match error {
            // An editor is exchanging it, or somebody took it away: that is seen at the next look.
            ProjectError::NoTask { .. }
            | ProjectError::Restless { .. }
            | ProjectError::Store(StoreError::Gone { .. }) => {}
            error => {
                seen.learn(task);
                self.troubled.push((task.id.clone(), error));
            }
        }
    }
}

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
    let (due, unreadable) = owed_tasks(workspace)?;
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
    for batch in owed_tasks(workspace)?.0.chunks(MOST) {
        apply_to_batch(workspace, batch, DryRun::No, &owes, &mut RuleChanges::default())?;
    }
    Ok(())
}

/// Returns the tasks that the rules want something of.
fn owed_tasks(workspace: &Workspace) -> Result<(Vec<TaskId>, Vec<Unreadable>), ProjectError> {
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
