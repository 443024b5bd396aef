//! `aof task reopen`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::{GateId, Ticket};
use crate::tasks::actions::reopen;
use crate::tasks::view::changed::way;

/// Take a finished task up again
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// The gate at which it goes on
    #[arg(long, value_name = "GATE")]
    to: GateId,
    /// Why; it goes into the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    reason: String,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task reopen")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let agent = args.who.agent.as_ref();
    let changed = reopen(&workspace, &args.ticket, agent, &args.to, &args.reason, mode)?;
    shown::changed(
        session,
        &in_force.rules,
        &changed,
        &format!("{} (reopened)", way(&changed)),
        mode,
    );
    Ok(ExitCode::SUCCESS)
}
