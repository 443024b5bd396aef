//! An event as JSON: a line of the event stream, and the body of a notice.

use serde_json::{Value, json};

use super::text::text_of;
use crate::domain::{AgentId, Event, Level, Map, Occurrence, Reader, RoleId, Visit};

/// Returns the event with the fields that spec 1 gives it; what does not apply is left out.
pub(crate) fn event_value(occurrence: &Occurrence) -> Value {
    Value::Object(fields(occurrence))
}

/// Returns the message that tells somebody of the event: the event, and for whom it is in what words.
pub(crate) fn notice_value(
    occurrence: &Occurrence,
    id: &str,
    to: &[String],
    reader: Reader,
) -> Value {
    let mut map = Map::new();
    map.insert("id".to_owned(), json!(id));
    map.extend(fields(occurrence));
    map.insert("to".to_owned(), json!(to));
    if let Some(subject) = &occurrence.subject {
        map.insert("title".to_owned(), json!(subject.title));
    }
    map.insert("text".to_owned(), json!(text_of(occurrence, reader)));
    Value::Object(map)
}

fn fields(occurrence: &Occurrence) -> Map {
    let event = &occurrence.event;
    let kind = event.kind();
    let mut map = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            map.insert(key.to_owned(), value);
        }
    };
    put("timestamp", json!(occurrence.at.to_string()));
    put("event", json!(kind.as_str()));
    if kind.level() != Level::Info {
        put("level", json!(kind.level().as_str()));
    }
    if let Some(subject) = &occurrence.subject {
        put("taskId", json!(subject.task.as_str()));
    }
    put("project", json!(occurrence.project));
    if let Some(subject) = &occurrence.subject {
        put("workflow", json!(subject.workflow.as_str()));
    }
    for (key, value) in own_fields(event) {
        put(key, value);
    }
    if kind.level() != Level::Info {
        put("message", json!(text_of(occurrence, Reader::Anybody)));
    }
    map
}

/// Returns the fields of this kind of event; those that are null do not apply.
fn own_fields(event: &Event) -> Vec<(&'static str, Value)> {
    match event {
        Event::Created { gate } | Event::Adopted { gate } => vec![("toGate", json!(gate.as_str()))],
        Event::Rerouted { gate, role } => {
            vec![("gate", json!(gate.as_str())), ("role", json!(role.as_ref().map(RoleId::as_str)))]
        }
        Event::Unblocked { gate } => vec![("gate", json!(gate.as_str()))],
        Event::Skipped { gate } => {
            vec![("gate", json!(gate.as_str())), ("reason", json!("condition_false"))]
        }
        Event::Claimed { at, agent }
        | Event::Assigned { at, agent }
        | Event::Released { at, agent }
        | Event::Lapsed { at, agent } => {
            vec![("gate", json!(at.to_string())), ("agent", json!(agent.as_str()))]
        }
        Event::Renewed { at, agent, note } => vec![
            ("gate", json!(at.to_string())),
            ("agent", json!(agent.as_str())),
            ("note", if note.is_empty() { Value::Null } else { json!(note) }),
        ],
        Event::Held { gate, holders, reasons } => {
            vec![
                ("gate", json!(gate.as_str())),
                ("holders", names(holders)),
                ("blockers", json!(reasons)),
            ]
        }
        Event::Edited | Event::Restored | Event::Complete | Event::Failed => Vec::new(),
        Event::Commented { agent, text } => {
            vec![("agent", json!(agent.as_ref().map(AgentId::as_str))), ("comment", json!(text))]
        }
        Event::Transition(visit) | Event::Reopened(visit) => of_visit(visit),
        Event::Overridden { visit, holders } | Event::Moved { visit, holders } => {
            let mut fields = of_visit(visit);
            fields.push(("holders", names(holders)));
            fields
        }
        Event::Rejected { visit, blockers, worker } => vec![
            ("gate", json!(visit.station().to_string())),
            ("targetGate", json!(visit.to.as_ref().map(ToString::to_string))),
            ("agent", json!(visit.agent.as_ref().map(AgentId::as_str))),
            ("blockers", json!(blockers)),
            ("rejectionNotes", json!(visit.rejection_notes)),
            ("duration", json!(visit.duration())),
            ("worker", json!(worker.as_ref().map(AgentId::as_str))),
        ],
        _ => trouble_fields(event),
    }
}

