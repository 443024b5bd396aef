//! The outputs of a gate as people write them: a part of JSON Schema, read from a node tree with everything that is wrong.
//!
//! A keyword that would be ignored is a fault: one that is not understood, and one that has no meaning for the kinds that
//! `type` names. Without `type`, the keywords of a kind say it.

pub(crate) mod bounds;
pub(crate) mod kinds;
#[cfg(test)]
pub(crate) mod schema;
pub(crate) mod variants;

use serde_json::Value;

use super::decode::{Faults, Fields};
use crate::domain::workflow::shape::{
    About, DEPTH_LIMIT, Fields as Declared, Kind, NODE_LIMIT, Others, Outputs, Shape,
};
use crate::files::yaml::{Fault, Kind as Form, Node};
use bounds::size;
use kinds::kinds;

/// The discriminant of variants.
pub(crate) const STATUS: &str = "$status";

/// Returns what a gate's `outputs` declare. Faults are in the order in which they are found.
pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Outputs {
    let before = faults.len();
    if size(node) > NODE_LIMIT {
        let message = format!("`outputs` has more than {NODE_LIMIT} nodes");
        faults.add("schema_too_large", &node.span, message, "hand on less, or as a file");
        return Outputs::Open;
    }
    let outputs = if node.entry("oneOf").is_some() {
        variants::read(node, faults)
    } else {
        plain(node, faults)
    };
    // What is wrong is refused as a whole; an empty declaration keeps the rest of the reading going.
    outputs.filter(|_| faults.len() == before).unwrap_or_default()
}

fn plain(node: &Node<'_>, faults: &Faults) -> Option<Outputs> {
    let shape = top(node, faults)?;
    let declared = shape
        .fields()
        .is_some_and(|fields| fields.get(STATUS).is_some() || fields.requires(STATUS));
    if declared {
        let entry = node.get("properties").and_then(|properties| properties.entry(STATUS));
        let span = entry.map_or_else(|| node.span.clone(), |entry| entry.key.span.clone());
        faults.add("misplaced_status", &span, "`$status` tells variants apart, and here there is one shape only", "with one way out, leave it away; else write `oneOf` with one variant for each, as in `- {properties: {$status: {const: approved}}}`");
    }
    Some(Outputs::One(shape))
}

/// Reads a shape that outputs as a whole have: an object with names that templates can speak of.
fn top(node: &Node<'_>, faults: &Faults) -> Option<Shape> {
    let mut shape = shape(node, 0, faults)?;
    if let Some(other) = shape.kinds.iter().find(|kind| !matches!(kind, Kind::Object(_))) {
        let span = node.get("type").map_or_else(|| node.span.clone(), |kind| kind.span.clone());
        let message = format!("outputs are an object, and this says `{}`", other.word());
        faults.add("wrong_kind", &span, message, "write `type: object`, or leave `type` away");
    }
    if shape.kinds.is_empty() {
        shape.kinds.push(Kind::Object(Declared { others: Others::Welcome, ..Declared::default() }));
    }
    for entry in node.get("properties").map(Node::entries).unwrap_or_default() {
        let name = entry.key.text.as_ref();
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if name != STATUS && (name.is_empty() || name.len() > 64 || !plain) {
            let message = format!("`{}` is no name for an output", name.escape_debug());
            faults.add(
                "invalid_value",
                &entry.key.span,
                message,
                "use letters, digits, `_` and `-`, at most 64: templates call it `{{gate.name}}`",
            );
        }
    }
    Some(shape)
}

fn shape(node: &Node<'_>, depth: usize, faults: &Faults) -> Option<Shape> {
    if depth >= DEPTH_LIMIT {
        let message = format!("more than {DEPTH_LIMIT} schemas inside each other");
        faults.add("schema_too_deep", &node.span, message, "hand on something flatter");
        return None;
    }
    let fields = Fields::of(node, "a schema", faults)?;
    if depth == 0 {
        fields.text("$schema");
    }
    let about = about(node, &fields, faults);
    let values = values(node, &fields, faults);
    let kinds = kinds(node, &fields, depth, faults);
    let any_of = alternatives(&fields, depth, faults);
    fields.refuse_unknown_but(explain);
    Some(Shape { about, kinds, values, any_of })
}

/// Returns what was meant by a keyword of JSON Schema that is not understood here.
fn explain(keyword: &str) -> Option<String> {
    Some(
        match keyword {
            "$ref" | "$defs" | "definitions" | "$dynamicRef" => {
                "references are not followed: write the schema out where it is needed, or use a YAML alias"
            }
            "oneOf" => "`oneOf` stands at the top of `outputs`, for variants; inside, write `anyOf`",
            "pattern" => "texts are not matched here: use `enum` for closed sets, else say it in `description`",
            "exclusiveMinimum" => "write `minimum` with the least number that is allowed",
            "exclusiveMaximum" => "write `maximum` with the largest number that is allowed",
            "nullable" => "write `type: [string, \"null\"]`",
            _ => return None,
        }
        .to_owned(),
    )
}

fn about(node: &Node<'_>, fields: &Fields<'_, '_>, faults: &Faults) -> About {
    About {
        title: fields.text("title"),
        description: fields.text("description"),
        format: fields.text("format"),
        default: said(node, fields, "default").map(Node::to_value),
        examples: list_of_values(node, fields, "examples", faults),
    }
}

/// Returns the value of a keyword for which `null` is a value like any other.
fn said<'n, 's>(
    node: &'n Node<'s>,
    fields: &Fields<'_, '_>,
    key: &'static str,
) -> Option<&'n Node<'s>> {
    fields.take(key);
    node.get(key)
}

fn list_of_values(
    node: &Node<'_>,
    fields: &Fields<'_, '_>,
    key: &'static str,
    faults: &Faults,
) -> Vec<Value> {
    let Some(list) = said(node, fields, key) else { return Vec::new() };
    match &list.kind {
        Form::Sequence(items) if !items.is_empty() => items.iter().map(Node::to_value).collect(),
        Form::Sequence(_) => {
            faults.add("empty_list", &list.span, format!("`{key}` lists nothing"), "");
            Vec::new()
        }
        _ => {
            faults.wrong_kind(list, format_args!("`{key}` is a list of values"), "");
            Vec::new()
        }
    }
}

fn values(node: &Node<'_>, fields: &Fields<'_, '_>, faults: &Faults) -> Vec<Value> {
    let choices = list_of_values(node, fields, "enum", faults);
    let Some(constant) = said(node, fields, "const") else { return choices };
    if node.get("enum").is_some() {
        faults.push(
            Fault::new(
                "two_of_a_kind",
                fields.key_span("enum"),
                "`const` and `enum` both say which values there are",
            )
            .label(fields.key_span("const"), "the other one is here")
            .help("keep one of them"),
        );
    }
    vec![constant.to_value()]
}

fn alternatives(fields: &Fields<'_, '_>, depth: usize, faults: &Faults) -> Vec<Shape> {
    let Some(node) = fields.take("anyOf") else { return Vec::new() };
    match &node.kind {
        Form::Sequence(items) if !items.is_empty() => {
            items.iter().filter_map(|item| shape(item, depth + 1, faults)).collect()
        }
        Form::Sequence(_) => {
            faults.add("empty_list", &node.span, "`anyOf` lists nothing", "");
            Vec::new()
        }
        _ => {
            faults.wrong_kind(node, "`anyOf` is a list of schemas", "");
            Vec::new()
        }
    }
}

#[cfg(test)]
mod tests;
