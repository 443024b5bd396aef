//! `aof mcp token`

use std::process::ExitCode;

use serde_json::json;

use crate::cli::render::table::{Cell, Table};
use crate::cli::{CYAN, CliError, CliResult, Session, bold, local_time, width};
use crate::domain::AgentId;
use crate::project::access::agent_tokens::{
    TokenRecord, create_token, revoke_token, token_records,
};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
A token lets a client act as that agent over HTTP, where `aof serve` runs. It is shown once, and `.aof/tokens.json` keeps only its hash. \
A new token replaces the agent's old one. People get none: they log in.

Examples:
  aof mcp token agent-7               create a token, and show how a client uses it
  aof mcp token --list                which agents have tokens, and since when
  aof mcp token --revoke agent-7      refuse it from now on")]
pub(crate) struct TokenArgs {
    /// The agent of org.yaml that gets a token
    #[arg(value_name = "AGENT", required_unless_present_any = ["list", "revoke"])]
    agent: Option<AgentId>,
    /// List the agents that have tokens
    #[arg(long, conflicts_with_all = ["agent", "revoke"])]
    list: bool,
    /// Remove the token of this agent
    #[arg(long, value_name = "AGENT", conflicts_with = "agent")]
    revoke: Option<AgentId>,
}

pub(crate) fn run_token(session: &Session, args: &TokenArgs) -> CliResult {
    match (&args.agent, &args.revoke) {
        (Some(agent), _) => create(session, agent),
        (None, Some(agent)) => revoke(session, agent),
        (None, None) => list(session),
    }?;
    Ok(ExitCode::SUCCESS)
}

fn create(session: &Session, agent: &AgentId) -> CliResult<()> {
    let (workspace, in_force) = session.open("mcp token")?;
    let (token, has_replaced) = create_token(&workspace, &in_force.rules, agent)?;
    let value = || json!({"agent": agent, "token": token, "replaced": has_replaced});
    session.output.show(value, || {
        let replaced = if has_replaced { "; the one before it no longer counts" } else { "" };
        format!(
            "The token of {agent}, shown only now{replaced}:\n\n  {}\n\n\
             Where `aof serve` runs, Claude Code uses it like this:\n\n  \
             claude mcp add --transport http aof http://localhost:7420/mcp --header \"Authorization: Bearer {token}\"\n",
            bold(&token)
        )
    });
    Ok(())
}

fn revoke(session: &Session, agent: &AgentId) -> CliResult<()> {
    if !revoke_token(&session.workspace("mcp token")?, agent)? {
        let problem = format!("`{agent}` has no token");
        return Err(CliError::refused("no_token", problem, "see `aof mcp token --list`"));
    }
    let value = || json!({"agent": agent, "revoked": true});
    session.output.show(value, || format!("The token of {agent} no longer counts.\n"));
    Ok(())
}

fn list(session: &Session) -> CliResult<()> {
    let records: Vec<_> =
        token_records(&session.workspace("mcp token")?.paths)?.into_iter().collect();
    let value_of = |(agent, record): &(AgentId, TokenRecord)| json!({"agent": agent, "created": record.created});
    let value = || json!({"tokens": records.iter().map(value_of).collect::<Vec<_>>()});
    session.output.show(value, || {
        if records.is_empty() {
            return "no agent has a token; `aof mcp token AGENT` creates one\n".to_owned();
        }
        let table = Table::new(&records)
            .left("AGENT", |(agent, _)| Cell::styled(CYAN, agent))
            .left("CREATED", |(_, record)| Cell::from(local_time(record.created)));
        table.render(width())
    });
    Ok(())
}
