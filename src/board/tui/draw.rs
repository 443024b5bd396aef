//! Draws the whole screen from the state.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Block, Borders, Clear, Padding, Paragraph};
use unicode_width::UnicodeWidthStr;

use super::board_pane::draw_board;
use super::detail::{DetailPane, DetailTab, LineLook, PaneLine};
use super::form::TuiForm;
use super::key_table::foot;
use super::state::{ClickTarget, Overlay, ScreenMap, TuiState};
use super::text::{age, both_ends, cut, typed_rows, wrapped};
use super::theme::Theme;
use crate::board::model::columns::Card;
use crate::domain::GateId;

/// The size below which nothing useful can be shown.
const SMALLEST: (u16, u16) = (40, 12);

/// Draws everything. Returns the positions of what was drawn, for the mouse and for scrolling.
pub(super) fn draw(state: &TuiState, frame: &mut Frame<'_>) -> ScreenMap {
    let mut map = ScreenMap::default();
    let area = frame.area();
    if area.width < SMALLEST.0 || area.height < SMALLEST.1 {
        let text = format!(
            "The board needs {} columns and {} lines; here are {} and {}. q quits.",
            SMALLEST.0, SMALLEST.1, area.width, area.height
        );
        let lines: Vec<Line<'_>> =
            wrapped(&text, usize::from(area.width)).into_iter().map(Line::from).collect();
        frame.render_widget(Paragraph::new(lines), area);
        return map;
    }
    let rows = [1, 0, 1, 1].map(|height| match height {
        0 => Constraint::Min(1),
        height => Constraint::Length(height),
    });
    let [head, body, message, keys] = Layout::vertical(rows).areas(area);
    draw_head(state, frame, head);
    let has_focus = state.overlay.is_none() && state.form.is_none();
    match &state.detail {
        Some(detail) if state.is_wide() => {
            let halves = [Constraint::Fill(1), Constraint::Fill(1)];
            let [left, right] = Layout::horizontal(halves).areas(body);
            let look = (state.theme, has_focus && !state.in_detail);
            draw_board(frame, left, state.project(), look, &mut map);
            let block = Block::new().borders(Borders::LEFT).border_style(state.theme.quiet());
            let block = block.padding(Padding::left(1));
            let inner = block.inner(right);
            frame.render_widget(block, right);
            draw_detail(state, detail, frame, inner, &mut map);
        }
        Some(detail) => draw_detail(state, detail, frame, body, &mut map),
        None => draw_board(frame, body, state.project(), (state.theme, has_focus), &mut map),
    }
    draw_message(state, frame, message);
    draw_keys(state, frame, keys);
    if let Some(form) = &state.form {
        draw_form(form, state.theme, frame, body, state.overlay.is_none());
    }
    if let Some(overlay) = &state.overlay {
        draw_overlay(state, overlay, frame, body, &mut map);
    }
    map
}

/// Draws the project, the workflow, the filter, and the agent who acts.
fn draw_head(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let (shown, theme) = (state.project(), state.theme);
    let mut spans = Vec::new();
    for (at, project) in state.projects.iter().enumerate() {
        let number = if state.projects.len() > 1 { format!("{}:", at + 1) } else { String::new() };
        let name = format!(" {number}{} ", cut(&project.name, 24));
        let style = if at == state.current { theme.selected() } else { Style::new() };
        spans.push(Span::styled(name, style));
    }
    let lanes = shown.board.iter().flat_map(|board| &board.lanes);
    let current = shown.lane().map(|lane| &lane.workflow);
    for lane in lanes {
        let is_shown = Some(&lane.workflow) == current;
        let style = if is_shown { theme.heading() } else { theme.quiet() };
        spans.push(Span::styled(format!(" {}", cut(lane.workflow.as_str(), 24)), style));
    }
    let who = match &shown.you {
        Ok(you) => format!("as {you} "),
        Err(_) => "read-only ".to_owned(),
    };
    let mut right = Vec::new();
    let waiting = shown.board.as_ref().map_or(0, |board| board.waiting_for_you.len());
    if waiting > 0 {
        right.push(Span::styled(format!("{waiting} for you"), theme.call()));
    }
    let lost = shown.board.as_ref().map_or(0, |board| board.unreadable.len());
    if lost > 0 {
        right.push(Span::styled(format!("{lost} unreadable: aof list"), theme.alarm()));
    }
    for pause in shown.board.iter().flat_map(|board| &board.paused) {
        right.push(Span::styled(cut(pause, 80), theme.call()));
    }
    right.push(Span::raw(who));
    let mut joined = Vec::new();
    for span in right {
        joined.extend([Span::raw("  "), span]);
    }
    let right = Line::from(joined);
    let width = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
    let [left, end] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).areas(area);
    frame.render_widget(Line::from(spans), left);
    frame.render_widget(right, end);
}

