//! What becomes of the nodes of a file, as a tree beside theirs.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::files::yaml::{Kind, Node};

/// What becomes of a node.
#[derive(Debug)]
pub(crate) enum Change {
    /// It goes, with its key or dash.
    Remove,
    /// Another value takes its place.
    Replace(Value),
    /// Some of its children change.
    Inside(Inside),
}

/// The changes inside a list or mapping.
#[derive(Debug, Default)]
pub(crate) struct Inside {
    /// By position among the original children.
    pub(crate) children: BTreeMap<usize, Change>,
    /// New entries; items of a list have no key.
    pub(crate) added: Vec<(Option<String>, Value)>,
}

/// Returns what a node says once a change is made.
pub(crate) fn value_after(node: &Node<'_>, change: Option<&Change>) -> Value {
    match change {
        None => node.to_value(),
        Some(Change::Remove) => Value::Null,
        Some(Change::Replace(value)) => value.clone(),
        Some(Change::Inside(inside)) => collection_after(node, inside),
    }
}

/// Returns what a list or mapping says once the changes inside are made.
pub(crate) fn collection_after(node: &Node<'_>, inside: &Inside) -> Value {
    let kept = |index: usize| match inside.children.get(&index) {
        Some(Change::Remove) => None,
        change => Some(change),
    };
    match &node.kind {
        Kind::Sequence(items) => {
            let old = items
                .iter()
                .enumerate()
                .filter_map(|(i, item)| kept(i).map(|c| value_after(item, c)));
            Value::Array(old.chain(inside.added.iter().map(|(_, value)| value.clone())).collect())
        }
        Kind::Mapping(entries) => {
            let old = entries.iter().enumerate().filter_map(|(i, entry)| {
                kept(i).map(|c| (entry.key.text.to_string(), value_after(&entry.value, c)))
            });
            let new = inside
                .added
                .iter()
                .map(|(key, value)| (key.clone().unwrap_or_default(), value.clone()));
            Value::Object(old.chain(new).collect())
        }
        _ => node.to_value(),
    }
}
