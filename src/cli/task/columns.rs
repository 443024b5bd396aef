//! The columns of a list of tasks, and its grouping.

use anstyle::Style;

use crate::cli::render::table::{Cell, Table};
use crate::cli::{CYAN, DIM, GREEN, RED, Words, YELLOW, between, local_time};
use crate::domain::{
    AgentId, Due, GateId, OpenBranch, Priority, RoleId, Status, TaskId, Timestamp, distinct,
};
use crate::storage::ProjectPath;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::TaskSummary;

/// A task in a list.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Row<'l> {
    /// The number of the task in the listing.
    pub place: usize,
    pub task: &'l TaskSummary,
    pub path: &'l ProjectPath,
}

/// The content of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ListColumn {
    Id,
    Title,
    Gate,
    Status,
    Who,
    Role,
    Agent,
    Priority,
    Age,
    Due,
    Milestone,
    Checklist,
    Tags,
    Workflow,
    Parent,
    Created,
    Updated,
    Path,
}

pub(crate) const COLUMNS: Words<ListColumn> = &[
    ("id", ListColumn::Id, "The task's id"),
    ("title", ListColumn::Title, "Cut where there is little room"),
    ("gate", ListColumn::Gate, "Where it stands"),
    ("status", ListColumn::Status, "Its status"),
    ("who", ListColumn::Who, "Who has it, else the role that it waits for"),
    ("role", ListColumn::Role, "The roles that it waits for"),
    ("agent", ListColumn::Agent, "Who has claimed it"),
    ("priority", ListColumn::Priority, "Unless it is medium"),
    ("age", ListColumn::Age, "How long it has been at its gate"),
    ("due", ListColumn::Due, "When it is due"),
    ("milestone", ListColumn::Milestone, "The milestone that it belongs to"),
    ("checklist", ListColumn::Checklist, "How many boxes of its text are ticked"),
    ("tags", ListColumn::Tags, "Its labels"),
    ("workflow", ListColumn::Workflow, "The workflow that it follows"),
    ("parent", ListColumn::Parent, "The task that it is a part of"),
    ("created", ListColumn::Created, "When it was created"),
    ("updated", ListColumn::Updated, "When it last changed"),
    ("path", ListColumn::Path, "Its file"),
];

/// The grouping of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grouping {
    Gate,
    Role,
    Agent,
    Milestone,
}

pub(crate) const GROUPINGS: Words<Grouping> = &[
    ("gate", Grouping::Gate, "In the order of the workflow"),
    ("role", Grouping::Role, "Whose turn it is"),
    ("agent", Grouping::Agent, "Who has claimed it"),
    ("milestone", Grouping::Milestone, "By name"),
];

impl Grouping {
    /// Returns the groups that a task is in.
    pub(crate) fn names(self, task: &TaskSummary) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Gate => task.current_gate().map(ToString::to_string).into_iter().collect(),
            Self::Role => task.roles().map(ToString::to_string).collect(),
            Self::Agent => task.agents().map(ToString::to_string).collect(),
            Self::Milestone => task.plan.milestone.clone().into_iter().collect(),
        };
        names.sort();
        names.dedup();
        names
    }

    /// Returns the heading of the tasks that are in no group.
    pub(crate) fn nothing(self) -> &'static str {
        match self {
            Self::Gate => "at no gate",
            Self::Role => "no role",
            Self::Agent => "not claimed",
            Self::Milestone => "no milestone",
        }
    }

    /// Returns the column with the same content.
    pub(crate) fn column(self) -> Option<ListColumn> {
        match self {
            Self::Gate => Some(ListColumn::Gate),
            Self::Role | Self::Agent | Self::Milestone => None,
        }
    }
}

impl ListColumn {
    /// The default columns of a list.
    pub(crate) const USUAL: &[Self] = &[
        Self::Id,
        Self::Title,
        Self::Gate,
        Self::Status,
        Self::Who,
        Self::Priority,
        Self::Due,
        Self::Checklist,
        Self::Age,
    ];

