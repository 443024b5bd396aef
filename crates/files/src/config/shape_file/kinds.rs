//! The kinds of values that a schema names, each with its keywords and bounds.

use std::ops::Range;

use serde_json::Number;

use super::shape;
use crate::config::decode::{Faults, FieldReader, one_or_many, parse_node};
use crate::yaml::{Fault, Node, NodeKind};
use aof_domain::workflow::shape::{
    Count, Interval, List, ObjectFields, Others, ShapeKind, compare,
};
use aof_domain::{listed, nearest};

/// Each keyword that only one kind of value has, with the word for that kind.
const OF_A_KIND: &[(&str, &str)] = &[
    ("properties", "object"),
    ("required", "object"),
    ("additionalProperties", "object"),
    ("items", "array"),
    ("minItems", "array"),
    ("maxItems", "array"),
    ("minLength", "string"),
    ("maxLength", "string"),
    ("minimum", "number"),
    ("maximum", "number"),
];

/// The words for kinds of values.
const KINDS: &[&str] = &["object", "array", "string", "number", "integer", "boolean", "null"];

/// Returns the kinds of values that a schema names, or that its keywords imply.
pub(crate) fn kinds(
    node: &Node<'_>,
    fields: &FieldReader<'_, '_>,
    depth: usize,
    faults: &Faults,
) -> Vec<ShapeKind> {
    let words = kind_words(fields, faults);
    let mut named: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
    for (keyword, kind) in OF_A_KIND.iter().filter(|(keyword, _)| fields.has(keyword)) {
        let fits = |word: &&str| *word == *kind || (*kind == "number" && *word == "integer");
        if named.iter().any(fits) {
            continue;
        }
        if fields.has("type") {
            // A faulty `type` was reported already; keywords that depend on it cannot be judged.
            if !words.is_empty() {
                let message = format!(
                    "`{keyword}` is for `{kind}`, and `type` does not name it: it would be ignored"
                );
                let help = format!("remove it, or add `{kind}` to `type`");
                fields.fault(keyword, "dead_keyword", message, help);
            }
        } else {
            named.push(kind);
        }
    }
    let object = read_object(node, fields, depth, faults);
    let list = List {
        items: fields.take("items").and_then(|node| shape(node, depth + 1, faults)).map(Box::new),
        length: count(fields, "minItems", "maxItems", faults),
    };
    let text = count(fields, "minLength", "maxLength", faults);
    let range = interval(fields, faults);
    let kind = |word: &str| match word {
        "object" => ShapeKind::Object(object.clone()),
        "array" => ShapeKind::List(list.clone()),
        "string" => ShapeKind::Text(text),
        "number" => ShapeKind::Number(range.clone()),
        "integer" => ShapeKind::Integer(range.clone()),
        "boolean" => ShapeKind::Bool,
        _ => ShapeKind::Null,
    };
    named.into_iter().map(kind).collect()
}

/// Returns the words of `type`, each once, with their places; empty if it is absent.
fn kind_words(fields: &FieldReader<'_, '_>, faults: &Faults) -> Vec<(&'static str, Range<usize>)> {
    let Some(node) = fields.take("type") else {
        if fields.has("type") {
            let help = "for the kind of that name, write `type: \"null\"`";
            fields.fault("type", "invalid_value", "`type` says nothing", help);
        }
        return Vec::new();
    };
    let mut words: Vec<(&'static str, Range<usize>)> = Vec::new();
    for item in one_or_many(node) {
        if item.is_null() {
            let help = "write `\"null\"` with quotes";
            faults.invalid(item, "this says nothing; the kind is a word", help);
            continue;
        }
        let Some(word) = parse_node::<String>(item, "`type` is a word, or a list of words", faults)
        else {
            continue;
        };
        let Some(known) = KINDS.iter().find(|known| **known == word) else {
            let message = format!("`{}` is no kind of value", word.escape_debug());
            let help = synonym(&word).or_else(|| nearest(&word, KINDS.iter().copied()));
            let help = help.map_or_else(
                || format!("it is one of {}", listed(KINDS)),
                |w| format!("did you mean `{w}`?"),
            );
            faults.invalid(item, message, help);
            continue;
        };
        if words.iter().any(|(other, _)| other == known) {
            faults.add("duplicate", &item.span, format!("`{known}` is said twice"), "");
            continue;
        }
        words.push((known, item.span.clone()));
    }
    words
}

fn synonym(word: &str) -> Option<&'static str> {
    Some(match word.to_lowercase().as_str() {
        "text" | "str" => "string",
        "int" | "long" => "integer",
        "float" | "double" | "decimal" => "number",
        "bool" | "flag" => "boolean",
        "list" | "sequence" => "array",
        "map" | "mapping" | "dict" | "record" => "object",
        "none" | "nil" => "null",
        _ => return None,
    })
}

