//! The fields of an operation: name, kind, the doors that offer and need it, and one line of help.

use serde_json::{Value, json};

use crate::domain::{Link, listed};
use crate::files::json;

/// A set of doors.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Doors(u8);

impl Doors {
    pub(crate) const NONE: Self = Self(0);
    /// The command line.
    pub(crate) const COMMAND: Self = Self(1);
    /// The tools of the MCP server.
    pub(crate) const TOOL: Self = Self(2);
    /// The HTTP interface.
    pub(crate) const API: Self = Self(4);
    /// The forms of web pages.
    pub(crate) const PAGE: Self = Self(8);
    /// The board at the terminal.
    pub(crate) const SCREEN: Self = Self(16);
    pub(crate) const ALL: Self = Self(31);
    /// The doors of a board: their forms show the state that a person acts on.
    pub(crate) const BOARD: Self = Self(28);

    pub(crate) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns true if all `others` are in the set.
    pub(crate) const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// One field of an operation.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InputField {
    pub(crate) name: &'static str,
    pub(crate) kind: InputKind,
    /// One line of help; empty if the name says it.
    pub(crate) help: &'static str,
    /// The label in forms.
    pub(crate) label: &'static str,
    /// The doors that offer it.
    pub(crate) doors: Doors,
    /// The doors that refuse a request without it.
    pub(crate) needed: Doors,
}

/// The kind of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InputKind {
    Text,
    Texts,
    /// A list of texts; an object with `title` and `url` counts as well.
    Links,
    Count,
    Flag,
    Word(&'static [&'static str]),
    Object,
}

impl InputField {
    pub(crate) const fn required(name: &'static str, kind: InputKind, help: &'static str) -> Self {
        Self { needed: Doors::ALL, ..Self::optional(name, kind, help) }
    }

    pub(crate) const fn optional(name: &'static str, kind: InputKind, help: &'static str) -> Self {
        Self { name, kind, help, label: "", doors: Doors::ALL, needed: Doors::NONE }
    }

    /// Restricts the field to these doors.
    pub(crate) const fn at(self, doors: Doors) -> Self {
        Self { doors, ..self }
    }

    /// Makes the field a needed one at these doors alone.
    pub(crate) const fn needed_at(self, needed: Doors) -> Self {
        Self { needed, ..self }
    }

    pub(crate) const fn label(self, label: &'static str) -> Self {
        Self { label, ..self }
    }
}

impl InputKind {
    pub(crate) fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Texts | Self::Links => json!({"type": "array", "items": {"type": "string"}}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Object => json!({"type": "object"}),
        }
    }

    /// Returns the value that a client means. Clients send lists, numbers and booleans also as the text of their JSON, and whole
    /// numbers with a decimal point. `None` if the value is not of this type, or is ambiguous.
    pub(crate) fn read(self, value: &Value) -> Option<Value> {
        let is_whole = |number: f64| number.fract() == 0.0 && (0.0..=MOST_EXACT).contains(&number);
        match (self, value) {
            (Self::Text, Value::Number(number)) if !number.is_f64() => {
                Some(json!(number.to_string()))
            }
            (Self::Text, Value::String(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Object, Value::Object(_)) => Some(value.clone()),
            (Self::Texts, Value::Array(items)) => {
                items.iter().map(|item| Self::Text.read(item)).collect()
            }
            (Self::Links, Value::Array(items)) => {
                items.iter().all(|item| link(item).is_some()).then(|| value.clone())
            }
            (Self::Word(words), Value::String(word)) if words.contains(&word.as_str()) => {
                Some(value.clone())
            }
            (Self::Count, Value::Number(number)) => {
                match number.as_f64().filter(|at| number.is_f64() && is_whole(*at)) {
                    // The text has no fraction: `5`.
                    Some(whole) => format!("{whole:.0}").parse::<u64>().ok().map(Value::from),
                    None => number.as_u64().map(Value::from),
                }
            }
            // Python writes booleans with a capital letter.
            (Self::Flag, Value::String(text)) => {
                text.trim().to_lowercase().parse().ok().map(Value::Bool)
            }
            (
                Self::Texts | Self::Links | Self::Count | Self::Object | Self::Word(_),
                Value::String(text),
            ) => {
                let inner = json::parse(text).ok()?.to_value();
                let is_text = inner.is_string() && !matches!(self, Self::Word(_));
                if is_text || inner == *value { None } else { self.read(&inner) }
            }
            _ => None,
        }
    }

    /// Returns true if an optional value counts as missing: some clients fill in every one.
    pub(crate) fn is_absent(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::String(text) if self == Self::Text => text.trim().is_empty(),
            Value::String(text) => matches!(text.trim(), "" | "null"),
            _ => false,
        }
    }

    /// Returns the type in words.
    pub(crate) fn noun(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Links => "a list of URLs, or of objects with `title` and `url`".to_owned(),
            Self::Count => "a whole number, not less than 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", listed(words)),
            Self::Object => "an object".to_owned(),
        }
    }

    /// Returns true if the value is of this kind as it is.
    pub(crate) fn holds(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts | Self::Links => {
                value.as_array().is_some_and(|items| items.iter().all(Value::is_string))
            }
            Self::Count => value.is_u64(),
            Self::Flag => value.is_boolean(),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Object => value.is_object(),
        }
    }
}

/// Returns a link: a URL, or an object with `url` and perhaps `title`.
pub(super) fn link(value: &Value) -> Option<Link> {
    match value {
        Value::String(url) => Some(Link { title: None, url: url.clone() }),
        value => serde_json::from_value(value.clone()).ok(),
    }
}

/// The largest number up to which all whole numbers are exact.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;
