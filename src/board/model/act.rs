//! The acts of a person at a board. Each act is the operation that the command of that name calls.

use crate::dispatch::claim::assign;
use crate::dispatch::next::claim_named;
use crate::domain::{
    AgentId, Completion, CompletionContent, CompletionId, GateId, Map, Outcome, SshSignature,
    TaskId, Ticket,
};
use crate::project::error::ProjectError;
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::tasks::actions;
use crate::tasks::complete::{Signing, complete, complete_signed};
use crate::tasks::create::{NewTask, create};
use crate::tasks::edit::{Comment, EditedFields, comment, edit_fields};
use crate::tasks::plan::{Changed, DryRun};
use crate::tasks::view::task_view::gates_passed;

/// An act of a person at a board.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum BoardAct {
    Complete(Box<CompletionForm>),
    Create(Box<NewTask>),
    Edit(TaskId, Box<EditedFields>),
    On(Ticket, TicketAct),
}

/// An act of a person on a task, except a completion.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum TicketAct {
    Claim,
    Release,
    Unblock { reason: Option<String> },
    Comment { text: String },
    Assign { agent: AgentId },
    Hold { reason: String },
    Cancel { reason: String },
    Reopen { to: GateId, reason: String },
    Override { to: GateId, reason: String },
}

/// The content of a completion, as a person fills it in.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CompletionForm {
    /// The visit that the person saw: if it has ended, nothing happens.
    pub ticket: Ticket,
    pub outcome: Outcome,
    pub summary: String,
    pub blockers: Vec<String>,
    pub outputs: Map,
    /// The id that makes the completion count once, however often it is sent.
    pub id: CompletionId,
    /// The signature by a passkey in the browser. `None` if the completion is to be signed here, where that is required.
    pub signature: Option<SshSignature>,
}

/// The result of an act.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Done {
    pub task: TaskId,
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
) -> Result<Done, ProjectError> {
    if you.is_human() {
        check_agent(&workspace.rules()?.rules, you, None)?;
    }
    let (by, now) = (Some(you), DryRun::No);
    let changed = match act {
        BoardAct::Complete(form) => match signing {
            Some(signing) => complete_signed(workspace, &form.by(you), signing, now)?,
            None => complete(workspace, &form.by(you), now)?,
        },
        BoardAct::Create(new) => create(workspace, std::slice::from_ref(new), by, now)?.remove(0),
        BoardAct::Edit(id, fields) => edit_fields(workspace, id, by, fields, now)?,
        BoardAct::On(ticket, act) => perform_on(workspace, ticket, act, you)?,
    };
    let task = changed.after.task.id.clone();
    Ok(Done { sentence: format!("{task}: {}", what_happened(act, &changed)), task })
}

fn perform_on(
    workspace: &Workspace,
    ticket: &Ticket,
    act: &TicketAct,
    you: &AgentId,
) -> Result<Changed, ProjectError> {
    let (by, now) = (Some(you), DryRun::No);
    match act {
        TicketAct::Claim => claim_named(workspace, &workspace.rules()?, ticket, you, now),
        TicketAct::Release => actions::release(workspace, ticket, by, now),
        TicketAct::Unblock { reason } => {
            actions::unblock(workspace, ticket, by, reason.as_deref(), now)
        }
        TicketAct::Comment { text } => {
            let said = Comment { text: text.clone(), agent: by.cloned() };
            comment(workspace, &ticket.task, &said, now)
        }
        TicketAct::Assign { agent } => assign(workspace, ticket, by, agent, now),
        TicketAct::Hold { reason } => actions::hold(workspace, ticket, by, reason, now),
        TicketAct::Cancel { reason } => actions::cancel(workspace, ticket, by, reason, now),
        TicketAct::Reopen { to, reason } => actions::reopen(workspace, ticket, by, to, reason, now),
        TicketAct::Override { to, reason } => {
            actions::override_to(workspace, ticket, by, to, reason, now)
        }
    }
}

impl CompletionForm {
    /// Returns the form as a completion of the person.
    pub(crate) fn by(&self, you: &AgentId) -> Completion {
        Completion {
            ticket: self.ticket.clone(),
            gate: None,
            agent: you.clone(),
            content: CompletionContent {
                outcome: Some(self.outcome.to_string()),
                summary: Some(self.summary.clone()),
                blockers: (!self.blockers.is_empty()).then(|| self.blockers.clone()),
                outputs: self.outputs.clone(),
                ..CompletionContent::default()
            },
            id: self.id.clone(),
            signature: self.signature.clone(),
            facts: Box::default(),
        }
    }
}

fn what_happened(act: &BoardAct, changed: &Changed) -> String {
    let said = match act {
        BoardAct::Complete(form) => return format!("{} ({})", gates_passed(changed), form.outcome),
        BoardAct::Create(_) => "created",
        BoardAct::Edit(..) => "edited",
        BoardAct::On(_, act) => match act {
            TicketAct::Claim => "claimed",
            TicketAct::Release => "released",
            TicketAct::Unblock { .. } => "goes on",
            TicketAct::Comment { .. } => "commented",
            TicketAct::Assign { agent } => return format!("assigned to {agent}"),
            TicketAct::Hold { .. } => "held",
            TicketAct::Cancel { .. } => "cancelled",
            TicketAct::Reopen { to, .. } => return format!("reopened at {to}"),
            TicketAct::Override { to, .. } => return format!("moved to {to}"),
        },
    };
    said.to_owned()
}
