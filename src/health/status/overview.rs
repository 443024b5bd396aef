//! The project at a glance, and what needs somebody's attention.

use std::collections::{BTreeMap, HashMap};

use serde_json::{Value, json};

use super::gone::missing_files;
use super::uncommitted::uncommitted_tasks;
use super::undelivered::undelivered;
use super::unreadable::of_unreadable;
use crate::domain::issue::{Attention, some};
use crate::git::{GitError, Head, ObjectId};
use crate::health::points::duplicate_files::of_doubled;
use crate::health::points::edited_archive::archived;
use crate::health::points::git::{
    left_locks, no_driver, no_identity, of_index, of_index_behind, own_folder,
};
use crate::health::points::orphaned_companions::stayed as of_stayed;
use crate::health::points::rules::{no_rules, of_remark, of_rules};
use crate::health::points::stray_completions::astray;
use crate::health::points::tasks::{behind, misplaced, of_dependencies, of_task};
use crate::history::lost_steps::{taken_back, told};
use crate::history::stale_index::Apart;
use crate::history::sync::standing::{RemoteStanding, remote_standing, remote_value};
use crate::history::unmerged::unmerged;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::journal;
use crate::storage::tasks::orphaned_companions::stayed;
use crate::tasks::headers::listing::{Scope, read_all};
use crate::tasks::headers::owed::is_drifted;
use crate::tasks::inbox::backlog::waiting;
use crate::tasks::inbox::refused::refused;
use crate::tasks::state::misplaced_files::moved_by_hand;

use super::gone::is_gone;

/// The project at a glance.
pub(crate) struct Overview {
    /// What the project is called.
    pub name: Option<String>,
    /// The branch that changes are committed to; nothing while none can be.
    pub branch: Option<String>,
    /// How it stands to its remote, if it has one.
    pub remote: Option<RemoteStanding>,
    /// How many active tasks there are, by status.
    pub counts: BTreeMap<String, usize>,
    /// How many of them came where they are under earlier rules.
    pub drifted: usize,
    /// What needs attention, the most urgent first.
    pub attention: Vec<Attention>,
}

