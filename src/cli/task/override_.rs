//! `aof task override`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::{GateId, Ticket};
use crate::tasks::actions::override_to;
use crate::tasks::view::changed::way;

/// Move a task to a gate against its workflow
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
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
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task override")?;
    let in_force = session.rules(&workspace)?;
    let mode = args.rehearsal.mode();
    let agent = args.who.agent.as_ref();
    let changed = override_to(&workspace, &args.ticket, agent, &args.to, &args.reason, mode)?;
    shown::changed(
        session,
        &in_force.rules,
        &changed,
        &format!("{} (override)", way(&changed)),
        mode,
    );
    Ok(ExitCode::SUCCESS)
}
