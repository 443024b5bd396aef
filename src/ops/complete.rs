//! A completion, from any door.

use super::acts::choose;
use super::author::agent_author;
use super::error::OpsError;
use super::list::held_by;
use super::transaction::{Changed, DryRun, change};
use super::workspace::Workspace;
use crate::engine::{Act, Refusal};
use crate::model::{AgentId, Completion, TaskId};

/// A completion that counts.
pub struct Completed {
    /// The change, or the task as it stands if the completion had counted before.
    pub changed: Changed,
}

/// Ends the visit that the completion means. Without a ticket that is the one open when the task is first read: of two
/// completions of one visit the second is a conflict, not a completion of the next.
pub fn complete(workspace: &Workspace, completion: &Completion, dry_run: DryRun) -> Result<Completed, OpsError> {
    let mut completion = completion.clone();
    let id = completion.ticket.task.clone();
    let result = change(workspace, &id, dry_run, &mut |standing| {
        if completion.ticket.visit.is_none() && !is_settled(&completion, standing) {
            completion.ticket.visit = standing.file.task.gate.as_ref().map(|open| open.visit);
        }
        let author = agent_author(&standing.in_force.rules.org, &completion.agent)?;
        choose(workspace, standing, &Act::Complete(completion.clone()), author)
    });
    match result {
        Ok(changed) => Ok(Completed { changed }),
        Err(OpsError::Refused(refusal)) => Err(point_to_own_task(workspace, &id, &completion.agent, refusal).into()),
        Err(error) => Err(error),
    }
}

fn is_settled(completion: &Completion, standing: &super::standing::Standing) -> bool {
    let id = &completion.id;
    standing.file.task.history.iter().any(|visit| visit.completion.as_ref().is_some_and(|stamp| stamp.id == *id))
}

/// Whoever completes somebody else's task while holding one of its own has mixed them up (spec 1, 9.6).
fn point_to_own_task(workspace: &Workspace, attempted: &TaskId, agent: &AgentId, refusal: Refusal) -> Refusal {
    if !matches!(refusal, Refusal::WrongRole { .. } | Refusal::AssignedToAnother { .. }) {
        return refusal;
    }
    match held_by(workspace, agent) {
        Ok(Some(assigned)) if assigned != *attempted => Refusal::WrongTask { assigned, attempted: attempted.clone() },
        _ => refusal,
    }
}
