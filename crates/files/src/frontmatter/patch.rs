//! Replacements of byte ranges, applied in one go; the lines for finding them; and the reasons why a file is not changed.

use std::ops::Range;

use thiserror::Error;

/// The reason why a file was left unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SpliceRefusal {
    /// The edit would change a value that is written once and used in several places.
    #[error(
        "`{path}` on line {line} is shared by an anchor or alias (`&`, `*`); write the value out first"
    )]
    Shared { path: String, line: usize },
    /// The edit expects something else at this place.
    #[error("`{path}` on line {line} is {found}, not {expected}")]
    Shape { path: String, line: usize, found: &'static str, expected: &'static str },
    /// A list is shorter than the edit assumes.
    #[error("`{path}` does not exist: the list ends after {length}")]
    OutOfRange { path: String, length: usize },
    /// The place is written in a way that cannot be changed without touching its surroundings.
    #[error("line {line} cannot be changed in place: {reason}")]
    Layout { line: usize, reason: &'static str },
    /// The changed text does not have the intended values, so it was discarded.
    #[error("the edit of {paths} was not made: {reason}")]
    Unverified { paths: String, reason: String },
}

impl SpliceRefusal {
    /// Returns a stable name for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Shared { .. } => "frontmatter_shared",
            Self::Shape { .. } => "frontmatter_shape",
            Self::OutOfRange { .. } => "frontmatter_out_of_range",
            Self::Layout { .. } => "frontmatter_layout",
            Self::Unverified { .. } => "frontmatter_unverified",
        }
    }
}

/// The result of an edit.
pub(crate) type EditResult = Result<(), SpliceRefusal>;

/// Replacements, in any order, of parts of one text.
#[derive(Default)]
pub(crate) struct Patches(Vec<(Range<usize>, String)>);

impl Patches {
    pub(crate) fn insert(&mut self, at: usize, text: impl Into<String>) {
        self.replace(at..at, text);
    }

    pub(crate) fn delete(&mut self, range: Range<usize>) {
        self.replace(range, "");
    }

    pub(crate) fn replace(&mut self, range: Range<usize>, text: impl Into<String>) {
        let text = text.into();
        if !(range.is_empty() && text.is_empty()) {
            self.0.push((range, text));
        }
    }

    /// Returns the text with all replacements made, their line breaks written as `newline`; `None` if one overlaps an earlier one
    /// that is not a deletion.
    pub(crate) fn apply(mut self, source: &str, newline: &str) -> Option<String> {
        // The sort is stable: of two insertions at one place, the earlier one comes first.
        self.0.sort_by_key(|(range, _)| (range.start, range.end));
        let mut out = String::with_capacity(source.len() * 2);
        let mut at = 0;
        let mut deleted = false;
        for (range, text) in self.0 {
            // Deletions on both sides may include the same blank lines, and a new entry may begin among those.
            let start = if deleted { range.start.max(at) } else { range.start };
            deleted = text.is_empty();
            out.push_str(source.get(at..start)?);
            out.push_str(&text.replace('\n', newline));
            at = range.end.max(start);
        }
        out.push_str(source.get(at..)?);
        Some(out)
    }
}

/// The frontmatter as lines.
#[derive(Clone, Copy)]
pub(crate) struct Lines<'a> {
    bytes: &'a [u8],
    start: usize,
    end: usize,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str, yaml: &Range<usize>) -> Self {
        Self { bytes: text.as_bytes(), start: yaml.start, end: yaml.end }
    }

    pub(crate) fn byte(&self, at: usize) -> Option<u8> {
        if at < self.end { Some(self.bytes[at]) } else { None }
    }

    /// Returns the start of the line at an offset.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        let before = &self.bytes[self.start..at];
        before
            .iter()
            .rposition(|b| matches!(b, b'\n' | b'\r'))
            .map_or(self.start, |i| self.start + i + 1)
    }

    /// Returns the column of an offset in its line.
    pub(crate) fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// Returns whether only spaces come before an offset on its line.
    pub(crate) fn begins_line(&self, at: usize) -> bool {
        self.bytes[self.line_start(at)..at].iter().all(|&b| b == b' ')
    }

    /// Skips blanks.
    pub(crate) fn skip_blanks(&self, mut at: usize) -> usize {
        while matches!(self.byte(at), Some(b' ' | b'\t')) {
            at += 1;
        }
        at
    }

    /// Moves back over blanks.
    pub(crate) fn before_blanks(&self, mut at: usize) -> usize {
        while at > self.start && matches!(self.bytes[at - 1], b' ' | b'\t') {
            at -= 1;
        }
        at
    }

    /// Returns whether a line break, or the end, is at an offset.
    pub(crate) fn at_break(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b'\n' | b'\r'))
    }

    /// Returns the end of the line at an offset, before its break.
    pub(crate) fn line_end(&self, mut at: usize) -> usize {
        while !self.at_break(at) {
            at += 1;
        }
        at
    }

    /// Skips blanks and the comment after a value, up to the line break; `None` if there is something else.
    pub(crate) fn rest_of_line(&self, at: usize) -> Option<usize> {
        let mut at = self.skip_blanks(at);
        if self.byte(at) == Some(b'#') {
            at = self.line_end(at);
        }
        self.at_break(at).then_some(at)
    }

    /// Returns the start of the line after a line break.
    pub(crate) fn after_break(&self, at: usize) -> usize {
        match self.byte(at) {
            Some(b'\r') if self.byte(at + 1) == Some(b'\n') => at + 2,
            Some(_) => at + 1,
            None => at,
        }
    }

    /// Skips lines with nothing but blanks.
    pub(crate) fn skip_blank_lines(&self, mut at: usize) -> usize {
        while at < self.end && self.at_break(self.skip_blanks(at)) {
            at = self.after_break(self.skip_blanks(at));
        }
        at
    }

    /// Skips line breaks, blanks and comments.
    pub(crate) fn skip_trivia(&self, mut at: usize) -> usize {
        loop {
            at = self.skip_blanks(at);
            match self.byte(at) {
                Some(b'#') => at = self.line_end(at),
                Some(b'\n' | b'\r') => at += 1,
                _ => return at,
            }
        }
    }

    /// Returns the start of the first line that does not belong to the value that ends at an offset. Comment lines below belong to
    /// it if they are indented deeper than `floor`; all do if there is none.
    pub(crate) fn below(&self, end: usize, floor: Option<usize>) -> Option<usize> {
        let mut below = self.after_break(self.rest_of_line(end)?);
        let mut at = below;
        while at < self.end {
            let text = self.skip_blanks(at);
            let comment = self.byte(text) == Some(b'#');
            if !(comment || self.at_break(text))
                || (comment && floor.is_some_and(|floor| text - at <= floor))
            {
                break;
            }
            at = self.after_break(self.rest_of_line(text)?);
            if comment {
                below = at;
            }
        }
        Some(below)
    }
}
