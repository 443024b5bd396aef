//! Forks: the branches that open, and the joining of their verdicts.

use super::conditions::{ConditionScope, applies};
use super::reviews::lost_dependencies;
use super::workplace::{Workplace, may_complete};
use crate::refusal::Refusal;
use crate::workflow::rules::Rules;
use aof_domain::{
    AgentId, Blocker, BranchStatus, ConditionTrouble, Event, Fork, Gate, GateId, Join,
    JoinStrategy, OpenBranch, OpenVisit, Outcome, RoleId, Station, Status, Task, Ticket, Timestamp,
    Verdict, Visit, Workflow,
};

/// Returns the branches of the fork as they open for the task: those that do not apply are skipped at once.
pub(crate) fn open(
    rules: &Rules,
    workflow: &Workflow,
    gate: &Gate,
    task: &Task,
    escalated: Option<&RoleId>,
) -> (Vec<OpenBranch>, Vec<ConditionTrouble>) {
    let mut trouble = Vec::new();
    let scope = ConditionScope::new(task, &task.history);
    let branches = gate.fork().map(|fork| fork.branches.as_slice()).unwrap_or_default();
    let opened = branches.iter().map(|branch| {
        let station = Station { gate: gate.id.clone(), branch: Some(branch.id().clone()) };
        let place = (station, branch.gate());
        let applies = applies(rules, workflow, place, &scope, &mut trouble);
        OpenBranch {
            status: if applies { BranchStatus::Ready } else { BranchStatus::Skipped },
            ..OpenBranch::new(branch.id().clone(), escalated.unwrap_or(&branch.duty().role).clone())
        }
    });
    (opened.collect(), trouble)
}

/// Returns the events of a fork that has just opened: branches that do not apply, and conditions that failed.
pub(crate) fn opening_events(rules: &Rules, task: &Task) -> (Vec<Event>, Vec<ConditionTrouble>) {
    let fresh = task.gate.as_ref().filter(|open| open.visit == task.history.len());
    let found = fresh.and_then(|open| {
        let workflow = rules.workflow_of(task)?;
        Some((open, workflow, workflow.gate(&open.current)?.1))
    });
    let Some((visit, workflow, gate)) = found else { return (Vec::new(), Vec::new()) };
    let skipped = visit.branches.iter().filter(|branch| branch.status == BranchStatus::Skipped);
    let events = skipped.map(|branch| Event::Skipped { gate: branch.id.clone() }).collect();
    (events, open(rules, workflow, gate, task, None).1)
}

/// Returns the branches of the open visit; empty if its gate is no longer a fork.
pub(crate) fn active_branches<'a>(
    rules: &Rules,
    task: &Task,
    open: &'a OpenVisit,
) -> &'a [OpenBranch] {
    match rules.workflow_of(task).and_then(|workflow| workflow.gate(&open.current)) {
        Some((_, gate)) if gate.fork().is_none() => &[],
        _ => &open.branches,
    }
}

/// Returns whether no branch of the fork applies: then it passes the task by itself.
pub(crate) fn is_void(gate: &Gate, open: &OpenVisit) -> bool {
    let skipped = |branch: &OpenBranch| branch.status == BranchStatus::Skipped;
    gate.fork().is_some() && !open.branches.is_empty() && open.branches.iter().all(skipped)
}

/// Records the verdict of a branch.
pub(crate) fn record_verdict(
    branches: &mut [OpenBranch],
    id: &GateId,
    verdict: Verdict,
    wants: &[String],
) {
    let Some(branch) = branches.iter_mut().find(|branch| branch.id == *id) else { return };
    let escalated = branch.escalated.take();
    *branch = OpenBranch { escalated, ..OpenBranch::new(id.clone(), branch.role.clone()) };
    branch.status = match verdict {
        Verdict::Pass => BranchStatus::Complete,
        Verdict::Reject => BranchStatus::Rejected,
        Verdict::Skip => BranchStatus::Skipped,
        Verdict::Hold => {
            branch.blockers = wants.iter().map(|text| text.as_str().into()).collect();
            BranchStatus::Blocked
        }
    };
}

/// Gives a branch to the role that steps in.
pub(crate) fn escalate(branches: &mut [OpenBranch], id: &GateId, role: &RoleId) {
    for branch in branches.iter_mut().filter(|branch| branch.id == *id) {
        *branch = OpenBranch {
            escalated: Some(role.clone()),
            ..OpenBranch::new(id.clone(), role.clone())
        };
    }
}

