//! Which branch of an open fork is meant, and who has spoken at it.

use super::eligibility::may_complete;
use super::fork::is_void;
use super::workplace::Workplace;
use crate::domain::{AgentId, Gate, GateId, OpenVisit, RoleId, Task, Ticket, Timestamp, Visit};
use crate::rules::refusal::Refusal;
use crate::rules::workflow::rules::Rules;

/// Returns when the branch was opened, or last spoke without finishing.
pub(crate) fn entered(task: &Task, open: &OpenVisit, branch: &GateId) -> Timestamp {
    let spoken = entries(&task.history, open.visit).iter().rev();
    let last = spoken
        .filter(|entry| entry.branch.as_ref() == Some(branch))
        .map(|entry| entry.exited)
        .next();
    last.unwrap_or(open.entered)
}

/// Returns the entries of the visit with that number, as far as it has come; one entry everywhere but at a fork.
pub(crate) fn entries(history: &[Visit], visit: usize) -> &[Visit] {
    let from = history.get(visit..).unwrap_or_default();
    let end =
        from.iter().position(|entry| !entry.leaves_open()).map_or(from.len(), |last| last + 1);
    &from[..end]
}

/// Returns the entry that ended what the ticket names: the branch's, else the one that closed the visit.
pub(crate) fn ending<'h>(history: &'h [Visit], ticket: &Ticket) -> Option<&'h Visit> {
    let entries = entries(history, ticket.visit?);
    let own =
        entries.iter().rev().find(|entry| entry.verdict.is_some() && entry.branch == ticket.branch);
    own.or_else(|| entries.last().filter(|entry| !entry.leaves_open()))
}

/// Returns the branch that is meant: the one that the ticket names, else the one that the agent has claimed, else the only one
/// at which it may speak. Nothing where the task stands at no fork.
pub(crate) fn meant(
    rules: &Rules,
    task: &Task,
    ticket: &Ticket,
    agent: &AgentId,
) -> Result<Option<GateId>, Refusal> {
    let Some(open) = task.gate.as_ref() else { return Ok(None) };
    let gate = rules
        .workflow_of(task)
        .and_then(|workflow| workflow.gate(&open.current))
        .map(|(_, gate)| gate);
    let Some(gate) = gate else { return Ok(None) };
    let unknown = || Refusal::NoSuchBranch {
        ticket: Ticket { visit: Some(open.visit), ..ticket.clone() },
        gate: gate.id.clone(),
        open: open_tickets(rules, task),
    };
    match (gate.fork(), &ticket.branch) {
        (None, None) => Ok(None),
        (None, Some(_)) => Err(unknown()),
        (Some(_), _) if open.branches.is_empty() => {
            Err(Refusal::BranchesNotOpen { task: task.id.clone(), gate: gate.id.clone() })
        }
        (Some(_), _) if is_void(gate, open) => Ok(None),
        (Some(_), Some(id)) => match open.branch(id) {
            Some(branch) if branch.status.is_open() => Ok(Some(id.clone())),
            _ => Err(spoken(task, open, id, agent).unwrap_or_else(unknown)),
        },
        (Some(_), None) => only(rules, task, open, gate, agent).map(Some),
    }
}

/// Returns the branch that is meant by an agent that names none, if there is no doubt.
pub fn branch_of(rules: &Rules, task: &Task, agent: &AgentId) -> Option<GateId> {
    let ticket = Ticket { task: task.id.clone(), visit: None, branch: None };
    meant(rules, task, &ticket, agent).ok().flatten()
}

fn only(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    gate: &Gate,
    agent: &AgentId,
) -> Result<GateId, Refusal> {
    let posts = Workplace::open(rules, task);
    if posts.is_empty() {
        let ticket = task.ticket_of(None);
        return Err(Refusal::NoSuchBranch { ticket, gate: gate.id.clone(), open: Vec::new() });
    }
    let held = posts.iter().filter(|post| post.holder == Some(agent));
    let mut held = held.filter_map(Workplace::branch);
    if let (Some(branch), None) = (held.next(), held.next()) {
        return Ok(branch.clone());
    }
    let may = |post: &&Workplace<'_>| may_complete(rules, task, post, agent).is_ok();
    let mut possible = posts.iter().filter(may).filter_map(Workplace::branch);
    match (possible.next(), possible.next()) {
        (Some(branch), None) => return Ok(branch.clone()),
        (Some(_), Some(_)) => {
            let (task_id, gate) = (task.id.clone(), gate.id.clone());
            return Err(Refusal::BranchNeeded {
                task: task_id,
                gate,
                open: open_tickets(rules, task),
            });
        }
        (None, _) => {}
    }
    // Whoever has spoken here speaks a second time.
    let mut own = entries(&task.history, open.visit)
        .iter()
        .rev()
        .filter(|entry| entry.agent.as_ref() == Some(agent));
    let own = own.find_map(|entry| spoken(task, open, entry.branch.as_ref()?, agent));
    if let Some(conflict) = own {
        return Err(conflict);
    }
    if let [post] = &posts[..] {
        // There is one branch, and it is not the agent's: why not is the better answer.
        may_complete(rules, task, post, agent)?;
    }
    Err(Refusal::NotYourBranch {
        task: task.id.clone(),
        gate: gate.id.clone(),
        agent: agent.clone(),
        open: open_tickets(rules, task),
    })
}

/// Returns the conflict with whoever has spoken at the branch.
fn spoken(task: &Task, open: &OpenVisit, branch: &GateId, agent: &AgentId) -> Option<Refusal> {
    let ticket =
        Ticket { task: task.id.clone(), visit: Some(open.visit), branch: Some(branch.clone()) };
    let entry = ending(&task.history, &ticket)?;
    Some(Refusal::visit_ended(&ticket, entry, Some(agent)))
}

/// The refusal of a branch that is not open.
pub(crate) fn not_open(rules: &Rules, task: &Task, open: &OpenVisit, branch: &GateId) -> Refusal {
    Refusal::NoSuchBranch {
        ticket: task.ticket_of(Some(branch)),
        gate: open.current.clone(),
        open: open_tickets(rules, task),
    }
}

/// Returns the tickets of the branches that are still open, each with its role.
pub(crate) fn open_tickets(rules: &Rules, task: &Task) -> Vec<(Ticket, RoleId)> {
    let posts = Workplace::open(rules, task);
    posts
        .iter()
        .filter_map(|post| Some((task.ticket_of(Some(post.branch()?)), post.role.clone())))
        .collect()
}
