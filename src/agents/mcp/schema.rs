//! Tools as tables: what each takes and answers, as JSON Schema for clients, and as the check of what they send.

use serde_json::{Map, Value, json};

/// What a tool says of itself.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [Argument],
    /// The fields of the answer, each with its JSON types: `object|null`.
    pub(crate) answer: &'static [(&'static str, &'static str)],
    pub(crate) effect: ToolEffect,
}

/// What a call does to the project, for clients that ask a person first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolEffect {
    /// Nothing.
    Looks,
    /// Something, which a second call of the same kind does not do again.
    Settles,
    /// Something each time.
    Adds,
}

impl Tool {
    /// Returns the tool as clients see it. Nothing that a tool does is destructive: histories only grow, in git.
    pub(crate) fn shown(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input(self.arguments),
            "outputSchema": output(self.answer),
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
}

/// The task that is meant, in tools that mean one.
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

/// Whether an argument may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ArgNeed {
    Required,
    /// It is required, and the rules say so themselves when it is missing.
    ByRule,
    Optional,
}

/// What an argument looks like.
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

    pub(crate) const fn by_rule(name: &'static str, form: ArgForm, about: &'static str) -> Self {
        Self { name, form, need: ArgNeed::ByRule, about }
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

    pub(crate) fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Texts => value.as_array().is_some_and(|items| items.iter().all(Value::is_string)),
            Self::Count => value.is_u64(),
            Self::Flag => value.is_boolean(),
            Self::Word(words) => value.as_str().is_some_and(|word| words.contains(&word)),
            Self::Object => value.is_object(),
        }
    }

    /// Returns what is wanted, in words.
    pub(crate) fn noun(self) -> String {
        match self {
            Self::Text => "a text".to_owned(),
            Self::Texts => "a list of texts".to_owned(),
            Self::Count => "a whole number, not less than 0".to_owned(),
            Self::Flag => "true or false".to_owned(),
            Self::Word(words) => format!("one of {}", crate::domain::listed(words)),
            Self::Object => "an object".to_owned(),
        }
    }
}

/// Returns the schema of what a tool takes.
fn input(arguments: &[Argument]) -> Map<String, Value> {
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

/// Returns the schema of what a tool answers: these fields, or what every refusal has.
fn output(fields: &[(&str, &str)]) -> Map<String, Value> {
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

fn object(properties: Map<String, Value>) -> Map<String, Value> {
    Map::from_iter([
        ("type".to_owned(), json!("object")),
        ("properties".to_owned(), Value::Object(properties)),
    ])
}
