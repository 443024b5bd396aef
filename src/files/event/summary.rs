//! A line of the event stream as a person reads it: one line, in few words, beside its time and its task.

use serde_json::Value;

use super::line::EventLine;
use crate::domain::EventKind;
use crate::files::printable::one_line;

/// The longest piece of somebody else's text that is shown.
const LONGEST: usize = 200;

/// Returns what happened, in words. What others wrote is one line in them, and moves no cursor.
pub(crate) fn event_words(event: &EventLine) -> String {
    match event.kind {
        Some(kind) => fill(event, template(kind)),
        None => format!("{}{}", shown(&event.name), fill(event, "[: {message}]")),
    }
}

/// Returns the words for a kind of event. `{field}` stands for a field, `{field|words}` has words for where it is missing, and
/// what is in brackets is left out where one of its fields is missing.
const fn template(kind: EventKind) -> &'static str {
    match kind {
        EventKind::TaskCreated => "created, at {toGate}",
        EventKind::TaskAdopted => "written by hand, at {toGate}",
        EventKind::TaskClaimed => "taken[ by {agent}][ at {gate}]",
        EventKind::TaskAssigned => "given to {agent|somebody}[ at {gate}]",
        EventKind::TaskRenewed => "{agent|somebody} goes on[ at {gate}][: {note}]",
        EventKind::TaskReleased => "given back[ by {agent}][ at {gate}]",
        EventKind::TaskLapsed => "the claim of {agent|somebody} ran out[ at {gate}]",
        EventKind::TaskHeld => "held[ at {gate}][: {blockers}]",
        EventKind::TaskUnblocked => "goes on[ at {gate}]",
        EventKind::TaskEdited => "edited by hand",
        EventKind::TaskCommented => "a comment[ by {agent}][: {comment}]",
        EventKind::TaskRestored => "brought back to where it was",
        EventKind::TaskBlocked => "blocked[ at {gate}][ by {agent}][: {blockers}]",
        EventKind::TaskReopened => "taken up again, {way}[: {summary}]",
        EventKind::TaskOverridden => "moved by a person, {way}[: {summary}]",
        EventKind::TaskMoved => "moved, {way}, because its gate left the workflow",
        EventKind::TaskRerouted => "the work of {role|others}[ at {gate}] since the rules changed",
        EventKind::TaskComplete => "complete",
        EventKind::TaskFailed => "failed",
        EventKind::TaskCancelled => "called off[: {reason}]",
        EventKind::GateTransition => "{way}[ ({outcome})][ by {agent}][: {summary}]",
        EventKind::GateRejection => {
            "sent back from {gate}[ to {targetGate}][ by {agent}][: {blockers}]"
        }
        EventKind::GateTimeout => "not done[ at {gate}][ within {timeout}][ by {agent}]",
        EventKind::GateEscalation => "role {escalateTo} steps in[ at {gate}][: {reason}]",
        EventKind::GateSkip => "passed over {gate}",
        EventKind::GateConditionError => {
            "the condition failed[ at {gate}][: {error}][ in `{expression}`]"
        }
        EventKind::GateCircularLoop => "goes in circles: sent back {loopCount|0} times[ to {gate}]",
        EventKind::GateExhausted => "sent back {loopCount|0} times[ to {gate}], more than allowed",
        EventKind::GateBlockedNoAgents => "nobody is in role {role|others}[ at {gate}]",
        EventKind::GateAssignmentError => {
            "taken from {agent|somebody}[ at {gate}][, which needs role {expectedRole}]"
        }
        EventKind::GateConflict => {
            "{losingAgent} was too late[ at {gate}]: {winningAgent|somebody else} was first"
        }
        EventKind::CompletionSuperseded => {
            "a merge superseded `{outcome}`[ by {agent}][ at {gate}][: {by} was first]"
        }
        EventKind::WorkflowConfigInvalid => "the rules of commit {commit} are invalid[: {error}]",
        EventKind::NoticesDropped => "{messages} given up, to {channel}[: {reason}]",
    }
}

fn fill(event: &EventLine, template: &str) -> String {
    let mut words = String::new();
    let mut rest = template;
    while let Some(at) = rest.find(['[', '{']) {
        words.push_str(&rest[..at]);
        let (inner, is_optional) = (&rest[at + 1..], rest[at..].starts_with('['));
        let end = inner.find(if is_optional { ']' } else { '}' }).unwrap_or(inner.len());
        let part = &inner[..end];
        if is_optional {
            let fields = part.split('{').skip(1).filter_map(|field| field.split('}').next());
            if fields.into_iter().all(|field| !value(event, field).is_empty()) {
                words.push_str(&fill(event, part));
            }
        } else {
            let (name, default) = part.split_once('|').unwrap_or((part, ""));
            let found = value(event, name);
            words.push_str(if found.is_empty() { default } else { &found });
        }
        rest = &inner[(end + 1).min(inner.len())..];
    }
    words + rest
}

/// Returns a field as words; empty where it is missing.
fn value(event: &EventLine, name: &str) -> String {
    match (name, event.fields.get(name)) {
        ("way", _) => way(event),
        ("messages", _) => match event.fields.get("count").and_then(Value::as_u64) {
            Some(1) => "1 message was".to_owned(),
            count => format!("{} messages were", count.unwrap_or(0)),
        },
        ("commit", Some(Value::String(commit))) => shown(commit).chars().take(7).collect(),
        (_, Some(Value::String(text))) => shown(text),
        (_, Some(Value::Number(number))) => number.to_string(),
        (_, Some(Value::Array(texts))) => {
            texts.iter().filter_map(Value::as_str).map(shown).collect::<Vec<_>>().join("; ")
        }
        _ => String::new(),
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

fn shown(text: &str) -> String {
    let text = one_line(text);
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}...", &text[..at]),
        None => text,
    }
}
