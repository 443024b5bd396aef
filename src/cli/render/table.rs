//! Tables: columns aligned by display width, and cut to the width of the terminal.

use std::borrow::Cow;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::{BOLD, styled};
use crate::files::printable::{is_one_line, one_line};

/// The space between two columns.
const GAP: usize = 2;
/// The least width of a column that may be cut.
const NARROWEST: usize = 16;
/// The greatest width of a column that may be cut, even if lines may be of any length.
const WIDEST: usize = 160;

/// A table of rows. Empty columns are shown only if they were asked for.
pub(crate) struct Table<'a, R> {
    rows: &'a [R],
    columns: Vec<Column<'a, R>>,
    /// Headings of groups, each with the number of the row below it.
    headings: Vec<(usize, String)>,
}

/// A column: its title, and its cell in a row.
struct Column<'a, R> {
    title: String,
    cell: Box<dyn Fn(&R) -> Cell + 'a>,
    is_right_aligned: bool,
    may_be_cut: bool,
    is_asked_for: bool,
    /// The rank: if there is little room, the column of the lowest rank is left out first; those without a rank stay.
    rank: Option<u8>,
}

/// A text in a row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> Self {
        let mut text = text.to_string();
        if !is_one_line(&text) {
            text = one_line(&text);
        }
        Self { text, style }
    }
}

impl<T: std::fmt::Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

impl<'a, R> Table<'a, R> {
    pub(crate) fn new(rows: &'a [R]) -> Self {
        Self { rows, columns: Vec::new(), headings: Vec::new() }
    }

    /// Adds a column of words.
    pub(crate) fn left(mut self, title: impl Into<String>, cell: impl Fn(&R) -> Cell + 'a) -> Self {
        self.columns.push(Column {
            title: title.into(),
            cell: Box::new(cell),
            is_right_aligned: false,
            may_be_cut: false,
            is_asked_for: false,
            rank: None,
        });
        self
    }

    /// Adds a column of numbers.
    pub(crate) fn right(self, title: impl Into<String>, cell: impl Fn(&R) -> Cell + 'a) -> Self {
        self.left(title, cell).last(|column| column.is_right_aligned = true)
    }

    /// Adds a column of long texts, which may be cut.
    pub(crate) fn long(self, title: impl Into<String>, cell: impl Fn(&R) -> Cell + 'a) -> Self {
        self.left(title, cell).last(|column| column.may_be_cut = true)
    }

    /// Allows the last column to be left out if there is little room.
    pub(crate) fn extra(self, rank: u8) -> Self {
        self.last(|column| column.rank = Some(rank))
    }

    /// Shows the last column even if it is empty, or if there is little room.
    pub(crate) fn asked_for(self) -> Self {
        self.last(|column| (column.is_asked_for, column.rank) = (true, None))
    }

    /// Divides the rows into groups, by headings above rows.
    pub(crate) fn grouped(self, headings: Vec<(usize, String)>) -> Self {
        Self { headings, ..self }
    }

    fn last(mut self, change: impl Fn(&mut Column<'a, R>)) -> Self {
        self.columns.last_mut().into_iter().for_each(change);
        self
    }

    /// Returns the lines, none longer than `width` if that is possible.
    pub(crate) fn render(&self, width: usize) -> String {
        // Row by row, because the rows of a long list are far apart in memory.
        let mut texts: Vec<Texts> = self.columns.iter().map(|_| Texts::default()).collect();
        for row in self.rows {
            for (column, texts) in self.columns.iter().zip(&mut texts) {
                texts.push(&(column.cell)(row));
            }
        }
        let mut shown = Vec::new();
        for (column, texts) in self.columns.iter().zip(texts) {
            if texts.widest > 0 || column.is_asked_for {
                let widest = texts.widest.max(column.title.width());
                let widest = if column.may_be_cut { widest.min(WIDEST) } else { widest };
                shown.push((column, texts, widest));
            }
        }
        let total = |shown: &[(&Column<'_, R>, Texts, usize)], least: bool| {
            let widths = shown.iter().map(|(column, _, width)| {
                if least && column.may_be_cut { NARROWEST.min(*width) } else { *width }
            });
            widths.sum::<usize>() + GAP * shown.len().saturating_sub(1)
        };
        while total(&shown, true) > width {
            let ranked = (0..shown.len()).filter(|at| shown[*at].0.rank.is_some());
            let Some(lowest) = ranked.min_by_key(|at| shown[*at].0.rank) else { break };
            shown.remove(lowest);
        }
        let mut over = total(&shown, false).saturating_sub(width);
        for (_, _, width) in shown.iter_mut().rev().filter(|(column, ..)| column.may_be_cut) {
            let less = over.min(width.saturating_sub(NARROWEST));
            *width -= less;
            over -= less;
        }
        let mut text = String::new();
        let titles = shown.iter().map(|(column, _, width)| {
            (column.is_right_aligned, column.title.as_str(), BOLD, *width)
        });
        push_line(&mut text, titles);
        for row in 0..self.rows.len() {
            for (_, heading) in self.headings.iter().filter(|(above, _)| *above == row) {
                text.push_str(&format!("\n{heading}\n"));
            }
            let cells = shown.iter().map(|(column, texts, width)| {
                let (text, style) = texts.get(row);
                (column.is_right_aligned, text, style, *width)
            });
            push_line(&mut text, cells);
        }
        text
    }
}

/// The texts of a column, one after the other.
#[derive(Default)]
struct Texts {
    all: String,
    /// The end of each text, and its style.
    ends: Vec<(usize, Style)>,
    widest: usize,
}

impl Texts {
    fn push(&mut self, cell: &Cell) {
        self.all.push_str(&cell.text);
        self.ends.push((self.all.len(), cell.style));
        self.widest = self.widest.max(columns(&cell.text));
    }

    fn get(&self, row: usize) -> (&str, Style) {
        let start = if row > 0 { self.ends[row - 1].0 } else { 0 };
        let (end, style) = self.ends[row];
        (&self.all[start..end], style)
    }
}

/// Adds a line of texts, each with its style and the width of its column.
fn push_line<'c>(line: &mut String, cells: impl Iterator<Item = (bool, &'c str, Style, usize)>) {
    // The space to the left of the next text.
    let mut space = 0;
    for (place, (is_right_aligned, text, style, width)) in cells.enumerate() {
        let text = cut(text, width);
        let left = width.saturating_sub(columns(&text));
        space += if place > 0 { GAP } else { 0 };
        space += if is_right_aligned { left } else { 0 };
        if !text.is_empty() {
            line.extend(std::iter::repeat_n(' ', space));
            if style == Style::new() {
                line.push_str(&text);
            } else {
                line.push_str(&styled(style, text));
            }
            space = 0;
        }
        space += if is_right_aligned { 0 } else { left };
    }
    line.push('\n');
}

