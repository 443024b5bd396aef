//! `aof workflow ...`

use super::create;
use super::diff;
use super::graph;
use super::import;
use super::run;
use super::show;
use super::validate;
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use crate::cli::error::CliError;
use crate::cli::input::arguments::Who;
use crate::cli::render::output::CYAN;
use crate::cli::render::table::{Cell, Column, Table, width};
use crate::cli::session::Session;
use crate::domain::{Workflow, WorkflowName};
use crate::project::author::viewer;
use crate::rules::Rules;
use crate::tasks::lookup::workflow_named;
use crate::tasks::lookup::{startable, workflows_value};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the workflows in force that you may start
    List(Who),
    /// Begin a workflow from a template: a commented file of its own, in one commit
    Create(create::Args),
    /// Start a task in a workflow, and drive it to its end: its agents are started, people are asked
    Run(run::Args),
    /// Show a workflow's gates in order, and where each outcome leads
    Show(show::Args),
    /// Make a workflow of another system's file, and say what became of each of its fields
    Import(import::Args),
    /// Draw the ways that a task can go, and where tasks stand now
    Graph(graph::Args),
    /// Show what changed in the rules, and what that does to each task under way
    Diff(diff::Args),
    /// Check project.yaml, org.yaml and workflows/ as they stand in the worktree
    Validate(validate::Args),
}

pub(crate) fn run(session: &Session, command: &Command) -> Result<ExitCode, CliError> {
    match command {
        Command::List(who) => list(session, who),
        Command::Create(args) => create::run(session, args),
        Command::Run(args) => run::run(session, args),
        Command::Show(args) => show::run(session, args),
        Command::Import(args) => import::run(session, args),
        Command::Graph(args) => graph::run(session, args),
        Command::Diff(args) => diff::run(session, args),
        Command::Validate(args) => validate::run(session, args),
    }
}

/// Returns the workflow of that name; the project's default without one.
pub(crate) fn named<'a>(
    rules: &'a Rules,
    name: Option<&WorkflowName>,
) -> Result<&'a Workflow, CliError> {
    Ok(workflow_named(rules, name.unwrap_or(&rules.project.default_workflow))?)
}

fn list(session: &Session, who: &Who) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("workflow list")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let project = &rules.project;
    let viewer = viewer(&workspace, &rules.org, who.agent.as_ref());
    let workflows = || startable(rules, viewer.as_ref());
    if session.output.is_json() {
        session.output.data(json!({"workflows": workflows_value(rules, viewer.as_ref())}));
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        Column::left("NAME"),
        Column::left("DEFAULT"),
        Column::long("GATES"),
        Column::long("DESCRIPTION"),
    ]);
    for workflow in workflows() {
        let gates: Vec<&str> = workflow.gates.iter().map(|gate| gate.id.as_str()).collect();
        let is_default = workflow.name == project.default_workflow && project.workflows.len() > 1;
        table.row([
            Cell::styled(CYAN, &workflow.name),
            Cell::from(if is_default { "yes" } else { "" }),
            Cell::from(gates.join(" -> ")),
            Cell::from(workflow.description.as_deref().unwrap_or_default()),
        ]);
    }
    if let Some(viewer) = viewer.as_ref().filter(|_| workflows().next().is_none()) {
        session.output.say(format!("no workflow is for `{viewer}` to start"));
    } else {
        session.output.print(&table.render(width()));
    }
    Ok(ExitCode::SUCCESS)
}
