//! Repairs the effect of a person's git command during which aof committed.
//!
//! `git reset`, `git stash` and `git rebase --abort` move the branch to the commit that HEAD was at when they began, and so drop the
//! steps since. These are restored, or reported with the command that restores them.
//!
//! `git commit` and `git merge` read the index before they lock it, and write back that state. Steps in between are missing in that
//! index, and the next `git commit` would revert them. Such entries are updated: they are versions that HEAD had, and only aof has
//! committed that file since. Entries that a person staged stay.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::sync::merge_tasks::{MergeSides, join, merge_projects};
use crate::domain::project::some;
use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::git::{CommitId, DroppedSteps, GitError, Head, ObjectId, SYNCED, StagedFile};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout::{TASKS, companion_of, task_id};
use crate::storage::{FileStat, StoreError, journal};
use crate::system::terminal::all_quoted;
use crate::tasks::recovery::dropped_steps::{
    dropped_steps, is_unmoved, lost_steps_issue, tasks_of, worktree_bytes,
};
use crate::tasks::recovery::recover::{
    FastForwardOutcome, PUT_BACK, is_blocked, lock_recovered, move_branch, record_sync, recover,
};

/// Restores the first dropped steps onto the branch, and returns them. If the branch has new commits, they are merged by meaning, like
/// steps of another clone. Returns `None` if a person must decide, or if git moved the branch during the repair. The writer lock is
/// held: otherwise, commands that commit all the time would outrun the merge, until the reflog's tail no longer shows the steps.
pub(crate) fn restore_steps(workspace: &Workspace) -> Result<Option<RestoredSteps>, ProjectError> {
    let first = |head: &Head| -> Result<Option<DroppedSteps>, ProjectError> {
        Ok(dropped_steps(workspace, head)?.into_iter().find(|one| !one.partial))
    };
    let restored = |of: &DroppedSteps| {
        Some(RestoredSteps { tasks: tasks_of(&of.steps), steps: of.steps.len() })
    };
    let Some(seen) = first(&workspace.head_now()?)? else { return Ok(None) };
    let (lock, recovered) = lock_recovered(workspace)?;
    let head = workspace.head_now()?;
    let Some(dropped) = first(&head)? else {
        // The recovery under the lock may have been faster.
        let now = head.commit.map(|now| workspace.repository.is_ancestor(seen.had, now));
        return Ok(if now.transpose()?.unwrap_or_default() { restored(&seen) } else { None });
    };
    // A recovery that was blocked has noted that the tasks wait, which is reported for each of them.
    if recovered {
        return Ok(None);
    }
    let to = if is_unmoved(&dropped, &head) {
        Some(dropped.had)
    } else {
        merge_dropped(workspace, &head, &dropped)?
    };
    let Some(to) = to else { return Ok(None) };
    match move_branch(workspace, &lock, &head, to, PUT_BACK)? {
        FastForwardOutcome::Done => Ok(restored(&dropped)),
        FastForwardOutcome::Moved => Ok(None),
        FastForwardOutcome::Blocked(error) => Err(error.into()),
    }
}

/// Merges dropped steps into HEAD by meaning. Returns the merge commit, which is on no branch yet; `None` if both sides changed the
/// same field or line.
fn merge_dropped(
    workspace: &Workspace,
    head: &Head,
    dropped: &DroppedSteps,
) -> Result<Option<CommitId>, ProjectError> {
    let repository = &workspace.repository;
    let Some(remote) = head.commit else { return Ok(None) };
    let Some(base) = repository.newest_common(remote, [dropped.had])? else { return Ok(None) };
    let unshared = repository.unshared(Some(remote), dropped.had)?;
    let sides = MergeSides { base, remote, local: dropped.had, unshared: &unshared };
    let Ok(merged) = merge_projects(workspace, &sides)? else { return Ok(None) };
    let subject = format!("{SYNCED}merge steps that git dropped from {}", head.branch());
    Ok(Some(join(workspace, &sides, &subject, merged)?.commit))
}

