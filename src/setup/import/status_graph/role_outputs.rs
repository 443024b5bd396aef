//! The outputs of a role: its frontmatter schema as the part of JSON Schema that `outputs` understands, and its `$status` values.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::domain::FieldFate::{Converted, Dropped, Lost};
use crate::files::yaml::{MappingEntry, Node, NodeKind};
use crate::setup::import::names;
use crate::setup::import::record::{FieldPlace, Record};

/// The outputs of a role.
pub(crate) enum RoleOutputs<'n> {
    /// The role has no schema.
    Undeclared,
    /// One schema for all.
    One(Map<String, Value>),
    /// One schema for all, with a `$status` whose values the schema does not list: the values are those of the graph.
    Open(Map<String, Value>),
    /// One schema for each status.
    Each(Vec<StatusVariant<'n>>),
}

/// The outputs with one status.
#[derive(Clone)]
pub(crate) struct StatusVariant<'n> {
    pub(crate) status: String,
    pub(crate) shape: Map<String, Value>,
    pub(crate) place: FieldPlace<'n>,
}

/// The names of a role's schema, the newest first.
const SCHEMA: [&str; 3] = ["frontmatter", "meta", "outputSchema"];

/// Returns the keys that a role hands on with any status.
pub(crate) fn declared_keys(record: &Record<'_>) -> BTreeSet<String> {
    let schema = SCHEMA.iter().find_map(|key| record.get(key));
    let variants = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema?.get(key));
    let shapes = schema.into_iter().chain(variants.flat_map(Node::items));
    let entries = shapes.filter_map(|shape| shape.get("properties")).flat_map(Node::entries);
    entries.map(|entry| property(&entry.key.text)).collect()
}

/// Reads the schema of a role. A flat `status` is an older name of `$status`, unless conditions ask for it like any other key.
pub(crate) fn read_outputs<'n>(
    record: &Record<'n>,
    has_conditions: bool,
) -> Option<RoleOutputs<'n>> {
    let Some(key) = SCHEMA.into_iter().find(|key| record.has(key)) else {
        return Some(RoleOutputs::Undeclared);
    };
    let Some(node) = record.get(key) else { return Some(RoleOutputs::Undeclared) };
    let place = record.at(key);
    let Value::Object(mut schema) = read_schema(node, &place, 0)? else { return None };
    if has_conditions {
        place.note(Converted, "`outputs`");
        return Some(RoleOutputs::One(schema));
    }
    let Some(key) = ["oneOf", "anyOf"].into_iter().find(|key| schema.contains_key(*key)) else {
        return Some(flat(&place, schema));
    };
    let Some(Value::Array(list)) = schema.shift_remove(key) else {
        place.fault("wrong_kind", format!("`{key}` is a list of variants"), "");
        return None;
    };
    let mut variants = Vec::new();
    for (item, node) in list.into_iter().zip(node.get(key).map(Node::items).unwrap_or_default()) {
        let Value::Object(additions) = item else { continue };
        let merged = merged(&schema, additions);
        let statuses = statuses(&merged, "$status");
        let variant = place.below(key, node.first_key());
        if statuses.is_empty() {
            let message =
                format!("this variant of `{}` has no `$status` with a `const`", place.path);
            let help = "add `$status: {const: NAME}` to its properties";
            variant.fault("missing_field", message, help);
        }
        variants.extend(each(&merged, statuses, "$status", &variant));
    }
    place.note(Converted, "`outputs.oneOf`: `$status` tells the variants apart");
    Some(RoleOutputs::Each(variants))
}

/// Returns outputs with one shape for all statuses.
fn flat<'n>(place: &FieldPlace<'n>, schema: Map<String, Value>) -> RoleOutputs<'n> {
    let lists = ["$status", "status"].map(|name| (name, statuses(&schema, name)));
    if let Some((name, list)) = lists.into_iter().find(|(_, list)| !list.is_empty()) {
        let number = list.len();
        let note =
            format!("`outputs.oneOf`, {number} variants of the same fields: one for each status");
        place.note(Converted, note);
        return RoleOutputs::Each(each(&schema, list, name, place));
    }
    place.note(Converted, "`outputs`");
    match schema.get("properties").and_then(|properties| properties.get("$status")) {
        Some(_) => RoleOutputs::Open(schema),
        None => RoleOutputs::One(schema),
    }
}

/// Returns a variant for each status, which becomes its `$status`.
fn each<'n>(
    schema: &Map<String, Value>,
    statuses: Vec<String>,
    name: &str,
    place: &FieldPlace<'n>,
) -> Vec<StatusVariant<'n>> {
    let variant = |status: String| StatusVariant {
        shape: with_status(schema, name, &status),
        status,
        place: place.clone(),
    };
    statuses.into_iter().map(variant).collect()
}

