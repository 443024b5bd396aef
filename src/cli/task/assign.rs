//! `aof task assign`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Away, Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::{AgentId, Ticket};
use crate::tasks::actions::assign;

/// Give a task to an agent, whoever has it now
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof task assign AOF-7qk agent-2               the task, at the gate where it stands
  aof task assign AOF-7qk@3/security human-ann  a branch of it")]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Who is to have it; an agent of the gate's role
    #[arg(value_name = "AGENT")]
    to: AgentId,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    away: Away,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let mut workspace = session.workspace("task assign")?;
    workspace.network = args.away.network();
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let changed = assign(&workspace, &args.ticket, args.who.agent.as_ref(), &args.to, mode)?;
    let done = format!("assigned to {}", args.to);
    shown::changed(session, &in_force.rules, &changed, &done, mode);
    Ok(ExitCode::SUCCESS)
}
