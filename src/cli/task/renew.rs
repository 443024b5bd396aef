//! `aof task renew`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::Ticket;
use crate::project::author::acting_agent;
use crate::tasks::actions::renew;

/// Say that you are still at work, so that your claim lasts
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Where a workflow or a gate has a `lease`, a claim that is not renewed ends, and the task is free again.

Example:
  aof task renew AOF-7qk --note \"The tests pass, the docs are missing\"")]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    /// How far it is; it goes into the log
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task renew")?;
    let in_force = session.rules(&workspace)?;
    let org = &in_force.rules.org;
    let agent = acting_agent(&workspace, org, args.who.agent.as_ref(), Session::at_terminal())?;
    let mode = args.rehearsal.mode();
    let changed = renew(&workspace, &args.ticket, &agent, args.note.as_deref(), mode)?;
    shown::changed(session, &in_force.rules, &changed, &format!("renewed by {agent}"), mode);
    Ok(ExitCode::SUCCESS)
}
