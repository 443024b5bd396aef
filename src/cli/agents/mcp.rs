//! `aof mcp`

use std::ffi::OsString;
use std::process::ExitCode;

use super::mcp_token::{TokenArgs, run_token};
use crate::agents::mcp::open_project::ServerSetup;
use crate::agents::mcp::server::serve;
use crate::agents::mcp::wiring_check::{WiringReport, check};
use crate::cli::{
    CliResult, OfflineOption, Session, agent_variable, bold, current_run, current_session, cyan,
    green, now, yellow,
};
use crate::domain::AgentId;
use crate::files::printable::inert;
use crate::storage::random::ulid;

#[derive(Debug, clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
#[command(after_help = "\
An agent tool starts this itself: `aof init --agents` writes its configuration.
Who acts is fixed when the server starts, whatever a model says: `--agent`, else `AOF_AGENT`, else \
`--default-agent`, else the agent of org.yaml with git's email. The server starts without one, too, or with a \
person's id (`human-...`): then only looking works, and each other call says how to name an agent.

Examples:
  aof mcp --check --agent agent-7     try it out: who acts, what it may do, and what is wrong
  claude mcp add aof -- aof mcp --agent agent-7
  aof mcp token agent-7               a token to act as that agent over HTTP")]
pub(crate) struct McpArgs {
    #[command(subcommand)]
    command: Option<McpCommand>,
    /// The agent that acts
    #[arg(long, value_name = "ID", env = agent_variable(), hide_env_values = true)]
    agent: Option<String>,
    /// The agent that acts if neither `--agent` nor `AOF_AGENT` names one
    #[arg(long, value_name = "ID")]
    default_agent: Option<AgentId>,
    /// Offer only the tools that read
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    offline_option: OfflineOption,
    /// Start the server, speak to it as a client would, and say what is wrong
    #[arg(long)]
    check: bool,
}

#[derive(Debug, clap::Subcommand)]
enum McpCommand {
    /// Create, list or revoke the tokens by which agents act over HTTP
    Token(TokenArgs),
}

pub(crate) fn run(session: &Session, args: &McpArgs) -> CliResult {
    if let Some(McpCommand::Token(args)) = &args.command {
        return run_token(session, args);
    }
    let setup = ServerSetup {
        directory: session.directory.clone(),
        agent: args
            .agent
            .clone()
            .filter(|named| !named.is_empty())
            .or_else(|| args.default_agent.as_ref().map(ToString::to_string)),
        by_token: false,
        run: current_run(),
        session: current_session().map_or_else(|| ulid(now()).map(|id| id.to_string()), Ok)?,
        read_only: args.read_only,
        network: args.offline_option.network(),
        wait: session.wait,
        clock: now,
    };
    if args.check {
        session.enter()?;
        return Ok(show(session, &check(&setup, &server_arguments(session, &setup))));
    }
    if Session::at_terminal() {
        session.output.say("serving the Model Context Protocol on stdin and stdout; `aof mcp --check` tries it out");
    }
    serve(setup)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the arguments that start the same server again.
fn server_arguments(session: &Session, setup: &ServerSetup) -> Vec<OsString> {
    let wait = format!("{}s", session.wait.as_secs());
    let mut server_arguments: Vec<OsString> =
        vec!["-C".into(), session.directory.clone().into(), "mcp".into()];
    if let Some(agent) = &setup.agent {
        server_arguments.extend(["--agent".into(), agent.into()]);
    }
    server_arguments.extend(setup.read_only.then(|| "--read-only".into()));
    server_arguments.extend(["--wait".into(), wait.into()]);
    server_arguments
}

fn show(session: &Session, checked: &WiringReport) -> ExitCode {
    let output = session.output;
    if output.is_json() {
        output.data(serde_json::json!(checked));
    } else {
        let fact = |name: &str, text: &str| output.line(format!("  {name:<9} {text}"));
        let all = |list: Vec<&str>| match &list[..] {
            [] => "none".to_owned(),
            list => inert(&list.join(", ")),
        };
        output.line(bold("aof mcp"));
        fact("project", &inert(checked.root.as_deref().unwrap_or("none")));
        fact("branch", &inert(checked.branch.as_deref().unwrap_or("none")));
        let agent = checked.agent.as_deref().unwrap_or("nobody");
        fact("agent", &cyan(agent));
        fact("roles", &all(checked.roles.iter().map(AsRef::as_ref).collect()));
        fact("gates", &all(checked.gates.iter().map(AsRef::as_ref).collect()));
        fact("protocol", &all(checked.protocols.clone()));
        let kilobytes = checked.tools_bytes.div_ceil(1024);
        fact("tools", &format!("{} ({kilobytes} kB)", checked.tools.len()));
        for finding in &checked.problems {
            output.line(format!("\n{} {}", yellow("!"), inert(&finding.problem)));
            output.line(format!("  {}", inert(&finding.fix)));
        }
        if checked.problems.is_empty() {
            output.line(green("all is well"));
        }
    }
    match checked.problems.first().map(|finding| finding.code) {
        None => ExitCode::SUCCESS,
        Some("no_project" | "no_repository") => ExitCode::from(3),
        Some("workflow_config_invalid" | "rules_not_committed" | "own_folder_in_git") => {
            ExitCode::from(6)
        }
        Some(_) => ExitCode::FAILURE,
    }
}
