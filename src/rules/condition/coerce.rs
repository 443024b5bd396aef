//! JavaScript's conversions and comparisons.

use std::cmp::Ordering;

use super::ast::Binary;
use super::budget::{Budget, Outcome, Raised};
use super::number;
use super::text::Text;
use super::value::{List, Object, Value};

/// How deep lists of the scope may nest when they are turned into text.
const MAX_NESTING: usize = 200;

pub(crate) fn is_truthy(value: &Value<'_>) -> bool {
    match value {
        Value::Undefined | Value::Null => false,
        Value::Bool(truth) => *truth,
        Value::Number(number) => *number != 0.0 && !number.is_nan(),
        Value::Text(text) => !text.is_empty(),
        Value::List(_) | Value::Object(_) => true,
    }
}

pub(crate) fn type_of(value: &Value<'_>) -> &'static str {
    match value {
        Value::Undefined => "undefined",
        Value::Null | Value::List(_) | Value::Object(_) => "object",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::Text(_) => "string",
    }
}

/// Turns lists and objects into the text that stands for them in arithmetic and comparisons.
pub(crate) fn to_primitive<'a>(value: &Value<'a>, budget: &mut Budget) -> Outcome<Value<'a>> {
    match value {
        Value::List(_) | Value::Object(_) => to_text(value, budget).map(Value::Text),
        _ => Ok(value.clone()),
    }
}

pub(crate) fn to_number(value: &Value<'_>, budget: &mut Budget) -> Outcome<f64> {
    Ok(match value {
        Value::Undefined => f64::NAN,
        Value::Null => 0.0,
        Value::Bool(truth) => f64::from(*truth),
        Value::Number(number) => *number,
        Value::Text(text) => {
            budget.walk(text.size())?;
            text.as_str().map_or(f64::NAN, number::parse)
        }
        Value::List(_) | Value::Object(_) => {
            return to_number(&to_primitive(value, budget)?, budget);
        }
    })
}

pub(crate) fn to_text<'a>(value: &Value<'a>, budget: &mut Budget) -> Outcome<Text<'a>> {
    to_text_within(value, MAX_NESTING, budget)
}

fn to_text_within<'a>(value: &Value<'a>, nesting: usize, budget: &mut Budget) -> Outcome<Text<'a>> {
    Ok(match value {
        Value::Undefined => Text::Borrowed("undefined"),
        Value::Null => Text::Borrowed("null"),
        Value::Bool(true) => Text::Borrowed("true"),
        Value::Bool(false) => Text::Borrowed("false"),
        Value::Number(number) => {
            // Finding the shortest digits is dearer than any other step.
            budget.walk(32)?;
            let text = number::format(*number);
            budget.build(text.len())?;
            text.into()
        }
        Value::Text(text) => text.clone(),
        Value::List(list) => return join_within(list, &Text::Borrowed(","), nesting, budget),
        Value::Object(object) => return object_text(object),
    })
}

/// An object's own `toString` is never a function here, which leaves JavaScript without a way to convert it.
fn object_text<'a>(object: &Object<'a>) -> Outcome<Text<'a>> {
    match object.get("toString") {
        Some(_) => Err(Raised::new("Cannot convert object to primitive value")),
        None => Ok(Text::Borrowed("[object Object]")),
    }
}

pub(crate) fn join<'a>(
    list: &List<'a>,
    separator: &Text<'a>,
    budget: &mut Budget,
) -> Outcome<Text<'a>> {
    join_within(list, separator, MAX_NESTING, budget)
}

fn join_within<'a>(
    list: &List<'a>,
    separator: &Text<'a>,
    nesting: usize,
    budget: &mut Budget,
) -> Outcome<Text<'a>> {
    let Some(nesting) = nesting.checked_sub(1) else {
        return Err(Raised::new(format!("a list nested more than {MAX_NESTING} deep has no text")));
    };
    let mut joined = Joined::default();
    for (index, item) in list.iter().enumerate() {
        budget.step()?;
        if index > 0 {
            joined.push(separator, budget)?;
        }
        if !item.is_nullish() {
            joined.push(&to_text_within(&item, nesting, budget)?, budget)?;
        }
    }
    Ok(joined.finish())
}

