//! `aof org show`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::output::{CYAN, DIM, YELLOW, counted, cyan, first_of, width};
use crate::cli::render::findings;
use crate::cli::render::table::{Cell, Column, Table};
use crate::cli::session::Session;
use crate::dispatch::workload::{Workload, workload};
use crate::domain::{AgentId, PublicKey, Role, RoleId, nearest};
use crate::files::printable::inert;
use crate::project::author::acting_agent;
use crate::project::error::error::Named;
use crate::project::error::error::OpsError;
use crate::rules::Rules;

/// How many tasks are named.
const FEW: usize = 8;
/// What is said of an agent that org.yaml does not register.
const UNREGISTERED: &str = "not under `agents:`, so never handed work";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof org show                everything
  aof org show architect      one role: who is in it, its gates, what waits for it
  aof org show agent-7        one agent: its roles, and what it has claimed")]
pub(crate) struct OrgShowArgs {
    /// Only this role, or this agent
    #[arg(value_name = "ROLE|AGENT")]
    name: Option<String>,
}

pub(crate) fn run(session: &Session, args: &OrgShowArgs) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("org show")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let load = workload(&workspace, &in_force);
    if let Some(name) = &args.name {
        show_one(session, rules, &load, name)?;
    } else {
        // Reading needs no proof of identity, so git's user will do anywhere.
        let you = acting_agent(&workspace, &rules.org, None, true);
        show_all(session, rules, &load, you)?;
    }
    Ok(findings::tell_unreadable(session, &load.unreadable))
}

fn show_all(
    session: &Session,
    rules: &Rules,
    load: &Workload,
    you: Result<AgentId, OpsError>,
) -> Result<(), CliError> {
    let output = session.output;
    let (you, email) = match you {
        Ok(agent) => (Some(agent), None),
        Err(OpsError::NoAgent { email, .. }) => (None, email),
        Err(error) => return Err(error.into()),
    };
    if output.is_json() {
        let roles = rules.org.roles.iter();
        let agents = rules.org.all_agents().into_iter();
        output.data(json!({
            "roles": roles.map(|(id, role)| role_value(rules, load, id, role)).collect::<Vec<_>>(),
            "agents": agents.map(|id| agent_value(rules, load, id)).collect::<Vec<_>>(),
            "you": you,
            "unreadable": findings::unreadable_values(&load.unreadable),
        }));
        return Ok(());
    }
    if rules.org.roles.is_empty() {
        output.line("no roles: org.yaml defines none");
    } else {
        output.print(&table(rules, load).render(width()));
    }
    for line in remarks(rules) {
        output.line(line);
    }
    if !load.agents.is_empty() {
        output.line("\nat work");
    }
    for (agent, tasks) in &load.agents {
        output.line(format!("  {agent}: {}", first_of(tasks, FEW)));
    }
    output.line(match (you, email) {
        (Some(agent), _) => format!("\nyou are {}", cyan(agent)),
        (None, Some(email)) => {
            format!("\nyou are no agent: org.yaml has none with the email {}", inert(&email))
        }
        (None, None) => "\nyou are no agent: git does not know your email".to_owned(),
    });
    Ok(())
}

/// Shows the role or the agent of that name, or both. Fails where there is neither.
fn show_one(session: &Session, rules: &Rules, load: &Workload, name: &str) -> Result<(), CliError> {
    let role = name.parse::<RoleId>().ok().and_then(|id| Some((rules.org.role(&id)?, id)));
    let agents = rules.org.all_agents();
    let agent = agents.iter().find(|agent| agent.as_str() == name);
    if role.is_none() && agent.is_none() {
        let roles = rules.org.roles.iter().map(|(role, _)| role.to_string());
        let known = roles.chain(agents.iter().map(ToString::to_string)).collect();
        let near = nearest(name, agents.iter().map(|agent| agent.as_str()));
        let kind = if near.is_some() { Named::Agent } else { Named::Role };
        return Err(OpsError::Unknown { kind, given: name.to_owned(), known }.into());
    }
    let mut value = json!({});
    if let Some((role, id)) = role {
        value["role"] = role_value(rules, load, &id, role);
        if !session.output.is_json() {
            session.output.print(&role_page(rules, load, &id, role));
        }
    }
    if let Some(agent) = agent {
        value["agent"] = agent_value(rules, load, agent);
        if !session.output.is_json() {
            session.output.print(&agent_page(rules, load, agent));
        }
    }
    if session.output.is_json() {
        session.output.data(value);
    }
    Ok(())
}

