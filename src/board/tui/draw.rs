//! Draws the whole screen from the state.

mod board;
mod list;
mod overlay;
mod task;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::key_table::foot;
use super::state::{ScreenMap, TuiState};
use super::text::{both_ends, cut, fitted, wrapped};
use crate::board::model::columns::{BoardColumn, BoardView};
use crate::files::printable::one_line;

/// The size below which nothing useful can be shown.
const SMALLEST: (u16, u16) = (40, 12);

/// The width of the column beside an open task, and the blanks between them.
const BESIDE: u16 = 40;
const GAP: u16 = 2;

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
    let message = message(state);
    let has_message = u16::from(message.is_some() || state.filter_line.is_some());
    let rows = [1, 1, 0, has_message, 1].map(Constraint::Length);
    let rows = [rows[0], rows[1], Constraint::Min(1), rows[3], rows[4]];
    let [head, way, body, line, keys] = Layout::vertical(rows).areas(area);
    draw_head(state, frame, head);
    draw_way(state, frame, way);
    let has_focus = state.overlay.is_none() && state.form.is_none() && !state.in_detail;
    match &state.detail {
        Some(detail) if state.is_wide() => {
            let halves = [Constraint::Length(BESIDE), Constraint::Length(GAP), Constraint::Min(1)];
            let [left, _, right] = Layout::horizontal(halves).areas(body);
            draw_tasks(state, frame, left, (has_focus, true), &mut map);
            task::draw_task(state, detail, frame, right, &mut map);
        }
        Some(detail) => task::draw_task(state, detail, frame, body, &mut map),
        None => draw_tasks(state, frame, body, (has_focus, false), &mut map),
    }
    if state.filter_line.is_some() {
        draw_filter_line(state, frame, line);
    } else if let Some((text, style)) = message {
        frame.render_widget(Line::styled(fitted(&text, usize::from(line.width)), style), line);
    }
    draw_keys(state, frame, keys);
    if let Some(form) = &state.form {
        overlay::draw_form(form, state.theme, frame, body, state.overlay.is_none());
    }
    if let Some(overlay) = &state.overlay {
        let over = Rect { y: way.y, height: way.height + body.height, ..body };
        overlay::draw_overlay(state, overlay, frame, over, &mut map);
    }
    map
}

/// Draws the columns or the list; a sentence in the middle if there is nothing to show.
fn draw_tasks(
    state: &TuiState,
    frame: &mut Frame<'_>,
    area: Rect,
    (has_focus, is_beside): (bool, bool),
    map: &mut ScreenMap,
) {
    let (project, theme) = (state.project(), state.theme);
    let count = if project.in_list { project.listed() } else { project.shown_count() };
    let text = match (&project.board, count) {
        (None, _) if project.trouble.is_some() => return,
        (None, _) => "reading ...".to_owned(),
        (Some(_), 0) if !project.filter.is_empty() => {
            format!("no task matches \"{}\"   esc clears", cut(&project.filter_text, 40))
        }
        (Some(_), 0) if project.in_list => "nothing waits for you   esc goes back".to_owned(),
        (Some(_), 0) => "no tasks yet   n creates one".to_owned(),
        (Some(_), _) if project.in_list => {
            return list::draw_list(frame, area, project, (theme, has_focus, is_beside), map);
        }
        (Some(_), _) => {
            return board::draw_board(frame, area, project, (theme, has_focus, is_beside), map);
        }
    };
    let text = fitted(&text, usize::from(area.width));
    let row = Rect { y: area.y + area.height / 2, height: 1, ..area };
    frame.render_widget(Paragraph::new(Line::styled(text, theme.quiet())).centered(), row);
}

