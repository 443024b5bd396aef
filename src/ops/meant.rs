//! Which visit a completion file means that does not say so itself: the one that is open when its task is first read, as for every
//! completion. What has to wait keeps that, and what is dropped twice says it twice; neither ever counts for the next gate.
//!
//! Where the task's file cannot be read, HEAD tells which visit is open: no clock, and no time of a file, which others may set.

use std::collections::HashMap;

use super::in_force::in_force;
use super::workspace::Workspace;
use crate::audit::ObjectId;
use crate::engine::branch_of;
use crate::format::task_file;
use crate::model::{AgentId, Completion, Layout, TaskId, Ticket};
use crate::store::inbox::Meant;
use crate::store::layout::task_path;

/// What was said in one go, by whom: all of it was dropped before any of it counted.
#[derive(Default)]
pub(super) struct Heard(HashMap<(TaskId, AgentId), Said>);

/// A visit that somebody spoke of.
struct Said {
    ticket: Ticket,
    /// Whether it was said which branch is meant.
    names_branch: bool,
}

impl Heard {
    /// Notes the visit that a completion was taken for, and whether it said itself which one it means.
    pub(super) fn note(&mut self, completion: &Completion, names_visit: bool) {
        let ticket = completion.ticket.clone();
        if ticket.visit.is_some() {
            let names_branch = names_visit && ticket.branch.is_some();
            self.0.insert((ticket.task.clone(), completion.agent.clone()), Said { ticket, names_branch });
        }
    }

    /// Has a completion mean the visit of which its agent has spoken, unless it names one itself.
    pub(super) fn bind(&self, completion: &mut Completion) {
        let ticket = &mut completion.ticket;
        if ticket.visit.is_none()
            && let Some(said) = self.0.get(&(ticket.task.clone(), completion.agent.clone()))
        {
            // Who names a branch once, and none then, does not mean the same one.
            let branch = said.ticket.branch.clone().filter(|_| !said.names_branch);
            *ticket = Ticket { branch, ..said.ticket.clone() };
        }
    }
}

/// Has a completion mean the visit that it was found to mean before, unless it names one itself.
pub(super) fn bind(completion: &mut Completion, meant: Option<&Meant>) {
    let ticket = &mut completion.ticket;
    if let (None, Some(meant)) = (ticket.visit, meant) {
        ticket.visit = Some(meant.visit);
        ticket.branch.clone_from(&meant.branch);
    }
}

/// Returns the visit that a completion means which has to wait; nothing where none is open, or where nobody can tell.
pub(super) fn meant(workspace: &Workspace, completion: &Completion) -> Option<Meant> {
    let ticket = &completion.ticket;
    if let Some(visit) = ticket.visit {
        return Some(Meant { visit, branch: ticket.branch.clone() });
    }
    let head = workspace.repository.look().ok()?;
    let in_force = in_force(workspace, &head).ok()?;
    let content = workspace.repository.read_blob(committed(workspace, &ticket.task)?).ok()?;
    let task = task_file::parse(&content, &ticket.task, &in_force.defaults(workspace.now())).ok()?.task;
    let visit = task.gate.as_ref()?.visit;
    Some(Meant { visit, branch: branch_of(&in_force.rules, &task, &completion.agent) })
}

/// Returns HEAD's version of a task; nothing where it has none, or several.
fn committed(workspace: &Workspace, id: &TaskId) -> Option<ObjectId> {
    let repository = &workspace.repository;
    let commit = repository.look().ok()?.commit?;
    let usual = [Layout::Flat, Layout::Sharded].map(|layout| task_path(id, layout));
    let mut found = usual.iter().filter_map(|path| repository.blob_id(commit, path.as_str()).ok()?);
    if let Some(version) = found.next() {
        return found.next().is_none().then_some(version);
    }
    // People may sort their tasks into folders.
    let name = format!("{id}.md");
    let files = repository.list(commit, "tasks").ok()?;
    let mut found = files.into_iter().filter(|file| file.path.rsplit('/').next() == Some(&name));
    found.next().filter(|_| found.next().is_none()).map(|file| file.id)
}
