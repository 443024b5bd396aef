//! What a workflow says of its tasks' context.

use crate::domain::{ContextRules, Map};
use crate::files::config::decode::{Faults, Fields};
use crate::files::yaml::{Kind, Node};

pub(crate) fn read(node: &Node<'_>, faults: &Faults) -> ContextRules {
    let fields = Fields::of(node, "`context`", faults);
    let Some(fields) = fields else { return ContextRules::default() };
    let input = fields.with("input", read_input);
    let protected = fields.list("protected");
    let max_bytes = fields.with("maxBytes", read_bytes).flatten();
    fields.refuse_unknown();
    ContextRules { input, protected, max_bytes: max_bytes.unwrap_or(ContextRules::DEFAULT_BYTES) }
}

fn read_input(node: &Node<'_>, faults: &Faults) -> Map {
    if !matches!(node.kind, Kind::Mapping(_)) {
        let help = "write `input: {branch: main, repo: null}`; null is for what must be said when a task is made";
        faults.wrong_kind(node, "`input` is a mapping of names and defaults", help);
    }
    let mut input = Map::new();
    for entry in node.entries() {
        let name = entry.key.text.as_ref();
        let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
        if name.is_empty() || name.len() > 64 || !is_plain {
            let message = format!("`{}` is no name for an input", name.escape_debug());
            let help = "use letters, digits, `_` and `-`, at most 64: templates call it `{{name}}`";
            faults.add("invalid_value", &entry.key.span, message, help);
        } else {
            input.insert(name.to_owned(), entry.value.to_value());
        }
    }
    input
}

fn read_bytes(node: &Node<'_>, faults: &Faults) -> Option<usize> {
    let bytes = match &node.kind {
        Kind::Number(number) => number.number().as_u64().and_then(|bytes| bytes.try_into().ok()),
        _ => None,
    };
    let bytes = bytes.filter(|bytes| *bytes > 0);
    if bytes.is_none() {
        faults.wrong_kind(node, "`maxBytes` is a number of bytes from 1", "");
    }
    bytes
}
