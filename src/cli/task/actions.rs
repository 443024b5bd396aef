//! `aof task release`, `renew`, `assign`, `hold`, `unblock`, `cancel`, `reopen` and `override`

use std::process::ExitCode;

use super::changed;
use crate::cli::{ActingAgent, Away, CliResult, Rehearsal, Session};
use crate::dispatch::claim;
use crate::domain::{AgentId, GateId, Ticket};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions;
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::way;

// What each of these commands takes.
#[derive(Debug, clap::Args)]
pub(crate) struct ActionArgs {
    /// The task, as in `AOF-abc`; a branch of a fork is `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RenewArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The progress so far; it goes into the log
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AssignArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The new holder; an agent of the gate's role
    #[arg(value_name = "AGENT")]
    to: AgentId,
    #[command(flatten)]
    away: Away,
}

// The engine refuses a missing reason of `hold` and `cancel`, with the fix.
#[derive(Debug, clap::Args)]
pub(crate) struct ReasonArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// Why; whoever works at the task reads this
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct MoveArgs {
    #[command(flatten)]
    action: ActionArgs,
    /// The gate to which it goes
    #[arg(long, value_name = "GATE")]
    to: GateId,
    /// Why; it goes into the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
}

pub(crate) fn release(session: &Session, args: &ActionArgs) -> CliResult {
    act_as_agent(session, "task release", args, |workspace, agent, mode| {
        let changed = actions::release(workspace, &args.ticket, Some(agent), mode)?;
        let holder = changed.before.as_ref().and_then(|before| before.task.routing.agent.as_ref());
        let holder = holder.filter(|holder| *holder != agent);
        let holder = holder.map(|holder| format!(", which {holder} had")).unwrap_or_default();
        Ok((format!("given back by {agent}{holder}"), changed))
    })
}

pub(crate) fn renew(session: &Session, args: &RenewArgs) -> CliResult {
    act_as_agent(session, "task renew", &args.action, |workspace, agent, mode| {
        let note = args.note.as_deref();
        let changed = actions::renew(workspace, &args.action.ticket, agent, note, mode)?;
        Ok((format!("renewed by {agent}"), changed))
    })
}

pub(crate) fn assign(session: &Session, args: &AssignArgs) -> CliResult {
    act(session, "task assign", &args.action, |workspace, ticket, by, mode| {
        workspace.network = args.away.network();
        let changed = claim::assign(workspace, ticket, by, &args.to, mode)?;
        Ok((format!("assigned to {}", args.to), changed))
    })
}

pub(crate) fn hold(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = args.reason.as_deref().unwrap_or_default();
    act(session, "task hold", &args.action, |workspace, ticket, by, mode| {
        Ok(("held".to_owned(), actions::hold(workspace, ticket, by, reason, mode)?))
    })
}

pub(crate) fn unblock(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = args.reason.as_deref();
    act(session, "task unblock", &args.action, |workspace, ticket, by, mode| {
        Ok(("unblocked".to_owned(), actions::unblock(workspace, ticket, by, reason, mode)?))
    })
}

pub(crate) fn cancel(session: &Session, args: &ReasonArgs) -> CliResult {
    let reason = args.reason.as_deref().unwrap_or_default();
    act(session, "task cancel", &args.action, |workspace, ticket, by, mode| {
        Ok(("cancelled".to_owned(), actions::cancel(workspace, ticket, by, reason, mode)?))
    })
}

pub(crate) fn reopen(session: &Session, args: &MoveArgs) -> CliResult {
    act(session, "task reopen", &args.action, |workspace, ticket, by, mode| {
        let changed = actions::reopen(workspace, ticket, by, &args.to, &args.reason, mode)?;
        Ok((format!("{} (reopened)", way(&changed)), changed))
    })
}

pub(crate) fn override_to(session: &Session, args: &MoveArgs) -> CliResult {
    act(session, "task override", &args.action, |workspace, ticket, by, mode| {
        let changed = actions::override_to(workspace, ticket, by, &args.to, &args.reason, mode)?;
        Ok((format!("{} (override)", way(&changed)), changed))
    })
}

/// Changes a task, and shows the sentence that `change` returns with it.
fn act(
    session: &Session,
    command: &str,
    args: &ActionArgs,
    change: impl FnOnce(
        &mut Workspace,
        &Ticket,
        Option<&AgentId>,
        DryRun,
    ) -> Result<(String, Changed), ProjectError>,
) -> CliResult {
    let (mut workspace, in_force) = session.open(command)?;
    let mode = args.rehearsal.mode();
    let (done, changed) = change(&mut workspace, &args.ticket, args.who.agent.as_ref(), mode)?;
    changed::show(session, &in_force.rules, &changed, &done, mode);
    Ok(ExitCode::SUCCESS)
}

/// Does so as an agent, who must be known.
fn act_as_agent(
    session: &Session,
    command: &str,
    args: &ActionArgs,
    change: impl FnOnce(&Workspace, &AgentId, DryRun) -> Result<(String, Changed), ProjectError>,
) -> CliResult {
    act(session, command, args, |workspace, _, named, mode| {
        let agent = session.agent(workspace, &workspace.rules()?, named)?;
        change(workspace, &agent, mode)
    })
}
