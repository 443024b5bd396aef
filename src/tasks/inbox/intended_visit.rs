//! Which visit a completion file means that does not say so itself: the one that is open when its task is first read, as for every
//! completion. What has to wait keeps that, and what is dropped twice says it twice; neither ever counts for the next gate.
//!
//! Where the task's file cannot be read, HEAD tells which visit is open: no clock, and no time of a file. Nor does any tell whether a
//! second word was dropped before the first had counted: the inbox is looked at before anybody can see that it has.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use crate::domain::{AgentId, Completion, Layout, TaskId, Ticket};
use crate::files::task_file;
use crate::git::ObjectId;
use crate::project::active_rules::in_force;
use crate::project::workspace::Workspace;
use crate::rules::branch_of;
use crate::storage::inbox::Meant;
use crate::storage::layout::task_path;
use crate::storage::{Inbox, StoreError};

/// How much is remembered of earlier goes.
const MOST: usize = 10_000;

/// What was said, by whom. What is said in one go was all dropped before any of it counted; of a file of a later go tells whether it
/// lay in the inbox then.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    said: HashMap<(TaskId, AgentId), Said>,
    go: u64,
    /// How often the inbox was looked at.
    looks: u64,
    /// What lay in it at the last look, and at which look first: names, and numbers on the file system.
    lying: HashMap<(OsString, u64), u64>,
}

/// A visit that somebody spoke of.
#[derive(Debug)]
struct Said {
    ticket: Ticket,
    /// Whether it was said which branch is meant.
    names_branch: bool,
    /// In which go it was.
    go: u64,
    /// The last look before it counted.
    look: u64,
}

impl Heard {
    /// Begins another go.
    pub(crate) fn begin(&mut self) {
        self.go += 1;
        if self.said.len() > MOST {
            self.said.clear();
        }
    }

    /// Looks at what lies in the inbox, before something counts. Returns which look it was.
    pub(crate) fn look(&mut self, inbox: &Inbox<'_>) -> Result<u64, StoreError> {
        self.looks += 1;
        let before = std::mem::take(&mut self.lying);
        for lying in inbox.lying()? {
            let first = before.get(&lying).copied().unwrap_or(self.looks);
            self.lying.insert(lying, first);
        }
        Ok(self.looks)
    }

    /// Returns at which look a file first lay in the inbox; nothing for one that was dropped after the last.
    pub(crate) fn first_seen(&self, name: &OsStr, inode: u64) -> Option<u64> {
        self.lying.get(&(name.to_owned(), inode)).copied()
    }

    /// Notes the visit that a completion was taken for, whether it said itself which one it means, and the last look before it
    /// counted: 0 where it does not count yet.
    pub(crate) fn note(&mut self, completion: &Completion, names_visit: bool, look: u64) {
        let ticket = completion.ticket.clone();
        if ticket.visit.is_some() {
            let names_branch = names_visit && ticket.branch.is_some();
            let said = Said { ticket: ticket.clone(), names_branch, go: self.go, look };
            self.said.insert((ticket.task, completion.agent.clone()), said);
        }
    }

    /// Has a completion mean the visit of which its agent has spoken, unless it names one itself, or was dropped after that had
    /// counted, so first seen at a later look, or at none.
    pub(crate) fn bind(&self, completion: &mut Completion, first_seen: Option<u64>) {
        let ticket = &mut completion.ticket;
        if ticket.visit.is_none()
            && let Some(said) = self.said.get(&(ticket.task.clone(), completion.agent.clone()))
            && (said.go == self.go || first_seen.is_some_and(|seen| seen <= said.look))
        {
            // Who names a branch once, and none then, does not mean the same one.
            let branch = said.ticket.branch.clone().filter(|_| !said.names_branch);
            *ticket = Ticket { branch, ..said.ticket.clone() };
        }
    }
}

/// Has a completion mean the visit that it was found to mean before, unless it names one itself.
pub(crate) fn bind(completion: &mut Completion, meant: Option<&Meant>) {
    let ticket = &mut completion.ticket;
    if let (None, Some(meant)) = (ticket.visit, meant) {
        ticket.visit = Some(meant.visit);
        ticket.branch.clone_from(&meant.branch);
    }
}

/// Returns the visit that a completion means which has to wait; nothing where none is open, or where nobody can tell.
pub(crate) fn meant(workspace: &Workspace, completion: &Completion) -> Option<Meant> {
    let ticket = &completion.ticket;
    if let Some(visit) = ticket.visit {
        return Some(Meant { visit, branch: ticket.branch.clone() });
    }
    let head = workspace.repository.look().ok()?;
    let in_force = in_force(workspace, &head).ok()?;
    let content = workspace.repository.read_blob(committed(workspace, &ticket.task)?).ok()?;
    let task =
        task_file::parse(&content, &ticket.task, &in_force.defaults(workspace.now())).ok()?.task;
    let visit = task.gate.as_ref()?.visit;
    Some(Meant { visit, branch: branch_of(&in_force.rules, &task, &completion.agent) })
}

/// Returns HEAD's version of a task; nothing where it has none, or several.
fn committed(workspace: &Workspace, id: &TaskId) -> Option<ObjectId> {
    let repository = &workspace.repository;
    let commit = repository.look().ok()?.commit?;
    let usual = [Layout::Flat, Layout::Sharded].map(|layout| task_path(id, layout));
    let mut found =
        usual.iter().filter_map(|path| repository.blob_id(commit, path.as_str()).ok()?);
    if let Some(version) = found.next() {
        return found.next().is_none().then_some(version);
    }
    // People may sort their tasks into folders.
    let name = format!("{id}.md");
    let files = repository.list(commit, "tasks").ok()?;
    let mut found = files.into_iter().filter(|file| file.path.rsplit('/').next() == Some(&name));
    found.next().filter(|_| found.next().is_none()).map(|file| file.id)
}
