//! Columns that line up, however wide the letters are, and cut to the terminal. The one home of `terminal_size`.

use anstyle::Style;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::output::{BOLD, styled};
use crate::files::printable::one_line;

/// Between two columns.
const GAP: usize = 2;
/// A column that may be cut keeps this much.
const NARROWEST: usize = 16;
/// And has at most this much, also where lines may be as long as they like: every row is filled up to the widest.
const WIDEST: usize = 160;

/// A table: a title for each column, and rows. Columns that say nothing are not shown.
#[derive(Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// One column.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Column {
    title: &'static str,
    side: Side,
    fit: Fit,
    need: Need,
}

/// To which side a column is aligned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// Whether a column may be cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fit {
    Whole,
    Cut,
}

/// Whether a column can be done without where there is little room; the lowest goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    Extra(u8),
    Always,
}

impl Column {
    /// A column of words.
    pub(crate) const fn left(title: &'static str) -> Self {
        Self { title, side: Side::Left, fit: Fit::Whole, need: Need::Always }
    }

    /// A column of numbers.
    pub(crate) const fn right(title: &'static str) -> Self {
        Self { title, side: Side::Right, fit: Fit::Whole, need: Need::Always }
    }

    /// A column of long texts, cut where the line would be too long.
    pub(crate) const fn long(title: &'static str) -> Self {
        Self { title, side: Side::Left, fit: Fit::Cut, need: Need::Always }
    }

    /// Leaves the column out where there is little room; of several, that of the lowest rank first.
    pub(crate) const fn extra(self, rank: u8) -> Self {
        Self { need: Need::Extra(rank), ..self }
    }
}

/// What stands in one place of a table.
#[derive(Debug, Clone)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl Cell {
    /// A text in that style.
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

    /// Returns the lines, none longer than `width` where that can be helped.
    pub(crate) fn render(&self, width: usize) -> String {
        let says = |index: &usize| self.rows.iter().any(|row| !row[*index].text.is_empty());
        let mut shown: Vec<usize> = (0..self.columns.len()).filter(says).collect();
        let mut widths = self.widths(&shown);
        while let Some(extra) = self.extra(&shown, &widths, width) {
            shown.remove(extra);
            widths.remove(extra);
        }
        self.cut(&shown, &mut widths, width);
        let title =
            |index: &usize| Cell { text: self.columns[*index].title.to_owned(), style: BOLD };
        let mut text =
            line(&widths, shown.iter().map(|index| (self.columns[*index], title(index))));
        for row in &self.rows {
            text.push_str(&line(
                &widths,
                shown.iter().map(|index| (self.columns[*index], row[*index].clone())),
            ));
        }
        text
    }

    fn widths(&self, shown: &[usize]) -> Vec<usize> {
        let widest = |index: &usize| {
            let cells = self.rows.iter().map(|row| row[*index].text.width());
            let widest = cells.chain([self.columns[*index].title.width()]).max().unwrap_or(0);
            if self.columns[*index].fit == Fit::Cut { widest.min(WIDEST) } else { widest }
        };
        shown.iter().map(widest).collect()
    }

    /// Returns the place of the column to leave out, if there are too many.
    fn extra(&self, shown: &[usize], widths: &[usize], width: usize) -> Option<usize> {
        let least =
            shown.iter().zip(widths).map(|(column, wide)| match self.columns[*column].fit {
                Fit::Cut => (*wide).min(NARROWEST),
                Fit::Whole => *wide,
            });
        if least.sum::<usize>() + gaps(widths) <= width {
            return None;
        }
        let need = |index: &usize| self.columns[shown[*index]].need;
        (0..shown.len()).min_by_key(need).filter(|index| need(index) != Need::Always)
    }

    /// Takes from the columns that may be cut, the last first, what is too much.
    fn cut(&self, shown: &[usize], widths: &mut [usize], width: usize) {
        let mut over = (widths.iter().sum::<usize>() + gaps(widths)).saturating_sub(width);
        for (index, column) in shown.iter().enumerate().rev() {
            if self.columns[*column].fit == Fit::Cut {
                let less = over.min(widths[index].saturating_sub(NARROWEST));
                widths[index] -= less;
                over -= less;
            }
        }
    }
}

fn gaps(widths: &[usize]) -> usize {
    GAP * widths.len().saturating_sub(1)
}

fn line(widths: &[usize], cells: impl Iterator<Item = (Column, Cell)>) -> String {
    let mut line = String::new();
    let last = widths.len().saturating_sub(1);
    for (index, (column, cell)) in cells.enumerate() {
        let text = match column.fit {
            Fit::Cut => cut(&cell.text, widths[index]),
            Fit::Whole => cell.text,
        };
        let space = " ".repeat(widths[index].saturating_sub(text.width()));
        let shown = if text.is_empty() { text } else { styled(cell.style, text) };
        match column.side {
            Side::Right => line.push_str(&format!("{space}{shown}")),
            // Nothing follows, so nothing is filled up.
            Side::Left if index == last => line.push_str(&shown),
            Side::Left => line.push_str(&format!("{shown}{space}")),
        }
        if index != last {
            line.push_str(&" ".repeat(GAP));
        }
    }
    format!("{}\n", line.trim_end())
}

/// Returns the text in at most that many columns, with `…` where something is left out.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 0;
    for letter in text.chars() {
        let next = letter.width().unwrap_or(0);
        // One column is for the sign.
        if used + next + 1 > width {
            break;
        }
        kept.push(letter);
        used += next;
    }
    format!("{}…", kept.trim_end())
}

/// Returns how wide the output may be: `COLUMNS`, else the terminal's width; a file or a pipe takes whole lines.
pub(crate) fn width() -> usize {
    let named =
        std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok()).filter(|width| *width > 0);
    let seen = || {
        terminal_size::terminal_size_of(std::io::stdout()).map(|(width, _)| usize::from(width.0))
    };
    named.or_else(seen).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::render::output::RED;

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
