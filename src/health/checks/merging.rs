//! Whether git knows how to merge tasks by meaning, and checks commits.

use std::path::PathBuf;

use crate::git::is_program_there;
use crate::health::doctor::{Complaint, Patient};
use crate::history::merge_driver::attributes::is_held;
use crate::history::merge_driver::hooks::HOOK_LINE;
use crate::history::merge_driver::setup::{install, missing};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;

/// The line without which git does not ask for the driver.
const LINE: &str = "the line `tasks/**/*.md merge=aof -text` in `.gitattributes`";

const AS_TEXT: &str = "two branches that moved the same task conflict as text, and the task waits until somebody solves that by hand";

const WITHOUT_HOOK: &str = "a commit of an index or a worktree that is out of date then takes completions back, and nobody is told before \
                            `aof verify`";

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let missing = missing(&patient.workspace.repository)?;
    let mut complaints = Vec::new();
    let mut lacking = Vec::new();
    if missing.attributes && is_held(patient.workspace)? {
        complaints.push(Complaint::wrong(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {LINE}, which has changes that are not committed"),
            AS_TEXT,
            "commit them, or take them back; then `aof doctor --fix` adds the line, in a commit of its own".to_owned(),
        ));
    } else if missing.attributes {
        lacking.push(LINE);
    }
    if missing.driver {
        lacking.push("the command in git's configuration (`merge.aof.driver`)");
    }
    let hooks = named(&missing.hooks.ours);
    if !lacking.is_empty() {
        if !missing.hooks.ours.is_empty() {
            lacking.push(&hooks);
        }
        let complaint = Complaint::wrong(
            "merge_driver_missing",
            format!("git does not merge tasks by their meaning; missing: {}", lacking.join(", ")),
            AS_TEXT,
            "`aof doctor --fix` puts it in place; `.gitattributes` in a commit of its own"
                .to_owned(),
        );
        complaints.push(complaint.cured_by(put_in_place));
    }
    if !is_program_there("aof") {
        complaints.push(Complaint::wrong(
            "merge_driver_not_found",
            "no folder of `PATH` has `aof`, so git cannot run it when it merges".to_owned(),
            "a task that both sides changed is left as ours alone, without a marker: whoever adds it loses what the other side did",
            "put `aof` into a folder of `PATH`, as git sees it; `aof merge-driver --settle` merges what was left".to_owned(),
        ));
    }
    if lacking.is_empty() && !missing.hooks.ours.is_empty() {
        let problem = format!("git's hooks are not as aof makes them: {hooks}");
        let complaint = Complaint::advice(
            "merge_hook_missing",
            problem,
            WITHOUT_HOOK,
            "`aof doctor --fix` puts them in place".to_owned(),
        );
        complaints.push(complaint.cured_by(put_in_place));
    }
    if let Some(former) = &missing.hooks.former {
        let complaint = Complaint::advice(
            "merge_hook_missing",
            format!(
                "the hook `{}` of an earlier version of aof does nothing any more",
                former.display()
            ),
            "it only costs time",
            "`aof doctor --fix` removes it".to_owned(),
        );
        complaints.push(complaint.cured_by(put_in_place));
    }
    if !missing.hooks.foreign.is_empty() {
        complaints.push(Complaint::advice(
            "merge_hook_missing",
            format!("hooks that are not aof's do not call it: {}", named(&missing.hooks.foreign)),
            WITHOUT_HOOK,
            format!("have each of them run `{HOOK_LINE}`, and make it executable; for `pre-commit` and other hook managers see docs/merging.md"),
        ));
    }
    Ok(complaints)
}

fn named(paths: &[PathBuf]) -> String {
    let names: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    names.join(", ")
}

fn put_in_place(workspace: &mut Workspace) -> Result<(), OpsError> {
    if install(workspace)? {
        return Ok(());
    }
    Err(OpsError::Unfit {
        code: "merge_driver_missing",
        problem: "`.gitattributes` has changes that are not committed".to_owned(),
        fix: "commit them, then run `aof doctor --fix` again".to_owned(),
    })
}
