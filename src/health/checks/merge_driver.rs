//! Whether git knows how to merge tasks by meaning, and checks commits.

use std::path::PathBuf;

use crate::git::is_program_there;
use crate::health::subject::{Found, Subject};
use crate::history::merge_driver::setup::HOOK_LINE;
use crate::history::merge_driver::setup::is_held;
use crate::history::merge_driver::setup::{install, missing};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::Workspace;

/// The line without which git does not ask for the driver.
const LINE: &str = "the line `tasks/**/*.md merge=aof -text` in `.gitattributes`";

pub(crate) fn check(subject: &Subject<'_>) -> Found {
    if subject.is_doctor() {
        return look_through(subject.workspace);
    }
    if subject.project().is_none() || subject.index_fault.is_some() {
        return Ok(Vec::new());
    }
    // Where a clone does not know the driver that its files ask for, git merges them as text and says nothing.
    let missing = missing(&subject.workspace.repository)?;
    let problem = "git merges tasks as text in this clone: its configuration does not know the merge driver of `.gitattributes`";
    let issue = Issue::new("merge_driver_missing", problem, "`aof doctor --fix` puts it in place");
    Ok(Some(issue).filter(|_| missing.driver && !missing.attributes).into_iter().collect())
}

fn look_through(workspace: &Workspace) -> Found {
    let missing = missing(&workspace.repository)?;
    let mut issues = Vec::new();
    let mut lacking = Vec::new();
    if missing.attributes && is_held(workspace)? {
        issues.push(Issue::new(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {LINE}, which has changes that are not committed"),
            "commit them, or take them back; then `aof doctor --fix` adds the line, in a commit of its own",
        ));
    } else if missing.attributes {
        lacking.push(LINE);
    }
    if missing.driver {
        lacking.push("the command in git's configuration (`merge.aof.driver`)");
    }
    let hooks = named(&missing.hooks.ours);
    let advice =
        |problem: String, fix: String| Issue::new("merge_hook_missing", problem, fix).advice();
    if !lacking.is_empty() {
        if !missing.hooks.ours.is_empty() {
            lacking.push(&hooks);
        }
        let issue = Issue::new(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {}", lacking.join(", ")),
            "`aof doctor --fix` puts it in place; `.gitattributes` in a commit of its own",
        );
        issues.push(issue.cured_by(put_in_place));
    } else if !missing.hooks.ours.is_empty() {
        let problem = format!("git's hooks are not as aof makes them: {hooks}");
        let fix = "`aof doctor --fix` puts them in place".to_owned();
        issues.push(advice(problem, fix).cured_by(put_in_place));
    }
    if !is_program_there("aof") {
        issues.push(Issue::new(
            "merge_driver_not_found",
            "no folder of `PATH` has `aof`, so git cannot run it when it merges",
            "put `aof` into a folder of `PATH`, as git sees it; `aof merge-driver --settle` merges what was left",
        ));
    }
    if let Some(former) = &missing.hooks.former {
        let problem = format!(
            "the hook `{}` of an earlier version of aof does nothing any more",
            former.display()
        );
        let fix = "`aof doctor --fix` removes it".to_owned();
        issues.push(advice(problem, fix).cured_by(put_in_place));
    }
    if !missing.hooks.foreign.is_empty() {
        let problem =
            format!("hooks that are not aof's do not call it: {}", named(&missing.hooks.foreign));
        let fix = format!(
            "have each of them run `{HOOK_LINE}`, and make it executable; for `pre-commit` and other hook managers see docs/guides/merging.md"
        );
        issues.push(advice(problem, fix));
    }
    Ok(issues)
}

fn named(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    names.join(", ")
}

fn put_in_place(workspace: &mut Workspace) -> Result<(), ProjectError> {
    if install(workspace)? {
        return Ok(());
    }
    Err(ProjectError::Unfit {
        code: "merge_driver_missing",
        problem: "`.gitattributes` has changes that are not committed".to_owned(),
        fix: "commit them, then run `aof doctor --fix` again".to_owned(),
    })
}
