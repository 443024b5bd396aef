//! JSON with stand-ins: keys, their order and their types stay; what may differ does not.

use serde_json::{Map, Value};

/// Keys whose texts are for people, unless they are one word: a code.
const SENTENCES: &[&str] = &["message", "problem", "fix", "help", "why", "error", "instructions"];

/// A text of so many words is for people, whatever its key is.
const MANY_WORDS: usize = 5;

/// Keys that say what an object is. Objects are alike only where these are the same.
const MARKS: &[&str] = &["code", "event", "fate", "kind", "rule", "limit", "problem"];

/// Ends of keys whose numbers tell of time and of sizes.
const MEASURES: &[&str] = &["duration", "econds", "ytes", "oldest", "median", "p50", "p85", "p95"];

/// No line is longer than that, where it can be broken.
const WIDTH: usize = 96;

/// Returns a value without what differs from run to run. Items of a list that are alike stand for each other.
pub(super) fn shape(value: &Value) -> Value {
    shaped("", value)
}

fn shaped(key: &str, value: &Value) -> Value {
    match value {
        Value::String(text) => Value::String(text_of(key, text)),
        Value::Number(number) if number.is_f64() => Value::String("FLOAT".to_owned()),
        Value::Number(_) if MEASURES.iter().any(|end| key.ends_with(end)) => {
            Value::String("NUMBER".to_owned())
        }
        Value::Array(items) => {
            Value::Array(without_alikes(items.iter().map(|own| shaped(key, own))))
        }
        Value::Object(map) => {
            Value::Object(map.iter().map(|(key, own)| (key.clone(), shaped(key, own))).collect())
        }
        other => other.clone(),
    }
}

fn text_of(key: &str, text: &str) -> String {
    let words = text.split_whitespace().count();
    let stand_in = if text.contains('\n') {
        "LINES"
    } else if words >= MANY_WORDS || words > 1 && SENTENCES.contains(&key) {
        "TEXT"
    } else if text.parse::<jiff::Timestamp>().is_ok() {
        "TIME"
    } else if key == "program" {
        "PROGRAM"
    } else if key == "token" {
        "TOKEN"
    } else if key == "version" {
        "VERSION"
    } else if text.strip_prefix("aof_").is_some_and(is_digest) {
        "aof_DIGEST"
    } else {
        text
    };
    stand_in.to_owned()
}

fn is_digest(text: &str) -> bool {
    text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Keeps the first of all objects with the same keys and types, and says how many there were.
fn without_alikes(items: impl Iterator<Item = Value>) -> Vec<Value> {
    let mut kept: Vec<(String, Value)> = Vec::new();
    let mut left_out = 0;
    for item in items {
        let kind = kind(&item);
        if item.is_object() && kept.iter().any(|(known, _)| *known == kind) {
            left_out += 1;
        } else {
            kept.push((kind, item));
        }
    }
    let mut values: Vec<Value> = kept.into_iter().map(|(_, item)| item).collect();
    if left_out > 0 {
        values.push(Value::String(format!("and {left_out} alike")));
    }
    values
}

/// Returns the keys and types of a value, and what its marks say.
fn kind(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "string".to_owned(),
        Value::Array(items) => {
            let mut kinds: Vec<String> = items.iter().map(kind).collect();
            kinds.dedup();
            format!("[{}]", kinds.join(" "))
        }
        Value::Object(map) => {
            let own = map.iter().map(|(key, value)| match value {
                Value::String(text) if MARKS.contains(&key.as_str()) => format!("{key}={text}"),
                _ => format!("{key}:{}", kind(value)),
            });
            format!("{{{}}}", own.collect::<Vec<_>>().join(" "))
        }
    }
}

/// Returns JSON with each value in one line, where it fits.
pub(super) fn render(value: &Value) -> String {
    let mut text = String::new();
    write(&mut text, value, 0, 0);
    text
}

/// Writes a value; `before` columns of its line are taken.
fn write(text: &mut String, value: &Value, indent: usize, before: usize) {
    let line = one_line(value);
    if before + line.len() <= WIDTH {
        text.push_str(&line);
        return;
    }
    let inner = indent + 2;
    let begin = |text: &mut String, at: usize| {
        text.push_str(if at == 0 { "\n" } else { ",\n" });
        text.push_str(&" ".repeat(inner));
    };
    match value {
        Value::Array(items) => {
            text.push('[');
            for (at, item) in items.iter().enumerate() {
                begin(text, at);
                write(text, item, inner, inner);
            }
        }
        Value::Object(map) => {
            text.push('{');
            for (at, (key, item)) in map.iter().enumerate() {
                begin(text, at);
                let name = format!("{}: ", Value::from(key.as_str()));
                text.push_str(&name);
                write(text, item, inner, inner + name.len());
            }
        }
        _ => return text.push_str(&line),
    }
    text.push('\n');
    text.push_str(&" ".repeat(indent));
    text.push(if value.is_array() { ']' } else { '}' });
}

fn one_line(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(one_line).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let one = |(key, own): (&String, &Value)| {
                format!("{}: {}", Value::from(key.as_str()), one_line(own))
            };
            format!("{{{}}}", map.iter().map(one).collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}

/// Returns a schema without its sentences.
pub(super) fn without_sentences(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let is_sentence =
                |key: &str, own: &Value| ["title", "description"].contains(&key) && own.is_string();
            let kept = map.iter().filter(|(key, own)| !is_sentence(key, own));
            let kept = kept.map(|(key, own)| (key.clone(), without_sentences(own)));
            Value::Object(kept.collect::<Map<_, _>>())
        }
        Value::Array(items) => Value::Array(items.iter().map(without_sentences).collect()),
        other => other.clone(),
    }
}
