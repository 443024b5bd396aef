//! The arguments of a call, checked against the fields of its operation.

use std::fmt::Display;
use std::str::FromStr;

use serde_json::Value;

use super::fields::{Doors, InputField, link};
use crate::domain::{IdFault, Link, Map, listed, nearest};

/// The reason why an argument is unknown or invalid.
#[derive(Debug)]
pub(crate) struct ArgumentFault {
    pub(crate) code: &'static str,
    pub(crate) name: String,
    pub(crate) problem: String,
    pub(crate) fix: String,
}

impl ArgumentFault {
    pub(crate) fn new(
        code: &'static str,
        name: &str,
        problem: String,
        fix: impl Into<String>,
    ) -> Self {
        Self { code, name: name.to_owned(), problem, fix: fix.into() }
    }
}

impl From<Map> for Arguments {
    /// Takes values that their door has checked.
    fn from(map: Map) -> Self {
        Self { map }
    }
}

impl FromIterator<(&'static str, Value)> for Arguments {
    /// Takes values that the door has checked; `null` and an empty list or object count as absent.
    fn from_iter<I: IntoIterator<Item = (&'static str, Value)>>(values: I) -> Self {
        let is_given = |value: &Value| match value {
            Value::Null => false,
            Value::Array(items) => !items.is_empty(),
            Value::Object(map) => !map.is_empty(),
            _ => true,
        };
        let given = values.into_iter().filter(|(_, value)| is_given(value));
        Self { map: given.map(|(name, value)| (name.to_owned(), value)).collect() }
    }
}

/// The checked arguments of a call.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Arguments {
    map: Map,
}

impl Arguments {
    /// Checks the arguments of a call of `name`, and reads each as its kind. `null` counts as absent, and so does an empty text that may be
    /// omitted.
    pub(crate) fn check(
        name: &str,
        fields: &[InputField],
        door: Doors,
        mut map: Map,
    ) -> Result<Self, ArgumentFault> {
        map.retain(|_, value| !value.is_null());
        let fields = || fields.iter().filter(move |field| field.doors.has(door));
        let names = || fields().map(|field| field.name);
        if let Some(given) = map.keys().find(|given| !names().any(|name| name == given.as_str())) {
            let problem = format!("`{name}` takes no argument `{given}`");
            let fix = match nearest(given, names()) {
                Some(name) => format!("did you mean `{name}`?"),
                None if names().next().is_none() => "call it without arguments".to_owned(),
                None => format!("it takes {}", listed(names())),
            };
            return Err(ArgumentFault::new("unknown_argument", given, problem, fix));
        }
        for field in fields() {
            let is_needed = field.needed.has(door);
            if !is_needed && map.get(field.name).is_some_and(|value| field.kind.is_absent(value)) {
                map.shift_remove(field.name);
            }
            let (code, problem) = match map.get_mut(field.name) {
                Some(value) => {
                    if let Some(meant) = field.kind.read(value) {
                        *value = meant;
                        continue;
                    }
                    let kind = field.kind.noun();
                    let found = match value {
                        Value::Array(_) if kind.starts_with("a list") => "other items".to_owned(),
                        value => describe(value),
                    };
                    let name = format!("`{}` of `{name}`", field.name);
                    ("invalid_argument", format!("{name} is to be {kind}, not {found}"))
                }
                None if is_needed => {
                    ("missing_argument", format!("`{name}` needs `{}`", field.name))
                }
                None => continue,
            };
            return Err(ArgumentFault::new(code, field.name, problem, field.help));
        }
        Ok(Self { map })
    }

    /// Returns all arguments.
    pub(crate) fn all(&self) -> Map {
        self.map.clone()
    }

    pub(crate) fn text(&self, name: &str) -> Option<String> {
        self.map.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(crate) fn texts(&self, name: &str) -> Option<Vec<String>> {
        let items = self.map.get(name)?.as_array()?;
        Some(items.iter().filter_map(Value::as_str).map(str::to_owned).collect())
    }

    pub(crate) fn links(&self, name: &str) -> Vec<Link> {
        let items = self.map.get(name).and_then(Value::as_array).into_iter().flatten();
        items.filter_map(link).collect()
    }

    pub(crate) fn count(&self, name: &str) -> Option<usize> {
        self.map.get(name).and_then(Value::as_u64).and_then(|count| usize::try_from(count).ok())
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.map.get(name).and_then(Value::as_bool).unwrap_or(false)
    }

    pub(crate) fn object(&self, name: &str) -> Map {
        self.map.get(name).and_then(Value::as_object).cloned().unwrap_or_default()
    }

    /// Returns an id of some kind.
    pub(crate) fn id<T: FromStr<Err = IdFault>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, ArgumentFault> {
        self.text(name).map(|text| parsed(name, &text)).transpose()
    }

    /// Returns a list of ids.
    pub(crate) fn ids<T: FromStr<Err = IdFault>>(
        &self,
        name: &str,
    ) -> Result<Vec<T>, ArgumentFault> {
        let texts = self.texts(name).unwrap_or_default();
        texts.iter().map(|text| parsed(name, text)).collect()
    }

    /// Parses a text; `None` if it is absent.
    pub(crate) fn parsed<T: FromStr<Err: Display>>(
        &self,
        name: &str,
    ) -> Result<Option<T>, ArgumentFault> {
        let parse = |text: String| {
            let parsed = text.parse();
            parsed.map_err(|fault: T::Err| {
                ArgumentFault::new("invalid_argument", name, format!("`{name}`: {fault}"), "")
            })
        };
        self.text(name).map(parse).transpose()
    }
}

fn parsed<T: FromStr<Err = IdFault>>(name: &str, text: &str) -> Result<T, ArgumentFault> {
    text.parse().map_err(|fault: IdFault| {
        let fix = "see what there is with aof_task_list or aof_status";
        ArgumentFault::new("invalid_id", name, fault.to_string(), fix)
    })
}

/// Describes a value.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.len() <= 40 => format!("the text `{text}`"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
