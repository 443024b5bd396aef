//! The outputs of a gate as people write them: a part of JSON Schema, read from a node tree. All faults are reported.
//!
//! A keyword that would be ignored is a fault: one that is unknown, and one that has no meaning for the kinds that `type` names.
//! Without `type`, keywords imply their kind.

pub(crate) mod kinds;

use std::ops::Range;

use serde_json::Value;

use super::decode::{Faults, FieldReader};
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::workflow::shape::{
    About, DEPTH_LIMIT, NODE_LIMIT, ObjectFields, Others, Outputs, Shape, ShapeKind, Variant,
};
use kinds::{kinds, size};

/// The discriminant of variants.
pub(crate) const STATUS: &str = "$status";

/// Returns the outputs that a gate's `outputs` declare. Faults are in the order in which they are found.
pub fn read(node: &Node<'_>, faults: &Faults) -> Outputs {
    let before = faults.len();
    if size(node) > NODE_LIMIT {
        let message = format!("`outputs` has more than {NODE_LIMIT} nodes");
        faults.add("schema_too_large", &node.span, message, "hand on less, or as a file");
        return Outputs::Open;
    }
    let outputs = if node.entry("oneOf").is_some() {
        read_variants(node, faults)
    } else {
        plain(node, faults)
    };
    // A declaration with faults is refused as a whole; an empty one lets reading go on.
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
        faults.add("misplaced_status", &span, "`$status` tells variants apart, and here there is one shape only", "with one way out, leave it out; else write `oneOf` with one variant for each, as in `- {properties: {$status: {const: approved}}}`");
    }
    Some(Outputs::One(shape))
}

