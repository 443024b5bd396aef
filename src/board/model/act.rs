//! The acts of a person at a board: operations, on the visit that the person saw.

use crate::domain::{AgentId, TaskId, Ticket};
use crate::operations::arguments::Arguments;
use crate::operations::{Call, CallFault, Operation};
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::tasks::complete::Signing;
use crate::tasks::plan::DryRun;

/// An act at a board.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct BoardAct {
    pub operation: &'static Operation,
    /// The visit that the person saw. `None` if the operation is about the project.
    pub ticket: Option<Ticket>,
    pub given: Arguments,
}

/// The result of an act, for the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ActDone {
    /// The task that changed. `None` if the act was about the project.
    pub task: Option<TaskId>,
    /// The visit that is open now.
    pub ticket: Option<Ticket>,
    /// The result in a sentence.
    pub sentence: String,
}

/// Carries out the act in the name of the person, who must be in org.yaml. Without `signing`, a completion that needs a
/// signature must already have one.
pub(crate) fn perform(
    workspace: &Workspace,
    act: &BoardAct,
    you: &AgentId,
    signing: Option<Signing<'_>>,
) -> Result<ActDone, CallFault> {
    let in_force = &workspace.rules()?;
    if you.is_human() {
        check_agent(&in_force.rules, you, None)?;
    }
    let (by, given, dry_run) = (Some(you), &act.given, DryRun::No);
    let call = Call { workspace, in_force, by, given, signing, dry_run };
    let done = act.operation.run(&call, act.ticket.as_ref())?;
    let ticket = done.changed.first().map(|changed| changed.after.task.ticket());
    let task = ticket.as_ref().map(|ticket| ticket.task.clone());
    let subject = task.as_ref().map(|task| format!("{task}: ")).unwrap_or_default();
    Ok(ActDone { sentence: format!("{subject}{}", done.sentence), task, ticket })
}
