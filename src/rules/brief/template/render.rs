//! Fills the holes.

use std::borrow::Cow;

use serde_json::Value;

use super::{Piece, Reference, Template};

/// The longest text that comes out, in bytes: what is longer is cut, and says so.
pub(crate) const TEXT_LIMIT: usize = 256 * 1024;

/// The longest value that is copied into a text, in bytes: what is longer is cut, and says so.
pub(crate) const VALUE_LIMIT: usize = 64 * 1024;

/// What a name stands for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Found<'v> {
    /// A value.
    Value(Cow<'v, Value>),
    /// Nothing: nobody has handed it on yet.
    Missing,
}

/// A filled text, and what is to be said about it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Rendered {
    pub text: String,
    /// The names that stood for nothing, each once, in the order of the text.
    pub missing: Vec<String>,
    /// The names whose values did not fit, each once.
    pub cut: Vec<String>,
}

pub(crate) fn render<'v>(
    template: &Template,
    mut look_up: impl FnMut(&Reference) -> Found<'v>,
) -> Rendered {
    let mut rendered = Rendered::default();
    for piece in &template.pieces {
        match piece {
            Piece::Text(text) => rendered.text.push_str(text),
            Piece::Hole(reference) => fill(&mut rendered, reference.name(), &look_up(reference)),
        }
    }
    rendered
}

fn fill(rendered: &mut Rendered, name: &str, found: &Found<'_>) {
    let Found::Value(value) = found else {
        rendered.text.push_str(&format!("[missing: {name}]"));
        note(&mut rendered.missing, name);
        return;
    };
    let text = as_text(value);
    let room = TEXT_LIMIT.saturating_sub(rendered.text.len()).min(VALUE_LIMIT);
    if text.len() <= room {
        rendered.text.push_str(&text);
        return;
    }
    note(&mut rendered.cut, name);
    // A text that is full already gets no more than the shortest mark for each further hole.
    rendered.text.push_str(&text[..text.floor_char_boundary(room)]);
    rendered.text.push_str(&if room > 0 {
        format!("[cut: {name} has {} bytes]", text.len())
    } else {
        "[cut]".to_owned()
    });
}

fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Returns a value as it stands in a text: texts as they are, lists of plain values as lines with dashes, all else as JSON.
pub(crate) fn as_text(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) if items.iter().all(is_plain) => {
            let lines: Vec<String> =
                items.iter().map(|item| format!("- {}", indented(&as_text(item)))).collect();
            Cow::Owned(lines.join("\n"))
        }
        other => Cow::Owned(other.to_string()),
    }
}

fn is_plain(value: &Value) -> bool {
    !matches!(value, Value::Array(_) | Value::Object(_))
}

/// Keeps the lines of one item together.
fn indented(text: &str) -> String {
    text.trim_end_matches('\n').replace('\n', "\n  ")
}
