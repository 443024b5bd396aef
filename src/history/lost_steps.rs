//! Steps that git dropped from the branch though nobody meant it to: `git reset`, `git stash` and `git rebase --abort` move the branch to
//! where HEAD was when they began. The steps are put back, or reported with the command that does so.

use std::collections::BTreeSet;
use std::fs;
use std::time::Duration;

use super::sync::merge_tasks::{MergeSides, join, merge_projects};
use crate::domain::project::some;
use crate::git::log::trailers;
use crate::git::{CommitId, DroppedSteps, GitError, Head, LogEntry, SYNCED};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::{FileStat, StoreError, task_files};
use crate::tasks::recovery::recover::{BringOutcome, bring};

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
