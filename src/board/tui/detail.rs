//! One task in full: its tabs, and the lines of each.

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use super::text::{cut, lines, padded};
use super::worker::LoadedPage;
use crate::board::model::columns::{BoardView, Card};
use crate::board::model::page::{OpenPoint, TaskDetails, TimelineEntry};
use crate::domain::{AgentId, TaskId, Timestamp, WorkflowName};
use crate::files::printable::one_line;
use crate::tasks::view::phrases::{self, TurnKind};
use crate::tasks::view::work_diff::WorkDiff;

/// A tab of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetailTab {
    Task,
    History,
    Diff,
    Graph,
}

impl DetailTab {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Task, "task"),
        (Self::History, "history"),
        (Self::Diff, "diff"),
        (Self::Graph, "workflow"),
    ];

    /// Returns the next tab, or the previous one.
    pub(super) fn turned(self, is_forward: bool) -> Self {
        let at = Self::ALL.iter().position(|(tab, _)| *tab == self).unwrap_or(0);
        let next = if is_forward { at + 1 } else { at + Self::ALL.len() - 1 };
        Self::ALL[next % Self::ALL.len()].0
    }
}

/// The look of a line of a pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineLook {
    Plain,
    Heading,
    Quiet,
    Call,
    Alarm,
    Added,
    Removed,
}

/// A line of a pane, harmless, not yet wrapped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PaneLine {
    pub text: String,
    pub look: LineLook,
    /// True if the line is cut, not wrapped: a line of a diff or a drawing.
    pub is_fixed: bool,
}

impl PaneLine {
    fn new(text: impl Into<String>, look: LineLook) -> Self {
        Self { text: text.into(), look, is_fixed: false }
    }

    fn fixed(text: String, look: LineLook) -> Self {
        Self { text, look, is_fixed: true }
    }
}

/// A pane with one task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct DetailPane {
    pub id: TaskId,
    pub workflow: WorkflowName,
    pub tab: DetailTab,
    pub scroll: usize,
    pub page: Option<LoadedPage>,
    task: Vec<PaneLine>,
    history: Vec<PaneLine>,
    pub diff: Option<Vec<PaneLine>>,
    pub graph: Option<Vec<PaneLine>>,
}

impl DetailPane {
    pub(super) fn new(id: TaskId, workflow: WorkflowName, tab: DetailTab) -> Self {
        let (task, history) = (reading(), reading());
        Self { id, workflow, tab, scroll: 0, page: None, task, history, diff: None, graph: None }
    }

    /// Returns the lines of the tab that is shown.
    pub(super) fn lines(&self) -> &[PaneLine] {
        match self.tab {
            DetailTab::Task => &self.task,
            DetailTab::History => &self.history,
            DetailTab::Diff => self.diff.as_deref().unwrap_or(&self.task[..0]),
            DetailTab::Graph => self.graph.as_deref().unwrap_or(&self.task[..0]),
        }
    }

    pub(super) fn set_page(&mut self, page: LoadedPage, board: &BoardView) {
        self.task = task_lines(&page.page, board);
        self.history = history_lines(&page.page, board);
        self.page = Some(page);
    }

    pub(super) fn set_fault(&mut self, why: &str) {
        self.task = fault_lines(why);
        self.history.clone_from(&self.task);
        self.page = None;
    }
}

fn reading() -> Vec<PaneLine> {
    vec![PaneLine::new("reading ...", LineLook::Quiet)]
}

pub(super) fn fault_lines(why: &str) -> Vec<PaneLine> {
    lines(why).into_iter().map(|line| PaneLine::new(line, LineLook::Alarm)).collect()
}

