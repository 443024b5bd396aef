//! Operations that move a task, or change who has it, in one step.

use super::arguments::{ArgumentFault, Arguments};
use super::operation::{Call, CallFault, Done};
use crate::dispatch::claim;
use crate::dispatch::next::claim_named;
use crate::domain::{AgentId, GateId, IdFault, Remedy, Status, Ticket};
use crate::project::error::ProjectError;
use crate::rules::{Act, Actor};
use crate::tasks::actions;
use crate::tasks::plan::Changed;
use crate::tasks::view::task_view::step_of;

type StepDone = Result<Done, CallFault>;

pub(super) fn claim(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let agent = call.agent()?;
    let changed = claim_named(call.workspace, call.in_force, ticket, agent, call.dry_run)?;
    Ok(Done::one(format!("claimed by {agent}"), changed))
}

pub(super) fn release(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let agent = call.agent()?;
    let changed = actions::release(call.workspace, ticket, Some(agent), call.dry_run)?;
    let holder = changed.before.as_ref().and_then(|before| before.task.routing.agent.as_ref());
    let holder = holder.filter(|holder| *holder != agent);
    let holder = holder.map(|holder| format!(", which {holder} had")).unwrap_or_default();
    Ok(Done::one(format!("given back by {agent}{holder}"), changed))
}

pub(super) fn renew(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let (agent, note) = (call.agent()?, call.given.text("note"));
    let changed = actions::renew(call.workspace, ticket, agent, note.as_deref(), call.dry_run)?;
    Ok(Done::one(format!("renewed by {agent}"), changed))
}

pub(super) fn assign(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let agent: AgentId = needed(call.given, "agent")?;
    let known = call.in_force.rules.org.agent_named(agent.as_str());
    let agent = known.cloned().unwrap_or(agent);
    let changed = claim::assign(call.workspace, ticket, call.by, &agent, call.dry_run)?;
    Ok(Done::one(format!("assigned to {agent}"), changed))
}

pub(super) fn hold(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let reason = reason(call);
    let act = |by| Act::Hold { by, reason: reason.clone() };
    Ok(Done::one("held", act_on_task(call, ticket, Remedy::Hold, &act)?))
}

pub(super) fn unblock(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let reason = call.given.text("reason");
    let reason = reason.as_deref();
    let changed = actions::unblock(call.workspace, ticket, call.by, reason, call.dry_run)?;
    let again = changed.after.task.status == Status::Blocked && ticket.branch.is_none();
    let done = if again { "unblocked, and blocked again at once" } else { "unblocked" };
    Ok(Done::one(done, changed))
}

pub(super) fn cancel(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let reason = reason(call);
    let act = |by| Act::Cancel { by, reason: reason.clone() };
    Ok(Done::one("cancelled", act_on_task(call, ticket, Remedy::Cancel, &act)?))
}

pub(super) fn reopen(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let (to, reason): (GateId, _) = (needed(call.given, "to")?, reason(call));
    let act = |by| Act::Reopen { by, to: to.clone(), reason: reason.clone() };
    let changed = act_on_task(call, ticket, Remedy::Reopen, &act)?;
    Ok(Done::one(step_of(&changed), changed))
}

pub(super) fn override_to(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let (to, reason): (GateId, _) = (needed(call.given, "to")?, reason(call));
    let act = |by| Act::Override { by, to: to.clone(), reason: reason.clone() };
    let changed = act_on_task(call, ticket, Remedy::Override, &act)?;
    Ok(Done::one(step_of(&changed), changed))
}

pub(super) fn undo(call: &Call<'_>, ticket: &Ticket) -> StepDone {
    let reason = call.given.text("reason");
    let changed = actions::undo(call.workspace, ticket, call.by, reason.as_deref(), call.dry_run)?;
    Ok(Done::one(format!("{} (undone)", step_of(&changed)).trim(), changed))
}

fn act_on_task(
    call: &Call<'_>,
    ticket: &Ticket,
    name: Remedy,
    act: &dyn Fn(Actor) -> Act,
) -> Result<Changed, ProjectError> {
    actions::act_on_task(call.workspace, ticket, call.by, call.dry_run, name, act)
}

fn reason(call: &Call<'_>) -> String {
    call.given.text("reason").unwrap_or_default()
}

/// Returns an id that the door has checked to be there.
fn needed<T: std::str::FromStr<Err = IdFault>>(
    given: &Arguments,
    name: &str,
) -> Result<T, ArgumentFault> {
    given.parsed(name)?.ok_or_else(|| {
        ArgumentFault::new("missing_argument", name, format!("`{name}` is missing"), "")
    })
}
