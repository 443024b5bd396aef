//! An overview of the project: work that waits for the reader, late or escalated tasks, and issues that
//! need attention.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Value, json};

use super::context::{CheckContext, CheckedProject};
use super::examination::examine;
use crate::domain::{AgentId, Due, Priority, Status, Ticket, Timestamp, approving};
use crate::history::commit_tasks::changed_tasks;
use crate::history::sync::remote_state::{RemoteStanding, remote_value};
use crate::project::error::ProjectError;
use crate::project::issue::Issue;
use crate::project::workspace::{Workspace, viewer};
use crate::rules::Rules;
use crate::storage::header_cache::{Pauses, ProgramPause};
use crate::tasks::headers::dependencies::Dependencies;
use crate::tasks::headers::mentions::{Mention, unseen};
use crate::tasks::headers::spending::DayBudget;
use crate::tasks::headers::summary::{TaskSummary, WAITING};
use crate::tasks::headers::waiting::{WaitingDecision, waiting_for};
use crate::tasks::view::phrases;

/// An overview of the project.
pub(crate) struct Overview<'c> {
    /// The project's name.
    pub name: Option<&'c str>,
    /// The branch that changes are committed to; `None` while nothing can be committed.
    pub branch: Option<&'c str>,
    /// The comparison of its branch with its remote, if it has one.
    pub remote: Option<&'c RemoteStanding>,
    /// The number of active tasks, by the word that lists show.
    pub counts: BTreeMap<&'static str, usize>,
    /// The number of tasks that reached their gate under earlier rules.
    pub drifted: usize,
    /// The programs that pause at their usage limits.
    pub paused: Vec<ProgramPause>,
    /// The budget of the day, if there is one.
    pub budget: Option<DayBudget>,
    /// The issues that need attention, most urgent first.
    pub attention: Vec<Issue>,
}

/// The tasks that need attention.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct StatusLists {
    /// The reader, if known.
    pub you: Option<AgentId>,
    /// The decisions that wait for the reader, and the work that the reader holds; the most urgent first.
    pub waiting_for_you: Vec<StatusEntry>,
    /// The comments that mention the reader, and that the reader has not seen on a board.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mentions: Vec<StatusEntry>,
    /// The late tasks, the most urgent first.
    pub overdue: Vec<StatusEntry>,
    /// Visits that belong to another role than their gate's, the most urgent first.
    pub escalated: Vec<StatusEntry>,
}

/// A part of the status as people read it. It has at least one task.
pub(crate) struct StatusSection<'l> {
    pub title: &'static str,
    pub entries: Vec<&'l StatusEntry>,
    /// The command that shows all of them.
    pub command: &'static str,
}

impl StatusLists {
    pub(crate) fn sections(&self) -> impl Iterator<Item = StatusSection<'_>> {
        let (held, waiting): (Vec<_>, Vec<_>) =
            self.waiting_for_you.iter().partition(|entry| entry.is_held);
        let all = [
            ("Waiting for you", waiting, "aof decide"),
            ("Mentioned", self.mentions.iter().collect(), "aof board"),
            ("You have", held, "aof list --mine"),
            ("Late", self.overdue.iter().collect(), "aof list --late"),
            ("Escalated", self.escalated.iter().collect(), "aof list is:escalated"),
        ];
        let filled = all.into_iter().filter(|(_, entries, _)| !entries.is_empty());
        filled.map(|(title, entries, command)| StatusSection { title, entries, command })
    }
}

impl StatusEntry {
    /// Returns who has it, or its gate, with the role that it was escalated to.
    pub(crate) fn place(&self, rules: &Rules) -> String {
        let gate = self.gate.as_deref().unwrap_or_default();
        let role = self.reason.as_deref().and_then(|reason| reason.strip_prefix("escalated "));
        match (role, self.holders.first().filter(|_| !self.is_held)) {
            (Some(role), _) => format!("{gate} {role}"),
            (None, Some(agent)) => format!("@{}", phrases::name(rules, agent)),
            (None, None) => gate.to_owned(),
        }
    }

    /// Returns when it is due, or how late it is; `None` if it is neither.
    pub(crate) fn due_words(&self, rules: &Rules, now: Timestamp) -> Option<String> {
        let due = self.due.map(|due| {
            let day = phrases::due(due, now, &rules.project.timezone);
            if day.ends_with("late") { day } else { format!("due {day}") }
        });
        let is_late = || self.reason.as_deref() == Some(TIME_LIMIT);
        due.or_else(|| is_late().then(|| format!("{} late", phrases::short_age(self.since, now))))
    }
}

