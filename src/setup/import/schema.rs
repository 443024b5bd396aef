//! Foreign schemas of what is handed on, as the part of JSON Schema that `outputs` understands.

use serde_json::{Map, Value, json};

use super::names;
use super::record::join;
use super::report::{At, Ledger};
use crate::files::yaml::{Entry, Fault, Kind, Node};

/// The keywords that are understood.
const KNOWN: [&str; 20] = [
    "type",
    "properties",
    "required",
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
    "anyOf",
    "oneOf",
    "title",
    "description",
    "default",
    "examples",
    "format",
];
/// How deep schemas may be.
const DEEPEST: usize = 15;

/// Returns a schema with the keywords that are understood; the others are told as dropped.
pub(crate) fn shape(node: &Node<'_>, path: &str, ledger: &mut Ledger<'_>) -> Option<Value> {
    nested(node, path, ledger, 0)
}

fn nested(node: &Node<'_>, path: &str, ledger: &mut Ledger<'_>, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        ledger.fault(Fault::new(
            "too_deep",
            node.span.clone(),
            format!("`{path}` is nested more than {DEEPEST} deep"),
        ));
        return None;
    }
    match &node.kind {
        Kind::Mapping(entries) => {
            let mut map = Map::new();
            for entry in entries {
                if let Some(value) = keyword(entry, path, ledger, depth) {
                    map.insert(called(entry, path, ledger, depth), value);
                }
            }
            Some(Value::Object(map))
        }
        // A type alone is a common short form.
        Kind::String(text) => Some(json!({"type": text})),
        Kind::Bool(true) | Kind::Null => Some(json!({})),
        _ => {
            let message = format!("`{path}` is a schema, and this is {}", node.noun());
            ledger.fault(Fault::new("wrong_kind", node.span.clone(), message));
            None
        }
    }
}

/// Returns what a keyword is called here. Only the top has variants; inside, a choice is a choice.
fn called(entry: &Entry<'_>, path: &str, ledger: &mut Ledger<'_>, depth: usize) -> String {
    if depth > 0 && entry.key.text == "oneOf" {
        ledger
            .converted(&At { path: join(path, "oneOf"), span: entry.key.span.clone() }, "`anyOf`");
        return "anyOf".to_owned();
    }
    entry.key.text.clone().into_owned()
}

/// Returns the name of a property as templates can say it.
fn property(name: &str) -> String {
    if name.starts_with('$') { name.to_owned() } else { names::key(name) }
}

fn keyword(entry: &Entry<'_>, path: &str, ledger: &mut Ledger<'_>, depth: usize) -> Option<Value> {
    let (key, value) = (entry.key.text.as_ref(), &entry.value);
    let path = join(path, key);
    match key {
        "properties" => {
            let Kind::Mapping(entries) = &value.kind else {
                ledger.fault(Fault::new(
                    "wrong_kind",
                    value.span.clone(),
                    format!("`{path}` is a mapping of schemas"),
                ));
                return None;
            };
            let mut map = Map::new();
            for entry in entries {
                let name = entry.key.text.as_ref();
                let at = At { path: join(&path, name), span: entry.key.span.clone() };
                let ours = property(name);
                if ours != name {
                    ledger
                        .converted(&at, format!("`{ours}`: keys are letters, digits, `-` and `_`"));
                }
                if let Some(shape) = nested(&entry.value, &at.path, ledger, depth + 1) {
                    map.insert(ours, shape);
                }
            }
            Some(Value::Object(map))
        }
        "required" => {
            let ours = |item: &Node<'_>| {
                item.as_str().map_or_else(|| item.to_value(), |name| json!(property(name)))
            };
            Some(value.items().iter().map(ours).collect())
        }
        "items" if matches!(value.kind, Kind::Mapping(_)) => {
            nested(value, &path, ledger, depth + 1)
        }
        "anyOf" | "oneOf" if matches!(value.kind, Kind::Sequence(_)) => {
            let each = |(index, item): (usize, &Node<'_>)| {
                nested(item, &format!("{path}.{index}"), ledger, depth + 1)
            };
            Some(value.items().iter().enumerate().filter_map(each).collect())
        }
        _ if KNOWN.contains(&key) => Some(value.to_value()),
        _ => {
            let at = At { path, span: entry.key.span.clone() };
            ledger.dropped(&at, format!("`{key}` is no keyword of `outputs`"));
            None
        }
    }
}