/// Returns the project at a glance. `watcher` says whether a watcher runs, as the door that starts it knows.
#[expect(clippy::too_many_lines, reason = "to be split by its steps")]
pub(crate) fn overview(workspace: &Workspace, watcher: bool) -> Result<Overview, OpsError> {
    let mut attention = Vec::new();
    let head = workspace.repository.look()?;
    let busy = workspace.head_now().err();
    attention.extend(busy.as_ref().map(of_busy));
    let index_fault = workspace.repository.index_fault();
    let has_index = index_fault.is_none();
    attention.extend(index_fault.map(of_index));
    attention.extend(left_locks(workspace));
    attention.extend(no_identity(workspace));
    if has_index {
        attention.extend(own_folder(workspace));
    }
    let branch = (head.reference != "HEAD").then(|| head.branch().to_owned());
    let in_force = match crate::project::active_rules::in_force_and_seen(workspace, &head) {
        Ok(in_force) => in_force,
        Err(error @ (OpsError::InvalidRules(_) | OpsError::Unfit { .. } | OpsError::Store(_))) => {
            attention.push(of_rules(&error));
            return Ok(Overview {
                name: None,
                branch,
                remote: None,
                counts: BTreeMap::new(),
                drifted: 0,
                attention,
            });
        }
        Err(error) => return Err(error),
    };
    for remark in &in_force.remarks {
        attention.extend(of_remark(workspace, remark));
    }
    attention.extend(no_rules(workspace, &in_force)?);
    let mut listing = read_all(workspace, &in_force, Scope::Active);
    listing.tasks.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
    let mut counts = BTreeMap::new();
    for (header, _) in &listing.tasks {
        *counts.entry(header.status.clone()).or_default() += 1;
        attention.extend(of_task(&in_force.rules, header));
    }
    let drifted =
        listing.tasks.iter().filter(|(header, _)| is_drifted(&in_force.rules, header)).count();
    attention.extend(behind(&in_force.rules, &listing));
    attention.extend(of_dependencies(workspace, &in_force, &listing));
    let committed = committed_files(workspace, &head)?;
    if has_index {
        attention.extend(unmerged(workspace, &mut listing.unreadable)?);
    }
    let stayed = stayed(&workspace.paths);
    // What never was beside a task may be one, by a wrong name.
    listing.beside.retain(|file| stayed.iter().all(|stayed| stayed.path.as_str() != file.path));
    listing.unreadable.append(&mut listing.beside);
    attention.extend(of_doubled(workspace, &head, &mut listing.unreadable));
    attention.extend(of_unreadable(&listing.unreadable));
    let name = in_force.rules.project.name.clone();
    // In the middle of a merge, what differs from HEAD is git's to tell.
    if busy.is_none() {
        let moved = moved_by_hand(workspace, &committed, &|path| {
            !is_gone(&path.below(workspace.paths.root()))
        });
        attention.extend(misplaced(&listing, &moved));
        missing_files(workspace, &committed, &mut attention);
        uncommitted_tasks(workspace, &in_force, &committed, &listing, &mut attention);
        attention.extend(of_stayed(workspace, &stayed, some)?);
        if has_index {
            // Where git cannot be asked, whatever cannot do without it says so.
            let apart = Apart::read(workspace).unwrap_or_default();
            attention.extend(archived(workspace, &committed, &apart)?);
            attention.extend(of_index_behind(&apart));
        }
        // Whatever cannot do without history says what is wrong with it.
        let lost = taken_back(workspace, &head).unwrap_or_default();
        attention.extend(lost.iter().map(|one| told(workspace, one, &head)));
    }
    let is_halted = busy.is_some()
        || attention.iter().any(|point| matches!(point.code, "own_folder_in_git" | "git_fails"));
    attention.extend(waiting(workspace, is_halted));
    attention.extend(astray(workspace));
    attention.extend(refused(workspace).unwrap_or_else(|error| Some(unread(&error))));
    if has_index {
        attention.extend(no_driver(workspace)?);
    }
    undelivered(workspace, &mut attention)?;
    if journal::is_pending(&workspace.paths) {
        attention.push(Attention {
            code: "unfinished_write",
            problem: "a command was stopped in the middle of a change".to_owned(),
            fix: "the next command that changes a task finishes it, or takes it back".to_owned(),
        });
    }
    if !watcher {
        attention.push(Attention {
            code: "no_watcher",
            problem: "no watcher is running".to_owned(),
            fix: "start one with `aof watch`; without it, commands work but dropped files and edits wait".to_owned(),
        });
    }
    let remote = match &branch {
        Some(_) => remote_standing(workspace, &head, &in_force)?,
        None => None,
    };
    if let Some((code, problem, fix)) = remote.as_ref().and_then(RemoteStanding::attention) {
        attention.push(Attention { code, problem, fix });
    }
    for point in &mut attention {
        for text in [&mut point.problem, &mut point.fix] {
            *text = workspace.git_words.said(std::mem::take(text));
        }
    }
    Ok(Overview { name, branch, remote, counts, drifted, attention })
}

/// Returns the project at a glance as `--json` shows it.
pub(crate) fn overview_value(overview: &Overview) -> Value {
    let attention: Vec<Value> = overview
        .attention
        .iter()
        .map(|point| json!({"code": point.code, "problem": point.problem, "fix": point.fix}))
        .collect();
    json!({
        "project": overview.name,
        "branch": overview.branch,
        "remote": overview.remote.as_ref().map(remote_value),
        "counts": overview.counts,
        "drifted": overview.drifted,
        "attention": attention,
    })
}

fn of_busy(error: &GitError) -> Attention {
    Attention {
        code: "git_busy",
        problem: format!("nothing can be committed: {error}"),
        fix: "changes wait until that is done; dropped files stay in the inbox".to_owned(),
    }
}

fn unread(error: &OpsError) -> Attention {
    let fix = error.fix().unwrap_or_else(|| "make it a folder that you may read".to_owned());
    Attention { code: error.code(), problem: error.problem(), fix }
}

/// Returns what HEAD has below `tasks/`.
fn committed_files(
    workspace: &Workspace,
    head: &Head,
) -> Result<HashMap<String, ObjectId>, OpsError> {
    let Some(commit) = head.commit else { return Ok(HashMap::new()) };
    Ok(workspace
        .repository
        .list(commit, "tasks")?
        .into_iter()
        .map(|file| (file.path, file.id))
        .collect())
}