/// Returns the result of the join; `None` while it is undecided. Skipped branches do not count. A fork fails only when it can no
/// longer pass and no branch is still open, so that all requests are collected.
pub(crate) fn join(strategy: JoinStrategy, branches: &[OpenBranch]) -> Option<Join> {
    let count =
        |of: &[BranchStatus]| branches.iter().filter(|branch| of.contains(&branch.status)).count();
    let passed = count(&[BranchStatus::Complete]);
    let rejected = count(&[BranchStatus::Rejected]);
    let waited_for = count(&[BranchStatus::Ready, BranchStatus::InProgress]);
    let all = passed + rejected + waited_for + count(&[BranchStatus::Blocked]);
    let needed = match strategy {
        JoinStrategy::All => all,
        JoinStrategy::Any => all.min(1),
        JoinStrategy::Majority => (all / 2 + 1).min(all),
    };
    if passed >= needed {
        Some(Join::Passed)
    } else if all - rejected < needed && waited_for == 0 {
        Some(Join::Failed)
    } else {
        None
    }
}

/// Returns the result of the join with this verdict of one branch, and the branches that are then unfinished.
pub(crate) fn join_after(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    id: &GateId,
    verdict: Verdict,
) -> Option<(Join, Vec<GateId>)> {
    join_with(rules, task, fork, |branches| record_verdict(branches, id, verdict, &[]))
}

/// Returns the result of the join without a new verdict, after changed rules removed the remaining branches. `None` if no branch
/// has a verdict yet.
pub(crate) fn join_unprompted(
    rules: &Rules,
    task: &Task,
    gate: &Gate,
) -> Option<(Join, Vec<GateId>)> {
    let spoken = |branch: &OpenBranch| {
        matches!(branch.status, BranchStatus::Complete | BranchStatus::Rejected)
    };
    task.gate.as_ref().filter(|open| open.branches.iter().any(spoken))?;
    join_with(rules, task, gate.fork()?, |_| {})
}

fn join_with(
    rules: &Rules,
    task: &Task,
    fork: &Fork,
    speak: impl FnOnce(&mut [OpenBranch]),
) -> Option<(Join, Vec<GateId>)> {
    // The fork does not wait for a branch whose role no longer has agents.
    let mut open = task.gate.clone()?;
    hold(&mut open, &unstaffed(rules, task));
    speak(&mut open.branches);
    // The fork does not wait for branches that the rules no longer have.
    open.branches.retain(|branch| !branch.status.is_open() || fork.branch(&branch.id).is_some());
    Some((join(fork.join, &open.branches)?, unfinished(&open)))
}

/// Returns the outcome of a fork with this result of the join.
pub(crate) fn joined_outcome(join: Join) -> Outcome {
    match join {
        Join::Passed => Outcome::Complete,
        Join::Failed => Outcome::NeedsReview,
    }
}

/// Returns the verdict of an outcome at a branch of the open fork, and the outcome that the fork would have. The latter is absent
/// while other branches are open.
pub fn preview_branch(
    rules: &Rules,
    task: &Task,
    branch: &GateId,
    outcome: &Outcome,
) -> Option<(Verdict, Option<Outcome>)> {
    let (_, gate) = rules.workflow_of(task)?.gate(&task.gate.as_ref()?.current)?;
    let fork = gate.fork()?;
    let verdict = fork.branch(branch)?.1.verdict(outcome);
    let end = join_after(rules, task, fork, branch, verdict).map(|(join, _)| joined_outcome(join));
    Some((verdict, end))
}

/// Sets the task's status and blockers from its open branches: it is ready while a branch waits for an agent.
pub(crate) fn update_status(task: &mut Task) {
    let Some(open) =
        task.gate.as_ref().filter(|open| !open.branches.is_empty() && open.held.is_none())
    else {
        return;
    };
    let lost = lost_dependencies(task);
    let any = |status| open.branches.iter().any(|branch| branch.status == status);
    task.status = if any(BranchStatus::Ready) {
        Status::Ready
    } else if any(BranchStatus::InProgress) {
        Status::InProgress
    } else if any(BranchStatus::Blocked) {
        Status::Blocked
    } else {
        Status::Ready
    };
    task.blockers = match task.status {
        Status::Blocked => {
            let named = |branch: &OpenBranch| -> Vec<Blocker> {
                branch.blockers.iter().map(|blocker| blocker.of_branch(&branch.id)).collect()
            };
            open.branches.iter().flat_map(named).collect()
        }
        _ => Vec::new(),
    };
    if !lost.is_empty() {
        task.status = Status::Blocked;
        task.blockers.extend(lost.into_iter().map(Blocker::Lost));
    }
}

/// Blocks branches without agents. Returns them, with their roles.
pub(crate) fn hold_unstaffed(rules: &Rules, task: &mut Task) -> Vec<(GateId, RoleId)> {
    let empty = unstaffed(rules, task);
    task.gate.as_mut().map(|open| hold(open, &empty)).unwrap_or_default()
}

/// Returns the branches that nobody can work at, with their roles.
fn unstaffed(rules: &Rules, task: &Task) -> Vec<(GateId, RoleId)> {
    Workplace::open(rules, task)
        .into_iter()
        .filter(|workplace| !workplace.is_staffed(rules))
        .filter_map(|workplace| Some((workplace.branch()?.clone(), workplace.role.clone())))
        .collect()
}

