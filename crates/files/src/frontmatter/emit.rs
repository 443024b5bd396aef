//! New YAML text: block style, two spaces, one fact per line, so that git shows each change as a line. Every reader, of YAML 1.1 or
//! 1.2, reads a scalar as the same value.

use std::fmt::Write;

use serde_json::{Map, Number, Value};

use crate::printable::is_printable;
use crate::yaml::scalar::{Legacy, is_day, is_utc_timestamp, legacy, resolve};
use crate::yaml::{Node, NodeKind, NodeLayout};

/// Returns a new mapping as frontmatter YAML, without fences; every line ends with a line feed.
pub fn emit_document(root: &Map<String, Value>) -> String {
    let mut out = String::new();
    push_entries(&mut out, root, 0);
    out
}

/// A value as text: the part after the colon or dash on its line, and the lines below, each with its break.
pub(crate) struct YamlText {
    pub(crate) inline: String,
    pub(crate) lines: String,
}

/// The indicator that introduces a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lead {
    /// A key and its colon.
    Key,
    /// The dash of a list.
    Dash,
}

/// Returns a value as text below a key or dash at a column.
pub(crate) fn write(value: &Value, column: usize, lead: Lead) -> YamlText {
    if let Value::String(text) = value
        && let Some(header) = literal_header(text)
    {
        return YamlText { inline: header, lines: indented(text, column + 2) };
    }
    if let Some(inline) = scalar(value, Context::Block) {
        return YamlText { inline, lines: String::new() };
    }
    let mut lines = String::new();
    match value {
        Value::Object(map) => push_entries(&mut lines, map, column + 2),
        Value::Array(items) => push_items(&mut lines, items, column + 2),
        _ => {}
    }
    match lead {
        Lead::Key => YamlText { inline: String::new(), lines },
        Lead::Dash => {
            let (first, rest) = lines.split_once('\n').unwrap_or((&lines, ""));
            YamlText { inline: first.trim_start().to_owned(), lines: rest.to_owned() }
        }
    }
}

/// Appends `key: value` with its lines at a column.
pub(crate) fn push_entry(out: &mut String, name: &str, value: &Value, column: usize) {
    push_spaces(out, column);
    out.push_str(&key(name));
    out.push(':');
    match value {
        // Every reader takes a due day for a date, as it should.
        Value::String(day) if matches!(name, "due" | "notBefore") && is_day(day) => {
            out.push(' ');
            out.push_str(day);
            out.push('\n');
        }
        _ => push_written(out, &write(value, column, Lead::Key)),
    }
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

fn push_written(out: &mut String, written: &YamlText) {
    if !written.inline.is_empty() {
        out.push(' ');
        out.push_str(&written.inline);
    }
    out.push('\n');
    out.push_str(&written.lines);
}

/// Appends that many spaces.
pub(crate) fn push_spaces(out: &mut String, count: usize) {
    out.extend(std::iter::repeat_n(' ', count));
}

/// The context of a scalar. In a flow collection, brackets and commas end it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Context {
    Block,
    Flow,
}

/// Returns a scalar, or an empty list or mapping, on one line; `None` if the value needs more lines.
pub(crate) fn scalar(value: &Value, context: Context) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(true) => "true".to_owned(),
        Value::Bool(false) => "false".to_owned(),
        Value::Number(number) => decimal(number),
        Value::String(text) => string(text, context),
        Value::Array(items) if items.is_empty() => "[]".to_owned(),
        Value::Object(map) if map.is_empty() => "{}".to_owned(),
        _ => return None,
    })
}

/// Returns a scalar in the style of the one that it replaces, if that style can hold it.
pub(crate) fn scalar_like(value: &Value, old: &Node<'_>, context: Context) -> Option<String> {
    let Value::String(text) = value else {
        return scalar(value, context);
    };
    let date = |text: &str| legacy(text) == Some(Legacy::Timestamp);
    Some(match old.layout {
        NodeLayout::SingleQuoted if printable_line(text) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        NodeLayout::DoubleQuoted => double_quoted(text),
        // A date that was written plain may stay plain when it becomes another date.
        NodeLayout::Plain
            if old.as_str().is_some_and(date) && date(text) && shape_is_plain(text, context) =>
        {
            text.clone()
        }
        _ => string(text, context),
    })
}

/// Returns a key, quoted if necessary.
pub(crate) fn key(text: &str) -> String {
    if legacy(text).is_none() && shape_is_plain(text, Context::Flow) && !text.contains(':') {
        text.to_owned()
    } else {
        double_quoted(text)
    }
}

/// Returns the header of a literal block (`|-`) for a text of several lines, if a block can hold it without loss.
pub(crate) fn literal_header(text: &str) -> Option<String> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let safe_line = |line: &str| {
        !line.ends_with([' ', '\t']) && line.chars().all(|c| c == '\t' || is_printable(c))
    };
    let first = body.split('\n').find(|line| !line.is_empty())?;
    // Editors remove trailing blanks, and an extra final break depends on the text after it.
    let safe = text.contains('\n')
        && !body.ends_with('\n')
        && !first.starts_with('\t')
        && body.split('\n').all(safe_line);
    if !safe {
        return None;
    }
    // Text that begins indented would be taken for a deeper block, so its indentation is spelled out.
    let indentation = if first.starts_with(' ') { "2" } else { "" };
    let chomping = if body.len() == text.len() { "-" } else { "" };
    Some(format!("|{indentation}{chomping}"))
}

fn string(text: &str, context: Context) -> String {
    let plain = shape_is_plain(text, context) && (legacy(text).is_none() || is_utc_timestamp(text));
    if plain { text.to_owned() } else { double_quoted(text) }
}

/// Returns whether a text can be written without quotes and is a string by the core schema.
fn shape_is_plain(text: &str, context: Context) -> bool {
    const INDICATORS: &str = "-?:,[]{}#&*!|>'\"%@`";
    let flow = context == Context::Flow;
    let mut chars = text.chars().peekable();
    let mut previous = ' ';
    while let Some(c) = chars.next() {
        let next = chars.peek().copied();
        let refused = match c {
            ':' if flow => !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '/'),
            ':' => next.is_none_or(|c| c == ' '),
            '#' => previous == ' ',
            // Some readers take a `?` anywhere in brackets for the start of a key.
            ',' | '[' | ']' | '{' | '}' | '?' => flow,
            _ => !is_printable(c),
        };
        if refused {
            return false;
        }
        previous = c;
    }
    !text.is_empty()
        && !text.starts_with(|c| c == ' ' || INDICATORS.contains(c))
        && !text.ends_with(' ')
        && !matches!(text, "=" | "<<" | "...")
        && matches!(resolve(text.into()), NodeKind::String(_))
}

fn printable_line(text: &str) -> bool {
    text.chars().all(is_printable)
}

fn double_quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            '\r' => out.push_str("\\r"),
            c if is_printable(c) => out.push(c),
            c => {
                let code = c as u32;
                let escaped = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
                escaped.expect("a String takes every write");
            }
        }
    }
    out.push('"');
    out
}

/// Returns a number that older readers read as a number too: they require a point and a sign, as in `1.0e+16`.
fn decimal(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}
