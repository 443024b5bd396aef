//! Whether git knows how to merge tasks: by their meaning, and not as text.

use std::path::Path;

use crate::git::is_program_there;
use crate::health::doctor::{Complaint, Patient};
use crate::history::merge_driver::attributes::is_held;
use crate::history::merge_driver::hook::Idle;
use crate::history::merge_driver::install::{Missing, install, missing};
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::system::shell::quoted;

pub(crate) fn look(patient: &Patient<'_>) -> Result<Vec<Complaint>, OpsError> {
    let mut lacking = Vec::new();
    let mut complaints = Vec::new();
    let mut lacks_hook = false;
    for missing in missing(patient.workspace)? {
        match missing {
            Missing::Attributes if is_held(patient.workspace)? => {
                complaints.push(held_attributes());
            }
            Missing::Attributes => lacking.push(LINE),
            Missing::Driver => {
                lacking.push("the command in git's configuration (`merge.aof.driver`)");
            }
            Missing::Hook => lacks_hook = true,
            Missing::HookEnds => {
                let name = "the hook `prepare-commit-msg`";
                complaints.push(
                    wrong_ends(name, "`aof doctor --fix` writes it anew".to_owned())
                        .cured_by(put_in_place),
                );
            }
            Missing::ForeignHook { path, line, idle } => {
                complaints.push(foreign_hook(&path, line, idle));
            }
        }
    }
    if !is_program_there("aof") {
        complaints.push(Complaint::wrong(
            "merge_driver_not_found",
            "no folder of `PATH` has `aof`, so git cannot run it when it merges".to_owned(),
            "a task that both sides changed is left as ours alone, without a marker: whoever adds it loses what the other side did",
            "put `aof` into a folder of `PATH`, as git sees it; `aof merge-driver --settle` merges what was left".to_owned(),
        ));
    }
    if lacking.is_empty() && lacks_hook {
        let complaint = Complaint::advice(
            "merge_hook_missing",
            "the hook `prepare-commit-msg` is not as aof makes it".to_owned(),
            WITHOUT_HOOK,
            "`aof doctor --fix` puts it in place".to_owned(),
        );
        complaints.push(complaint.cured_by(put_in_place));
    } else if !lacking.is_empty() {
        if lacks_hook {
            lacking.push("the hook `prepare-commit-msg`");
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
    Ok(complaints)
}

/// What lacks where git does not ask for the driver.
const LINE: &str = "the line `tasks/**/*.md merge=aof -text` in `.gitattributes`";

/// What goes without the driver.
const AS_TEXT: &str = "two branches that moved the same task conflict as text, and the task waits until somebody solves that by hand";

/// What goes without a hook.
const WITHOUT_HOOK: &str = "a merge then does not list in its message which completions it superseded, and a rebase does not stop at \
                            a completion that counts no more";

/// What somebody is at is theirs to commit first.
fn held_attributes() -> Complaint {
    Complaint::wrong(
        "merge_driver_missing",
        format!("git does not merge tasks by their meaning; missing: {LINE}, which has changes that are not committed"),
        AS_TEXT,
        "commit them, or take them back; then `aof doctor --fix` adds the line, in a commit of its own".to_owned(),
    )
}

/// Where people say which hooks run, aof writes none.
fn foreign_hook(path: &Path, line: &str, idle: Option<Idle>) -> Complaint {
    let name = path.display();
    let file = path.to_string_lossy();
    if idle == Some(Idle::Ends) {
        let plain = format!("{file}.plain");
        let (file, plain) = (quoted(&file), quoted(&plain));
        let fix = format!("`tr -d '\\r' < {file} > {plain} && cat {plain} > {file} && rm {plain}`");
        return wrong_ends(&format!("the hook `{name}`"), fix);
    }
    let folder = path.parent();
    let (problem, fix) = if idle.is_some() {
        let problem = format!("git does not run the hook `{name}`, which is not executable");
        (problem, format!("`chmod +x {}`", quoted(&file)))
    } else if folder.is_some_and(|folder| folder.exists() && !folder.is_dir()) {
        let problem = format!(
            "git looks for hooks where no folder is (`core.hooksPath`), so none runs: `{name}`"
        );
        (
            problem,
            format!("have it look in a folder, where `prepare-commit-msg` has this line: `{line}`"),
        )
    } else if path.exists() {
        let problem = format!("the hook `{name}` is not aof's, and does not call it");
        (
            problem,
            format!(
                "add this line to it, before it ends or goes on elsewhere (`exit`, `exec`): `{line}`"
            ),
        )
    } else {
        let problem =
            format!("there is no hook `{name}`, where git looks for hooks here (`core.hooksPath`)");
        let file = quoted(&file);
        let folder = folder.filter(|folder| !folder.exists());
        let make = folder.map_or_else(String::new, |folder| {
            format!("mkdir -p {} && ", quoted(&folder.to_string_lossy()))
        });
        let write = format!(
            "{make}printf '%s\\n' '#!/bin/sh' {} > {file} && chmod +x {file}",
            quoted(line)
        );
        (problem, format!("make it, with this line: `{line}`; that is `{write}`"))
    };
    Complaint::advice("merge_hook_missing", problem, WITHOUT_HOOK, fix)
}

fn wrong_ends(hook: &str, fix: String) -> Complaint {
    let problem =
        format!("{hook} has lines that end as on Windows (CRLF), with which it cannot be run");
    Complaint::wrong(
        "merge_hook_ends",
        problem,
        "`git commit` ends at it, or no merge lists what it superseded: the carriage return counts as part of the line",
        fix,
    )
}

fn put_in_place(workspace: &mut Workspace) -> Result<(), OpsError> {
    let left = install(workspace)?;
    if left.contains(&Missing::Attributes) {
        return Err(OpsError::Unfit {
            code: "merge_driver_missing",
            problem: "`.gitattributes` has changes that are not committed".to_owned(),
            fix: "commit them, then run `aof doctor --fix` again".to_owned(),
        });
    }
    Ok(())
}
