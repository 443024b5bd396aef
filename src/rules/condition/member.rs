//! Reading members: own properties only.
//!
//! Where JavaScript would find more by inheritance, reading fails, so that no condition has two meanings and nothing leads from a
//! value to a function or a prototype.

use super::budget::{Budget, Outcome, Raised};
use super::number::to_f64;
use super::value::Value;

/// Names that no condition may read, whoever owns them.
const FORBIDDEN: [&str; 3] = ["constructor", "__proto__", "prototype"];

/// What every object inherits.
const OF_OBJECTS: &str = "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ hasOwnProperty \
     isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf";

/// What lists inherit besides.
const OF_LISTS: &str = "at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat \
     flatMap forEach includes indexOf join keys lastIndexOf map pop push reduce reduceRight reverse shift slice \
     some sort splice toReversed toSorted toSpliced unshift values with";

/// What texts inherit besides.
const OF_TEXTS: &str = "anchor at big blink bold charAt charCodeAt codePointAt concat endsWith fixed fontcolor \
     fontsize includes indexOf isWellFormed italics lastIndexOf link localeCompare match matchAll normalize padEnd \
     padStart repeat replace replaceAll search slice small split startsWith strike sub substr substring sup \
     toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase toWellFormed trim trimEnd trimLeft trimRight \
     trimStart";

/// What numbers inherit besides.
const OF_NUMBERS: &str = "toExponential toFixed toPrecision";

/// Returns whether `name` leads from the data to what JavaScript keeps behind every value.
pub(crate) fn is_forbidden(name: &str) -> bool {
    FORBIDDEN.contains(&name)
}

/// Reads `value.name`.
pub(crate) fn get<'a>(value: &Value<'a>, name: &str, budget: &mut Budget) -> Outcome<Value<'a>> {
    budget.scan(name.len())?;
    let (own, inherited) = match value {
        Value::Undefined | Value::Null => return Err(unreadable(name, value)),
        Value::Bool(_) => (None, ""),
        Value::Number(_) => (None, OF_NUMBERS),
        Value::Text(text) => {
            if list_position(name).is_some() {
                return Err(Raised::new(
                    "a condition cannot read single characters: use `includes`, `startsWith` or `indexOf`",
                ));
            }
            budget.walk(text.len())?;
            let length = || Value::Number(to_f64(text.encode_utf16().count()));
            ((name == "length").then(length), OF_TEXTS)
        }
        Value::List(list) => {
            let own = match list_position(name) {
                Some(position) => list.get(position),
                None => (name == "length").then(|| Value::Number(to_f64(list.len()))),
            };
            (own, OF_LISTS)
        }
        Value::Object(map) => (map.get(name).map(Value::from_json), ""),
    };
    let is_in = |names: &str| names.split_whitespace().any(|known| known == name);
    if is_forbidden(name) || (own.is_none() && (is_in(OF_OBJECTS) || is_in(inherited))) {
        let message = format!("`{name}` is not data: a condition reads own properties only");
        return Err(Raised::new(message));
    }
    Ok(own.unwrap_or(Value::Undefined))
}

/// The failure of reading `name` of nothing.
pub(crate) fn unreadable(name: &str, value: &Value<'_>) -> Raised {
    Raised::new(format!("Cannot read property '{name}' of {}", value.describe()))
}

/// Returns the position that `name` stands for, if it is written the one way in which JavaScript sees a position.
fn list_position(name: &str) -> Option<usize> {
    let position: u32 = name.parse().ok()?;
    (position != u32::MAX && position.to_string() == name).then_some(position as usize)
}
