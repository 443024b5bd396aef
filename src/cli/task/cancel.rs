//! `aof task cancel`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::Ticket;
use crate::tasks::actions::cancel;

/// Call a task off
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why; it goes into the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task cancel")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let agent = args.who.agent.as_ref();
    // The engine knows what a missing reason is, and says it like every other refusal.
    let reason = args.reason.as_deref().unwrap_or_default();
    let changed = cancel(&workspace, &args.ticket, agent, reason, mode)?;
    shown::changed(session, &in_force.rules, &changed, "called off", mode);
    Ok(ExitCode::SUCCESS)
}