fn read_object(
    node: &Node<'_>,
    fields: &FieldReader<'_, '_>,
    depth: usize,
    faults: &Faults,
) -> ObjectFields {
    let mut object = ObjectFields::default();
    match fields.take("properties").map(|node| (&node.kind, node)) {
        None => {}
        Some((NodeKind::Mapping(entries), _)) => {
            for entry in entries {
                if let Some(shape) = shape(&entry.value, depth + 1, faults) {
                    object.properties.push((entry.key.text.clone().into_owned(), shape));
                }
            }
        }
        Some((_, node)) => {
            faults.wrong_kind(node, "`properties` is a mapping of names and schemas", "");
        }
    }
    let additional = fields.flag("additionalProperties");
    let written = node.get("properties").is_some();
    object.others = match additional {
        Some(true) => Others::Welcome,
        None if !written => Others::Welcome,
        Some(false) => Others::Refused,
        None => Others::LeftOut,
    };
    for item in required(fields) {
        let Some(name) = parse_node::<String>(item, "each of `required` is a name", faults) else {
            continue;
        };
        let declared =
            node.get("properties").is_some_and(|properties| properties.entry(&name).is_some());
        if !declared && object.others != Others::Welcome {
            let message =
                format!("`{}` is required, and `properties` does not have it", name.escape_debug());
            let names: Vec<&str> =
                object.properties.iter().map(|(name, _)| name.as_str()).collect();
            let help = match nearest(&name, names.iter().copied()) {
                Some(name) => format!("did you mean `{name}`?"),
                None => format!("declare it, or require one of {}", listed(&names)),
            };
            faults.add("unknown_field", &item.span, message, help);
        } else if object.requires(&name) {
            let message = format!("`{}` is required twice", name.escape_debug());
            faults.add("duplicate", &item.span, message, "");
        } else {
            object.required.push(name);
        }
    }
    object
}

fn required<'n, 's>(fields: &FieldReader<'n, 's>) -> &'n [Node<'s>] {
    let Some(node) = fields.take("required") else { return &[] };
    if !matches!(node.kind, NodeKind::Sequence(_)) {
        let is_flag = matches!(node.kind, NodeKind::Bool(_));
        let help = "name the fields beside `properties`, as in `required: [branch]`";
        let help = if is_flag { help } else { "" };
        fields.faults.wrong_kind(node, "`required` is a list of names", help);
    }
    node.items()
}

/// Returns the number of nodes of a tree.
pub(crate) fn size(node: &Node<'_>) -> usize {
    let below: usize = match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().map(|entry| size(&entry.value)).sum(),
        NodeKind::Sequence(items) => items.iter().map(size).sum(),
        _ => 0,
    };
    1 + below
}

/// Returns the bounds of a count.
pub(crate) fn count(
    fields: &FieldReader<'_, '_>,
    least: &'static str,
    most: &'static str,
    faults: &Faults,
) -> Count {
    let whole = |key: &'static str| {
        let number = number(fields, key, faults)?;
        // JSON Schema takes 2.0 for 2.
        let float = number.as_f64().filter(|float| *float >= 0.0 && float.fract() == 0.0);
        let whole = number
            .as_u64()
            .or_else(|| float.and_then(|float| format!("{:.0}", float.abs()).parse().ok()));
        if whole.is_none() {
            let message = format!("`{key}` is a whole number from 0, and this is `{number}`");
            let span = fields.take(key).map_or(0..0, |node| node.span.clone());
            faults.add("invalid_value", &span, message, "");
        }
        whole
    };
    let count = Count { least: whole(least), most: whole(most) };
    if let (Some(low), Some(high)) = (count.least, count.most)
        && low > high
    {
        faults.push(upside_down(fields, least, most));
    }
    count
}

/// Returns the bounds of a number.
pub(crate) fn interval(fields: &FieldReader<'_, '_>, faults: &Faults) -> Interval {
    let least = number(fields, "minimum", faults);
    let most = number(fields, "maximum", faults);
    if let (Some(low), Some(high)) = (&least, &most)
        && compare(low, high).is_gt()
    {
        faults.push(upside_down(fields, "minimum", "maximum"));
    }
    Interval { least, most }
}

fn number(fields: &FieldReader<'_, '_>, key: &'static str, faults: &Faults) -> Option<Number> {
    let node = fields.take(key)?;
    if let NodeKind::Number(number) = &node.kind {
        return Some(number.number().clone());
    }
    faults.wrong_kind(node, format_args!("`{key}` is a number"), "");
    None
}

fn upside_down(fields: &FieldReader<'_, '_>, least: &str, most: &str) -> Fault {
    Fault::new(
        "contradiction",
        fields.key_span(most),
        format!("`{most}` is less than `{least}`: no value fits both"),
    )
    .label(fields.key_span(least), format!("`{least}` is here"))
}