/// Returns the number of columns that a text takes up.
fn columns(text: &str) -> usize {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// Returns the text in at most `width` columns, with `…` where it is cut: after a word, if it has several.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    // One column is for the ellipsis.
    let cut = format!("{}…", text[..fitting(text, width.saturating_sub(1))].trim_end());
    Cow::Owned(cut)
}

/// Returns the length of the beginning of a text that fits into `width` columns, in whole words if possible.
pub(crate) fn fitting(text: &str, width: usize) -> usize {
    let (mut used, mut words, mut end) = (0, 0, 0);
    // Lines may be broken anywhere between wide letters.
    let mut is_wide = false;
    for (at, letter) in text.char_indices() {
        let columns = letter.width().unwrap_or(0);
        if letter.is_whitespace() || columns > 1 || is_wide {
            words = at;
        }
        if used + columns > width {
            return if words > 0 { words } else { end };
        }
        used += columns;
        end = at + letter.len_utf8();
        is_wide = columns > 1;
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::RED;

    type Row = [&'static str; 3];

    const ROWS: [Row; 2] = [["a", "short", "5m"], ["bcd", "日本語 and some more words", "12h"]];

    fn drawn(rows: &[Row], width: usize) -> String {
        let table = Table::new(rows)
            .left("ID", |row| Cell::styled(RED, row[0]))
            .long("TITLE", |row| row[1].into())
            .left("NOTE", |_| "".into())
            .right("AGE", |row| row[2].into())
            .extra(0);
        plain(&table.render(width))
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_line_up_with_any_letters_and_colours() {
        let text = drawn(&ROWS, usize::MAX);
        assert_eq!(
            text,
            "ID   TITLE                       AGE\n\
             a    short                        5m\n\
             bcd  日本語 and some more words  12h\n"
        );
    }

    #[test]
    fn a_long_column_gives_way() {
        let text = drawn(&ROWS, 28);
        assert_eq!(
            text,
            "ID   TITLE               AGE\na    short                5m\nbcd  日本語 and some…    12h\n"
        );
        assert!(text.lines().all(|line| line.width() == 28));
    }

    #[test]
    fn a_line_is_bounded_without_a_terminal_width() {
        let long = "word ".repeat(1000).leak();
        let text = drawn(&[ROWS[0], ROWS[1], ["c", long, "5m"]], usize::MAX);
        assert!(
            text.lines().all(|line| line.width() == "bcd".len() + WIDEST + "12h".len() + 2 * GAP),
            "{text}"
        );
        assert!(text.contains(" word…"), "{text}");
    }

    #[test]
    fn a_narrow_table_drops_extra_columns() {
        let text = drawn(&ROWS, 22);
        assert_eq!(text, "ID   TITLE\na    short\nbcd  日本語 and some…\n");
        assert_eq!(drawn(&ROWS, 3), text, "what is left is as narrow as it gets");
    }

    #[test]
    fn a_text_is_cut_behind_a_word_and_never_inside_a_wide_letter() {
        assert_eq!(cut("one two three", 12), "one two…");
        assert_eq!(cut("one two three", 8), "one two…");
        assert_eq!(cut("one two three", 7), "one…");
        assert_eq!(cut("onetwothree four", 7), "onetwo…");
        assert_eq!(cut("Fix 日本語", 8), "Fix 日…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語", 5), "日本…");
        assert_eq!(cut("日本語", 4), "日…");
        assert_eq!(cut("abc", 0), "…");
    }

    #[test]
    fn a_cell_is_one_harmless_line() {
        assert_eq!(Cell::from("a\n b\u{1b}[31m").text, "a b\\u{1b}[31m");
    }
}