/// Reads the shape of outputs as a whole: an object whose names templates can refer to.
fn top(node: &Node<'_>, faults: &Faults) -> Option<Shape> {
    let mut shape = shape(node, 0, faults)?;
    if let Some(other) = shape.kinds.iter().find(|kind| !matches!(kind, ShapeKind::Object(_))) {
        let span = node.get("type").map_or_else(|| node.span.clone(), |kind| kind.span.clone());
        let message = format!("outputs are an object, and this says `{}`", other.word());
        faults.add("wrong_kind", &span, message, "write `type: object`, or leave `type` out");
    }
    if shape.kinds.is_empty() {
        shape.kinds.push(ShapeKind::Object(ObjectFields {
            others: Others::Welcome,
            ..ObjectFields::default()
        }));
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
    let fields = FieldReader::of(node, "a schema", faults)?;
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

/// Returns advice for a keyword of JSON Schema that aof does not support.
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

fn about(node: &Node<'_>, fields: &FieldReader<'_, '_>, faults: &Faults) -> About {
    About {
        title: fields.text("title"),
        description: fields.text("description"),
        format: fields.text("format"),
        default: value_of(node, fields, "default").map(Node::to_value),
        examples: list_of_values(node, fields, "examples", faults),
    }
}

/// Returns the value of a keyword for which `null` is an ordinary value.
fn value_of<'n, 's>(
    node: &'n Node<'s>,
    fields: &FieldReader<'_, '_>,
    key: &'static str,
) -> Option<&'n Node<'s>> {
    fields.take(key);
    node.get(key)
}

fn list_of_values(
    node: &Node<'_>,
    fields: &FieldReader<'_, '_>,
    key: &'static str,
    faults: &Faults,
) -> Vec<Value> {
    let Some(list) = value_of(node, fields, key) else { return Vec::new() };
    match &list.kind {
        NodeKind::Sequence(items) if !items.is_empty() => {
            items.iter().map(Node::to_value).collect()
        }
        NodeKind::Sequence(_) => {
            faults.add("empty_list", &list.span, format!("`{key}` lists nothing"), "");
            Vec::new()
        }
        _ => {
            faults.wrong_kind(list, format_args!("`{key}` is a list of values"), "");
            Vec::new()
        }
    }
}

fn values(node: &Node<'_>, fields: &FieldReader<'_, '_>, faults: &Faults) -> Vec<Value> {
    let choices = list_of_values(node, fields, "enum", faults);
    let Some(constant) = value_of(node, fields, "const") else { return choices };
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

fn alternatives(fields: &FieldReader<'_, '_>, depth: usize, faults: &Faults) -> Vec<Shape> {
    let Some(node) = fields.take("anyOf") else { return Vec::new() };
    match &node.kind {
        NodeKind::Sequence(items) if !items.is_empty() => {
            items.iter().filter_map(|item| shape(item, depth + 1, faults)).collect()
        }
        NodeKind::Sequence(_) => {
            faults.add("empty_list", &node.span, "`anyOf` lists nothing", "");
            Vec::new()
        }
        _ => {
            faults.wrong_kind(node, "`anyOf` is a list of schemas", "");
            Vec::new()
        }
    }
}

/// Reads `oneOf` at the top of `outputs`: one variant for each way out of the gate, distinguished by `$status: {const: ...}`.
fn read_variants(node: &Node<'_>, faults: &Faults) -> Option<Outputs> {
    let fields = FieldReader::of(node, "a choice of variants", faults)?;
    for key in ["$schema", "title", "description"] {
        fields.text(key);
    }
    if let Some(kind) = fields.take("type").filter(|kind| kind.as_str() != Some("object")) {
        faults.add(
            "wrong_kind",
            &kind.span,
            "outputs are an object",
            "write `type: object`, or nothing",
        );
    }
    let list = fields.take("oneOf");
    fields.refuse_unknown_but(|key| {
        let keyword = ["properties", "required", "additionalProperties", "anyOf"].contains(&key);
        keyword.then(|| "what all variants have is declared in each of them".to_owned())
    });
    let items = match list.map(|list| (list, &list.kind)) {
        Some((_, NodeKind::Sequence(items))) if !items.is_empty() => items,
        Some((list, kind)) if !matches!(kind, NodeKind::Sequence(_)) => {
            faults.wrong_kind(list, "`oneOf` is a list of variants", "");
            return None;
        }
        _ => {
            let span = node
                .entry("oneOf")
                .map_or_else(|| node.span.clone(), |entry| entry.key.span.clone());
            faults.add("empty_list", &span, "`oneOf` lists nothing", "");
            return None;
        }
    };
    let mut variants: Vec<(Variant, Range<usize>)> = Vec::new();
    for item in items {
        let shape = top(item, faults);
        let Some((status, span)) = status(item, faults) else { continue };
        let same = |(known, _): &&(Variant, _)| known.status.eq_ignore_ascii_case(&status);
        if let Some((known, first)) = variants.iter().find(same) {
            let message = if known.status == status {
                format!("there are two variants for `{status}`")
            } else {
                format!(
                    "variants `{}` and `{status}` differ in case only, and case does not count",
                    known.status
                )
            };
            faults.push(
                Fault::new("duplicate_variant", span, message)
                    .label(first.clone(), "the first one is here")
                    .help("make one of them, with `anyOf` for what may differ"),
            );
            continue;
        }
        if let Some(shape) = shape {
            variants.push((Variant { status, shape: without_status(shape) }, span));
        }
    }
    Some(Outputs::Variants(variants.into_iter().map(|(variant, _)| variant).collect()))
}

/// Returns the word that chooses the variant, with its place.
fn status(item: &Node<'_>, faults: &Faults) -> Option<(String, Range<usize>)> {
    let entry = item.get("properties").and_then(|properties| properties.entry(STATUS));
    let missing = |span| {
        Fault::new("missing_status", span, "this variant does not say which way out it is for")
            .help("add `$status: {const: WORD}` to its `properties`")
    };
    let Some(entry) = entry else {
        if matches!(item.kind, NodeKind::Mapping(_)) {
            faults.push(missing(item.first_key()));
        }
        return None;
    };
    if let Some(word) = entry.value.get("const") {
        if let Some(text) = word.as_str().filter(|text| !text.trim().is_empty()) {
            return Some((text.to_owned(), word.span.clone()));
        }
        let fault = Fault::new("missing_status", word.span.clone(), "`$status` is a word");
        faults.push(match word.noun() {
            "a string" | "nothing" => fault,
            _ => fault.help("write it in quotes"),
        });
        return None;
    }
    faults.push(match entry.value.entry("enum") {
        Some(words) => {
            Fault::new("missing_status", words.key.span.clone(), "a variant is for one `$status`")
                .help("write `$status: {const: WORD}`, and a variant for each word")
        }
        None => missing(entry.key.span.clone()),
    });
    None
}

/// Removes the discriminant, since only the other fields are handed on.
fn without_status(mut shape: Shape) -> Shape {
    for kind in &mut shape.kinds {
        if let ShapeKind::Object(fields) = kind {
            fields.properties.retain(|(name, _)| name != STATUS);
            fields.required.retain(|name| name != STATUS);
        }
    }
    shape
}

#[cfg(test)]
pub(crate) mod tests;