/// Restored steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestoredSteps {
    pub tasks: Vec<String>,
    /// The number of steps.
    pub steps: usize,
}

/// The branch at the last check: its head, and the states of its reflog and of git's index.
#[derive(Default)]
pub(crate) struct BranchSeen(Option<(Head, [Option<FileStat>; 2])>);

/// The outcome for steps that git dropped since the last check.
pub(crate) enum RecoveredSteps {
    /// The steps are on the branch again.
    Restored(RestoredSteps),
    /// A person must restore the steps.
    Reported(Issue),
}

/// The time that a restoration waits for locks. The next check would find them taken as well while many agents are at work.
const RESTORE_WAIT: Duration = Duration::from_secs(1);

/// Runs a repair that waits for locks that long. Returns `None` if one is still taken: the next check tries again.
fn waiting_for<T>(
    locks: Duration,
    workspace: &mut Workspace,
    wait: Duration,
    repair: impl Fn(&Workspace) -> Result<T, ProjectError>,
) -> Result<Option<T>, ProjectError> {
    workspace.restart_wait(locks);
    let repaired = repair(workspace);
    workspace.restart_wait(wait);
    match repaired {
        Err(
            ProjectError::Git(GitError::Locked { .. })
            | ProjectError::Store(StoreError::LockTimedOut { .. }),
        ) => Ok(None),
        repaired => repaired.map(Some),
    }
}

/// Restores steps that git dropped since the last check. Returns these steps, and issues about the others.
pub(crate) fn tend_branch(
    workspace: &mut Workspace,
    wait: Duration,
    seen: &mut BranchSeen,
) -> Result<Vec<RecoveredSteps>, ProjectError> {
    let head = match workspace.head_now() {
        Err(GitError::Waiting { .. }) => return Ok(Vec::new()),
        head => head?,
    };
    let index = workspace.repository.git_dir().join("index");
    let stat = |path| fs::metadata(path).ok().map(|found| FileStat::of(&found));
    let places = [workspace.repository.reflog_place(&head), index];
    let now = (head, places.map(stat));
    if seen.0.as_ref() == Some(&now) {
        return Ok(Vec::new());
    }
    let found = dropped_steps(workspace, &now.0)?;
    if found.iter().any(|one| !one.partial) {
        match waiting_for(RESTORE_WAIT, workspace, wait, restore_steps) {
            Ok(Some(Some(restored))) => return Ok(vec![RecoveredSteps::Restored(restored)]),
            Ok(Some(None) | None) => return Ok(Vec::new()),
            // A person must clear the way: the steps are reported.
            Err(ProjectError::Git(error)) if is_blocked(&error) => {}
            Err(error) => return Err(error),
        }
    }
    let reported = found.iter().map(|dropped| {
        let issue = lost_steps_issue(workspace, dropped, &now.0);
        let fix = workspace.git_commands.with_folder(issue.fix.to_string());
        RecoveredSteps::Reported(Issue { fix: fix.into(), ..issue })
    });
    let reported = reported.collect();
    seen.0 = Some(now);
    Ok(reported)
}

/// The task files whose version in the index differs from HEAD's.
#[derive(Default)]
pub(crate) struct IndexDifferences {
    /// Files that no person staged: the index has an earlier version.
    pub behind: Vec<StagedFile>,
    /// Files that a person staged.
    pub staged: Vec<StagedFile>,
    /// Files of tasks that are missing in the index but not in the worktree: git read it before they were added, or a person removed
    /// them from it.
    pub taken_out: Vec<StagedFile>,
}

