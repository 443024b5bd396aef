//! Tables: columns aligned by display width, and cut to the width of the terminal.

use std::borrow::Cow;
use std::ops::Range;

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::{BOLD, DIM, styled};
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
    /// The greatest width at a terminal.
    bound: usize,
    /// The space before it.
    gap: usize,
    is_asked_for: bool,
    /// The rank: if there is little room, the column of the lowest rank is left out first; those without a rank stay.
    rank: Option<u8>,
}

/// A text in a row of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
    /// The bytes of the text that are bold.
    bold: Range<usize>,
}

impl Cell {
    pub(crate) fn styled(style: Style, text: impl std::fmt::Display) -> Self {
        let mut text = text.to_string();
        if !is_one_line(&text) {
            text = one_line(&text);
        }
        Self { text, style, bold: 0..0 }
    }

    /// Adds a text before it that needs no check: its spaces stay.
    pub(crate) fn indented(mut self, start: &str) -> Self {
        self.text.insert_str(0, start);
        self
    }

    /// Makes a part of the text bold.
    pub(crate) fn bold(self, bold: Range<usize>) -> Self {
        Self { bold, ..self }
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
            bound: usize::MAX,
            gap: GAP,
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

    /// Cuts the last column at a width, where lines have one.
    pub(crate) fn bounded(self, bound: usize) -> Self {
        self.last(|column| column.bound = bound)
    }

    /// Puts one space before the last column, in place of two.
    pub(crate) fn close(self) -> Self {
        self.last(|column| column.gap = 1)
    }

    /// Shows the last column even if it is empty.
    pub(crate) fn asked_for(self) -> Self {
        self.last(|column| column.is_asked_for = true)
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
                let widest = if width < usize::MAX { widest.min(column.bound) } else { widest };
                shown.push((column, texts, widest));
            }
        }
        let total = |shown: &[(&Column<'_, R>, Texts, usize)], least: bool| {
            let widths = shown.iter().map(|(column, _, width)| {
                if least && column.may_be_cut { NARROWEST.min(*width) } else { *width }
            });
            let gaps = shown.iter().skip(1).map(|(column, ..)| column.gap);
            widths.chain(gaps).sum::<usize>()
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
        let titles = shown
            .iter()
            .map(|(column, _, width)| (*column, (column.title.as_str(), DIM, 0..0), *width));
        push_line(&mut text, titles);
        for row in 0..self.rows.len() {
            for (_, heading) in self.headings.iter().filter(|(above, _)| *above == row) {
                text.push_str(&format!("\n{heading}\n"));
            }
            let cells =
                shown.iter().map(|(column, texts, width)| (*column, texts.get(row), *width));
            push_line(&mut text, cells);
        }
        text
    }
}

/// The texts of a column, one after the other.
#[derive(Default)]
struct Texts {
    all: String,
    /// The end of each text, its style, and its bold part.
    ends: Vec<(usize, Style, Range<usize>)>,
    widest: usize,
}

impl Texts {
    fn push(&mut self, cell: &Cell) {
        self.all.push_str(&cell.text);
        self.ends.push((self.all.len(), cell.style, cell.bold.clone()));
        self.widest = self.widest.max(columns(&cell.text));
    }

    fn get(&self, row: usize) -> (&str, Style, Range<usize>) {
        let start = if row > 0 { self.ends[row - 1].0 } else { 0 };
        let (end, style, bold) = self.ends[row].clone();
        (&self.all[start..end], style, bold)
    }
}

/// Adds a line of texts, each with its style and bold part, and the width of its column.
fn push_line<'c, R: 'c>(
    line: &mut String,
    cells: impl Iterator<Item = (&'c Column<'c, R>, (&'c str, Style, Range<usize>), usize)>,
) {
    // The space to the left of the next text.
    let mut space = 0;
    for (place, (column, (text, style, bold), width)) in cells.enumerate() {
        let text = cut(text, width);
        let left = width.saturating_sub(columns(&text));
        space += if place > 0 { column.gap } else { 0 };
        space += if column.is_right_aligned { left } else { 0 };
        if !text.is_empty() {
            line.extend(std::iter::repeat_n(' ', space));
            let (start, end) = (bold.start.min(text.len()), bold.end.min(text.len()));
            for (part, style) in
                [(&text[..start], style), (&text[start..end], BOLD), (&text[end..], style)]
            {
                match part {
                    "" => {}
                    part if style == Style::new() => line.push_str(part),
                    part => line.push_str(&styled(style, part)),
                }
            }
            space = 0;
        }
        space += if column.is_right_aligned { 0 } else { left };
    }
    line.push('\n');
}

/// Returns the number of columns that a text takes up.
fn columns(text: &str) -> usize {
    let is_plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    if is_plain { text.len() } else { text.width() }
}

/// Returns the text in at most `width` columns: up to the last letter that fits, and `…` in place of the rest.
pub(crate) fn cut(text: &str, width: usize) -> Cow<'_, str> {
    if columns(text) <= width {
        return Cow::Borrowed(text);
    }
    // One column is for the ellipsis.
    let (mut used, mut end) = (1, 0);
    for (at, letter) in text.char_indices() {
        used += letter.width().unwrap_or(0);
        if used > width {
            break;
        }
        end = at + letter.len_utf8();
    }
    Cow::Owned(format!("{}…", text[..end].trim_end()))
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
            "ID   TITLE               AGE\na    short                5m\nbcd  日本語 and some m…  12h\n"
        );
        assert!(text.lines().all(|line| line.width() == 28));
    }

    #[test]
    fn a_narrow_table_drops_extra_columns() {
        let text = drawn(&ROWS, 22);
        assert_eq!(text, "ID   TITLE\na    short\nbcd  日本語 and some…\n");
        assert_eq!(drawn(&ROWS, 3), text, "what is left is as narrow as it gets");
    }

    #[test]
    fn a_line_is_bounded_without_a_terminal_width() {
        let long = "word ".repeat(1000).leak();
        let text = drawn(&[ROWS[0], ROWS[1], ["c", long, "5m"]], usize::MAX);
        assert!(
            text.lines().all(|line| line.width() == "bcd".len() + WIDEST + "12h".len() + 2 * GAP),
            "{text}"
        );
        assert!(text.contains("…"), "{text}");
    }

    #[test]
    fn a_text_is_cut_behind_the_last_letter_that_fits() {
        assert_eq!(cut("one two three", 12), "one two thr…");
        assert_eq!(cut("one two three", 9), "one two…");
        assert_eq!(cut("one two three", 7), "one tw…");
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
