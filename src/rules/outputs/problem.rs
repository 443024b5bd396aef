//! What is wrong with a value: as data for programs, and as a sentence that teaches.

use serde_json::{Number, Value, json};

use super::describe::{in_words, quoted};
use crate::domain::workflow::shape::Shape;
use crate::domain::{Map, listed};

/// Something that the declared shape does not allow.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Where: `files[2].name`; empty for the outputs as a whole.
    pub path: String,
    pub fact: Fact,
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq)]
pub enum Fact {
    /// It is required and not there.
    Missing { wanted: Box<Shape> },
    /// It is there and not declared.
    Undeclared { known: Vec<String>, meant: Option<String> },
    /// It is of another kind.
    WrongKind { got: Value, wanted: Vec<&'static str> },
    /// It is none of the values that there are.
    NotAmong { got: Value, known: Vec<Value>, meant: Option<String> },
    /// The text has too few or too many characters.
    Length { got: usize, limit: Bound<u64> },
    /// The list has too few or too many items.
    Items { got: usize, limit: Bound<u64> },
    /// The number is too small or too large.
    Size { got: Number, limit: Bound<Number> },
    /// It is larger than the workflow lets gates hand on.
    Heavy { bytes: usize, limit: usize },
    /// The name means what the task started with, and this gate does not declare it.
    Protected,
    /// It would take too long to hold it against the shape.
    Laborious,
    /// No alternative fits; these are the problems of the one that is nearest.
    NoneFits { shapes: usize, nearest: Vec<Problem> },
}

/// One end of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound<T> {
    /// At least.
    Least(T),
    /// At most.
    Most(T),
}

