//! What a person does at a board. Each act is the operation that the command of that name calls.

use crate::dispatch::next::claim_named;
use crate::domain::{AgentId, Completion, CompletionId, Map, Outcome, Ticket};
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::tasks::actions;
use crate::tasks::complete::{Signing, complete_signed};
use crate::tasks::edit::{Comment, comment};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::gates_passed;

/// What a person does to a task.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BoardAct {
    Complete(Box<CompletionForm>),
    Claim(Ticket),
    Unblock { ticket: Ticket, reason: Option<String> },
    Comment { ticket: Ticket, text: String },
}

/// What a completion says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompletionForm {
    /// The visit that the person saw: if it has ended, nothing happens.
    pub ticket: Ticket,
    pub outcome: Outcome,
    pub summary: String,
    pub blockers: Vec<String>,
    pub outputs: Map,
    /// What makes it count once, however often it is sent.
    pub id: CompletionId,
}

/// Does it in the name of the person. Returns what happened, in a sentence.
pub(crate) fn perform(
    workspace: &Workspace,
    act: &BoardAct,
    you: &AgentId,
    signing: Signing<'_>,
) -> Result<String, ProjectError> {
    let (by, now) = (Some(you), DryRun::No);
    let changed = match act {
        BoardAct::Complete(form) => {
            complete_signed(workspace, &completion(form, you), signing, now)
        }
        BoardAct::Claim(ticket) => {
            let in_force = workspace.rules()?;
            claim_named(workspace, &in_force, ticket, you, now)
        }
        BoardAct::Unblock { ticket, reason } => {
            actions::unblock(workspace, ticket, by, reason.as_deref(), now)
        }
        BoardAct::Comment { ticket, text } => {
            let said = Comment { text: text.clone(), agent: by.cloned() };
            comment(workspace, &ticket.task, &said, now)
        }
    }?;
    Ok(sentence(act, &changed))
}

fn completion(form: &CompletionForm, you: &AgentId) -> Completion {
    Completion {
        ticket: form.ticket.clone(),
        gate: None,
        agent: you.clone(),
        outcome: Some(form.outcome.to_string()),
        summary: Some(form.summary.clone()),
        blockers: (!form.blockers.is_empty()).then(|| form.blockers.clone()),
        rejection_notes: None,
        outputs: form.outputs.clone(),
        metadata: Map::new(),
        body: None,
        fields: None,
        id: form.id.clone(),
        signature: None,
        facts: Box::default(),
    }
}

fn sentence(act: &BoardAct, changed: &Changed) -> String {
    let id = &changed.after.task.id;
    let done = match act {
        BoardAct::Complete(form) => format!("{} ({})", gates_passed(changed), form.outcome),
        BoardAct::Claim(_) => "claimed".to_owned(),
        BoardAct::Unblock { .. } => "goes on".to_owned(),
        BoardAct::Comment { .. } => "commented".to_owned(),
    };
    format!("{id}: {done}")
}
