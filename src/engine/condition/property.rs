//! Reading members: own properties only.
//!
//! JavaScript would find more by inheritance. Where it would, this fails instead of answering otherwise, so that no
//! condition can mean two things, and nothing leads from a value to a function or a prototype.

use super::{
    budget::{Budget, Outcome, Raised},
    coerce,
    number::{clamp, to_f64},
    text::Text,
    value::{List, Value, list_position},
};

/// Names that no condition may read, whoever owns them.
const FORBIDDEN: [&str; 3] = ["constructor", "__proto__", "prototype"];

/// What every object inherits; like the lists below, sorted.
const OF_OBJECTS: &[&str] = &[
    "__defineGetter__",
    "__defineSetter__",
    "__lookupGetter__",
    "__lookupSetter__",
    "hasOwnProperty",
    "isPrototypeOf",
    "propertyIsEnumerable",
    "toLocaleString",
    "toString",
    "valueOf",
];

/// What lists inherit besides.
const OF_LISTS: &[&str] = &[
    "at",
    "concat",
    "copyWithin",
    "entries",
    "every",
    "fill",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "flat",
    "flatMap",
    "forEach",
    "includes",
    "indexOf",
    "join",
    "keys",
    "lastIndexOf",
    "map",
    "pop",
    "push",
    "reduce",
    "reduceRight",
    "reverse",
    "shift",
    "slice",
    "some",
    "sort",
    "splice",
    "toReversed",
    "toSorted",
    "toSpliced",
    "unshift",
    "values",
    "with",
];

/// What texts inherit besides.
const OF_TEXTS: &[&str] = &[
    "anchor",
    "at",
    "big",
    "blink",
    "bold",
    "charAt",
    "charCodeAt",
    "codePointAt",
    "concat",
    "endsWith",
    "fixed",
    "fontcolor",
    "fontsize",
    "includes",
    "indexOf",
    "isWellFormed",
    "italics",
    "lastIndexOf",
    "link",
    "localeCompare",
    "match",
    "matchAll",
    "normalize",
    "padEnd",
    "padStart",
    "repeat",
    "replace",
    "replaceAll",
    "search",
    "slice",
    "small",
    "split",
    "startsWith",
    "strike",
    "sub",
    "substr",
    "substring",
    "sup",
    "toLocaleLowerCase",
    "toLocaleUpperCase",
    "toLowerCase",
    "toUpperCase",
    "toWellFormed",
    "trim",
    "trimEnd",
    "trimLeft",
    "trimRight",
    "trimStart",
];

/// What numbers inherit besides.
const OF_NUMBERS: &[&str] = &["toExponential", "toFixed", "toPrecision"];

/// Returns whether `name` leads away from the data, to what JavaScript keeps behind every value.
pub(super) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
}

/// Reads `value.name`.
pub(super) fn get<'a>(value: &Value<'a>, name: &str, budget: &mut Budget) -> Outcome<Value<'a>> {
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
        return Err(Raised::new(format!("`{name}` is not data: a condition reads own properties only")));
    }
    Ok(own.unwrap_or(Value::Undefined))
}

/// Reads `value[key]`.
pub(super) fn get_at<'a>(value: &Value<'a>, key: &Value<'a>, budget: &mut Budget) -> Outcome<Value<'a>> {
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
pub(super) fn contains<'a>(value: &Value<'a>, key: &Value<'a>, budget: &mut Budget) -> Outcome<bool> {
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
pub(super) fn owns<'a>(value: &Value<'a>, key: &Value<'a>, budget: &mut Budget) -> Outcome<bool> {
    let key = coerce::to_text(key, budget)?;
    let Some(name) = key.as_str() else {
        return Ok(false);
    };
    budget.scan(name.len())?;
    let length = match value {
        Value::Object(object) => return Ok(object.get(name).is_some()),
        Value::List(list) => list.len(),
        Value::Text(text) => text.length(budget)?,
        Value::Undefined | Value::Null => {
            return Err(Raised::new("Cannot convert undefined or null to object"));
        }
        Value::Bool(_) | Value::Number(_) => return Ok(false),
    };
    Ok(name == "length" || list_position(name).is_some_and(|position| (position as usize) < length))
}

/// The failure of reading `name` of nothing.
pub(super) fn unreadable(name: &str, value: &Value<'_>) -> Raised {
    let value = describe(value);
    Raised::new(format!("Cannot read property '{name}' of {value}"))
}

/// Names the kind of `value`, for messages.
pub(super) fn describe(value: &Value<'_>) -> &'static str {
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

fn unit_at<'a>(text: &Text<'a>, position: usize, budget: &mut Budget) -> Outcome<Option<Value<'a>>> {
    if position >= text.length(budget)? {
        return Ok(None);
    }
    text.slice(position, position + 1, budget).map(|unit| Some(Value::Text(unit)))
}

#[expect(clippy::float_cmp, reason = "asks whether the position is exactly a whole number within the list")]
fn exact_index(position: f64, list: &List<'_>) -> Option<usize> {
    let index = clamp(position, list.len());
    (to_f64(index) == position).then_some(index)
}

fn is_inherited(value: &Value<'_>, name: &str) -> bool {
    let more = match value {
        Value::List(_) => OF_LISTS,
        Value::Text(_) => OF_TEXTS,
        Value::Number(_) => OF_NUMBERS,
        _ => &[],
    };
    OF_OBJECTS.binary_search(&name).is_ok() || more.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::condition::methods::Method;

    #[test]
    fn inherited_names_are_sorted_and_hold_every_method() {
        for names in [OF_OBJECTS, OF_LISTS, OF_TEXTS, OF_NUMBERS] {
            assert!(names.is_sorted(), "{names:?}");
        }
        for method in Method::ALL {
            let name = method.name();
            assert!(OF_LISTS.contains(&name) || OF_TEXTS.contains(&name), "{name}");
        }
    }
}
