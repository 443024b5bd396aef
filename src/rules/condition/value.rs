//! JavaScript's values over JSON, with their conversions and comparisons. What the scope brings is borrowed; what the expression
//! builds is reference-counted.

use std::{cmp::Ordering, ops::Deref, rc::Rc};

use serde_json::{Map, Value as Json};

use super::budget::{Budget, Outcome, Raised};
use super::number;

#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Text<'a>),
    List(List<'a>),
    Object(&'a Map<String, Json>),
}

#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Built(Rc<str>),
}

#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    /// A `&Vec`, not a slice: two empty slices may share an address, two lists never do.
    Json(&'a Vec<Json>),
    Built(Rc<Vec<Value<'a>>>),
}

impl<'a> Value<'a> {
    pub(crate) fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::text(text),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Object(map),
        }
    }

    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(Text::Borrowed(text))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(List::Built(Rc::new(items)))
    }

    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    pub(crate) fn is_truthy(&self) -> bool {
        match self {
            Self::Undefined | Self::Null => false,
            Self::Bool(truth) => *truth,
            Self::Number(number) => *number != 0.0 && !number.is_nan(),
            Self::Text(text) => !text.is_empty(),
            Self::List(_) | Self::Object(_) => true,
        }
    }

    /// Names the kind of value, for messages.
    pub(crate) fn describe(&self) -> &'static str {
        match self {
            Self::Undefined => "undefined",
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "a string",
            Self::List(_) => "an array",
            Self::Object(_) => "an object",
        }
    }

    /// JavaScript would join the items of a list and write `[object Object]`, which nobody means.
    fn no_single_value(&self) -> Raised {
        Raised::new(format!("{} is not data of one value: compare its members", self.describe()))
    }

    pub(crate) fn to_number(&self, budget: &mut Budget) -> Outcome<f64> {
        Ok(match self {
            Self::Undefined => f64::NAN,
            Self::Null => 0.0,
            Self::Bool(truth) => f64::from(*truth),
            Self::Number(number) => *number,
            Self::Text(text) => {
                budget.walk(text.len())?;
                number::parse(text)
            }
            Self::List(_) | Self::Object(_) => return Err(self.no_single_value()),
        })
    }

    pub(crate) fn to_text(&self, budget: &mut Budget) -> Outcome<Text<'a>> {
        Ok(match self {
            Self::Undefined => Text::Borrowed("undefined"),
            Self::Null => Text::Borrowed("null"),
            Self::Bool(true) => Text::Borrowed("true"),
            Self::Bool(false) => Text::Borrowed("false"),
            Self::Number(number) => {
                // Finding the shortest digits costs more than any other step.
                budget.walk(32)?;
                let text = number::format(*number);
                budget.build(text.len())?;
                text.into()
            }
            Self::Text(text) => text.clone(),
            Self::List(_) | Self::Object(_) => return Err(self.no_single_value()),
        })
    }

    /// `===`; lists and objects are equal only to themselves.
    pub(crate) fn strictly_equals(&self, other: &Self, budget: &mut Budget) -> Outcome<bool> {
        Ok(match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "exact equality is the operator's meaning")]
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => {
                budget.scan(left.len().min(right.len()))?;
                **left == **right
            }
            (Self::List(List::Json(left)), Self::List(List::Json(right))) => {
                std::ptr::eq(*left, *right)
            }
            (Self::List(List::Built(left)), Self::List(List::Built(right))) => {
                Rc::ptr_eq(left, right)
            }
            (Self::Object(left), Self::Object(right)) => std::ptr::eq(*left, *right),
            _ => false,
        })
    }

    /// The equality of `includes`: as `===`, but NaN equals itself.
    pub(crate) fn is_same_as(&self, other: &Self, budget: &mut Budget) -> Outcome<bool> {
        match (self, other) {
            (Self::Number(left), Self::Number(right)) if left.is_nan() && right.is_nan() => {
                Ok(true)
            }
            _ => self.strictly_equals(other, budget),
        }
    }

    /// `==`
    pub(crate) fn loosely_equals(&self, other: &Self, budget: &mut Budget) -> Outcome<bool> {
        let is_compound = |value: &Self| matches!(value, Self::List(_) | Self::Object(_));
        match (self, other) {
            _ if self.is_nullish() || other.is_nullish() => {
                Ok(self.is_nullish() && other.is_nullish())
            }
            (Self::Text(_), Self::Text(_)) => self.strictly_equals(other, budget),
            _ if is_compound(self) && is_compound(other) => self.strictly_equals(other, budget),
            _ => {
                let (left, right) = (self.to_number(budget)?, other.to_number(budget)?);
                Ok(left.partial_cmp(&right) == Some(Ordering::Equal))
            }
        }
    }

    /// Returns how two values order, or `None` where a NaN takes part.
    pub(crate) fn order(&self, other: &Self, budget: &mut Budget) -> Outcome<Option<Ordering>> {
        if let (Self::Text(left), Self::Text(right)) = (self, other) {
            budget.walk(left.len().min(right.len()))?;
            // JavaScript orders by UTF-16 units; UTF-8 orders characters outside the basic plane differently.
            return Ok(Some(left.encode_utf16().cmp(right.encode_utf16())));
        }
        Ok(self.to_number(budget)?.partial_cmp(&other.to_number(budget)?))
    }

    /// `+`
    pub(crate) fn add(&self, other: &Self, budget: &mut Budget) -> Outcome<Self> {
        if matches!(self, Self::Text(_)) || matches!(other, Self::Text(_)) {
            let (left, right) = (self.to_text(budget)?, other.to_text(budget)?);
            budget.build(left.len() + right.len())?;
            return Ok(Self::Text([&*left, &*right].concat().into()));
        }
        Ok(Self::Number(self.to_number(budget)? + other.to_number(budget)?))
    }
}

impl Deref for Text<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Built(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Built(text.into())
    }
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Built(items) => items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::from_json),
            Self::Built(items) => items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).map_while(|index| self.get(index))
    }
}