impl IndexDifferences {
    /// Compares the index with HEAD. During a merge, git itself shows the staged files.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, ProjectError> {
        match head(workspace) {
            Some(head) => {
                Self::classify(workspace, head, workspace.repository.staged_below(TASKS)?)
            }
            None => Ok(Self::default()),
        }
    }

    /// Sorts the files that differ from a commit.
    fn classify(
        workspace: &Workspace,
        head: CommitId,
        files: Vec<StagedFile>,
    ) -> Result<Self, ProjectError> {
        let mut differences = Self::default();
        let mut missing = Vec::new();
        for file in files {
            match file.staged {
                // aof never commits a file that belongs to no task.
                _ if !is_of_task(&file) || !continues_head(workspace, &file) => {
                    differences.staged.push(file);
                }
                // Only its mode differs: that is staged.
                Some(staged) if file.head == Some(staged) => differences.staged.push(file),
                Some(staged)
                    if workspace.repository.is_old_version(head, &file.path, staged)? =>
                {
                    differences.behind.push(file);
                }
                Some(_) => differences.staged.push(file),
                None => missing.push(file),
            }
        }
        // Only a person removes a file from the index and keeps it (`git rm --cached`). But if the index still has it at its path
        // before a move, the index is behind.
        let moved = differences.behind.iter().filter(|file| file.head.is_none());
        let moved: BTreeSet<String> = moved.map(|file| file.name().to_owned()).collect();
        let (behind, missing) =
            missing.into_iter().partition::<Vec<_>, _>(|file| moved.contains(file.name()));
        differences.behind.extend(behind);
        let elsewhere = names_elsewhere(workspace, head, &differences, &missing)?;
        let is_lost =
            |file: &StagedFile| !elsewhere.contains(file.name()) && is_adopted(workspace, file);
        let (lost, removed) = missing.into_iter().partition::<Vec<_>, _>(is_lost);
        differences.taken_out = lost;
        differences.staged.extend(removed);
        Ok(differences)
    }

    /// Returns the problem and the fix of files that the index has in an earlier version; `None` if there are none.
    pub(crate) fn stale_issue(&self) -> Option<(String, String)> {
        let (names, restore) = restore_command(&self.behind)?;
        let files = if self.behind.len() == 1 { "task file" } else { "task files" };
        let count = self.behind.len();
        let problem = format!("git's index has an earlier version of {count} {files}: {names}");
        Some((problem, format!("{restore}; `aof doctor --fix` does it")))
    }

    /// Returns the problem and the fix of tasks that the next commit would remove from git; `None` if there are none.
    pub(crate) fn unstaged_issue(&self) -> Option<(String, String)> {
        let (names, restore) = restore_command(&self.taken_out)?;
        let is_one = self.taken_out.len() == 1;
        let files = if is_one { "a task whose file exists" } else { "tasks whose files exist" };
        Some((format!("git's index does not have {files}: {names}"), restore))
    }
}

/// Returns the files in a sentence, and the command that restores them in the index; `None` if there are none.
fn restore_command(files: &[StagedFile]) -> Option<(String, String)> {
    let names: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let restore = format!("`git restore --staged {}`", all_quoted(names.iter().copied()));
    (!names.is_empty()).then(|| (some(&names), restore))
}

/// Returns the names of files that the index has at some path: a task that was moved stays in git.
fn names_elsewhere(
    workspace: &Workspace,
    head: CommitId,
    differences: &IndexDifferences,
    missing: &[StagedFile],
) -> Result<BTreeSet<String>, ProjectError> {
    if missing.is_empty() {
        return Ok(BTreeSet::new());
    }
    let differing = || differences.behind.iter().chain(&differences.staged).chain(missing);
    let gone: BTreeSet<&str> =
        differing().filter(|file| file.staged.is_none()).map(|file| file.path.as_str()).collect();
    let listed = workspace.repository.list(head, TASKS)?.into_iter().map(|file| file.path);
    let there = listed.filter(|path| !gone.contains(path.as_str()));
    let there =
        there.chain(differing().filter(|file| file.staged.is_some()).map(|file| file.path.clone()));
    Ok(there.map(|path| path.rsplit('/').next().unwrap_or(&path).to_owned()).collect())
}

fn head(workspace: &Workspace) -> Option<CommitId> {
    workspace.head_now().ok().and_then(|head| head.commit)
}

fn is_of_task(file: &StagedFile) -> bool {
    task_id(file.name()).is_some_and(|id| id.is_ok()) || companion_of(file.name()).is_some()
}

