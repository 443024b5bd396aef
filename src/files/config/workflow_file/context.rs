//! What a workflow says of its tasks' context.

use crate::domain::{ContextRules, Map};
use crate::files::config::decode::{Fields, wrong_kind};
use crate::files::yaml::{Fault, Kind, Node};

pub(crate) fn read(node: &Node<'_>, faults: &mut Vec<Fault>) -> ContextRules {
    let Some(mut fields) = Fields::of(node, "`context`", faults) else {
        return ContextRules::default();
    };
    let input = fields.take("input").map(|node| read_input(node, faults));
    let protected = fields.list("protected", faults);
    let max_bytes = fields.take("maxBytes").and_then(|node| read_bytes(node, faults));
    fields.refuse_unknown(faults);
    ContextRules { input, protected, max_bytes: max_bytes.unwrap_or(ContextRules::DEFAULT_BYTES) }
}

fn read_input(node: &Node<'_>, faults: &mut Vec<Fault>) -> Map {
    let mut input = Map::new();
    match &node.kind {
        Kind::Mapping(entries) => {
            for entry in entries {
                let name = entry.key.text.as_ref();
                let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'));
                if name.is_empty() || name.len() > 64 || !plain {
                    let message = format!("`{}` is no name for an input", name.escape_debug());
                    let fault = Fault::new("invalid_value", entry.key.span.clone(), message);
                    faults
                        .push(fault.help("use letters, digits, `_` and `-`, at most 64: templates call it `{{name}}`"));
                } else {
                    input.insert(name.to_owned(), entry.value.to_value());
                }
            }
        }
        _ => faults.push(
            wrong_kind(node, "`input` is a mapping of names and defaults")
                .help("write `input: {branch: main, repo: null}`; null is for what must be said when a task is made"),
        ),
    }
    input
}

fn read_bytes(node: &Node<'_>, faults: &mut Vec<Fault>) -> Option<usize> {
    if let Kind::Number(number) = &node.kind
        && let Some(bytes) = number
            .number()
            .as_u64()
            .and_then(|bytes| usize::try_from(bytes).ok())
            .filter(|bytes| *bytes > 0)
    {
        return Some(bytes);
    }
    faults.push(wrong_kind(node, "`maxBytes` is a number of bytes from 1"));
    None
}
