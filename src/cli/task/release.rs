//! `aof task release`

use std::process::ExitCode;

use super::shown;
use crate::cli::error::Trouble;
use crate::cli::input::arguments::{Rehearsal, Who};
use crate::cli::session::Session;
use crate::domain::Ticket;
use crate::project::author::acting_agent;
use crate::tasks::actions::release;

/// Give a claimed task back
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The task, as in `AOF-abc`, or a branch of it, as in `AOF-abc@3/security`
    #[arg(value_name = "ID")]
    ticket: Ticket,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("task release")?;
    let in_force = session.rules(&workspace)?;
    let org = &in_force.rules.org;
    let agent = acting_agent(&workspace, org, args.who.agent.as_ref(), Session::at_terminal())?;
    let mode = args.rehearsal.mode();
    let changed = release(&workspace, &args.ticket, Some(&agent), mode)?;
    let holder = changed.before.as_ref().and_then(|before| before.task.routing.agent.clone());
    let holder =
        holder.filter(|holder| *holder != agent).map(|holder| format!(", which {holder} had"));
    let done = format!("given back by {agent}{}", holder.unwrap_or_default());
    shown::changed(session, &in_force.rules, &changed, &done, mode);
    Ok(ExitCode::SUCCESS)
}
