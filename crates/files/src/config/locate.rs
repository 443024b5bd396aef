//! Finds the byte range of a place in the model, to underline it.

use std::ops::Range;

use crate::yaml::{EntryKey, Node, NodeKind, NodeLayout};

/// One step of the path to a value in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// To a key of a mapping.
    Key(String),
    /// To an item of a list, from 0; a single value counts as a list of one.
    Index(usize),
    /// To an id: a key of a mapping, or the item of a list with this `id`.
    Id(String),
}

/// Returns the byte range to show for the value at the path, and the value. For a missing value, the range is its parent's.
pub(crate) fn find<'n, 's>(
    source: &str,
    root: &'n Node<'s>,
    steps: &[Step],
) -> (Range<usize>, Option<&'n Node<'s>>) {
    let mut node = root;
    let mut key = None;
    for step in steps {
        let next = match step {
            Step::Key(name) => node.entry(name).map(|entry| (Some(&entry.key), &entry.value)),
            Step::Index(index) => match &node.kind {
                NodeKind::Sequence(items) => items.get(*index).map(|item| (None, item)),
                _ => Some((key, node)),
            },
            Step::Id(id) => match &node.kind {
                NodeKind::Sequence(items) => {
                    let item =
                        items.iter().find(|item| item.get("id").and_then(Node::as_str) == Some(id));
                    item.map(|item| (None, item))
                }
                _ => node.entry(id).map(|entry| (Some(&entry.key), &entry.value)),
            },
        };
        match next {
            Some((next_key, next_node)) => (key, node) = (next_key, next_node),
            None => return (headline(source, key, node), None),
        }
    }
    (shown(source, key, node), Some(node))
}

/// Returns the byte range of a one-line value, or of its key.
fn shown(source: &str, key: Option<&EntryKey<'_>>, node: &Node<'_>) -> Range<usize> {
    let inline = !matches!(node.layout, NodeLayout::Block | NodeLayout::Absent)
        && !source[node.span.clone()].contains('\n');
    if inline { node.span.clone() } else { headline(source, key, node) }
}

/// Returns the key of a mapping, or the first line of a value without one.
fn headline(source: &str, key: Option<&EntryKey<'_>>, node: &Node<'_>) -> Range<usize> {
    if let Some(key) = key {
        return key.span.clone();
    }
    let Some(first) = node.entries().first() else { return node.span.clone() };
    let end = if source[first.key.span.start..first.value.span.end].contains('\n') {
        first.key.span.end
    } else {
        first.value.span.end
    };
    first.key.span.start..end
}

/// Returns the byte range in the file of a part of a text; `None` if the text is not written literally.
pub(crate) fn within(source: &str, node: &Node<'_>, part: &Range<usize>) -> Option<Range<usize>> {
    let text = node.as_str()?;
    let written = &source[node.span.clone()];
    let offsets = match node.layout {
        NodeLayout::Plain => unfold(text, written, Escapes::None)?,
        NodeLayout::SingleQuoted => unfold(text, unquoted(written)?, Escapes::Quote)?,
        NodeLayout::DoubleQuoted => unfold(text, unquoted(written)?, Escapes::Backslash)?,
        NodeLayout::Literal => literal(text, written)?,
        _ => return None,
    };
    let base = node.span.start
        + usize::from(matches!(node.layout, NodeLayout::SingleQuoted | NodeLayout::DoubleQuoted));
    let at = |offset: usize| offsets.get(offset).map(|at| base + at);
    Some(at(part.start)?..at(part.end)?)
}

#[derive(Clone, Copy)]
enum Escapes {
    None,
    Quote,
    Backslash,
}

fn unquoted(written: &str) -> Option<&str> {
    written.get(1..written.len().checked_sub(1)?)
}

/// Returns the offset in the file for each byte of the text and for its end; `None` if escapes or folds hide characters.
fn unfold(text: &str, written: &str, escapes: Escapes) -> Option<Vec<usize>> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut at = 0;
    for c in text.chars() {
        let rest = &written[at..];
        let width = match escapes {
            Escapes::Quote if c == '\'' && rest.starts_with("''") => 2,
            Escapes::Backslash
                if matches!(c, '"' | '\\')
                    && rest.starts_with('\\')
                    && rest[1..].starts_with(c) =>
            {
                2
            }
            _ if rest.starts_with(c) && c != '\n' => c.len_utf8(),
            _ => return None,
        };
        offsets.extend(std::iter::repeat_n(at, c.len_utf8()));
        at += width;
    }
    offsets.push(at);
    (at == written.len()).then_some(offsets)
}

/// Returns the same offsets as [`unfold`], for a literal block: each line of the text is the end of a line of the file.
fn literal(text: &str, written: &str) -> Option<Vec<usize>> {
    let mut offsets = Vec::with_capacity(text.len() + 1);
    let mut lines = written.split_inclusive('\n');
    let mut end = lines.next()?.len();
    for line in text.split_inclusive('\n') {
        let whole = lines.next().unwrap_or_default();
        let line_text = line.trim_end_matches('\n');
        let visible = whole.trim_end_matches(['\n', '\r']);
        let start = end + visible.strip_suffix(line_text)?.len();
        offsets.extend(start..start + line.len());
        end += whole.len();
    }
    offsets.push(offsets.last().map_or(end, |last| last + 1));
    Some(offsets)
}
