//! Texts in columns of the terminal: cut and wrapped by their width, and made harmless.

use ratatui::style::Style;
use ratatui::text::Span;
use unicode_width::UnicodeWidthStr;

use crate::files::printable::{inert, one_line};

/// Returns the parts of a text that a terminal shows as one character, each with its width.
fn graphemes(text: &str) -> Vec<(String, usize)> {
    let span = Span::raw(text);
    let parts = span.styled_graphemes(Style::default());
    parts.map(|part| (part.symbol.to_owned(), part.symbol.width())).collect()
}

/// Returns the text as one harmless line, at most `room` wide; `…` stands for what is cut off.
pub(super) fn cut(text: &str, room: usize) -> String {
    fitted(&one_line(text), room)
}

/// Returns a line that is harmless already, at most `room` wide.
pub(super) fn fitted(line: &str, room: usize) -> String {
    if line.width() <= room {
        return line.to_owned();
    }
    let (mut kept, mut used) = (String::new(), 0);
    for (part, width) in graphemes(line) {
        if used + width + 1 > room {
            break;
        }
        kept.push_str(&part);
        used += width;
    }
    if room > 0 {
        kept.push('…');
    }
    kept
}

/// Returns a line `room` wide, with one text at the left and one at the right. The left one is cut if both do not fit.
pub(super) fn both_ends(left: &str, right: &str, room: usize) -> String {
    let right = cut(right, room);
    let left = cut(left, room.saturating_sub(right.width() + 1));
    let gap = room.saturating_sub(left.width() + right.width());
    format!("{left}{}{right}", " ".repeat(gap))
}

/// Returns a text with blanks up to a width, at its end or at its beginning.
pub(super) fn padded(text: &str, room: usize, is_right: bool) -> String {
    let gap = " ".repeat(room.saturating_sub(text.width()));
    if is_right { format!("{gap}{text}") } else { format!("{text}{gap}") }
}

/// Returns the lines of a text, made harmless, without tabs.
pub(super) fn lines(text: &str) -> Vec<String> {
    inert(text).lines().map(|line| line.replace('\t', "    ")).collect()
}

/// Returns a line as lines at most `room` wide. Breaks at blanks; later lines keep the indent of the first.
pub(super) fn wrapped(line: &str, room: usize) -> Vec<String> {
    let room = room.max(8);
    if line.width() <= room {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let indent = if indent < room / 2 { " ".repeat(indent) } else { String::new() };
    let mut rows = Vec::new();
    // `blank` is the point where the row can be broken: after the last blank in it.
    let (mut row, mut used, mut blank) = (String::new(), 0, None);
    for (part, width) in graphemes(line) {
        if used + width > room {
            let at = blank.filter(|at| *at > indent.len()).unwrap_or(row.len());
            let rest = row.split_off(at);
            rows.push(row.trim_end().to_owned());
            row = format!("{indent}{rest}");
            used = row.width();
            blank = None;
        }
        row.push_str(&part);
        used += width;
        if part == " " && !row.trim().is_empty() {
            blank = Some(row.len());
        }
    }
    rows.push(row);
    rows
}

/// Returns a typed text as rows of exactly filled width, with the row and the column of the cursor.
pub(super) fn typed_rows(text: &str, cursor: usize, room: usize) -> (Vec<String>, (usize, usize)) {
    let room = room.max(4);
    let (mut rows, mut used, mut at, mut place) = (vec![String::new()], 0, 0, None);
    for line in text.split('\n') {
        if at > 0 {
            rows.push(String::new());
            used = 0;
        }
        for (part, width) in graphemes(line) {
            if used + width > room {
                rows.push(String::new());
                used = 0;
            }
            if place.is_none() && at >= cursor {
                place = Some((rows.len() - 1, used));
            }
            if let Some(row) = rows.last_mut() {
                row.push_str(&inert(&part));
            }
            used += width;
            at += part.len();
        }
        if place.is_none() && at >= cursor {
            place = Some((rows.len() - 1, used));
        }
        at += 1;
    }
    let end = (rows.len() - 1, used);
    (rows, place.unwrap_or(end))
}
