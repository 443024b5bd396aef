//! What a call brings, checked against what its tool takes.

use std::str::FromStr;

use serde_json::Value;

use super::schema::{ArgNeed, Argument, Tool};
use super::session::OpenProject;
use super::tool_error::ToolError;
use crate::domain::{IdFault, Map, Ticket, listed, nearest};

/// The arguments of a call: each is known, and of the right form.
pub(crate) struct Arguments {
    map: Map,
}

impl Arguments {
    /// Checks the arguments of a call; `null` counts as left out.
    pub(crate) fn check(tool: &Tool, mut map: Map) -> Result<Self, ToolError> {
        map.retain(|_, value| !value.is_null());
        let names = || tool.arguments.iter().map(|argument| argument.name);
        if let Some(given) = map.keys().find(|given| !names().any(|name| name == given.as_str())) {
            let problem = format!("`{}` takes no argument `{given}`", tool.name);
            let fix = match nearest(given, names()) {
                Some(name) => format!("did you mean `{name}`?"),
                None if tool.arguments.is_empty() => "call it without arguments".to_owned(),
                None => format!("it takes {}", listed(names())),
            };
            return Err(ToolError::argument("unknown_argument", given, problem, fix));
        }
        for Argument { name, form, need, about } in tool.arguments {
            let (code, problem) = match map.get(*name) {
                Some(value) if !form.fits(value) => (
                    "invalid_argument",
                    format!(
                        "`{name}` of `{}` is to be {}, not {}",
                        tool.name,
                        form.noun(),
                        shown(value)
                    ),
                ),
                None if *need == ArgNeed::Required => {
                    ("missing_argument", format!("`{}` needs `{name}`", tool.name))
                }
                _ => continue,
            };
            return Err(ToolError::argument(code, name, problem, *about));
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
    pub(crate) fn id<T: FromStr<Err = IdFault>>(&self, name: &str) -> Result<Option<T>, ToolError> {
        self.text(name).map(|text| parsed(name, &text)).transpose()
    }

    /// Returns a list of ids.
    pub(crate) fn ids<T: FromStr<Err = IdFault>>(&self, name: &str) -> Result<Vec<T>, ToolError> {
        let texts = self.texts(name).unwrap_or_default();
        texts.iter().map(|text| parsed(name, text)).collect()
    }

    /// Returns the task that is meant: the one named, else the agent's current one.
    pub(crate) fn task(&self, project: &OpenProject<'_>) -> Result<Ticket, ToolError> {
        self.id("task")?.map_or_else(|| project.current(), Ok)
    }
}

fn parsed<T: FromStr<Err = IdFault>>(name: &str, text: &str) -> Result<T, ToolError> {
    text.parse().map_err(|fault: IdFault| {
        let fix = "see what there is with aof_task_list or aof_status";
        ToolError::argument("invalid_id", name, fault.to_string(), fix)
    })
}

/// Returns a value in words.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.len() <= 40 => format!("the text `{text}`"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
