//! The ways out of a role: what its frontmatter schema says of `$status`.

use serde_json::{Map, Value, json};

use crate::files::yaml::Node;
use crate::setup::import::record::Field;
use crate::setup::import::report::At;
use crate::setup::import::schema::shape;

/// The ways out of a role.
pub(crate) enum RoleExits<'r> {
    /// The role has no schema.
    Undeclared,
    /// One way out, without a name.
    One(Value),
    /// One for each status, with what is handed on; where the schema lists no status, the graph's count.
    Each { variants: Vec<StatusVariant<'r>>, open: Option<Map<String, Value>> },
}

/// What is handed on with one status.
#[derive(Clone)]
pub(crate) struct StatusVariant<'r> {
    pub(crate) status: String,
    pub(crate) shape: Map<String, Value>,
    pub(crate) at: At<'r>,
}

/// Reads the schema. A flat `status` is an older name of `$status`.
pub(crate) fn read_exits<'r>(field: &Field<'r>) -> Option<RoleExits<'r>> {
    let Value::Object(mut schema) = shape(field.node, &field.at)? else { return None };
    let listed = ["oneOf", "anyOf"].iter().find_map(|key| Some((*key, field.node.entry(key)?)));
    let Some((key, entry)) = listed else { return Some(flat(field, schema)) };
    let at = |span| At { path: format!("{}.{key}", field.at.path), span, ..field.at.clone() };
    let Some(Value::Array(list)) = schema.shift_remove(key) else {
        let at = at(entry.value.span.clone());
        at.fault("wrong_kind", format!("`{key}` is a list of variants"), "");
        return None;
    };
    let mut variants = Vec::new();
    for (item, node) in list.into_iter().zip(entry.value.items()) {
        let Value::Object(own) = item else { continue };
        let merged = merged(&schema, own);
        let statuses = statuses(&merged, "$status");
        let at = at(start(node));
        if statuses.is_empty() {
            let path = &field.at.path;
            let message = format!("this variant of `{path}` has no `$status` with a `const`");
            at.fault("missing_field", message, "add `$status: {const: NAME}` to its properties");
        }
        variants.extend(each(&merged, statuses, "$status", &at));
    }
    at(entry.key.span.clone()).converted(match key {
        "oneOf" => "`outputs.oneOf`",
        _ => "`outputs.oneOf`: `$status` tells the variants apart",
    });
    Some(RoleExits::Each { variants, open: None })
}

/// One shape for all statuses.
fn flat<'r>(field: &Field<'r>, schema: Map<String, Value>) -> RoleExits<'r> {
    let lists = ["$status", "status"].map(|name| (name, statuses(&schema, name)));
    if let Some((name, list)) = lists.into_iter().find(|(_, list)| !list.is_empty()) {
        field.at.converted(match list.len() {
            1 => "`outputs`, with its one status".to_owned(),
            number => format!(
                "`outputs.oneOf`, {number} variants of the same fields: one for each status"
            ),
        });
        let variants = each(&schema, list, name, &field.at);
        return RoleExits::Each { variants, open: None };
    }
    field.at.converted("`outputs`");
    if schema.get("properties").is_some_and(|properties| properties.get("$status").is_some()) {
        return RoleExits::Each { variants: Vec::new(), open: Some(schema) };
    }
    RoleExits::One(Value::Object(schema))
}

/// Returns a variant for each status, the status as its `$status`.
fn each<'r>(
    schema: &Map<String, Value>,
    statuses: Vec<String>,
    name: &str,
    at: &At<'r>,
) -> Vec<StatusVariant<'r>> {
    let shape = |status: &str| with_status(schema, name, status);
    let variant = |status: String| StatusVariant { shape: shape(&status), status, at: at.clone() };
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
    let mut properties = Map::from_iter([("$status".to_owned(), json!({"const": status}))]);
    properties.extend(own);
    let required = schema.get("required").and_then(Value::as_array).into_iter().flatten();
    let required =
        required.filter_map(Value::as_str).filter(|key| ![name, "$status"].contains(key));
    let required: Vec<&str> = ["$status"].into_iter().chain(required).collect();
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
