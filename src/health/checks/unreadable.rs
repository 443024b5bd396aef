//! Files that cannot be read as tasks: those that git left unmerged, tasks with two files, and all others.

use std::collections::BTreeMap;

use super::task_files::doubled_among;
use crate::domain::issue::some;
use crate::health::subject::{Found, Subject};
use crate::history::merge_driver::unmerged::{UnmergedState, UnmergedTask, unmerged_tasks};
use crate::project::error::error::OpsError;
use crate::project::git_hints::mend_unreadable;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::layout;
use crate::system::shell::all_quoted;
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

/// Kinds of unmerged files, in the order in which they are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Confused,
    OneSided,
    Mergeable,
    Disputed,
    Removed,
    EditedByHand,
    NoRules,
}

/// Returns what git left unmerged. Markers that `--settle` resolves are no reason why a file cannot be read, and all others are reason enough.
fn unmerged(
    workspace: &Workspace,
    unreadable: &mut Vec<Unreadable>,
) -> Result<Vec<Issue>, OpsError> {
    let mut files: BTreeMap<Kind, Vec<String>> = BTreeMap::new();
    for UnmergedTask { path, others, state, .. } in unmerged_tasks(workspace)? {
        let kind = match state {
            UnmergedState::Mergeable(merge) if merge.conflicts.is_empty() => Kind::Mergeable,
            UnmergedState::Mergeable(_) => Kind::Disputed,
            UnmergedState::OneSided(_) => Kind::OneSided,
            UnmergedState::Removed => Kind::Removed,
            UnmergedState::EditedByHand => Kind::EditedByHand,
            UnmergedState::Confused(_) => Kind::Confused,
            UnmergedState::NoRules => Kind::NoRules,
        };
        if matches!(kind, Kind::Confused | Kind::Mergeable) {
            unreadable.retain(|own| own.path != path && !others.contains(&own.path));
        }
        if unreadable.iter().all(|own| own.path != path) {
            files.entry(kind).or_default().push(path);
        }
    }
    Ok(files.iter().map(|(kind, paths)| kind.issue(paths)).collect())
}

impl Kind {
    fn issue(self, paths: &[String]) -> Issue {
        let names: Vec<String> = paths.iter().map(|path| format!("`{path}`")).collect();
        let names = some(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let named = all_quoted(paths.iter().map(String::as_str));
        let (is, has, them) =
            if paths.len() == 1 { ("is", "has", "it") } else { ("are", "have", "them") };
        let (problem, fix) = match self {
            Self::Confused => (
                format!(
                    "{names} {is} not merged: git took the file of one task for that of another, renamed"
                ),
                format!(
                    "`git restore --source=HEAD --staged --worktree {named}` brings {them} back; what came in is still where it came from"
                ),
            ),
            Self::OneSided => (
                format!("{names} {is} not merged and {has} nothing of what one side did"),
                format!(
                    "`aof merge-driver --settle` merges {them}; whoever adds or commits {them} now takes back what that side did. \
                     See that git finds `aof` in its `PATH`: `aof doctor`"
                ),
            ),
            Self::Mergeable => (
                format!("{names} {is} unmerged, and nobody has to decide anything"),
                format!("`aof merge-driver --settle` merges {them} by meaning and stages {them}"),
            ),
            Self::Disputed => (
                format!("{names} {is} unmerged"),
                format!(
                    "`aof merge-driver --settle` merges {them} by meaning, and marks what you have to decide"
                ),
            ),
            Self::Removed => (
                format!("{names}: one side changed {them}, and the other removed {them}"),
                format!(
                    "keep {them} with `git add {named}`, or let {them} go with `git rm {named}`; a history that goes is found by \
                     `aof verify`"
                ),
            ),
            Self::EditedByHand => (
                format!("{names} {is} unmerged, and somebody has changed {them} by hand"),
                format!(
                    "when all is solved, `git add {named}`; or begin anew with `git checkout --merge {named}`"
                ),
            ),
            Self::NoRules => (
                format!(
                    "{names} {is} unmerged, and the branch that is merged into has no rules that are valid"
                ),
                format!("solve {them} by hand, then `git add {named}`"),
            ),
        };
        Issue::new("task_unmerged", problem, fix)
    }
}
