//! `aof list`

use std::collections::BTreeMap;
use std::io::IsTerminal;

use serde::Serialize;
use serde_json::Value;

use super::columns::{COLUMNS, GROUPINGS, Grouping, ListColumn, ListFacts, Row};
use crate::cli::render::changes;
use crate::cli::render::table::Table;
use crate::cli::{
    CliError, CliResult, Session, Words, agent_variable, bold, counted, dim, width, words,
};
use crate::domain::{AgentId, GateId, RoleId, TypedDue, TypedTask, WorkflowName};
use crate::files::printable::one_line;
use crate::project::issue::left_out_warning;
use crate::project::workspace::acting_agent;
use crate::rules::{Rules, Warning};
use crate::tasks::headers::filter::{FilterFault, FilterKey, FilterState, TaskFilter};
use crate::tasks::headers::list::{ListRequest, ListShape, Sort, check_filter_names, list};
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::lookup;
use crate::tasks::headers::search::Query;
use crate::tasks::headers::summary::{ChildProgress, NEW, SummaryDocument, WAITING};
use crate::tasks::view::phrases::{self, ShortIds};
use crate::tasks::view::task_view::warnings_value;

const STATES: Words<&str> = &[
    ("ready", "ready", "Waits for an agent"),
    ("waiting", WAITING, "Waits for other tasks"),
    ("in_progress", "in_progress", "An agent has it"),
    ("in-progress", "in_progress", ""),
    ("blocked", "blocked", "Waits for something outside, or for a person"),
    ("complete", "complete", "Went through all its gates"),
    ("failed", "failed", "Ended without reaching its goal"),
    ("cancelled", "cancelled", "Was cancelled"),
    ("new", NEW, "Made by hand, and not adopted yet"),
];

const ORDERS: Words<Sort> = &[
    (
        "priority",
        Sort::Priority,
        "Late first, then by priority, due date, and the longest at its gate",
    ),
    ("due", Sort::Due, "What is due first"),
    ("created", Sort::Created, "The oldest first"),
    ("updated", Sort::Updated, "The one changed last first"),
    ("waiting", Sort::Waiting, "The one that has been at its gate the longest first"),
    ("id", Sort::Id, "By id"),
];

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ListArgs {
    /// Words in id, title or labels, and conditions such as `role:backend`, `tag:ui`, `is:overdue`
    #[arg(value_name = "FILTER")]
    words: Vec<String>,
    /// Only at this gate; may be given more than once
    #[arg(long = "gate", value_name = "GATE")]
    gates: Vec<GateId>,
    /// Only of this role; may be given more than once
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<RoleId>,
    /// Only of this workflow; may be given more than once
    #[arg(long = "workflow", value_name = "NAME")]
    workflows: Vec<WorkflowName>,
    /// Only what this agent has claimed
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only what is planned for this agent; may be given more than once
    #[arg(long = "assignee", value_name = "NAME")]
    assignees: Vec<String>,
    /// Only what is yours, planned for you, or free for you to claim
    #[arg(long, conflicts_with = "agent")]
    mine: bool,
    /// Who you are, for `--mine`
    #[arg(long = "me", value_name = "ID", env = agent_variable(), hide = true)]
    me: Option<AgentId>,
    /// Only in this state; may be given more than once
    #[arg(long = "status", value_name = "STATUS", value_parser = words(STATES))]
    statuses: Vec<&'static str>,
    /// Only with this label; with all of them if given more than once
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only of this milestone; may be given more than once
    #[arg(long = "milestone", value_name = "NAME")]
    milestones: Vec<String>,
    /// Only what is late: its due date has passed, or the time limit of its gate
    #[arg(long, visible_alias = "late")]
    overdue: bool,
    /// Only what is due before this day, as in `2026-12-01` or `fri`, or before a time with its zone
    #[arg(long, value_name = "DATE")]
    due_before: Option<TypedDue>,
    /// Only what can be handed out now
    #[arg(long)]
    ready: bool,
    /// Only the parts of this task
    #[arg(long, value_name = "ID")]
    parent: Option<TypedTask>,
    /// Only with these words, or "phrases", in id, title, labels, summaries or text
    #[arg(long, value_name = "WORDS")]
    search: Option<Query>,
    /// Finished ones too
    #[arg(short, long)]
    all: bool,
    /// Each task below the one that it is a part of, with how many children are complete
    #[arg(long)]
    tree: bool,
    /// Below headings with counts
    #[arg(long, value_name = "FIELD", conflicts_with = "tree", value_parser = words(GROUPINGS))]
    group_by: Option<Grouping>,
    /// These columns in this order, as in `id,title,gate`
    #[arg(long, value_name = "NAMES", value_delimiter = ',', value_parser = words(COLUMNS))]
    columns: Vec<ListColumn>,
    /// At most so many tasks; 0 shows all
    #[arg(long, value_name = "COUNT", default_value = "0")]
    limit: usize,
    /// What comes first
    #[arg(long, value_name = "ORDER", default_value = "priority", value_parser = words(ORDERS))]
    sort: Sort,
}

