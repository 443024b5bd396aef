//! A page about one task: facts in two columns, lists, texts. Texts from files are made harmless here.

use jiff::tz::TimeZone;
use unicode_width::UnicodeWidthStr;

use crate::cli::{Session, between, bold, cyan, green, red, width, wrapped, yellow};
use crate::domain::{
    AgentId, BranchStatus, Due, GateId, OpenBranch, Priority, ReviewContext, RoleId, Station,
    Status, Task, Ticket, Timestamp,
};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::TaskFile;
use crate::rules::{Rules, Workplace, explained, is_looping};
use crate::tasks::headers::summary::{Awaited, WAITING};
use crate::tasks::view::phrases::{self, mark};
use crate::tasks::view::task_view::{eligible_agents, eligible_agents_at};

/// A page, written from top to bottom.
#[derive(Debug, Default)]
pub(crate) struct TaskPage(String);

impl TaskPage {
    /// Begins a page with a task's id and title.
    pub(crate) fn new(task: &Task) -> Self {
        let indent = task.id.as_str().len() + 2;
        let title = wrapped(&one_line(&task.title), width().saturating_sub(indent).max(16));
        let title: Vec<String> = title.iter().map(bold).collect();
        let title = title.join(&format!("\n{}", " ".repeat(indent)));
        Self(format!("{}  {title}\n", cyan(&task.id)))
    }

    /// Adds facts, one per line, with their names aligned.
    pub(crate) fn facts<N: AsRef<str>>(&mut self, facts: &[(N, String)]) {
        let widest = facts.iter().map(|(name, _)| name.as_ref().width()).max().unwrap_or(0);
        for (name, text) in facts {
            self.line(format!("  {:widest$}  {text}", name.as_ref()));
        }
    }

    /// Adds facts without an indent, their names bold and aligned; a name is shown once.
    pub(crate) fn columns(&mut self, facts: &[(&str, String)]) {
        let widest = facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        let mut last = "";
        for (name, text) in facts {
            let shown = if *name == last { "" } else { name };
            let gap = " ".repeat(widest - shown.width());
            self.line(format!("{}{gap}  {text}", bold(shown)));
            last = name;
        }
    }

    /// Adds a heading after a blank line.
    pub(crate) fn head(&mut self, text: &str) {
        self.line(format!("\n{}", bold(text)));
    }

    /// Adds a list; further lines of an item are indented below its first.
    pub(crate) fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) {
        for item in items {
            let text = inert(item.as_ref());
            self.line(format!("  - {}", text.trim().lines().collect::<Vec<_>>().join("\n    ")));
        }
    }

    /// Adds a heading and a list below it, unless the list is empty.
    pub(crate) fn section(&mut self, title: &str, items: &[String]) {
        if !items.is_empty() {
            self.head(title);
            self.list(items);
        }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.0.push_str(text.as_ref());
        self.0.push('\n');
    }

    /// Adds a text unchanged, after a blank line.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.line("");
            text.trim_matches('\n').lines().for_each(|line| self.line(inert(line)));
        }
    }

    /// Adds the review of the task. The brief for an agent leaves the gate out: agents are not shown the workflow.
    pub(crate) fn review(&mut self, review: &ReviewContext, gate: Option<&GateId>, now: Timestamp) {
        let from = gate.map(|gate| format!(" from {gate}")).unwrap_or_default();
        let by = review.from_agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        self.head(&format!("Sent back{from}{by}, {} ago", between(review.timestamp, now)));
        self.list(&review.blockers);
        self.text(review.notes.as_deref().unwrap_or_default());
    }

    /// Returns the page.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Warns if the given visit is not the open one: the task is shown in its current state.
pub(crate) fn warn_of_visit(session: &Session, asked: &Ticket, task: &Task) {
    let open = task.ticket();
    if asked.visit.is_none() || asked.visit == open.visit {
        return;
    }
    session.warn(&match open.visit {
        Some(visit) if asked.visit > Some(visit) => {
            format!("visit {asked} has not begun; this is {open}")
        }
        Some(_) => format!("visit {asked} has ended; this is {open}"),
        None => format!("visit {asked} is not open; no visit is"),
    });
}

/// Returns the role or the agents whose turn it is.
pub(crate) fn turn(rules: &Rules, file: &TaskFile) -> String {
    let task = &file.task;
    let role = Workplace::of(rules, task)
        .map(|workplace| workplace.role.clone())
        .or_else(|| task.routing.role.clone());
    let agents = || eligible_agents(rules, file);
    match (role, &task.routing.agent) {
        (None, _) if agents().is_empty() => "nobody".to_owned(),
        (None, _) => alternatives(&agents()),
        (Some(role), Some(holder)) => format!("{holder}, who has claimed it (role {role})"),
        (Some(role), None) if rules.is_open(&role) => "any agent".to_owned(),
        (Some(role), None) => candidates(rules, task, &role, &agents()),
    }
}

