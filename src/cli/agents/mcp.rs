//! `aof mcp`

use std::ffi::OsString;
use std::process::ExitCode;

use crate::agents::mcp::server::serve;
use crate::agents::mcp::session::{Access, McpError, ServerSetup};
use crate::agents::mcp::wiring_check::{WiringReport, check};
use crate::cli::error::CliError;
use crate::cli::input::arguments::{Away, Who, run_under_way};
use crate::cli::render::output::{BOLD, CYAN, GREEN, YELLOW, styled};
use crate::cli::session::{Session, now};
use crate::files::printable::inert;

/// Serve agents by the Model Context Protocol, on stdin and stdout
#[derive(Debug, clap::Args)]
#[command(after_help = "\
An agent tool starts this itself; tell it the command `aof` with the arguments `mcp --agent ID`.
Who acts is settled by how the server is started, never by what a model says: `--agent`, else
`AOF_AGENT`, else the agent of org.yaml with git's email. A person's id (`human-...`) is refused.

Examples:
  aof mcp --check --agent agent-7     try it out: who acts, what it may do, and what is wrong
  claude mcp add aof -- aof mcp --agent agent-7")]
pub(crate) struct Args {
    #[command(flatten)]
    who: Who,
    /// Offer only the tools that look
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    away: Away,
    /// Start the server, speak to it as a client would, and say what is wrong
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    if let Err(cause) = session.directory.canonicalize() {
        return Err(CliError::Directory { path: session.directory.clone(), cause });
    }
    let setup = ServerSetup {
        directory: session.directory.clone(),
        agent: args.who.agent.clone(),
        run: run_under_way(),
        access: if args.read_only { Access::ReadOnly } else { Access::Full },
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
    serve(setup).map_err(|error| match error {
        McpError::Ops(error) => error.into(),
        error => CliError::Unfit {
            code: error.code(),
            problem: error.to_string(),
            fix: error.fix().unwrap_or_default(),
        },
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the words that start the same server again.
fn words(session: &Session, args: &Args) -> Vec<OsString> {
    let mut words: Vec<OsString> =
        vec!["-C".into(), session.directory.clone().into(), "mcp".into()];
    words.extend(
        args.who.agent.iter().flat_map(|agent| ["--agent".into(), agent.to_string().into()]),
    );
    words.extend(args.read_only.then(|| "--read-only".into()));
    words.extend(["--wait".into(), format!("{}s", session.wait.as_secs()).into()]);
    words
}

fn show(session: &Session, checked: &WiringReport) -> ExitCode {
    let output = session.output;
    if output.is_json() {
        output.data(serde_json::json!(checked));
    } else {
        let fact = |name: &str, text: &str| output.line(format!("  {name:<9} {}", inert(text)));
        let all =
            |list: &[String]| if list.is_empty() { "none".to_owned() } else { list.join(", ") };
        output.line(styled(BOLD, "aof mcp"));
        fact("project", checked.root.as_deref().unwrap_or("none"));
        fact("branch", checked.branch.as_deref().unwrap_or("none"));
        let agent = checked.agent.as_deref().unwrap_or("nobody");
        output.line(format!("  {:<9} {}", "agent", styled(CYAN, agent)));
        fact("roles", &all(&checked.roles));
        fact("gates", &all(&checked.gates));
        fact(
            "protocol",
            &if checked.protocols.is_empty() {
                "none".to_owned()
            } else {
                checked.protocols.join(", ")
            },
        );
        fact(
            "tools",
            &format!("{} ({} kB)", checked.tools.len(), checked.tools_bytes.div_ceil(1024)),
        );
        for finding in &checked.problems {
            output.line(format!("\n{} {}", styled(YELLOW, "!"), inert(&finding.problem)));
            output.line(format!("  {}", inert(&finding.fix)));
        }
        if checked.problems.is_empty() {
            output.line(styled(GREEN, "all is well"));
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
