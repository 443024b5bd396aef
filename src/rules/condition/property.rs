//! Reading members: own properties only.
//!
//! JavaScript would find more by inheritance. Where it would, this fails instead of answering otherwise, so that no
//! condition can mean two things, and nothing leads from a value to a function or a prototype.

use super::budget::{Budget, Outcome, Raised};
use super::coerce;
use super::number::{clamp, to_f64};
use super::prototype_names::{is_forbidden, is_inherited};
use super::text::Text;
use super::value::{List, Value, list_position};

/// Reads `value.name`.
pub(crate) fn get<'a>(value: &Value<'a>, name: &str, budget: &mut Budget) -> Outcome<Value<'a>> {
    budget.scan(name.len())?;
    let own = match value {
        Value::Undefined | Value::Null => return Err(unreadable(name, value)),
        Value::Bool(_) | Value::Number(_) => None,
        Value::Text(text) => match list_position(name) {
            Some(position) => unit_at(text, position as usize, budget)?,
            None if name == "length" => Some(Value::Number(to_f64(text.length(budget)?))),
            None => None,
        },
        Value::List(list) => match list_position(name) {
            Some(position) => list.get(position as usize),
            None if name == "length" => Some(Value::Number(to_f64(list.len()))),
            None => None,
        },
        Value::Object(object) => object.get(name),
    };
    if is_forbidden(name) || (own.is_none() && is_inherited(value, name)) {
        return Err(Raised::new(format!(
            "`{name}` is not data: a condition reads own properties only"
        )));
    }
    Ok(own.unwrap_or(Value::Undefined))
}

/// Reads `value[key]`.
pub(crate) fn get_at<'a>(
    value: &Value<'a>,
    key: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    if let (Value::List(list), Value::Number(position)) = (value, key)
        && let Some(index) = exact_index(*position, list)
    {
        return Ok(list.get(index).unwrap_or(Value::Undefined));
    }
    let key = coerce::to_text(key, budget)?;
    match key.as_str() {
        Some(name) => get(value, name, budget),
        // A key that is not well-formed names nothing in JSON.
        None if value.is_nullish() => Err(unreadable("\u{fffd}", value)),
        None => Ok(Value::Undefined),
    }
}

/// `key in value`
pub(crate) fn contains<'a>(
    value: &Value<'a>,
    key: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<bool> {
    if !matches!(value, Value::List(_) | Value::Object(_)) {
        return Err(Raised::new(format!("Cannot use 'in' to search in {}", describe(value))));
    }
    if owns(value, key, budget)? {
        return Ok(true);
    }
    match coerce::to_text(key, budget)?.as_str() {
        Some(name) if is_forbidden(name) || is_inherited(value, name) => {
            Err(Raised::new(format!("`{name}` is not data: use `Object.hasOwn(object, key)`")))
        }
        _ => Ok(false),
    }
}

/// `Object.hasOwn(value, key)`
pub(crate) fn owns<'a>(value: &Value<'a>, key: &Value<'a>, budget: &mut Budget) -> Outcome<bool> {
    if value.is_nullish() {
        return Err(Raised::new("Cannot convert undefined or null to object"));
    }
    let key = coerce::to_text(key, budget)?;
    let Some(name) = key.as_str() else {
        return Ok(false);
    };
    budget.scan(name.len())?;
    let length = match value {
        Value::Object(object) => return Ok(object.get(name).is_some()),
        Value::List(list) => list.len(),
        Value::Text(text) => text.length(budget)?,
        Value::Undefined | Value::Null | Value::Bool(_) | Value::Number(_) => return Ok(false),
    };
    Ok(name == "length" || list_position(name).is_some_and(|position| (position as usize) < length))
}

/// The failure of reading `name` of nothing.
pub(crate) fn unreadable(name: &str, value: &Value<'_>) -> Raised {
    let value = describe(value);
    Raised::new(format!("Cannot read property '{name}' of {value}"))
}

/// Names the kind of `value`, for messages.
pub(crate) fn describe(value: &Value<'_>) -> &'static str {
    match value {
        Value::Undefined => "undefined",
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::Text(_) => "a string",
        Value::List(_) => "an array",
        Value::Object(_) => "an object",
    }
}

fn unit_at<'a>(
    text: &Text<'a>,
    position: usize,
    budget: &mut Budget,
) -> Outcome<Option<Value<'a>>> {
    if position >= text.length(budget)? {
        return Ok(None);
    }
    text.slice(position, position + 1, budget).map(|unit| Some(Value::Text(unit)))
}

#[expect(
    clippy::float_cmp,
    reason = "asks whether the position is exactly a whole number within the list"
)]
fn exact_index(position: f64, list: &List<'_>) -> Option<usize> {
    let index = clamp(position, list.len());
    (to_f64(index) == position).then_some(index)
}
