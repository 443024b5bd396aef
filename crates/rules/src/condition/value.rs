//! JavaScript's values over JSON, with their conversions, comparisons, members and methods. Values of the scope are borrowed;
//! values that the expression builds are reference-counted.

use std::cell::Cell;
use std::cmp::Ordering;
use std::ops::Deref;
use std::rc::Rc;

use oxc_span::Span;
use serde_json::{Map, Value as Json};

use super::is_forbidden;

#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Text<'a>),
    List(ValueList<'a>),
    Object(&'a Map<String, Json>),
}

#[derive(Clone, Debug)]
pub(crate) enum Text<'a> {
    Borrowed(&'a str),
    Built(Rc<str>),
}

#[derive(Clone, Debug)]
pub(crate) enum ValueList<'a> {
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
            Json::Array(items) => Self::List(ValueList::Json(items)),
            Json::Object(map) => Self::Object(map),
        }
    }

    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(Text::Borrowed(text))
    }

    pub(crate) fn list(items: Vec<Self>) -> Self {
        Self::List(ValueList::Built(Rc::new(items)))
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

    /// Returns the failure of using a list or an object as a single value. JavaScript would join the items, or write
    /// `[object Object]`, which is never meant.
    fn no_single_value(&self) -> Raised {
        Raised::new(format!("{} is not data of one value: compare its members", self.describe()))
    }

    pub(crate) fn to_number(&self, budget: &Budget) -> Evaluated<f64> {
        Ok(match self {
            Self::Undefined => f64::NAN,
            Self::Null => 0.0,
            Self::Bool(truth) => f64::from(*truth),
            Self::Number(number) => *number,
            Self::Text(text) => {
                budget.walk(text.len())?;
                parse_number(text)
            }
            Self::List(_) | Self::Object(_) => return Err(self.no_single_value()),
        })
    }

    pub(crate) fn to_text(&self, budget: &Budget) -> Evaluated<Text<'a>> {
        Ok(match self {
            Self::Undefined => Text::Borrowed("undefined"),
            Self::Null => Text::Borrowed("null"),
            Self::Bool(true) => Text::Borrowed("true"),
            Self::Bool(false) => Text::Borrowed("false"),
            Self::Number(number) => {
                // Finding the shortest digits costs more than any other step.
                budget.walk(32)?;
                let text = format_number(*number);
                budget.build(text.len())?;
                text.into()
            }
            Self::Text(text) => text.clone(),
            Self::List(_) | Self::Object(_) => return Err(self.no_single_value()),
        })
    }

    /// `===`; lists and objects are equal only to themselves.
    pub(crate) fn strictly_equals(&self, other: &Self, budget: &Budget) -> Evaluated<bool> {
        Ok(match (self, other) {
            (Self::Undefined, Self::Undefined) | (Self::Null, Self::Null) => true,
            (Self::Bool(left), Self::Bool(right)) => left == right,
            #[expect(clippy::float_cmp, reason = "exact equality is the operator's meaning")]
            (Self::Number(left), Self::Number(right)) => left == right,
            (Self::Text(left), Self::Text(right)) => {
                budget.scan(left.len().min(right.len()))?;
                **left == **right
            }
            (Self::List(ValueList::Json(left)), Self::List(ValueList::Json(right))) => {
                std::ptr::eq(*left, *right)
            }
            (Self::List(ValueList::Built(left)), Self::List(ValueList::Built(right))) => {
                Rc::ptr_eq(left, right)
            }
            (Self::Object(left), Self::Object(right)) => std::ptr::eq(*left, *right),
            _ => false,
        })
    }

    /// `==`
    pub(crate) fn loosely_equals(&self, other: &Self, budget: &Budget) -> Evaluated<bool> {
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

    /// Returns the order of two values; `None` if one is a NaN.
    pub(crate) fn order(&self, other: &Self, budget: &Budget) -> Evaluated<Option<Ordering>> {
        if let (Self::Text(left), Self::Text(right)) = (self, other) {
            budget.walk(left.len().min(right.len()))?;
            // JavaScript orders by UTF-16 units; UTF-8 orders characters outside the basic plane differently.
            return Ok(Some(left.encode_utf16().cmp(right.encode_utf16())));
        }
        Ok(self.to_number(budget)?.partial_cmp(&other.to_number(budget)?))
    }

    /// `+`
    pub(crate) fn add(&self, other: &Self, budget: &Budget) -> Evaluated<Self> {
        if matches!(self, Self::Text(_)) || matches!(other, Self::Text(_)) {
            let (left, right) = (self.to_text(budget)?, other.to_text(budget)?);
            budget.build(left.len() + right.len())?;
            return Ok(Self::Text([&*left, &*right].concat().into()));
        }
        Ok(Self::Number(self.to_number(budget)? + other.to_number(budget)?))
    }
}

/// The members that JavaScript's objects inherit: not data, unless an object has its own.
const OF_OBJECTS: &str = "__defineGetter__ __defineSetter__ __lookupGetter__ __lookupSetter__ hasOwnProperty \
     isPrototypeOf propertyIsEnumerable toLocaleString toString valueOf";

