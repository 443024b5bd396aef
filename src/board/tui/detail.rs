//! One task in full: its tabs, and the lines of each.

use super::text::{lines, local, span};
use super::worker::LoadedPage;
use crate::board::model::page::{OpeningPage, OutcomeChoice, TaskDetails, TimelineEntry};
use crate::domain::{AgentId, TaskId, WorkflowName};
use crate::files::printable::one_line;
use crate::tasks::view::work_diff::WorkDiff;

/// A tab of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DetailTab {
    Task,
    Timeline,
    Diff,
    Graph,
}

impl DetailTab {
    pub(super) const ALL: [(Self, &'static str); 4] = [
        (Self::Task, "task"),
        (Self::Timeline, "timeline"),
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
    timeline: Vec<PaneLine>,
    pub diff: Option<Vec<PaneLine>>,
    pub graph: Option<Vec<PaneLine>>,
}

impl DetailPane {
    pub(super) fn new(id: TaskId, workflow: WorkflowName, tab: DetailTab) -> Self {
        let (task, timeline) = (reading(), reading());
        Self { id, workflow, tab, scroll: 0, page: None, task, timeline, diff: None, graph: None }
    }

    /// Returns the lines of the tab that is shown.
    pub(super) fn lines(&self) -> &[PaneLine] {
        match self.tab {
            DetailTab::Task => &self.task,
            DetailTab::Timeline => &self.timeline,
            DetailTab::Diff => self.diff.as_deref().unwrap_or(&self.task[..0]),
            DetailTab::Graph => self.graph.as_deref().unwrap_or(&self.task[..0]),
        }
    }

    pub(super) fn set_page(&mut self, page: LoadedPage, you: Option<&AgentId>) {
        self.task = task_lines(&page.page, you);
        self.timeline = timeline_lines(&page.page);
        self.page = Some(page);
    }

    pub(super) fn set_fault(&mut self, why: &str) {
        self.task = fault_lines(why);
        self.timeline.clone_from(&self.task);
        self.page = None;
    }
}

fn reading() -> Vec<PaneLine> {
    vec![PaneLine::new("reading ...", LineLook::Quiet)]
}

pub(super) fn fault_lines(why: &str) -> Vec<PaneLine> {
    lines(why).into_iter().map(|line| PaneLine::new(line, LineLook::Alarm)).collect()
}

fn task_lines(page: &TaskDetails, you: Option<&AgentId>) -> Vec<PaneLine> {
    let mut out = vec![PaneLine::new(one_line(&page.title), LineLook::Heading)];
    let quiet = |text: String| PaneLine::new(text, LineLook::Quiet);
    out.push(quiet(one_line(&page.path)));
    if let Some(frozen) = &page.frozen {
        out.push(PaneLine::new(format!("frozen: {}", one_line(frozen)), LineLook::Alarm));
    }
    out.push(heading(""));
    out.push(heading("why it is here"));
    out.extend(
        page.reasons
            .iter()
            .map(|reason| PaneLine::new(format!("- {}", one_line(reason)), LineLook::Plain)),
    );
    for opening in &page.openings {
        out.extend(opening_lines(opening, you));
    }
    out.push(heading(""));
    out.push(heading("text"));
    let body = lines(page.body.trim());
    if body.is_empty() {
        out.push(quiet("it has none; `e` opens the file in your editor".to_owned()));
    }
    out.extend(body.into_iter().map(|line| {
        let look = match line.trim_start() {
            text if text.starts_with('#') => LineLook::Heading,
            text if text.starts_with("<!--") => LineLook::Quiet,
            _ => LineLook::Plain,
        };
        PaneLine::new(line, look)
    }));
    out
}

fn heading(text: &str) -> PaneLine {
    PaneLine::new(text, LineLook::Heading)
}

fn opening_lines(opening: &OpeningPage, you: Option<&AgentId>) -> Vec<PaneLine> {
    let is_yours = you.is_some_and(|you| opening.agents.contains(you)) && !opening.blocked;
    let mut out = vec![heading("")];
    let station = one_line(&opening.station);
    out.push(heading(&format!("what can be said at {station}, as {}", opening.role)));
    let who = match (opening.blocked, is_yours) {
        (true, _) => PaneLine::new("blocked until somebody unblocks it (`u`)", LineLook::Alarm),
        (false, true) => PaneLine::new("you may say it", LineLook::Call),
        (false, false) => {
            let agents: Vec<&str> = opening.agents.iter().map(AgentId::as_str).collect();
            let who = if agents.is_empty() { "nobody".to_owned() } else { agents.join(", ") };
            PaneLine::new(format!("who may: {who}"), LineLook::Quiet)
        }
    };
    out.push(who);
    out.extend(
        opening
            .choices
            .iter()
            .map(|choice| PaneLine::new(format!("- {}", choice_text(choice)), LineLook::Plain)),
    );
    out
}

/// Returns an outcome, the place that it leads to, and its meaning.
pub(super) fn choice_text(choice: &OutcomeChoice) -> String {
    let to = choice.to.as_ref().map(|to| format!(" -> {}", one_line(to)));
    let meaning = one_line(&choice.meaning);
    let meaning = if meaning.is_empty() { meaning } else { format!(": {meaning}") };
    format!("{}{}{meaning}", choice.outcome, to.unwrap_or_default())
}

fn timeline_lines(page: &TaskDetails) -> Vec<PaneLine> {
    if page.timeline.is_empty() {
        return vec![PaneLine::new("no visit has ended yet", LineLook::Quiet)];
    }
    page.timeline.iter().rev().flat_map(entry_lines).collect()
}

fn entry_lines(entry: &TimelineEntry) -> Vec<PaneLine> {
    let to = entry.to.as_ref().map(|to| format!(" -> {}", one_line(to))).unwrap_or_default();
    let station = one_line(&entry.station);
    let mut out = vec![heading(&format!("{station}: {}{to}", one_line(&entry.outcome)))];
    let by = entry.agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
    let (at, took) = (local(entry.exited), span(entry.seconds));
    out.push(PaneLine::new(format!("  {at}{by}, after {took}"), LineLook::Quiet));
    let plain = |text: String| PaneLine::new(text, LineLook::Plain);
    out.extend(lines(&entry.summary).into_iter().map(|line| plain(format!("  {line}"))));
    out.extend(
        entry
            .blockers
            .iter()
            .map(|text| PaneLine::new(format!("  - {}", one_line(text)), LineLook::Alarm)),
    );
    let notes = entry.notes.iter().flat_map(|text| lines(text));
    out.extend(notes.map(|line| plain(format!("  {line}"))));
    out.push(plain(String::new()));
    out
}

/// Returns the lines of a diff of the work.
pub(super) fn diff_lines(diff: &WorkDiff) -> Vec<PaneLine> {
    let since = format!("changes since {}, {}", diff.since, diff.which);
    let mut out = vec![PaneLine::new(since, LineLook::Quiet)];
    if diff.text.is_empty() && diff.untracked.is_empty() {
        out.push(PaneLine::new("nothing has changed outside tasks/", LineLook::Plain));
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
        out.push(heading("new files that git does not know yet"));
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
