//! `aof runner doctor`, and the project as a runner takes it

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use crate::agents::runner::{Checkup, Depth, RunnerSetup, checkups};
use crate::cli::error::CliError;
use crate::cli::output::{cyan, dim, green, red};
use crate::cli::session::Session;
use crate::cli::time::now;
use crate::domain::{AgentId, listed};
use crate::files::printable::one_line;
use crate::project::workspace::Workspace;

/// How to say how an agent is started.
pub(crate) const HOW_TO_START: &str = "say it in org.yaml, as in `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md";

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunnerCommand {
    /// Check that the agents with `run` in org.yaml can be started, and answer
    Doctor(RunnerDoctorArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof runner doctor               check that each program is there, and what it needs
  aof runner doctor --ask coder   start `coder` and wait for an answer

`--ask` starts the programs for real: a model may cost something, and a `command` of your own does whatever it does.")]
pub(crate) struct RunnerDoctorArgs {
    /// Only these
    #[arg(value_name = "AGENT")]
    agents: Vec<AgentId>,
    /// Start each, and wait for an answer
    #[arg(long)]
    ask: bool,
}

pub(crate) fn run(session: &Session, command: &RunnerCommand) -> Result<ExitCode, CliError> {
    let RunnerCommand::Doctor(args) = command;
    let workspace = session.workspace_in_background("runner doctor")?;
    session.rules(&workspace)?;
    let depth = if args.ask { Depth::Answer } else { Depth::Start };
    let found = checkups(&project(session, &workspace)?, &args.agents, depth)?;
    let is_unknown = |agent: &&AgentId| found.iter().all(|checkup| checkup.agent != **agent);
    let unknown: Vec<&AgentId> = args.agents.iter().filter(is_unknown).collect();
    if !unknown.is_empty() || found.is_empty() {
        let problem = match unknown.as_slice() {
            [] => "org.yaml does not say of any agent how it is started".to_owned(),
            unknown => format!("org.yaml does not say how {} is started", listed(unknown)),
        };
        return Err(CliError::refused("not_startable", problem, HOW_TO_START));
    }
    let well = found.iter().all(Checkup::is_well);
    if session.output.is_json() {
        let agents: Vec<Value> = found.iter().map(value).collect();
        session.output.data(json!({"ok": well, "agents": agents}));
    } else {
        for checkup in &found {
            session.output.line(text(checkup));
        }
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the project as a runner takes it.
pub(crate) fn project(session: &Session, workspace: &Workspace) -> Result<RunnerSetup, CliError> {
    Ok(RunnerSetup {
        root: workspace.paths.root().to_owned(),
        checkout: workspace.checkout.clone(),
        network: workspace.network,
        command: workspace.command.clone(),
        clock: now,
        wait: session.wait,
        aof: std::env::current_exe()
            .map_err(|cause| CliError::input("the program itself", &cause))?,
    })
}

fn text(checkup: &Checkup) -> String {
    let sign = if checkup.is_well() { green("ok") } else { red("no") };
    let roles = match &checkup.roles[..] {
        [] => "in no role".to_owned(),
        roles => listed(roles),
    };
    let mut lines = vec![format!("{sign}  {} ({}), {roles}", cyan(&checkup.agent), checkup.preset)];
    lines.push(match &checkup.program {
        Ok(path) => {
            let version = checkup.version.as_ref().map(|text| format!(", {}", one_line(text)));
            let path = one_line(&path.to_string_lossy());
            dim(format!("    {path}{}", version.unwrap_or_default()))
        }
        Err(why) => format!("    {}", one_line(why)),
    });
    for name in &checkup.missing {
        lines.push(format!("    `{name}` is not set: set it where `aof run` is started"));
    }
    match &checkup.answer {
        Some(Ok(said)) => lines.push(format!("    it answers: {}", one_line(said))),
        Some(Err(why)) => lines.push(format!("    {}", one_line(why))),
        None => {}
    }
    lines.join("\n")
}

fn value(checkup: &Checkup) -> Value {
    let answer = checkup.answer.as_ref();
    json!({
        "agent": checkup.agent,
        "ok": checkup.is_well(),
        "preset": checkup.preset.as_str(),
        "roles": checkup.roles,
        "program": checkup.program.as_ref().ok().map(|path| path.to_string_lossy()),
        "problem": checkup.program.as_ref().err(),
        "version": checkup.version,
        "missing": checkup.missing,
        "answer": answer.and_then(|answer| answer.as_ref().ok()),
        "answerProblem": answer.and_then(|answer| answer.as_ref().err()),
    })
}
