//! `aof task list`

use std::process::ExitCode;

use anstyle::Style;
use clap::ValueEnum;
use serde_json::{Value, json};

use crate::cli::arguments::agent_variable;
use crate::cli::error::CliError;
use crate::cli::output::{CYAN, DIM, GREEN, RED, YELLOW, width};
use crate::cli::render::findings;
use crate::cli::render::table::{Cell, Column, Table};
use crate::cli::session::Session;
use crate::cli::time::length;
use crate::domain::{AgentId, GateId, OpenBranch, Priority, RoleId, Status, WorkflowName};
use crate::project::active_rules::InForce;
use crate::project::author::acting_agent;
use crate::project::workspace::Workspace;
use crate::rules::Warning;
use crate::tasks::headers::list::{Filter, Sort, list};
use crate::tasks::headers::listing::Listing;
use crate::tasks::headers::lookup::known_names;
use crate::tasks::headers::summary::{NEW, TaskSummary, summary_value};
use crate::tasks::view::changed::warnings_value;

#[derive(Debug, clap::Args)]
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
    #[arg(long = "status", value_name = "STATUS")]
    statuses: Vec<StateFilter>,
    /// Only with this label; with all of them if given more than once
    #[arg(long = "tag", value_name = "TAG")]
    tags: Vec<String>,
    /// Only what can be handed out now
    #[arg(long)]
    ready: bool,
    /// Only with these words in id, title or labels
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    /// Finished ones too
    #[arg(short, long)]
    all: bool,
    /// What comes first
    #[arg(long, value_name = "ORDER", default_value = "priority")]
    sort: Order,
}

/// A state to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum StateFilter {
    /// Waits for an agent
    Ready,
    /// An agent has it
    #[value(name = "in_progress", alias = "in-progress")]
    InProgress,
    /// Waits for something outside, or for a person
    Blocked,
    /// Went through all its gates
    Complete,
    /// Ended without reaching its goal
    Failed,
    /// Was cancelled
    Cancelled,
    /// Made by hand, and not adopted yet
    New,
}

impl StateFilter {
    fn status(self) -> Option<Status> {
        match self {
            Self::Ready => Some(Status::Ready),
            Self::InProgress => Some(Status::InProgress),
            Self::Blocked => Some(Status::Blocked),
            Self::Complete => Some(Status::Complete),
            Self::Failed => Some(Status::Failed),
            Self::Cancelled => Some(Status::Cancelled),
            Self::New => None,
        }
    }
}

/// An order to ask for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// The most urgent first, then the oldest
    Priority,
    /// The oldest first
    Created,
    /// The one changed last first
    Updated,
    /// The one that has been at its gate the longest first
    Waiting,
    /// By id
    Id,
}

impl Order {
    fn sort(self) -> Sort {
        match self {
            Self::Priority => Sort::Priority,
            Self::Created => Sort::Created,
            Self::Updated => Sort::Updated,
            Self::Waiting => Sort::Waiting,
            Self::Id => Sort::Id,
        }
    }
}

pub(crate) fn run(session: &Session, args: &ListArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("task list")?;
    let in_force = session.rules(&workspace)?;
    let filter = filter(args, &workspace, &in_force)?;
    let listing = list(&workspace, &in_force, &filter, args.sort.sort());
    known_names(&filter, &in_force.rules, &listing)?;
    let circles: Vec<Warning> =
        listing.circles.iter().cloned().map(|tasks| Warning::DependencyCircle { tasks }).collect();
    if session.output.is_json() {
        let tasks: Vec<Value> =
            listing.tasks.iter().map(|(header, path)| summary_value(header, path)).collect();
        let unreadable = findings::unreadable_values(&listing.unreadable);
        session.output.data(
            json!({"tasks": tasks, "unreadable": unreadable, "warnings": warnings_value(&circles)}),
        );
    } else if listing.tasks.is_empty() {
        session.output.say("no tasks");
    } else {
        session.output.print(&table(&listing, workspace.now().as_second()).render(width()));
    }
    session.warn_all(&circles);
    Ok(findings::tell_unreadable(session, &listing.unreadable))
}

fn filter(args: &ListArgs, workspace: &Workspace, in_force: &InForce) -> Result<Filter, CliError> {
    // Reading needs no proof of identity, so git's user will do anywhere.
    let me = || acting_agent(workspace, &in_force.rules.org, args.me.as_ref(), true);
    let mine = args.mine.then(me).transpose()?;
    Ok(Filter {
        workflows: args.workflows.clone(),
        gates: args.gates.clone(),
        roles: args.roles.clone(),
        agent: args.agent.clone(),
        mine,
        statuses: args.statuses.iter().filter_map(|state| state.status()).collect(),
        hand_made: args.statuses.contains(&StateFilter::New),
        tags: args.tags.clone(),
        ready: args.ready,
        search: args.search.clone(),
        all: args.all,
    })
}

fn table(listing: &Listing, now: i64) -> Table {
    let mut table = Table::new(&[
        Column::left("ID"),
        Column::long("TITLE"),
        Column::left("GATE"),
        Column::left("STATUS"),
        Column::left("WHO").extra(2),
        Column::left("PRIORITY").extra(0),
        Column::right("AGE").extra(1),
    ]);
    for (header, _) in &listing.tasks {
        let age = header.entered().map(|since| length(u64::try_from(now - since).unwrap_or(0)));
        table.row([
            Cell::styled(CYAN, header.id.as_str()),
            Cell::from(&header.title),
            Cell::from(header.current_gate().map(GateId::as_str).unwrap_or_default()),
            Cell::styled(style_of(header.state()), header.state()),
            who(header),
            priority(header.priority()),
            Cell::styled(DIM, age.unwrap_or_default()),
        ]);
    }
    table
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
fn who(header: &TaskSummary) -> Cell {
    if !header.open_branches.is_empty() {
        let turn = |branch: &OpenBranch| match &branch.agent {
            Some(agent) => agent.to_string(),
            None => branch.role.to_string(),
        };
        let all: Vec<String> = header.open_branches.iter().map(turn).collect();
        return Cell::from(all.join(", "));
    }
    match (&header.routing.agent, &header.role) {
        (Some(agent), _) => Cell::from(agent.as_str()),
        (None, Some(role)) => Cell::styled(DIM, role.as_str()),
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
    Cell::styled(style, priority.as_str())
}
