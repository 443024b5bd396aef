//! Tools as tables: arguments and answers as JSON Schema for clients, and the check of calls.

use serde_json::{Value, json};

use crate::domain::Map;
use crate::operations::Effect;
use crate::operations::arguments::{ArgumentFault, Arguments};
use crate::operations::fields::{Doors, InputField};
use crate::operations::table::TASK;

/// The description of a tool.
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arguments: &'static [InputField],
    /// The fields of the answer, each with its JSON types: `object|null`.
    pub(crate) answer: &'static [(&'static str, &'static str)],
    /// The effect on the project, for clients that ask a person first.
    pub(crate) effect: Effect,
}

impl Tool {
    /// Returns the tool as clients see it. No tool is destructive: histories only grow, in git.
    pub(crate) fn shown(&self) -> Value {
        json!({
            "name": self.name,
            "title": self.title,
            "description": self.description,
            "inputSchema": input_schema(self),
            "outputSchema": output_schema(self.answer),
            "annotations": {
                "readOnlyHint": self.effect == Effect::Reads,
                "destructiveHint": false,
                "idempotentHint": self.effect != Effect::Adds,
                "openWorldHint": false,
            },
        })
    }

    /// Returns the fields that the tool offers; the fields of an operation may be for other doors, too.
    pub(crate) fn fields(&self) -> impl Iterator<Item = &'static InputField> + Clone {
        self.arguments.iter().filter(|field| field.doors.has(Doors::TOOL))
    }

    pub(crate) fn check(&self, given: Map) -> Result<Arguments, ArgumentFault> {
        Arguments::check(self.name, self.arguments, Doors::TOOL, given)
    }

    pub(crate) fn takes_task(&self) -> bool {
        self.fields().any(|field| field.name == TASK.name)
    }

    /// Returns true if a value is a placeholder for the agent to fill in, in an argument that a call may omit.
    pub(crate) fn is_left_to_agent(&self, name: &str, value: &Value) -> bool {
        let text = value.as_str().unwrap_or_default();
        let may_lack = |field: &InputField| field.name == name && !field.needed.has(Doors::TOOL);
        text.starts_with('<') && text.ends_with('>') && self.fields().any(may_lack)
    }
}

/// Returns the schema of a tool's arguments.
fn input_schema(tool: &Tool) -> Map {
    let mut properties = Map::new();
    for field in tool.fields() {
        let mut schema = field.kind.schema();
        if !field.help.is_empty() {
            schema["description"] = json!(field.help);
        }
        properties.insert(field.name.to_owned(), schema);
    }
    let needed = tool.fields().filter(|field| field.needed.has(Doors::TOOL));
    let required: Vec<&str> = needed.map(|field| field.name).collect();
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
