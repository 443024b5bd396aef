//! A line of the event stream: an event as JSON, with its origin as the last field.
//!
//! A text that a person or an agent wrote cannot end a line, begin another one, or control a terminal: it is escaped.

use serde_json::{Value, json};

use aof_domain::{EventId, EventKind, Level, Map, TaskId, Timestamp};

/// The origin of an event.
#[derive(Debug, Clone, Copy)]
pub enum EventOrigin<'o> {
    /// The commit of that id: the event can be derived from it again.
    Commit(&'o str),
    /// No commit; the id makes the event unique.
    Nowhere(&'o EventId),
}

/// Returns the event, in the form of `event_value`, as a line of the stream, with its end.
pub fn event_line(mut event: Value, origin: EventOrigin<'_>) -> String {
    if let Value::Object(map) = &mut event {
        let (key, id) = match origin {
            EventOrigin::Commit(id) => ("commit", id),
            EventOrigin::Nowhere(id) => ("id", id.as_str()),
        };
        // The origin is the last field, even if the event has a field of that name itself.
        map.shift_remove(key);
        map.insert(key.to_owned(), json!(id));
    }
    let mut text = event.to_string();
    if !text.bytes().all(|byte| byte.is_ascii_graphic() || byte == b' ') {
        let mut escaped = String::with_capacity(text.len() + 32);
        for c in text.chars() {
            // Such characters occur only inside texts.
            if is_harmless(c) {
                escaped.push(c);
            } else {
                escaped.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
        }
        text = escaped;
    }
    text.push('\n');
    text
}

/// Returns whether a character may be in a text as it is. All others below `U+10000` have an escape.
fn is_harmless(c: char) -> bool {
    let odd = matches!(c, '\u{7f}'..='\u{9f}' | '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    !odd
}

/// The fields that name a gate, in order of precedence.
const GATES: [&str; 3] = ["gate", "fromGate", "toGate"];

/// Returns the gate that an event is mainly about: the one that was left, otherwise the one that was entered.
pub fn gate_of(event: &Value) -> Option<&str> {
    GATES.into_iter().find_map(|key| event.get(key)?.as_str())
}

/// A line of the stream that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct EventLine {
    pub at: Timestamp,
    /// The name of the event; an event of a newer version may be unknown.
    pub name: String,
    /// The event, if it is known.
    pub kind: Option<EventKind>,
    pub level: Level,
    pub fields: Map,
}

impl EventLine {
    /// Reads a line; `None` if it is not an event. Every event has a commit or an id, and a known kind has its task.
    pub fn read(text: &str) -> Option<Self> {
        let fields: Map = serde_json::from_str(text).ok()?;
        let text = |key: &str| fields.get(key).and_then(Value::as_str);
        let name = text("event")?.to_owned();
        let kind: Option<EventKind> = name.parse().ok();
        let level = text("level").and_then(|word| word.parse().ok());
        let at = text("timestamp")?.parse().ok()?;
        if text("taskId").is_none() && kind.is_some_and(is_of_task) {
            return None;
        }
        if text("commit").is_none()
            && text("id").and_then(|id| id.parse::<EventId>().ok()).is_none()
        {
            return None;
        }
        Some(Self {
            at,
            kind,
            level: level.or(kind.map(EventKind::level)).unwrap_or(Level::Info),
            name,
            fields,
        })
    }

    /// Returns the text of a field.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.fields.get(key)?.as_str()
    }

    /// Returns the commit that the event is derived from.
    pub fn commit(&self) -> Option<&str> {
        self.text("commit")
    }

    /// Returns the id of an event without a commit.
    pub fn id(&self) -> Option<EventId> {
        self.text("id").filter(|_| self.commit().is_none()).and_then(|id| id.parse().ok())
    }

    /// Returns the gate that the event is mainly about: the one that was left, otherwise the one that was entered.
    pub fn gate(&self) -> Option<&str> {
        GATES.into_iter().find_map(|key| self.text(key))
    }

    /// Returns whether the event is about that task.
    pub fn is_about(&self, task: &TaskId) -> bool {
        self.text("taskId") == Some(task.as_str())
    }

    /// Returns whether the event names that agent, as its cause or as affected.
    pub fn names(&self, agent: &str) -> bool {
        let holders = self.fields.get("holders").and_then(Value::as_array);
        ["agent", "winningAgent", "losingAgent", "worker"]
            .into_iter()
            .any(|key| self.text(key) == Some(agent))
            || holders.is_some_and(|holders| holders.iter().any(|holder| holder == agent))
    }
}

/// Returns whether events of that kind are about a task.
const fn is_of_task(kind: EventKind) -> bool {
    !matches!(kind, EventKind::WorkflowConfigInvalid | EventKind::NoticesDropped)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::render::event_value;
    use aof_domain::{Event, EventTask, Occurrence};

    fn commented(text: &str) -> Value {
        event_value(&Occurrence {
            at: "2026-02-16T15:00:00Z".parse().unwrap(),
            project: Some("garden".to_owned()),
            subject: Some(EventTask {
                task: "AOF-abc".parse().unwrap(),
                title: "Water the beds".to_owned(),
                workflow: "default".parse().unwrap(),
            }),
            event: Event::Commented {
                agent: Some("agent-7".parse().unwrap()),
                comment: text.to_owned(),
            },
        })
    }

    #[test]
    fn a_text_stays_in_its_line_and_comes_back_as_it_was() {
        let text = "a\n{\"event\":\"task_failed\"}\r\u{1b}[2J\u{9b}\u{202e}\u{2028}\u{7f} ä 👩‍💻 \\ \" \u{feff}";
        let line = event_line(commented(text), EventOrigin::Commit("abc"));
        assert_eq!(line.lines().count(), 1);
        assert!(line.trim_end().chars().all(|c| !c.is_control() && is_harmless(c)), "{line}");
        let read = EventLine::read(&line).unwrap();
        assert_eq!(
            (read.text("comment"), read.commit(), read.id()),
            (Some(text), Some("abc"), None)
        );
        assert_eq!((read.kind, read.level), (Some(EventKind::TaskCommented), Level::Info));
        assert!(line.ends_with(",\"commit\":\"abc\"}\n"), "{line}");
        let id = EventId::new("x");
        let read = EventLine::read(&event_line(commented("x"), EventOrigin::Nowhere(&id))).unwrap();
        assert_eq!((read.commit(), read.id()), (None, Some(id)));
    }

    #[test]
    fn an_invalid_line_is_not_an_event() {
        const AT: &str = "\"timestamp\":\"2026-02-16T15:00:00Z\"";
        for text in [
            "",
            "{",
            "[]",
            "{\"event\":\"task_failed\"}",
            &format!("{{\"event\":1,{AT}}}"),
            &format!("{{\"event\":\"task_failed\",{AT},\"commit\":\"abc\"}}"),
            &format!("{{\"event\":\"task_failed\",{AT},\"taskId\":\"AOF-abc\"}}"),
            &format!("{{\"event\":\"task_failed\",{AT},\"taskId\":\"AOF-abc\",\"id\":\"../x\"}}"),
        ] {
            assert_eq!(EventLine::read(text), None, "{text}");
        }
        let newer =
            EventLine::read(&format!("{{{AT},\"event\":\"task_sung\",\"commit\":\"abc\"}}"))
                .unwrap();
        assert_eq!(
            (newer.kind, newer.level, newer.name.as_str()),
            (None, Level::Info, "task_sung")
        );
    }
}
