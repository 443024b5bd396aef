//! What git's index has of task files where HEAD says otherwise, and steps that the branch lost: a `git commit` that a command overtook, or a
//! `git reset`.

use crate::domain::project::some;
use crate::git::GitError;
use crate::health::subject::{Found, Subject, count};
use crate::history::lost_steps::{put_back, taken_back, told};
use crate::history::stale_index::{Apart, catch_up};
use crate::project::issue::Issue;
use crate::system::shell::all_quoted;

/// The next `git commit` would take a step back, or bring one in.
pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let read;
    let apart = match subject.project() {
        _ if subject.is_doctor() => {
            read = Apart::read(subject.workspace)?;
            &read
        }
        Some(project) => &project.index,
        None => return Ok(Vec::new()),
    };
    let mut issues = Vec::new();
    if let Some((problem, fix)) = apart.told() {
        let issue = Issue::new("index_behind", problem, fix);
        issues.push(issue.cured_by(|workspace| catch_up(workspace).map(drop)));
    }
    if let Some((problem, fix)) = apart.taken_out_told() {
        issues.push(Issue::new("task_taken_out", problem, fix));
    }
    let names: Vec<&str> = apart.staged.iter().map(|file| file.path.as_str()).collect();
    if subject.is_doctor() && !names.is_empty() {
        let files = count(names.len(), "task file is", "task files are");
        let named = all_quoted(names.iter().copied());
        issues.push(
            Issue::new(
                "task_staged",
                format!("{files} staged and not committed: {}", some(&names)),
                format!("commit it, or take it back with `git restore --staged {named}`"),
            )
            .advice(),
        );
    }
    Ok(issues)
}

/// Steps that a git which was overtaken took off the branch.
pub(crate) fn lost_steps(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    if matches!(subject.busy, Some(GitError::Waiting { .. })) {
        return Ok(Vec::new());
    }
    let lost = match taken_back(workspace, &subject.head) {
        // Whatever cannot do without history says what is wrong with it.
        Err(_) if !subject.is_doctor() => return Ok(Vec::new()),
        lost => lost?,
    };
    let issues = lost.into_iter().map(|one| {
        let issue = told(workspace, &one, &subject.head);
        if one.is_part { issue } else { issue.cured_by(|workspace| put_back(workspace).map(drop)) }
    });
    Ok(issues.collect())
}
