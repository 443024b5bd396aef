//! Tags: the core ones may confirm what a value is, others are refused.

use std::borrow::Cow;
use std::ops::Range;

use granit_parser::Tag;

use super::error::Fault;
use super::node::{Kind, Layout};
use super::scalar;

/// Returns what a tagged scalar means. `!!str` makes a string of it; the others must fit what it is anyway.
pub(crate) fn tagged<'s>(
    text: Cow<'s, str>,
    layout: Layout,
    tag: &Tag,
    span: &Range<usize>,
) -> Result<Kind<'s>, Fault> {
    let Some(name) = tag.core_suffix() else {
        return Err(foreign(tag, span));
    };
    let absent = layout == Layout::Absent;
    let text = if absent { Cow::Borrowed("") } else { text };
    if name == "str" {
        return Ok(Kind::String(text));
    }
    let whole = !text.contains(['.', 'e', 'E']);
    let kind =
        if absent || layout == Layout::Plain { scalar::resolve(text) } else { Kind::String(text) };
    let fits = match &kind {
        Kind::Null => name == "null",
        Kind::Bool(_) => name == "bool",
        Kind::Number(_) => (name == "int" && whole) || (name == "float" && !whole),
        _ => false,
    };
    if fits {
        return Ok(kind);
    }
    Err(Fault::new("tag_mismatch", span.clone(), format!("this value is no `!!{name}`"))
        .help("remove the tag, or write a value of that type"))
}

/// Reports a tag that is not supported.
pub(crate) fn foreign(tag: &Tag, span: &Range<usize>) -> Fault {
    let name = format!("{}{}", tag.original_handle(), tag.suffix());
    Fault::new("tag", span.clone(), format!("the tag `{name}` is not supported"))
        .help("remove it; a text that begins with `!` needs quotes")
}
