//! What is signed of a completion: a text that can be made again from its entry alone, byte for byte, on any machine and years
//! later (`docs/guides/signing.md`). One fact a line, its value as JSON.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::domain::{Ending, Task, Ticket, Visit};
use crate::rules::condition::number;

/// What the text begins with; another form would have another number.
const FORM: &str = "aof-completion: 1\n";

/// Returns what is signed of the entry of that place in the history; nothing where no completion made it.
pub(crate) fn canonical(project: Option<&str>, task: &Task, place: usize) -> Option<String> {
    let entry = task.history.get(place)?;
    let (Ending::Said(outcome), Some(agent), Some(stamp)) =
        (&entry.outcome, &entry.agent, &entry.completion)
    else {
        return None;
    };
    let text = |text: &str| Value::String(text.to_owned());
    let facts = [
        ("project", project.map_or(Value::Null, text)),
        ("task", text(&ticket(task, place, entry).to_string())),
        ("gate", text(&entry.station().to_string())),
        ("rules", entry.workflow.as_deref().map_or(Value::Null, text)),
        ("agent", text(agent.as_str())),
        ("outcome", text(outcome.as_str())),
        ("summary", text(&entry.summary)),
        ("blockers", entry.blockers.iter().map(String::as_str).collect()),
        ("rejectionNotes", entry.rejection_notes.as_deref().map_or(Value::Null, text)),
        ("outputs", Value::Object(entry.outputs.clone())),
        ("metadata", Value::Object(entry.metadata.clone())),
        ("completion", text(stamp.id.as_str())),
        ("sha256", text(stamp.sha256.as_str())),
    ];
    let mut canonical = FORM.to_owned();
    for (name, value) in facts {
        canonical.push_str(&format!("{name}: {}\n", json(&value)));
    }
    Some(canonical)
}

/// Returns the ticket of an entry: the visit began where the one before it ended, and at a fork several entries are of one visit.
pub(crate) fn ticket(task: &Task, place: usize, entry: &Visit) -> Ticket {
    let before = task.history.get(..place).unwrap_or_default();
    let visit =
        before.iter().rposition(|earlier| !earlier.leaves_open()).map_or(0, |last| last + 1);
    Ticket { task: task.id.clone(), visit: Some(visit), branch: entry.branch.clone() }
}

/// Returns a value as JSON in the one way there is: keys in the order of their bytes, no blanks, numbers as JavaScript writes them
/// but for integers of up to 64 bits, which keep their digits; in texts only quotes, backslashes and control characters are escaped.
fn json(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let sorted: BTreeMap<&String, &Value> = map.iter().collect();
            let field =
                |(key, value): (&String, &Value)| format!("{}:{}", quoted(key), json(value));
            format!("{{{}}}", sorted.into_iter().map(field).collect::<Vec<_>>().join(","))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(json).collect::<Vec<_>>().join(","))
        }
        Value::String(text) => quoted(text),
        Value::Number(number) => match number.as_f64().filter(|_| number.is_f64()) {
            Some(double) => number::format(double),
            None => number.to_string(),
        },
        plain => plain.to_string(),
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    for c in Value::from(text).to_string().chars() {
        // None of these survives every terminal and every pipe.
        if c.is_control() {
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    #[test]
    fn a_value_has_one_form() {
        let value = json!({
            "z": [1, -2, 1.0, 0.1, 1e21, 1e-7, -0.0, 9_007_199_254_740_993_i64, u64::MAX],
            "a": {"é": null, "b": true, "a": "\"\\\u{8}\t\n\u{c}\r\u{0}\u{1f}\u{7f}\u{9b}é\u{2028}👍/"},
            "\u{ffff}": 1, "👍": 2,
        });
        assert_eq!(
            super::json(&value),
            "{\"a\":{\"a\":\"\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f\\u007f\\u009bé\u{2028}👍/\",\"b\":true,\"é\":null},\
             \"z\":[1,-2,1,0.1,1e+21,1e-7,0,9007199254740993,18446744073709551615],\"\u{ffff}\":1,\"👍\":2}"
        );
    }
}
