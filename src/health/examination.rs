//! The list of checks, in the order in which people see the issues.

use super::context::{CheckContext, CheckResult, View};
use super::{branch, git, local_files, rules, task_files, uncommitted};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;

/// The views that run a check.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CheckScope {
    Both,
    Doctor,
    Status,
}

type Check = fn(&CheckContext<'_>) -> CheckResult;

const CHECKS: [(CheckScope, Check); 47] = [
    (CheckScope::Doctor, local_files::check_cache),
    (CheckScope::Doctor, local_files::check_file_system),
    (CheckScope::Both, git::check_busy),
    (CheckScope::Doctor, git::check_git_version),
    (CheckScope::Both, git::check_git_locks),
    (CheckScope::Doctor, git::check_writer_lock),
    (CheckScope::Both, git::check_identity),
    (CheckScope::Doctor, git::check_index_layout),
    (CheckScope::Doctor, task_files::check_line_endings),
    (CheckScope::Doctor, git::check_signing),
    (CheckScope::Both, rules::check_own_folder),
    (CheckScope::Both, rules::check_rules_in_force),
    (CheckScope::Both, rules::check_staffing),
    (CheckScope::Both, rules::check_promises),
    (CheckScope::Both, rules::check_programs),
    (CheckScope::Both, rules::check_tests),
    (CheckScope::Both, rules::check_stuck_tasks),
    (CheckScope::Both, rules::check_unapplied_rules),
    (CheckScope::Both, rules::check_dependencies),
    (CheckScope::Both, uncommitted::check_unreadable),
    (CheckScope::Both, task_files::check_duplicates),
    (CheckScope::Both, task_files::check_misplaced),
    (CheckScope::Both, task_files::check_missing_files),
    (CheckScope::Both, uncommitted::check_uncommitted),
    (CheckScope::Both, uncommitted::check_misread),
    (CheckScope::Both, task_files::check_companions),
    (CheckScope::Both, uncommitted::check_archive),
    (CheckScope::Both, git::check_index),
    (CheckScope::Both, git::check_lost_steps),
    (CheckScope::Both, local_files::check_inbox),
    (CheckScope::Both, local_files::check_notices),
    (CheckScope::Both, local_files::check_unfinished_write),
    (CheckScope::Both, local_files::check_outlived_programs),
    (CheckScope::Doctor, local_files::check_watcher),
    (CheckScope::Doctor, local_files::check_temporary_files),
    (CheckScope::Both, git::check_merge_driver),
    (CheckScope::Status, local_files::check_watcher),
    (CheckScope::Both, git::check_remote),
    (CheckScope::Both, branch::check_pointer),
    (CheckScope::Both, branch::check_left_steps),
    (CheckScope::Doctor, branch::check_code),
    (CheckScope::Both, git::check_worktrees),
    (CheckScope::Doctor, local_files::check_event_stream),
    (CheckScope::Doctor, rules::check_folder_sizes),
    (CheckScope::Doctor, git::check_loose_objects),
    (CheckScope::Doctor, rules::check_drift),
    (CheckScope::Doctor, local_files::check_schemas),
];

/// Runs the checks of a view, and returns the issues. If a check fails, `aof doctor` reports that as an issue, and `aof status` fails.
pub(crate) fn examine(context: &CheckContext<'_>) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    for (scope, check) in CHECKS {
        let other_view =
            if context.view == View::Status { CheckScope::Doctor } else { CheckScope::Status };
        if scope == other_view {
            continue;
        }
        match check(context) {
            Ok(found) => issues.extend(found),
            Err(error) if context.is_doctor() => issues.push(failed_check(&error)),
            Err(error) => return Err(error),
        }
    }
    drop_repeated(&mut issues);
    for issue in &mut issues {
        let commands = &context.workspace.git_commands;
        issue.problem = commands.with_folder(std::mem::take(&mut issue.problem));
        issue.fix = std::mem::take(&mut issue.fix).with_texts(|text| commands.with_folder(text));
    }
    Ok(issues)
}

/// Drops issues about failed checks whose error another issue already reports.
fn drop_repeated(issues: &mut Vec<Issue>) {
    let problems: Vec<String> = issues.iter().map(|issue| issue.problem.clone()).collect();
    let mut at = 0;
    issues.retain(|issue| {
        at += 1;
        let (before, behind) = (&problems[..at - 1], &problems[at..]);
        issue.problem.strip_prefix(FAILED_CHECK).is_none_or(|what| {
            !before.iter().any(|other| other.contains(what))
                && !behind
                    .iter()
                    .any(|other| !other.starts_with(FAILED_CHECK) && other.contains(what))
        })
    });
}

const FAILED_CHECK: &str = "a check failed: ";

fn failed_check(error: &ProjectError) -> Issue {
    let fix = error.fix().unwrap_or_else(|| "fix that, then run `aof doctor` again".to_owned());
    let problem = format!("{FAILED_CHECK}{}", error.problem());
    Issue::new(error.code(), problem, fix).because("something may be wrong that nobody sees")
}
