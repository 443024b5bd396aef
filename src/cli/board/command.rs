//! `aof board`: opens the projects, and starts a feed for each.

use std::io::{IsTerminal, stdin, stdout};
use std::path::PathBuf;
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};

use super::feed::Feed;
use crate::board::tui::{Theme, TuiEvent, TuiOptions, TuiProject, run};
use crate::cli::workflow::draw::draw;
use crate::cli::{ActingAgent, CliError, CliResult, Session};
use crate::domain::WorkflowName;
use crate::observability::stats::gates::gate_status;
use crate::project::error::ProjectError;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof board                    the project here
  aof board ~/web ~/docs       two projects; `[` and `]` switch between them
  aof board --agent agent-7    what an agent may do

`?` shows all keys, `q` quits. What you do there is checked and committed as by the command of that name.")]
pub(crate) struct BoardArgs {
    /// The folders of projects; without one, the project here
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    #[command(flatten)]
    who: ActingAgent,
}

pub(crate) fn run_board(session: &Session, args: &BoardArgs) -> CliResult {
    if !stdin().is_terminal() || !stdout().is_terminal() || session.output.is_json() {
        let problem = "`aof board` is for people at a terminal, and this is none";
        let fix = "`aof list` lists the tasks, with `--json` for programs";
        return Err(CliError::refused("no_terminal", problem, fix));
    }
    let here = [PathBuf::new()];
    let folders = if args.directories.is_empty() { &here[..] } else { &args.directories };
    let named = args.who.agent.as_ref();
    let (mut workspaces, mut projects) = (Vec::new(), Vec::new());
    for folder in folders {
        let workspace = session.workspace_below(folder, "board")?;
        let in_force = workspace.rules()?;
        let you = session.agent(&workspace, &in_force, named);
        projects.push(TuiProject {
            name: workspace.paths.folder_name().unwrap_or_else(|| "project".to_owned()),
            root: workspace.paths.root().to_owned(),
            opener: workspace.opener(session.wait),
            you: you.map_err(|error| error.to_string()),
        });
        workspaces.push(workspace);
    }
    let colour = AutoStream::choice(&stdout()) != ColorChoice::Never;
    let options =
        TuiOptions { theme: Theme { colour }, named: named.cloned(), graph: workflow_text };
    let follow = |events: &std::sync::mpsc::Sender<TuiEvent>| {
        let feed = |(at, workspace): (usize, &Workspace)| {
            let events = events.clone();
            Feed::start(workspace, session.wait, named.cloned(), move |news| {
                events.send(TuiEvent::News(at, news)).is_ok()
            })
        };
        workspaces.iter().enumerate().map(feed).collect::<Result<Vec<Feed>, _>>()
    };
    run(projects, &options, follow).map_err(|cause| CliError::input("the terminal", &cause))?;
    Ok(ExitCode::SUCCESS)
}

/// Returns a workflow as `aof workflow graph` draws it, without colours.
fn workflow_text(workspace: &Workspace, name: &WorkflowName) -> Result<String, ProjectError> {
    let in_force = workspace.rules()?;
    let rules = &in_force.rules;
    let workflow = find_workflow(rules, name)?;
    let text = draw(rules, workflow, &gate_status(workspace, &in_force).rows);
    Ok(anstream::adapter::strip_str(&text).to_string())
}