fn role_page(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> String {
    let name = |agent: &&AgentId| {
        let note = if rules.org.is_registered(agent) { "" } else { " (not under `agents:`)" };
        format!("{agent}{note}")
    };
    let names = |list: Vec<&AgentId>| list.iter().map(name).collect::<Vec<_>>().join(", ");
    let work = load.of_role(id);
    let agents = if role.require_human { "people only".to_owned() } else { names(agents(role)) };
    page(
        &format!("role {}", cyan(id)),
        &[
            ("for", role.description.clone().unwrap_or_default()),
            ("agents", agents),
            ("people", names(people(role))),
            ("gates", gates(rules, id).join(", ")),
            ("waiting", first_of(&work.waiting, FEW)),
            ("in progress", first_of(&work.in_progress, FEW)),
            ("blocked", first_of(&work.blocked, FEW)),
        ],
    )
}

fn agent_page(rules: &Rules, load: &Workload, id: &AgentId) -> String {
    let known = rules.org.agent(id);
    let roles: Vec<&str> = rules.org.roles_of(id).map(RoleId::as_str).collect();
    let most = known.and_then(|agent| agent.max_tasks).map(|most| counted(most, "task"));
    let may: Vec<&str> =
        known.into_iter().flat_map(|agent| &agent.may).map(|act| act.as_str()).collect();
    let key =
        |key: &PublicKey| format!("{} {}", key.fingerprint(), key.comment()).trim_end().to_owned();
    let keys: Vec<String> = rules.org.signing_keys(id).iter().map(key).collect();
    let kind = if id.is_human() { "person" } else { "agent" };
    let unknown = if rules.org.is_registered(id) { "" } else { UNREGISTERED };
    page(
        &format!("{kind} {}", cyan(id)),
        &[
            ("name", known.and_then(|agent| agent.name.clone()).unwrap_or_default()),
            ("does", known.and_then(|agent| agent.description.clone()).unwrap_or_default()),
            ("email", known.and_then(|agent| agent.email.clone()).unwrap_or_default()),
            ("roles", if roles.is_empty() { "none".to_owned() } else { roles.join(", ") }),
            ("may", may.join(", ")),
            ("signs with", keys.join(", ")),
            ("at most", most.unwrap_or_default()),
            ("unknown", unknown.to_owned()),
            ("has", first_of(load.of_agent(id), FEW)),
        ],
    )
}

fn page(title: &str, facts: &[(&str, String)]) -> String {
    let facts = facts.iter().filter(|(_, text)| !text.is_empty());
    let lines = facts.map(|(name, text)| format!("  {name:<11}  {}\n", inert(text)));
    format!("{title}\n{}", lines.collect::<String>())
}

fn table(rules: &Rules, load: &Workload) -> Table {
    let mut table = Table::new(&[
        Column::left("ROLE"),
        Column::long("AGENTS"),
        Column::long("PEOPLE"),
        Column::long("GATES"),
        Column::right("WAITING"),
        Column::right("IN PROGRESS"),
        Column::right("BLOCKED"),
        Column::long("DESCRIPTION"),
    ]);
    let number = |work: &[String]| match work.len() {
        0 => Cell::from(""),
        count => Cell::from(count),
    };
    let joined =
        |list: &[&AgentId]| list.iter().map(|agent| agent.as_str()).collect::<Vec<_>>().join(", ");
    for (id, role) in &rules.org.roles {
        let work = load.of_role(id);
        let (agents, people) = (agents(role), people(role));
        table.row([
            Cell::styled(CYAN, id),
            match &agents[..] {
                _ if role.require_human => Cell::styled(DIM, "people only"),
                [] if people.is_empty() => Cell::styled(YELLOW, "nobody"),
                agents => Cell::from(joined(agents)),
            },
            Cell::from(joined(&people)),
            Cell::from(gates(rules, id).join(", ")),
            number(&work.waiting),
            number(&work.in_progress),
            number(&work.blocked),
            Cell::styled(DIM, role.description.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn agents(role: &Role) -> Vec<&AgentId> {
    role.agents.iter().filter(|agent| !agent.is_human()).collect()
}

fn people(role: &Role) -> Vec<&AgentId> {
    role.agents.iter().filter(|agent| agent.is_human()).collect()
}

/// Returns the gates whose work is the role's.
fn gates<'r>(rules: &'r Rules, role: &RoleId) -> Vec<&'r str> {
    let all = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    let mut names: Vec<&str> =
        all.filter(|gate| gate.roles().contains(&role)).map(|gate| gate.id.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Returns what a reader would have to find out by comparing rows.
fn remarks(rules: &Rules) -> Vec<String> {
    let (mut several, mut idle, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for agent in rules.org.all_agents() {
        match rules.org.roles_of(agent).map(RoleId::as_str).collect::<Vec<_>>()[..] {
            [] => idle.push(agent.to_string()),
            [_] => {}
            ref roles => several.push(format!("{agent} ({})", roles.join(", "))),
        }
        if !rules.org.is_registered(agent) {
            unknown.push(agent.to_string());
        }
    }
    let all = [("in several roles", several), ("in no role", idle), (UNREGISTERED, unknown)];
    let mut lines: Vec<String> = all
        .iter()
        .filter(|(_, list)| !list.is_empty())
        .map(|(what, list)| format!("{what}: {}", list.join(", ")))
        .collect();
    if let Some(first) = lines.first_mut() {
        first.insert(0, '\n');
    }
    lines
}

fn role_value(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> Value {
    json!({
        "role": id,
        "description": role.description,
        "agents": agents(role),
        "people": people(role),
        "requireHuman": role.require_human,
        "handOut": rules.project.way_of(role).as_str(),
        "gates": gates(rules, id),
        "work": load.of_role(id),
    })
}

fn agent_value(rules: &Rules, load: &Workload, id: &AgentId) -> Value {
    let org = &rules.org;
    let known = org.agent(id);
    let may = known.map(|agent| agent.may.iter().map(|act| act.as_str()).collect::<Vec<_>>());
    json!({
        "agent": id,
        "name": known.and_then(|agent| agent.name.as_deref()),
        "description": known.and_then(|agent| agent.description.as_deref()),
        "email": known.and_then(|agent| agent.email.as_deref()),
        "roles": org.roles_of(id).collect::<Vec<_>>(),
        "may": may.unwrap_or_default(),
        "maxTasks": known.and_then(|agent| agent.max_tasks),
        "signingKeys": org.signing_keys(id).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "registered": org.is_registered(id),
        "human": id.is_human(),
        "has": load.of_agent(id),
    })
}
