//! Tools as tables: arguments and answers as JSON Schema for clients, and the check of calls.

use std::str::FromStr;

use serde_json::{Value, json};

use super::open_project::{OpenProject, ToolError};
use crate::domain::{IdFault, Map, Ticket, listed, nearest};
use crate::files::json;

/// The description of a tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    /// The fields of the answer, each with its JSON types: `object|null`.
    pub(crate) answer: &'static [(&'static str, &'static str)],
    pub(crate) effect: ToolEffect,
}

/// The effect of a call on the project, for clients that ask a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// The call only reads.
    Looks,
    /// The call changes something, and repeating it changes nothing more.
    Settles,
    /// The call changes something each time.
    Adds,
}

impl Tool {
    /// Returns the tool as clients see it. No tool is destructive: histories only grow, in git.
    pub(crate) fn shown(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self.arguments),
            "outputSchema": output_schema(self.answer),
            "annotations": {
                "readOnlyHint": self.effect == ToolEffect::Looks,
                "destructiveHint": false,
                "idempotentHint": self.effect != ToolEffect::Adds,
                "openWorldHint": false,
            },
        })
    }

    pub(crate) fn takes_task(&self) -> bool {
        self.arguments.iter().any(|argument| argument.name == TASK.name)
    }

    /// Returns true if a value is a placeholder for the agent to fill in, in an argument that a call may omit.
    pub(crate) fn is_left_to_agent(&self, name: &str, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        let may_lack = |own: &Argument| own.name == name && own.need == ArgNeed::Optional;
        text.starts_with('<') && text.ends_with('>') && self.arguments.iter().any(may_lack)
    }
}

/// The task, in tools that work on one.
pub(crate) const TASK: Argument = Argument::optional(
    "task",
    ArgForm::Text,
    "As in AOF-7qk, or a ticket, as in AOF-7qk@3; left out: the one that you have",
);

/// One argument of a tool.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) form: ArgForm,
    pub(crate) need: ArgNeed,
    pub(crate) about: &'static str,
}

/// The need for an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgNeed {
    Required,
    Optional,
}

/// The type of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgForm {
    Text,
    Texts,
    Count,
    Flag,
    Word(&'static [&'static str]),
    Object,
}

impl Argument {
    pub(crate) const fn required(name: &'static str, form: ArgForm, about: &'static str) -> Self {
        Self { name, form, need: ArgNeed::Required, about }
    }

    pub(crate) const fn optional(name: &'static str, form: ArgForm, about: &'static str) -> Self {
        Self { name, form, need: ArgNeed::Optional, about }
    }
}

impl ArgForm {
    fn schema(self) -> Value {
        match self {
            Self::Text => json!({"type": "string"}),
            Self::Texts => json!({"type": "array", "items": {"type": "string"}}),
            Self::Count => json!({"type": "integer", "minimum": 0}),
            Self::Flag => json!({"type": "boolean"}),
            Self::Word(words) => json!({"type": "string", "enum": words}),
            Self::Object => json!({"type": "object"}),
        }
    }

    /// Returns the argument that a client means. Clients send lists, numbers and booleans also as the text of their JSON, and whole
    /// numbers with a decimal point. `None` if the value is not of this type, or is ambiguous.
    pub(crate) fn read(self, value: &Value) -> Option<Value> {
        let is_whole = |number: f64| number.fract() == 0.0 && (0.0..=MOST_EXACT).contains(&number);
        match (self, value) {
            (Self::Text, Value::Number(number)) if !number.is_f64() => {
                Some(json!(number.to_string()))
            }
            (Self::Text, Value::String(_))
            | (Self::Flag, Value::Bool(_))
            | (Self::Object, Value::Object(_)) => Some(value.clone()),
            (Self::Texts, Value::Array(items)) => {
                items.iter().map(|item| Self::Text.read(item)).collect()
            }
            (Self::Word(words), Value::String(word)) if words.contains(&word.as_str()) => {
                Some(value.clone())
            }
            (Self::Count, Value::Number(number)) => {
                match number.as_f64().filter(|at| number.is_f64() && is_whole(*at)) {
                    // The text has no fraction: `5`.
                    Some(whole) => format!("{whole:.0}").parse::<u64>().ok().map(Value::from),
                    None => number.as_u64().map(Value::from),
                }
            }
            // Python writes booleans with a capital letter.
            (Self::Flag, Value::String(text)) => {
                text.trim().to_lowercase().parse().ok().map(Value::Bool)
            }
            (Self::Texts | Self::Count | Self::Object | Self::Word(_), Value::String(text)) => {
                let inner = json::parse(text).ok()?.to_value();
                let is_text = inner.is_string() && !matches!(self, Self::Word(_));
                if is_text || inner == *value { None } else { self.read(&inner) }
            }
            _ => None,
        }
    }

