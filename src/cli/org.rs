//! `aof org ...`

use std::process::ExitCode;

use clap::Subcommand;
use serde_json::{Value, json};

use super::output::{CYAN, DIM, YELLOW, styled};
use super::session::Session;
use super::table::{Cell, Column, Table, width};
use super::trouble::Trouble;
use super::validated;
use crate::engine::Rules;
use crate::format::config::ORG_FILE;
use crate::model::{AgentId, Role, RoleId};
use crate::ops::{OpsError, acting_agent, check_worktree};

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Show the roles, who is in them, and who you are
    Show,
    /// Check org.yaml as it stands in the worktree
    Validate,
}

pub(super) fn run(session: &Session, command: &Command) -> Result<ExitCode, Trouble> {
    match command {
        Command::Show => show(session),
        Command::Validate => validate(session),
    }
}

fn show(session: &Session) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("org show")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    // Only shown, never acted by: git's user will do.
    let (you, email) = match acting_agent(&workspace, &rules.org, None, true) {
        Ok(agent) => (Some(agent), None),
        Err(OpsError::NoAgent { email, .. }) => (None, email),
        Err(error) => return Err(error.into()),
    };
    if session.output.is_json() {
        session.output.data(value(rules, you.as_ref()));
        return Ok(ExitCode::SUCCESS);
    }
    if rules.org.roles.is_empty() {
        session.output.line("no roles: org.yaml defines none");
    } else {
        session.output.print(&table(rules).render(width()));
    }
    for line in remarks(rules) {
        session.output.line(line);
    }
    session.output.line(match (you, email) {
        (Some(agent), _) => format!("\nyou are {}", styled(CYAN, agent)),
        (None, Some(email)) => {
            format!("\nyou are no agent: org.yaml has none with the email {}", super::output::inert(&email))
        }
        (None, None) => "\nyou are no agent: git does not know your email".to_owned(),
    });
    Ok(ExitCode::SUCCESS)
}

fn table(rules: &Rules) -> Table {
    let mut table = Table::new(&[
        Column::left("ROLE"),
        Column::long("AGENTS"),
        Column::long("PEOPLE"),
        Column::long("GATES"),
        Column::long("DESCRIPTION"),
    ]);
    for (id, role) in &rules.org.roles {
        let people: Vec<&str> = members(role, AgentId::is_human);
        let agents: Vec<&str> = members(role, |agent| !agent.is_human());
        table.row([
            Cell::styled(CYAN, id),
            match &agents[..] {
                _ if role.require_human => Cell::styled(DIM, "people only"),
                [] if people.is_empty() => Cell::styled(YELLOW, "nobody"),
                agents => Cell::from(agents.join(", ")),
            },
            Cell::from(people.join(", ")),
            Cell::from(gates(rules, id).join(", ")),
            Cell::styled(DIM, role.description.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn members(role: &Role, wanted: impl Fn(&AgentId) -> bool) -> Vec<&str> {
    role.agents.iter().filter(|agent| wanted(agent)).map(AgentId::as_str).collect()
}

/// Returns the gates whose work is the role's.
fn gates<'r>(rules: &'r Rules, role: &RoleId) -> Vec<&'r str> {
    let all = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    let mut names: Vec<&str> = all.filter(|gate| gate.role() == Some(role)).map(|gate| gate.id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// What one would otherwise have to find out by comparing rows.
fn remarks(rules: &Rules) -> Vec<String> {
    let mut several = Vec::new();
    let mut idle = Vec::new();
    let mut unknown = Vec::new();
    for agent in rules.org.all_agents() {
        let own: Vec<&str> = rules.org.roles_of(agent).map(RoleId::as_str).collect();
        match own.len() {
            0 => idle.push(agent.to_string()),
            1 => {}
            _ => several.push(format!("{agent} ({})", own.join(", "))),
        }
        if !rules.org.is_registered(agent) {
            unknown.push(agent.to_string());
        }
    }
    [("in several roles", several), ("in no role", idle), ("not under `agents:`, so never handed work", unknown)]
        .into_iter()
        .filter(|(_, list)| !list.is_empty())
        .enumerate()
        .map(|(index, (what, list))| format!("{}{what}: {}", if index == 0 { "\n" } else { "" }, list.join(", ")))
        .collect()
}

fn value(rules: &Rules, you: Option<&AgentId>) -> Value {
    let org = &rules.org;
    let all: Vec<Value> = org
        .roles
        .iter()
        .map(|(id, role)| {
            json!({
                "role": id.as_str(),
                "description": role.description,
                "agents": members(role, |agent| !agent.is_human()),
                "people": members(role, AgentId::is_human),
                "requireHuman": role.require_human,
                "gates": gates(rules, id),
            })
        })
        .collect();
    let agents: Vec<Value> = org
        .all_agents()
        .into_iter()
        .map(|id| {
            let known = org.agent(id);
            let may = known.map(|agent| agent.may.iter().map(|act| act.as_str()).collect::<Vec<_>>());
            json!({
                "agent": id.as_str(),
                "name": known.and_then(|agent| agent.name.as_deref()),
                "description": known.and_then(|agent| agent.description.as_deref()),
                "email": known.and_then(|agent| agent.email.as_deref()),
                "roles": org.roles_of(id).map(RoleId::as_str).collect::<Vec<_>>(),
                "may": may.unwrap_or_default(),
                "registered": org.is_registered(id),
            })
        })
        .collect();
    json!({"roles": all, "agents": agents, "you": you.map(AgentId::as_str)})
}

fn validate(session: &Session) -> Result<ExitCode, Trouble> {
    let workspace = session.workspace("org validate")?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    diagnostics.retain(|diagnostic| diagnostic.file == ORG_FILE);
    let well = match &rules {
        Some(rules) => format!("{} roles, {} agents", rules.org.roles.len(), rules.org.all_agents().len()),
        None => format!("{ORG_FILE}; other rules are not, see `aof workflow validate`"),
    };
    Ok(validated::show(session, &diagnostics, &well))
}
