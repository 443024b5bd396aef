//! A shape as the JSON Schema that other programs read: self-contained, with all defaults written out.

use serde_json::{Value, json};

use super::{About, Count, Interval, ObjectFields, Others, Outputs, Shape, ShapeKind};
use crate::Map;

/// The property that names the variant.
const STATUS: &str = "$status";

/// Returns the schema of the values that a gate's completions hand on; `None` if any values are allowed.
pub fn of_outputs(outputs: &Outputs) -> Option<Value> {
    match outputs {
        Outputs::Open => None,
        Outputs::One(shape) => Some(of_shape(shape)),
        Outputs::Variants(variants) => {
            let one = |status: &str, shape: &Shape| {
                let mut schema = of_shape(shape);
                add_status(&mut schema, status);
                schema
            };
            let list: Vec<Value> =
                variants.iter().map(|variant| one(&variant.status, &variant.shape)).collect();
            Some(json!({"oneOf": list}))
        }
    }
}

fn add_status(schema: &mut Value, status: &str) {
    let Some(map) = schema.as_object_mut() else { return };
    let declared = map
        .remove("properties")
        .and_then(|value| if let Value::Object(fields) = value { Some(fields) } else { None });
    let mut properties = Map::new();
    properties.insert(STATUS.to_owned(), json!({"const": status}));
    properties.extend(declared.unwrap_or_default());
    map.insert("properties".to_owned(), Value::Object(properties));
    let mut required = vec![json!(STATUS)];
    required.extend(
        map.remove("required").and_then(|names| names.as_array().cloned()).unwrap_or_default(),
    );
    map.insert("required".to_owned(), Value::Array(required));
}

/// Returns the schema of a shape.
pub fn of_shape(shape: &Shape) -> Value {
    let mut map = Map::new();
    describe(&shape.about, &mut map);
    let words: Vec<&str> = shape.kinds.iter().map(ShapeKind::word).collect();
    match words.as_slice() {
        [] => {}
        [one] => put(&mut map, "type", *one),
        several => put(&mut map, "type", several.to_vec()),
    }
    match shape.values.as_slice() {
        [] => {}
        [one] => put(&mut map, "const", one.clone()),
        several => put(&mut map, "enum", several.to_vec()),
    }
    for kind in &shape.kinds {
        match kind {
            ShapeKind::Object(fields) => of_fields(fields, &mut map),
            ShapeKind::List(list) => {
                if let Some(items) = &list.items {
                    put(&mut map, "items", of_shape(items));
                }
                of_count(list.length, ["minItems", "maxItems"], &mut map);
            }
            ShapeKind::Text(length) => of_count(*length, ["minLength", "maxLength"], &mut map),
            ShapeKind::Number(interval) | ShapeKind::Integer(interval) => {
                of_interval(interval, &mut map);
            }
            ShapeKind::Bool | ShapeKind::Null => {}
        }
    }
    if !shape.any_of.is_empty() {
        put(&mut map, "anyOf", shape.any_of.iter().map(of_shape).collect::<Vec<_>>());
    }
    Value::Object(map)
}

fn put(map: &mut Map, key: &str, value: impl Into<Value>) {
    map.insert(key.to_owned(), value.into());
}

fn describe(about: &About, map: &mut Map) {
    for (key, text) in
        [("title", &about.title), ("description", &about.description), ("format", &about.format)]
    {
        if let Some(text) = text {
            put(map, key, text.as_str());
        }
    }
    if let Some(default) = &about.default {
        put(map, "default", default.clone());
    }
    if !about.examples.is_empty() {
        put(map, "examples", about.examples.clone());
    }
}

fn of_fields(fields: &ObjectFields, map: &mut Map) {
    if !fields.properties.is_empty() || fields.others != Others::Welcome {
        let properties: Map =
            fields.properties.iter().map(|(name, shape)| (name.clone(), of_shape(shape))).collect();
        put(map, "properties", Value::Object(properties));
    }
    if !fields.required.is_empty() {
        put(map, "required", fields.required.clone());
    }
    if fields.others != Others::LeftOut {
        put(map, "additionalProperties", fields.others == Others::Welcome);
    }
}

fn of_count(count: Count, [least, most]: [&str; 2], map: &mut Map) {
    for (key, limit) in [(least, count.least), (most, count.most)] {
        if let Some(limit) = limit {
            put(map, key, limit);
        }
    }
}

fn of_interval(interval: &Interval, map: &mut Map) {
    for (key, limit) in [("minimum", &interval.least), ("maximum", &interval.most)] {
        if let Some(limit) = limit {
            put(map, key, Value::Number(limit.clone()));
        }
    }
}
