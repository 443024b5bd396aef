//! What a call brings, checked against what its tool takes.

use std::str::FromStr;

use serde_json::Value;

use super::current::current;
use super::schema::{Argument, Need};
use super::session::Project;
use super::tool_error::Trouble;
use super::tools::tool::Tool;
use crate::domain::{IdFault, Map, Ticket, listed, nearest};

/// The arguments of a call: each is known, and of the right form.
pub(crate) struct Given {
    map: Map,
}

impl Given {
    /// Checks what came. `null` is as good as left out.
    pub(crate) fn check(tool: &Tool, mut map: Map) -> Result<Self, Trouble> {
        map.retain(|_, value| !value.is_null());
        let names = || tool.arguments.iter().map(|argument| argument.name);
        if let Some(given) = map.keys().find(|given| !names().any(|name| name == given.as_str())) {
            return Err(Trouble::Argument {
                code: "unknown_argument",
                name: given.clone(),
                problem: format!("`{}` takes no argument `{given}`", tool.name),
                fix: match nearest(given, names()) {
                    Some(name) => format!("did you mean `{name}`?"),
                    None if tool.arguments.is_empty() => "call it without arguments".to_owned(),
                    None => format!("it takes {}", listed(names())),
                },
            });
        }
        for Argument { name, form, need, about } in tool.arguments {
            match map.get(*name) {
                Some(value) if !form.fits(value) => {
                    return Err(Trouble::Argument {
                        code: "invalid_argument",
                        name: (*name).to_owned(),
                        problem: format!(
                            "`{name}` of `{}` is to be {}, not {}",
                            tool.name,
                            form.noun(),
                            brief(value)
                        ),
                        fix: (*about).to_owned(),
                    });
                }
                None if *need == Need::Required => {
                    return Err(Trouble::Argument {
                        code: "missing_argument",
                        name: (*name).to_owned(),
                        problem: format!("`{}` needs `{name}`", tool.name),
                        fix: (*about).to_owned(),
                    });
                }
                _ => {}
            }
        }
        Ok(Self { map })
    }

    /// Returns all of them as they came.
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
    pub(crate) fn id<T: FromStr<Err = IdFault>>(&self, name: &str) -> Result<Option<T>, Trouble> {
        self.text(name).map(|text| text.parse().map_err(|fault| bad_id(name, &fault))).transpose()
    }

    /// Returns a list of ids.
    pub(crate) fn ids<T: FromStr<Err = IdFault>>(&self, name: &str) -> Result<Vec<T>, Trouble> {
        let texts = self.texts(name).unwrap_or_default();
        texts.iter().map(|text| text.parse().map_err(|fault| bad_id(name, &fault))).collect()
    }

    /// Returns the task that is meant: the one named, else the one that the agent is at.
    pub(crate) fn task(&self, project: &Project<'_>) -> Result<Ticket, Trouble> {
        match self.id("task")? {
            Some(ticket) => Ok(ticket),
            None => current(project),
        }
    }
}

fn bad_id(name: &str, fault: &IdFault) -> Trouble {
    Trouble::Argument {
        code: "invalid_id",
        name: name.to_owned(),
        problem: fault.to_string(),
        fix: "see what there is with aof_task_list or aof_status".to_owned(),
    }
}

/// Returns what came instead, in so many words.
fn brief(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.len() <= 40 => format!("the text `{text}`"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
