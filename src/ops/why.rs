//! Why a task stands where it stands, who can move it, and what each outcome would do.

use super::error::OpsError;
use super::view::{show, who};
use super::workspace::Workspace;
use crate::engine::{Passage, outcomes_at, preview};
use crate::model::{AgentId, Destination, Ending, Outcome, Status, Task, TaskId};

/// The answer to "why is it there".
pub struct Reason {
    /// The task.
    pub task: Task,
    /// What brought it there, and what it waits for: sentences.
    pub because: Vec<String>,
    /// Who can complete the open visit.
    pub who: Vec<AgentId>,
    /// What each outcome would do.
    pub consequences: Vec<Consequence>,
}

/// What an outcome would do.
#[derive(Debug, Clone, PartialEq)]
pub struct Consequence {
    /// The outcome.
    pub outcome: Outcome,
    /// Where it leads.
    pub passage: Passage,
    /// Whether the task would stay where it is.
    pub holds: bool,
}

/// Returns why the task stands where it stands.
pub fn why(workspace: &Workspace, id: &TaskId) -> Result<Reason, OpsError> {
    let (view, in_force) = show(workspace, id)?;
    let rules = &in_force.rules;
    let task = view.file.task.clone();
    let gate =
        task.gate.as_ref().and_then(|open| rules.workflow_of(&task).and_then(|workflow| workflow.gate(&open.current)));
    let consequences = gate.map(|(_, gate)| {
        outcomes_at(rules, gate)
            .into_iter()
            .filter_map(|outcome| {
                let passage = preview(rules, &task, outcome)?;
                let holds = passage.to == Destination::Gate(gate.id.clone());
                Some(Consequence { outcome, passage, holds })
            })
            .collect()
    });
    Ok(Reason {
        because: because(&task),
        who: who(rules, &view.file),
        consequences: consequences.unwrap_or_default(),
        task,
    })
}

fn because(task: &Task) -> Vec<String> {
    let mut list = vec![arrival(task)];
    match task.status {
        Status::Blocked => list.extend(task.blockers.iter().map(|blocker| format!("it is blocked: {blocker}"))),
        Status::InProgress => {
            list.extend(task.routing.agent.as_ref().map(|agent| format!("`{agent}` has claimed it")));
        }
        Status::Ready => list.push("nobody has claimed it".to_owned()),
        Status::Complete | Status::Failed | Status::Cancelled => {}
    }
    if let Some(review) = &task.review {
        let who = review.from_agent.as_ref().map_or_else(|| "a reviewer".to_owned(), |agent| format!("`{agent}`"));
        let count = review.blockers.len();
        let things = if count == 1 { "one thing".to_owned() } else { format!("{count} things") };
        list.push(format!("{who} at gate `{}` wants {things} settled", review.from_gate));
    }
    list
}

fn arrival(task: &Task) -> String {
    let Some(last) = task.history.last() else {
        return match &task.gate {
            Some(open) => format!("it was created at {} and began at gate `{}`", task.created, open.current),
            None => "nobody has taken it up yet: it has no gate".to_owned(),
        };
    };
    let who = last.agent.as_ref().map_or_else(|| "somebody".to_owned(), |agent| format!("`{agent}`"));
    let at = last.exited;
    match (last.outcome, &last.to) {
        (Ending::Said(Outcome::NeedsReview), Some(to)) => {
            format!("{who} sent it back from gate `{}` to `{to}` at {at}", last.gate)
        }
        (Ending::Said(Outcome::Blocked), _) => {
            format!("{who} said at {at} that it cannot go on at gate `{}`", last.gate)
        }
        (Ending::Said(outcome), Some(Destination::End)) => {
            format!("{who} ended its last gate `{}` with `{outcome}` at {at}", last.gate)
        }
        (Ending::Said(outcome), Some(to)) => {
            format!("{who} ended gate `{}` with `{outcome}` at {at}, which led to `{to}`", last.gate)
        }
        (Ending::Override, Some(to)) => format!("{who} moved it to `{to}` at {at}: {}", last.summary),
        (Ending::Reopened, Some(to)) => format!("{who} took it up again at `{to}` at {at}: {}", last.summary),
        (Ending::Cancelled, _) => format!("{who} called it off at {at}: {}", last.summary),
        (outcome, _) => format!("{who} ended gate `{}` with `{outcome}` at {at}", last.gate),
    }
}
