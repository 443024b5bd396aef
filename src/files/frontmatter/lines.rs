//! Lines and columns of a text by byte offset: where an entry ends, and which comments are its own.

use std::ops::Range;

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

    /// Returns where the line of an offset begins.
    pub(crate) fn line_start(&self, at: usize) -> usize {
        let before = &self.bytes[self.start..at];
        before
            .iter()
            .rposition(|b| matches!(b, b'\n' | b'\r'))
            .map_or(self.start, |i| self.start + i + 1)
    }

    /// Returns how far into its line an offset is.
    pub(crate) fn column(&self, at: usize) -> usize {
        at - self.line_start(at)
    }

    /// Tells whether only spaces stand before an offset on its line.
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

    /// Goes back over blanks.
    pub(crate) fn before_blanks(&self, mut at: usize) -> usize {
        while at > self.start && matches!(self.bytes[at - 1], b' ' | b'\t') {
            at -= 1;
        }
        at
    }

    /// Tells whether a line break, or the end, is at an offset.
    pub(crate) fn at_break(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b'\n' | b'\r'))
    }

    /// Returns where the line of an offset ends, before its break.
    pub(crate) fn line_end(&self, mut at: usize) -> usize {
        while !self.at_break(at) {
            at += 1;
        }
        at
    }

    /// Skips blanks and the comment after a value, up to the line break; `None` if something else stands there.
    pub(crate) fn rest_of_line(&self, at: usize) -> Option<usize> {
        let mut at = self.skip_blanks(at);
        if self.byte(at) == Some(b'#') {
            at = self.line_end(at);
        }
        self.at_break(at).then_some(at)
    }

    /// Returns where the line after a line break begins.
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

    /// Returns the start of the first line that does not belong to what ends at an offset. Comment lines below belong
    /// to it if they are indented deeper than `floor`; all do if there is none.
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
