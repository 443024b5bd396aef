//! The changes of a project since a task was created: the work to be approved.

use std::path::Path;
use std::process::Command;

use crate::domain::{Task, Timestamp};
use crate::project::task_worktrees::TaskWorktrees;
use crate::project::workspace::Workspace;
use crate::storage::ProjectPath;

/// The changes of a project outside `tasks/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WorkDiff {
    /// The commit that they are compared with.
    pub since: String,
    /// A description of that commit.
    pub which: &'static str,
    /// The output of `git diff`.
    pub text: String,
    /// The files that git does not track yet.
    pub untracked: Vec<String>,
}

/// The paths of all files but tasks.
const ALL: [&str; 3] = ["--", ".", ":(exclude)tasks"];

/// Returns the changes of the task's own branch, or those of the project since the task of that file was created. Fails with a sentence
/// if git fails.
pub(crate) fn work_diff(
    workspace: &Workspace,
    task: &Task,
    file: &ProjectPath,
) -> Result<WorkDiff, String> {
    if let Some(work) = task.work() {
        let rules = workspace.rules().map_err(|error| error.to_string())?.rules;
        let changes = TaskWorktrees::of(workspace, &rules).and_then(|all| all.changes(task));
        if let Some(text) = changes.map_err(|error| error.to_string())? {
            let (since, which) = (work.base.to_string(), "where the work began");
            return Ok(WorkDiff { since, which, text, untracked: Vec::new() });
        }
    }
    let project = workspace.paths.root();
    let (since, which) = base(project, file);
    let diff = [&["diff", "--no-color", "--no-ext-diff", &since][..], &ALL].concat();
    let untracked = [&["ls-files", "--others", "--exclude-standard", "-z"][..], &ALL].concat();
    let text = git(project, &diff)?;
    let untracked = git(project, &untracked)?.split_terminator('\0').map(str::to_owned).collect();
    Ok(WorkDiff { since, which, text, untracked })
}

/// A commit that changed a task's file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskCommit {
    /// Its id, short.
    pub id: String,
    pub author: String,
    /// The time as git prints it, to the second.
    pub at: String,
    pub subject: String,
    /// The changes of the file, without the patch's head.
    pub patch: String,
}

/// The most commits of a task that are read: earlier ones are in git.
pub(crate) const COMMITS_READ: usize = 100;

/// Returns the last commits that changed the file of a task, newest first, also from before it was moved. Fails with a sentence if
/// git fails.
pub(crate) fn task_commits(project: &Path, task: &ProjectPath) -> Result<Vec<TaskCommit>, String> {
    let most = format!("--max-count={COMMITS_READ}");
    let words = ["log", "--follow", "-p", "--no-color", "--no-ext-diff", &most];
    // No commit has a NUL. The other mark can only be in a handcrafted commit, and then shifts its fields.
    let format = ["--format=%x00%h%x01%an%x01%aI%x01%s%x01", "--", task.as_str()];
    let log = git(project, &[&words[..], &format].concat())?;
    let commits = log.split('\0').filter_map(|text| {
        let mut fields = text.splitn(5, '\u{1}').map(str::to_owned);
        let mut next = || fields.next();
        let (id, author, at, subject, patch) = (next()?, next()?, next()?, next()?, next()?);
        let start = patch.find("\n@@").map_or(patch.len(), |at| at + 1);
        Some(TaskCommit { id, author, at, subject, patch: patch[start..].to_owned() })
    });
    Ok(commits.collect())
}

/// Returns the commit of the project's files, with its time. Fails with a sentence if some of them are not committed.
pub(crate) fn commit_of_files(project: &Path) -> Result<(String, Timestamp), String> {
    let files = ["status", "--porcelain", "--", "tasks", "project.yaml", "org.yaml"];
    if let Some(first) = git(project, &files)?.lines().next() {
        return Err(format!("`{}` is not committed", first.get(3..).unwrap_or(first)));
    }
    let line = git(project, &["log", "-1", "--format=%H %ct"])?;
    let (id, time) = line.trim().split_once(' ').unwrap_or_default();
    let time = time.parse().ok().and_then(|time| Timestamp::from_second(time).ok());
    Ok((id.to_owned(), time.ok_or("git tells no time of the commit")?))
}

/// Returns the commit before the one that added the task's file, and a description of it.
fn base(project: &Path, task: &ProjectPath) -> (String, &'static str) {
    let last_line = |words: &[&str]| git(project, words).ok()?.lines().last().map(str::to_owned);
    let added = ["log", "--diff-filter=A", "--format=%h", "--", task.as_str()];
    let Some(added) = last_line(&added) else {
        return ("HEAD".to_owned(), "as no commit added the task");
    };
    match last_line(&["rev-parse", "--verify", "--quiet", "--short", &format!("{added}^")]) {
        Some(before) => (before, "the commit before the task was made"),
        None => (added, "the commit that made the task"),
    }
}

/// Returns git's output.
fn git(project: &Path, words: &[&str]) -> Result<String, String> {
    let output = Command::new("git").arg("-C").arg(project).args(words).output();
    let output = output.map_err(|cause| format!("`git` cannot be started: {cause}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("`git {}` ended with {}: {}", words[0], output.status, error.trim()))
}
