//! An event as JSON: a line of the event stream, and the body of a notice.

use serde_json::{Value, json};

use super::words::notice_text;
use crate::domain::{Level, Map, Occurrence, Reader};

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
    map.insert("text".to_owned(), json!(notice_text(occurrence, reader)));
    Value::Object(map)
}

fn fields(occurrence: &Occurrence) -> Map {
    let kind = occurrence.event.kind();
    let subject = occurrence.subject.as_ref();
    let is_told = kind.level() != Level::Info;
    let head = json!({
        "timestamp": occurrence.at.to_string(),
        "event": kind,
        "level": is_told.then(|| kind.level()),
        "taskId": subject.map(|subject| &subject.task),
        "project": occurrence.project,
        "workflow": subject.map(|subject| &subject.workflow),
    });
    let own = serde_json::to_value(&occurrence.event).unwrap_or_default();
    let message = json!({"message": is_told.then(|| notice_text(occurrence, Reader::Anybody))});
    let parts = [head, own, message].into_iter().filter_map(|part| match part {
        Value::Object(fields) => Some(fields),
        _ => None,
    });
    parts.flatten().filter(|(_, value)| !value.is_null()).collect()
}
