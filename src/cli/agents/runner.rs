//! `aof runner doctor`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::run::command::project;
use crate::agents::runner::{Checkup, Depth, checkups};
use crate::cli::error::CliError;
use crate::cli::render::output::{CYAN, DIM, GREEN, RED, styled};
use crate::cli::session::Session;
use crate::domain::{AgentId, RoleId, listed};
use crate::files::printable::one_line;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Check that the agents which org.yaml says how to start can be started, and answer
    Doctor(Args),
}

/// Check that the agents which org.yaml says how to start can be started, and answer
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof runner doctor               is each program there, and what it needs
  aof runner doctor --ask coder   start `coder` and wait for a word of it

`--ask` starts the programs for real: a model may cost something, and a `command` of your own does whatever it does.")]
pub(crate) struct Args {
    /// Only these
    #[arg(value_name = "AGENT")]
    agents: Vec<AgentId>,
    /// Start each, and wait for an answer
    #[arg(long)]
    ask: bool,
}

pub(crate) fn run(session: &Session, command: &Command) -> Result<ExitCode, CliError> {
    let Command::Doctor(args) = command;
    let workspace = session.workspace_in_background("runner doctor")?;
    session.rules(&workspace)?;
    let depth = if args.ask { Depth::Answer } else { Depth::Start };
    let found = checkups(&project(session, &workspace)?, &args.agents, depth)?;
    let unknown: Vec<&AgentId> = args
        .agents
        .iter()
        .filter(|agent| found.iter().all(|checkup| checkup.agent != **agent))
        .collect();
    if !unknown.is_empty() || found.is_empty() {
        let problem = match unknown.as_slice() {
            [] => "org.yaml does not say of any agent how it is started".to_owned(),
            unknown => format!("org.yaml does not say how {} is started", listed(unknown)),
        };
        let fix =
            "say it there, as in `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md"
                .to_owned();
        return Err(CliError::Unfit { code: "not_startable", problem, fix });
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

fn text(checkup: &Checkup) -> String {
    let sign = if checkup.is_well() { styled(GREEN, "ok") } else { styled(RED, "no") };
    let roles =
        if checkup.roles.is_empty() { "in no role".to_owned() } else { listed(&checkup.roles) };
    let mut lines =
        vec![format!("{sign}  {} ({}), {roles}", styled(CYAN, &checkup.agent), checkup.preset)];
    match &checkup.program {
        Ok(path) => {
            let version = checkup
                .version
                .as_ref()
                .map(|text| format!(", {}", one_line(text)))
                .unwrap_or_default();
            lines.push(styled(DIM, format!("    {}{version}", one_line(&path.to_string_lossy()))));
        }
        Err(why) => lines.push(format!("    {}", one_line(why))),
    }
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
    json!({
        "agent": checkup.agent.as_str(),
        "ok": checkup.is_well(),
        "preset": checkup.preset.as_str(),
        "roles": checkup.roles.iter().map(RoleId::as_str).collect::<Vec<_>>(),
        "program": checkup.program.as_ref().ok().map(|path| path.to_string_lossy()),
        "problem": checkup.program.as_ref().err(),
        "version": checkup.version,
        "missing": checkup.missing,
        "answer": checkup.answer.as_ref().and_then(|answer| answer.as_ref().ok()),
        "answerProblem": checkup.answer.as_ref().and_then(|answer| answer.as_ref().err()),
    })
}
