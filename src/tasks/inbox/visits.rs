//! Which visit a completion file means that does not say so itself: the one that is open when its task is first read, as for every
//! completion. What has to wait keeps that, and what is dropped twice says it twice; neither ever counts for the next gate.
//!
//! No clock, and no time of a file, tells whether a second word was dropped before the first had counted. So the inbox is listed
//! before each batch, when nobody can see yet that anything of it counts.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};

use crate::domain::{AgentId, Completion, TaskId, Ticket};
use crate::files::task_file;
use crate::project::active_rules::in_force;
use crate::project::workspace::Workspace;
use crate::rules::branch_of;
use crate::storage::inbox::VisitMark;
use crate::storage::{Inbox, StoreError};

/// How much is remembered.
const MOST: usize = 10_000;

/// The visits that files were taken for, by task and agent.
#[derive(Debug, Default)]
pub(crate) struct DeliveredVisits {
    delivered: HashMap<(TaskId, AgentId), DeliveredVisit>,
    /// How often the inbox was listed.
    listings: u64,
    /// What lay in it at the last listing, and at which one first: names and inodes.
    present: HashMap<(OsString, u64), u64>,
}

#[derive(Debug)]
struct DeliveredVisit {
    ticket: Ticket,
    /// Whether the file itself named the branch.
    names_branch: bool,
    /// The last listing before it counted.
    listing: u64,
}

impl DeliveredVisits {
    /// Lists the inbox, before something counts. Returns the number of this listing.
    pub(crate) fn list(&mut self, inbox: &Inbox<'_>) -> Result<u64, StoreError> {
        if self.delivered.len() > MOST {
            self.delivered.clear();
        }
        self.listings += 1;
        let before = std::mem::take(&mut self.present);
        for present in inbox.names()? {
            let first = before.get(&present).copied().unwrap_or(self.listings);
            self.present.insert(present, first);
        }
        Ok(self.listings)
    }

    /// Returns the listing in which a file first lay in the inbox.
    pub(crate) fn first_seen(&self, name: &OsStr, inode: u64) -> u64 {
        self.present.get(&(name.to_owned(), inode)).copied().unwrap_or(self.listings)
    }

    /// Notes the visit that a completion was taken for, whether its file named the visit, and the last listing before it counted.
    pub(crate) fn note(&mut self, completion: &Completion, names_visit: bool, listing: u64) {
        let ticket = completion.ticket.clone();
        if ticket.visit.is_some() {
            let names_branch = names_visit && ticket.branch.is_some();
            let key = (ticket.task.clone(), completion.agent.clone());
            self.delivered.insert(key, DeliveredVisit { ticket, names_branch, listing });
        }
    }

    /// Has a completion mean the visit that its agent has completed, unless it names one itself, or was dropped after that had counted.
    pub(crate) fn bind(&self, completion: &mut Completion, first_seen: u64) {
        let ticket = &mut completion.ticket;
        if ticket.visit.is_none()
            && let Some(known) =
                self.delivered.get(&(ticket.task.clone(), completion.agent.clone()))
            && first_seen <= known.listing
        {
            // Who names a branch once, and none then, does not mean the same one.
            let branch = known.ticket.branch.clone().filter(|_| !known.names_branch);
            *ticket = Ticket { branch, ..known.ticket.clone() };
        }
    }
}

/// Has a completion mean the visit that it was found to mean before, unless it names one itself.
pub(crate) fn bind(completion: &mut Completion, mark: Option<&VisitMark>) {
    let ticket = &mut completion.ticket;
    if let (None, Some(mark)) = (ticket.visit, mark) {
        ticket.visit = Some(mark.visit);
        ticket.branch.clone_from(&mark.branch);
    }
}

/// Returns the visit that a completion means which has to wait; nothing where none is open, or where nobody can tell. Where the
/// task's file cannot be read, HEAD tells which visit is open.
pub(crate) fn meant_visit(workspace: &Workspace, completion: &Completion) -> Option<VisitMark> {
    let ticket = &completion.ticket;
    if let Some(visit) = ticket.visit {
        return Some(VisitMark { visit, branch: ticket.branch.clone() });
    }
    let head = workspace.repository.look().ok()?;
    let in_force = in_force(workspace, &head).ok()?;
    let name = format!("{}.md", ticket.task);
    let files = workspace.repository.list(head.commit?, "tasks").ok()?;
    let mut found = files.into_iter().filter(|file| file.path.rsplit('/').next() == Some(&name));
    let file = found.next().filter(|_| found.next().is_none())?;
    let content = workspace.repository.read_blob(file.id).ok()?;
    let defaults = in_force.defaults(workspace.now());
    let task = task_file::parse(&content, &ticket.task, &defaults).ok()?.task;
    let visit = task.gate.as_ref()?.visit;
    Some(VisitMark { visit, branch: branch_of(&in_force.rules, &task, &completion.agent) })
}
