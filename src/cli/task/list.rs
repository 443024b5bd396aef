//! `aof task list`

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::columns::{COLUMNS, GROUPINGS, Grouping, ListColumn, Row};
use crate::cli::render::changes;
use crate::cli::render::table::Table;
use crate::cli::{CliResult, Session, Words, agent_variable, bold, counted, dim, width, words};
use crate::domain::{AgentId, GateId, RoleId, Status, Timestamp, WorkflowName};
use crate::files::printable::one_line;
use crate::project::workspace::acting_agent;
use crate::rules::{Rules, Warning};
use crate::tasks::headers::list::{Filter, ListShape, Sort, check_filter_names, list};
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::search::Query;
use crate::tasks::headers::summary::summary_value;
use crate::tasks::view::task_view::warnings_value;

/// The states to filter by; `None` is that of a hand-made file.
const STATES: Words<Option<Status>> = &[
    ("ready", Some(Status::Ready), "Waits for an agent"),
    ("in_progress", Some(Status::InProgress), "An agent has it"),
    ("in-progress", Some(Status::InProgress), ""),
    ("blocked", Some(Status::Blocked), "Waits for something outside, or for a person"),
    ("complete", Some(Status::Complete), "Went through all its gates"),
    ("failed", Some(Status::Failed), "Ended without reaching its goal"),
    ("cancelled", Some(Status::Cancelled), "Was cancelled"),
    ("new", None, "Made by hand, and not adopted yet"),
];

const ORDERS: Words<Sort> = &[
    ("priority", Sort::Priority, "The most urgent first, then the oldest"),
    ("created", Sort::Created, "The oldest first"),
    ("updated", Sort::Updated, "The one changed last first"),
    ("waiting", Sort::Waiting, "The one that has been at its gate the longest first"),
    ("id", Sort::Id, "By id"),
];

#[derive(Debug, clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ListArgs {
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
    #[arg(long, value_name = "ID")]
    agent: Option<AgentId>,
    /// Only what is yours, or free for you to claim
    #[arg(long, conflicts_with = "agent")]
    mine: bool,
    /// Who you are, for `--mine`
    #[arg(long = "me", value_name = "ID", env = agent_variable(), hide = true)]
    me: Option<AgentId>,
    /// Only in this state; may be given more than once
    #[arg(long = "status", value_name = "STATUS", value_parser = words(STATES))]
    statuses: Vec<Option<Status>>,
    /// Only with this label; with all of them if given more than once
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only what can be handed out now
    #[arg(long)]
    ready: bool,
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
    /// What comes first
    #[arg(long, value_name = "ORDER", default_value = "priority", value_parser = words(ORDERS))]
    sort: Sort,
}

pub(crate) fn run(session: &Session, args: &ListArgs) -> CliResult {
    let (workspace, in_force) = session.open("task list")?;
    // Reading needs no proof of identity, so git's user counts even without a terminal.
    let me = || acting_agent(&workspace, &in_force.rules.org, args.me.as_ref(), true);
    let filter = Filter {
        mine: args.mine.then(me).transpose()?,
        workflows: args.workflows.clone(),
        gates: args.gates.clone(),
        roles: args.roles.clone(),
        agent: args.agent.clone(),
        statuses: args.statuses.iter().copied().flatten().collect(),
        hand_made: args.statuses.contains(&None),
        tags: args.tags.clone(),
        ready: args.ready,
        search: args.search.clone(),
        all: args.all,
        shape: if args.tree { ListShape::Tree } else { ListShape::Flat },
    };
    let listing = list(&workspace, &in_force, &filter, args.sort);
    check_filter_names(&filter, &in_force.rules, &listing)?;
    let circles: Vec<Warning> =
        listing.circles.iter().cloned().map(|tasks| Warning::DependencyCircle { tasks }).collect();
    if session.output.is_json() {
        let tasks = listing.tasks.iter().enumerate().map(|(place, (header, path))| {
            let mut value = summary_value(header, path, workspace.now());
            if let Some(tree) = &listing.tree {
                let progress = tree.progress.get(&header.id).copied().unwrap_or_default();
                value["depth"] = json!(tree.depths[place]);
                value["children"] = json!({"complete": progress.complete, "total": progress.total});
            }
            value
        });
        let tasks = Value::Array(tasks.collect());
        let mut value = json!({
            "tasks": null,
            "unreadable": changes::unreadable_values(&listing.unreadable),
            "warnings": warnings_value(&circles),
        });
        // The macro would copy all of them.
        value["tasks"] = tasks;
        session.output.data(value);
    } else if listing.tasks.is_empty() {
        session.output.say("no tasks");
    } else {
        session.output.print(&drawn(&listing, args, &in_force.rules, workspace.now()));
    }
    session.warn_all(&circles);
    let code = changes::tell_unreadable(session, &listing.unreadable);
    // The process ends: the system takes the memory back at once, and faster.
    std::mem::forget(listing);
    Ok(code)
}

fn drawn(listing: &Listing, args: &ListArgs, rules: &Rules, now: Timestamp) -> String {
    let tasks = listing.tasks.iter().enumerate();
    let all: Vec<Row<'_>> = tasks.map(|(place, (task, path))| Row { place, task, path }).collect();
    let (rows, headings) = match args.group_by {
        Some(by) => grouped(&all, by, rules),
        None => (all, Vec::new()),
    };
    let mut table = Table::of(&rows).grouped(headings);
    let has_own_columns = !args.columns.is_empty();
    let columns = if has_own_columns { &args.columns[..] } else { ListColumn::USUAL };
    for column in columns.iter().copied() {
        if !has_own_columns && args.group_by.is_some_and(|by| by.column() == Some(column)) {
            continue;
        }
        table = column.add_to(table, listing, now);
        if has_own_columns {
            table = table.asked_for();
        }
    }
    table.render(width())
}

/// Returns the rows by group, and the heading of each with the row that it is above. A task with several roles or agents is in
/// the group of each.
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
            // What has no place of its own is sorted by name.
            let place = gates.iter().position(|gate| *gate == name).unwrap_or(gates.len());
            groups.entry((place, name)).or_default().push(*row);
        }
    }
    let (mut sorted, mut headings) = (Vec::new(), Vec::new());
    for ((_, name), rows) in groups {
        let count = dim(format!("({})", counted(rows.len(), "task")));
        headings.push((sorted.len(), format!("{} {count}", bold(one_line(&name)))));
        sorted.extend(rows);
    }
    (sorted, headings)
}
