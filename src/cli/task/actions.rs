//! `aof task release`, `renew`, `assign`, `hold`, `unblock`, `cancel`, `reopen` and `override`

use std::process::ExitCode;

use super::changed;
use crate::cli::arguments::{ActingAgent, Away, Rehearsal};
use crate::cli::error::CliError;
use crate::cli::session::Session;
use crate::dispatch::assign;
use crate::domain::{AgentId, GateId, Ticket};
use crate::project::active_rules::InForce;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::tasks::actions;
use crate::tasks::plan::choice::{Changed, DryRun};
use crate::tasks::view::changed::way;

// What each of these commands takes.
#[derive(Debug, clap::Args)]
struct Common {
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReleaseArgs {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where a workflow or a gate has a `lease`, a claim that is not renewed ends, and the task is free again.

Example:
  aof task renew AOF-7qk --note \"The tests pass, the docs are missing\"")]
pub(crate) struct RenewArgs {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// The progress so far; it goes into the log
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task assign AOF-7qk agent-2               the task, at its gate
  aof task assign AOF-7qk@3/security human-ann  a branch of it")]
pub(crate) struct AssignArgs {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// The new holder; an agent of the gate's role
    #[arg(value_name = "AGENT")]
    to: AgentId,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    away: Away,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is completed while a task is held, and its time limits stand still. Whoever has claimed it keeps it.

Example:
  aof task hold AOF-7qk --reason \"The customer wants to talk first\"
  aof task unblock AOF-7qk")]
pub(crate) struct HoldArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why; whoever works at it reads this
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct UnblockArgs {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why it can go on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

#[derive(Debug, clap::Args)]
pub(crate) struct CancelArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why; it goes into the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    common: Common,
}

// The arguments of `reopen` and `override`. No doc comment: clap would take it for the description of both.
#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// The gate to which it goes
    #[arg(long, value_name = "GATE")]
    to: GateId,
    /// Why; it goes into the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
    #[command(flatten)]
    common: Common,
}

pub(crate) fn release(session: &Session, args: &ReleaseArgs) -> Result<ExitCode, CliError> {
    act(session, "task release", args.common.rehearsal, |workspace, in_force, mode| {
        let agent = session.agent(workspace, in_force, args.common.who.agent.as_ref())?;
        let changed = actions::release(workspace, &args.ticket, Some(&agent), mode)?;
        let holder = changed.before.as_ref().and_then(|before| before.task.routing.agent.as_ref());
        let holder = holder.filter(|holder| **holder != agent);
        let holder = holder.map(|holder| format!(", which {holder} had")).unwrap_or_default();
        Ok((format!("given back by {agent}{holder}"), changed))
    })
}

pub(crate) fn renew(session: &Session, args: &RenewArgs) -> Result<ExitCode, CliError> {
    act(session, "task renew", args.common.rehearsal, |workspace, in_force, mode| {
        let agent = session.agent(workspace, in_force, args.common.who.agent.as_ref())?;
        let changed = actions::renew(workspace, &args.ticket, &agent, args.note.as_deref(), mode)?;
        Ok((format!("renewed by {agent}"), changed))
    })
}

pub(crate) fn assign(session: &Session, args: &AssignArgs) -> Result<ExitCode, CliError> {
    act(session, "task assign", args.rehearsal, |workspace, _, mode| {
        workspace.network = args.away.network();
        let by = args.who.agent.as_ref();
        let changed = assign::assign(workspace, &args.ticket, by, &args.to, mode)?;
        Ok((format!("assigned to {}", args.to), changed))
    })
}

// The engine refuses a missing reason of `hold` and `cancel` itself, with the fix.

pub(crate) fn hold(session: &Session, args: &HoldArgs) -> Result<ExitCode, CliError> {
    let (by, reason) = (args.common.who.agent.as_ref(), args.reason.as_deref().unwrap_or_default());
    act(session, "task hold", args.common.rehearsal, |workspace, _, mode| {
        Ok(("held".to_owned(), actions::hold(workspace, &args.ticket, by, reason, mode)?))
    })
}

pub(crate) fn unblock(session: &Session, args: &UnblockArgs) -> Result<ExitCode, CliError> {
    let (by, reason) = (args.common.who.agent.as_ref(), args.reason.as_deref());
    act(session, "task unblock", args.common.rehearsal, |workspace, _, mode| {
        Ok(("unblocked".to_owned(), actions::unblock(workspace, &args.ticket, by, reason, mode)?))
    })
}

pub(crate) fn cancel(session: &Session, args: &CancelArgs) -> Result<ExitCode, CliError> {
    let (by, reason) = (args.common.who.agent.as_ref(), args.reason.as_deref().unwrap_or_default());
    act(session, "task cancel", args.common.rehearsal, |workspace, _, mode| {
        Ok(("cancelled".to_owned(), actions::cancel(workspace, &args.ticket, by, reason, mode)?))
    })
}

pub(crate) fn reopen(session: &Session, args: &MoveArgs) -> Result<ExitCode, CliError> {
    let (by, to, reason) = (args.common.who.agent.as_ref(), &args.to, &args.reason);
    act(session, "task reopen", args.common.rehearsal, |workspace, _, mode| {
        let changed = actions::reopen(workspace, &args.ticket, by, to, reason, mode)?;
        Ok((format!("{} (reopened)", way(&changed)), changed))
    })
}

pub(crate) fn override_to(session: &Session, args: &MoveArgs) -> Result<ExitCode, CliError> {
    let (by, to, reason) = (args.common.who.agent.as_ref(), &args.to, &args.reason);
    act(session, "task override", args.common.rehearsal, |workspace, _, mode| {
        let changed = actions::override_to(workspace, &args.ticket, by, to, reason, mode)?;
        Ok((format!("{} (override)", way(&changed)), changed))
    })
}

/// Changes a task, and shows the sentence that `change` returns with it.
fn act(
    session: &Session,
    command: &'static str,
    rehearsal: Rehearsal,
    change: impl FnOnce(&mut Workspace, &InForce, DryRun) -> Result<(String, Changed), OpsError>,
) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace(command)?;
    let in_force = session.rules(&workspace)?;
    let mode = rehearsal.mode();
    let (done, changed) = change(&mut workspace, &in_force, mode)?;
    changed::show(session, &in_force.rules, &changed, &done, mode);
    Ok(ExitCode::SUCCESS)
}
