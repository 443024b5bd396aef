//! Events as JSON, as a line of text, and as the text of a notice (spec 1, section 9). Texts are templates over the fields that the
//! event has in the stream.
//!
//! A text that a person or an agent wrote becomes one line, cut if it is long, without control characters.

use serde_json::{Value, json};

use super::line::EventLine;
use crate::printable::one_line;
use aof_domain::{
    Destination, Event, EventKind, Fix, Level, Map, NoticeReader, Occurrence, Remedy,
    TroubleAction, Visit,
};

/// The longest piece of such a text in a line, and in a notice.
const IN_LINE: usize = 200;
const IN_NOTICE: usize = 500;

/// Returns a short description of the event.
pub fn event_words(event: &EventLine) -> String {
    let words = TemplateFields { fields: &event.fields, longest: IN_LINE };
    match event.kind {
        Some(kind) => words.fill(line_template(kind)),
        None => format!("{}{}", words.shown(&event.name), words.fill("[: {message}]")),
    }
}

/// Returns a step of a task in words: `plan → implement`, `sent back to plan`, `blocked at plan`, `review: fine → done`. `to` has the
/// words of [`place_words`].
pub fn step_words(from: &str, outcome: &str, to: Option<&str>) -> String {
    let arrow = to.map(|to| format!(" → {to}")).unwrap_or_default();
    match (outcome, to) {
        ("complete", None) => format!("{from} done"),
        ("complete", _) => format!("{from}{arrow}"),
        ("needs_review", None) => format!("sent back at {from}"),
        ("needs_review", Some(to)) => format!("sent back to {to}"),
        ("blocked", _) => format!("blocked at {from}"),
        // A person or the rules moved it: `plan → review (override)`.
        ("override" | "reopened" | "moved" | "timeout" | "cancelled", _) => {
            format!("{from}{arrow} ({outcome})")
        }
        (decision, _) => format!("{from}: {}{arrow}", decision.replace('_', " ")),
    }
}

/// Returns where a step led, in words: a gate's name, `done`, `cancelled`, `failed`.
pub fn place_words(to: &Destination) -> &str {
    if *to == Destination::End { "done" } else { to.noun() }
}

/// Returns the text of a notice for that kind of reader.
pub(crate) fn notice_text(occurrence: &Occurrence, reader: NoticeReader) -> String {
    let mut fields = match serde_json::to_value(&occurrence.event) {
        Ok(Value::Object(fields)) => fields,
        _ => Map::new(),
    };
    if let Some(subject) = &occurrence.subject {
        fields.insert("title".to_owned(), json!(subject.title));
        fields.insert("taskId".to_owned(), json!(subject.task));
    }
    if let Event::Rejected { visit, .. }
    | Event::Reopened(visit)
    | Event::Overridden { visit, .. }
    | Event::Moved { visit, .. } = &occurrence.event
        && let Some(Destination::Gate(gate)) = &visit.to
    {
        fields.insert("next".to_owned(), json!(gate));
    }
    let words = TemplateFields { fields: &fields, longest: IN_NOTICE };
    let template = notice_template(&occurrence.event, reader);
    let titled = "task {taskId} (\"{title}\")";
    let text = words.fill(&template.replace("{titled}", titled));
    // A notice begins with a capital.
    let mut characters = text.chars();
    let first = characters.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(characters).collect()
}

/// Returns the template of a line. `{field}` stands for a field, and `{field|words}` has words for a missing one. A part in
/// brackets is left out if one of its fields is missing, or replaced by the words after its last bar.
const fn line_template(kind: EventKind) -> &'static str {
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
        EventKind::TaskEdited => "edited[ by {by}| by hand]",
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
        EventKind::GateTransition => "{step}[ by {agent}][: {summary}]",
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
            "{losingAgent} was too late[ at {gate}][: {winningAgent} was first]"
        }
        EventKind::CompletionSuperseded => {
            "a merge superseded `{outcome}`[ by {agent}][ at {gate}][: {by} was first]"
        }
        EventKind::WorkflowConfigInvalid => "the rules of commit {short} are invalid[: {error}]",
        EventKind::NoticesDropped => "{messages} given up, to {channel}[: {reason}]",
    }
}