/// Returns the schema with that status alone, required, and first.
pub(crate) fn with_status(
    schema: &Map<String, Value>,
    name: &str,
    status: &str,
) -> Map<String, Value> {
    let mut properties = Map::from_iter([("$status".to_owned(), json!({"const": status}))]);
    properties.extend(properties_of(schema).into_iter().filter(|(key, _)| key != name));
    properties["$status"] = json!({"const": status});
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required =
        required.filter_map(Value::as_str).filter(|key| ![name, "$status"].contains(key));
    let required: Vec<&str> = ["$status"].into_iter().chain(required).collect();
    let mut shape = Map::new();
    shape.insert("properties".to_owned(), Value::Object(properties));
    shape.insert("required".to_owned(), json!(required));
    let is_other = |key: &str| !matches!(key, "properties" | "required" | "type");
    shape.extend(schema.clone().into_iter().filter(|(key, _)| is_other(key)));
    shape
}

/// Returns the schema without its status.
pub(crate) fn without_status(mut schema: Map<String, Value>) -> Map<String, Value> {
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.shift_remove("$status");
    }
    if let Some(Value::Array(required)) = schema.get_mut("required") {
        required.retain(|key| key != "$status");
    }
    schema
}

/// Returns the properties that a schema declares.
pub(crate) fn properties_of(schema: &Map<String, Value>) -> Map<String, Value> {
    schema.get("properties").and_then(Value::as_object).cloned().unwrap_or_default()
}

/// Returns the common part of all variants, with the additions of one of them.
fn merged(common: &Map<String, Value>, additions: Map<String, Value>) -> Map<String, Value> {
    let mut merged = common.clone();
    for (key, value) in additions {
        match (merged.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            (Some(Value::Array(known)), Value::Array(mut more)) if key == "required" => {
                more.retain(|item| !known.contains(item));
                known.extend(more);
            }
            (_, value) => drop(merged.insert(key, value)),
        }
    }
    merged
}

/// Returns the statuses that a property allows.
fn statuses(schema: &Map<String, Value>, name: &str) -> Vec<String> {
    let property = schema.get("properties").map(|map| &map[name]).unwrap_or_default();
    let one = property.get("const").into_iter();
    let listed = property.get("enum").and_then(Value::as_array).into_iter().flatten();
    one.chain(listed).filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The keywords that are copied. Schemas inside them are read.
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
/// The keywords that check nothing, and are not copied.
const ANNOTATIONS: [&str; 4] = ["deprecated", "readOnly", "writeOnly", "contentMediaType"];
/// The deepest nesting of schemas.
const DEEPEST: usize = 15;

/// Returns a schema with the keywords that are understood; the others are reported as dropped.
pub(crate) fn read_schema(node: &Node<'_>, at: &FieldPlace<'_>, depth: usize) -> Option<Value> {
    if depth > DEEPEST {
        let message = format!("`{}` is nested more than {DEEPEST} deep", at.path);
        at.fault("too_deep", message, "");
        return None;
    }
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let keyword = |entry: &MappingEntry<'_>| {
                let key = entry.key.text.as_ref();
                let at = at.below(key, entry.key.span.clone());
                let value = keyword(key, &entry.value, &at, depth)?;
                // Only the top has variants; below it, a choice stays a choice.
                if depth > 0 && key == "oneOf" {
                    at.note(Converted, "`anyOf`");
                    return Some(("anyOf".to_owned(), value));
                }
                Some((key.to_owned(), value))
            };
            Some(Value::Object(entries.iter().filter_map(keyword).collect()))
        }
        // A type alone is a common short form.
        NodeKind::String(text) => Some(json!({"type": text})),
        NodeKind::Bool(true) | NodeKind::Null => Some(json!({})),
        _ => {
            at.wrong_kind(node, "a schema");
            None
        }
    }
}

/// Returns the name of a property as templates can write it.
fn property(name: &str) -> String {
    if name.starts_with('$') { name.to_owned() } else { names::key(name) }
}

fn keyword(key: &str, value: &Node<'_>, at: &FieldPlace<'_>, depth: usize) -> Option<Value> {
    match (key, &value.kind) {
        ("properties", NodeKind::Mapping(entries)) => {
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
        ("items", NodeKind::Mapping(_)) => read_schema(value, at, depth + 1),
        ("anyOf" | "oneOf", NodeKind::Sequence(items)) => {
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
            let says_nothing = key.starts_with('$') || ANNOTATIONS.contains(&key);
            let fate = if says_nothing { Dropped } else { Lost };
            at.note(fate, format!("`{key}` is no keyword of `outputs`: nothing would check it"));
            None
        }
    }
}
