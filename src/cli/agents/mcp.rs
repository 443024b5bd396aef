//! `aof mcp`

use std::ffi::OsString;
use std::process::ExitCode;

use crate::agents::mcp::open_project::ServerSetup;
use crate::agents::mcp::server::serve;
use crate::agents::mcp::wiring_check::{WiringReport, check};
use crate::cli::{
    ActingAgent, Away, CliResult, Session, bold, cyan, green, now, run_under_way, yellow,
};
use crate::files::printable::inert;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent tool starts this itself: configure the command `aof` with the arguments `mcp --agent ID`.
The start of the server decides who acts, never what a model says: `--agent`, else `AOF_AGENT`,
else the agent of org.yaml with git's email. A person's id (`human-...`) is refused.

Examples:
  aof mcp --check --agent agent-7     try it out: who acts, what it may do, and what is wrong
  claude mcp add aof -- aof mcp --agent agent-7")]
pub(crate) struct McpArgs {
    #[command(flatten)]
    who: ActingAgent,
    /// Offer only the tools that read
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    away: Away,
    /// Start the server, speak to it as a client would, and say what is wrong
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(session: &Session, args: &McpArgs) -> CliResult {
    session.enter()?;
    let setup = ServerSetup {
        directory: session.directory.clone(),
        agent: args.who.agent.clone(),
        run: run_under_way(),
        read_only: args.read_only,
        network: args.away.network(),
        wait: session.wait,
        clock: now,
    };
    if args.check {
        return Ok(show(session, &check(&setup, &words(session, args))));
    }
    if Session::at_terminal() {
        session.output.say("serving the Model Context Protocol on stdin and stdout; `aof mcp --check` tries it out");
    }
    serve(setup)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the arguments that start the same server again.
fn words(session: &Session, args: &McpArgs) -> Vec<OsString> {
    let wait = format!("{}s", session.wait.as_secs());
    let mut words: Vec<OsString> =
        vec!["-C".into(), session.directory.clone().into(), "mcp".into()];
    if let Some(agent) = &args.who.agent {
        words.extend(["--agent".into(), agent.to_string().into()]);
    }
    words.extend(args.read_only.then(|| "--read-only".into()));
    words.extend(["--wait".into(), wait.into()]);
    words
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
