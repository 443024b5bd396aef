//! A line of the event stream as a person reads it: one line, in few words, beside its time and its task.

use serde_json::Value;

use super::line::EventLine;
use crate::domain::EventKind;
use crate::files::printable::one_line;

/// The longest piece of somebody else's text that is shown.
const LONGEST: usize = 200;

/// Returns what happened, in words. What others wrote is one line in them, and moves no cursor.
pub(crate) fn event_words(event: &EventLine) -> String {
    let field = |key: &str| event.text(key).map(shown);
    let name = |key: &str| field(key).unwrap_or_default();
    let at = || field("gate").map(|gate| format!(" at {gate}")).unwrap_or_default();
    let who = || field("agent").unwrap_or_else(|| "somebody".to_owned());
    let by = || field("agent").map(|agent| format!(" by {agent}")).unwrap_or_default();
    let with = |key: &str| said(event, key);
    let count = event
        .fields
        .get("loopCount")
        .or(event.fields.get("count"))
        .and_then(Value::as_u64)
        .unwrap_or(0);
    let role = || field("role").unwrap_or_else(|| "others".to_owned());
    let Some(kind) = event.kind else {
        return format!("{}{}", shown(&event.name), with("message"));
    };
    match kind {
        EventKind::TaskCreated => format!("created, at {}", name("toGate")),
        EventKind::TaskAdopted => format!("written by hand, at {}", name("toGate")),
        EventKind::TaskClaimed => format!("taken{}{}", by(), at()),
        EventKind::TaskAssigned => format!("given to {}{}", who(), at()),
        EventKind::TaskRenewed => format!("{} goes on{}{}", who(), at(), with("note")),
        EventKind::TaskReleased => format!("given back{}{}", by(), at()),
        EventKind::TaskLapsed => format!("the claim of {} ran out{}", who(), at()),
        EventKind::TaskHeld => format!("held{}{}", at(), with("blockers")),
        EventKind::TaskUnblocked => format!("goes on{}", at()),
        EventKind::TaskEdited => "edited by hand".to_owned(),
        EventKind::TaskCommented => format!("a comment{}{}", by(), with("comment")),
        EventKind::TaskRestored => "brought back to where it was".to_owned(),
        EventKind::TaskBlocked => format!("blocked{}{}{}", at(), by(), with("blockers")),
        EventKind::TaskReopened => format!("taken up again, {}{}", way(event), with("summary")),
        EventKind::TaskOverridden => {
            format!("moved by a person, {}{}", way(event), with("summary"))
        }
        EventKind::TaskMoved => {
            format!("moved, {}, because its gate left the workflow", way(event))
        }
        EventKind::TaskRerouted => {
            format!("the work of {}{} since the rules changed", role(), at())
        }
        EventKind::TaskComplete => "complete".to_owned(),
        EventKind::TaskFailed => "failed".to_owned(),
        EventKind::TaskCancelled => format!("called off{}", with("reason")),
        EventKind::GateTransition => {
            let outcome =
                field("outcome").map(|outcome| format!(" ({outcome})")).unwrap_or_default();
            format!("{}{outcome}{}{}", way(event), by(), with("summary"))
        }
        EventKind::GateRejection => {
            let back = field("targetGate").map(|gate| format!(" to {gate}")).unwrap_or_default();
            format!("sent back from {}{back}{}{}", name("gate"), by(), with("blockers"))
        }
        EventKind::GateTimeout => {
            let limit =
                field("timeout").map(|limit| format!(" within {limit}")).unwrap_or_default();
            format!("not done{}{limit}{}", at(), by())
        }
        EventKind::GateEscalation => {
            format!("role {} steps in{}{}", name("escalateTo"), at(), with("reason"))
        }
        EventKind::GateSkip => format!("passed over {}", name("gate")),
        EventKind::GateConditionError => {
            let expression =
                field("expression").map(|text| format!(" in `{text}`")).unwrap_or_default();
            format!("the condition failed{}{}{expression}", at(), with("error"))
        }
        EventKind::GateCircularLoop => {
            format!("goes in circles: sent back {count} times{}", to_gate(event))
        }
        EventKind::GateExhausted => {
            format!("sent back {count} times{}, more than allowed", to_gate(event))
        }
        EventKind::GateBlockedNoAgents => format!("nobody is in role {}{}", role(), at()),
        EventKind::GateAssignmentError => {
            let expected = field("expectedRole")
                .map(|role| format!(", which needs role {role}"))
                .unwrap_or_default();
            format!("taken from {}{}{expected}", who(), at())
        }
        EventKind::GateConflict => {
            let winner = field("winningAgent").unwrap_or_else(|| "somebody else".to_owned());
            format!("{} was too late{}: {winner} was first", name("losingAgent"), at())
        }
        EventKind::CompletionSuperseded => {
            let winner = field("by").map(|by| format!(": {by} was first")).unwrap_or_default();
            format!("a merge superseded `{}`{}{}{winner}", name("outcome"), by(), at())
        }
        EventKind::WorkflowConfigInvalid => {
            let commit: String = name("commit").chars().take(7).collect();
            format!("the rules of commit {commit} are invalid{}", with("error"))
        }
        EventKind::NoticesDropped => {
            let messages = if count == 1 { "message was" } else { "messages were" };
            format!("{count} {messages} given up, to {}{}", name("channel"), with("reason"))
        }
    }
}

/// Returns where a visit was and where the task went, as far as both are known.
fn way(event: &EventLine) -> String {
    match (event.text("fromGate").map(shown), event.text("toGate").map(shown)) {
        (Some(one), Some(other)) if one == other => format!("stays at {one}"),
        (Some(one), Some(other)) => format!("{one} -> {other}"),
        (Some(one), None) => one,
        (None, other) => other.map(|other| format!("to {other}")).unwrap_or_default(),
    }
}

fn to_gate(event: &EventLine) -> String {
    event.text("gate").map(|gate| format!(" to {}", shown(gate))).unwrap_or_default()
}

/// Returns what somebody wrote, behind a colon: a text, or several.
fn said(event: &EventLine, key: &str) -> String {
    let text = match event.fields.get(key) {
        Some(Value::String(text)) => shown(text),
        Some(Value::Array(texts)) => {
            texts.iter().filter_map(Value::as_str).map(shown).collect::<Vec<_>>().join("; ")
        }
        _ => String::new(),
    };
    if text.is_empty() { text } else { format!(": {text}") }
}

fn shown(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
