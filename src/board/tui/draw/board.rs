//! Draws the columns of a lane, and their cards. Only the cards that fit are looked at.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::super::project_view::ProjectView;
use super::super::state::{ClickTarget, ScreenMap};
use super::super::text::{both_ends, cut};
use super::super::theme::Theme;
use crate::board::model::columns::{BoardColumn, Card};
use crate::domain::{Priority, RoleId, Timestamp};
use crate::tasks::view::phrases::{self, TurnKind};

/// The bounds of the width of a column, and the blanks between two.
const NARROWEST: u16 = 34;
const WIDEST: u16 = 60;
const GAP: u16 = 2;

/// The number of lines of a card, and of the head of a column.
const CARD: u16 = 2;
const HEAD: u16 = 2;

/// Draws the gates that have cards. `has_focus` is true if keys go to the board.
pub(super) fn draw_board(
    frame: &mut Frame<'_>,
    area: Rect,
    project: &ProjectView,
    (theme, has_focus, is_beside): (Theme, bool, bool),
    map: &mut ScreenMap,
) {
    let Some(board) = &project.board else { return };
    let columns: Vec<(usize, &BoardColumn)> =
        project.columns().iter().enumerate().filter(|(at, _)| project.count(*at) > 0).collect();
    let room = usize::from((area.width + GAP) / (NARROWEST + GAP)).clamp(1, columns.len().max(1));
    // The selected column stays visible, in the middle if others are hidden.
    let selected = columns.iter().position(|(at, _)| *at == project.column).unwrap_or(0);
    let first = selected.saturating_sub(room / 2).min(columns.len().saturating_sub(room));
    let share = (area.width + GAP) / u16::try_from(room).unwrap_or(1);
    let width = share.saturating_sub(GAP).min(WIDEST);
    for (at, (place, column)) in columns.iter().enumerate().skip(first).take(room) {
        let left = u16::try_from(at - first).unwrap_or(0) * (width + GAP);
        let inner = Rect { x: area.x + left, width, ..area };
        let is_last = at + 1 == first + room && at + 1 < columns.len();
        let hidden = (!is_beside && at == first && first > 0, !is_beside && is_last);
        let is_selected = *place == project.column;
        let count = project.count(*place);
        let head = head(project, *place, column, hidden, usize::from(width));
        let look = (theme, is_selected && has_focus);
        draw_head(frame, inner, head, is_selected, theme);
        map.targets.push((inner, ClickTarget::Column(*place)));
        let rest = Rect { y: inner.y + HEAD, height: inner.height.saturating_sub(HEAD), ..inner };
        let cards = Cards {
            count,
            selected: is_selected.then_some(project.row),
            card: &|row| project.card_at(*place, row),
            target: &|row| ClickTarget::Card { column: *place, row },
        };
        cards.draw(frame, rest, look, board.at, map);
    }
}

/// Draws the head of a column: its words, and a rule.
fn draw_head(frame: &mut Frame<'_>, area: Rect, words: String, is_selected: bool, theme: Theme) {
    let style = if is_selected { theme.heading() } else { Style::new() };
    let rule = if is_selected { "━" } else { "─" }.repeat(usize::from(area.width));
    let head = vec![Line::styled(words, style), Line::styled(rule, theme.quiet())];
    frame.render_widget(Paragraph::new(head), Rect { height: HEAD.min(area.height), ..area });
}

/// Returns the gate with its roles, and the number of its cards: of all if a filter hides some, and of its capacity if it has one.
fn head(
    project: &ProjectView,
    at: usize,
    column: &BoardColumn,
    (is_before, is_after): (bool, bool),
    width: usize,
) -> String {
    let (count, total) = (project.count(at), column.cards.len());
    let people = column.human.then_some("people");
    let mut roles: Vec<&str> = column.roles.iter().map(RoleId::as_str).collect();
    roles.extend(people.filter(|word| !roles.contains(word)));
    let roles = if roles.is_empty() { String::new() } else { format!(" ({})", roles.join(", ")) };
    let mut number = count.to_string();
    if count != total {
        number.push_str(&format!(" of {total}"));
    }
    if let Some(most) = column.capacity {
        number.push_str(&format!("/{most}"));
    }
    let (before, after) = (if is_before { "< " } else { "" }, if is_after { " >" } else { "" });
    both_ends(
        &format!("{before}{}{roles}", column.place.title()),
        &format!("{number}{after}"),
        width,
    )
}

