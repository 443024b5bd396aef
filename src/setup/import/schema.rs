//! Foreign schemas of what is handed on, as the part of JSON Schema that `outputs` understands.

use serde_json::{Map, Value, json};

use super::names;
use super::record::FieldPlace;
use crate::domain::FieldFate::{Converted, Dropped};
use crate::files::yaml::{Entry, Kind, Node};

/// The keywords that are copied; those with schemas inside are read.
const COPIED: [&str; 15] = [
    "type",
    "additionalProperties",
    "items",
    "enum",
    "const",
    "minLength",
    "maxLength",
    "minimum",
    "maximum",
    "minItems",
    "maxItems",
    "title",
    "description",
    "default",
    "examples",
];
/// How deep schemas may be.
const DEEPEST: usize = 15;

/// Returns a schema with the keywords that are understood; the others are reported as dropped.
pub(crate) fn read_schema(node: &Node<'_>, at: &FieldPlace<'_>, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        let message = format!("`{}` is nested more than {DEEPEST} deep", at.path);
        at.fault("too_deep", message, "");
        return None;
    }
    match &node.kind {
        Kind::Mapping(entries) => {
            let keyword = |entry: &Entry<'_>| {
                let key = entry.key.text.as_ref();
                let at = at.below(key, entry.key.span.clone());
                let value = keyword(key, &entry.value, &at, depth)?;
                // Only the top has variants; inside, a choice is a choice.
                if depth > 0 && key == "oneOf" {
                    at.note(Converted, "`anyOf`");
                    return Some(("anyOf".to_owned(), value));
                }
                Some((key.to_owned(), value))
            };
            Some(Value::Object(entries.iter().filter_map(keyword).collect()))
        }
        // A type alone is a common short form.
        Kind::String(text) => Some(json!({"type": text})),
        Kind::Bool(true) | Kind::Null => Some(json!({})),
        _ => {
            at.wrong_kind(node, "a schema");
            None
        }
    }
}

/// Returns the name of a property as templates can say it.
fn property(name: &str) -> String {
    if name.starts_with('$') { name.to_owned() } else { names::key(name) }
}

fn keyword(key: &str, value: &Node<'_>, at: &FieldPlace<'_>, depth: usize) -> Option<Value> {
    match (key, &value.kind) {
        ("properties", Kind::Mapping(entries)) => {
            let mut map = Map::new();
            for entry in entries {
                let name = entry.key.text.as_ref();
                let at = at.below(name, entry.key.span.clone());
                let ours = property(name);
                if ours != name {
                    let note = format!("`{ours}`: keys are letters, digits, `-` and `_`");
                    at.note(Converted, note);
                }
                map.extend(read_schema(&entry.value, &at, depth + 1).map(|shape| (ours, shape)));
            }
            Some(Value::Object(map))
        }
        ("properties", _) => {
            at.wrong_kind(value, "a mapping of schemas");
            None
        }
        ("required", _) => {
            let ours = |item: &Node<'_>| {
                item.as_str().map_or_else(|| item.to_value(), |name| json!(property(name)))
            };
            Some(value.items().iter().map(ours).collect())
        }
        ("items", Kind::Mapping(_)) => read_schema(value, at, depth + 1),
        ("anyOf" | "oneOf", Kind::Sequence(items)) => {
            let each = |(index, item): (usize, &Node<'_>)| {
                let at = at.below(&index.to_string(), at.span.clone());
                read_schema(item, &at, depth + 1)
            };
            Some(items.iter().enumerate().filter_map(each).collect())
        }
        _ if COPIED.contains(&key) || matches!(key, "format" | "anyOf" | "oneOf") => {
            Some(value.to_value())
        }
        _ => {
            at.note(Dropped, format!("`{key}` is no keyword of `outputs`"));
            None
        }
    }
}
