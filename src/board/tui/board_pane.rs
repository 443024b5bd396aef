//! Draws the columns of a lane. Only the cards that fit are looked at.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::project_view::ProjectView;
use super::state::{ClickTarget, ScreenMap};
use super::text::{age, both_ends, cut};
use super::theme::Theme;
use crate::board::model::columns::{BoardColumn, Card, Place};
use crate::domain::{Priority, TaskId, Timestamp};

/// The least width of a column.
const NARROWEST: u16 = 24;

/// The number of lines of a card.
const CARD: u16 = 3;

/// The number of lines of a column's head.
const HEAD: u16 = 2;

/// Draws the board of a project. `has_focus` is true if keys go to the board.
pub(super) fn draw_board(
    frame: &mut Frame<'_>,
    area: Rect,
    project: &ProjectView,
    (theme, has_focus): (Theme, bool),
    map: &mut ScreenMap,
) {
    let Some(board) = &project.board else {
        let text = if project.trouble.is_some() { "" } else { "reading ..." };
        frame.render_widget(Paragraph::new(Line::styled(text, theme.quiet())), area);
        return;
    };
    let columns = project.columns();
    let room = usize::from((area.width / (NARROWEST + 1)).max(1)).min(columns.len().max(1));
    // The selected column stays visible, in the middle if others are hidden.
    let first = project.column.saturating_sub(room / 2).min(columns.len().saturating_sub(room));
    let width = area.width / u16::try_from(room).unwrap_or(1);
    for (at, column) in columns.iter().enumerate().skip(first).take(room) {
        let left = u16::try_from(at - first).unwrap_or(0) * width;
        let inner = Rect { x: area.x + left, width: width.saturating_sub(1), ..area };
        let hidden = (at == first && first > 0, at + 1 == first + room && at + 1 < columns.len());
        let drawing = ColumnDrawing { project, column, at, theme, has_focus, now: board.at };
        drawing.draw(frame, inner, hidden, map);
    }
}

struct ColumnDrawing<'a> {
    project: &'a ProjectView,
    column: &'a BoardColumn,
    at: usize,
    theme: Theme,
    has_focus: bool,
    now: Timestamp,
}