/// Cards below each other.
pub(super) struct Cards<'a> {
    pub count: usize,
    pub selected: Option<usize>,
    pub card: &'a dyn Fn(usize) -> Option<&'a Card>,
    pub target: &'a dyn Fn(usize) -> ClickTarget,
}

impl Cards<'_> {
    pub(super) fn draw(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        (theme, has_focus): (Theme, bool),
        now: Timestamp,
        map: &mut ScreenMap,
    ) {
        let all = usize::from(area.height / CARD).max(1);
        // If not all fit, the last line says how many are left.
        let is_cut = self.count > all;
        let room =
            if is_cut { usize::from(area.height.saturating_sub(1) / CARD).max(1) } else { all };
        let row = self.selected.unwrap_or(0);
        let top = row.saturating_sub(room / 2).min(self.count.saturating_sub(room));
        if self.selected.is_some() {
            map.page = room;
        }
        for at in top..self.count.min(top + room) {
            let Some(card) = (self.card)(at) else { continue };
            let y = area.y + u16::try_from(at - top).unwrap_or(0) * CARD;
            let height = CARD.min((area.y + area.height).saturating_sub(y));
            let place = Rect { y, height, ..area };
            let is_here = self.selected == Some(at);
            draw_card(frame, place, card, (is_here, has_focus), theme, now);
            map.targets.push((place, (self.target)(at)));
        }
        let left = self.count.saturating_sub(top + room);
        if is_cut && left > 0 && area.height > CARD {
            let last = Rect { y: area.y + area.height - 1, height: 1, ..area };
            let text = format!("    {left} more, j");
            frame.render_widget(Line::styled(text, theme.quiet()), last);
        }
    }
}

fn draw_card(
    frame: &mut Frame<'_>,
    area: Rect,
    card: &Card,
    (is_here, has_focus): (bool, bool),
    theme: Theme,
    now: Timestamp,
) {
    let width = usize::from(area.width).saturating_sub(4);
    let bar = || Span::raw(if is_here { "▌" } else { " " });
    let title = if is_here && has_focus { theme.heading() } else { Style::new() };
    let first = Line::from(vec![
        bar(),
        Span::styled(
            format!("{:>2} ", phrases::mark(card.priority)),
            mark_style(card.priority, theme),
        ),
        Span::styled(cut(&card.title, width), title),
    ]);
    let who = cut(&card.words.turn.phrase, (width / 3).max(9));
    let mut second = vec![bar(), Span::raw("   ")];
    let mut left = width.saturating_sub(who.width() + 1);
    for (at, (word, style)) in facts(card, theme, now).into_iter().enumerate() {
        let gap = usize::from(at > 0);
        if word.width() + gap > left {
            continue;
        }
        left -= word.width() + gap;
        second.extend([Span::raw(" ".repeat(gap)), Span::styled(word, style)]);
    }
    second.push(Span::raw(" ".repeat(left + 1)));
    second.push(Span::styled(who, turn_style(card.words.turn.kind, theme)));
    frame.render_widget(Paragraph::new(vec![first, Line::from(second)]), area);
}

/// Returns the words of a card's second line, the most useful first.
fn facts(card: &Card, theme: Theme, now: Timestamp) -> Vec<(String, Style)> {
    let quiet = theme.quiet();
    let mut words =
        vec![(card.id.local().to_owned(), quiet), (phrases::short_age(card.since, now), quiet)];
    if !card.words.due.is_empty() {
        words.push((card.words.due.clone(), due_style(card, theme)));
    }
    if card.escalated.is_some() {
        words.push(("escalated".to_owned(), theme.late()));
    }
    if card.rejections > 0 {
        words.push((format!("back {}", card.rejections), quiet));
    }
    let counts = [card.children, card.checklist].into_iter().flatten();
    words.extend(counts.map(|count| (format!("{}/{}", count.done, count.total), quiet)));
    words.extend(card.tags.iter().map(|tag| (format!("#{}", cut(tag, 20)), quiet)));
    words
}

pub(super) fn due_style(card: &Card, theme: Theme) -> Style {
    if card.overdue { theme.late() } else { Style::new() }
}

pub(super) fn mark_style(priority: Priority, theme: Theme) -> Style {
    match priority {
        Priority::Critical => theme.late(),
        Priority::High => theme.stopped(),
        Priority::Medium | Priority::Low => theme.quiet(),
    }
}

pub(super) fn turn_style(kind: TurnKind, theme: Theme) -> Style {
    match kind {
        TurnKind::Stopped => theme.stopped(),
        TurnKind::You => theme.call(),
        TurnKind::Taken => Style::new(),
        TurnKind::Open | TurnKind::Ended => theme.quiet(),
    }
}
