//! Parts of a page about one task: facts in two columns, lists, texts. What comes from files is made harmless here.

use unicode_width::UnicodeWidthStr;

use super::output::{BOLD, CYAN, GREEN, RED, YELLOW, styled};
use crate::cli::input::length::length;
use crate::cli::session::Session;
use crate::domain::{
    AgentId, BranchStatus, OpenBranch, ReviewContext, RoleId, Station, Status, Task, Ticket,
    Timestamp,
};
use crate::files::printable::{inert, one_line};
use crate::files::task_file::TaskFile;
use crate::rules::{Rules, Workplace, is_looping};
use crate::tasks::view::task_view::{who, who_at};

/// A page, written from top to bottom.
#[derive(Debug, Default)]
pub(crate) struct Page(String);

impl Page {
    /// Begins a page with a task's id and title.
    pub(crate) fn of(task: &Task) -> Self {
        let title = styled(BOLD, one_line(&task.title));
        Self(format!("{}  {title}\n", styled(CYAN, &task.id)))
    }

    /// Adds facts, one a line, their names aligned.
    pub(crate) fn facts(&mut self, facts: &[(&str, String)]) {
        let widest = facts.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, text) in facts {
            self.0.push_str(&format!("  {name:widest$}  {text}\n"));
        }
    }

    /// Adds a headline after a blank line.
    pub(crate) fn head(&mut self, text: &str) {
        if !self.0.is_empty() {
            self.0.push('\n');
        }
        self.0.push_str(&format!("{}\n", styled(BOLD, text)));
    }

    /// Adds a list; further lines of an item stand below its first.
    pub(crate) fn list<T: AsRef<str>>(&mut self, items: impl IntoIterator<Item = T>) {
        for item in items {
            let text = inert(item.as_ref());
            let mut lines = text.trim().lines();
            self.0.push_str(&format!("  - {}\n", lines.next().unwrap_or_default()));
            for line in lines {
                self.0.push_str(&format!("    {line}\n"));
            }
        }
    }

    /// Adds a line of its own.
    pub(crate) fn line(&mut self, text: impl AsRef<str>) {
        self.0.push_str(&format!("{}\n", text.as_ref()));
    }

    /// Adds a text as it was written, after a blank line.
    pub(crate) fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            self.0.push('\n');
            for line in text.trim_matches('\n').lines() {
                self.0.push_str(&format!("{}\n", inert(line)));
            }
        }
    }

    /// Adds what a reviewer wants, as whoever looks at the task sees it.
    pub(crate) fn review(&mut self, review: &ReviewContext, now: Timestamp) {
        self.sent_back(&format!(" from {}", review.from_gate), review, now);
    }

    /// Adds what a reviewer wants, as whoever mends it is told: agents do not learn the workflow.
    pub(crate) fn wishes(&mut self, review: &ReviewContext, now: Timestamp) {
        self.sent_back("", review, now);
    }

    fn sent_back(&mut self, from: &str, review: &ReviewContext, now: Timestamp) {
        let by = review.from_agent.as_ref().map(|agent| format!(" by {agent}")).unwrap_or_default();
        let ago =
            length(u64::try_from(now.as_second() - review.timestamp.as_second()).unwrap_or(0));
        self.head(&format!("Sent back{from}{by}, {ago} ago"));
        self.list(&review.blockers);
        if let Some(notes) = &review.notes {
            self.text(notes);
        }
    }

    /// Returns the page.
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

/// Says so when the visit that was asked for is not the open one: the task is shown as it stands now.
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

/// Returns whose turn it is, in words.
pub(crate) fn turn(rules: &Rules, file: &TaskFile) -> String {
    let task = &file.task;
    let role = Workplace::of(rules, task)
        .map(|post| post.role.clone())
        .or_else(|| task.routing.role.clone());
    let Some(role) = role else {
        return match &who(rules, file)[..] {
            [] => "nobody".to_owned(),
            agents => one_of(agents),
        };
    };
    if let Some(holder) = &task.routing.agent {
        return format!("{holder}, who has claimed it (role {role})");
    }
    if rules.is_open(&role) {
        return "any agent".to_owned();
    }
    match &who(rules, file)[..] {
        [] => nobody(rules, task, &role),
        agents => format!("{} (role {role})", one_of(agents)),
    }
}

fn nobody(rules: &Rules, task: &Task, role: &RoleId) -> String {
    if is_looping(rules, task) {
        format!("nobody in role {role} before a person has looked at it")
    } else if Workplace::is_stranded(rules, task) {
        "nobody: the rules have changed since it came there".to_owned()
    } else {
        format!("nobody: no agent that may is in role {role}")
    }
}

/// Returns the branches of an open fork, each with how far it is and whose turn it is.
pub(crate) fn branches(rules: &Rules, task: &Task) -> Vec<(String, String)> {
    // A fork that became a gate of one has none.
    let fork = Some(task).filter(|task| Workplace::of(rules, task).is_none());
    let open =
        fork.and_then(|task| task.gate.as_ref()).map(|open| &open.branches[..]).unwrap_or_default();
    open.iter().map(|branch| (branch.id.to_string(), turn_at(rules, task, branch))).collect()
}

fn turn_at(rules: &Rules, task: &Task, branch: &OpenBranch) -> String {
    let post = Workplace::of_branch(rules, task, &branch.id);
    let role = post.as_ref().map_or(&branch.role, |post| post.role);
    match (branch.status, &branch.agent) {
        (BranchStatus::Complete | BranchStatus::Rejected | BranchStatus::Skipped, _) => {
            branch.status.to_string()
        }
        _ if post.is_none() => "nobody: it is not in the rules any more".to_owned(),
        (BranchStatus::Blocked, _) => {
            format!("blocked: {} (role {role})", inert(&branch.blockers.join("; ")))
        }
        (_, Some(holder)) => format!("{holder}, who has claimed it (role {role})"),
        (_, None) => {
            match post.map(|post| who_at(rules, task, &post)).unwrap_or_default().as_slice() {
                [] => nobody(rules, task, role),
                agents => format!("{} (role {role})", one_of(agents)),
            }
        }
    }
}

/// Returns `a`, `a or b`, `a, b or c`.
fn one_of(agents: &[AgentId]) -> String {
    let names: Vec<&str> = agents.iter().map(AgentId::as_str).collect();
    match names.split_last() {
        Some((last, [])) => (*last).to_owned(),
        Some((last, rest)) => format!("{} or {last}", rest.join(", ")),
        None => "nobody".to_owned(),
    }
}

/// Returns where the task stands and for how long: `review for 2h 15m (visit 3)`.
pub(crate) fn place(task: &Task, now: Timestamp) -> Option<String> {
    let open = task.gate.as_ref()?;
    let seconds = u64::try_from(now.as_second() - open.entered.as_second()).unwrap_or(0);
    let gate = styled(CYAN, &open.current);
    Some(format!("{gate} for {} (visit {})", length(seconds), open.visit))
}

/// Returns the status as a person reads it.
pub(crate) fn status(task: &Task) -> String {
    match task.status {
        Status::Blocked => styled(YELLOW, task.status),
        Status::Failed => styled(RED, task.status),
        Status::Complete | Status::InProgress => styled(GREEN, task.status),
        Status::Ready | Status::Cancelled => task.status.to_string(),
    }
}

/// What to say of a hand-made file: it stands nowhere yet.
pub(crate) fn not_taken_up(gate: Option<&Station>) -> String {
    let begins = gate.map(|gate| format!("; it begins at gate {gate}")).unwrap_or_default();
    format!("made by hand, and not taken up yet{begins} once `aof watch` runs")
}