/// Draws the project, the workflows if there are several, what waits, and the agent who acts.
fn draw_head(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let (shown, theme) = (state.project(), state.theme);
    let mut words = Vec::new();
    for (at, project) in state.projects.iter().enumerate() {
        let number = if state.projects.len() > 1 { format!("{}:", at + 1) } else { String::new() };
        let style = if at == state.current { theme.heading() } else { theme.quiet() };
        words.push((format!("{number}{}", cut(&project.name, 24)), style));
    }
    let lanes = shown.board.as_ref().map(|board| board.tabs()).unwrap_or_default();
    let current = shown.lane().map(|lane| &lane.workflow);
    for lane in lanes.iter().filter(|_| lanes.len() > 1) {
        let is_shown = Some(&lane.workflow) == current;
        let style = if is_shown { Style::new() } else { theme.quiet() };
        words.push((cut(lane.workflow.as_str(), 24), style));
    }
    let left: Vec<Span<'_>> = words
        .into_iter()
        .flat_map(|(word, style)| [Span::styled(word, style), Span::raw("  ")])
        .collect();
    let mut right = Vec::new();
    let board = shown.board.as_deref();
    let waiting = board.map_or(0, BoardView::waiting_count);
    let waits = if waiting == 1 { "waits" } else { "wait" };
    // The list of what waits has that as its title.
    let is_said = waiting > 0 && !shown.in_list;
    right.extend(is_said.then(|| (format!("{waiting} {waits} for you"), theme.call())));
    let lost = board.map_or(0, |board| board.unreadable.len());
    right.extend((lost > 0).then(|| (format!("{lost} unreadable: aof list"), theme.late())));
    let pauses = board.iter().flat_map(|board| &board.paused);
    right.extend(pauses.map(|pause| (cut(pause, 80), theme.stopped())));
    let who = match &shown.you {
        Ok(you) => format!("as {}", board.map_or(you.as_str(), |board| board.name(you))),
        Err(_) => "read-only".to_owned(),
    };
    right.push((who, Style::new()));
    let right = Line::from(
        right
            .into_iter()
            .flat_map(|(word, style)| [Span::raw("  "), Span::styled(word, style)])
            .collect::<Vec<_>>(),
    );
    let width = u16::try_from(right.width()).unwrap_or(area.width).min(area.width);
    let [start, end] =
        Layout::horizontal([Constraint::Min(0), Constraint::Length(width)]).areas(area);
    frame.render_widget(Line::from(left), start);
    frame.render_widget(right, end);
}

/// Draws all gates in their order, each with the number of its cards. The selected one is always visible.
fn draw_way(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let (project, theme) = (state.project(), state.theme);
    if project.in_list {
        let words = format!("Waiting for you {}", project.listed());
        frame.render_widget(Line::styled(words, theme.heading()), area);
        return;
    }
    let step = |(at, column): (usize, &BoardColumn)| {
        let style = match project.count(at) {
            _ if at == project.column => theme.heading(),
            0 => theme.quiet(),
            _ => Style::new(),
        };
        let words = format!("{} {}  ", cut(column.place.title(), 24), project.count(at));
        Span::styled(words, style)
    };
    let steps: Vec<Span<'_>> = project.columns().iter().enumerate().map(step).collect();
    let room = usize::from(area.width).saturating_sub(4);
    let width = |from: usize| {
        steps[from..]
            .iter()
            .take((project.column + 1).saturating_sub(from))
            .map(Span::width)
            .sum::<usize>()
    };
    let first = (0..steps.len()).find(|from| width(*from) <= room).unwrap_or(0);
    let mut shown = vec![Span::raw(if first > 0 { "< " } else { "" })];
    shown.extend(steps.into_iter().skip(first));
    let line = Line::from(shown);
    let is_cut = line.width() > usize::from(area.width) + 2;
    frame.render_widget(line, area);
    if is_cut {
        let end = Rect { x: area.x + area.width.saturating_sub(2), width: 2, ..area };
        frame.render_widget(Line::raw(" >"), end);
    }
}

fn draw_filter_line(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let Some(line) = &state.filter_line else { return };
    let width = usize::from(area.width);
    let fault = state.message.as_ref().map(|(text, _)| text.as_str()).unwrap_or_default();
    let left = format!("/{}", line.text);
    frame.render_widget(Line::raw(both_ends(&left, &cut(fault, width * 2 / 3), width)), area);
    let column = 1 + line.text[..line.cursor].width();
    let column = u16::try_from(column).unwrap_or(u16::MAX).min(area.width - 1);
    frame.set_cursor_position((area.x + column, area.y));
}

/// Returns the line above the foot: the last result, a fault, or the filter.
fn message(state: &TuiState) -> Option<(String, Style)> {
    let (project, theme) = (state.project(), state.theme);
    match (&state.message, &project.trouble) {
        (Some((text, true)), _) => Some((one_line(text), theme.late())),
        (Some((text, false)), _) => Some((one_line(text), theme.good())),
        (None, _) if state.is_busy => Some(("working ...".to_owned(), theme.quiet())),
        (None, Some(why)) => {
            Some((format!("cannot read the project now: {}", one_line(why)), theme.late()))
        }
        (None, None) if project.filter.is_empty() => None,
        (None, None) => {
            Some((format!("/{}   esc clears", cut(&project.filter_text, 60)), theme.call()))
        }
    }
}

fn draw_keys(state: &TuiState, frame: &mut Frame<'_>, area: Rect) {
    let width = |(key, word): &(&str, &str)| key.width() + 1 + word.width() + 2;
    let named = foot(state.context(), state.is_wide());
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
