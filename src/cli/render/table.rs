//! Tables: columns aligned by display width, and cut to the width of the terminal.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::{BOLD, styled};
use crate::files::printable::one_line;

/// The space between two columns.
const GAP: usize = 2;
/// The least width of a column that may be cut.
const NARROWEST: usize = 16;
/// The greatest width of a column that may be cut, even where lines may be of any length.
const WIDEST: usize = 160;

/// A table of rows. Empty columns are not shown, unless they are asked for.
pub(crate) struct Table<'a, R> {
    rows: &'a [R],
    columns: Vec<Column<'a, R>>,
    /// Headings of groups, each with the number of the row that it is above.
    headings: Vec<(usize, String)>,
}

/// A column: its title, and its cell in a row.
struct Column<'a, R> {
    title: String,
    cell: Box<dyn Fn(&R) -> Cell + 'a>,
    is_right_aligned: bool,
    may_be_cut: bool,
    is_asked_for: bool,
    /// If there is little room, the column of the lowest rank is left out first; those without a rank stay.
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
        Self { text: one_line(&text.to_string()), style }
    }
}

impl<T: std::fmt::Display> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::styled(Style::new(), text)
    }
}

impl<'a, R> Table<'a, R> {
    pub(crate) fn of(rows: &'a [R]) -> Self {
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

    /// Lets the last column be left out if there is little room.
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

    /// Returns the lines, none longer than `width` where that is possible.
    pub(crate) fn render(&self, width: usize) -> String {
        let mut shown = Vec::new();
        for column in &self.columns {
            let cells: Vec<Cell> = self.rows.iter().map(&column.cell).collect();
            let widest = cells.iter().map(|cell| cell.text.width()).max().unwrap_or(0);
            if widest > 0 || column.is_asked_for {
                let widest = widest.max(column.title.width());
                let widest = if column.may_be_cut { widest.min(WIDEST) } else { widest };
                shown.push((column, cells, widest));
            }
        }
        let total = |shown: &[(&Column<'_, R>, Vec<Cell>, usize)], least: bool| {
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
        let titles = shown.iter().map(|(column, _, width)| {
            padded(&Cell::styled(BOLD, &column.title), *width, column.is_right_aligned)
        });
        let mut text = String::new();
        push_line(&mut text, titles);
        for row in 0..self.rows.len() {
            for (_, heading) in self.headings.iter().filter(|(above, _)| *above == row) {
                text.push_str(&format!("\n{heading}\n"));
            }
            let cells = shown
                .iter()
                .map(|(column, cells, width)| padded(&cells[row], *width, column.is_right_aligned));
            push_line(&mut text, cells);
        }
        text
    }
}

fn push_line(text: &mut String, cells: impl Iterator<Item = String>) {
    for (place, cell) in cells.enumerate() {
        if place > 0 {
            text.extend([" "; GAP]);
        }
        text.push_str(&cell);
    }
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

fn padded(cell: &Cell, width: usize, is_right_aligned: bool) -> String {
    let text = cut(&cell.text, width);
    let space = " ".repeat(width.saturating_sub(text.width()));
    let text = if text.is_empty() { text } else { styled(cell.style, text) };
    if is_right_aligned { space + &text } else { text + &space }
}

/// Returns the text in at most that many columns, with `…` where it is cut: behind a word, if it has several.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    // One column is for the ellipsis.
    format!("{}…", text[..fitting(text, width.saturating_sub(1))].trim_end())
}

/// Returns how much of a text fits into that many columns, in whole words where that is possible.
pub(crate) fn fitting(text: &str, width: usize) -> usize {
    let (mut used, mut words, mut end) = (0, 0, 0);
    // Between wide letters, lines may be broken anywhere.
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
        let table = Table::of(rows)
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
    fn columns_line_up_whatever_the_letters_and_colours_are() {
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
    fn a_line_has_its_bounds_where_there_are_none() {
        let long = "word ".repeat(1000).leak();
        let text = drawn(&[ROWS[0], ROWS[1], ["c", long, "5m"]], usize::MAX);
        assert!(
            text.lines().all(|line| line.width() == "bcd".len() + WIDEST + "12h".len() + 2 * GAP),
            "{text}"
        );
        assert!(text.contains(" word…"), "{text}");
    }

    #[test]
    fn where_there_is_little_room_what_is_extra_goes() {
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
