//! The ways out of a role: what its frontmatter schema says of `$status`.

use serde_json::{Map, Value, json};

use crate::files::yaml::{Fault, Node};
use crate::setup::import::record::Field;
use crate::setup::import::report::{At, Ledger};
use crate::setup::import::schema::shape;

/// The ways out of a role.
pub(crate) enum Exits {
    /// The role has no schema.
    Undeclared,
    /// One way out, without a name.
    One(Value),
    /// One for each status, with what is handed on; where the schema lists no status, the graph's count.
    Each { variants: Vec<Variant>, open: Option<Value> },
}

/// What is handed on with one status.
#[derive(Clone)]
pub(crate) struct Variant {
    pub(crate) status: String,
    pub(crate) shape: Map<String, Value>,
    pub(crate) at: At,
}

/// Reads the schema. A flat `status` is an older name of `$status`.
pub(crate) fn read_exits(field: &Field<'_>, ledger: &mut Ledger<'_>) -> Option<Exits> {
    let schema = shape(field.node, &field.at.path, ledger)?;
    let Value::Object(mut schema) = schema else { return None };
    let listed = ["oneOf", "anyOf"].iter().find_map(|key| Some((*key, field.node.entry(key)?)));
    let Some((key, entry)) = listed else {
        return Some(flat(field, &schema, ledger));
    };
    let Some(Value::Array(list)) = schema.shift_remove(key) else {
        ledger.fault(Fault::new(
            "wrong_kind",
            entry.value.span.clone(),
            format!("`{key}` is a list of variants"),
        ));
        return None;
    };
    let mut variants = Vec::new();
    for (item, node) in list.into_iter().zip(entry.value.items()) {
        let Value::Object(own) = item else { continue };
        let merged = merged(&schema, own);
        let statuses = statuses(&merged, "$status");
        if statuses.is_empty() {
            let message =
                format!("this variant of `{}` has no `$status` with a `const`", field.at.path);
            ledger.fault(
                Fault::new("missing_field", start(node), message)
                    .help("add `$status: {const: NAME}` to its properties"),
            );
            continue;
        }
        let at = At { path: format!("{}.{key}", field.at.path), span: start(node) };
        variants.extend(each(&merged, statuses, "$status", &at));
    }
    let at = At { path: format!("{}.{key}", field.at.path), span: entry.key.span.clone() };
    match key {
        "oneOf" => ledger.converted(&at, "`outputs.oneOf`"),
        _ => ledger.converted(&at, "`outputs.oneOf`: `$status` tells the variants apart"),
    }
    Some(Exits::Each { variants, open: None })
}

/// One shape for all statuses.
fn flat(field: &Field<'_>, schema: &Map<String, Value>, ledger: &mut Ledger<'_>) -> Exits {
    let names = ["$status", "status"];
    let found =
        names.iter().map(|name| (*name, statuses(schema, name))).find(|(_, list)| !list.is_empty());
    if let Some((name, list)) = found {
        let into = match list.len() {
            1 => "`outputs`, with its one status".to_owned(),
            number => format!(
                "`outputs.oneOf`, {number} variants of the same fields: one for each status"
            ),
        };
        ledger.converted(&field.at, into);
        let variants = each(schema, list, name, &field.at);
        return Exits::Each { variants, open: None };
    }
    let property = |name: &str| schema.get("properties").and_then(|map| map.get(name)).is_some();
    ledger.converted(&field.at, "`outputs`");
    if property("$status") {
        return Exits::Each { variants: Vec::new(), open: Some(Value::Object(schema.clone())) };
    }
    Exits::One(Value::Object(schema.clone()))
}

/// Returns a variant for each status, the status as its `$status`.
fn each(schema: &Map<String, Value>, statuses: Vec<String>, name: &str, at: &At) -> Vec<Variant> {
    let variant = |status: String| Variant {
        shape: with_status(schema, name, &status),
        status,
        at: at.clone(),
    };
    statuses.into_iter().map(variant).collect()
}

/// Returns the schema with that status alone, required, and first.
pub(crate) fn with_status(
    schema: &Map<String, Value>,
    name: &str,
    status: &str,
) -> Map<String, Value> {
    let own = schema.get("properties").and_then(Value::as_object).into_iter().flatten();
    let own = own.filter(|(key, _)| *key != name).map(|(key, value)| (key.clone(), value.clone()));
    let status = ("$status".to_owned(), json!({"const": status}));
    let properties: Map<String, Value> = std::iter::once(status).chain(own).collect();
    let required = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let required: Vec<&str> = std::iter::once("$status")
        .chain(required.filter(|key| *key != name && *key != "$status"))
        .collect();
    let mut shape = Map::new();
    shape.insert("properties".to_owned(), Value::Object(properties));
    shape.insert("required".to_owned(), json!(required));
    let rest = schema
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "properties" | "required" | "type"));
    shape.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    shape
}

/// Returns what all variants share, with what one of them adds.
fn merged(common: &Map<String, Value>, own: Map<String, Value>) -> Map<String, Value> {
    let mut merged = common.clone();
    for (key, value) in own {
        match (merged.get_mut(&key), value) {
            (Some(Value::Object(known)), Value::Object(more)) => known.extend(more),
            (Some(Value::Array(known)), Value::Array(more)) if key == "required" => {
                let more: Vec<Value> =
                    more.into_iter().filter(|item| !known.contains(item)).collect();
                known.extend(more);
            }
            (_, value) => {
                merged.insert(key, value);
            }
        }
    }
    merged
}

/// Returns the statuses that a property allows.
fn statuses(schema: &Map<String, Value>, name: &str) -> Vec<String> {
    let Some(property) = schema.get("properties").and_then(|map| map.get(name)) else {
        return Vec::new();
    };
    let one = property.get("const").into_iter();
    let listed = property.get("enum").and_then(Value::as_array).into_iter().flatten();
    one.chain(listed).filter_map(Value::as_str).map(str::to_owned).collect()
}

fn start(node: &Node<'_>) -> std::ops::Range<usize> {
    node.entries().first().map_or_else(|| node.span.clone(), |entry| entry.key.span.clone())
}