/// Returns the template of a notice. `{titled}` stands for the task with its title, `{do why}` for an operation.
#[expect(clippy::too_many_lines, reason = "one arm for each case")]
fn notice_template(event: &Event, reader: NoticeReader) -> &'static str {
    let is_affected = reader == NoticeReader::Affected;
    match event {
        Event::Created { .. } => "{titled} is at gate '{toGate}', its first.",
        Event::Adopted { .. } => {
            "{titled} was written by hand, and is at gate '{toGate}', its first."
        }
        Event::Claimed { .. } => "{titled} was taken by agent '{agent}' at gate '{gate}'.",
        Event::Assigned { .. } if is_affected => {
            "{titled} was given to you at gate '{gate}'. `{do brief}` says what is wanted."
        }
        Event::Assigned { .. } => "{titled} was given to agent '{agent}' at gate '{gate}'.",
        Event::Renewed { .. } => "agent '{agent}' goes on with {titled} at gate '{gate}'[: {note}]",
        Event::Released { .. } => "{titled} was given back by agent '{agent}' at gate '{gate}'.",
        Event::Lapsed { .. } if is_affected => {
            "your claim of {titled} at gate '{gate}' ran out, because you did not renew it. Others may take the task now."
        }
        Event::Lapsed { .. } => {
            "the claim of agent '{agent}' on {titled} at gate '{gate}' ran out. The task is free again."
        }
        Event::Held { .. } => {
            "{titled} is held at gate '{gate}', and nothing is completed meanwhile: {blockers}"
        }
        Event::Unblocked { .. } => "{titled} goes on at gate '{gate}'.",
        Event::Rerouted { .. } => {
            "{titled} at gate '{gate}' is the work of [role '{role}'|others], since the rules changed."
        }
        Event::Edited { .. } => "{titled} was edited[ by {by}| by hand].",
        Event::Restored => "{titled} was brought back to where it was.",
        Event::Commented { .. } if is_affected => {
            "[{agent}|somebody] mentioned you in a comment on {titled}: {comment}"
        }
        Event::Commented { .. } => "[agent '{agent}'|somebody] wrote of {titled}: {comment}",
        Event::Transition(visit) => transition_template(visit, reader),
        Event::Rejected { .. } => {
            "{titled} was sent back from gate '{gate}'[ to gate '{next}'][ by agent '{agent}'][: {blockers}][\n{rejectionNotes}]"
        }
        Event::Skipped { .. } => "gate '{gate}' was passed over for {titled}.",
        Event::Blocked { blockers, .. } if blockers.is_empty() => {
            "{titled} is blocked at gate '{gate}', and nobody said why."
        }
        Event::Blocked { .. } => "{titled} is blocked at gate '{gate}': {blockers}",
        Event::Reopened(_) => "{titled} was taken up again[ to gate '{next}']: {summary}",
        Event::Overridden { .. } => {
            "{titled} was moved by a person from gate '{fromGate}'[ to gate '{next}']: {summary}"
        }
        Event::Moved { .. } => {
            "{titled} was moved[ to gate '{next}'], because gate '{fromGate}' left its workflow."
        }
        Event::Complete => "{titled} is complete.",
        Event::Failed => "{titled} has failed.",
        Event::Cancelled { .. } => "{titled} was called off: {reason}",
        Event::TimedOut { escalate_to: Some(_), .. } if is_affected => {
            "{titled} was taken from you: it was not done at gate '{gate}'[ within {timeout}], and role '{escalateTo}' steps in.\n\
             There is nothing for you to do. If that is a mistake, tell the project's owner."
        }
        Event::TimedOut { .. } if is_affected => {
            "{titled} was not done at gate '{gate}'[ within {timeout}]. It is still yours; say how far you are with \
             `{do renew}`, or give it back with `{do release}`."
        }
        Event::TimedOut { escalate_to: Some(_), .. } => {
            "task {taskId} was not done at gate '{gate}'[ within {timeout}][ by agent '{agent}']. Role '{escalateTo}' steps in."
        }
        Event::TimedOut { .. } => {
            "{titled} was not done at gate '{gate}'[ within {timeout}][ by agent '{agent}'], and nobody steps in: the gate has no \
             `escalateTo`."
        }
        Event::Escalated { .. } if reader == NoticeReader::Successor => {
            "{titled} was escalated to you at gate '{gate}': {why}.\nPlease look at it and complete it."
        }
        Event::Escalated { .. } => {
            "{titled} was escalated to role '{escalateTo}' at gate '{gate}': {why}."
        }
        Event::CircularLoop { .. } => {
            "{titled} was sent back to gate '{gate}' {loopCount} times, last by gate '{fromGate}', and is blocked.\n\
             That often means that the blockers cannot be met or are not clear, that whoever does the work and whoever \
             reviews it expect different things, or that something is set up wrongly.\n\
             The project's owner has to look at it: `{do why}`, then `{do unblock}` with a reason."
        }
        Event::Exhausted { .. } => {
            "{titled} was sent back to gate '{gate}' {loopCount} times, which is more than gate '{fromGate}' allows, and is blocked.\n\
             The project's owner has to look at it: `{do why}`, then `{do unblock}` with a reason."
        }
        Event::BlockedNoAgents { .. } => {
            "{titled} is blocked: nobody is in role '{role}', which gate '{gate}' needs.\n\
             The project's owner has to put an agent into that role in org.yaml."
        }
        Event::ConditionError(trouble) if trouble.action == TroubleAction::Block => {
            "the condition of gate '{gate}' failed for {titled}: {error} in `{expression}`. The task is blocked there."
        }
        Event::ConditionError(trouble) if trouble.action == TroubleAction::Enter => {
            "the condition of gate '{gate}' failed for {titled}: {error} in `{expression}`. The gate is entered all the same."
        }
        Event::ConditionError(_) => {
            "the condition of gate '{gate}' failed for {titled}: {error} in `{expression}`. It counts as false: the gate is passed over."
        }
        Event::AssignmentError { .. } if is_affected => {
            "{titled} was taken from you, because your role does not fit: gate '{gate}' needs [role '{expectedRole}'|another role], \
             and you are in {actualRole|no role}.\nThat is probably a mistake in the configuration. The task goes to that role; \
             there is nothing for you to do."
        }
        Event::AssignmentError { .. } => {
            "{titled} was with agent '{agent}', who is in {actualRole|no role}, and gate '{gate}' needs \
             [role '{expectedRole}'|another role]. It goes to that role."
        }
        Event::Conflict { .. } if is_affected => {
            "your completion of task {taskId} was not recorded: [agent '{winningAgent}'|somebody else] completed the same gate \
             before you.\nThe task has gone on already; there is nothing for you to do."
        }
        Event::Conflict { .. } => {
            "two completions came for task {taskId} at gate '{gate}': [agent '{winningAgent}'|somebody else] was first, and that of \
             agent '{losingAgent}' does not count."
        }
        Event::Superseded { .. } if is_affected => {
            "your `{outcome}` for {ticket} at gate '{gate}' counts no more: two branches were merged, and on the one that \
             stands [agent '{by}'|somebody else] had ended that visit.\nWhat you said is kept in git's history, and a text that came \
             with it in the body of the task; see where it stands with `{do why} {taskId}`."
        }
        Event::Superseded { .. } => {
            "`{outcome}`[ by agent '{agent}'] for {ticket} at gate '{gate}' counts no more: two branches were merged, and on the one \
             that stands [agent '{by}'|somebody else] had ended that visit."
        }
        Event::RulesInvalid { .. } => {
            "the rules of commit {commit} are invalid, so earlier ones stay in force: {error} ({count} in all). See `{do workflow validate}`."
        }
        Event::NoticesDropped { count: 1, .. } => "1 message to `{channel}` was given up: {reason}",
        Event::NoticesDropped { .. } => "{count} messages to `{channel}` were given up: {reason}",
    }
}