/// A text that grows at its end; it falls back to units when half a pair comes in.
#[derive(Default)]
struct Joined {
    text: String,
    units: Option<Vec<u16>>,
}

impl Joined {
    fn push(&mut self, piece: &Text<'_>, budget: &mut Budget) -> Outcome<()> {
        budget.build(piece.size())?;
        if let (Some(text), None) = (piece.as_str(), &self.units) {
            self.text.push_str(text);
            return Ok(());
        }
        let text = &self.text;
        let units = self.units.get_or_insert_with(|| text.encode_utf16().collect());
        units.extend(piece.to_units(budget)?);
        Ok(())
    }

    fn finish<'a>(self) -> Text<'a> {
        match self.units {
            Some(units) => Text::from_units(&units),
            None => self.text.into(),
        }
    }
}

/// `===`
pub(crate) fn strictly_equal(
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Outcome<bool> {
    Ok(match (left, right) {
        (Value::Undefined, Value::Undefined) | (Value::Null, Value::Null) => true,
        (Value::Bool(left), Value::Bool(right)) => left == right,
        #[expect(clippy::float_cmp, reason = "exact equality is the operator's meaning")]
        (Value::Number(left), Value::Number(right)) => left == right,
        (Value::Text(left), Value::Text(right)) => return left.equals(right, budget),
        (Value::List(left), Value::List(right)) => left.is_same(right),
        (Value::Object(left), Value::Object(right)) => left.is_same(right),
        _ => false,
    })
}

/// `SameValueZero`, the equality of `includes`: NaN equals itself.
pub(crate) fn same_value(
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Outcome<bool> {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) if left.is_nan() && right.is_nan() => Ok(true),
        _ => strictly_equal(left, right, budget),
    }
}

/// `==`
pub(crate) fn loosely_equal(
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Outcome<bool> {
    use super::value::Value::{Bool, List, Number, Object, Text};
    match (left, right) {
        _ if left.is_nullish() || right.is_nullish() => Ok(left.is_nullish() && right.is_nullish()),
        (Text(_), Text(_))
        | (Number(_), Number(_))
        | (Bool(_), Bool(_))
        | (List(_) | Object(_), List(_) | Object(_)) => strictly_equal(left, right, budget),
        (Bool(truth), _) => loosely_equal(&Number(f64::from(*truth)), right, budget),
        (_, Bool(truth)) => loosely_equal(left, &Number(f64::from(*truth)), budget),
        (List(_) | Object(_), _) => loosely_equal(&to_primitive(left, budget)?, right, budget),
        (_, List(_) | Object(_)) => loosely_equal(left, &to_primitive(right, budget)?, budget),
        _ => {
            let (left, right) = (to_number(left, budget)?, to_number(right, budget)?);
            Ok(Some(Ordering::Equal) == left.partial_cmp(&right))
        }
    }
}

/// Returns how two values order, or `None` where a NaN takes part.
pub(crate) fn order(
    left: &Value<'_>,
    right: &Value<'_>,
    budget: &mut Budget,
) -> Outcome<Option<Ordering>> {
    let (left, right) = (to_primitive(left, budget)?, to_primitive(right, budget)?);
    if let (Value::Text(left), Value::Text(right)) = (&left, &right) {
        return left.compare(right, budget).map(Some);
    }
    Ok(to_number(&left, budget)?.partial_cmp(&to_number(&right, budget)?))
}

/// `+`
pub(crate) fn add<'a>(
    left: &Value<'a>,
    right: &Value<'a>,
    budget: &mut Budget,
) -> Outcome<Value<'a>> {
    let (left, right) = (to_primitive(left, budget)?, to_primitive(right, budget)?);
    if matches!(left, Value::Text(_)) || matches!(right, Value::Text(_)) {
        let (left, right) = (to_text(&left, budget)?, to_text(&right, budget)?);
        return left.concat(&right, budget).map(Value::Text);
    }
    Ok(Value::Number(to_number(&left, budget)? + to_number(&right, budget)?))
}

/// The arithmetic that only knows numbers.
pub(crate) fn calculate(operator: Binary, left: f64, right: f64) -> f64 {
    match operator {
        Binary::Subtract => left - right,
        Binary::Multiply => left * right,
        Binary::Divide => left / right,
        _ => left % right,
    }
}