/// Draws the line above the footer: the filter, the last result, or the fault.
fn draw_message(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let (project, theme, width) = (state.project(), state.theme, usize::from(area.width));
    if let Some(line) = &state.filter_line {
        let fault = state.message.as_ref().map(|(text, _)| text.as_str()).unwrap_or_default();
        let left = format!("/{}", line.text);
        frame.render_widget(Line::raw(both_ends(&left, &cut(fault, width * 2 / 3), width)), area);
        let column = 1 + line.text[..line.cursor].width();
        let column = u16::try_from(column).unwrap_or(u16::MAX).min(area.width - 1);
        frame.set_cursor_position((area.x + column, area.y));
        return;
    }
    let filter = || format!("/{}  (esc shows all)", project.filter_text);
    let (text, style) = match (&state.message, &project.trouble) {
        (Some((text, true)), _) => (text.clone(), theme.alarm()),
        (Some((text, false)), _) => (text.clone(), theme.good()),
        (None, _) if state.is_busy => ("under way ...".to_owned(), theme.quiet()),
        (None, Some(why)) => (format!("cannot read the project now: {why}"), theme.alarm()),
        (None, None) if !project.filter.is_empty() => (filter(), theme.call()),
        (None, None) => return,
    };
    frame.render_widget(Line::styled(cut(&text, width), style), area);
}

fn draw_keys(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let width = |(key, word): &(&str, &str)| key.width() + 1 + word.width() + 2;
    let named = foot(state.context());
    // The last two say how to learn more, and how to leave: the others take what is left.
    let (others, last) = named.split_at(named.len().saturating_sub(2));
    let mut left = usize::from(area.width) + 2;
    left = left.saturating_sub(last.iter().map(width).sum());
    let fits = |one: &&(&'static str, &'static str)| {
        let rest = left.checked_sub(width(one));
        left = rest.unwrap_or(left);
        rest.is_some()
    };
    let shown: Vec<_> = others.iter().filter(fits).chain(last).collect();
    let spans = shown.into_iter().flat_map(|(key, word)| {
        let word = format!(" {word}  ");
        [Span::styled(*key, state.theme.heading()), Span::styled(word, state.theme.quiet())]
    });
    frame.render_widget(Line::from(spans.collect::<Vec<_>>()), area);
}

fn look(theme: Theme, look: LineLook) -> Style {
    match look {
        LineLook::Plain => Style::new(),
        LineLook::Heading => theme.heading(),
        LineLook::Quiet => theme.quiet(),
        LineLook::Call => theme.call(),
        LineLook::Alarm => theme.alarm(),
        LineLook::Added => theme.good(),
        LineLook::Removed => theme.gone(),
    }
}

fn draw_detail(
    state: &TuiState,
    detail: &DetailPane,
    frame: &mut Frame<'_>,
    area: Rect,
    map: &mut ScreenMap,
) {
    map.targets.push((area, ClickTarget::Detail));
    let theme = state.theme;
    let id = format!("{} ", detail.id);
    let mut left = area.x + u16::try_from(id.width()).unwrap_or(0);
    let style = if state.in_detail { theme.selected() } else { theme.heading() };
    let mut spans = vec![Span::styled(id, style)];
    for (tab, name) in DetailTab::ALL {
        let text = if tab == detail.tab { format!("[{name}]") } else { format!(" {name} ") };
        let style = if tab == detail.tab { theme.heading() } else { theme.quiet() };
        let width = u16::try_from(text.width()).unwrap_or(0);
        map.targets.push((Rect { x: left, width, height: 1, ..area }, ClickTarget::Tab(tab)));
        left += width;
        spans.push(Span::styled(text, style));
    }
    frame.render_widget(Line::from(spans), Rect { height: 1, ..area });
    let inner = Rect { y: area.y + 1, height: area.height.saturating_sub(1), ..area };
    let rows = rows(detail.lines(), inner.width, theme);
    let is_unread = match detail.tab {
        DetailTab::Diff => detail.diff.is_none(),
        DetailTab::Graph => detail.graph.is_none(),
        DetailTab::Task | DetailTab::Timeline => false,
    };
    if is_unread {
        frame.render_widget(Line::styled("reading ...", theme.quiet()), inner);
        return;
    }
    draw_rows(rows, detail.scroll, frame, inner, map);
}

