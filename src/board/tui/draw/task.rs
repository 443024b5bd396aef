//! Draws an open task: its title and facts, its tabs, the lines of one, and the acts that are possible.

use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;
use unicode_width::UnicodeWidthStr;

use super::super::detail::{DetailPane, DetailTab, LineLook, PaneLine};
use super::super::state::{ClickTarget, ScreenMap, TuiState};
use super::super::text::{cut, wrapped};
use super::super::theme::Theme;
use super::super::update::acts::offered;
use super::board::{due_style, mark_style, turn_style};
use super::draw_rows;
use crate::board::model::columns::{BoardView, Card};
use crate::domain::{GateId, Priority};
use crate::tasks::view::phrases::{self, TurnKind};

pub(super) fn draw_task(
    state: &TuiState,
    detail: &DetailPane,
    frame: &mut Frame<'_>,
    area: Rect,
    map: &mut ScreenMap,
) {
    map.targets.push((area, ClickTarget::Detail));
    let (theme, width) = (state.theme, usize::from(area.width));
    let board = state.project().board.as_ref();
    let card = board.and_then(|board| Some((board, board.card(&detail.id)?)));
    let page = detail.page.as_ref().map(|loaded| &loaded.page);
    let title = card.map(|(_, card)| &card.title).or_else(|| page.map(|page| &page.title));
    let style = if state.in_detail { theme.heading() } else { Style::new() };
    let title = cut(title.map_or("", String::as_str), width * 2);
    let mut head: Vec<Line<'_>> =
        wrapped(&title, width).into_iter().map(|line| Line::styled(line, style)).collect();
    match card {
        Some((board, card)) => head.extend(facts(board, card, width, theme)),
        None => head.push(Line::styled(detail.id.to_string(), theme.quiet())),
    }
    let tabs = area.y + u16::try_from(head.len()).unwrap_or(0);
    head.push(tab_line(detail, Rect { y: tabs, height: 1, ..area }, theme, map));
    let acts = acts(state, detail);
    let (above, below) = (u16::try_from(head.len() + 1).unwrap_or(0), u16::from(acts.is_some()));
    let height = area.height.saturating_sub(above + below);
    frame.render_widget(Paragraph::new(head), area);
    if let Some(acts) = acts {
        let last = Rect { y: area.y + area.height.saturating_sub(1), height: 1, ..area };
        frame.render_widget(acts, last);
    }
    let inner = Rect { y: area.y + above, height, ..area };
    let is_unread = match detail.tab {
        DetailTab::Diff => detail.diff.is_none(),
        DetailTab::Graph => detail.graph.is_none(),
        DetailTab::Task | DetailTab::History => false,
    };
    if is_unread {
        frame.render_widget(Line::styled("reading ...", theme.quiet()), inner);
        return;
    }
    draw_rows(rows(detail.lines(), width, theme), detail.scroll, frame, inner, map);
}

/// Returns the facts of a task as lines: its id, where it is since when, its plan.
fn facts<'l>(board: &BoardView, card: &Card, width: usize, theme: Theme) -> Vec<Line<'l>> {
    let since = board.at.as_second() - card.since.as_second();
    let since = phrases::lasting(u64::try_from(since).unwrap_or(0));
    let gate = card.gate.as_ref().map(GateId::as_str).unwrap_or_default();
    let turn = &card.words.turn;
    let is_you = turn.kind == TurnKind::You;
    let mut words = vec![(card.id.to_string(), theme.quiet())];
    if is_you {
        words.push((format!("{gate}, waits for you {since}"), theme.call()));
    } else {
        words.push((gate.to_owned(), Style::new()));
        words.push((format!("{} {since}", turn.phrase), turn_style(turn.kind, theme)));
    }
    if card.priority != Priority::Medium {
        let (mark, word) = (phrases::mark(card.priority), phrases::priority(card.priority));
        words.push((format!("{mark} {}", word.to_lowercase()), mark_style(card.priority, theme)));
    }
    if !card.words.due.is_empty() {
        let due =
            if card.overdue { card.words.due.clone() } else { format!("due {}", card.words.due) };
        words.push((due, due_style(card, theme)));
    }
    let tags: Vec<String> = card.tags.iter().map(|tag| format!("#{tag}")).collect();
    words.push((cut(&tags.join(" "), width), theme.quiet()));
    let mut lines = vec![Line::default()];
    for (word, style) in words.into_iter().filter(|(word, _)| !word.is_empty()) {
        let is_full = lines
            .last()
            .is_some_and(|line| line.width() > 0 && line.width() + 2 + word.width() > width);
        if is_full {
            lines.push(Line::default());
        }
        if let Some(line) = lines.last_mut() {
            let gap = if line.width() > 0 { "  " } else { "" };
            line.push_span(gap);
            line.push_span(Span::styled(word, style));
        }
    }
    lines
}

fn tab_line<'l>(detail: &DetailPane, area: Rect, theme: Theme, map: &mut ScreenMap) -> Line<'l> {
    let mut left = area.x;
    let tab = |(tab, name): (DetailTab, &str)| {
        let is_open = tab == detail.tab;
        let text = if is_open { format!("[{name}]  ") } else { format!("{name}  ") };
        let width = u16::try_from(text.width()).unwrap_or(0);
        map.targets.push((Rect { x: left, width, ..area }, ClickTarget::Tab(tab)));
        left += width;
        Span::styled(text, if is_open { theme.heading() } else { theme.quiet() })
    };
    Line::from(DetailTab::ALL.map(tab).to_vec())
}

/// Returns the acts that are possible, each with its key and where it leads.
fn acts<'l>(state: &TuiState, detail: &DetailPane) -> Option<Line<'l>> {
    let (page, you) = (&detail.page.as_ref()?.page, state.project().you.as_ref().ok()?);
    let acts = offered(page, you);
    let spans = acts.into_iter().flat_map(|(key, words)| {
        [Span::styled(format!("{key} "), state.theme.heading()), Span::raw(format!("{words}    "))]
    });
    let spans: Vec<Span<'_>> = spans.collect();
    (!spans.is_empty()).then(|| Line::from(spans))
}

/// Returns the lines as rows of the pane.
fn rows(lines: &[PaneLine], width: usize, theme: Theme) -> Vec<Line<'static>> {
    let row = |line: &PaneLine| {
        let style = look(theme, line.look);
        let texts =
            if line.is_fixed { vec![line.text.clone()] } else { wrapped(&line.text, width) };
        texts.into_iter().map(move |text| Line::styled(text, style)).collect::<Vec<_>>()
    };
    lines.iter().flat_map(row).collect()
}

fn look(theme: Theme, look: LineLook) -> Style {
    match look {
        LineLook::Plain => Style::new(),
        LineLook::Heading => theme.heading(),
        LineLook::Quiet => theme.quiet(),
        LineLook::Call => theme.call(),
        LineLook::Alarm => theme.late(),
        LineLook::Added => theme.good(),
        LineLook::Removed => theme.gone(),
    }
}
