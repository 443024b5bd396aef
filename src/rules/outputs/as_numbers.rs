//! Numbers where a gate asks for numbers: one that was typed and does not come back from its text (`85.50`, `1e3`) is handed in as
//! a text, for it may be a version. What the gate declares knows better.

use std::str::FromStr;

use serde_json::{Number, Value};

use super::judge::judge_value;
use super::problem::Fact;
use crate::domain::Shape;
use crate::domain::workflow::shape::Kind;

/// Puts numbers for the texts in a value that the shape does not take as texts, and would take as numbers.
pub(crate) fn as_numbers(shape: &Shape, value: &mut Value) {
    if let Value::String(text) = value {
        if let Some(number) = number(text).map(Value::Number)
            && is_better(shape, value, &number)
        {
            *value = number;
        }
        return;
    }
    for kind in &shape.kinds {
        match (kind, &mut *value) {
            (Kind::Object(fields), Value::Object(map)) => {
                for (name, value) in map {
                    if let Some(shape) = fields.get(name) {
                        as_numbers(shape, value);
                    }
                }
            }
            (Kind::List(list), Value::Array(values)) => {
                if let Some(shape) = &list.items {
                    for value in values {
                        as_numbers(shape, value);
                    }
                }
            }
            _ => {}
        }
    }
    for shape in &shape.any_of {
        as_numbers(shape, value);
    }
}

/// Tells whether the number is what is asked for and the text is not, or is at least of the kind.
fn is_better(shape: &Shape, text: &Value, number: &Value) -> bool {
    let wrong = |value| judge_value(shape, value).into_iter().next().map(|problem| problem.fact);
    match (wrong(text), wrong(number)) {
        (None, _) => false,
        (Some(_), None) => true,
        (Some(text), Some(number)) => {
            matches!(text, Fact::WrongKind { .. }) && !matches!(number, Fact::WrongKind { .. })
        }
    }
}

/// Returns the number that a text stands for, as near as there is one: the gate asks for no more, and through other doors it comes
/// so as well. A text that would have come as a number without its quotes is meant to be none.
fn number(text: &str) -> Option<Number> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_octal =
        unsigned.len() > 1 && unsigned.starts_with('0') && unsigned.as_bytes()[1].is_ascii_digit();
    if is_octal || !text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte)) {
        return None;
    }
    let whole = || {
        i64::from_str(text)
            .map(Number::from)
            .or_else(|_| u64::from_str(text).map(Number::from))
            .ok()
    };
    let number = whole().or_else(|| Number::from_f64(f64::from_str(text).ok()?))?;
    (number.to_string() != text).then_some(number)
}
