//! Files that cannot be read as tasks: those that git left unmerged, tasks with two files, and all others.

use super::task_files::doubled_among;
use crate::health::subject::{Found, Subject};
use crate::history::merge_driver::unmerged::{UnmergedState, unmerged_tasks};
use crate::project::error::ProjectError;
use crate::project::git_hints::mend_unreadable;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout;
use crate::tasks::headers::listing::Unreadable;

/// No file is named twice.
pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let Some(project) = subject.project() else { return Ok(Vec::new()) };
    let mut unreadable = project.listing.unreadable.clone();
    let mut issues = Vec::new();
    if subject.index_fault.is_none() {
        issues.extend(unmerged(subject.workspace, &mut unreadable)?);
    }
    issues.extend(doubled_among(subject, &mut unreadable));
    issues.extend(of_unreadable(&unreadable));
    Ok(issues)
}

fn of_unreadable(files: &[Unreadable]) -> Vec<Issue> {
    let point = |file: &Unreadable| {
        let first = file.diagnostics.first();
        let fix = match first {
            None if file.path == layout::TASKS => {
                "make it a folder that you may read and search (`ls -ld tasks` shows it): no task is seen until then"
                    .to_owned()
            }
            None => "mend that, or move it out of `tasks/`".to_owned(),
            Some(first) if first.code == "conflict_markers" => {
                first.help.clone().unwrap_or_default()
            }
            Some(first) => {
                let help = first.help.as_ref().map(|help| format!("{help}; ")).unwrap_or_default();
                format!("{help}{}", mend_unreadable(&file.path))
            }
        };
        let problem = format!("`{}` cannot be read: {}", file.place(), file.reason);
        Issue::new("unreadable_task", problem, fix)
    };
    files.iter().map(point).collect()
}

/// Returns what git left unmerged. Markers that `--settle` resolves are no reason why a file cannot be read, and all others are reason enough.
fn unmerged(
    workspace: &Workspace,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Issue>, ProjectError> {
    let mut issues = Vec::new();
    let mut tasks = unmerged_tasks(workspace)?;
    // What somebody may lose comes first.
    tasks.sort_by_key(|task| !matches!(task.state, UnmergedState::OneSided(_)));
    for task in tasks {
        let is_settled = match &task.state {
            UnmergedState::Mergeable(merge) => merge.conflicts.is_empty(),
            state => matches!(state, UnmergedState::Confused(_)),
        };
        if is_settled {
            unreadable.retain(|own| own.path != task.path && !task.others.contains(&own.path));
        }
        if unreadable.iter().all(|own| own.path != task.path) {
            let (problem, fix) = task.problem_and_fix();
            issues.push(Issue::new("task_unmerged", format!("`{}`: {problem}", task.path), fix));
        }
    }
    Ok(issues)
}
