//! Claims, releases and what people do with a task: each carries out one act of the engine.

use crate::domain::{AgentId, GateId, Status, Ticket};
use crate::git::Person;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::project::workspace::{actor, actor_author, agent_author};
use crate::rules::{Act, Actor, Decision, Refusal, branch_of, decide, may_mean};
use crate::tasks::apply::{apply, change, due_or};
use crate::tasks::plan::{Changed, Choice, DryRun};
use crate::tasks::state::commit_message;
use crate::tasks::state::task_state::TaskState;

/// Decides a claim of the task, or of the branch that the ticket names.
pub(crate) fn choose_claim(
    workspace: &Workspace,
    state: &TaskState,
    ticket: &Ticket,
    agent: &AgentId,
) -> Result<Choice, ProjectError> {
    let rules = &state.in_force.rules;
    let task = &state.file.task;
    may_mean(task, ticket, Some(agent))?;
    let branch = ticket.branch.clone().or_else(|| branch_of(rules, task, agent));
    let author = agent_author(&rules.org, agent)?;
    choose(workspace, state, &Act::Claim { agent: agent.clone(), branch }, author)
}

/// Releases the task, or the branch that the ticket names. Without an agent, a person does.
pub(crate) fn release(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    let branch = &ticket.branch;
    by_actor(workspace, ticket, agent, dry_run, &|by| Act::Release { by, branch: branch.clone() })
}

/// Assigns the task, or the branch that the ticket names, to an agent, whoever has it now.
pub(crate) fn assign(
    workspace: &Workspace,
    ticket: &Ticket,
    by: Option<&AgentId>,
    agent: &AgentId,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    by_actor(workspace, ticket, by, dry_run, &|by| {
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
        may_mean(&state.file.task, ticket, Some(agent))?;
        let author = agent_author(&state.in_force.rules.org, agent)?;
        let act = Act::Renew {
            agent: agent.clone(),
            branch: ticket.branch.clone(),
            note: note.map(str::to_owned),
        };
        choose(workspace, state, &act, author)
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
    of_the_whole(ticket, "hold")?;
    by_actor(workspace, ticket, agent, dry_run, &|by| Act::Hold { by, reason: reason.to_owned() })
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
        due_or(workspace, state, |state| {
            match chosen_by(workspace, state, ticket, agent, &act) {
                // The rules unblocked it meanwhile.
                Err(ProjectError::Refused(Refusal::NotBlocked { .. })) if was_blocked => {
                    Ok(Choice::Settled)
                }
                chosen => chosen,
            }
        })
    })?;
    changed.ok_or_else(|| ProjectError::Restless { id: ticket.task.clone() })
}

/// Cancels the task.
pub(crate) fn cancel(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    reason: &str,
    dry_run: DryRun,
) -> Result<Changed, ProjectError> {
    of_the_whole(ticket, "cancel")?;
    by_actor(workspace, ticket, agent, dry_run, &|by| Act::Cancel { by, reason: reason.to_owned() })
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
    of_the_whole(ticket, "reopen")?;
    by_actor(workspace, ticket, agent, dry_run, &|by| {
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
    of_the_whole(ticket, "override")?;
    by_actor(workspace, ticket, agent, dry_run, &|by| {
        let (to, reason) = (to.clone(), reason.to_owned());
        Act::Override { by, to, reason }
    })
}

/// Refuses an act on a branch alone.
fn of_the_whole(ticket: &Ticket, act: &'static str) -> Result<(), Refusal> {
    match &ticket.branch {
        Some(_) => Err(Refusal::NotOfABranch { ticket: ticket.clone(), act }),
        None => Ok(()),
    }
}

fn by_actor(
    workspace: &Workspace,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    dry_run: DryRun,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Changed, ProjectError> {
    change(workspace, &ticket.task, dry_run, &mut |state| {
        chosen_by(workspace, state, ticket, agent, act)
    })
}

fn chosen_by(
    workspace: &Workspace,
    state: &TaskState,
    ticket: &Ticket,
    agent: Option<&AgentId>,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Choice, ProjectError> {
    let org = &state.in_force.rules.org;
    let by = actor(workspace, org, agent);
    may_mean(&state.file.task, ticket, by.agent())?;
    let author = actor_author(workspace, org, &by)?;
    choose(workspace, state, &act(by), author)
}

/// Decides the act.
pub(crate) fn choose(
    workspace: &Workspace,
    state: &TaskState,
    act: &Act,
    author: Person,
) -> Result<Choice, ProjectError> {
    let decision = decide(&state.in_force.rules, &state.file.task, act, workspace.now())?;
    Ok(decided(state, act, decision, author))
}

/// Returns the choice that a decision comes to, with the message of its commit.
pub(crate) fn decided(state: &TaskState, act: &Act, decision: Decision, author: Person) -> Choice {
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