fn task_lines(page: &TaskDetails, board: &BoardView) -> Vec<PaneLine> {
    let (card, sheet) = (board.card(&page.id), &page.sheet);
    let mut out = Vec::new();
    let mut section = |title: &str, lines: Vec<PaneLine>| {
        if !lines.is_empty() {
            let gap = (!out.is_empty()).then(|| PaneLine::new("", LineLook::Plain));
            out.extend(gap);
            out.extend((!title.is_empty()).then(|| PaneLine::new(title, LineLook::Heading)));
            out.extend(lines);
        }
    };
    let frozen = page.frozen.iter().map(|why| PaneLine::new(one_line(why), LineLook::Alarm));
    section("", frozen.collect());
    let blockers = card.map_or(&[][..], |card| &card.blockers);
    let blockers =
        blockers.iter().map(|why| PaneLine::new(format!("  {}", one_line(why)), LineLook::Alarm));
    section("Blocked", blockers.collect());
    let is_settled = |point: &&OpenPoint| point.is_settled_for(board.you.as_ref());
    let (settled, points): (Vec<&OpenPoint>, Vec<_>) = sheet.points.iter().partition(is_settled);
    let lines_of = points.iter().map(|point| {
        let by = point.by.as_ref().map(|by| format!("{}, ", board.name(by))).unwrap_or_default();
        let ago = ago(point.at, board);
        PaneLine::new(format!("  [ ] {}   {by}{ago}", one_line(&point.text)), LineLook::Plain)
    });
    section("Open points", lines_of.collect());
    let is_awaited = points.is_empty() && card.is_some_and(|card| card.waits_for_you);
    let none = if is_awaited { "Open points: none. " } else { "" };
    if settled.is_empty() && is_awaited {
        section("", vec![PaneLine::new(none.trim_end_matches(". "), LineLook::Quiet)]);
    }
    let lines_of = settled
        .iter()
        .map(|point| PaneLine::new(format!("  [x] {}", one_line(&point.text)), LineLook::Plain));
    section(&format!("{none}Settled since you sent it back:"), lines_of.collect());
    let text = lines(sheet.text.trim()).into_iter().map(|line| {
        let is_heading = line.starts_with('#');
        PaneLine::new(line, if is_heading { LineLook::Heading } else { LineLook::Plain })
    });
    let text: Vec<PaneLine> = text.collect();
    let none = || vec![PaneLine::new("No text yet, e opens it in your editor", LineLook::Quiet)];
    section("", if text.is_empty() { none() } else { text });
    let comments = sheet.comments.iter().flat_map(|comment| {
        let head = format!("  {}, {}", board.author(&comment.by), ago(comment.at, board));
        let text = lines(&comment.text).into_iter();
        let text = text.map(|line| PaneLine::new(format!("    {line}"), LineLook::Plain));
        [PaneLine::new(head, LineLook::Quiet)].into_iter().chain(text)
    });
    section("Comments", comments.collect());
    let parts = board.cards().filter(|card| card.words.parent.as_ref() == Some(&page.id));
    let parts: Vec<&Card> = parts.collect();
    let title = match card.and_then(|card| card.children) {
        Some(count) => format!("Parts {} of {}", count.done, count.total),
        None => "Parts".to_owned(),
    };
    section(&title, parts.into_iter().map(|part| relation("", part)).collect());
    let related = |word: &'static str, id: &TaskId| match board.card(id) {
        Some(card) => relation(word, card),
        None => PaneLine::new(format!("{word:<9}{id}"), LineLook::Quiet),
    };
    let before = board.cards().filter(|card| card.waiting_for.contains(&page.id));
    let mut other: Vec<PaneLine> = sheet.parent.iter().map(|id| related("Part of", id)).collect();
    other.extend(sheet.depends_on.iter().map(|id| related("After", id)));
    other.extend(before.map(|card| relation("Before", card)));
    let work = sheet.work.iter().map(|work| format!("{:<9}{work}", "Work"));
    other.extend(work.map(|text| PaneLine::new(text, LineLook::Quiet)));
    other.push(PaneLine::new(format!("{:<9}{}", "File", one_line(&page.path)), LineLook::Quiet));
    section("", other);
    out
}

fn ago(at: Timestamp, board: &BoardView) -> String {
    let zone = board.zone.clone().unwrap_or(TimeZone::UTC);
    phrases::ago(at, board.at, &zone)
}

/// Returns a line about another task: its id, its title, where it is and whose turn it is.
fn relation(word: &str, card: &Card) -> PaneLine {
    let is_done = card.words.turn.kind == TurnKind::Ended;
    let gap = match word {
        "" => if is_done { "✓ " } else { "  " }.to_owned(),
        word => format!("{word:<9}"),
    };
    let gate = card.gate.as_ref().map(|gate| format!("{gate}   ")).unwrap_or_default();
    let (id, title) = (card.id.local(), padded(&cut(&card.title, 36), 36, false));
    PaneLine::fixed(
        format!("{gap}{id}  {title}   {gate}{}", card.words.turn.phrase),
        LineLook::Plain,
    )
}