impl ListArgs {
    /// Returns the filter of the words and the options.
    fn filter(&self) -> Result<TaskFilter, CliError> {
        let words = TaskFilter::of_words(&self.words).map_err(|fault| wrong_filter(&fault))?;
        Ok(words
            .with(FilterKey::Workflow, &self.workflows)
            .with(FilterKey::Gate, &self.gates)
            .with(FilterKey::Role, &self.roles)
            .with(FilterKey::Agent, &self.agent)
            .with(FilterKey::Assignee, &self.assignees)
            .with(FilterKey::Status, &self.statuses)
            .with(FilterKey::Milestone, &self.milestones)
            .with(FilterKey::Tag, &self.tags)
            .with_state(FilterState::Mine, self.mine)
            .with_state(FilterState::Overdue, self.overdue)
            .with_state(FilterState::Ready, self.ready))
    }
}

/// Returns the refusal of a filter.
pub(super) fn wrong_filter(fault: &FilterFault) -> CliError {
    CliError::refused(
        "invalid_filter",
        fault.to_string(),
        "as in `aof list login role:backend is:overdue`",
    )
}

pub(crate) fn run(session: &Session, args: &ListArgs) -> CliResult {
    let (workspace, in_force) = session.open("list")?;
    // Reading needs no proof of identity, so git's user counts even without a terminal.
    let me = || acting_agent(&workspace, &in_force.rules.org, args.me.as_ref(), true);
    let filter = args.filter()?;
    let states = [FilterState::Mine, FilterState::Waiting];
    let is_asked = states.iter().any(|state| filter.asks_for(*state));
    let marks_waiting = !session.output.is_json();
    let you = if is_asked { Some(me()?) } else { marks_waiting.then(me).and_then(Result::ok) };
    let mine = you.clone().filter(|_| filter.asks_for(FilterState::Mine));
    let parent = args.parent.as_ref().map(|parent| lookup::task(&workspace, parent)).transpose()?;
    let request = ListRequest {
        filter,
        you,
        due_before: args.due_before.map(|due| due.on(in_force.rules.project.day(workspace.now()))),
        search: args.search.clone(),
        all: args.all,
        shape: if args.tree { ListShape::Tree } else { ListShape::Flat },
        marks_waiting,
        parent,
    };
    let mut listing = list(&workspace, &in_force, &request, args.sort);
    check_filter_names(&request.filter, &in_force.rules, &listing)?;
    let limit = if args.limit == 0 { usize::MAX } else { args.limit };
    let cut = listing.tasks.split_off(limit.min(listing.tasks.len()));
    let more = cut.len();
    listing.left_out.extend(cut);
    let circles = listing.circles.iter().cloned();
    let warnings: Vec<Warning> = circles
        .map(|tasks| Warning::DependencyCircle { tasks })
        .chain(left_out_warning(&workspace))
        .collect();
    if session.output.is_json() {
        let tasks = listing.tasks.iter().enumerate().map(|(place, (header, path))| {
            let depths = listing.depths.as_ref();
            let progress = depths.map(|_| listing.progress.get(&header.id).copied());
            TaskRow {
                summary: SummaryDocument::of(header, path, workspace.now()),
                mine: mine.as_ref().map(|agent| header.agents().any(|holder| holder == agent)),
                depth: depths.map(|depths| depths[place]),
                children: progress.map(Option::unwrap_or_default),
            }
        });
        session.output.data(TaskList {
            tasks: tasks.collect(),
            unreadable: changes::unreadable_values(&listing.unreadable),
            warnings: warnings_value(&warnings),
        });
    } else if listing.tasks.is_empty() {
        session.output.say("no tasks");
    } else {
        let me = mine.as_ref().filter(|_| !args.tree);
        let all = listing.tasks.iter().chain(&listing.left_out).map(|(task, _)| task);
        let open = all.filter(|task| args.all || !task.is_finished()).map(|task| &task.id);
        let width = width();
        let facts = ListFacts {
            // Programs get whole ids.
            ids: if width < usize::MAX { ShortIds::new(open) } else { ShortIds::default() },
            listing: &listing,
            rules: &in_force.rules,
            reader: request.you.clone(),
            width,
            now: workspace.now(),
        };
        let mut text = drawn(&facts, args, me);
        if more > 0 {
            text.push_str(&format!("{}\n", dim(format!("... {more} more: --limit 0"))));
        } else if std::io::stdout().is_terminal() {
            text.push_str(&format!("{}\n", dim(counts(&listing))));
        }
        session.output.page(&text);
    }
    session.warn_all(&warnings);
    let code = changes::tell_unreadable(session, &listing.unreadable);
    // The process ends: the system frees the memory at once, and faster.
    std::mem::forget(listing);
    Ok(code)
}