fn transition_template(visit: &Visit, reader: NoticeReader) -> &'static str {
    match &visit.to {
        Some(Destination::Gate(_)) if reader == NoticeReader::Successor => {
            "{titled} has come to gate '{toGate}' and waits for you; from gate '{fromGate}'[ by agent '{agent}'][: {summary}]"
        }
        Some(Destination::Gate(gate)) if *gate == visit.gate => {
            "{titled} stays at gate '{toGate}' ({outcome})[ by agent '{agent}'][: {summary}]"
        }
        Some(Destination::Gate(_)) => {
            "{titled} went from gate '{fromGate}' to gate '{toGate}' ({outcome})[ by agent '{agent}'][: {summary}]"
        }
        Some(_) => {
            "{titled} ended at gate '{fromGate}' ({outcome})[ by agent '{agent}'][: {summary}]"
        }
        None => {
            "a part of {titled} ended at gate '{fromGate}' ({outcome})[ by agent '{agent}'][: {summary}]"
        }
    }
}

/// The values for templates: the fields of an event, each as one line of limited length.
struct TemplateFields<'f> {
    fields: &'f Map,
    longest: usize,
}

impl TemplateFields<'_> {
    fn fill(&self, template: &str) -> String {
        let mut words = String::new();
        let mut rest = template;
        while let Some(at) = rest.find(['[', '{']) {
            words.push_str(&rest[..at]);
            let (inner, is_optional) = (&rest[at + 1..], rest[at..].starts_with('['));
            let end = inner.find(if is_optional { ']' } else { '}' }).unwrap_or(inner.len());
            let part = &inner[..end];
            if is_optional {
                let last = part.rfind('}').map_or(0, |at| at + 1);
                let (part, otherwise) = match part[last..].split_once('|') {
                    Some((tail, otherwise)) => (&part[..last + tail.len()], otherwise),
                    None => (part, ""),
                };
                let mut fields =
                    part.split('{').skip(1).filter_map(|field| field.split('}').next());
                if fields.all(|field| !self.value(field).is_empty()) {
                    words.push_str(&self.fill(part));
                } else {
                    words.push_str(otherwise);
                }
            } else {
                let (name, default) = part.split_once('|').unwrap_or((part, ""));
                let found = self.value(name);
                words.push_str(if found.is_empty() { default } else { &found });
            }
            rest = &inner[(end + 1).min(inner.len())..];
        }
        words + rest
    }

    /// Returns a field as words; empty if it is missing.
    fn value(&self, name: &str) -> String {
        let text = |key: &str| self.fields.get(key).and_then(Value::as_str).map(|t| self.shown(t));
        if let Some(operation) =
            name.strip_prefix("do ").and_then(|name| name.parse::<Remedy>().ok())
        {
            return Fix::from(operation).to_string();
        }
        match (name, self.fields.get(name)) {
            ("way", _) => match (text("fromGate"), text("toGate")) {
                (Some(one), Some(other)) if one == other => format!("stays at {one}"),
                (Some(one), Some(other)) => format!("{one} → {other}"),
                (Some(one), None) => one,
                (None, other) => other.map(|other| format!("to {other}")).unwrap_or_default(),
            },
            ("step", _) => {
                let to = self.fields.get("toGate").and_then(Value::as_str);
                let to = to.and_then(|to| to.parse().ok());
                let to = to.as_ref().map(place_words).map(|to| self.shown(to));
                let from = text("fromGate").unwrap_or_default();
                step_words(&from, &text("outcome").unwrap_or_default(), to.as_deref())
            }
            ("outcome", Some(Value::String(outcome))) => match &**outcome {
                "complete" => "done".to_owned(),
                "needs_review" => "sent back".to_owned(),
                other => self.shown(other),
            },
            ("why", _) => match (text("reason").as_deref(), text("agent")) {
                (Some("exhausted"), _) => "it was sent back too often".to_owned(),
                (_, Some(agent)) => {
                    format!("agent '{agent}' had it and did not complete it in time")
                }
                _ => "nobody completed it in time".to_owned(),
            },
            ("messages", _) => match self.fields.get("count").and_then(Value::as_u64) {
                Some(1) => "1 message was".to_owned(),
                count => format!("{} messages were", count.unwrap_or(0)),
            },
            ("short", _) => text("commit").unwrap_or_default().chars().take(7).collect(),
            (_, Some(Value::String(text))) => self.shown(text),
            (_, Some(Value::Number(number))) => number.to_string(),
            (_, Some(Value::Array(texts))) => {
                let texts = texts.iter().filter_map(Value::as_str).map(|text| self.shown(text));
                texts.collect::<Vec<_>>().join("; ")
            }
            _ => String::new(),
        }
    }

    fn shown(&self, text: &str) -> String {
        let text = one_line(text);
        match text.char_indices().nth(self.longest) {
            Some((at, _)) => format!("{}...", &text[..at]),
            None => text,
        }
    }
}

