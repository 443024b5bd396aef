//! What is on its way, and what was given up: for people who wonder where a message is.

use serde::Serialize;

use crate::domain::Timestamp;
use crate::project::error::ProjectError;
use crate::project::workspace::Workspace;
use crate::storage::Outbox;
use crate::storage::outbox::OutboxMessage;

/// A message, and where it stands.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct OutgoingMessage {
    pub id: String,
    /// What it tells: the name of the event.
    pub event: String,
    #[serde(rename = "taskId")]
    pub task: Option<String>,
    /// The channel as people know it.
    pub channel: String,
    pub state: OutgoingState,
    /// Since when it waits.
    pub since: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// When it is tried again, if that is to be waited for.
    pub next: Option<Timestamp>,
    /// Why it was not taken.
    pub error: Option<String>,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OutgoingState {
    /// It was not tried yet, or its time has come.
    Due,
    /// It is tried again later.
    Waiting,
    /// It was given up.
    Dropped,
}

/// Returns what is on its way, channel by channel, the oldest first, and what was given up.
pub(crate) fn outgoing(workspace: &Workspace) -> Result<Vec<OutgoingMessage>, ProjectError> {
    let outbox = Outbox::of(&workspace.paths);
    let now = workspace.now();
    let mut messages = Vec::new();
    for key in outbox.channels()? {
        let rest = outbox.rest(&key)?;
        for name in outbox.names(&key)? {
            let Some(mut waiting) = outbox.read(&key, &name)? else { continue };
            if let Some(rest) = &rest {
                waiting.next = waiting.next.max(Some(rest.until));
                waiting.error.get_or_insert_with(|| rest.error.clone());
            }
            waiting.next = waiting.next.filter(|next| *next > now);
            let state =
                if waiting.next.is_some() { OutgoingState::Waiting } else { OutgoingState::Due };
            messages.push(message(waiting, state));
        }
    }
    for mut dropped in outbox.dropped()? {
        dropped.next = None;
        messages.push(message(dropped, OutgoingState::Dropped));
    }
    Ok(messages)
}

fn message(waiting: OutboxMessage, state: OutgoingState) -> OutgoingMessage {
    let field = |name: &str| waiting.message[name].as_str().map(str::to_owned);
    OutgoingMessage {
        event: field("event").unwrap_or_default(),
        task: field("taskId"),
        id: waiting.id,
        channel: waiting.channel,
        state,
        since: waiting.since,
        attempts: waiting.attempts,
        next: waiting.next,
        error: waiting.error,
    }
}