/// The list as `--json` shows it.
#[derive(Serialize)]
struct TaskList<'l> {
    tasks: Vec<TaskRow<'l>>,
    unreadable: Value,
    warnings: Value,
}

#[derive(Serialize)]
struct TaskRow<'l> {
    #[serde(flatten)]
    summary: SummaryDocument<'l>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mine: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    depth: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    children: Option<ChildProgress>,
}

/// Returns the number of the listed tasks that are open, and in which states.
fn counts(listing: &Listing) -> String {
    let mut states: BTreeMap<&str, usize> = BTreeMap::new();
    for (task, _) in listing.tasks.iter().filter(|(task, _)| !task.is_finished()) {
        *states.entry(task.shown_state()).or_default() += 1;
    }
    phrases::counts(&states)
}

fn drawn(facts: &ListFacts<'_>, args: &ListArgs, me: Option<&AgentId>) -> String {
    let tasks = facts.listing.tasks.iter().enumerate();
    let all: Vec<Row<'_>> = tasks.map(|(place, (task, path))| Row { place, task, path }).collect();
    let (rows, headings) = match (args.group_by, me) {
        (Some(by), _) => grouped(&all, by, facts.rules),
        (None, Some(me)) => mine_and_free(&all, me, facts.rules),
        (None, None) => (all, Vec::new()),
    };
    let mut table = Table::new(&rows).grouped(headings);
    let has_own_columns = !args.columns.is_empty();
    let columns = if has_own_columns { args.columns.clone() } else { facts.usual_columns() };
    for column in columns {
        if !has_own_columns && args.group_by.is_some_and(|by| by.column() == Some(column)) {
            continue;
        }
        table = column.add_to(table, facts);
        if has_own_columns {
            table = table.asked_for();
        }
    }
    table.render(facts.width)
}

/// Returns the rows by group, and the heading of each group with the number of the row below it. A task with several roles or agents
/// is in the group of each.
fn grouped<'l>(
    rows: &[Row<'l>],
    by: Grouping,
    rules: &Rules,
) -> (Vec<Row<'l>>, Vec<(usize, String)>) {
    let gates: Vec<&str> = match by {
        Grouping::Gate => {
            let workflows = rules.project.workflows.iter();
            workflows.flat_map(|workflow| &workflow.gates).map(|gate| gate.id.as_str()).collect()
        }
        _ => Vec::new(),
    };
    let mut groups: BTreeMap<(usize, String), Vec<Row<'l>>> = BTreeMap::new();
    for row in rows {
        let names = by.names(row.task);
        if names.is_empty() {
            groups.entry((usize::MAX, by.nothing().to_owned())).or_default().push(*row);
        }
        for name in names {
            // Groups without a place of their own are sorted by name.
            let place = gates.iter().position(|gate| *gate == name).unwrap_or(gates.len());
            groups.entry((place, name)).or_default().push(*row);
        }
    }
    below_headings(groups.into_iter().map(|((_, name), rows)| (name, rows)))
}

/// Splits the rows into those that the agent holds, those that are planned for it, and those that it may take, each with a heading.
fn mine_and_free<'l>(
    rows: &[Row<'l>],
    me: &AgentId,
    rules: &Rules,
) -> (Vec<Row<'l>>, Vec<(usize, String)>) {
    let is_mine = |row: &Row<'l>| row.task.agents().any(|holder| holder == me);
    let is_planned = |row: &Row<'l>| row.task.planned_for(rules).any(|agent| agent == me);
    let (mine, others): (Vec<Row<'l>>, Vec<Row<'l>>) = rows.iter().partition(|row| is_mine(row));
    let (planned, free) = others.into_iter().partition(is_planned);
    let groups = [
        ("yours".to_owned(), mine),
        ("planned for you".to_owned(), planned),
        ("you can take".to_owned(), free),
    ];
    below_headings(groups.into_iter().filter(|(_, rows)| !rows.is_empty()))
}

fn below_headings<'l>(
    groups: impl Iterator<Item = (String, Vec<Row<'l>>)>,
) -> (Vec<Row<'l>>, Vec<(usize, String)>) {
    let (mut sorted, mut headings) = (Vec::new(), Vec::new());
    for (name, rows) in groups {
        let count = dim(format!("({})", counted(rows.len(), "task")));
        headings.push((sorted.len(), format!("{} {count}", bold(one_line(&name)))));
        sorted.extend(rows);
    }
    (sorted, headings)
}