fn names(agents: &[AgentId]) -> Value {
    if agents.is_empty() {
        Value::Null
    } else {
        json!(agents.iter().map(AgentId::as_str).collect::<Vec<_>>())
    }
}

fn of_visit(visit: &Visit) -> Vec<(&'static str, Value)> {
    vec![
        ("fromGate", json!(visit.station().to_string())),
        ("toGate", json!(visit.to.as_ref().map(ToString::to_string))),
        ("outcome", json!(visit.outcome.as_str())),
        ("role", json!(visit.role.as_ref().map(RoleId::as_str))),
        ("agent", json!(visit.agent.as_ref().map(AgentId::as_str))),
        ("duration", json!(visit.duration())),
        ("summary", json!(visit.summary)),
        ("blockers", if visit.blockers.is_empty() { Value::Null } else { json!(visit.blockers) }),
        ("retry", json!(visit.retry)),
    ]
}

/// Returns the fields of what went wrong.
fn trouble_fields(event: &Event) -> Vec<(&'static str, Value)> {
    match event {
        Event::TimedOut { at, role, agent, limit, escalate_to } => vec![
            ("gate", json!(at.to_string())),
            ("role", json!(role.as_ref().map(RoleId::as_str))),
            ("agent", json!(agent.as_ref().map(AgentId::as_str))),
            ("timeout", json!(limit.map(|limit| limit.to_string()))),
            ("escalateTo", json!(escalate_to.as_ref().map(RoleId::as_str))),
        ],
        Event::Escalated { at, role, agent, cause } => vec![
            ("gate", json!(at.to_string())),
            ("escalateTo", json!(role.as_str())),
            ("agent", json!(agent.as_ref().map(AgentId::as_str))),
            ("reason", json!(cause.as_str())),
        ],
        Event::ConditionError(trouble) => vec![
            ("gate", json!(trouble.gate.as_str())),
            ("expression", json!(trouble.expression)),
            ("error", json!(trouble.error)),
            ("action", json!(if trouble.entered { "enter" } else { "skip" })),
        ],
        Event::CircularLoop { gate, from, count } | Event::Exhausted { gate, from, count } => {
            vec![
                ("gate", json!(gate.as_str())),
                ("fromGate", json!(from.as_str())),
                ("loopCount", json!(count)),
            ]
        }
        Event::BlockedNoAgents { gate, role } => {
            vec![("gate", json!(gate.as_str())), ("role", json!(role.as_str()))]
        }
        Event::AssignmentError { at, agent, expected, actual } => vec![
            ("gate", json!(at.to_string())),
            ("expectedRole", json!(expected.as_ref().map(RoleId::as_str))),
            ("actualRole", json!(actual.iter().map(RoleId::as_str).collect::<Vec<_>>().join(", "))),
            ("agent", json!(agent.as_str())),
        ],
        Event::Conflict { gate, winner, loser } => vec![
            ("gate", json!(gate.to_string())),
            ("winningAgent", json!(winner.as_ref().map(AgentId::as_str))),
            ("losingAgent", json!(loser.as_str())),
        ],
        Event::Superseded { ticket, visit, by } => vec![
            ("gate", json!(visit.station().to_string())),
            ("agent", json!(visit.agent.as_ref().map(AgentId::as_str))),
            ("outcome", json!(visit.outcome.as_str())),
            ("completion", json!(visit.completion.as_ref().map(|stamp| stamp.id.as_str()))),
            ("ticket", json!(ticket.to_string())),
            ("by", json!(by.as_ref().map(AgentId::as_str))),
        ],
        Event::Blocked { at, agent, blockers } => vec![
            ("gate", json!(at.to_string())),
            ("agent", json!(agent.as_ref().map(AgentId::as_str))),
            ("blockers", json!(blockers)),
        ],
        Event::Cancelled { reason, holders } => {
            vec![("holders", names(holders)), ("reason", json!(reason))]
        }
        Event::RulesInvalid { commit, problem, count } => {
            vec![("commit", json!(commit)), ("error", json!(problem)), ("count", json!(count))]
        }
        Event::NoticesDropped { channel, count, reason } => {
            vec![("channel", json!(channel)), ("count", json!(count)), ("reason", json!(reason))]
        }
        _ => Vec::new(),
    }
}
