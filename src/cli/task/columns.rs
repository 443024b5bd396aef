//! The columns of a list of tasks, and its grouping.

use anstyle::Style;

use crate::cli::render::table::{Cell, Table};
use crate::cli::{BLUE, DIM, RED, Words, YELLOW, local_time};
use crate::domain::{AgentId, GateId, Priority, RoleId, TaskId, Timestamp};
use crate::rules::Rules;
use crate::storage::ProjectPath;
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::TaskSummary;
use crate::tasks::view::phrases::{self, ShortIds, TurnKind};

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
    /// The priority as a mark.
    Mark,
    Title,
    Gate,
    Status,
    Who,
    Role,
    Agent,
    Assignee,
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
    ("assignee", ListColumn::Assignee, "Who is planned for it"),
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
    Assignee,
    Milestone,
}

pub(crate) const GROUPINGS: Words<Grouping> = &[
    ("gate", Grouping::Gate, "In the order of the workflow"),
    ("role", Grouping::Role, "Whose turn it is"),
    ("agent", Grouping::Agent, "Who has claimed it"),
    ("assignee", Grouping::Assignee, "Who is planned for it"),
    ("milestone", Grouping::Milestone, "By name"),
];

impl Grouping {
    /// Returns the groups that a task is in.
    pub(crate) fn names(self, task: &TaskSummary) -> Vec<String> {
        let mut names: Vec<String> = match self {
            Self::Gate => task.current_gate().map(ToString::to_string).into_iter().collect(),
            Self::Role => task.roles().map(ToString::to_string).collect(),
            Self::Agent => task.agents().map(ToString::to_string).collect(),
            Self::Assignee => task.plan.assignee.clone(),
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
            Self::Assignee => "not planned",
            Self::Milestone => "no milestone",
        }
    }

    /// Returns the column with the same content.
    pub(crate) fn column(self) -> Option<ListColumn> {
        match self {
            Self::Gate => Some(ListColumn::Gate),
            Self::Role | Self::Agent | Self::Assignee | Self::Milestone => None,
        }
    }
}

/// The widths below which a list has fewer columns.
pub(super) const NARROW: usize = 60;
const WIDE: usize = 100;

/// The facts from which the cells of a list are made.
pub(crate) struct ListFacts<'l> {
    pub listing: &'l Listing,
    pub rules: &'l Rules,
    /// The reader, if known.
    pub reader: Option<AgentId>,
    pub ids: ShortIds,
    pub width: usize,
    pub now: Timestamp,
}

impl ListFacts<'_> {
    /// Returns the columns of a list for which none were asked: fewer at a narrow terminal. Programs get all, with the state.
    pub(crate) fn usual_columns(&self) -> Vec<ListColumn> {
        use ListColumn::{Age, Due, Gate, Id, Mark, Status, Tags, Title, Who};
        let is_any_due = self.listing.tasks.iter().any(|(task, _)| task.plan.due.is_some());
        match self.width {
            usize::MAX => vec![Id, Mark, Title, Gate, Status, Who, Tags, Due, Age],
            WIDE.. => vec![Id, Mark, Title, Gate, Who, Tags, Due, Age],
            NARROW.. => vec![Id, Mark, Title, Gate, Who, if is_any_due { Due } else { Age }],
            _ => vec![Id, Mark, Title, Who],
        }
    }

    fn is_short(&self) -> bool {
        self.width < WIDE
    }
}

