//! The inbox: completion files that wait, lie elsewhere, or were refused, and whether somebody takes them.

use std::path::Path;

use super::git;
use super::rules;
use crate::domain::project::some;
use crate::health::subject::{Found, Subject};
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;
use crate::storage::inbox::{FileClass, Witnessed};
use crate::storage::layout::INBOX;
use crate::storage::{Inbox, Paths};
use crate::tasks::inbox::pending::{refused, waiting};

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    let workspace = subject.workspace;
    let mut issues = Vec::new();
    if subject.project().is_some() {
        let mut halting = git::busy(subject)?;
        halting.extend(rules::own_folder(subject)?);
        let is_halted = subject.busy.is_some()
            || halting.iter().any(|own| matches!(own.code, "own_folder_in_git" | "git_fails"));
        issues.extend(waiting(workspace, is_halted));
        issues.extend(astray(workspace));
    }
    if subject.is_doctor() || subject.project().is_some() {
        issues.extend(match refused(workspace) {
            Err(error) if !subject.is_doctor() => {
                let fix = "make it a folder that you may read".to_owned();
                Some(Issue::new(error.code(), error.problem(), error.fix().unwrap_or(fix)))
            }
            found => found?,
        });
    }
    Ok(issues)
}

/// Commands work without a watcher; dropped files do not.
pub(crate) fn watcher(subject: &Subject<'_>) -> Found {
    if subject.watcher || subject.project().is_none() {
        return Ok(Vec::new());
    }
    let waits = |issue: &Issue| matches!(issue.code, "inbox_waiting" | "inbox_kept_back");
    if subject.is_doctor() && !check(subject)?.iter().any(waits) {
        return Ok(Vec::new());
    }
    let fix =
        "start one with `aof watch`; without it, commands work but dropped files and edits wait";
    Ok(vec![Issue::new("no_watcher", "no watcher is running", fix)])
}

/// Says which files lie in an inbox that is not the project's, of the folders around it.
fn astray(workspace: &Workspace) -> Vec<Issue> {
    let own = workspace.paths.root();
    let mut folders = vec![workspace.checkout.clone()];
    folders.extend(workspace.paths.around().map(|around| around.root().to_owned()));
    folders.dedup();
    folders
        .iter()
        .filter(|folder| folder.as_path() != own)
        .filter_map(|folder| astray_in(workspace, folder))
        .collect()
}

fn astray_in(workspace: &Workspace, folder: &Path) -> Option<Issue> {
    let paths = Paths::of_checkout(folder);
    // Where nobody may look, nobody is told to look.
    let dropped = Inbox::of(&paths).scan(workspace.clock()(), &|_| Witnessed::Renamed).ok()?;
    let dropped = dropped.into_iter().filter(|candidate| candidate.class != FileClass::Ignored);
    let names: Vec<String> = dropped.map(|candidate| candidate.file.name).collect();
    let shown: Vec<&str> = names.iter().map(String::as_str).collect();
    let lie = if names.len() == 1 { "completion file lies" } else { "completion files lie" };
    (!names.is_empty()).then(|| {
        Issue::new(
            "inbox_astray",
            format!(
                "{} {lie} in `{}`, where nobody takes them: {}",
                names.len(),
                folder.join(INBOX).display(),
                some(&shown)
            ),
            format!(
                "the project lives on a branch of its own; move them into `{}`",
                workspace.paths.inbox().display()
            ),
        )
    })
}
