//! Finds the frontmatter of a file. Reads bytes, and changes none.

use std::borrow::Cow;
use std::ops::Range;

use crate::yaml;
use crate::yaml::{
    Fault, Node, NodeKind, NodeLayout, ParseLimits, conflicted, is_conflict_marker, line_number,
};

/// The largest file that is read.
pub(crate) const MAX_FILE: usize = 16 << 20;
/// The largest frontmatter that is read.
pub(crate) const MAX_FRONTMATTER: usize = 1 << 20;

const BOM: &[u8] = b"\xef\xbb\xbf";

/// The parts of a file with frontmatter; side by side they are the whole file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Split {
    /// The byte order mark, usually empty.
    pub bom: Range<usize>,
    /// The opening `---` with its line break.
    pub open: Range<usize>,
    /// The YAML between the fences.
    pub yaml: Range<usize>,
    /// The closing `---` with its line break, if it has one.
    pub close: Range<usize>,
    pub body: Range<usize>,
}

/// A file with its parsed frontmatter: the text, and the tree that was read from it. The two cannot be separated.
#[derive(Debug, Clone, PartialEq)]
pub struct Frontmatter<'s> {
    pub(crate) text: Cow<'s, str>,
    pub(crate) split: Split,
    /// Always a mapping; spans are those of the file.
    pub(crate) root: Node<'s>,
}

impl<'s> Frontmatter<'s> {
    /// Returns the whole file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the frontmatter, which is always a mapping; spans are those of the file.
    pub fn root(&self) -> &Node<'s> {
        &self.root
    }

    /// Returns the Markdown after the frontmatter.
    pub fn body(&self) -> &str {
        &self.text[self.split.body.clone()]
    }

    /// Returns everything from the closing fence on: that line, and the body.
    pub fn rest(&self) -> &str {
        &self.text[self.split.close.start..]
    }

    /// Returns the line of the closing fence, with its break if it has one.
    pub fn close(&self) -> &str {
        &self.text[self.split.close.clone()]
    }

    /// Returns the file with a text of its own.
    pub fn into_owned(self) -> Frontmatter<'static> {
        Frontmatter {
            text: self.text.into_owned().into(),
            split: self.split,
            root: self.root.into_owned(),
        }
    }
}

/// Finds the parts of a file.
pub fn split(bytes: &[u8]) -> Result<Split, Fault> {
    if bytes.len() > MAX_FILE {
        return Err(oversize("the file", bytes.len(), MAX_FILE, 0));
    }
    let bom = 0..if bytes.starts_with(BOM) { BOM.len() } else { 0 };
    let open = line(bytes, bom.end);
    if is_conflict_marker(&bytes[open.clone()]) {
        return Err(conflicted(bytes, open));
    }
    if !is_fence(&bytes[open.clone()]) {
        return Err(Fault::new("no_frontmatter", open, "the file does not begin with frontmatter")
            .help("the first line must be exactly `---`"));
    }
    let mut at = open.end;
    let mut conflict = None;
    let close = loop {
        let next = line(bytes, at);
        if next.is_empty() {
            return Err(unclosed(bytes, open, conflict));
        }
        if is_fence(&bytes[next.clone()]) {
            break next;
        }
        if conflict.is_none() && is_conflict_marker(&bytes[next.clone()]) {
            conflict = Some(next.clone());
        }
        at = next.end;
    };
    let yaml = open.end..close.start;
    if yaml.len() > MAX_FRONTMATTER {
        return Err(oversize("the frontmatter", yaml.len(), MAX_FRONTMATTER, yaml.start));
    }
    if let Some(marker) = conflict {
        return Err(conflicted(bytes, marker));
    }
    let body = close.end..bytes.len();
    Ok(Split { bom, open, yaml, close, body })
}

/// Finds the parts of a file and reads its frontmatter, within the default limits.
pub fn parse(bytes: &[u8]) -> Result<Frontmatter<'_>, Vec<Fault>> {
    parse_with(bytes, &ParseLimits::default())
}

/// Finds the parts of a file and reads its frontmatter.
pub fn parse_with<'s>(
    bytes: &'s [u8],
    limits: &ParseLimits,
) -> Result<Frontmatter<'s>, Vec<Fault>> {
    let split = split(bytes).map_err(|fault| vec![fault])?;
    let text =
        std::str::from_utf8(bytes).map_err(|error| vec![not_utf8(bytes, error.valid_up_to())])?;
    let mut root = yaml::parse_within(text, split.yaml.clone(), limits)?;
    if root.is_null() && root.layout == NodeLayout::Absent {
        root.kind = NodeKind::Mapping(Vec::new());
    }
    if !matches!(root.kind, NodeKind::Mapping(_)) {
        let noun = root.noun();
        return Err(vec![
            Fault::new(
                "not_a_mapping",
                root.span,
                format!("the frontmatter is {noun}, not a mapping"),
            )
            .help("write it as `key: value` lines"),
        ]);
    }
    Ok(Frontmatter { text: Cow::Borrowed(text), split, root })
}

/// Returns the line that begins at an offset, with its break; empty at the end.
fn line(bytes: &[u8], start: usize) -> Range<usize> {
    let length =
        bytes[start..].iter().position(|&b| b == b'\n').map_or(bytes.len() - start, |at| at + 1);
    start..start + length
}

fn is_fence(line: &[u8]) -> bool {
    line.strip_prefix(b"---").is_some_and(|rest| rest.iter().all(|b| b" \t\r\n".contains(b)))
}

fn unclosed(bytes: &[u8], open: Range<usize>, conflict: Option<Range<usize>>) -> Fault {
    if let Some(marker) = conflict {
        return conflicted(bytes, marker);
    }
    Fault::new("unclosed_frontmatter", open, "the frontmatter opened on line 1 is never closed")
        .help("add a line that is exactly `---` after the last key")
}

fn not_utf8(bytes: &[u8], at: usize) -> Fault {
    let line = line_number(bytes, at);
    Fault::new(
        "not_utf8",
        at..at + 1,
        format!("line {line} is not valid UTF-8 (byte {at} of the file)"),
    )
    .help("save the file as UTF-8")
}

fn oversize(what: &str, size: usize, most: usize, at: usize) -> Fault {
    let most = most >> 20;
    Fault::new("too_large", at..at, format!("{what} has {size} bytes; at most {most} MiB are read"))
        .help("move the bulk into a file of its own and name that file")
}
