//! Steps that git dropped from the branch though nobody meant it to: `git reset`, `git stash` and `git rebase --abort` move the branch to
//! where HEAD was when they began. The steps are put back, or reported with the command that does so.

use std::collections::BTreeSet;
use std::time::Duration;
use std::{fs, io};

use super::sync::merge_tasks::{MergeSides, join, merge_projects};
use crate::domain::project::some;
use crate::domain::{TaskId, Timestamp};
use crate::files::task_file;
use crate::files::task_file::{Defaults, Origin, TaskFile};
use crate::git::log::trailers;
use crate::git::{CommitId, DroppedSteps, GitError, Head, LogEntry, ObjectId, SYNCED, StagedFile};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::journal::{JournalRecord, RecoveryAim};
use crate::storage::layout::{TASKS, companion_of, task_id};
use crate::storage::{FileStat, StoreError, journal, task_files};
use crate::system::process::boot;
use crate::system::terminal::all_quoted;
use crate::tasks::recovery::recover::{BringOutcome, bring, heal};

/// Returns what is to be put back. What the files still have is not: that is committed again like any edit.
pub(crate) fn dropped_steps(
    workspace: &Workspace,
    head: &Head,
) -> Result<Vec<DroppedSteps>, ProjectError> {
    let mut lost = Vec::new();
    for one in workspace.repository.dropped_steps(head)? {
        if !is_untouched(&one, head) || !files_have(workspace, &one)? {
            lost.push(one);
        }
    }
    Ok(lost)
}

fn files_have(workspace: &Workspace, one: &DroppedSteps) -> Result<bool, ProjectError> {
    let files = workspace.repository.resulting_files(&one.steps)?;
    Ok(files.iter().all(|(path, after)| {
        let here =
            path.parse().ok().and_then(|path| task_files::read(&workspace.paths, &path).ok());
        match (here, after) {
            (Some(here), Some(after)) => workspace.repository.is_same_text(&here.bytes, *after),
            (here, after) => here.is_none() && after.is_none(),
        }
    }))
}

/// Describes what was dropped, with the command that restores it.
pub(crate) fn lost_steps_issue(workspace: &Workspace, one: &DroppedSteps, head: &Head) -> Issue {
    let names: Vec<String> = tasks_of(&one.steps);
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let count = one.steps.len();
    let steps = if count == 1 { "1 step".to_owned() } else { format!("{count} steps") };
    let short = |commit: CommitId| commit.to_string()[..12].to_owned();
    let how = if is_untouched(one, head) { "merge --ff-only" } else { "merge" };
    let merge = format!("`git {how} {}`; `aof doctor --fix` does it", short(one.had));
    let fix = match workspace.repository.may_bring(head, one.had) {
        Err(GitError::InTheWay { files }) if is_untouched(one, head) => {
            let files: Vec<&str> = files.iter().map(String::as_str).collect();
            format!("put aside what you changed in {} (`git stash`); then {merge}", some(&files))
        }
        // A merge would bring the picked ones in a second time.
        _ if one.partial => {
            let commits: Vec<String> = one.steps.iter().map(|step| short(step.id)).collect();
            format!("`git cherry-pick {}`", commits.join(" "))
        }
        _ => merge,
    };
    let problem =
        format!("git was overtaken and moved the branch back over {steps}: {}", some(&names));
    Issue::new("taken_back", problem, fix)
}

/// Returns whether the branch is still where it was moved to.
fn is_untouched(one: &DroppedSteps, head: &Head) -> bool {
    head.commit == Some(one.has)
}

fn tasks_of(steps: &[LogEntry]) -> Vec<String> {
    let said = steps.iter().flat_map(|step| trailers::parse(&step.message));
    let named = said.filter(|one| one.key() == "Aof-Task").map(|one| one.value().to_owned());
    named.collect::<BTreeSet<_>>().into_iter().collect()
}

