//! A value out of a text, by the shape that it is wanted in: what an agent wrote behind a `KEY:` is only ever text.

use serde_json::Value;

use crate::domain::workflow::shape::{Kind, Shape, same};

/// Returns the value that the text stands for. A text that does not fit stays a text, for the judgement to say so.
pub fn from_text(shape: &Shape, text: &str) -> Value {
    let text = text.trim();
    let json = || serde_json::from_str::<Value>(text).ok();
    let said = |value: &Value| match value {
        Value::String(word) => word.eq_ignore_ascii_case(text),
        other => json().is_some_and(|json| same(&json, other)),
    };
    if let Some(known) = shape.values.iter().find(|value| said(value)) {
        return known.clone();
    }
    for kind in &shape.kinds {
        match (kind, json()) {
            (Kind::Text(_), _) => break,
            (Kind::List(_), Some(value @ Value::Array(_)))
            | (Kind::Object(_), Some(value @ Value::Object(_)))
            | (Kind::Number(_) | Kind::Integer(_), Some(value @ Value::Number(_)))
            | (Kind::Bool, Some(value @ Value::Bool(_)))
            | (Kind::Null, Some(value @ Value::Null)) => return value,
            (Kind::List(list), _) => {
                let item = |text: &str| {
                    list.items.as_ref().map_or_else(|| text.into(), |shape| from_text(shape, text))
                };
                return items(text).into_iter().map(item).collect();
            }
            _ => {}
        }
    }
    Value::String(text.to_owned())
}

/// Splits a text into items: one a line, or with commas on a single line.
fn items(text: &str) -> Vec<&str> {
    let lines: Vec<&str> = text.lines().map(unmarked).filter(|line| !line.is_empty()).collect();
    match lines.as_slice() {
        [one] if !text.starts_with(['-', '*', '+']) => {
            one.split(',').map(str::trim).filter(|item| !item.is_empty()).collect()
        }
        _ => lines,
    }
}

fn unmarked(line: &str) -> &str {
    let line = line.trim();
    ["- ", "* ", "+ "].iter().find_map(|marker| line.strip_prefix(marker)).unwrap_or(line).trim()
}