/// The other members that lists inherit.
const OF_LISTS: &str = "at concat copyWithin entries every fill filter find findIndex findLast findLastIndex flat \
     flatMap forEach includes indexOf join keys lastIndexOf map pop push reduce reduceRight reverse shift slice \
     some sort splice toReversed toSorted toSpliced unshift values with";

/// The other members that texts inherit.
const OF_TEXTS: &str = "anchor at big blink bold charAt charCodeAt codePointAt concat endsWith fixed fontcolor \
     fontsize includes indexOf isWellFormed italics lastIndexOf link localeCompare match matchAll normalize padEnd \
     padStart repeat replace replaceAll search slice small split startsWith strike sub substr substring sup \
     toLocaleLowerCase toLocaleUpperCase toLowerCase toUpperCase toWellFormed trim trimEnd trimLeft trimRight \
     trimStart";

/// The other members that numbers inherit.
const OF_NUMBERS: &str = "toExponential toFixed toPrecision";

/// The members and methods of values.
impl Value<'_> {
    /// Reads an own property. If JavaScript would find an inherited one, reading fails, so that no condition has two meanings and
    /// nothing leads from a value to a function or a prototype.
    pub(crate) fn member(&self, name: &str, budget: &Budget) -> Evaluated<Self> {
        budget.scan(name.len())?;
        let is_length = name == "length";
        let property = match self {
            Self::Undefined | Self::Null => return Err(self.unreadable(name)),
            Self::Text(_) if position(name).is_some() => {
                return Err(Raised::new(
                    "a condition cannot read single characters: use `includes`, `startsWith` or `indexOf`",
                ));
            }
            Self::Text(text) if is_length => {
                budget.walk(text.len())?;
                Some(Self::Number(to_f64(text.encode_utf16().count())))
            }
            Self::List(list) if is_length => Some(Self::Number(to_f64(list.len()))),
            Self::List(list) => position(name).and_then(|position| list.get(position)),
            Self::Object(map) => map.get(name).map(Self::from_json),
            Self::Bool(_) | Self::Number(_) | Self::Text(_) => None,
        };
        let inherited = match self {
            Self::Number(_) => OF_NUMBERS,
            Self::Text(_) => OF_TEXTS,
            Self::List(_) => OF_LISTS,
            _ => "",
        };
        let mut inherited = OF_OBJECTS.split_whitespace().chain(inherited.split_whitespace());
        let is_inherited = property.is_none() && inherited.any(|known| known == name);
        if is_forbidden(name) || is_inherited {
            let message = format!("`{name}` is not data: a condition reads own properties only");
            return Err(Raised::new(message));
        }
        Ok(property.unwrap_or(Self::Undefined))
    }

    /// Returns the failure of reading `name` of `undefined` or `null`.
    pub(crate) fn unreadable(&self, name: &str) -> Raised {
        Raised::new(format!("Cannot read property '{name}' of {}", self.describe()))
    }

    /// Returns the failure of calling a method that the value does not have.
    pub(crate) fn lacks(&self, method: &str) -> Raised {
        Raised::new(format!("`{method}` is not a function of {}", self.describe()))
    }

    /// Calls a method that takes no function.
    pub(crate) fn call(&self, method: &str, argument: &Self, budget: &Budget) -> Evaluated<Self> {
        let index = |found: Option<usize>| Self::Number(found.map_or(-1.0, to_f64));
        match (self, method) {
            (Self::List(list), "includes" | "indexOf") => {
                for (place, item) in list.iter().enumerate() {
                    budget.walk(4)?;
                    // `includes` finds a NaN, which does not equal any value.
                    let both = |value: &Self| matches!(value, Self::Number(one) if one.is_nan());
                    let same = method == "includes" && both(&item) && both(argument);
                    if same || item.strictly_equals(argument, budget)? {
                        let found = Self::Bool(true);
                        return Ok(if method == "includes" { found } else { index(Some(place)) });
                    }
                }
                Ok(if method == "includes" { Self::Bool(false) } else { index(None) })
            }
            (Self::Text(text), "toLowerCase") => {
                budget.walk(text.len())?;
                // A character's lower case takes at most three times its bytes.
                budget.build(text.len() * 3)?;
                Ok(Self::Text(text.to_lowercase().into()))
            }
            (Self::Text(text), "includes" | "startsWith" | "endsWith" | "indexOf") => {
                let wanted = argument.to_text(budget)?;
                budget.walk(text.len() + wanted.len())?;
                Ok(match method {
                    "includes" => Self::Bool(text.contains(&*wanted)),
                    "startsWith" => Self::Bool(text.starts_with(&*wanted)),
                    "endsWith" => Self::Bool(text.ends_with(&*wanted)),
                    // JavaScript counts in UTF-16 units.
                    _ => index(text.find(&*wanted).map(|at| text[..at].encode_utf16().count())),
                })
            }
            _ => Err(self.lacks(method)),
        }
    }
}

