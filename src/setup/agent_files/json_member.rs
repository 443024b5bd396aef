//! Our member of a JSON file, comments and layout of everything else kept. What the new text says is read back and compared before
//! anybody may write it. The one home of the `jsonc-parser` crate.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstObject, CstRootNode};
use serde_json::{Map, Value};

use super::agent_files::{Unmergeable, starts_server};

/// What the server is called in everybody's configuration.
const NAME: &str = "aof";

/// Returns what the text says; nothing if that is not JSON, comments and trailing commas aside.
pub(crate) fn value(text: &str) -> Option<Value> {
    CstRootNode::parse(text, &options()).ok()?.to_serde_value()
}

/// Returns the text with the server below the members of the path. An entry that starts the server stays as it is; of one that
/// starts something else only those members change that say how it is started.
pub(crate) fn merged(text: &str, path: &[&str], server: &Value) -> Result<String, Unmergeable> {
    if text.trim_start_matches('\u{feff}').trim().is_empty() {
        return Ok(format!("{:#}\n", nested(path, server)));
    }
    let root = CstRootNode::parse(text, &options()).map_err(|error| {
        let line = error.line_display();
        let problem = format!("line {line} is not JSON: {}", error.kind());
        Unmergeable::new(Some(line), problem, "mend it, then run this again")
    })?;
    let not_object = |what: &str| {
        Unmergeable::new(
            None,
            format!("{what} is not an object"),
            "make it one, then run this again",
        )
    };
    let mut before = root.to_serde_value().ok_or_else(|| not_object("the file"))?;
    let mut object = root.object_value().ok_or_else(|| not_object("the file"))?;
    let mut expected = &mut before;
    for name in path {
        object = match object.get(name) {
            Some(member) => {
                member.object_value().ok_or_else(|| not_object(&format!("`{name}`")))?
            }
            None => object.append(name, CstInputValue::Object(Vec::new())).object_value_or_set(),
        };
        let members = expected.as_object_mut().ok_or_else(|| not_object("the file"))?;
        expected = members.entry(*name).or_insert_with(|| Value::Object(Map::new()));
    }
    let servers = expected.as_object_mut().ok_or_else(|| not_object("the file"))?;
    match servers.get_mut(NAME) {
        Some(entry) if is_started(entry) => return Ok(text.to_owned()),
        Some(Value::Object(entry)) => {
            let own = object.object_value(NAME).ok_or_else(|| not_object(&format!("`{NAME}`")))?;
            for (key, value) in
                server.as_object().into_iter().flatten().filter(|(key, _)| *key != "enabled")
            {
                set(&own, key, value);
                entry.insert(key.clone(), value.clone());
            }
        }
        _ => {
            set(&object, NAME, server);
            servers.insert(NAME.to_owned(), server.clone());
        }
    }
    let merged = root.to_string();
    if value(&merged) != Some(before) {
        return Err(Unmergeable::new(
            None,
            "it cannot be changed safely",
            "a key may be there twice: leave one of them",
        ));
    }
    Ok(merged)
}

/// Only what people write in such files besides plain JSON.
fn options() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn is_started(entry: &Value) -> bool {
    let words = |value: &Value| match value {
        Value::Array(items) => {
            items.iter().map(|item| item.as_str().unwrap_or_default().to_owned()).collect()
        }
        Value::String(text) => vec![text.clone()],
        _ => Vec::new(),
    };
    let line: Vec<String> =
        ["command", "args"].iter().filter_map(|key| entry.get(key)).flat_map(words).collect();
    starts_server(line.iter().map(String::as_str))
}

fn set(object: &CstObject, key: &str, value: &Value) {
    match object.get(key) {
        Some(member) => member.set_value(input(value)),
        None => drop(object.append(key, input(value))),
    }
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(yes) => CstInputValue::Bool(*yes),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(key, value)| (key.clone(), input(value))).collect(),
        ),
    }
}

/// Returns a new file's value.
fn nested(path: &[&str], server: &Value) -> Value {
    let wrap = |inner: Value, name: &str| Value::Object(Map::from_iter([(name.to_owned(), inner)]));
    path.iter().rev().fold(wrap(server.clone(), NAME), |inner, name| wrap(inner, name))
}