impl ColumnDrawing<'_> {
    fn draw(&self, frame: &mut Frame<'_>, area: Rect, hidden: (bool, bool), map: &mut ScreenMap) {
        let (theme, width) = (self.theme, usize::from(area.width));
        let count = self.project.count(self.at);
        let is_selected = self.project.column == self.at;
        let style = if is_selected { theme.heading() } else { Style::new() };
        let mut name = column_name(self.column);
        if self.column.human {
            name.push_str(" (people)");
        }
        let before = if hidden.0 { "‹ " } else { "" };
        let after = if hidden.1 { " ›" } else { "" };
        let number = format!("{}{after}", self.number(count));
        let head = both_ends(&format!("{before}{name}"), &number, width);
        let rule = if is_selected { "━" } else { "─" }.repeat(width);
        let head = vec![Line::styled(head, style), Line::styled(rule, theme.quiet())];
        frame.render_widget(Paragraph::new(head), Rect { height: HEAD.min(area.height), ..area });
        map.targets.push((area, ClickTarget::Column(self.at)));
        let room = usize::from(area.height.saturating_sub(HEAD) / CARD).max(1);
        let row = if is_selected { self.project.row } else { 0 };
        let top = row.saturating_sub(room / 2).min(count.saturating_sub(room));
        if is_selected {
            map.page = room;
        }
        for at in top..count.min(top + room) {
            let Some(card) = self.project.card_at(self.at, at) else { continue };
            let y = area.y + HEAD + u16::try_from(at - top).unwrap_or(0) * CARD;
            let height = CARD.min((area.y + area.height).saturating_sub(y));
            let place = Rect { y, height, ..area };
            let is_here = is_selected && at == self.project.row;
            self.draw_card(frame, place, card, is_here);
            map.targets.push((place, ClickTarget::Card { column: self.at, row: at }));
        }
    }

    /// Returns the number of cards in words: of the total if a filter hides some, and of the capacity if there is a limit.
    fn number(&self, count: usize) -> String {
        let total = self.column.cards.len();
        let shown = if count == total { format!("{count}") } else { format!("{count} of {total}") };
        match self.column.capacity {
            Some(most) => format!("{shown}/{most}"),
            None => shown,
        }
    }

    fn draw_card(&self, frame: &mut Frame<'_>, area: Rect, card: &Card, is_here: bool) {
        let (theme, width) = (self.theme, usize::from(area.width).saturating_sub(2));
        let urgent = match card.priority {
            Priority::Critical => " !!",
            Priority::High => " !",
            Priority::Medium | Priority::Low => "",
        };
        let first = both_ends(&format!("{}{urgent}", card.id), &age(card.since, self.now), width);
        let (state, style) = state(card, theme);
        let rest = rest(card);
        let gap = if state.is_empty() || rest.is_empty() { "" } else { ", " };
        let line = cut(&format!("{state}{gap}{rest}"), width);
        let shown = state.len().min(line.len());
        let last = match (line.get(..shown), line.get(shown..)) {
            (Some(state), Some(rest)) => {
                vec![
                    Span::styled(state.to_owned(), style),
                    Span::styled(rest.to_owned(), theme.quiet()),
                ]
            }
            _ => vec![Span::styled(line, theme.quiet())],
        };
        let mark = if is_here { "▌ " } else { "  " };
        let line = |spans: Vec<Span<'static>>| {
            let mut whole = vec![Span::raw(mark)];
            whole.extend(spans);
            Line::from(whole)
        };
        let text = vec![
            line(vec![Span::styled(first, theme.name())]),
            line(vec![Span::raw(cut(&card.title, width))]),
            line(last),
        ];
        let shown = Paragraph::new(text);
        let is_lit = is_here && self.has_focus;
        let style = if is_lit { theme.selected() } else { Style::new() };
        frame.render_widget(shown.style(style), area);
    }
}

/// Returns the name of a column.
fn column_name(column: &BoardColumn) -> String {
    match &column.place {
        Place::New => "new files".to_owned(),
        Place::Gate(gate) => gate.to_string(),
        Place::Stranded => "at lost gates".to_owned(),
        Place::Finished => "finished".to_owned(),
    }
}

/// Returns the most important fact about a task.
fn state(card: &Card, theme: Theme) -> (String, Style) {
    let is_finished = card.gate.is_none() && card.state != "new";
    if card.waits_for_you {
        return ("you decide".to_owned(), theme.call());
    }
    if card.held {
        return ("held".to_owned(), theme.alarm());
    }
    if card.state == "blocked" {
        return ("blocked".to_owned(), theme.alarm());
    }
    if card.overdue {
        return ("overdue".to_owned(), theme.alarm());
    }
    if let Some(role) = &card.escalated {
        return (format!("escalated to {role}"), theme.alarm());
    }
    if is_finished && card.state != "complete" {
        return (card.state.to_owned(), theme.alarm());
    }
    (String::new(), Style::new())
}

/// Returns the other facts about a task, the most useful first.
fn rest(card: &Card) -> String {
    let mut words = Vec::new();
    if !card.waiting_for.is_empty() {
        let ids: Vec<&str> = card.waiting_for.iter().map(TaskId::as_str).collect();
        words.push(format!("after {}", ids.join(" ")));
    }
    words.extend(card.agents.iter().map(ToString::to_string));
    let open = card.branches.iter().map(|branch| branch.id.as_str());
    let branches: Vec<&str> = open.collect();
    if !branches.is_empty() {
        words.push(branches.join("+"));
    }
    for (progress, what) in [(card.checklist, "done"), (card.children, "parts")] {
        if let Some(count) = progress {
            words.push(format!("{}/{} {what}", count.done, count.total));
        }
    }
    if card.rejections > 0 {
        words.push(format!("back {}x", card.rejections));
    }
    words.extend(card.tags.iter().map(|tag| format!("#{tag}")));
    words.join(", ")
}
