//! Which values can be keys: strings, written out.

use std::borrow::Cow;

use super::error::Fault;
use super::node::{Key, Kind, Layout, Node, Sharing};

/// Returns a node as the key of a mapping, and what is wrong with it as one.
pub(crate) fn into_key<'s>(
    source: &str,
    node: Node<'s>,
    decorated: bool,
) -> (Key<'s>, Option<Fault>) {
    let written = &source[node.span.clone()];
    let fault = match &node.kind {
        Kind::String(text) if node.sharing == Sharing::Alias => Some(
            Fault::new(
                "alias_key",
                node.span.clone(),
                format!("an alias cannot be a key; it stands for `{text}`"),
            )
            .help("write the key out"),
        ),
        Kind::String(text) if text == "<<" && node.layout == Layout::Plain => Some(
            Fault::new("merge_key", node.span.clone(), "merge keys (`<<`) are not supported")
                .help("write the keys out where they are needed"),
        ),
        Kind::String(_) => None,
        // The routes of a condition are called so, and nobody writes quotes around them.
        Kind::Bool(_) if matches!(written, "true" | "false") => None,
        Kind::Sequence(_) | Kind::Mapping(_) => Some(Fault::new(
            "key_not_string",
            node.span.clone(),
            format!("{} cannot be a key", node.noun()),
        )),
        _ => Some(
            Fault::new(
                "key_not_string",
                node.span.clone(),
                format!("the key `{written}` is {}, not a string", node.noun()),
            )
            .help(format!("quote it: `\"{written}\"`")),
        ),
    };
    let text = match node.kind {
        Kind::String(text) => text,
        Kind::Bool(value) => Cow::Borrowed(if value { "true" } else { "false" }),
        _ => Cow::Borrowed(""),
    };
    let key = Key { text, span: node.outer.min(node.span.start)..node.span.end, decorated };
    (key, fault)
}
