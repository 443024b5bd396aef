//! Claims, releases, holds, cancellations and similar acts of the engine, one function for each.

use crate::domain::{AgentId, Ending, Remedy, Status, Task, Ticket, Visit};
use crate::git::Person;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::{actor_author, agent_author, deciding_actor};
use crate::rules::{Act, Actor, Decision, Refusal, branch_of, check_ticket, decide};
use crate::tasks::apply::{apply, change, due_step_or};
use crate::tasks::other_worktrees::ensure_free_elsewhere;
use crate::tasks::plan::{Changed, Choice, DryRun};
use crate::tasks::state::commit_message::{self, with_named};
use crate::tasks::state::task_state::TaskState;

/// Decides a claim of the task, or of the branch that the ticket names.
pub(crate) fn decide_claim(
    workspace: &Workspace,
    state: &TaskState,
    ticket: &Ticket,
    agent: &AgentId,
) -> Result<Choice, ProjectError> {
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    check_ticket(task, ticket, Some(agent))?;
    let branch = ticket.branch.clone().or_else(|| branch_of(rules, task, agent));
    ensure_free_elsewhere(workspace, state, branch.as_ref())?;
    let author = agent_author(&rules.org, agent)?;
    decide_act(workspace, state, &Act::Claim { agent: agent.clone(), branch }, author)
}

/// Releases the task, or the branch that the ticket names. Without an agent, a person releases it.
pub(crate) fn release(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let branch = &ticket.branch;
    change_as_actor(workspace, ticket, agent, dry_run, &|by| Act::Release {
        by,
        branch: branch.clone(),
    })
}

/// Assigns the task, or the branch that the ticket names, to an agent, even if another agent has claimed it.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    change_as_actor(workspace, ticket, by, dry_run, &|by| {
        let (agent, branch) = (agent.clone(), ticket.branch.clone());
        Act::Assign { by, agent, branch }
    })
}

/// Renews a claim. The note is written into the log.
pub(crate) fn renew(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: &AgentId,
    note: Option<&str>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    change(workspace, &ticket.task, dry_run, &mut |state| {
        check_ticket(&state.file.task, ticket, Some(agent))?;
        let author = agent_author(&state.in_force.rules.org, agent)?;
        let act = Act::Renew {
            agent: agent.clone(),
            branch: ticket.branch.clone(),
            note: note.map(str::to_owned),
        };
        decide_act(workspace, state, &act, author)
    })
}

/// Moves the whole task by an act of the agent, or of a person if there is none. `name` is the act's name in a refusal.
pub(crate) fn act_on_task(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    dry_run: DryRun,
    name: Remedy,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, name)?;
    change_as_actor(workspace, ticket, agent, dry_run, act)
}

/// Unblocks the task, or the branch that the ticket names.
pub(crate) fn unblock(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    reason: Option<&str>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let act =
        |by| Act::Unblock { by, branch: ticket.branch.clone(), reason: reason.map(str::to_owned) };
    let mut was_blocked = false;
    let changed = apply(workspace, &ticket.task, dry_run, &mut |state| {
        was_blocked |= state.file.task.status == Status::Blocked;
        due_step_or(workspace, state, |state| {
            match decide_as_actor(workspace, state, ticket, agent, &act) {
                // The rules unblocked the task first.
                Err(ProjectError::Refused(Refusal::NotBlocked { .. })) if was_blocked => {
                    Ok(Choice::Settled)
                }
                choice_of_decision => choice_of_decision,
            }
        })
    })?;
    changed.ok_or_else(|| ProjectError::Contended { id: ticket.task.clone() })
}

/// Undoes the actor's last step: the task returns to the gate that it left. Fails if another step followed.
pub(crate) fn undo(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    reason: Option<&str>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, Remedy::Undo)?;
    change(workspace, &ticket.task, dry_run, &mut |state| {
        let (task, org) = (&state.file.task, &state.in_force.rules.org);
        let by = deciding_actor(workspace, org, agent)?;
        let mut done = own_last_step(task, by.agent())?;
        if let Some(reason) = reason {
            done.push_str(&format!("; {reason}"));
        }
        let last = &task.history[last_step(task)];
        let (to, reason) = (last.gate.clone(), done);
        let author = actor_author(workspace, org, &by)?;
        let act = match task.status {
            Status::Blocked if last.stays() => {
                Act::Unblock { by, branch: None, reason: Some(reason) }
            }
            status if status.is_finished() => Act::Reopen { by, to, reason },
            _ => Act::Override { by, to, reason },
        };
        decide_act(workspace, state, &act, author)
    })
}

/// The beginning of the reason of an undo.
const UNDONE: &str = "undone: ";