/// Returns what happened to a task, the newest first, below the heading of each day.
fn history_lines(page: &TaskDetails, board: &BoardView) -> Vec<PaneLine> {
    let (sheet, mut entries) = (&page.sheet, Vec::new());
    let name = |agent: Option<&AgentId>| agent.map_or("", |agent| board.name(agent)).to_owned();
    if sheet.created > Timestamp::default() {
        entries.push((
            sheet.created,
            name(sheet.created_by.as_ref()),
            "created it".to_owned(),
            Vec::new(),
        ));
    }
    for entry in sheet.log.iter().rev() {
        let who = entry.agent.as_ref().map_or(one_line(&entry.author), |by| name(Some(by)));
        entries.push((entry.at, who, one_line(&entry.words), lines(&entry.text)));
    }
    for entry in &page.timeline {
        let (words, texts) = visit_words(entry);
        entries.push((entry.exited, name(entry.agent.as_ref()), words, texts));
    }
    for comment in &sheet.comments {
        let by = board.author(&comment.by);
        entries.push((comment.at, by, "comment".to_owned(), lines(&comment.text)));
    }
    entries.sort_by_key(|(at, ..)| *at);
    let zone = board.zone.clone().unwrap_or(TimeZone::UTC);
    let (mut out, mut day) = (Vec::new(), String::new());
    let widest = entries.iter().map(|(_, who, ..)| who.width()).max().unwrap_or(0);
    for (at, who, words, texts) in entries.into_iter().rev() {
        let heading = phrases::day(at, board.at, &zone);
        if heading != day {
            out.push(PaneLine::new(heading.clone(), LineLook::Heading));
            day = heading;
        }
        let clock = at.to_zoned(TimeZone::system()).strftime("%H:%M").to_string();
        let who = padded(&who, widest, false);
        out.push(PaneLine::new(format!("  {clock}  {who}  {words}"), LineLook::Plain));
        let indent = " ".repeat(widest + 11);
        out.extend(
            texts.into_iter().map(|text| PaneLine::new(format!("{indent}{text}"), LineLook::Quiet)),
        );
    }
    out
}

/// Returns a visit that has ended in words, and its texts.
fn visit_words(entry: &TimelineEntry) -> (String, Vec<String>) {
    let is_repeated = entry.blockers.first() == Some(&entry.summary);
    let summary =
        Some(&entry.summary).filter(|_| !is_repeated).into_iter().flat_map(|text| lines(text));
    let points = entry.blockers.iter().map(|text| format!("- {}", one_line(text)));
    let notes = entry.notes.iter().flat_map(|text| lines(text));
    let span = phrases::lasting(entry.seconds);
    (format!("{}   {span}", one_line(&entry.words())), summary.chain(points).chain(notes).collect())
}

/// Returns the lines of a diff of the work.
pub(super) fn diff_lines(diff: &WorkDiff) -> Vec<PaneLine> {
    let since = format!("changes since {}, {}", diff.since, diff.which);
    let mut out = vec![PaneLine::new(since, LineLook::Quiet)];
    if diff.text.is_empty() && diff.untracked.is_empty() {
        out.push(PaneLine::new("no changes outside tasks/", LineLook::Plain));
    }
    out.extend(lines(&diff.text).into_iter().map(|line| {
        let look = match line.as_bytes().first() {
            _ if line.starts_with("+++") || line.starts_with("---") => LineLook::Heading,
            _ if line.starts_with("diff ") => LineLook::Heading,
            Some(b'+') => LineLook::Added,
            Some(b'-') => LineLook::Removed,
            Some(b'@') => LineLook::Quiet,
            _ => LineLook::Plain,
        };
        PaneLine::fixed(line, look)
    }));
    if !diff.untracked.is_empty() {
        out.push(PaneLine::new("New files that git does not know yet", LineLook::Heading));
        out.extend(
            diff.untracked
                .iter()
                .map(|name| PaneLine::new(format!("  {}", one_line(name)), LineLook::Plain)),
        );
    }
    out
}

/// Returns the lines of a drawn workflow; the gate of the task is highlighted.
pub(super) fn graph_lines(text: &str, gate: Option<&str>) -> Vec<PaneLine> {
    let is_here = |line: &str| {
        let name = line.split_once('○').and_then(|(_, rest)| rest.split_whitespace().next());
        name.is_some() && name == gate
    };
    lines(text)
        .into_iter()
        .map(|line| {
            if is_here(&line) {
                return PaneLine::fixed(format!("{line}  <- here"), LineLook::Call);
            }
            PaneLine::fixed(line, LineLook::Plain)
        })
        .collect()
}