/// Returns the lines as rows of the pane.
fn rows(lines: &[PaneLine], width: u16, theme: Theme) -> Vec<Line<'static>> {
    let width = usize::from(width);
    let row = |line: &PaneLine| {
        let style = look(theme, line.look);
        let texts =
            if line.is_fixed { vec![line.text.clone()] } else { wrapped(&line.text, width) };
        texts.into_iter().map(move |text| Line::styled(text, style)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(row).collect()
}

fn draw_rows(
    rows: Vec<Line<'static>>,
    scroll: usize,
    frame: &mut Frame<'_>,
    area: Rect,
    map: &mut ScreenMap,
) {
    let room = usize::from(area.height);
    map.reach = rows.len().saturating_sub(room);
    map.page = room.saturating_sub(1).max(1);
    let top = scroll.min(map.reach);
    let count = rows.len();
    let shown: Vec<Line<'_>> = rows.into_iter().skip(top).take(room).collect();
    frame.render_widget(Paragraph::new(shown), area);
    if top < map.reach && room > 1 {
        let more = format!(" {} more ↓ ", count - top - room);
        let width = u16::try_from(more.width()).unwrap_or(0).min(area.width);
        let place =
            Rect { x: area.x + area.width - width, y: area.y + area.height - 1, width, height: 1 };
        frame.render_widget(Line::raw(more), place);
    }
}

/// Returns an area in the middle, at most `width` wide and `height` high.
fn middle(area: Rect, width: u16, height: u16) -> Rect {
    let (width, height) = (width.min(area.width), height.min(area.height));
    let (x, y) = ((area.width - width) / 2, (area.height - height) / 2);
    Rect { x: area.x + x, y: area.y + y, width, height }
}

fn boxed(title: &str, frame: &mut Frame<'_>, area: Rect) -> Rect {
    let block = Block::bordered().title(format!(" {} ", cut(title, 60)));
    let inner = block.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(block, area);
    inner
}

fn draw_form(form: &TuiForm, theme: Theme, frame: &mut Frame<'_>, body: Rect, has_cursor: bool) {
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
        rows.push(Line::styled("under way ...", theme.call()));
    }
    let height = u16::try_from(rows.len() + 2).unwrap_or(u16::MAX);
    let area = middle(body, width, height);
    let inner = boxed(&form.title, frame, area);
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

fn draw_overlay(
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
            let items: Vec<String> =
                forms.iter().map(|form| form.lead.last().cloned().unwrap_or_default()).collect();
            let card_id = state.project().card().map(|card| card.id.to_string());
            let title = card_id.unwrap_or_default();
            draw_list(&title, &items, *at, theme, frame, body, map);
        }
        Overlay::Waiting { at } => {
            let project = state.project();
            let now = project.board.as_ref().map(|board| board.at).unwrap_or_default();
            let line = |card: &Card| {
                let gate = card.gate.as_ref().map(GateId::as_str).unwrap_or_default();
                format!("{}  {}  {gate}  {}", card.id, age(card.since, now), card.title)
            };
            let items: Vec<String> = project.waiting().into_iter().map(line).collect();
            let title = if items.is_empty() { "nothing waits for you" } else { "waits for you" };
            draw_list(title, &items, *at, theme, frame, body, map);
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
        let text = format!("{mark}{}", cut(item, usize::from(inner.width).saturating_sub(2)));
        frame.render_widget(Paragraph::new(text).style(style), row);
        map.targets.push((row, ClickTarget::Item(place)));
    }
}
