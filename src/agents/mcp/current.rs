//! What the agent is at work on: a call that names no task means it.

use super::session::Project;
use super::tool_error::Trouble;
use crate::dispatch::next::claimed;
use crate::domain::Ticket;

/// Returns the visit that the server was started for, else the one task, or branch of one, that the agent has. What a person holds
/// counts only where there is nothing else.
pub(crate) fn current(project: &Project<'_>) -> Result<Ticket, Trouble> {
    let agent = project.agent()?;
    if let Some((ticket, _)) = project.run() {
        return Ok(ticket.clone());
    }
    let all = claimed(&project.workspace, &project.in_force, &agent, None);
    let (held, free): (Vec<_>, Vec<_>) = all.into_iter().partition(|claim| claim.held);
    let mut mine = if free.is_empty() { held } else { free };
    match (mine.pop(), mine.is_empty()) {
        (Some(only), true) => Ok(only.ticket),
        (None, _) => Err(Trouble::NoCurrent { agent }),
        (Some(last), false) => {
            mine.push(last);
            Err(Trouble::SeveralCurrent { agent, claims: mine })
        }
    }
}
