//! The shape of a value: the part of JSON Schema that declares the outputs of a gate. Definitions only; `rules::outputs` judges
//! values, `files::config::shape_file` reads and writes the schemas.

use std::cmp::Ordering;

use serde::Serialize;
use serde_json::{Number, Value};

/// The greatest depth of nested shapes.
pub const DEPTH_LIMIT: usize = 16;

/// The largest number of nodes in the declaration of a gate's outputs.
pub const NODE_LIMIT: usize = 2_000;

/// The shape of a value. Every part must hold; an empty part demands nothing.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Shape {
    /// The description for people; no rule reads it.
    pub about: About,
    /// The allowed kinds of values, each with its bounds; empty means every kind. No kind is named twice.
    pub kinds: Vec<ShapeKind>,
    /// The allowed values (`const` is one, `enum` are several); empty means any.
    pub values: Vec<Value>,
    /// Shapes of which one must hold as well; empty means no such demand.
    pub any_of: Vec<Shape>,
}

/// The description of a shape for its readers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct About {
    pub title: Option<String>,
    /// The purpose of the value.
    pub description: Option<String>,
    /// The format of a text: `uri`, `date`. Nothing checks it.
    pub format: Option<String>,
    /// The value that writers assume for an absent one.
    pub default: Option<Value>,
    /// Examples of values.
    pub examples: Vec<Value>,
}

/// A kind of value, with the bounds that only this kind has.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub enum ShapeKind {
    /// Names and values.
    Object(ObjectFields),
    /// A list of values.
    List(List),
    /// A text; its bounds count characters.
    Text(Count),
    /// Any number.
    Number(Interval),
    /// A number without a fraction.
    Integer(Interval),
    /// True or false.
    Bool,
    /// Null.
    Null,
}

/// The fields of an object.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ObjectFields {
    /// The declared fields, in the order of the declaration.
    pub properties: Vec<(String, Shape)>,
    /// The fields that must be there.
    pub required: Vec<String>,
    /// The treatment of fields that are not declared.
    pub others: Others,
}

/// The treatment of fields of an object that are not declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub enum Others {
    /// They are refused, as the schema demands.
    Refused,
    /// A gate's outputs are handed on without them; they are refused deeper in a value.
    #[default]
    LeftOut,
    /// They pass, whatever they are.
    Welcome,
}

/// The items of a list.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct List {
    /// The shape of each item; absent means anything.
    pub items: Option<Box<Shape>>,
    /// The number of items allowed.
    pub length: Count,
}

/// The bounds of a count, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Count {
    pub least: Option<u64>,
    pub most: Option<u64>,
}

/// The bounds of a number, both ends included.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Interval {
    pub least: Option<Number>,
    pub most: Option<Number>,
}

/// The values that a gate's completions hand on.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub enum Outputs {
    /// Nothing is declared: anything goes.
    #[default]
    Open,
    /// The same shape for every way out.
    One(Shape),
    /// A shape for each way out; never empty, and no status twice.
    Variants(Vec<Variant>),
}

/// The values that one way out of a gate hands on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variant {
    /// The word in `$status` that chooses it.
    pub status: String,
    /// The shape of the other fields.
    pub shape: Shape,
}

impl ShapeKind {
    /// Returns the kind's word in schemas.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Object(_) => "object",
            Self::List(_) => "array",
            Self::Text(_) => "string",
            Self::Number(_) => "number",
            Self::Integer(_) => "integer",
            Self::Bool => "boolean",
            Self::Null => "null",
        }
    }

    /// Returns the kind's name, with its article, for messages.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Object(_) => "an object",
            Self::List(_) => "a list",
            Self::Text(_) => "a text",
            Self::Number(_) => "a number",
            Self::Integer(_) => "a whole number",
            Self::Bool => "`true` or `false`",
            Self::Null => "null",
        }
    }
}

impl Shape {
    /// Returns the fields of an object of this shape, if it may be one.
    pub fn fields(&self) -> Option<&ObjectFields> {
        self.kinds.iter().find_map(|kind| match kind {
            ShapeKind::Object(fields) => Some(fields),
            _ => None,
        })
    }
}

impl ObjectFields {
    /// Returns the shape of a declared field.
    pub fn get(&self, name: &str) -> Option<&Shape> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, shape)| shape)
    }

    /// Returns whether the field is required.
    pub fn requires(&self, name: &str) -> bool {
        self.required.iter().any(|known| known == name)
    }
}