/// The reason of a task that is late without a due date.
const TIME_LIMIT: &str = "its gate's time limit";

/// A task that needs attention, with the reason and a command.
#[derive(Debug, Serialize)]
pub(crate) struct StatusEntry {
    pub ticket: Ticket,
    pub title: String,
    pub gate: Option<String>,
    /// The time since when it waits, or is late.
    pub since: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub command: String,
    #[serde(skip)]
    pub priority: Priority,
    #[serde(skip)]
    pub due: Option<Due>,
    /// The agents that have it.
    #[serde(skip)]
    pub holders: Vec<AgentId>,
    /// True if the reader has it, and nothing about it is to be decided.
    #[serde(skip)]
    pub is_held: bool,
}

/// Returns an overview of the project.
pub(crate) fn overview<'c>(context: &'c CheckContext<'_>) -> Result<Overview<'c>, ProjectError> {
    let project = context.project();
    let mut counts = BTreeMap::new();
    if let Some(CheckedProject { in_force, listing, .. }) = project {
        let dependencies = Dependencies::read(context.workspace, in_force, listing);
        for (header, _) in &listing.tasks {
            let waits = !dependencies.awaited_by(header).is_nothing();
            *counts.entry(if waits { WAITING } else { header.state() }).or_default() += 1;
        }
    }
    Ok(Overview {
        name: project.and_then(|project| project.in_force.rules.project.name.as_deref()),
        branch: context.branch(),
        remote: project.and_then(|project| project.remote.as_ref()),
        counts,
        drifted: context.drifted(),
        paused: Pauses::lasting(&context.workspace.paths, context.workspace.now()),
        budget: project.and_then(|project| DayBudget::read(context.workspace, &project.in_force)),
        attention: examine(context)?,
    })
}

/// Returns the number of tasks that the branch changed and the default branch of its remote lacks, if it is likely to be squashed there.
pub(crate) fn squashable_tasks(context: &CheckContext<'_>) -> Option<usize> {
    let CheckedProject { in_force, remote, .. } = context.project()?;
    let git = &in_force.rules.project.git;
    if git.sync || git.branch.is_some() {
        return None;
    }
    let repository = &context.workspace.repository;
    let (name, there) = repository.default_branch(&remote.as_ref()?.upstream.remote)?;
    if context.branch()? == name {
        return None;
    }
    let head = repository.head_for_reading().ok()?.commit?;
    let base = *repository.merge_bases(there, head).ok()?.first()?;
    let changed = repository.changed_between(base, head).ok()?;
    Some(changed_tasks(&changed).len()).filter(|count| *count > 0)
}

/// Returns the issues that need attention, but for late tasks, which have a list of their own.
pub(crate) fn problems<'o>(overview: &'o Overview<'_>) -> impl Iterator<Item = &'o Issue> {
    overview.attention.iter().filter(|issue| issue.code != "task_overdue")
}

/// Returns the tasks that need attention. The reader is the named agent, otherwise git's user.
pub(crate) fn status_lists(context: &CheckContext<'_>, named: Option<&AgentId>) -> StatusLists {
    let Some(project) = context.project() else { return StatusLists::default() };
    let workspace = context.workspace;
    let you = viewer(workspace, &project.in_force.rules.org, named);
    let tasks = project.listing.by_urgency(workspace.now());
    let tasks = || tasks.iter().map(|(task, _)| &**task);
    StatusLists {
        waiting_for_you: you.iter().flat_map(|you| awaited(workspace, project, you)).collect(),
        mentions: you.iter().flat_map(|you| mentions(workspace, project, you)).collect(),
        you,
        overdue: tasks().filter_map(|task| late(task, workspace.now())).collect(),
        escalated: tasks().filter_map(escalated).collect(),
    }
}

