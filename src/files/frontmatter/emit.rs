//! New YAML text: block style, two spaces, one line a fact, so that git shows each change as a line.

use serde_json::{Map, Value};

use super::quote::{Context, key, literal_header, scalar};

/// Returns a new mapping as frontmatter YAML, without fences; every line ends with a line feed.
pub fn emit_document(root: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_entries(&mut out, root, 0);
    out
}

/// A value as text: what follows the colon or dash on its line, and the lines below, each with its break.
pub(crate) struct Written {
    pub(crate) inline: String,
    pub(crate) lines: String,
}

/// What introduces a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lead {
    /// A key and its colon.
    Key,
    /// The dash of a list.
    Dash,
}

/// Returns a value as text below a key or dash at a column.
pub(crate) fn write(value: &Value, column: usize, lead: Lead) -> Written {
    if let Value::String(text) = value
        && let Some(header) = literal_header(text)
    {
        return Written { inline: header, lines: indented(text, column + 2) };
    }
    if let Some(inline) = scalar(value, Context::Block) {
        return Written { inline, lines: String::new() };
    }
    let mut lines = String::new();
    match value {
        Value::Object(map) => push_entries(&mut lines, map, column + 2),
        Value::Array(items) => push_items(&mut lines, items, column + 2),
        _ => {}
    }
    match lead {
        Lead::Key => Written { inline: String::new(), lines },
        Lead::Dash => {
            let (first, rest) = lines.split_once('\n').unwrap_or((&lines, ""));
            Written { inline: first.trim_start().to_owned(), lines: rest.to_owned() }
        }
    }
}

/// Appends `key: value` with its lines at a column.
pub(crate) fn push_entry(out: &mut String, name: &str, value: &Value, column: usize) {
    push_spaces(out, column);
    out.push_str(&key(name));
    out.push(':');
    push_written(out, &write(value, column, Lead::Key));
}

/// Appends `- value` with its lines at a column.
pub(crate) fn push_item(out: &mut String, value: &Value, column: usize) {
    push_spaces(out, column);
    out.push('-');
    push_written(out, &write(value, column, Lead::Dash));
}

/// Returns a value in brackets on one line.
pub(crate) fn flow(value: &Value) -> String {
    if let Some(text) = scalar(value, Context::Flow) {
        return text;
    }
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(flow).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let entries: Vec<String> =
                map.iter().map(|(name, value)| flow_entry(name, value)).collect();
            format!("{{{}}}", entries.join(", "))
        }
        _ => String::new(),
    }
}

/// Returns `key: value` for a place inside brackets.
pub(crate) fn flow_entry(name: &str, value: &Value) -> String {
    format!("{}: {}", key(name), flow(value))
}

/// Returns a text as lines at a column; empty lines stay empty.
pub(crate) fn indented(text: &str, column: usize) -> String {
    let mut out = String::with_capacity(text.len() + 16 * column);
    for line in text.strip_suffix('\n').unwrap_or(text).split('\n') {
        if !line.is_empty() {
            push_spaces(&mut out, column);
            out.push_str(line);
        }
        out.push('\n');
    }
    out
}

fn push_entries(out: &mut String, map: &Map<String, Value>, column: usize) {
    for (name, value) in map {
        push_entry(out, name, value, column);
    }
}

fn push_items(out: &mut String, items: &[Value], column: usize) {
    for item in items {
        push_item(out, item, column);
    }
}

fn push_written(out: &mut String, written: &Written) {
    if !written.inline.is_empty() {
        out.push(' ');
        out.push_str(&written.inline);
    }
    out.push('\n');
    out.push_str(&written.lines);
}

fn push_spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}
