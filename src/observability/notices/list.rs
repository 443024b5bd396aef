//! What is on its way, and what was given up: for people who wonder where a message is.

use serde_json::{Value, json};

use crate::domain::Timestamp;
use crate::project::error::error::OpsError;
use crate::project::workspace::Workspace;
use crate::storage::Outbox;
use crate::storage::outbox::OutboxMessage;

/// What is on its way, and what was given up.
pub(crate) struct Outgoing {
    /// The messages, channel by channel, the oldest first.
    pub messages: Vec<OutgoingMessage>,
}

/// A message, and where it stands.
pub(crate) struct OutgoingMessage {
    /// Its id.
    pub id: String,
    /// What it tells: the name of the event.
    pub event: String,
    /// The task.
    pub task: Option<String>,
    /// The channel as people know it.
    pub channel: String,
    /// Since when it waits.
    pub since: Timestamp,
    /// How often it was tried.
    pub attempts: u32,
    /// How it stands.
    pub standing: OutgoingStanding,
    /// Why it was not taken.
    pub error: Option<String>,
}

/// How a message stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutgoingStanding {
    /// It waits; it was not tried yet, or its time has come.
    Due,
    /// It is tried again then.
    Later(Timestamp),
    /// It was given up.
    Dropped,
}

/// Returns what is on its way, and what was given up.
pub(crate) fn outgoing(workspace: &Workspace) -> Result<Outgoing, OpsError> {
    let outbox = Outbox::of(&workspace.paths);
    let now = workspace.now();
    let mut messages = Vec::new();
    for key in outbox.channels()? {
        let rest = outbox.rest(&key)?;
        for name in outbox.names(&key)? {
            let Some(waiting) = outbox.read(&key, &name)? else { continue };
            let until = rest.as_ref().map(|rest| rest.until);
            let next = waiting.next.max(until).filter(|next| *next > now);
            let error =
                waiting.error.clone().or_else(|| rest.as_ref().map(|rest| rest.error.clone()));
            messages.push(OutgoingMessage {
                error,
                ..message(waiting, next.map_or(OutgoingStanding::Due, OutgoingStanding::Later))
            });
        }
    }
    messages.extend(
        outbox.dropped()?.into_iter().map(|waiting| message(waiting, OutgoingStanding::Dropped)),
    );
    Ok(Outgoing { messages })
}

fn message(waiting: OutboxMessage, standing: OutgoingStanding) -> OutgoingMessage {
    let field = |name: &str| waiting.message[name].as_str().map(str::to_owned);
    OutgoingMessage {
        event: field("event").unwrap_or_default(),
        task: field("taskId"),
        id: waiting.id,
        channel: waiting.channel,
        since: waiting.since,
        attempts: waiting.attempts,
        standing,
        error: waiting.error,
    }
}

/// Forgets the messages that were given up, and returns how many there were.
pub(crate) fn forget_dropped(workspace: &Workspace) -> Result<usize, OpsError> {
    Ok(Outbox::of(&workspace.paths).forget_dropped()?)
}

/// Returns the list as `--json` shows it.
pub(crate) fn outgoing_value(outgoing: &Outgoing) -> Value {
    let notices: Vec<Value> = outgoing
        .messages
        .iter()
        .map(|message| {
            let (state, next) = match message.standing {
                OutgoingStanding::Due => ("due", None),
                OutgoingStanding::Later(next) => ("waiting", Some(next)),
                OutgoingStanding::Dropped => ("dropped", None),
            };
            json!({
                "id": message.id,
                "event": message.event,
                "taskId": message.task,
                "channel": message.channel,
                "state": state,
                "since": message.since.to_string(),
                "attempts": message.attempts,
                "next": next.map(|next| next.to_string()),
                "error": message.error,
            })
        })
        .collect();
    json!({"notices": notices})
}
