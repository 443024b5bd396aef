//! The list of checks, in the order in which people see the issues, and what the checks look at.

use super::subject::{Found, Subject, View};
use super::{git, local_files, rules, task_files, uncommitted};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;

/// Who shows what a check finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Both,
    Doctor,
    Status,
}

type Check = fn(&Subject<'_>) -> Found;

const CHECKS: [(Scope, Check); 36] = [
    (Scope::Doctor, local_files::cache),
    (Scope::Doctor, local_files::file_system),
    (Scope::Both, git::busy),
    (Scope::Doctor, git::version),
    (Scope::Both, git::locks),
    (Scope::Doctor, git::writer_lock),
    (Scope::Both, git::identity),
    (Scope::Doctor, task_files::line_endings),
    (Scope::Doctor, git::check_signing),
    (Scope::Both, rules::own_folder),
    (Scope::Both, rules::in_force),
    (Scope::Both, rules::standing_still),
    (Scope::Both, rules::behind_rules),
    (Scope::Both, rules::dependencies),
    (Scope::Both, uncommitted::check_unreadable),
    (Scope::Both, task_files::doubled),
    (Scope::Both, task_files::misplaced),
    (Scope::Both, task_files::check),
    (Scope::Both, uncommitted::check_uncommitted),
    (Scope::Both, task_files::companions),
    (Scope::Both, uncommitted::archive),
    (Scope::Both, git::check_index),
    (Scope::Both, git::lost_steps),
    (Scope::Both, local_files::check_inbox),
    (Scope::Both, local_files::check_notices),
    (Scope::Both, local_files::unfinished),
    (Scope::Doctor, local_files::watcher),
    (Scope::Doctor, local_files::temporary_files),
    (Scope::Both, git::check_merge_driver),
    (Scope::Status, local_files::watcher),
    (Scope::Both, git::check_remote),
    (Scope::Doctor, local_files::event_stream),
    (Scope::Doctor, rules::check),
    (Scope::Doctor, git::storage),
    (Scope::Doctor, rules::drifted),
    (Scope::Doctor, local_files::schemas),
];

/// Returns all that was found. Where `aof status` cannot look, it fails; `aof doctor` says so and goes on.
pub(crate) fn examine(subject: &Subject<'_>) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    for (scope, check) in CHECKS {
        let elsewhere = if subject.view == View::Status { Scope::Doctor } else { Scope::Status };
        if scope == elsewhere {
            continue;
        }
        match check(subject) {
            Ok(found) => issues.extend(found),
            Err(error) if subject.is_doctor() => issues.push(unchecked(&error)),
            Err(error) => return Err(error),
        }
    }
    drop_repeated(&mut issues);
    for issue in &mut issues {
        for text in [&mut issue.problem, &mut issue.fix] {
            *text = subject.workspace.git_words.said(std::mem::take(text));
        }
    }
    Ok(issues)
}

/// Drops what could not be looked at where another issue tells the same.
fn drop_repeated(issues: &mut Vec<Issue>) {
    let told: Vec<String> = issues.iter().map(|issue| issue.problem.clone()).collect();
    let mut at = 0;
    issues.retain(|issue| {
        at += 1;
        let (before, behind) = (&told[..at - 1], &told[at..]);
        issue.problem.strip_prefix(UNCHECKED).is_none_or(|what| {
            !before.iter().any(|other| other.contains(what))
                && !behind.iter().any(|other| !other.starts_with(UNCHECKED) && other.contains(what))
        })
    });
}

const UNCHECKED: &str = "it could not be looked at: ";

fn unchecked(error: &ProjectError) -> Issue {
    let fix = error.fix().unwrap_or_else(|| "mend that, then run `aof doctor` again".to_owned());
    let problem = format!("{UNCHECKED}{}", error.problem());
    Issue::new(error.code(), problem, fix).because("something may be wrong that nobody sees")
}
