//! JavaScript's values over JSON: what the scope brings is borrowed, what the expression builds is counted references.

use std::rc::Rc;

use serde_json::{Map, Value as Json};

use super::budget::{Budget, Outcome, Raised};
use super::text::Text;

/// How deep lists and objects that an expression builds may nest, so that walking or dropping one is safe.
const MAX_DEPTH: u8 = 64;

#[derive(Clone, Debug)]
pub(crate) enum Value<'a> {
    Undefined,
    Null,
    Bool(bool),
    Number(f64),
    Text(Text<'a>),
    List(List<'a>),
    Object(Object<'a>),
}

#[derive(Clone, Debug)]
pub(crate) enum List<'a> {
    Json(&'a Vec<Json>),
    Built(Rc<Built<Value<'a>>>),
}

#[derive(Clone, Debug)]
pub(crate) enum Object<'a> {
    Json(&'a Map<String, Json>),
    Built(Rc<Built<(&'a str, Value<'a>)>>),
}

#[derive(Debug)]
pub(crate) struct Built<T> {
    items: Vec<T>,
    depth: u8,
}

impl<'a> Value<'a> {
    pub(crate) fn from_json(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(truth) => Self::Bool(*truth),
            Json::Number(number) => Self::Number(number.as_f64().unwrap_or(f64::NAN)),
            Json::String(text) => Self::Text(Text::Borrowed(text)),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Object(Object::Json(map)),
        }
    }

    pub(crate) fn text(text: &'a str) -> Self {
        Self::Text(Text::Borrowed(text))
    }

    /// Builds a list; its items were paid for one by one.
    pub(crate) fn list(items: Vec<Self>) -> Outcome<Self> {
        let depth = depth_above(&items, |item| item)?;
        Ok(Self::List(List::Built(Rc::new(Built { items, depth }))))
    }

    /// Builds an object; a key that comes twice keeps its first position and its last value.
    pub(crate) fn object(entries: Vec<(&'a str, Self)>) -> Outcome<Self> {
        let mut items: Vec<(&'a str, Self)> = Vec::with_capacity(entries.len());
        for (key, value) in entries {
            match items.iter_mut().find(|(known, _)| *known == key) {
                Some(item) => item.1 = value,
                None => items.push((key, value)),
            }
        }
        let depth = depth_above(&items, |(_, value)| value)?;
        Ok(Self::Object(Object::Built(Rc::new(Built { items, depth }))))
    }

    pub(crate) fn is_nullish(&self) -> bool {
        matches!(self, Self::Undefined | Self::Null)
    }

    fn depth(&self) -> u8 {
        match self {
            Self::List(List::Built(built)) => built.depth,
            Self::Object(Object::Built(built)) => built.depth,
            _ => 0,
        }
    }
}

fn depth_above<'v, 'a: 'v, T>(
    items: &'v [T],
    value: impl Fn(&'v T) -> &'v Value<'a>,
) -> Outcome<u8> {
    let depth = items.iter().map(|item| value(item).depth()).max().unwrap_or(0) + 1;
    if depth > MAX_DEPTH {
        return Err(Raised::new(format!(
            "the condition builds values nested more than {MAX_DEPTH} deep"
        )));
    }
    Ok(depth)
}

impl<'a> List<'a> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Built(built) => built.items.len(),
        }
    }

    pub(crate) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::from_json),
            Self::Built(built) => built.items.get(index).cloned(),
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = Value<'a>> {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// Lists are equal when they are the same list.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            // A `&Vec`, not a slice: two empty slices may share an address, two lists never do.
            (Self::Json(left), Self::Json(right)) => std::ptr::eq(*left, *right),
            (Self::Built(left), Self::Built(right)) => Rc::ptr_eq(left, right),
            _ => false,
        }
    }
}

impl<'a> Object<'a> {
    pub(crate) fn get(&self, key: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(map) => map.get(key).map(Value::from_json),
            Self::Built(built) => {
                built.items.iter().find(|(known, _)| *known == key).map(|(_, value)| value.clone())
            }
        }
    }

    /// Returns the entries in JavaScript's order: keys that are list positions ascending, then the others as inserted.
    pub(crate) fn entries(&self, budget: &mut Budget) -> Outcome<Vec<(&'a str, Value<'a>)>> {
        let mut entries: Vec<(&'a str, Value<'a>)> = match self {
            Self::Json(map) => {
                budget.build(map.len() * size_of::<(&str, Value<'_>)>())?;
                map.iter().map(|(key, value)| (key.as_str(), Value::from_json(value))).collect()
            }
            Self::Built(built) => {
                budget.build(built.items.len() * size_of::<(&str, Value<'_>)>())?;
                built.items.clone()
            }
        };
        if entries.iter().any(|(key, _)| list_position(key).is_some()) {
            budget.walk(entries.len() * 16)?;
            entries.sort_by_key(|(key, _)| {
                list_position(key).map_or((1, 0), |position| (0, position))
            });
        }
        Ok(entries)
    }

    pub(crate) fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Json(left), Self::Json(right)) => std::ptr::eq(*left, *right),
            (Self::Built(left), Self::Built(right)) => Rc::ptr_eq(left, right),
            _ => false,
        }
    }
}

/// Returns the position that `key` names, if it is written the one way in which JavaScript sees a position.
pub(crate) fn list_position(key: &str) -> Option<u32> {
    let canonical =
        key == "0" || (!key.starts_with('0') && key.bytes().all(|byte| byte.is_ascii_digit()));
    if !canonical {
        return None;
    }
    key.parse().ok().filter(|position| *position != u32::MAX)
}