/// Puts the first dropped steps back onto the branch, and returns them. Where the branch has gone on since, they are merged by meaning, as the
/// steps of another clone are. Returns nothing where people have to decide, or somebody commits meanwhile.
pub(crate) fn restore_steps(workspace: &Workspace) -> Result<Option<RestoredSteps>, ProjectError> {
    let head = workspace.head_now()?;
    let found = dropped_steps(workspace, &head)?;
    let Some(one) = found.iter().find(|one| !one.partial) else { return Ok(None) };
    let to = if is_untouched(one, &head) {
        Some(one.had)
    } else {
        merge_dropped(workspace, &head, one)?
    };
    let Some(to) = to else { return Ok(None) };
    workspace.repository.may_bring(&head, to)?;
    Ok(match bring(workspace, &head, to, "put back what an overtaken git took back")? {
        BringOutcome::There => {
            Some(RestoredSteps { tasks: tasks_of(&one.steps), steps: one.steps.len() })
        }
        // Somebody has done something meanwhile: it is looked at again.
        BringOutcome::Moved | BringOutcome::Blocked(_) => None,
    })
}

/// Merges dropped steps into HEAD by meaning, and returns the merge commit, which is on no branch yet; nothing where both sides changed the
/// same thing.
fn merge_dropped(
    workspace: &Workspace,
    head: &Head,
    one: &DroppedSteps,
) -> Result<Option<CommitId>, ProjectError> {
    let repository = &workspace.repository;
    let Some(remote) = head.commit else { return Ok(None) };
    let Some(base) = repository.newest_common(remote, [one.had])? else { return Ok(None) };
    let unshared = repository.unshared(Some(remote), one.had)?;
    let sides = MergeSides { base, remote, local: one.had, unshared: &unshared };
    let Ok(merged) = merge_projects(workspace, &sides)? else { return Ok(None) };
    let subject = format!("{SYNCED}merge steps that git dropped from {}", head.branch());
    Ok(Some(join(workspace, &sides, &subject, merged)?.commit))
}

/// Steps that are on the branch again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RestoredSteps {
    /// The tasks.
    pub tasks: Vec<String>,
    /// How many steps.
    pub steps: usize,
}

/// What was seen of the branch: where it is, how it got there, and which file git's index was.
#[derive(Default)]
pub(crate) struct BranchSeen(Option<(Head, [Option<FileStat>; 2])>);

/// What became of steps that were taken back since the last look.
pub(crate) enum RecoveredSteps {
    /// They are on the branch again.
    Restored(RestoredSteps),
    /// Somebody has to see to it.
    Reported(Issue),
}