/// Returns the event with the fields that spec 1 defines; fields that do not apply are left out.
pub fn event_value(occurrence: &Occurrence) -> Value {
    Value::Object(fields(occurrence))
}

/// Returns a notice: the event, its recipients and its text.
pub fn notice_value(
    occurrence: &Occurrence,
    id: &str,
    to: &[String],
    reader: NoticeReader,
) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(id));
    map.extend(fields(occurrence));
    map.insert("to".to_owned(), json!(to));
    if let Some(subject) = &occurrence.subject {
        map.insert("title".to_owned(), json!(subject.title));
    }
    map.insert("text".to_owned(), json!(notice_text(occurrence, reader)));
    Value::Object(map)
}

fn fields(occurrence: &Occurrence) -> Map {
    let kind = occurrence.event.kind();
    let subject = occurrence.subject.as_ref();
    let is_notice = kind.level() != Level::Info;
    let head = json!({
        "timestamp": occurrence.at.to_string(),
        "event": kind,
        "level": is_notice.then(|| kind.level()),
        "taskId": subject.map(|subject| &subject.task),
        "project": occurrence.project,
        "workflow": subject.map(|subject| &subject.workflow),
    });
    let fields = serde_json::to_value(&occurrence.event).unwrap_or_default();
    let message =
        json!({"message": is_notice.then(|| notice_text(occurrence, NoticeReader::Anybody))});
    let parts = [head, fields, message].into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    parts.flatten().filter(|(_, value)| !value.is_null()).collect()
}