/// Updates stale entries of the index, and returns their files.
pub(crate) fn catch_up(workspace: &Workspace) -> Result<Vec<String>, ProjectError> {
    let (lock, _) = lock_recovered(workspace)?;
    // Meanwhile a person may have staged something, or git may have begun a merge.
    let Some(head) = head(workspace) else { return Ok(Vec::new()) };
    let IndexDifferences { behind, .. } =
        IndexDifferences::classify(workspace, head, workspace.repository.staged_below(TASKS)?)?;
    let caught_up =
        workspace.repository.update_entries_to(head, &behind, workspace.deadline(), &mut |locks| {
            record_sync(&lock, locks)
        });
    if caught_up.is_err() {
        // The first error is reported; if the journal cannot be cleared now, the next command clears it.
        let _ = recover(workspace, &lock);
    } else {
        journal::clear(&lock)?;
    }
    Ok(caught_up?)
}

/// Git's index at the last check: HEAD's commit, and the state of the file.
#[derive(Default)]
pub(crate) struct IndexSeen(Option<(Option<CommitId>, Option<FileStat>)>);

/// Updates entries of the index that became stale since the last check, and returns their files. Does not wait for locks.
pub(crate) fn tend_index(
    workspace: &mut Workspace,
    wait: Duration,
    seen: &mut IndexSeen,
) -> Result<Vec<String>, ProjectError> {
    let index = fs::metadata(workspace.repository.git_dir().join("index")).ok();
    let now =
        (workspace.repository.head_for_reading()?.commit, index.map(|index| FileStat::of(&index)));
    if seen.0.as_ref() == Some(&now) {
        return Ok(Vec::new());
    }
    let IndexDifferences { behind, staged, taken_out } = IndexDifferences::read(workspace)?;
    if behind.is_empty() {
        // The check of staged files depends on the worktree as well, which may change alone.
        seen.0 = (staged.is_empty() && taken_out.is_empty()).then_some(now);
        return Ok(Vec::new());
    }
    Ok(waiting_for(Duration::ZERO, workspace, wait, catch_up)?.unwrap_or_default())
}

/// Returns whether the worktree's file is as in HEAD, or a task that continues HEAD's. A file that equals the staged one is a person's.
fn continues_head(workspace: &Workspace, file: &StagedFile) -> bool {
    let (here, head) = match (worktree_bytes(workspace, &file.path), file.head) {
        (Some(here), Some(head)) => (here, head),
        (here, head) => return here.is_none() && head.is_none(),
    };
    let is_same = |content| workspace.repository.is_same_text(&here, content);
    is_same(head)
        || !file.staged.is_some_and(is_same)
            && extends_history(workspace, file, &here, head).unwrap_or(false)
}

fn extends_history(
    workspace: &Workspace,
    file: &StagedFile,
    here: &[u8],
    head: ObjectId,
) -> Option<bool> {
    let id = task_id(file.name())?.ok()?;
    let (here, head) = (parse(here, &id)?.task, read_task(workspace, &id, head)?.task);
    Some(here.updated >= head.updated && here.history.starts_with(&head.history))
}

/// Returns whether HEAD's file is a task that aof has adopted. Such a task never leaves git.
fn is_adopted(workspace: &Workspace, file: &StagedFile) -> bool {
    let id = task_id(file.name()).and_then(Result::ok);
    let task = id.zip(file.head).and_then(|(id, head)| read_task(workspace, &id, head));
    task.is_some_and(|task| task.origin != Origin::HandMade)
}

fn read_task(workspace: &Workspace, id: &TaskId, content: ObjectId) -> Option<TaskFile> {
    parse(&workspace.repository.read_blob(content).ok()?, id)
}

/// Returns the task; values that the file leaves open do not matter here.
fn parse(bytes: &[u8], id: &TaskId) -> Option<TaskFile> {
    let defaults = Defaults { workflow: "default".parse().ok()?, created: Timestamp::UNIX_EPOCH };
    task_file::parse(bytes, id, &defaults).ok()
}