/// Blocks these branches, as far as they are ready. Returns those that it blocked.
fn hold(open: &mut OpenVisit, empty: &[(GateId, RoleId)]) -> Vec<(GateId, RoleId)> {
    let mut held = Vec::new();
    for branch in &mut open.branches {
        let Some((_, role)) = empty.iter().find(|(id, _)| *id == branch.id) else { continue };
        if branch.status == BranchStatus::Ready {
            branch.status = BranchStatus::Blocked;
            branch.blockers = vec![Blocker::nobody(role)];
            held.push((branch.id.clone(), role.clone()));
        }
    }
    held
}

/// Returns the unfinished branches.
pub(crate) fn unfinished(open: &OpenVisit) -> Vec<GateId> {
    open.branches
        .iter()
        .filter(|branch| branch.status.is_open())
        .map(|branch| branch.id.clone())
        .collect()
}

/// Returns the time when the branch was opened, or last had an entry without finishing.
pub(crate) fn branch_entered(task: &Task, open: &OpenVisit, branch: &GateId) -> Timestamp {
    let spoken = visit_entries(&task.history, open.visit).iter().rev();
    let last = spoken
        .filter(|entry| entry.branch.as_ref() == Some(branch))
        .map(|entry| entry.exited)
        .next();
    last.unwrap_or(open.entered)
}

/// Returns the entries of the visit with that number so far; at most one, except at a fork.
pub(crate) fn visit_entries(history: &[Visit], visit: usize) -> &[Visit] {
    let from = history.get(visit..).unwrap_or_default();
    let end =
        from.iter().position(|entry| !entry.leaves_open()).map_or(from.len(), |last| last + 1);
    &from[..end]
}

/// Returns the entry that ended the ticket's branch, or the visit.
pub(crate) fn ending_entry<'h>(history: &'h [Visit], ticket: &Ticket) -> Option<&'h Visit> {
    let entries = visit_entries(history, ticket.visit?);
    let found =
        entries.iter().rev().find(|entry| entry.verdict.is_some() && entry.branch == ticket.branch);
    found.or_else(|| entries.last().filter(|entry| !entry.leaves_open()))
}

/// Returns the branch of a ticket: the named one, otherwise the one that the agent has claimed, otherwise the only one that it may
/// complete. `None` if the task is not at a fork.
pub(crate) fn find_branch(
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
            _ => Err(conflict_at(task, open, id, agent).unwrap_or_else(unknown)),
        },
        (Some(_), None) => infer_branch(rules, task, open, gate, agent).map(Some),
    }
}

/// Returns the branch for an agent that names none, if it is unambiguous.
pub fn branch_of(rules: &Rules, task: &Task, agent: &AgentId) -> Option<GateId> {
    let ticket = Ticket { task: task.id.clone(), visit: None, branch: None };
    find_branch(rules, task, &ticket, agent).ok().flatten()
}

fn infer_branch(
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
    let held = posts.iter().filter(|workplace| workplace.holder == Some(agent));
    let mut held = held.filter_map(Workplace::branch);
    if let (Some(branch), None) = (held.next(), held.next()) {
        return Ok(branch.clone());
    }
    let may = |workplace: &&Workplace<'_>| may_complete(rules, task, workplace, agent).is_ok();
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
    // The agent had a branch of this visit, but it or another agent has completed that.
    let entries = || visit_entries(&task.history, open.visit).iter().rev();
    let is_own = |entry: &&Visit| entry.agent.as_ref() == Some(agent);
    let is_of_role = |entry: &&Visit| {
        entry.role.as_ref().is_some_and(|role| rules.org.roles_of(agent).any(|known| known == role))
    };
    let mut ended = entries().filter(is_own).chain(entries().filter(is_of_role));
    let ended = ended.find_map(|entry| conflict_at(task, open, entry.branch.as_ref()?, agent));
    if let Some(conflict) = ended {
        return Err(conflict);
    }
    if let [workplace] = &posts[..] {
        // With one branch, the reason why it is not the agent's is the better answer.
        may_complete(rules, task, workplace, agent)?;
    }
    Err(Refusal::NotYourBranch {
        task: task.id.clone(),
        gate: gate.id.clone(),
        agent: agent.clone(),
        open: open_tickets(rules, task),
    })
}

/// Returns the conflict with the completion that ended the branch.
fn conflict_at(task: &Task, open: &OpenVisit, branch: &GateId, agent: &AgentId) -> Option<Refusal> {
    let ticket =
        Ticket { task: task.id.clone(), visit: Some(open.visit), branch: Some(branch.clone()) };
    let entry = ending_entry(&task.history, &ticket)?;
    Some(Refusal::visit_ended(&ticket, entry, Some(agent)))
}

/// Returns the refusal of a branch that is not open.
pub(crate) fn branch_not_open(
    rules: &Rules,
    task: &Task,
    open: &OpenVisit,
    branch: &GateId,
) -> Refusal {
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
        .filter_map(|workplace| {
            Some((task.ticket_of(Some(workplace.branch()?)), workplace.role.clone()))
        })
        .collect()
}