/// Returns the position that `name` stands for, if it has the only form that JavaScript takes for a position.
fn position(name: &str) -> Option<usize> {
    let position: u32 = name.parse().ok()?;
    (position != u32::MAX && position.to_string() == name).then_some(position as usize)
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

impl<'a> ValueList<'a> {
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

/// An error being passed up; the innermost expression that it passes sets its place.
#[derive(Debug)]
pub(crate) struct Raised {
    pub(crate) message: String,
    pub(crate) span: Option<Span>,
}

pub(crate) type Evaluated<T> = Result<T, Raised>;

impl Raised {
    pub(crate) fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), span: None }
    }

    pub(crate) fn at(mut self, span: Span) -> Self {
        self.span.get_or_insert(span);
        self
    }
}

const MAX_STEPS: u64 = 500_000;

/// The steps that are left of an evaluation. They are counted, not timed, so that a replay on a slower machine decides the same.
/// Their number keeps the worst expression far under 100 ms in a release build, and the values that it builds under 1 MiB.
#[derive(Debug)]
pub(crate) struct Budget(Cell<u64>);

impl Budget {
    pub(crate) fn new() -> Self {
        Self(Cell::new(MAX_STEPS))
    }

    /// Pays for that many expressions, or visits of an element.
    pub(crate) fn spend(&self, steps: usize) -> Evaluated<()> {
        let Some(left) = self.0.get().checked_sub(steps as u64) else {
            return Err(Raised::new(format!("the condition takes more than {MAX_STEPS} steps")));
        };
        self.0.set(left);
        Ok(())
    }

    /// Pays for one fast pass over `bytes`, such as a comparison.
    pub(crate) fn scan(&self, bytes: usize) -> Evaluated<()> {
        self.spend(bytes / 32)
    }

    /// Pays for work on each of `items` by itself.
    pub(crate) fn walk(&self, items: usize) -> Evaluated<()> {
        self.spend(items / 4)
    }

    /// Pays for a new value of `bytes`, before it is built.
    pub(crate) fn build(&self, bytes: usize) -> Evaluated<()> {
        self.spend(bytes / 2)
    }
}

/// Formats `number` as JavaScript's `String(number)` does.
pub(crate) fn format_number(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number == 0.0 {
        return "0".to_owned();
    }
    let sign = if number < 0.0 { "-" } else { "" };
    if number.is_infinite() {
        return format!("{sign}Infinity");
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) =
        scientific.split_once('e').expect("`{:e}` always writes an exponent");
    let exponent: i32 = exponent.parse().expect("an exponent is a small integer");
    let digits = mantissa.replace('.', "");
    format!("{sign}{}", layout(&digits, exponent))
}

/// Places the point among `digits`, whose first one stands for `10^exponent`.
fn layout(digits: &str, exponent: i32) -> String {
    let count = i32::try_from(digits.len()).expect("a double has at most 17 digits");
    match exponent {
        0..=20 if exponent >= count - 1 => {
            let zeros = "0".repeat(usize::try_from(exponent - count + 1).unwrap_or(0));
            format!("{digits}{zeros}")
        }
        0..=20 => {
            let (whole, fraction) = digits.split_at(usize::try_from(exponent + 1).unwrap_or(0));
            format!("{whole}.{fraction}")
        }
        -6..=-1 => {
            let zeros = "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0));
            format!("0.{zeros}{digits}")
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            let (first, rest) = digits.split_at(1);
            let point = if rest.is_empty() { "" } else { "." };
            format!("{first}{point}{rest}e{sign}{}", exponent.abs())
        }
    }
}

/// Reads `text` as JavaScript's `Number(text)` does; a text that is not a number is NaN.
pub(crate) fn parse_number(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    let radix = match text.get(..2) {
        Some("0x" | "0X") => Some(16),
        Some("0o" | "0O") => Some(8),
        Some("0b" | "0B") => Some(2),
        _ => None,
    };
    if let Some(radix) = radix {
        return parse_radix(&text[2..], radix);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    if unsigned == "Infinity" {
        return if text.starts_with('-') { f64::NEG_INFINITY } else { f64::INFINITY };
    }
    // Rust reads more than JavaScript does (`inf`, `nan`), so only decimal characters may reach it.
    if unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')) {
        text.parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    }
}

/// Reads a whole number of up to 64 bits; longer ones are NaN.
#[expect(clippy::cast_precision_loss, reason = "rounding to the nearest double is the meaning")]
fn parse_radix(digits: &str, radix: u32) -> f64 {
    if digits.starts_with('+') {
        return f64::NAN;
    }
    u64::from_str_radix(digits, radix).map_or(f64::NAN, |number| number as f64)
}

/// Returns whether JavaScript takes `character` for white space.
fn is_space(character: char) -> bool {
    character == '\u{feff}' || (character.is_whitespace() && character != '\u{85}')
}

#[expect(clippy::cast_precision_loss, reason = "no length or position in memory reaches 2^53")]
pub(crate) fn to_f64(length: usize) -> f64 {
    length as f64
}
