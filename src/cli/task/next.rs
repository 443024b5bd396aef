//! `aof task next`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::brief;
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Away, Rehearsal, Who};
use crate::cli::session::Session;
use crate::dispatch::next::{Next, Wanted, next};
use crate::domain::{AgentId, RoleId, Ticket, listed};
use crate::project::author::acting_agent;
use crate::rules::{Post, Rules};
use crate::tasks::apply::change::{Changed, DryRun};
use crate::tasks::lookup::known_worker;
use crate::tasks::view::brief::{brief_of, brief_value};
use crate::tasks::view::changed::changed_value;

/// Take your next task, and show what is to be done
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only of this role
    #[arg(long, value_name = "ROLE")]
    role: Option<RoleId>,
    /// Take one more, besides what you have; `maxTasks` in org.yaml may bound it
    #[arg(long)]
    another: bool,
    #[command(flatten)]
    away: Away,
    #[command(flatten)]
    who: Who,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace("task next")?;
    workspace.network = args.away.network();
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let agent =
        acting_agent(&workspace, &rules.org, args.who.agent.as_ref(), Session::at_terminal())?;
    known_worker(rules, &agent, args.role.as_ref())?;
    let mode = args.rehearsal.mode();
    let wanted = if args.another { Wanted::Another } else { Wanted::Next };
    match next(&workspace, &in_force, &agent, args.role.as_ref(), wanted, mode)? {
        Next::Task { changed, ticket, .. } => show(session, rules, &changed, &ticket, mode),
        Next::Nothing { roles, waiting } => nothing(session, &agent, &roles, waiting),
    }
    Ok(ExitCode::SUCCESS)
}

fn show(session: &Session, rules: &Rules, changed: &Changed, ticket: &Ticket, mode: DryRun) {
    let task = &changed.after.task;
    let context = Post::meant(rules, task, ticket.branch.as_ref())
        .and_then(|post| brief_of(rules, &changed.after, &post));
    if session.output.is_json() {
        let mut value =
            context.map_or_else(|| json!({}), |context| brief_value(&changed.after, &context));
        value["task"] = changed_value(rules, changed, mode);
        session.output.data(value);
        return;
    }
    session.warn_all(&changed.warnings);
    if mode == DryRun::Yes {
        session.output.say(format!("{ticket} would be claimed (dry run: nothing was written)"));
    }
    if let Some(context) = context {
        session.output.print(&brief::text(&changed.after, &context));
    }
}

fn nothing(session: &Session, agent: &AgentId, roles: &[RoleId], waiting: usize) {
    if session.output.is_json() {
        let roles: Vec<&str> = roles.iter().map(RoleId::as_str).collect();
        session.output.data(json!({"task": Value::Null, "roles": roles, "waiting": waiting}));
        return;
    }
    let of_roles = match roles {
        [] => String::new(),
        [role] => format!(" in role `{role}`"),
        roles => format!(" in roles {}", listed(roles)),
    };
    session.output.say(format!("nothing to do for `{agent}`{of_roles}"));
    let tasks = if waiting == 1 { "1 task is" } else { &format!("{waiting} tasks are") };
    if waiting > 0 {
        session.output.say(format!(
            "{tasks} there, but taken, blocked or waiting; see `aof task list --mine`"
        ));
    }
}
