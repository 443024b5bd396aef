//! Looks at everything that can be wrong with a project, in the order in which people are told: what stops everything comes first.

use super::checks::{
    folders, git, inbox, index, local_files, merge_driver, missing_files, notices, remote, rules,
    signing, task_files, tasks, uncommitted, unreadable,
};
use super::subject::{Found, Subject, View};
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

const CHECKS: [(Scope, Check); 37] = [
    (Scope::Doctor, local_files::cache),
    (Scope::Doctor, local_files::file_system),
    (Scope::Both, git::busy),
    (Scope::Doctor, git::version),
    (Scope::Both, git::locks),
    (Scope::Doctor, git::writer_lock),
    (Scope::Both, git::identity),
    (Scope::Doctor, git::settings),
    (Scope::Doctor, task_files::line_endings),
    (Scope::Doctor, signing::check),
    (Scope::Both, rules::own_folder),
    (Scope::Both, rules::in_force),
    (Scope::Both, tasks::standing_still),
    (Scope::Both, tasks::behind_rules),
    (Scope::Both, tasks::dependencies),
    (Scope::Both, unreadable::check),
    (Scope::Both, task_files::doubled),
    (Scope::Both, task_files::misplaced),
    (Scope::Both, missing_files::check),
    (Scope::Both, uncommitted::check),
    (Scope::Both, task_files::companions),
    (Scope::Both, uncommitted::archive),
    (Scope::Both, index::check),
    (Scope::Both, index::lost_steps),
    (Scope::Both, inbox::check),
    (Scope::Both, notices::check),
    (Scope::Both, local_files::unfinished),
    (Scope::Doctor, inbox::watcher),
    (Scope::Doctor, local_files::temporary_files),
    (Scope::Both, merge_driver::check),
    (Scope::Status, inbox::watcher),
    (Scope::Both, remote::check),
    (Scope::Doctor, local_files::event_stream),
    (Scope::Doctor, folders::check),
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
