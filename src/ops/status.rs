//! The project at a glance, and what needs somebody's attention.

use std::collections::BTreeMap;

use super::deliver::pending;
use super::error::OpsError;
use super::headers::{Scope, read_all};
use super::in_force::Notice;
use super::standing::{Pending, Standing};
use super::workspace::Workspace;
use crate::format::task_file::Origin;
use crate::model::{Status, TaskId};
use crate::store::FileStat;

/// The project at a glance.
pub struct Overview {
    /// What the project is called.
    pub name: Option<String>,
    /// The branch that changes are committed to; nothing while none can be.
    pub branch: Option<String>,
    /// How many active tasks there are, by status.
    pub counts: BTreeMap<String, usize>,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Attention>,
}

/// Something that somebody should see to.
#[derive(Debug, Clone, PartialEq)]
pub struct Attention {
    /// What kind it is: stable, for JSON.
    pub code: &'static str,
    /// What is the matter.
    pub problem: String,
    /// What to do.
    pub fix: String,
}

/// Returns the project at a glance. `watcher` says whether a watcher runs, as the door that starts it knows.
pub fn overview(workspace: &Workspace, watcher: bool) -> Result<Overview, OpsError> {
    let mut attention = Vec::new();
    let head = match workspace.head_now() {
        Ok(head) => Some(head),
        Err(error) => {
            attention.push(Attention {
                code: "git_busy",
                problem: format!("nothing can be committed: {error}"),
                fix: "changes wait until that is done; dropped files stay in the inbox".to_owned(),
            });
            None
        }
    };
    let Some(head) = head else {
        return Ok(Overview { name: None, branch: None, counts: BTreeMap::new(), attention });
    };
    let in_force = super::in_force::in_force(&workspace.repository, &head)?;
    for notice in &in_force.notices {
        attention.push(of_notice(notice));
    }
    let listing = read_all(workspace, &in_force, Scope::Active)?;
    let mut counts = BTreeMap::new();
    for (header, _) in &listing.tasks {
        *counts.entry(header.status.clone()).or_default() += 1;
        if header.status == Status::Blocked.as_str() {
            attention.push(Attention {
                code: "task_blocked",
                problem: format!("{} is blocked: {}", header.id, header.blockers.join("; ")),
                fix: format!("see `aof why {}`; then `aof task unblock {}`", header.id, header.id),
            });
        }
    }
    for file in &listing.unreadable {
        attention.push(Attention {
            code: "unreadable_task",
            problem: format!("`{}` cannot be read: {}", file.path, file.reason),
            fix: format!("mend it, or bring back what was committed: `git restore --source=HEAD {}`", file.path),
        });
    }
    uncommitted_tasks(workspace, &mut attention)?;
    let waiting = pending(workspace)?;
    if waiting > 0 {
        attention.push(Attention {
            code: "inbox_waiting",
            problem: format!(
                "{waiting} completion {} in `.aof/inbox`",
                if waiting == 1 { "file waits" } else { "files wait" }
            ),
            fix: "`aof watch` takes them as they come; `aof watch --once` takes them now".to_owned(),
        });
    }
    if workspace.paths.intent().exists() {
        attention.push(Attention {
            code: "unfinished_write",
            problem: "a command was stopped in the middle of a change".to_owned(),
            fix: "the next command that changes a task finishes it".to_owned(),
        });
    }
    if !watcher {
        attention.push(Attention {
            code: "no_watcher",
            problem: "no watcher is running".to_owned(),
            fix: "start one with `aof watch`; without it, commands work but dropped files and edits wait".to_owned(),
        });
    }
    Ok(Overview {
        name: in_force.rules.project.name.clone(),
        branch: Some(head.branch().to_owned()),
        counts,
        attention,
    })
}

fn of_notice(notice: &Notice) -> Attention {
    match notice {
        Notice::Uncommitted(files) => Attention {
            code: "rules_not_committed",
            problem: format!("{} differs from what is committed, and the committed rules count", files.join(", ")),
            fix: format!("commit it to bring it into force: `git commit -m \"rules\" -- {}`", files.join(" ")),
        },
        Notice::Superseded { commit, diagnostics } => Attention {
            code: "workflow_config_invalid",
            problem: format!(
                "the committed rules are invalid ({}); those of commit {} stay in force",
                diagnostics.first().map(|first| first.message.clone()).unwrap_or_default(),
                &commit.to_string()[..7]
            ),
            fix: "see `aof workflow validate`, mend them, and commit".to_owned(),
        },
    }
}

/// Tasks whose file is not what HEAD has: hand-made ones, edits, and what nobody may have done.
fn uncommitted_tasks(workspace: &Workspace, attention: &mut Vec<Attention>) -> Result<(), OpsError> {
    let (mut edited, mut new): (Vec<TaskId>, Vec<TaskId>) = (Vec::new(), Vec::new());
    for (id, _) in changed_files(workspace)? {
        let standing = match Standing::read(workspace, &id) {
            Ok(standing) => standing,
            // Files that cannot be read are told of already.
            Err(_) => continue,
        };
        match (&standing.pending, standing.file.origin) {
            (Pending::Foreign(fields), _) => attention.push(Attention {
                code: "task_frozen",
                problem: format!("{id} was changed by hand in what the engine keeps: {}", fields.join(", ")),
                fix: format!(
                    "see `git diff HEAD -- {0}`; take it back with `git restore --source=HEAD {0}`",
                    standing.snapshot.path
                ),
            }),
            (_, Origin::HandMade) => new.push(id),
            (Pending::Version(_), _) => edited.push(id),
            (Pending::Nothing, _) => {}
        }
    }
    for (code, ids, what) in
        [("not_adopted", new, "stand at no gate yet"), ("not_committed", edited, "are not committed")]
    {
        if !ids.is_empty() {
            let names: Vec<String> = ids.iter().take(5).map(ToString::to_string).collect();
            attention.push(Attention {
                code,
                problem: format!("{} hand-written task changes {what}: {}", ids.len(), names.join(", ")),
                fix: "`aof watch` takes them up after a moment; `aof watch --once` does it now".to_owned(),
            });
        }
    }
    Ok(())
}

/// Returns the active task files that differ from HEAD's, by content.
fn changed_files(workspace: &Workspace) -> Result<Vec<(TaskId, FileStat)>, OpsError> {
    let head = workspace.head()?;
    let committed: std::collections::HashMap<String, _> = match head.commit {
        Some(commit) => {
            workspace.repository.list(commit, "tasks")?.into_iter().map(|file| (file.path, file.id)).collect()
        }
        None => std::collections::HashMap::new(),
    };
    let mut changed = Vec::new();
    for entry in crate::store::tasks::walk_active(&workspace.paths) {
        let crate::store::tasks::Entry::Task(entry) = entry else { continue };
        let Ok(snapshot) = crate::store::tasks::read(&workspace.paths, &entry.path) else { continue };
        let blob = workspace.repository.hash_blob(&snapshot.bytes);
        if committed.get(entry.path.as_str()) != Some(&blob) || hand_made(&snapshot.bytes) {
            changed.push((entry.id, entry.stat));
        }
    }
    Ok(changed)
}

/// A committed file without a gate waits to be adopted too; the word alone is looked for, the reader judges.
fn hand_made(bytes: &[u8]) -> bool {
    !bytes.windows(6).any(|window| window == b"\ngate:")
}