/// Returns the decisions and the work that wait for the reader.
fn awaited(workspace: &Workspace, project: &CheckedProject, you: &AgentId) -> Vec<StatusEntry> {
    let decision = |wait: WaitingDecision| {
        let verb = if approving(&wait.outcomes).is_some() { "approve" } else { "complete" };
        let name = match &wait.ticket.branch {
            Some(_) => wait.ticket.to_string(),
            None => wait.ticket.task.to_string(),
        };
        let mut tasks = project.listing.tasks.iter();
        let task = tasks.find(|(task, _)| task.id == wait.ticket.task).map(|(task, _)| task);
        StatusEntry {
            ticket: wait.ticket,
            title: wait.title,
            gate: Some(wait.gate.to_string()),
            since: wait.since,
            reason: None,
            command: format!("aof {verb} {name}"),
            priority: task.map_or(Priority::Medium, |task| task.priority()),
            due: task.and_then(|task| task.plan.due),
            holders: Vec::new(),
            is_held: false,
        }
    };
    let decisions = waiting_for(workspace, &project.in_force, &project.listing, you).into_iter();
    let mut waiting: Vec<StatusEntry> = decisions.map(decision).collect();
    for (task, _) in project.listing.by_urgency(workspace.now()) {
        let is_at_work = task.status != Status::Blocked && !task.is_held();
        let is_listed = waiting.iter().any(|entry| entry.ticket.task == task.id);
        if is_at_work && !is_listed && task.agents().any(|holder| holder == you) {
            let command = format!("aof complete {}", task.id);
            let held = entry(task, None, "you hold it".to_owned(), command);
            waiting.push(StatusEntry { is_held: true, ..held });
        }
    }
    waiting
}

/// Returns the tasks with a comment that mentions the reader.
fn mentions(workspace: &Workspace, project: &CheckedProject, you: &AgentId) -> Vec<StatusEntry> {
    let (org, listing) = (&project.in_force.rules.org, &project.listing);
    let mention = |Mention { task, by, at }: Mention| {
        let (task, _) = listing.tasks.iter().find(|(one, _)| one.id == task)?;
        let reason = format!("{by} mentioned you");
        let entry = entry(task, Some(at), reason, format!("aof show {}", task.id));
        let holders = org.agent_named(&by).cloned().into_iter().collect();
        Some(StatusEntry { holders, due: None, ..entry })
    };
    unseen(&workspace.paths, org, listing, you).into_iter().filter_map(mention).collect()
}

fn entry(
    task: &TaskSummary,
    since: Option<Timestamp>,
    reason: String,
    command: String,
) -> StatusEntry {
    let entered = task.gate.as_ref().map(|open| open.entered);
    StatusEntry {
        ticket: task.ticket(),
        title: task.title.clone(),
        gate: task.current_gate().map(ToString::to_string),
        since: since.or(entered).unwrap_or(task.created),
        reason: Some(reason),
        command,
        priority: task.priority(),
        due: task.plan.due,
        holders: task.agents().cloned().collect(),
        is_held: false,
    }
}

/// Returns a task that is late: by its due date, otherwise by the time limit of its gate.
fn late(task: &TaskSummary, now: Timestamp) -> Option<StatusEntry> {
    if !task.is_overdue(now) {
        return None;
    }
    let due = task.plan.due.zip(task.due_at.filter(|at| *at <= now));
    let (since, reason) = match due {
        Some((due, at)) => (Some(at), format!("due {due}")),
        None => (task.time_limit_passed(), TIME_LIMIT.to_owned()),
    };
    Some(entry(task, since, reason, format!("aof show {}", task.id)))
}

/// Returns a task that was escalated, or a branch of which was.
fn escalated(task: &TaskSummary) -> Option<StatusEntry> {
    let whole = task.gate.as_ref().and_then(|open| open.escalated.as_ref());
    let branch = || task.open_branches.iter().find_map(|branch| branch.escalated.as_ref());
    let role = whole.or_else(branch)?;
    let command = format!("aof why {}", task.id);
    Some(entry(task, None, format!("escalated to {role}"), command))
}

/// Returns the overview for `--json`.
pub(crate) fn overview_value(overview: &Overview<'_>) -> Value {
    let issue =
        |issue: &Issue| json!({"code": issue.code, "problem": issue.problem, "fix": issue.fix});
    let mut value = json!({
        "project": overview.name,
        "branch": overview.branch,
        "remote": overview.remote.map(remote_value),
        "counts": overview.counts,
        "drifted": overview.drifted,
        "paused": overview.paused.iter().map(ProgramPause::to_value).collect::<Vec<_>>(),
        "attention": overview.attention.iter().map(issue).collect::<Vec<_>>(),
    });
    if let Some(budget) = &overview.budget {
        value["budget"] = budget.value();
    }
    value
}