impl Outputs {
    /// Returns the shape of the values that a way out hands on, if one is declared.
    pub fn shape(&self, status: &str) -> Option<&Shape> {
        match self {
            Self::Open => None,
            Self::One(shape) => Some(shape),
            Self::Variants(variants) => variants
                .iter()
                .find(|variant| variant.status.eq_ignore_ascii_case(status))
                .map(|variant| &variant.shape),
        }
    }

    /// Returns every shape that is declared.
    pub fn shapes(&self) -> impl Iterator<Item = &Shape> {
        let (one, variants) = match self {
            Self::Open => (None, &[][..]),
            Self::One(shape) => (Some(shape), &[][..]),
            Self::Variants(variants) => (None, variants.as_slice()),
        };
        one.into_iter().chain(variants.iter().map(|variant| &variant.shape))
    }

    /// Returns the names of all fields that are declared, whatever the way out, each once.
    pub fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in
            self.shapes().filter_map(Shape::fields).flat_map(|fields| &fields.properties)
        {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}

#[cfg(any(test, feature = "random"))]
pub mod random;
#[cfg(any(test, feature = "random"))]
pub mod schema;

/// Returns the exact order of two numbers.
pub fn compare(left: &Number, right: &Number) -> Ordering {
    match (left.as_i128(), right.as_i128()) {
        (Some(left), Some(right)) => left.cmp(&right),
        (Some(left), None) => with_float(left, right),
        (None, Some(right)) => with_float(right, left).reverse(),
        (None, None) => float(left).total_cmp(&float(right)),
    }
}

/// Returns whether the number has no fraction.
pub fn is_whole(number: &Number) -> bool {
    number.as_i128().is_some() || float(number).fract() == 0.0
}

/// Returns whether two values are equal, regardless of the form of their numbers and the order of their keys.
pub fn same(left: &Value, right: &Value) -> bool {
    match (left, right) {
        (Value::Number(left), Value::Number(right)) => compare(left, right).is_eq(),
        (Value::Array(left), Value::Array(right)) => {
            left.len() == right.len()
                && left.iter().zip(right).all(|(left, right)| same(left, right))
        }
        (Value::Object(left), Value::Object(right)) => {
            left.len() == right.len()
                && left
                    .iter()
                    .all(|(key, value)| right.get(key).is_some_and(|other| same(value, other)))
        }
        _ => left == right,
    }
}

fn with_float(whole: i128, number: &Number) -> Ordering {
    let float = float(number);
    // Whole JSON numbers have 64 bits. A float of 1e30 or more is beyond all of them; a smaller one converts exactly.
    if float.abs() >= 1e30 {
        return if float > 0.0 { Ordering::Less } else { Ordering::Greater };
    }
    let text = format!("{:.0}", float.trunc());
    let trunc: i128 = text.parse().unwrap_or_default();
    whole.cmp(&trunc).then_with(|| 0.0_f64.partial_cmp(&float.fract()).unwrap_or(Ordering::Equal))
}

fn float(number: &Number) -> f64 {
    // A JSON number that is not a 64-bit integer is a finite float.
    number.as_f64().map_or(0.0, |float| if float == 0.0 { 0.0 } else { float })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn compares_exactly() {
        use Ordering::{Equal, Greater, Less};
        for (left, right, wanted) in [
            ("1", "1.0", Equal),
            ("0", "-0.0", Equal),
            ("0.0", "-0.0", Equal),
            ("1", "1.5", Less),
            ("-1", "-1.5", Greater),
            ("-2", "-1.5", Less),
            ("9007199254740993", "9007199254740992.0", Greater),
            ("18446744073709551615", "18446744073709551616.0", Less),
            ("18446744073709551615", "9223372036854775807", Greater),
            ("-9223372036854775808", "-9223372036854775808.0", Equal),
            ("5", "1e300", Less),
            ("5", "-1e300", Greater),
            ("0.1", "0.2", Less),
        ] {
            assert_eq!(compare(&number(left), &number(right)), wanted, "{left} {right}");
            assert_eq!(compare(&number(right), &number(left)), wanted.reverse(), "{right} {left}");
        }
        assert!(
            is_whole(&number("2.0")) && is_whole(&number("1e300")) && !is_whole(&number("0.5"))
        );
    }

    #[test]
    fn numbers_are_the_same_in_any_form() {
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        assert!(same(&value(r#"{"a": [1, 2.0], "b": 0}"#), &value(r#"{"b": 0.0, "a": [1.0, 2]}"#)));
        assert!(!same(&value("[1]"), &value("[1, 1]")));
        assert!(!same(&value("1"), &value("true")));
    }
}
