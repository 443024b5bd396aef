//! `aof board`: opens the projects, and starts a feed for each.

use std::fs;
use std::io::{self, IsTerminal, stdin, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use serde_json::json;

use super::feed::Feed;
use crate::board::tui::{Theme, TuiEvent, TuiOptions, TuiProject, run};
use crate::board::web::export_site;
use crate::cli::workflow::draw::draw;
use crate::cli::{ActingAgent, CliError, CliResult, Session, short, show_as_of};
use crate::domain::WorkflowName;
use crate::observability::stats::gates::gate_status;
use crate::project::error::ProjectError;
use crate::project::rule_lookup::find_workflow;
use crate::project::workspace::Workspace;
use crate::storage::StoreError;
use crate::tasks::view::work_diff::commit_of_files;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof board                    the project here
  aof board ~/web ~/docs       two projects; `[` and `]` switch between them
  aof board --agent agent-7    what an agent may do
  aof board --export site      a web site of plain files, for any host

`?` shows all keys, `q` quits. What you do there is checked and committed as by the command of that name.")]
pub(crate) struct BoardArgs {
    /// The folders of projects; without one, the project here
    #[arg(value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Write the board of the project here as a web site into this folder, as the last commit has it
    #[arg(long, value_name = "FOLDER", conflicts_with = "directories")]
    export: Option<PathBuf>,
    #[command(flatten)]
    who: ActingAgent,
}

pub(crate) fn run_board(session: &Session, args: &BoardArgs) -> CliResult {
    if let Some(folder) = &args.export {
        return export(session, &session.directory.join(folder));
    }
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

/// Writes the site. The folder must be new or empty, so that no page of an earlier site remains.
fn export(session: &Session, folder: &Path) -> CliResult {
    let workspace = session.workspace_below(Path::new(""), "board")?;
    let (commit, time) = commit_of_files(workspace.paths.root()).map_err(|why| {
        let fix = "commit it, or export from a clean clone";
        CliError::refused("uncommitted", format!("the site shows a commit, and {why}"), fix)
    })?;
    show_as_of(time);
    let failed = |cause: &io::Error| CliError::input(folder.display().to_string(), cause);
    fs::create_dir_all(folder).map_err(|cause| failed(&cause))?;
    if fs::read_dir(folder).map_err(|cause| failed(&cause))?.next().is_some() {
        let problem = format!("`{}` has files already", folder.display());
        return Err(CliError::refused(
            "not_empty",
            problem,
            "name a new folder, or empty this one",
        ));
    }
    let mut count = 0_usize;
    let mut put = |name: &str, bytes: &[u8]| {
        let path = folder.join(name);
        let folder = path.parent().unwrap_or(folder);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, bytes));
        written.map_err(|cause| StoreError::io("write", &path, cause))?;
        count += 1;
        Ok(())
    };
    export_site(&workspace, &commit, &mut put)?;
    if session.output.is_json() {
        session.output.data(json!({"folder": folder, "commit": commit, "files": count}));
    } else {
        let folder = folder.display();
        session
            .output
            .line(format!("{count} files in `{folder}`, as of commit {}", short(&commit)));
    }
    Ok(ExitCode::SUCCESS)
}
