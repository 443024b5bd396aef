//! Draws what lies over the rest: forms, menus and texts.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Line;
use ratatui::widgets::{Block, Clear, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::super::form::TuiForm;
use super::super::state::{ClickTarget, Overlay, ScreenMap, TuiState};
use super::super::text::{cut, fitted, padded, typed_rows, wrapped};
use super::super::theme::Theme;
use super::super::update::jump::hits;
use super::draw_rows;

/// Returns an area in the middle, at most `width` wide and `height` high.
fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    Rect { x: area.x + x, y: area.y + y, width, height }
}

fn boxed(title: &str, frame: &mut Frame<'_>, area: Rect) -> Rect {
    let block = Block::bordered().title(format!(" {} ", fitted(title, 60)));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    inner
}

pub(super) fn draw_form(
    form: &TuiForm,
    theme: Theme,
    frame: &mut Frame<'_>,
    body: Rect,
    has_cursor: bool,
) {
    let width = body.width.min(84);
    let room = usize::from(width.saturating_sub(4));
    let mut rows: Vec<Line<'_>> = Vec::new();
    for text in &form.lead {
        rows.extend(wrapped(text, room).into_iter().map(|row| Line::styled(row, theme.quiet())));
    }
    let mut cursor = (0, 0);
    for (at, field) in form.fields.iter().enumerate() {
        let style = if at == form.focus { theme.heading() } else { theme.quiet() };
        let label = format!("{}:", field.label);
        rows.extend(wrapped(&label, room).into_iter().map(|row| Line::styled(row, style)));
        let (typed, place) = typed_rows(&field.edit.text, field.edit.cursor, room - 2);
        if at == form.focus {
            cursor = (rows.len() + place.0, place.1 + 2);
        }
        rows.extend(typed.into_iter().map(|row| Line::raw(format!("> {row}"))));
    }
    if form.is_sent {
        rows.push(Line::styled("working ...", theme.call()));
    }
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let area = middle(body, width, height);
    let inner = boxed(format!("{}  {}", form.subject, form.label).trim(), frame, area);
    // The line with the cursor stays visible.
    let room = usize::from(inner.height);
    let top = (cursor.0 + 1).saturating_sub(room);
    let shown: Vec<Line<'_>> = rows.into_iter().skip(top).take(room).collect();
    let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
    frame.render_widget(Paragraph::new(shown), inner);
    if has_cursor && !form.is_sent {
        let column = u16::try_from(cursor.1).unwrap_or(0).min(inner.width.saturating_sub(1));
        let row = u16::try_from(cursor.0 - top).unwrap_or(0);
        frame.set_cursor_position((inner.x + column, inner.y + row));
    }
}

pub(super) fn draw_overlay(
    state: &TuiState,
    overlay: &Overlay,
    frame: &mut Frame<'_>,
    body: Rect,
    map: &mut ScreenMap,
) {
    let theme = state.theme;
    match overlay {
        Overlay::Text { title, lines, scroll } => {
            let width = body.width.min(84);
            let room = usize::from(width.saturating_sub(4));
            let rows: Vec<Line<'static>> =
                lines.iter().flat_map(|line| wrapped(line, room)).map(Line::from).collect();
            let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
            let inner = boxed(title, frame, middle(body, width, height));
            let inner = Rect { x: inner.x + 1, width: inner.width.saturating_sub(2), ..inner };
            draw_rows(rows, *scroll, frame, inner, map);
        }
        Overlay::Menu { forms, at } => {
            let items: Vec<String> = forms.iter().map(|form| cut(&form.label, 90)).collect();
            let title = forms.first().map_or("", |form| form.subject.as_str());
            draw_list(title, &items, *at, theme, frame, body, map);
        }
        Overlay::Jump { edit, at } => {
            let width = usize::from(body.width.min(100)).saturating_sub(4);
            let items = hits(state.project(), &edit.text);
            let items: Vec<String> = items
                .iter()
                .map(|hit| {
                    let words = fitted(&hit.words, width.saturating_sub(hit.end.width() + 2));
                    format!(
                        "{}{}",
                        padded(&words, width.saturating_sub(hit.end.width()), false),
                        hit.end
                    )
                })
                .collect();
            draw_list(
                &format!("jump to: {}", cut(&edit.text, 40)),
                &items,
                *at,
                theme,
                frame,
                body,
                map,
            );
        }
    }
}

fn draw_list(
    title: &str,
    items: &[String],
    at: usize,
    theme: Theme,
    frame: &mut Frame<'_>,
    body: Rect,
    map: &mut ScreenMap,
) {
    let height = u16::try_from(items.len().max(1) + 2).unwrap_or(u16::MAX);
    let inner = boxed(title, frame, middle(body, body.width.min(100), height));
    let room = usize::from(inner.height).max(1);
    map.page = room;
    let top = at.saturating_sub(room / 2).min(items.len().saturating_sub(room));
    for (place, item) in items.iter().enumerate().skip(top).take(room) {
        let y = inner.y + u16::try_from(place - top).unwrap_or(0);
        let row = Rect { y, height: 1, ..inner };
        let mark = if place == at { "▌ " } else { "  " };
        let style = if place == at { theme.selected() } else { Style::new() };
        let text = format!("{mark}{}", fitted(item, usize::from(inner.width).saturating_sub(2)));
        frame.render_widget(Paragraph::new(text).style(style), row);
        map.targets.push((row, ClickTarget::Item(place)));
    }
}
