//! `oneOf` at the top of `outputs`: one variant for each way out of the gate, told apart by `$status: {const: ...}`.

use super::{STATUS, top};
use crate::domain::workflow::shape::{Kind, Outputs, Shape, Variant};
use crate::files::config::decode::{Faults, Fields};
use crate::files::yaml::node::Kind as Form;
use crate::files::yaml::{Fault, Node};

pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> Option<Outputs> {
    let fields = Fields::of(node, "a choice of variants", faults)?;
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
        Some((_, Form::Sequence(items))) if !items.is_empty() => items,
        Some((list, kind)) if !matches!(kind, Form::Sequence(_)) => {
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
    let mut variants: Vec<(Variant, std::ops::Range<usize>)> = Vec::new();
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
fn status(item: &Node<'_>, faults: &Faults) -> Option<(String, std::ops::Range<usize>)> {
    let entry = item.get("properties").and_then(|properties| properties.entry(STATUS));
    let missing = |span| {
        Fault::new("missing_status", span, "this variant does not say which way out it is for")
            .help("add `$status: {const: WORD}` to its `properties`")
    };
    let Some(entry) = entry else {
        if matches!(item.kind, Form::Mapping(_)) {
            let start = item
                .entries()
                .first()
                .map_or_else(|| item.span.clone(), |entry| entry.key.span.clone());
            faults.push(missing(start));
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

/// Removes the discriminant: the rest is what is handed on.
fn without_status(mut shape: Shape) -> Shape {
    for kind in &mut shape.kinds {
        if let Kind::Object(fields) = kind {
            fields.properties.retain(|(name, _)| name != STATUS);
            fields.required.retain(|name| name != STATUS);
        }
    }
    shape
}
