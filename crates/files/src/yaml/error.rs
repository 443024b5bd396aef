//! Faults of a text: the problem, the place, and the fix; and parse limits.

use std::fmt;
use std::ops::Range;

/// One fault of a text, at a byte range of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// A stable name for programs, such as `duplicate_key`.
    pub code: &'static str,
    /// The problem, in one sentence.
    pub message: String,
    /// The place, in bytes of the text that was read.
    pub span: Range<usize>,
    /// A second place that explains the first, such as the first definition of a duplicate key.
    pub label: Option<Label>,
    pub help: Option<String>,
}

/// A second place of a [`Fault`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Label {
    /// The place, in bytes of the text that was read.
    pub span: Range<usize>,
    pub text: String,
}

impl Fault {
    /// Returns a fault without a second place and without help.
    pub fn new(code: &'static str, span: Range<usize>, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, label: None, help: None }
    }

    /// Adds the fix.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Adds a second place.
    #[must_use]
    pub fn label(mut self, span: Range<usize>, text: impl Into<String>) -> Self {
        self.label = Some(Label { span, text: text.into() });
        self
    }

    /// Returns line and column of the fault in the text that was read, both from 1.
    pub fn line_column(&self, source: &str) -> (usize, usize) {
        line_column(source, self.span.start)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Fault {}

/// The limits of parsing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParseLimits {
    /// The deepest nesting of lists and mappings.
    pub depth: usize,
    /// The number of nodes in all, with aliases expanded.
    pub nodes: usize,
    /// The number of nodes from expanded aliases: a few lines can expand to billions.
    pub alias_nodes: usize,
    /// The number of bytes of text in the tree, with aliases expanded.
    pub text: usize,
}

impl Default for ParseLimits {
    fn default() -> Self {
        Self { depth: 64, nodes: 100_000, alias_nodes: 20_000, text: 8 << 20 }
    }
}

/// Returns the fault of a text that is nested too deep.
pub(crate) fn too_deep(span: Range<usize>, depth: usize) -> Fault {
    Fault::new("too_deep", span, format!("more than {depth} levels of lists and mappings"))
}

/// Returns the line and the column (in characters) of a byte offset, both from 1. An offset past the end means the end.
pub fn line_column(source: &str, offset: usize) -> (usize, usize) {
    let before = &source[..source.floor_char_boundary(offset)];
    let line = before.bytes().filter(|&byte| byte == b'\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    // People do not see a byte order mark, so it does not count as a column.
    let column = before[start..].chars().filter(|&c| c != '\u{feff}').count() + 1;
    (line, column)
}

/// The code of the fault for conflict markers, which a merge leaves in a file.
pub(crate) const CONFLICT_MARKERS: &str = "conflict_markers";

/// Returns whether a line is a conflict marker.
pub(crate) fn is_conflict_marker(line: &[u8]) -> bool {
    let bare = line.trim_ascii_end();
    line.starts_with(b"<<<<<<< ")
        || line.starts_with(b">>>>>>> ")
        || line.starts_with(b"||||||| ")
        || bare == b"======="
}

/// Returns the number of the line at an offset, from 1.
pub(crate) fn line_number(bytes: &[u8], offset: usize) -> usize {
    bytes[..offset].split(|&b| b == b'\n').count()
}

/// Returns the fault for the first marker, which is at this range.
pub fn conflicted(bytes: &[u8], marker: Range<usize>) -> Fault {
    let line = line_number(bytes, marker.start);
    let length = bytes[marker.clone()].trim_ascii_end().len();
    let span = marker.start..marker.start + length;
    let lines = bytes.split(|&byte| byte == b'\n');
    let last = lines
        .enumerate()
        .filter(|(_, line)| is_conflict_marker(line))
        .last()
        .map_or(line, |(at, _)| at + 1);
    Fault::new(CONFLICT_MARKERS, span, format!("line {line} is a merge conflict marker")).help(format!(
        "keep what counts of lines {line} to {last}, take the markers out, then `git add` the file and commit"
    ))
}

/// Returns the fault for the markers in a text that could not be read, if it has any. They explain its other faults.
pub(crate) fn conflict_in(text: &str) -> Option<Fault> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        if is_conflict_marker(line.as_bytes()) {
            return Some(conflicted(text.as_bytes(), at..at + line.len()));
        }
        at += line.len();
    }
    None
}