fn candidates(rules: &Rules, task: &Task, role: &RoleId, agents: &[AgentId]) -> String {
    if !agents.is_empty() {
        format!("{} (role {role})", alternatives(agents))
    } else if is_looping(rules, task) {
        format!("nobody in role {role} before a person has looked at it")
    } else if Workplace::is_stranded(rules, task) {
        "nobody: the rules have changed since it came there".to_owned()
    } else {
        format!("nobody: no agent in role {role} is allowed to")
    }
}

/// Returns the branches of an open fork, each with its state and the role or agents whose turn it is.
pub(crate) fn branches(rules: &Rules, task: &Task) -> Vec<(String, String)> {
    // If new rules made the fork a plain gate, its branches are not shown.
    let fork = task.gate.as_ref().filter(|_| Workplace::of(rules, task).is_none());
    let branches = fork.map(|open| &open.branches[..]).unwrap_or_default();
    branches.iter().map(|branch| (branch.id.to_string(), turn_at(rules, task, branch))).collect()
}

fn turn_at(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let workplace = Workplace::of_branch(rules, task, &branch.id);
    let role = workplace.as_ref().map_or(&branch.role, |workplace| workplace.role);
    match (branch.status, &branch.agent) {
        (BranchStatus::Complete | BranchStatus::Rejected | BranchStatus::Skipped, _) => {
            branch.status.to_string()
        }
        _ if workplace.is_none() => "nobody: it is no longer in the rules".to_owned(),
        (BranchStatus::Blocked, _) => {
            let blockers = branch.blockers.iter().map(|blocker| explained(rules, blocker));
            let blockers = blockers.collect::<Vec<_>>().join("; ");
            format!("blocked: {} (role {role})", inert(&blockers))
        }
        (_, Some(holder)) => format!("{holder}, who has claimed it (role {role})"),
        (_, None) => {
            let agents = workplace
                .map(|workplace| eligible_agents_at(rules, task, &workplace))
                .unwrap_or_default();
            candidates(rules, task, role, &agents)
        }
    }
}

/// Returns `a`, `a or b`, `a, b or c`.
fn alternatives(agents: &[AgentId]) -> String {
    let names: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} or {last}", rest.join(", ")),
        _ => names.concat(),
    }
}

/// Returns a task's priority, due date and tags, each unless it is the usual one.
pub(crate) fn plan_facts(task: &Task, now: Timestamp, zone: &TimeZone) -> Vec<String> {
    let mut facts = Vec::new();
    if task.priority() != Priority::Medium {
        facts.push(format!("{} {}", mark(task.priority()), task.priority()));
    }
    let due = |due: Due| match phrases::due(due, now, zone) {
        late if late.ends_with("late") => red(late),
        day => format!("due {day}"),
    };
    facts.extend(task.plan.due.filter(|_| task.gate.is_some()).map(due));
    if !task.tags.is_empty() {
        let tags: Vec<String> = task.tags.iter().map(|tag| format!("#{}", one_line(tag))).collect();
        facts.push(tags.join(" "));
    }
    facts
}

/// Returns the gate of the task and the time spent there: `review for 2h 15m (visit 3)`.
pub(crate) fn place(task: &Task, now: Timestamp) -> Option<String> {
    let open = task.gate.as_ref()?;
    let gate = cyan(&open.current);
    let item = open.item.map(|item| format!(", {item},")).unwrap_or_default();
    Some(format!("{gate}{item} for {} (visit {})", between(open.entered, now), open.visit))
}

/// Returns the status in its colour; for a task that waits for others, with their ids.
pub(crate) fn status(task: &Task, awaited: &Awaited) -> String {
    match task.status {
        _ if let Some(awaited) = awaited.words() => format!("{WAITING}, {awaited}"),
        Status::Blocked => yellow(task.status),
        Status::Failed => red(task.status),
        Status::Complete | Status::InProgress => green(task.status),
        Status::Ready | Status::Cancelled => task.status.to_string(),
    }
}

/// Returns the status of a hand-made file, which has no gate yet.
pub(crate) fn not_adopted(gate: Option<&Station>) -> String {
    let begins = gate.map(|gate| format!("; it begins at gate {gate}")).unwrap_or_default();
    format!("made by hand, and not adopted yet{begins} once `aof watch` runs")
}
