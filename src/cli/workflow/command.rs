//! `aof workflow ...`; `list` and `validate` as well

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use serde_json::json;

use super::{create, prove, run, show};
use crate::cli::render::changes;
use crate::cli::render::table::{Cell, Table};
use crate::cli::{ActingAgent, CYAN, CliError, CliResult, Session, counted, width};
use crate::domain::{Workflow, WorkflowName};
use crate::files::config::configuration::{PROJECT_FILE, RuleFile, WORKFLOWS_FOLDER};
use crate::files::printable::one_line;
use crate::project::rule_files::check_worktree;
use crate::project::rule_lookup::{find_workflow, startable_workflows, workflows_value};
use crate::project::workspace::Workspace;
use crate::project::workspace::viewer;
use crate::rules::Rules;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum WorkflowCommand {
    /// List the workflows in force that you may start
    List(ActingAgent),
    /// Create a workflow from a template: a commented file of its own, in one commit
    Create(create::WorkflowCreateArgs),
    /// Start a task in a workflow, and run it to its end: agents are started, people are asked
    Run(run::WorkflowRunArgs),
    /// Show a workflow's gates in order, and where each outcome leads
    Show(show::WorkflowShowArgs),
    /// Convert another system's file to a workflow, and report on each of its fields
    Import(create::WorkflowImportArgs),
    /// Draw a workflow's gates and routes, and where tasks are now
    Graph(show::GraphArgs),
    /// Show what changed in the rules, and what that does to each open task
    Diff(show::WorkflowDiffArgs),
    /// Check project.yaml, org.yaml and workflows/ as they are in the worktree
    Validate(ValidateArgs),
    /// Prove that each task can come to an end, say who is indispensable, and what a task can cost
    Prove(prove::ProveArgs),
}

#[derive(Debug, clap::Args)]
pub(crate) struct ValidateArgs {
    /// Report only on these workflows, or files
    #[arg(value_name = "NAME|FILE")]
    wanted: Vec<PathBuf>,
}

pub(crate) fn run(session: &Session, command: &WorkflowCommand) -> CliResult {
    match command {
        WorkflowCommand::List(who) => list(session, who),
        WorkflowCommand::Create(args) => create::run_create(session, args),
        WorkflowCommand::Run(args) => run::run(session, args),
        WorkflowCommand::Show(args) => show::run_show(session, args),
        WorkflowCommand::Import(args) => create::run_import(session, args),
        WorkflowCommand::Graph(args) => show::graph(session, args),
        WorkflowCommand::Diff(args) => show::run_diff(session, args),
        WorkflowCommand::Validate(args) => validate(session, args),
        WorkflowCommand::Prove(args) => prove::run(session, args),
    }
}

fn list(session: &Session, who: &ActingAgent) -> CliResult {
    let (workspace, in_force) = session.open("workflow list")?;
    let rules = &in_force.rules;
    let viewer = viewer(&workspace, &rules.org, who.agent.as_ref());
    if session.output.is_json() {
        session.output.data(json!({"workflows": workflows_value(rules, viewer.as_ref())}));
        return Ok(ExitCode::SUCCESS);
    }
    let workflows: Vec<&Workflow> = startable_workflows(rules, viewer.as_ref()).collect();
    if let Some(viewer) = viewer.as_ref().filter(|_| workflows.is_empty()) {
        session.output.say(format!("no workflow is for `{viewer}` to start"));
        return Ok(ExitCode::SUCCESS);
    }
    let project = &rules.project;
    let is_default = |workflow: &Workflow| {
        workflow.name == project.default_workflow && project.workflows.len() > 1
    };
    let gates = |workflow: &Workflow| {
        workflow.gates.iter().map(|gate| gate.id.as_str()).collect::<Vec<_>>().join(" -> ")
    };
    let table = Table::new(&workflows)
        .left("NAME", |workflow| Cell::styled(CYAN, &workflow.name))
        .left("DEFAULT", |workflow| if is_default(workflow) { "yes" } else { "" }.into())
        .left("VERSION", |workflow| {
            workflow.version.as_deref().map(one_line).unwrap_or_default().into()
        })
        .long("GATES", |workflow| gates(workflow).into())
        .long("DESCRIPTION", |workflow| workflow.description.as_deref().unwrap_or_default().into());
    session.output.print(&table.render(width()));
    Ok(ExitCode::SUCCESS)
}

fn validate(session: &Session, args: &ValidateArgs) -> CliResult {
    let workspace = session.workspace("workflow validate")?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    let file = |wanted: &PathBuf| {
        if session.directory.join(wanted).is_file() {
            return rules_file(session, &workspace, wanted);
        }
        if let Some(file) = file_of_workflow(&workspace, rules.as_ref(), wanted) {
            return Ok(file);
        }
        if let Some(rules) = &rules
            && wanted.extension().is_none()
            && let Some(name) = wanted.to_str().and_then(|name| name.parse().ok())
        {
            find_workflow(rules, &name)?;
        }
        rules_file(session, &workspace, wanted)
    };
    let wanted: Vec<String> = args.wanted.iter().map(file).collect::<Result<_, _>>()?;
    if !wanted.is_empty() {
        diagnostics.retain(|diagnostic| wanted.contains(&diagnostic.file));
    }
    let valid = rules.as_ref().map_or_else(|| wanted.join(", "), counts);
    if let Ok(in_force) = workspace.rules() {
        session.warn_of_code(&workspace, &in_force)?;
    }
    Ok(changes::show_diagnostics(session, &diagnostics, &valid))
}

/// Returns the file of the workflow of that name: its own, or project.yaml if the workflow is there.
fn file_of_workflow(workspace: &Workspace, rules: Option<&Rules>, name: &Path) -> Option<String> {
    let name: WorkflowName = name.to_str()?.parse().ok()?;
    let path = ["yaml", "yml"].map(|ending| format!("{WORKFLOWS_FOLDER}/{name}.{ending}"));
    let path = path.into_iter().find(|file| workspace.repository.worktree_path(file).is_file());
    // If the rules are invalid, it is unknown which workflows project.yaml has.
    let is_inside = rules.is_none_or(|rules| rules.project.workflow(&name).is_some());
    path.or_else(|| is_inside.then(|| PROJECT_FILE.to_owned()))
}

/// Returns the name of a rules file as diagnostics have it. Fails for other files.
fn rules_file(session: &Session, workspace: &Workspace, file: &Path) -> CliResult<String> {
    let shown = file.display();
    let path = session.directory.join(file).canonicalize();
    let path = path.map_err(|cause| CliError::input(&shown, &cause))?;
    let name = path.strip_prefix(workspace.paths.root()).ok().and_then(Path::to_str);
    let name = name.filter(|name| RuleFile::at(name).is_some()).map(str::to_owned);
    name.ok_or_else(|| {
        let problem = format!("`{shown}` is no file that rules are read from");
        let fix = "rules are in project.yaml, org.yaml and workflows/*.yaml";
        CliError::refused("no_rules_file", problem, fix)
    })
}

fn counts(rules: &Rules) -> String {
    let project = &rules.project;
    if project.implicit_workflow {
        return "no workflow is defined, so every task has one gate, and any agent may complete it"
            .to_owned();
    }
    let gates: usize = project.workflows.iter().map(|workflow| workflow.gates.len()).sum();
    let [workflows, gates, roles] =
        [(project.workflows.len(), "workflow"), (gates, "gate"), (rules.org.roles.len(), "role")]
            .map(|(number, noun)| counted(number, noun));
    format!("{workflows}, {gates}, {roles}")
}
