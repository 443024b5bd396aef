//! `aof task hold`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::Ticket;
use crate::tasks::actions::hold;

/// Hold a task where it is, until it is unblocked
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is completed while a task is held, and its time limits stand still. Whoever has claimed it keeps it.

Example:
  aof task hold AOF-7qk --reason \"The customer wants to talk first\"
  aof task unblock AOF-7qk")]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why; whoever works at it reads this
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task hold")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let reason = args.reason.as_deref().unwrap_or_default();
    let changed = hold(&workspace, &args.ticket, args.who.agent.as_ref(), reason, mode)?;
    shown::changed(session, &in_force.rules, &changed, "held", mode);
    Ok(ExitCode::SUCCESS)
}
