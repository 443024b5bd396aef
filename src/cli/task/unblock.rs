//! `aof task unblock`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::Ticket;
use crate::tasks::actions::unblock;

/// Set a blocked task going again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// Why it can go on
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task unblock")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let agent = args.who.agent.as_ref();
    let changed = unblock(&workspace, &args.ticket, agent, args.reason.as_deref(), mode)?;
    shown::changed(session, &in_force.rules, &changed, "unblocked", mode);
    Ok(ExitCode::SUCCESS)
}