    /// Adds the column to a table.
    pub(crate) fn add_to<'l>(
        self,
        table: Table<'l, Row<'l>>,
        listing: &'l Listing,
        now: Timestamp,
    ) -> Table<'l, Row<'l>> {
        let cell = move |row: &Row<'l>| self.cell(*row, listing, now);
        let title = self.title();
        let table = match self {
            Self::Title | Self::Who | Self::Tags => table.long(title, cell),
            Self::Age => table.right(title, cell),
            _ => table.left(title, cell),
        };
        // The columns that are left out first if there is little room.
        match self {
            Self::Priority => table.extra(0),
            Self::Checklist => table.extra(1),
            Self::Age => table.extra(2),
            Self::Who => table.extra(3),
            Self::Due => table.extra(4),
            Self::Status => table.extra(5),
            _ => table,
        }
    }

    /// Returns the heading of the column: its name, in capitals.
    fn title(self) -> String {
        let named = COLUMNS.iter().find(|(_, column, _)| *column == self);
        named.map(|(name, ..)| name.to_uppercase()).unwrap_or_default()
    }

    fn cell(self, row: Row<'_>, listing: &Listing, now: Timestamp) -> Cell {
        let task = row.task;
        let joined = |names: Vec<&str>| Cell::from(names.join(", "));
        match self {
            Self::Id => Cell::styled(CYAN, format!("{}{}", indent(row, listing), task.id)),
            Self::Title => title(row, listing),
            Self::Gate => task.current_gate().map_or("", GateId::as_str).into(),
            Self::Status => Cell::styled(style_of(task), task.shown_state()),
            Self::Who => who(task),
            Self::Role => joined(task.roles().map(RoleId::as_str).collect()),
            Self::Agent => joined(task.agents().map(AgentId::as_str).collect()),
            Self::Priority => priority(task.priority()),
            Self::Age => {
                let entered = task.gate.as_ref().map(|open| between(open.entered, now));
                Cell::styled(DIM, entered.unwrap_or_default())
            }
            Self::Due => due(task, now),
            Self::Milestone => task.plan.milestone.as_deref().unwrap_or_default().into(),
            Self::Checklist => match task.checklist.total() {
                0 => Cell::from(""),
                total => Cell::from(format!("{}/{total}", task.checklist.done)),
            },
            Self::Tags => joined(task.tags.iter().map(String::as_str).collect()),
            Self::Workflow => (&task.routing.workflow).into(),
            Self::Parent => task.parent.as_ref().map_or("", TaskId::as_str).into(),
            Self::Created => local_time(task.created).into(),
            Self::Updated => local_time(task.updated).into(),
            Self::Path => row.path.into(),
        }
    }
}

/// Returns the text before the id in a tree.
fn indent(row: Row<'_>, listing: &Listing) -> String {
    match listing.tree.as_ref().map_or(0, |tree| tree.depths[row.place]) {
        0 => String::new(),
        depth => format!("└{} ", "─".repeat(depth)),
    }
}

fn title(row: Row<'_>, listing: &Listing) -> Cell {
    let progress = listing.tree.as_ref().and_then(|tree| tree.progress.get(&row.task.id));
    let done = progress.map(|done| format!(" ({done} children complete)"));
    Cell::from(format!("{}{}", row.task.title, done.unwrap_or_default()))
}

/// Returns the due date: a day as people wrote it, a time in their time zone.
fn due(task: &TaskSummary, now: Timestamp) -> Cell {
    let Some(due) = task.plan.due else { return Cell::from("") };
    let style = if task.is_overdue(now) { RED } else { Style::new() };
    match due {
        Due::Day(day) => Cell::styled(style, day),
        Due::At(at) => Cell::styled(style, local_time(at)),
    }
}

fn style_of(task: &TaskSummary) -> Style {
    match task.status {
        _ if task.is_new => CYAN,
        Status::InProgress | Status::Complete => GREEN,
        Status::Blocked => YELLOW,
        Status::Failed => RED,
        Status::Cancelled => DIM,
        Status::Ready => Style::new(),
    }
}

/// Returns the holder, otherwise the role; at a fork for each open branch.
fn who(task: &TaskSummary) -> Cell {
    if !task.open_branches.is_empty() {
        let turn = |branch: &OpenBranch| match &branch.agent {
            Some(agent) => agent.to_string(),
            None => branch.role.to_string(),
        };
        return Cell::from(
            distinct(task.open_branches.iter().map(turn)).collect::<Vec<_>>().join(", "),
        );
    }
    match (&task.routing.agent, &task.role) {
        (Some(agent), _) => Cell::from(agent),
        (None, Some(role)) => Cell::styled(DIM, role),
        (None, None) => Cell::from(""),
    }
}

fn priority(priority: Priority) -> Cell {
    let style = match priority {
        Priority::Critical => RED,
        Priority::High => YELLOW,
        Priority::Low => DIM,
        Priority::Medium => return Cell::from(""),
    };
    Cell::styled(style, priority)
}
