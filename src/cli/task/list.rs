//! `aof task list`

use std::collections::HashMap;

use anstyle::Style;
use serde_json::{Value, json};

use crate::cli::render::changes;
use crate::cli::render::table::{Cell, Table};
use crate::cli::{
    CYAN, CliResult, DIM, GREEN, RED, Session, Words, YELLOW, agent_variable, length, width, words,
};
use crate::domain::{
    AgentId, Due, GateId, OpenBranch, Priority, RoleId, Status, TaskId, WorkflowName,
};
use crate::project::workspace::acting_agent;
use crate::rules::Warning;
use crate::tasks::headers::list::{Filter, ListShape, Sort, check_filter_names, list};
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::summary::{NEW, TaskSummary, summary_value};
use crate::tasks::view::task_view::warnings_value;

/// A state to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Of(Status),
    /// Of a ready task that waits for others.
    Waiting,
    /// Of a hand-made file.
    New,
}

const STATES: Words<State> = &[
    ("ready", State::Of(Status::Ready), "Waits for an agent"),
    ("waiting", State::Waiting, "Waits for other tasks"),
    ("in_progress", State::Of(Status::InProgress), "An agent has it"),
    ("in-progress", State::Of(Status::InProgress), ""),
    ("blocked", State::Of(Status::Blocked), "Waits for something outside, or for a person"),
    ("complete", State::Of(Status::Complete), "Went through all its gates"),
    ("failed", State::Of(Status::Failed), "Ended without reaching its goal"),
    ("cancelled", State::Of(Status::Cancelled), "Was cancelled"),
    ("new", State::New, "Made by hand, and not adopted yet"),
];

const ORDERS: Words<Sort> = &[
    ("priority", Sort::Priority, "The most urgent first, then what is due first, then the oldest"),
    ("due", Sort::Due, "What is due first"),
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
    statuses: Vec<State>,
    /// Only with this label; with all of them if given more than once
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only of this milestone; may be given more than once
    #[arg(long = "milestone", value_name = "NAME")]
    milestones: Vec<String>,
    /// Only what is late: its due date has passed, or the time limit of its gate
    #[arg(long)]
    overdue: bool,
    /// Only what is due before this day, as in `2026-12-01`, or before a time with its zone
    #[arg(long, value_name = "DATE")]
    due_before: Option<Due>,
    /// Only what can be handed out now
    #[arg(long)]
    ready: bool,
    /// Only with these words in id, title or labels
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Finished ones too
    #[arg(short, long)]
    all: bool,
    /// Each task below the one that it is a part of, with how many children are complete
    #[arg(long)]
    tree: bool,
    /// What comes first
    #[arg(long, value_name = "ORDER", default_value = "priority", value_parser = words(ORDERS))]
    sort: Sort,
}

pub(crate) fn run(session: &Session, args: &ListArgs) -> CliResult {
    let (workspace, in_force) = session.open("task list")?;
    // Reading needs no proof of identity, so git's user counts even without a terminal.
    let me = || acting_agent(&workspace, &in_force.rules.org, args.me.as_ref(), true);
    let mine = args.mine.then(me).transpose()?;
    let filter = Filter {
        mine: mine.clone(),
        workflows: args.workflows.clone(),
        gates: args.gates.clone(),
        roles: args.roles.clone(),
        agent: args.agent.clone(),
        statuses: args
            .statuses
            .iter()
            .filter_map(|state| if let State::Of(status) = state { Some(*status) } else { None })
            .collect(),
        hand_made: args.statuses.contains(&State::New),
        waiting: args.statuses.contains(&State::Waiting),
        milestones: args.milestones.clone(),
        overdue: args.overdue,
        due_before: args.due_before,
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
            if let Some(agent) = &mine {
                value["mine"] = json!(header.agents().any(|holder| holder == agent));
            }
            if let Some(tree) = &listing.tree {
                let progress = tree.progress.get(&header.id).copied().unwrap_or_default();
                value["depth"] = json!(tree.depths[place]);
                value["children"] = json!({"complete": progress.complete, "total": progress.total});
            }
            value
        });
        session.output.data(json!({
            "tasks": tasks.collect::<Vec<Value>>(),
            "unreadable": changes::unreadable_values(&listing.unreadable),
            "warnings": warnings_value(&circles),
        }));
    } else if listing.tasks.is_empty() {
        session.output.say("no tasks");
    } else {
        session.output.print(&drawn(&listing, workspace.now().as_second()));
    }
    session.warn_all(&circles);
    Ok(changes::tell_unreadable(session, &listing.unreadable))
}

fn drawn(listing: &Listing, now: i64) -> String {
    let age = |since| length(u64::try_from(now - since).unwrap_or(0));
    let depths: HashMap<&TaskId, usize> = match &listing.tree {
        Some(tree) => {
            let ids = listing.tasks.iter().map(|(task, _)| &task.id);
            ids.zip(tree.depths.iter().copied()).collect()
        }
        None => HashMap::new(),
    };
    let indent = |task: &TaskSummary| match depths.get(&task.id).copied().unwrap_or(0) {
        0 => String::new(),
        depth => format!("└{} ", "─".repeat(depth)),
    };
    let title = |task: &TaskSummary| {
        let progress = listing.tree.as_ref().and_then(|tree| tree.progress.get(&task.id));
        let done = progress.map(|done| format!(" ({done} children complete)"));
        Cell::from(format!("{}{}", task.title, done.unwrap_or_default()))
    };
    let table = Table::of(&listing.tasks)
        .left("ID", |(task, _)| Cell::styled(CYAN, format!("{}{}", indent(task), task.id)))
        .long("TITLE", |(task, _)| title(task))
        .left("GATE", |(task, _)| {
            task.current_gate().map(GateId::as_str).unwrap_or_default().into()
        })
        .left("STATUS", |(task, _)| Cell::styled(style_of(task.shown_state()), task.shown_state()))
        .left("WHO", |(task, _)| who(task))
        .extra(2)
        .left("PRIORITY", |(task, _)| priority(task.priority()))
        .extra(0)
        .right("AGE", |(task, _)| Cell::styled(DIM, task.entered().map(age).unwrap_or_default()))
        .extra(1);
    table.render(width())
}

fn style_of(status: &str) -> Style {
    match status.parse() {
        Ok(Status::InProgress | Status::Complete) => GREEN,
        Ok(Status::Blocked) => YELLOW,
        Ok(Status::Failed) => RED,
        Ok(Status::Cancelled) => DIM,
        Err(_) if status == NEW => CYAN,
        Ok(Status::Ready) | Err(_) => Style::new(),
    }
}

/// Returns the holder, else the role; at a fork for each open branch.
fn who(task: &TaskSummary) -> Cell {
    if !task.open_branches.is_empty() {
        let turn = |branch: &OpenBranch| match &branch.agent {
            Some(agent) => agent.to_string(),
            None => branch.role.to_string(),
        };
        return Cell::from(task.open_branches.iter().map(turn).collect::<Vec<_>>().join(", "));
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