/// Puts back what was taken back since the last look, and tells what cannot be. Nobody is waited for: what somebody is at just now is
/// looked at again.
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
    let mut retaken = Vec::new();
    if found.iter().any(|one| !one.partial) {
        workspace.restart_wait(Duration::ZERO);
        let put = restore_steps(workspace);
        workspace.restart_wait(wait);
        match put {
            Ok(Some(put)) => retaken.push(RecoveredSteps::Restored(put)),
            Ok(None)
            | Err(
                ProjectError::Git(GitError::Locked { .. })
                | ProjectError::Store(StoreError::LockTimedOut { .. }),
            ) => {
                return Ok(retaken);
            }
            // What a person has changed there is theirs; so they are told.
            Err(ProjectError::Git(GitError::InTheWay { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    if retaken.is_empty() {
        retaken.extend(found.iter().map(|one| {
            let issue = lost_steps_issue(workspace, one, &now.0);
            RecoveredSteps::Reported(Issue {
                fix: workspace.git_words.said(issue.fix.clone()),
                ..issue
            })
        }));
        seen.0 = Some(now);
    }
    Ok(retaken)
}

/// The task files that the index has otherwise than HEAD.
#[derive(Default)]
pub(crate) struct IndexDifferences {
    /// Those that nobody staged.
    pub behind: Vec<StagedFile>,
    /// Those that a person did.
    pub staged: Vec<StagedFile>,
    /// Those of tasks that the index does not have at all, though they stand: git may have read it before they came, or somebody took
    /// them out.
    pub taken_out: Vec<StagedFile>,
}

impl IndexDifferences {
    /// Looks at the index. In the middle of a merge, what is staged is git's to tell.
    pub(crate) fn read(workspace: &Workspace) -> Result<Self, ProjectError> {
        match head(workspace) {
            Some(head) => Self::judge(workspace, head, workspace.repository.staged_below(TASKS)?),
            None => Ok(Self::default()),
        }
    }

    /// Judges what differs from that commit.
    pub(crate) fn judge(
        workspace: &Workspace,
        head: CommitId,
        files: Vec<StagedFile>,
    ) -> Result<Self, ProjectError> {
        let mut apart = Self::default();
        let mut out = Vec::new();
        for file in files {
            match file.staged {
                // No command of aof ever commits what goes with no task.
                _ if !is_of_a_task(&file) || !goes_on(workspace, &file) => apart.staged.push(file),
                // Only its mode is another one: that is staged.
                Some(staged) if file.head == Some(staged) => apart.staged.push(file),
                Some(staged)
                    if workspace.repository.is_old_version(head, &file.path, staged)? =>
                {
                    apart.behind.push(file);
                }
                Some(_) => apart.staged.push(file),
                None => out.push(file),
            }
        }
        // `git rm --cached`: only a person takes a file out of the index and leaves it where it is. But where the index has it still at
        // the place that it has left, it was not taken out: it has not come yet.
        let gone = apart.behind.iter().filter(|file| file.head.is_none());
        let gone: BTreeSet<String> = gone.map(|file| file.name().to_owned()).collect();
        let (come, taken_out) =
            out.into_iter().partition::<Vec<_>, _>(|file| gone.contains(file.name()));
        apart.behind.extend(come);
        let elsewhere = elsewhere(workspace, head, &apart, &taken_out)?;
        let is_lost =
            |file: &StagedFile| !elsewhere.contains(file.name()) && is_taken_up(workspace, file);
        let (lost, taken_out) = taken_out.into_iter().partition::<Vec<_>, _>(is_lost);
        apart.taken_out = lost;
        apart.staged.extend(taken_out);
        Ok(apart)
    }

    /// Says which files were left behind, and what to do; nothing where none was.
    pub(crate) fn stale_issue(&self) -> Option<(String, String)> {
        let names: Vec<&str> = self.behind.iter().map(|file| file.path.as_str()).collect();
        let files = if names.len() == 1 { "task file" } else { "task files" };
        let problem = format!(
            "git's index has an earlier version of {} {files}: {}",
            names.len(),
            some(&names)
        );
        let fix = format!(
            "`git restore --staged {}`; `aof doctor --fix` does it",
            all_quoted(names.iter().copied())
        );
        (!names.is_empty()).then_some((problem, fix))
    }

    /// Says which tasks the next commit takes out of git though their files stand, and what to do; nothing where it takes none.
    pub(crate) fn unstaged_issue(&self) -> Option<(String, String)> {
        let names: Vec<&str> = self.taken_out.iter().map(|file| file.path.as_str()).collect();
        let files =
            if names.len() == 1 { "a task whose file stands" } else { "tasks whose files stand" };
        let problem = format!("git's index does not have {files}: {}", some(&names));
        let fix = format!("`git restore --staged {}`", all_quoted(names.iter().copied()));
        (!names.is_empty()).then_some((problem, fix))
    }
}

/// Returns the names of those files that the index has at another place: a task that was moved stays in git.
fn elsewhere(
    workspace: &Workspace,
    head: CommitId,
    apart: &IndexDifferences,
    out: &[StagedFile],
) -> Result<BTreeSet<String>, ProjectError> {
    if out.is_empty() {
        return Ok(BTreeSet::new());
    }
    let apart = || apart.behind.iter().chain(&apart.staged).chain(out);
    let gone: BTreeSet<&str> =
        apart().filter(|file| file.staged.is_none()).map(|file| file.path.as_str()).collect();
    let listed = workspace.repository.list(head, TASKS)?.into_iter().map(|file| file.path);
    let there = listed.filter(|path| !gone.contains(path.as_str()));
    let there =
        there.chain(apart().filter(|file| file.staged.is_some()).map(|file| file.path.clone()));
    Ok(there.map(|path| path.rsplit('/').next().unwrap_or(&path).to_owned()).collect())
}

fn head(workspace: &Workspace) -> Option<CommitId> {
    workspace.head_now().ok().and_then(|head| head.commit)
}

fn is_of_a_task(file: &StagedFile) -> bool {
    task_id(file.name()).is_some_and(|id| id.is_ok()) || companion_of(file.name()).is_some()
}

/// Brings up what was left behind, and returns which files that were.
pub(crate) fn catch_up(workspace: &Workspace) -> Result<Vec<String>, ProjectError> {
    let lock = workspace.lock()?;
    heal(workspace, &lock)?;
    // Since it was looked at, a person may have staged something, or git begun a merge.
    let Some(head) = head(workspace) else { return Ok(Vec::new()) };
    let IndexDifferences { behind, .. } =
        IndexDifferences::judge(workspace, head, workspace.repository.staged_below(TASKS)?)?;
    let caught_up =
        workspace.repository.catch_up(head, &behind, workspace.deadline(), &mut |locks| {
            let locks = serde_json::to_value(locks).ok();
            let record = JournalRecord {
                pid: std::process::id(),
                boot: boot(),
                aim: RecoveryAim::Finish,
                writes: Vec::new(),
                locks,
            };
            let waiting =
                journal::write(&lock, &record).and_then(|written| written.unsynced(&lock));
            waiting.map(Vec::from_iter).map_err(io::Error::other)
        });
    if caught_up.is_err() {
        // What is told is why it failed; if the record cannot be cleared now, the next command does.
        let _ = heal(workspace, &lock);
    } else {
        journal::clear(&lock)?;
    }
    Ok(caught_up?)
}

/// What was seen of git's index: at which commit, and which file it was.
#[derive(Default)]
pub(crate) struct IndexSeen(Option<(Option<CommitId>, Option<FileStat>)>);

/// Brings up what was left behind since the last look, and returns which files that were. Nobody is waited for: what somebody is at just
/// now is looked at again.
pub(crate) fn tend_index(
    workspace: &mut Workspace,
    wait: Duration,
    seen: &mut IndexSeen,
) -> Result<Vec<String>, ProjectError> {
    let index = fs::metadata(workspace.repository.git_dir().join("index")).ok();
    let now = (workspace.repository.look()?.commit, index.map(|index| FileStat::of(&index)));
    if seen.0.as_ref() == Some(&now) {
        return Ok(Vec::new());
    }
    let IndexDifferences { behind, staged, taken_out } = IndexDifferences::read(workspace)?;
    if behind.is_empty() {
        // What is staged is judged by its file as well, which may change alone.
        seen.0 = (staged.is_empty() && taken_out.is_empty()).then_some(now);
        return Ok(Vec::new());
    }
    workspace.restart_wait(Duration::ZERO);
    let caught_up = catch_up(workspace);
    workspace.restart_wait(wait);
    match caught_up {
        Err(
            ProjectError::Git(GitError::Locked { .. })
            | ProjectError::Store(StoreError::LockTimedOut { .. }),
        ) => Ok(Vec::new()),
        caught_up => caught_up,
    }
}

/// Returns whether the file is as HEAD has it, or a task's that goes on from there. What is staged as it stands, a person is at.
pub(crate) fn goes_on(workspace: &Workspace, file: &StagedFile) -> bool {
    let here =
        file.path.parse().ok().and_then(|path| task_files::read(&workspace.paths, &path).ok());
    let (here, head) = match (here, file.head) {
        (Some(here), Some(head)) => (here.bytes, head),
        (here, head) => return here.is_none() && head.is_none(),
    };
    let is_same = |content| workspace.repository.is_same_text(&here, content);
    is_same(head)
        || !file.staged.is_some_and(is_same)
            && comes_after(workspace, file, &here, head).unwrap_or(false)
}

fn comes_after(
    workspace: &Workspace,
    file: &StagedFile,
    here: &[u8],
    head: ObjectId,
) -> Option<bool> {
    let id = named(file)?;
    let (here, head) = (parse(here, &id)?.task, committed(workspace, &id, head)?.task);
    Some(here.updated >= head.updated && here.history.starts_with(&head.history))
}

/// Returns whether HEAD has there a task that was taken up. Such a one never leaves git.
pub(crate) fn is_taken_up(workspace: &Workspace, file: &StagedFile) -> bool {
    let task = named(file).zip(file.head).and_then(|(id, head)| committed(workspace, &id, head));
    task.is_some_and(|task| task.origin != Origin::HandMade)
}

fn named(file: &StagedFile) -> Option<TaskId> {
    task_id(file.name())?.ok()
}

fn committed(workspace: &Workspace, id: &TaskId, content: ObjectId) -> Option<TaskFile> {
    parse(&workspace.repository.read_blob(content).ok()?, id)
}

/// Whatever the file leaves open is of no account here.
fn parse(bytes: &[u8], id: &TaskId) -> Option<TaskFile> {
    let defaults = Defaults { workflow: "default".parse().ok()?, created: Timestamp::UNIX_EPOCH };
    task_file::parse(bytes, id, &defaults).ok()
}
