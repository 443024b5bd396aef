//! Tables: columns that line up however wide the letters are, cut to the terminal.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::cli::output::{BOLD, styled};
use crate::files::printable::one_line;

/// Between two columns.
const GAP: usize = 2;
/// A column that may be cut keeps this much.
const NARROWEST: usize = 16;
/// A column that may be cut never has more, even where lines may be as long as they like.
const WIDEST: usize = 160;

/// A table: a title for each column, and rows. Empty columns are not shown.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    is_right_aligned: bool,
    may_be_cut: bool,
    /// Where there is little room, the column of the lowest rank is left out first; those without a rank stay.
    rank: Option<u8>,
}

impl Column {
    /// A column of words.
    pub(crate) const fn left(title: &'static str) -> Self {
        Self { title, is_right_aligned: false, may_be_cut: false, rank: None }
    }

    /// A column of numbers.
    pub(crate) const fn right(title: &'static str) -> Self {
        Self { is_right_aligned: true, ..Self::left(title) }
    }

    /// A column of long texts, which may be cut.
    pub(crate) const fn long(title: &'static str) -> Self {
        Self { may_be_cut: true, ..Self::left(title) }
    }

    /// The same column, left out where there is little room.
    pub(crate) const fn extra(self, rank: u8) -> Self {
        Self { rank: Some(rank), ..self }
    }
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

impl Table {
    pub(crate) fn new(columns: &[Column]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Adds a row: a cell for each column.
    pub(crate) fn row<const N: usize>(&mut self, cells: [Cell; N]) {
        debug_assert_eq!(N, self.columns.len(), "a cell for each column");
        self.rows.push(cells.into());
    }

    /// Returns the lines, none longer than `width` where that is possible.
    pub(crate) fn render(&self, width: usize) -> String {
        let columns = self.columns.iter().enumerate();
        let mut shown: Vec<(usize, Column, usize)> = columns
            .filter(|(index, _)| self.rows.iter().any(|row| !row[*index].text.is_empty()))
            .map(|(index, column)| (index, *column, self.column_width(index)))
            .collect();
        let total = |shown: &[(usize, Column, usize)], least: bool| {
            let widths = shown.iter().map(|(_, column, width)| {
                if least && column.may_be_cut { NARROWEST.min(*width) } else { *width }
            });
            widths.sum::<usize>() + GAP * shown.len().saturating_sub(1)
        };
        while total(&shown, true) > width {
            let ranked = (0..shown.len()).filter(|at| shown[*at].1.rank.is_some());
            let Some(lowest) = ranked.min_by_key(|at| shown[*at].1.rank) else { break };
            shown.remove(lowest);
        }
        let mut over = total(&shown, false).saturating_sub(width);
        for (_, _, width) in shown.iter_mut().rev().filter(|(_, column, _)| column.may_be_cut) {
            let less = over.min(width.saturating_sub(NARROWEST));
            *width -= less;
            over -= less;
        }
        let titles: Vec<Cell> =
            self.columns.iter().map(|column| Cell::styled(BOLD, column.title)).collect();
        [&titles].into_iter().chain(&self.rows).map(|row| line(&shown, row)).collect()
    }

    fn column_width(&self, index: usize) -> usize {
        let column = self.columns[index];
        let cells = self.rows.iter().map(|row| row[index].text.width());
        let widest = cells.chain([column.title.width()]).max().unwrap_or(0);
        if column.may_be_cut { widest.min(WIDEST) } else { widest }
    }
}

fn line(columns: &[(usize, Column, usize)], row: &[Cell]) -> String {
    let mut line = String::new();
    for (at, (index, column, width)) in columns.iter().enumerate() {
        if at > 0 {
            line.push_str(&" ".repeat(GAP));
        }
        let text = cut(&row[*index].text, *width);
        let space = " ".repeat(width.saturating_sub(text.width()));
        let text = if text.is_empty() { text } else { styled(row[*index].style, text) };
        let (before, after) =
            if column.is_right_aligned { (space.as_str(), "") } else { ("", space.as_str()) };
        line.push_str(&format!("{before}{text}{after}"));
    }
    format!("{}\n", line.trim_end())
}

/// Returns the text in at most that many columns, with `…` where it is cut.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.chars() {
        used += letter.width().unwrap_or(0);
        // One column is for the sign.
        if used + 1 > width {
            break;
        }
        kept.push(letter);
    }
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::output::RED;

    fn table() -> Table {
        let mut table = Table::new(&[
            Column::left("ID"),
            Column::long("TITLE"),
            Column::left("NOTE"),
            Column::right("AGE").extra(0),
        ]);
        table.row(["a".into(), "short".into(), Cell::from(""), "5m".into()]);
        table.row([
            Cell::styled(RED, "bcd"),
            "日本語 and some more words".into(),
            Cell::from(""),
            "12h".into(),
        ]);
        table
    }

    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn columns_line_up_whatever_the_letters_and_colours_are() {
        let text = plain(&table().render(usize::MAX));
        assert_eq!(
            text,
            "ID   TITLE                       AGE\n\
             a    short                        5m\n\
             bcd  日本語 and some more words  12h\n"
        );
    }

    #[test]
    fn a_long_column_gives_way() {
        let text = plain(&table().render(28));
        assert_eq!(
            text,
            "ID   TITLE               AGE\na    short                5m\nbcd  日本語 and some m…  12h\n"
        );
        assert!(text.lines().all(|line| line.width() == 28));
    }

    #[test]
    fn a_line_has_its_bounds_where_there_are_none() {
        let mut table = table();
        table.row(["c".into(), "word ".repeat(1000).into(), Cell::from(""), "5m".into()]);
        let text = plain(&table.render(usize::MAX));
        assert!(
            text.lines().all(|line| line.width() == "bcd".len() + WIDEST + "12h".len() + 2 * GAP),
            "{text}"
        );
        assert!(text.contains(" word…"), "{text}");
    }

    #[test]
    fn where_there_is_little_room_what_is_extra_goes() {
        let text = plain(&table().render(22));
        assert_eq!(text, "ID   TITLE\na    short\nbcd  日本語 and some…\n");
        assert_eq!(plain(&table().render(3)), text, "what is left is as narrow as it gets");
    }

    #[test]
    fn a_cut_text_never_splits_a_wide_letter() {
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
