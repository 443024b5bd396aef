//! Foreign schemas of what is handed on, as the part of JSON Schema that `outputs` understands.

use serde_json::{Map, Value, json};

use super::names;
use super::record::join;
use super::report::At;
use crate::files::yaml::{Entry, Kind, Node};

/// The keywords that are understood.
const KNOWN: &str = "type properties required additionalProperties items enum const minLength maxLength minimum maximum \
                     minItems maxItems anyOf oneOf title description default examples format";
/// How deep schemas may be.
const DEEPEST: usize = 15;

/// Returns a schema with the keywords that are understood; the others are reported as dropped. `at` is the way to it.
pub(crate) fn shape(node: &Node<'_>, at: &At<'_>) -> Option<Value> {
    nested(node, at, 0)
}

fn nested(node: &Node<'_>, at: &At<'_>, depth: usize) -> Option<Value> {
    let here = At { span: node.span.clone(), ..at.clone() };
    let path = &at.path;
    if depth > DEEPEST {
        here.fault("too_deep", format!("`{path}` is nested more than {DEEPEST} deep"), "");
        return None;
    }
    match &node.kind {
        Kind::Mapping(entries) => {
            let mut map = Map::new();
            for entry in entries {
                let key = entry.key.text.as_ref();
                let at =
                    At { path: join(path, key), span: entry.key.span.clone(), report: at.report };
                if let Some(value) = keyword(entry, &at, depth) {
                    // Only the top has variants; inside, a choice is a choice.
                    let is_choice = depth > 0 && key == "oneOf";
                    if is_choice {
                        at.converted("`anyOf`");
                    }
                    map.insert(if is_choice { "anyOf" } else { key }.to_owned(), value);
                }
            }
            Some(Value::Object(map))
        }
        // A type alone is a common short form.
        Kind::String(text) => Some(json!({"type": text})),
        Kind::Bool(true) | Kind::Null => Some(json!({})),
        _ => {
            here.fault(
                "wrong_kind",
                format!("`{path}` is a schema, and this is {}", node.noun()),
                "",
            );
            None
        }
    }
}

/// Returns the name of a property as templates can say it.
fn property(name: &str) -> String {
    if name.starts_with('$') { name.to_owned() } else { names::key(name) }
}

fn keyword(entry: &Entry<'_>, at: &At<'_>, depth: usize) -> Option<Value> {
    let (key, value) = (entry.key.text.as_ref(), &entry.value);
    let path = &at.path;
    match key {
        "properties" => {
            let Kind::Mapping(entries) = &value.kind else {
                let at = At { span: value.span.clone(), ..at.clone() };
                at.fault("wrong_kind", format!("`{path}` is a mapping of schemas"), "");
                return None;
            };
            let mut map = Map::new();
            for entry in entries {
                let name = entry.key.text.as_ref();
                let span = entry.key.span.clone();
                let at = At { path: join(path, name), span, report: at.report };
                let ours = property(name);
                if ours != name {
                    at.converted(format!("`{ours}`: keys are letters, digits, `-` and `_`"));
                }
                if let Some(shape) = nested(&entry.value, &at, depth + 1) {
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
        "items" if matches!(value.kind, Kind::Mapping(_)) => nested(value, at, depth + 1),
        "anyOf" | "oneOf" if matches!(value.kind, Kind::Sequence(_)) => {
            let each = |(index, item): (usize, &Node<'_>)| {
                let at = At { path: format!("{path}.{index}"), ..at.clone() };
                nested(item, &at, depth + 1)
            };
            Some(value.items().iter().enumerate().filter_map(each).collect())
        }
        _ if KNOWN.split(' ').any(|known| known == key) => Some(value.to_value()),
        _ => {
            at.dropped(format!("`{key}` is no keyword of `outputs`"));
            None
        }
    }
}
