//! Task files that people made or edited by hand: taken up, and committed as theirs. Tasks that rest at a gate which decides by
//! itself, since the rules or the branch were changed by hand, go on; those that stand where the rules have changed follow them; and
//! what a merge left in the wrong folder is brought home.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use super::first_gate;
use crate::domain::TaskId;
use crate::files::task_file::Origin;
use crate::git::{CommitId, Head, ObjectId, TreeFile};
use crate::project::active_rules::in_force;
use crate::project::error::error::OpsError;
use crate::project::rule_sources::rules_mark;
use crate::project::workspace::Workspace;
use crate::rules::passes_by_itself;
use crate::storage::layout::TASKS;
use crate::storage::tasks::orphaned_companions::stayed;
use crate::storage::tasks::task_files::{hidden, read, walk_active};
use crate::storage::tasks::walk::{Entry, Stray, TaskEntry};
use crate::storage::{FileStat, ProjectPath, StoreError};
use crate::tasks::apply::batch::{MOST, carry_out_together};
use crate::tasks::apply::change::{Changed, Choice, carry_out};
use crate::tasks::automatic::automatic_gates::owed_first;
use crate::tasks::recovery::recover::heal_if_pending;
use crate::tasks::state::misplaced_files::{home, home_if_settled, moved_by_hand, open_in_archive};
use crate::tasks::state::task_state::{Pending, Standing};

/// What was done about the files that people made or edited.
#[derive(Default)]
pub(crate) struct Tended {
    /// Hand-made files that are at their first gate now.
    pub adopted: Vec<Changed>,
    /// Tasks that rested at a gate which decides by itself, and have gone on.
    pub passed: Vec<Changed>,
    /// Tasks that stood where the rules have changed, and follow them now.
    pub followed: Vec<Changed>,
    /// Tasks whose file stood where it does not belong, and is at home now.
    pub moved: Vec<Changed>,
    /// Edits that were committed.
    pub committed: Vec<Changed>,
    /// Tasks that somebody has to look at, with why.
    pub troubled: Vec<(TaskId, OpsError)>,
    /// What stands among the tasks, looks like one, and is none.
    pub strays: Vec<Stray>,
    /// Files that were changed too recently: somebody may be at them.
    pub waiting: usize,
}

/// What is remembered between two looks at the task files, so that a look at ten thousand opens only those that changed.
#[derive(Default)]
pub(crate) struct Seen {
    /// By path: what the system said of a file that had nothing to tend, and what HEAD had for it.
    files: HashMap<String, (FileStat, Option<ObjectId>)>,
    /// What HEAD has below `tasks/`.
    committed: HashMap<String, ObjectId>,
    head: Option<CommitId>,
    /// Which rules HEAD has: what they had nothing to say about, or refused, is looked at again under others.
    rules: Vec<TreeFile>,
}

impl Seen {
    fn refresh(&mut self, workspace: &Workspace, head: &Head) -> Result<(), OpsError> {
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
    seen: &mut Seen,
    rest: &mut dyn FnMut(Duration) -> ControlFlow<()>,
) -> Result<Tended, OpsError> {
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
        Entry::Task(task) => Some(task),
        Entry::Stray(stray) => {
            strays.push(stray);
            None
        }
    }));
    let standing: HashSet<&ProjectPath> = all.iter().map(|task| &task.path).collect();
    let moved = moved_by_hand(workspace, &seen.committed, &|path| standing.contains(path));
    for task in moved.into_iter().chain(all) {
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
    Ok(tended)
}

/// What is to be done with a file.
enum Due {
    Adopt,
    Pass,
    Follow,
    Move,
    Commit,
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

fn tend_batch(
    workspace: &Workspace,
    batch: &[TaskEntry],
    seen: &mut Seen,
    tended: &mut Tended,
) -> Result<bool, OpsError> {
    let head = workspace.head()?;
    let in_force = Rc::new(in_force(workspace, &head)?);
    let (mut places, mut chosen) = (Vec::new(), Vec::new());
    for task in batch {
        let standing =
            Standing::read_under(workspace, &task.id, head.clone(), Rc::clone(&in_force));
        match standing.and_then(|standing| due(workspace, standing)) {
            Ok(Some((due, standing, choice))) => {
                places.push((task, due));
                chosen.push((standing, choice));
            }
            Ok(None) => seen.learn(task),
            Err(error) => tended.trouble(task, error, seen)?,
        }
    }
    let wrote = !chosen.is_empty();
    let mut results = carry_out_together(workspace, &head, chosen)?;
    for ((task, due), result) in places.into_iter().zip(&mut results) {
        let result = match std::mem::replace(result, Ok(None)) {
            Ok(None) => tend_alone(workspace, &task.id),
            other => other,
        };
        match (result, due) {
            (Ok(Some(changed)), Due::Adopt) => tended.adopted.push(changed),
            (Ok(Some(changed)), Due::Pass) => tended.passed.push(changed),
            (Ok(Some(changed)), Due::Follow) => tended.followed.push(changed),
            (Ok(Some(changed)), Due::Move) => tended.moved.push(changed),
            (Ok(Some(changed)), Due::Commit) => tended.committed.push(changed),
            (Ok(None), _) => {}
            (Err(error), _) => tended.trouble(task, error, seen)?,
        }
    }
    Ok(wrote)
}

fn due(
    workspace: &Workspace,
    standing: Standing,
) -> Result<Option<(Due, Standing, Choice)>, OpsError> {
    let standing = standing.thawed()?;
    if standing.file.origin == Origin::Adopted
        && let Some(choice) = owed_first(workspace, &standing)?
    {
        let passes = passes_by_itself(&standing.in_force.rules, &standing.file.task);
        return Ok(Some((if passes { Due::Pass } else { Due::Follow }, standing, choice)));
    }
    if let Some(choice) = home_if_settled(&standing) {
        return Ok(Some((Due::Move, standing, choice)));
    }
    let commits_edits = standing.in_force.rules.project.commit_edits;
    Ok(match (&standing.pending, standing.file.origin) {
        (_, Origin::HandMade) => {
            let choice = first_gate::choose(workspace, &standing)?;
            Some((Due::Adopt, standing, choice))
        }
        (Pending::Versions(_), _) if commits_edits => {
            // Who moved it there is one commit, and that it does not belong there another.
            let by_hand = standing.head_path.as_ref() != Some(&standing.snapshot.path);
            Some(match home(&standing).filter(|_| by_hand) {
                Some(choice) => (Due::Move, standing, choice),
                None => (Due::Commit, standing, Choice::Pending),
            })
        }
        _ => None,
    })
}

/// Tends one file by itself; nothing if there is nothing to do any more, or it changes all the time: then it is looked at again.
fn tend_alone(workspace: &Workspace, id: &TaskId) -> Result<Option<Changed>, OpsError> {
    match due(workspace, Standing::read(workspace, id)?)? {
        Some((_, standing, choice)) => carry_out(workspace, &standing, choice),
        None => Ok(None),
    }
}

impl Tended {
    /// Notes the trouble of one file, which is told once, until the file changes; what is everybody's ends the work.
    fn trouble(
        &mut self,
        task: &TaskEntry,
        error: OpsError,
        seen: &mut Seen,
    ) -> Result<(), OpsError> {
        match error {
            error if error.is_general() => return Err(error),
            // An editor is exchanging it, or somebody took it away: that is seen at the next look.
            OpsError::NoTask { .. } | OpsError::Store(StoreError::Gone { .. }) => {}
            error => {
                seen.learn(task);
                self.troubled.push((task.id.clone(), error));
            }
        }
        Ok(())
    }
}
