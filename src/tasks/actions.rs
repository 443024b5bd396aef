//! Claims, releases, holds, cancellations and the like: each function carries out one act of the engine.

use crate::domain::{AgentId, GateId, Status, Ticket};
use crate::git::Person;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::{actor, actor_author, agent_author};
use crate::rules::{Act, Actor, Decision, Refusal, branch_of, check_ticket, decide};
use crate::tasks::apply::{apply, change, due_step_or};
use crate::tasks::other_worktrees::ensure_free_elsewhere;
use crate::tasks::plan::{Changed, Choice, DryRun};
use crate::tasks::state::commit_message;
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

/// Renews a claim. The note goes into the log.
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

/// Holds the task until a person unblocks it.
pub(crate) fn hold(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    reason: &str,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, "hold")?;
    change_as_actor(workspace, ticket, agent, dry_run, &|by| Act::Hold {
        by,
        reason: reason.to_owned(),
    })
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

/// Cancels the task.
pub(crate) fn cancel(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    reason: &str,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, "cancel")?;
    change_as_actor(workspace, ticket, agent, dry_run, &|by| Act::Cancel {
        by,
        reason: reason.to_owned(),
    })
}

/// Reopens a finished task at a gate.
pub(crate) fn reopen(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    to: &GateId,
    reason: &str,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, "reopen")?;
    change_as_actor(workspace, ticket, agent, dry_run, &|by| {
        let (to, reason) = (to.clone(), reason.to_owned());
        Act::Reopen { by, to, reason }
    })
}

/// Moves the task to a gate against its workflow.
pub(crate) fn override_to(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    to: &GateId,
    reason: &str,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    refuse_branch(ticket, "override")?;
    change_as_actor(workspace, ticket, agent, dry_run, &|by| {
        let (to, reason) = (to.clone(), reason.to_owned());
        Act::Override { by, to, reason }
    })
}

/// Refuses a ticket that names a branch: the act is about the whole task.
fn refuse_branch(ticket: &Ticket, act: &'static str) -> Result<(), Refusal> {
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
    let by = actor(workspace, org, agent);
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
    Ok(choice_of_decision(state, act, decision, author))
}

/// Converts a decision to a choice; a step gets the message of its commit.
pub(crate) fn choice_of_decision(
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
            Choice::Step {
                message: commit_message::of_act(act, known, &step.task),
                step,
                author,
                authored,
            }
        }
    }
}
