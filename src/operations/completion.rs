//! The operation that ends a visit.

use super::arguments::{ArgumentFault, Arguments};
use super::operation::{Call, CallFault, Done};
use crate::domain::ssh::SshFault;
use crate::domain::{AgentId, Completion, CompletionContent, SshSignature, Ticket, Timestamp};
use crate::storage::random::ulid;
use crate::tasks::complete::{complete, complete_signed};
use crate::tasks::view::task_view::step_of;

pub(super) fn complete_visit(call: &Call<'_>, ticket: &Ticket) -> Result<Done, CallFault> {
    let completion = completion(call.given, ticket, call.agent()?, call.workspace.now())?;
    let changed = match call.signing {
        Some(signing) => complete_signed(call.workspace, &completion, signing, call.dry_run)?,
        None => complete(call.workspace, &completion, call.dry_run)?,
    };
    Ok(Done::one(step_of(&changed), changed))
}

/// Decodes a completion. It gets an id if none is given.
pub(crate) fn completion(
    given: &Arguments,
    ticket: &Ticket,
    agent: &AgentId,
    now: Timestamp,
) -> Result<Completion, CallFault> {
    Ok(Completion {
        ticket: ticket.clone(),
        gate: given.id("gate")?,
        agent: agent.clone(),
        content: CompletionContent {
            outcome: given.text("outcome"),
            summary: given.text("summary"),
            blockers: given.texts("blockers"),
            rejection_notes: given.text("rejectionNotes"),
            outputs: given.object("outputs"),
            metadata: given.object("metadata"),
            body: None,
            fields: None,
        },
        id: match given.id("id")? {
            Some(id) => id,
            None => ulid(now)?,
        },
        signature: signature(given)?,
        facts: Box::default(),
    })
}

fn signature(given: &Arguments) -> Result<Option<SshSignature>, ArgumentFault> {
    let Some(text) = given.text("signature") else { return Ok(None) };
    text.parse().map(Some).map_err(|SshFault { problem, fix }| {
        ArgumentFault::new("invalid_argument", "signature", problem, fix)
    })
}
