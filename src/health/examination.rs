//! The list of checks, in the order in which people see the issues.

use super::subject::{CheckContext, CheckResult, View};
use super::{git, local_files, rules, task_files, uncommitted};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;

/// Who shows what a check finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckScope {
    Both,
    Doctor,
    Status,
}

type Check = fn(&CheckContext<'_>) -> CheckResult;

const CHECKS: [(CheckScope, Check); 37] = [
    (CheckScope::Doctor, local_files::cache),
    (CheckScope::Doctor, local_files::file_system),
    (CheckScope::Both, git::busy),
    (CheckScope::Doctor, git::version),
    (CheckScope::Both, git::locks),
    (CheckScope::Doctor, git::writer_lock),
    (CheckScope::Both, git::identity),
    (CheckScope::Doctor, git::index_layout),
    (CheckScope::Doctor, task_files::line_endings),
    (CheckScope::Doctor, git::check_signing),
    (CheckScope::Both, rules::own_folder),
    (CheckScope::Both, rules::in_force),
    (CheckScope::Both, rules::standing_still),
    (CheckScope::Both, rules::behind_rules),
    (CheckScope::Both, rules::dependencies),
    (CheckScope::Both, uncommitted::check_unreadable),
    (CheckScope::Both, task_files::doubled),
    (CheckScope::Both, task_files::misplaced),
    (CheckScope::Both, task_files::missing_files),
    (CheckScope::Both, uncommitted::check_uncommitted),
    (CheckScope::Both, task_files::companions),
    (CheckScope::Both, uncommitted::archive),
    (CheckScope::Both, git::check_index),
    (CheckScope::Both, git::lost_steps),
    (CheckScope::Both, local_files::check_inbox),
    (CheckScope::Both, local_files::check_notices),
    (CheckScope::Both, local_files::unfinished),
    (CheckScope::Doctor, local_files::watcher),
    (CheckScope::Doctor, local_files::temporary_files),
    (CheckScope::Both, git::check_merge_driver),
    (CheckScope::Status, local_files::watcher),
    (CheckScope::Both, git::check_remote),
    (CheckScope::Doctor, local_files::event_stream),
    (CheckScope::Doctor, rules::large_folders),
    (CheckScope::Doctor, git::loose_objects),
    (CheckScope::Doctor, rules::drifted),
    (CheckScope::Doctor, local_files::schemas),
];

/// Returns all that was found. Where `aof status` cannot look, it fails; `aof doctor` says so and goes on.
pub(crate) fn examine(subject: &CheckContext<'_>) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    for (scope, check) in CHECKS {
        let elsewhere =
            if subject.view == View::Status { CheckScope::Doctor } else { CheckScope::Status };
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
            *text = subject.workspace.git_commands.with_folder(std::mem::take(text));
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
