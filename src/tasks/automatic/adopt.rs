//! Task files that people made or edited by hand: taken up, and committed as theirs. Tasks that rest at a gate which decides by
//! itself, since the rules or the branch were changed by hand, go on; those that stand where the rules have changed follow them; and
//! what a merge left in the wrong folder is brought home.

use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use crate::domain::TaskId;
use crate::files::task_file::Origin;
use crate::git::{CommitId, Head, ObjectId, TreeFile};
use crate::project::error::ProjectError;
use crate::project::rule_sources::rules_mark;
use crate::project::workspace::Workspace;
use crate::rules::passes_by_itself;
use crate::storage::layout::TASKS;
use crate::storage::orphaned_companions::stayed;
use crate::storage::task_files::{Stray, TaskEntry, WalkEntry};
use crate::storage::task_files::{hidden, read, walk_active};
use crate::storage::{FileStat, StoreError};
use crate::tasks::apply::batch::{MOST, apply_together};
use crate::tasks::apply::change::NextStep;
use crate::tasks::plan::choice::{Changed, Choice, DryRun};
use crate::tasks::plan::due::{first_due_step, home};
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::misplaced_files::open_in_archive;
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
            let found = due(workspace, state)?;
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
fn due(
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
