//! The few lines of a file that a diagnostic shows: visible characters only, long lines cut around the fault.

use std::ops::Range;

use crate::printable::is_printable;
use crate::yaml::{Label, line_column};

/// A file by its lines, which are numbered from 1.
pub struct SourceLines<'s> {
    source: &'s str,
    starts: Vec<usize>,
}

impl<'s> SourceLines<'s> {
    pub fn new(source: &'s str) -> Self {
        let breaks = source.bytes().enumerate().filter(|(_, byte)| *byte == b'\n');
        let starts = std::iter::once(0).chain(breaks.map(|(at, _)| at + 1)).collect();
        Self { source, starts }
    }

    /// Returns line and column (in characters, from 1) of an offset; one past the end means the end.
    pub fn line_column(&self, offset: usize) -> (usize, usize) {
        let at = self.boundary(offset);
        let number = self.number(at);
        let (_, column) = line_column(&self.source[self.start(number)..], at - self.start(number));
        (number, column)
    }

    /// Returns the line of an offset, from 1.
    pub fn line_of(&self, offset: usize) -> usize {
        self.number(self.boundary(offset))
    }

    fn boundary(&self, offset: usize) -> usize {
        self.source.floor_char_boundary(offset)
    }

    fn number(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }

    fn start(&self, number: usize) -> usize {
        self.starts[number - 1]
    }

    /// Returns a line without its end.
    fn line(&self, number: usize) -> &'s str {
        self.source[self.start(number)..].lines().next().unwrap_or_default()
    }
}

/// Lines of a file, with the marked parts.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Excerpt {
    /// The number of the first line.
    pub(crate) first: usize,
    pub(crate) text: String,
    /// The place of the fault in `text`.
    pub(crate) mark: Range<usize>,
    /// A second place in `text`, and the text for it.
    pub(crate) label: Option<(Range<usize>, String)>,
}

/// The number of characters of a long line that are shown before the mark, and in all.
const BEFORE: usize = 40;
const LONGEST_LINE: usize = 120;
/// The longest message, in characters.
const LONGEST_TEXT: usize = 600;
/// The largest distance of two marks at which the lines between them are shown.
const FEW_LINES: usize = 4;

impl Excerpt {
    /// Returns the excerpt for these bytes of the file; `None` if the file is empty.
    pub(crate) fn new(
        text: &SourceLines<'_>,
        span: &Range<usize>,
        label: Option<&Label>,
    ) -> Option<Self> {
        let marked = Line::around(text, span)?;
        let one_line = |line: Line, label| Self {
            first: line.number,
            text: line.text,
            mark: line.mark,
            label,
        };
        let Some(label) = label else { return Some(one_line(marked, None)) };
        let other = Line::around(text, &label.span)?;
        let label = visible_text(&label.text);
        if other.number == marked.number {
            // One line shows both only if it is shown from its beginning for both.
            let label = (other.text == marked.text).then_some((other.mark, label));
            return Some(one_line(marked, label));
        }
        let marked_first = marked.number < other.number;
        let (above, below) = if marked_first { (&marked, &other) } else { (&other, &marked) };
        let mut shown = above.text.clone();
        let few = below.number - above.number <= FEW_LINES;
        for number in above.number + 1..below.number {
            shown.push('\n');
            if few {
                shown.push_str(&Line::cut(text.line(number), &(0..0)).text);
            }
        }
        shown.push('\n');
        let shift = shown.len();
        shown.push_str(&below.text);
        let shifted = below.mark.start + shift..below.mark.end + shift;
        let (mark, other) = if marked_first {
            (above.mark.clone(), shifted)
        } else {
            (shifted, above.mark.clone())
        };
        Some(Self { first: above.number, text: shown, mark, label: Some((other, label)) })
    }

    /// Returns the number of the last line.
    pub(crate) fn last(&self) -> usize {
        self.first + self.text.matches('\n').count()
    }
}

struct Line {
    number: usize,
    text: String,
    mark: Range<usize>,
}

impl Line {
    /// Returns the line in which the span begins, marked as far as the span reaches in it.
    fn around(text: &SourceLines<'_>, span: &Range<usize>) -> Option<Self> {
        if text.source.is_empty() {
            return None;
        }
        let at = text.boundary(span.start);
        let number = text.number(at);
        let line = text.line(number);
        let start = (at - text.start(number)).min(line.len());
        let end = span.end.saturating_sub(text.start(number)).clamp(start, line.len());
        Some(Self { number, ..Self::cut(line, &(start..end)) })
    }

    /// Returns the part of the line around the mark.
    fn cut(line: &str, mark: &Range<usize>) -> Self {
        let before = line[..mark.start.min(line.len())].chars().count();
        let all = line.chars().count();
        let from = if all <= LONGEST_LINE || before <= LONGEST_LINE - BEFORE {
            0
        } else {
            before - BEFORE
        };
        let mut text = if from > 0 { "…".to_owned() } else { String::new() };
        let (mut start, mut end) = (None, None);
        for (offset, c) in line.char_indices().skip(from).take(LONGEST_LINE) {
            if offset >= mark.start {
                start.get_or_insert(text.len());
            }
            if offset >= mark.end {
                end.get_or_insert(text.len());
            }
            text.push(visible(c));
        }
        let (start, end) = (start.unwrap_or(text.len()), end.unwrap_or(text.len()));
        if all > from + LONGEST_LINE {
            text.push('…');
        }
        Self { number: 0, text, mark: start..end.max(start) }
    }
}

/// Returns the character, or a replacement if it is invisible or would reverse the line.
fn visible(c: char) -> char {
    if c == '\t' || is_visible(c) { c } else { char::REPLACEMENT_CHARACTER }
}

fn is_visible(c: char) -> bool {
    is_printable(c) && !matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}')
}

/// Returns a text that is safe to print in a terminal: invisible characters are spelled out, and the text is cut.
pub fn visible_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len().min(LONGEST_TEXT));
    for (index, c) in text.chars().enumerate() {
        if index == LONGEST_TEXT {
            out.push('…');
            break;
        }
        if is_visible(c) {
            out.push(c);
        } else {
            out.extend(c.escape_default());
        }
    }
    out
}
