//! Draws the tasks that wait for the reader: as a table, or as cards beside an open task.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_width::UnicodeWidthStr;

use super::super::project_view::ProjectView;
use super::super::state::{ClickTarget, ScreenMap};
use super::super::text::{cut, padded};
use super::super::theme::Theme;
use super::board::{Cards, due_style, mark_style};
use crate::board::model::columns::{BoardView, Card};
use crate::domain::GateId;
use crate::tasks::view::phrases;

/// The width below which a row has only the mark, the title and the age.
const NARROW: u16 = 60;

/// Draws the list; narrow ones as cards.
pub(super) fn draw_list(
    frame: &mut Frame<'_>,
    area: Rect,
    project: &ProjectView,
    (theme, has_focus, is_beside): (Theme, bool, bool),
    map: &mut ScreenMap,
) {
    let Some(board) = &project.board else { return };
    let count = project.listed();
    if is_beside {
        let cards = Cards {
            count,
            selected: Some(project.list_row),
            card: &|row| project.listed_card(row),
            target: &ClickTarget::Row,
        };
        cards.draw(frame, area, (theme, has_focus), board.at, map);
        return;
    }
    let room = usize::from(area.height).max(1);
    map.page = room;
    let top = project.list_row.saturating_sub(room / 2).min(count.saturating_sub(room));
    let rows: Vec<&Card> =
        (top..count.min(top + room)).filter_map(|row| project.listed_card(row)).collect();
    let gate = |card: &Card| cut(card.gate.as_ref().map(GateId::as_str).unwrap_or_default(), 12);
    let widest = |cell: &dyn Fn(&Card) -> String| {
        rows.iter().map(|card| cell(card).width()).max().unwrap_or(0)
    };
    let ids = widest(&|card| card.id.local().to_owned());
    let (gates, dues) = (widest(&gate), widest(&|card| card.words.due.clone()));
    for (place, card) in rows.iter().enumerate() {
        let at = top + place;
        let row = Rect { y: area.y + u16::try_from(place).unwrap_or(0), height: 1, ..area };
        let age = padded(&phrases::short_age(card.since, board.at), 4, true);
        let due = Span::styled(padded(&card.words.due, dues, true), due_style(card, theme));
        let mut end = vec![Span::styled(age, theme.quiet())];
        if area.width >= NARROW {
            end.splice(
                0..0,
                [
                    Span::styled(padded(&gate(card), gates, false), theme.quiet()),
                    Span::raw("  "),
                    due,
                    Span::raw("  "),
                ],
            );
        }
        let taken: usize = end.iter().map(Span::width).sum();
        let title = usize::from(area.width).saturating_sub(ids + taken + 9);
        let bar = if at == project.list_row { "▌" } else { " " };
        let chosen = if project.marked.contains(&card.id) { "x " } else { "  " };
        let is_here = has_focus && at == project.list_row;
        let style = if is_here { theme.heading() } else { Style::new() };
        let mut spans = vec![
            Span::raw(bar),
            Span::raw(chosen),
            Span::styled(padded(card.id.local(), ids, false), theme.quiet()),
            Span::styled(
                format!("{:>3} ", phrases::mark(card.priority)),
                mark_style(card.priority, theme),
            ),
            Span::styled(padded(&cut(&words(project, board, card), title), title, false), style),
            Span::raw("  "),
        ];
        spans.extend(end);
        frame.render_widget(Line::from(spans), row);
        map.targets.push((row, ClickTarget::Row(at)));
    }
}

/// Returns the title of a row, after who mentioned the reader there.
fn words(project: &ProjectView, board: &BoardView, card: &Card) -> String {
    let mention = project.mention(&card.id).map(|mention| board.author(&mention.by));
    let mention = mention.map(|by| format!("{by} mentioned you: "));
    mention.unwrap_or_default() + &card.title
}
