//! Looks at everything that can be wrong with a project, in the order in which people are told: what stops everything comes first.

use super::checks::{
    folders, git, inbox, index, local_files, merge_driver, missing_files, notices, remote, rules,
    signing, task_files, tasks, uncommitted, unreadable,
};
use super::subject::{Found, Subject, View};
use crate::project::error::error::OpsError;
use crate::project::issue::Issue;

/// Who shows what a check finds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    Both,
    Doctor,
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
    (Scope::Both, inbox::watcher),
    (Scope::Doctor, local_files::temporary_files),
    (Scope::Both, merge_driver::check),
    (Scope::Both, remote::check),
    (Scope::Doctor, local_files::event_stream),
    (Scope::Doctor, folders::check),
    (Scope::Doctor, git::storage),
    (Scope::Doctor, rules::drifted),
    (Scope::Doctor, local_files::schemas),
];

/// Returns all that was found. Where `aof status` cannot look, it fails; `aof doctor` says so and goes on.
pub(crate) fn examine(subject: &Subject<'_>) -> Result<Vec<Issue>, OpsError> {
    let mut issues = Vec::new();
    for (scope, check) in CHECKS {
        if scope == Scope::Doctor && subject.view == View::Status {
            continue;
        }
        match check(subject) {
            Ok(found) => issues.extend(found),
            Err(error) if subject.is_doctor() => {
                let what = error.problem();
                // Several checks may meet the same.
                if !issues.iter().any(|known: &Issue| known.problem.contains(&what)) {
                    issues.push(unchecked(&error));
                }
            }
            Err(error) => return Err(error),
        }
    }
    for issue in &mut issues {
        for text in [&mut issue.problem, &mut issue.fix] {
            *text = subject.workspace.git_words.said(std::mem::take(text));
        }
    }
    Ok(issues)
}

fn unchecked(error: &OpsError) -> Issue {
    let fix = error.fix().unwrap_or_else(|| "mend that, then run `aof doctor` again".to_owned());
    let problem = format!("it could not be looked at: {}", error.problem());
    Issue::new(error.code(), problem, fix).because("something may be wrong that nobody sees")
}