    /// Returns true if an optional argument counts as missing: some clients fill in every argument.
    pub(crate) fn is_absent(self, value: &Value) -> bool {
        match value {
            Value::Null => true,
            Value::String(text) if self == Self::Text => text.trim().is_empty(),
            Value::String(text) => matches!(text.trim(), "" | "null"),
            _ => false,
        }
    }

    /// Returns the type in words.
    pub(crate) fn noun(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Count => "a whole number, not less than 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", listed(words)),
            Self::Object => "an object".to_owned(),
        }
    }
}

/// Returns the schema of a tool's arguments.
fn input_schema(arguments: &[Argument]) -> Map {
    let mut properties = Map::new();
    for argument in arguments {
        let mut schema = argument.form.schema();
        if !argument.about.is_empty() {
            schema["description"] = json!(argument.about);
        }
        properties.insert(argument.name.to_owned(), schema);
    }
    let needed = arguments.iter().filter(|argument| argument.need != ArgNeed::Optional);
    let required: Vec<&str> = needed.map(|argument| argument.name).collect();
    let mut map = object(properties);
    if !required.is_empty() {
        map.insert("required".to_owned(), json!(required));
    }
    map.insert("additionalProperties".to_owned(), json!(false));
    map
}

/// Returns the schema of a tool's answer: these fields, or those of a refusal.
fn output_schema(fields: &[(&str, &str)]) -> Map {
    let one = |kind: &str| json!({"type": kind});
    let schema = |kinds: &str| {
        let several = || json!({"anyOf": kinds.split('|').map(one).collect::<Vec<_>>()});
        if kinds.contains('|') { several() } else { one(kinds) }
    };
    let properties = fields.iter().map(|(name, kinds)| ((*name).to_owned(), schema(kinds)));
    let mut map = object(properties.collect());
    let names: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    let either = json!([{"required": names}, {"required": ["error", "message"]}]);
    map.insert("anyOf".to_owned(), either);
    map
}

fn object(properties: Map) -> Map {
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
    ])
}

/// The largest number up to which all whole numbers are exact.
const MOST_EXACT: f64 = 9_007_199_254_740_992.0;

/// The checked arguments of a call.
pub(crate) struct Arguments {
    map: Map,
}

impl Arguments {
    /// Checks the arguments of a call, and reads each as its type. `null` counts as absent, and so does an empty text that may be omitted.
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
            if *need == ArgNeed::Optional
                && map.get(*name).is_some_and(|value| form.is_absent(value))
            {
                map.shift_remove(*name);
            }
            let (code, problem) = match map.get_mut(*name) {
                Some(value) => match form.read(value) {
                    Some(meant) => {
                        *value = meant;
                        continue;
                    }
                    None => (
                        "invalid_argument",
                        format!(
                            "`{name}` of `{}` is to be {}, not {}",
                            tool.name,
                            form.noun(),
                            describe(value)
                        ),
                    ),
                },
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

    /// Returns the named task, otherwise the agent's current one.
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

/// Describes a value.
fn describe(value: &Value) -> String {
    match value {
        Value::Null => "nothing".to_owned(),
        Value::Bool(_) | Value::Number(_) => format!("`{value}`"),
        Value::String(text) if text.len() <= 40 => format!("the text `{text}`"),
        Value::String(_) => "a text".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        Value::Object(_) => "an object".to_owned(),
    }
}