impl ListColumn {
    /// Adds the column to a table.
    pub(crate) fn add_to<'l>(
        self,
        table: Table<'l, Row<'l>>,
        facts: &'l ListFacts<'l>,
    ) -> Table<'l, Row<'l>> {
        let cell = move |row: &Row<'l>| self.cell(*row, facts);
        let title = self.title();
        match self {
            Self::Title => table.long(title, cell).close(),
            Self::Tags => table.left(title, cell).bounded(10),
            Self::Gate | Self::Who => table.left(title, cell).bounded(9),
            Self::Mark => table.right(title, cell).close().asked_for(),
            Self::Age | Self::Due => table.right(title, cell),
            _ => table.left(title, cell),
        }
    }

    /// Returns the heading of the column: its name, in capitals; none for the marks.
    fn title(self) -> String {
        let named = COLUMNS.iter().find(|(_, column, _)| *column == self);
        named.map(|(name, ..)| name.to_uppercase()).unwrap_or_default()
    }

    fn cell(self, row: Row<'_>, facts: &ListFacts<'_>) -> Cell {
        let (task, listing, now) = (row.task, facts.listing, facts.now);
        let joined = |names: Vec<&str>| Cell::from(names.join(", "));
        match self {
            Self::Id => id(task, facts),
            Self::Mark => Cell::styled(style_of(task.priority()), phrases::mark(task.priority())),
            Self::Title => title(row, listing),
            Self::Gate => task.current_gate().map_or("", GateId::as_str).into(),
            Self::Status => task.shown_state().into(),
            Self::Who => {
                let waits = listing.waiting.contains(&task.id);
                let turn =
                    phrases::turn(task, facts.rules, now, facts.reader.as_ref(), waits, &facts.ids);
                let style = match turn.kind {
                    TurnKind::Stopped => YELLOW,
                    TurnKind::You => BLUE,
                    TurnKind::Taken => Style::new(),
                    TurnKind::Open | TurnKind::Ended => DIM,
                };
                Cell::styled(style, turn.phrase)
            }
            Self::Role => joined(task.roles().map(RoleId::as_str).collect()),
            Self::Agent => joined(task.agents().map(AgentId::as_str).collect()),
            Self::Assignee => joined(task.plan.assignee.iter().map(String::as_str).collect()),
            Self::Priority => match task.priority() {
                Priority::Medium => Cell::from(""),
                priority => Cell::styled(style_of(priority), priority),
            },
            Self::Age => {
                let age = task.gate.as_ref().map(|open| phrases::short_age(open.entered, now));
                Cell::styled(DIM, age.unwrap_or_default())
            }
            Self::Due => {
                let zone = &facts.rules.project.timezone;
                let due = task.plan.due.map(|due| phrases::due(due, now, zone));
                let style = if task.is_overdue(now) { RED } else { Style::new() };
                Cell::styled(style, due.unwrap_or_default())
            }
            Self::Milestone => task.plan.milestone.as_deref().unwrap_or_default().into(),
            Self::Checklist => match task.checklist.total() {
                0 => Cell::from(""),
                total => Cell::from(format!("{}/{total}", task.checklist.done)),
            },
            Self::Tags => {
                let tags = task.tags.iter().map(|tag| format!("#{tag}"));
                tags.collect::<Vec<_>>().join(" ").into()
            }
            Self::Workflow => (&task.routing.workflow).into(),
            Self::Parent => task.parent.as_ref().map_or("", TaskId::as_str).into(),
            Self::Created => local_time(task.created).into(),
            Self::Updated => local_time(task.updated).into(),
            Self::Path => row.path.into(),
        }
    }
}

/// Returns the id, with the beginning that tells it apart in bold; without its prefix where there is little room.
fn id(task: &TaskSummary, facts: &ListFacts<'_>) -> Cell {
    let (whole, place) = (task.id.as_str(), facts.ids.place(&task.id));
    let prefix = if facts.is_short() { whole.len() - task.id.local().len() } else { 0 };
    Cell::styled(DIM, &whole[prefix..]).bold(place.start - prefix..place.end - prefix)
}

/// Returns the title with how many of the task's parts are complete; in a tree below branches.
fn title(row: Row<'_>, listing: &Listing) -> Cell {
    let done = listing.progress.get(&row.task.id).map(|done| format!(" ({done})"));
    let title = Cell::from(format!("{}{}", row.task.title, done.unwrap_or_default()));
    match &listing.depths {
        Some(depths) => title.indented(&branches(depths, row.place)),
        None => title,
    }
}

/// Returns the branches of a tree that lead to a row.
fn branches(depths: &[usize], row: usize) -> String {
    let depth = depths[row];
    let goes_on = |level: usize| {
        let below = depths[row + 1..].iter().find(|other| **other <= level);
        below == Some(&level)
    };
    let stem = |level| match (level == depth, goes_on(level)) {
        (true, true) => "├─ ",
        (true, false) => "└─ ",
        (false, true) => "│  ",
        (false, false) => "   ",
    };
    (1..=depth).map(stem).collect()
}

fn style_of(priority: Priority) -> Style {
    match priority {
        Priority::Critical => RED,
        Priority::High => YELLOW,
        Priority::Low => DIM,
        Priority::Medium => Style::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn branches_lead_to_the_rows_of_a_tree() {
        let depths = [0, 1, 2, 1, 2, 0, 1];
        let drawn: Vec<String> = (0..depths.len()).map(|row| branches(&depths, row)).collect();
        assert_eq!(drawn, ["", "├─ ", "│  └─ ", "└─ ", "   └─ ", "", "└─ "]);
    }
}
