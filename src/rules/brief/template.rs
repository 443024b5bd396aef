//! Texts with holes: `{{name}}` stands for a value that a gate or the task's beginning handed on.
//!
//! One pass, and values are only ever copied: what an agent wrote is never read as a template. Names are looked up by the
//! caller; this room knows the grammar and how a value becomes text.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// How many faults are told of one text.
const FAULT_LIMIT: usize = 50;

/// The longest name, in bytes: three identifiers and two dots.
const NAME_LIMIT: usize = 3 * 64 + 2;

/// The longest text that comes out, in bytes: what is longer is cut, and says so.
const TEXT_LIMIT: usize = 256 * 1024;

/// The longest value that is copied into a text, in bytes: what is longer is cut, and says so.
const VALUE_LIMIT: usize = 64 * 1024;

/// A text whose holes are known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Reference),
}

/// A hole: the name in it, and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reference {
    /// The name: `branch`, `review.blockers`, `fork.security.summary`.
    pub name: String,
    /// The bytes of the hole in the text, braces included.
    pub range: Range<usize>,
}

/// Something in a template that is no hole and looks like one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TemplateFault {
    /// The bytes in the text.
    pub range: Range<usize>,
    /// What is wrong, in one sentence.
    pub message: String,
    pub help: String,
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

impl Reference {
    /// Returns the parts of the name, one to three.
    pub(crate) fn parts(&self) -> Vec<&str> {
        self.name.split('.').collect()
    }
}

impl Template {
    /// Reads a text, in time linear in its length. Returns everything that is wrong with it if anything is.
    pub(crate) fn parse(text: &str) -> Result<Self, Vec<TemplateFault>> {
        let mut pieces = Vec::new();
        let mut faults = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(open) = text[at..].find("{{").map(|found| at + found) {
            if open > at && text[..open].ends_with('\\') {
                // The backslash is part of what has not been copied yet.
                plain.push_str(&text[at..open - 1]);
                at = open + text[open..].bytes().take_while(|byte| *byte == b'{').count();
                plain.push_str(&text[open..at]);
                continue;
            }
            plain.push_str(&text[at..open]);
            let (end, hole) = hole(text, open);
            match hole {
                Ok(name) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Hole(Reference { name: name.to_owned(), range: open..end }));
                }
                Err(fault) => faults.push(fault),
            }
            at = end;
            if faults.len() == FAULT_LIMIT {
                break;
            }
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        if faults.is_empty() { Ok(Self { pieces }) } else { Err(faults) }
    }

    /// Returns the holes, in the order of the text.
    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Hole(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Returns the text with every hole filled by what `look_up` finds; nobody has handed on yet what it does not find.
    pub(crate) fn render<'v>(
        &self,
        look_up: impl Fn(&Reference) -> Option<Cow<'v, Value>>,
    ) -> Rendered {
        let mut rendered = Rendered::default();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.text.push_str(text),
                Piece::Hole(hole) => {
                    if let Some(value) = look_up(hole) {
                        rendered.fill(&hole.name, &as_text(&value));
                    } else {
                        rendered.text.push_str(&format!("[missing: {}]", hole.name));
                        note(&mut rendered.missing, &hole.name);
                    }
                }
            }
        }
        rendered
    }
}

impl Rendered {
    fn fill(&mut self, name: &str, text: &str) {
        let room = TEXT_LIMIT.saturating_sub(self.text.len()).min(VALUE_LIMIT);
        if text.len() <= room {
            self.text.push_str(text);
            return;
        }
        note(&mut self.cut, name);
        // A text that is full already gets no more than the shortest mark for each further hole.
        self.text.push_str(&text[..text.floor_char_boundary(room)]);
        self.text.push_str(&match room {
            0 => "[cut]".to_owned(),
            _ => format!("[cut: {name} has {} bytes]", text.len()),
        });
    }
}

fn note(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

/// Reads the hole that opens there. Returns where it ends, and the name in it.
fn hole(text: &str, open: usize) -> (usize, Result<&str, TemplateFault>) {
    let (braces, closing) =
        if text[open..].starts_with("{{{") { ("{{{", "}}}") } else { ("{{", "}}") };
    let start = open + braces.len();
    // What lies behind the next opening braces is theirs: so every byte is looked at a few times, and no more.
    let end = text[start..].find("{{").map_or(text.len(), |next| start + next);
    let Some(close) = text[start..end].find(closing).map(|close| start + close) else {
        let message = format!("`{braces}` is opened and not closed by `{closing}`");
        let help = format!("close it, or write `\\{braces}` if it is meant as it stands");
        return (end, Err(TemplateFault { range: open..start, message, help }));
    };
    let name = text[start..close].trim();
    let end = close + closing.len();
    if is_name(name) {
        return (end, Ok(name));
    }
    let sign = name.chars().next().filter(|sign| "#^/>!&=%".contains(*sign));
    let shown: String = name.chars().filter(|c| !c.is_control()).take(60).collect();
    let (message, help) = match sign {
        Some(sign @ ('#' | '^' | '/')) => (
            format!("there are no sections here, and `{{{{{sign}` begins one"),
            "a text has only names in it: what differs by outcome stands in the route's `prompt`, what differs after a rejection in `reentry`",
        ),
        Some(sign) => (format!("there are no tags here, and `{{{{{sign}` begins one"), "remove it"),
        None => (
            format!("`{shown}` is no name"),
            "it is one to three words of letters, digits, `_` and `-`, with dots between, as in `branch` or `review.blockers`",
        ),
    };
    (end, Err(TemplateFault { range: open..end, message, help: help.to_owned() }))
}

fn is_name(text: &str) -> bool {
    let is_word = |word: &str| {
        !word.is_empty()
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
    };
    text.len() <= NAME_LIMIT && text.split('.').count() <= 3 && text.split('.').all(is_word)
}

/// Returns a value as it stands in a text: texts as they are, lists of plain values as lines with dashes, all else as JSON.
pub(crate) fn as_text(value: &Value) -> Cow<'_, str> {
    let is_plain = |value: &Value| !matches!(value, Value::Array(_) | Value::Object(_));
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(items) if items.iter().all(is_plain) => {
            // The lines of one item stay together.
            let indented = |text: &str| text.trim_end_matches('\n').replace('\n', "\n  ");
            let lines: Vec<String> =
                items.iter().map(|item| format!("- {}", indented(&as_text(item)))).collect();
            Cow::Owned(lines.join("\n"))
        }
        other => Cow::Owned(other.to_string()),
    }
}