impl Problem {
    /// Returns the word that stands for the kind of problem in JSON.
    pub const fn code(&self) -> &'static str {
        match &self.fact {
            Fact::Missing { .. } => "missing_field",
            Fact::Undeclared { .. } => "unknown_field",
            Fact::WrongKind { .. } => "wrong_type",
            Fact::NotAmong { .. } => "invalid_value",
            Fact::Length { limit: Bound::Least(_), .. } => "too_short",
            Fact::Length { .. } => "too_long",
            Fact::Items { limit: Bound::Least(_), .. } => "too_few",
            Fact::Items { .. } => "too_many",
            Fact::Size { limit: Bound::Least(_), .. } => "too_small",
            Fact::Size { .. } => "too_large",
            Fact::Heavy { .. } => "output_too_large",
            Fact::Protected => "protected_output",
            Fact::Laborious => "too_laborious",
            Fact::NoneFits { .. } => "no_alternative",
        }
    }

    /// Returns what is wrong and what would be right: one sentence.
    pub fn message(&self) -> String {
        let name = if self.path.is_empty() {
            "this".to_owned()
        } else {
            format!("`{}`", self.path.escape_debug())
        };
        match &self.fact {
            Fact::Missing { wanted } => {
                let purpose =
                    wanted.about.description.as_deref().map(|text| format!(", {}", text.trim()));
                format!(
                    "{name} is missing: it is {}{}",
                    in_words(wanted),
                    purpose.unwrap_or_default()
                )
            }
            Fact::Undeclared { known, meant } => {
                let help = match (meant, known.as_slice()) {
                    (Some(meant), _) => format!("did you mean `{meant}`?"),
                    (None, []) => "nothing is handed on here".to_owned(),
                    (None, known) => format!("there is {}", listed(known)),
                };
                format!("{name} is not declared; {help}")
            }
            Fact::WrongKind { got, wanted } => {
                format!(
                    "{name} is {}, and it must be {}{}",
                    noun(got),
                    wanted.join(" or "),
                    unquoted(got, wanted)
                )
            }
            Fact::NotAmong { got, known, meant } => {
                let question = meant
                    .as_ref()
                    .map(|word| format!("; did you mean `{word}`?"))
                    .unwrap_or_default();
                let known: Vec<String> = known.iter().map(quoted).collect();
                let wanted = if known.len() == 1 { "it must be" } else { "it is one of" };
                format!("{name} is {}, and {wanted} {}{question}", quoted(got), known.join(", "))
            }
            Fact::Length { got, limit } => match limit {
                Bound::Least(least) => {
                    format!("{name} has {got} characters, and at least {least} are wanted")
                }
                Bound::Most(most) => format!(
                    "{name} has {got} characters, and at most {most} are allowed: put the rest into a file and name it"
                ),
            },
            Fact::Items { got, limit } => match limit {
                Bound::Least(least) => {
                    format!("{name} has {got} items, and at least {least} are wanted")
                }
                Bound::Most(most) => {
                    format!("{name} has {got} items, and at most {most} are allowed")
                }
            },
            Fact::Size { got, limit } => match limit {
                Bound::Least(least) => format!("{name} is {got}, and it must be at least {least}"),
                Bound::Most(most) => format!("{name} is {got}, and it must be at most {most}"),
            },
            Fact::Heavy { bytes, limit } => format!(
                "{name} has {bytes} bytes, and one value may have {limit}: write it to a file, and hand on the file's path"
            ),
            Fact::Protected => {
                format!(
                    "{name} means what the task started with, and no gate may change that: use another name"
                )
            }
            Fact::Laborious => {
                format!(
                    "{name} takes too long to check: hand on fewer items, or write them to a file and hand on its path"
                )
            }
            Fact::NoneFits { shapes, nearest } => {
                let list: Vec<String> = nearest.iter().take(5).map(Self::message).collect();
                format!(
                    "{name} fits none of its {shapes} forms; by the nearest one, {}",
                    list.join("; ")
                )
            }
        }
    }

    /// Returns the problem as JSON: `path`, `problem`, `message`, and `got`, `expected`, `nearest` where they apply.
    pub fn to_value(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: Value| {
            map.insert(key.to_owned(), value);
        };
        put("path", json!(self.path));
        put("problem", json!(self.code()));
        match &self.fact {
            Fact::Missing { wanted } => put("expected", json!(in_words(wanted))),
            Fact::Undeclared { known, meant } => {
                put("expected", json!(known));
                if let Some(meant) = meant {
                    put("nearest", json!(meant));
                }
            }
            Fact::WrongKind { got, wanted } => {
                put("got", json!(noun(got)));
                put("expected", json!(wanted.join(" or ")));
            }
            Fact::NotAmong { got, known, meant } => {
                put("got", got.clone());
                put("expected", json!(known));
                if let Some(meant) = meant {
                    put("nearest", json!(meant));
                }
            }
            Fact::Length { got, limit } | Fact::Items { got, limit } => {
                put("got", json!(got));
                put("expected", bound(*limit));
            }
            Fact::Size { got, limit } => {
                put("got", json!(got));
                put("expected", bound(limit.clone()));
            }
            Fact::Heavy { bytes, limit } => {
                put("got", json!(bytes));
                put("expected", bound(Bound::Most(limit)));
            }
            Fact::Protected | Fact::Laborious => {}
            Fact::NoneFits { nearest, .. } => {
                put("problems", nearest.iter().map(Self::to_value).collect());
            }
        }
        put("message", json!(self.message()));
        Value::Object(map)
    }
}

fn bound<T: serde::Serialize>(limit: Bound<T>) -> Value {
    match limit {
        Bound::Least(least) => json!({"atLeast": least}),
        Bound::Most(most) => json!({"atMost": most}),
    }
}

fn noun(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a yes or no",
        Value::Number(number) if number.is_f64() => "a number",
        Value::Number(_) => "a whole number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns the advice for a text that only its quotes keep from being what is wanted, and the other way round.
fn unquoted(got: &Value, wanted: &[&str]) -> String {
    match got {
        Value::String(text) => {
            let inner: Option<Value> = serde_json::from_str(text.trim()).ok();
            let fits = match inner {
                Some(Value::Number(number)) => {
                    wanted.contains(&"a number")
                        || (wanted.contains(&"a whole number") && !number.is_f64())
                }
                Some(Value::Bool(_)) => wanted.contains(&"`true` or `false`"),
                _ => false,
            };
            if fits {
                format!(": write `{}` without quotes", text.trim())
            } else if wanted.contains(&"a list") {
                ": write one item a line, or put it in brackets".to_owned()
            } else {
                String::new()
            }
        }
        Value::Number(_) | Value::Bool(_) if wanted.contains(&"a text") => {
            format!(": write `\"{got}\"`")
        }
        Value::Number(_) if wanted == ["a whole number"] => ": it has a fraction".to_owned(),
        _ => String::new(),
    }
}