/// Returns the index of the last entry of the history that was not made by an automatic gate; 0 if there is none.
fn last_step(task: &Task) -> usize {
    let by_itself = |visit: &Visit| visit.role.is_none() && visit.agent.is_none();
    task.history.iter().rposition(|visit| !by_itself(visit)).unwrap_or_default()
}

/// Returns the text about undoing the agent's last step. Fails if the last step is not the agent's, or if another one
/// followed.
fn own_last_step(task: &Task, agent: Option<&AgentId>) -> Result<String, ProjectError> {
    let id = &task.id;
    let verb = if task.gate.is_some() { "override" } else { "reopen" };
    let refuse = |problem: String| {
        let fix = format!(
            "`aof {verb} {id} --to GATE --reason TEXT` moves the task, for whoever may; `aof history {id}` shows its steps"
        );
        Err(ProjectError::Unfit { code: "cannot_undo", problem, fix: fix.into() })
    };
    let Some(last) = task.history.get(last_step(task)) else {
        return refuse(format!("nothing was completed at {id} yet"));
    };
    if last.summary.starts_with(UNDONE) {
        return refuse(format!("the last step of {id} is undone already"));
    }
    let step = format!("{} at {}", last.outcome, last.station());
    match (&last.agent, agent) {
        (_, None) => {
            return refuse(
                "org.yaml has no agent with the email of git's user, so no step is yours"
                    .to_owned(),
            );
        }
        (Some(by), Some(agent)) if by == agent => {}
        (Some(by), _) => return refuse(format!("the last step of {id}, {step}, is one of `{by}`")),
        (None, _) => {
            return refuse(format!("the last step of {id}, {step}, is by no agent of org.yaml"));
        }
    }
    if !matches!(last.outcome, Ending::Completed(_) | Ending::Cancelled) {
        return refuse(format!("the last step of {id} is no completion: {step}"));
    }
    if last.branch.is_some() || last.item.is_some() {
        return refuse(format!("the last step of {id}, {step}, is one of several at that gate"));
    }
    let open = task.gate.iter().flat_map(|open| &open.branches);
    let mut holders = open.filter_map(|branch| branch.agent.as_ref()).chain(&task.routing.agent);
    if let Some(holder) = holders.find(|holder| Some(*holder) != agent) {
        return refuse(format!("`{holder}` has claimed {id} since"));
    }
    let is_held = task.gate.as_ref().is_some_and(|open| open.held.is_some());
    if is_held || last.stays() && task.status != Status::Blocked {
        return refuse(format!("somebody held {id} or let it go on since {step}"));
    }
    Ok(format!("{UNDONE}{step}"))
}

/// Refuses a ticket that names a branch: the act applies to the whole task.
fn refuse_branch(ticket: &Ticket, act: Remedy) -> Result<(), Refusal> {
    match &ticket.branch {
        Some(_) => Err(Refusal::NotOfABranch { ticket: ticket.clone(), act }),
        None => Ok(()),
    }
}

/// Changes the task by an act of the agent, or of a person if there is none.
fn change_as_actor(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    dry_run: DryRun,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Changed, ProjectError> {
    change(workspace, &ticket.task, dry_run, &mut |state| {
        decide_as_actor(workspace, state, ticket, agent, act)
    })
}

fn decide_as_actor(
    workspace: &Workspace,
    state: &TaskState,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Choice, ProjectError> {
    let org = &state.in_force.rules.org;
    let by = deciding_actor(workspace, org, agent)?;
    check_ticket(&state.file.task, ticket, by.agent())?;
    let author = actor_author(workspace, org, &by)?;
    decide_act(workspace, state, &act(by), author)
}

/// Decides the act, and returns the step with the message of its commit.
pub(crate) fn decide_act(
    workspace: &Workspace,
    state: &TaskState,
    act: &Act,
    author: Person,
) -> Result<Choice, ProjectError> {
    let decision = decide(&state.in_force.rules, &state.file.task, act, workspace.now())?;
    Ok(choice_of_decision(workspace, state, act, decision, author))
}

/// Converts a decision to a choice; a step gets the message of its commit.
pub(crate) fn choice_of_decision(
    workspace: &Workspace,
    state: &TaskState,
    act: &Act,
    decision: Decision,
    author: Person,
) -> Choice {
    match decision {
        Decision::Settled { .. } => Choice::Settled,
        Decision::Step(step) => {
            let authored = step.task.updated;
            let known = state.file.task.history.len();
            let message = commit_message::of_act(act, known, &step.task);
            Choice::Step {
                message: with_named(workspace, act.unsigned_actor(), message),
                step,
                author,
                authored,
            }
        }
    }
}
