//! `aof org show`

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::render::output::{CYAN, DIM, YELLOW, styled};
use crate::cli::render::table::{Cell, Column, Table, width};
use crate::cli::render::unreadable_files;
use crate::cli::session::Session;
use crate::dispatch::workload::{Workload, workload};
use crate::domain::{AgentId, PublicKey, Role, RoleId, nearest};
use crate::files::printable::inert;
use crate::project::author::acting_agent;
use crate::project::error::error::Named;
use crate::project::error::error::OpsError;
use crate::rules::Rules;

/// So many tasks are named before it is enough.
const FEW: usize = 8;

/// Show the roles, who is in them, what they have to do, and who you are
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof org show                everything
  aof org show architect      one role: who is in it, its gates, what waits for it
  aof org show agent-7        one agent: its roles, and what it has claimed")]
pub(crate) struct Args {
    /// Only this role, or this agent
    #[arg(value_name = "ROLE|AGENT")]
    name: Option<String>,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("org show")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let load = workload(&workspace, &in_force);
    if let Some(name) = &args.name {
        return one(session, rules, &load, name);
    }
    // Only shown, never acted by: git's user will do.
    let (you, email) = match acting_agent(&workspace, &rules.org, None, true) {
        Ok(agent) => (Some(agent), None),
        Err(OpsError::NoAgent { email, .. }) => (None, email),
        Err(error) => return Err(error.into()),
    };
    if session.output.is_json() {
        session.output.data(value(rules, &load, you.as_ref()));
        return Ok(unreadable_files::tell(session, &load.unreadable));
    }
    if rules.org.roles.is_empty() {
        session.output.line("no roles: org.yaml defines none");
    } else {
        session.output.print(&table(rules, &load).render(width()));
    }
    for line in remarks(rules) {
        session.output.line(line);
    }
    for line in at_work(&load) {
        session.output.line(line);
    }
    session.output.line(match (you, email) {
        (Some(agent), _) => format!("\nyou are {}", styled(CYAN, agent)),
        (None, Some(email)) => {
            format!("\nyou are no agent: org.yaml has none with the email {}", inert(&email))
        }
        (None, None) => "\nyou are no agent: git does not know your email".to_owned(),
    });
    Ok(unreadable_files::tell(session, &load.unreadable))
}

/// Shows one role, or one agent; a name may be both.
fn one(
    session: &Session,
    rules: &Rules,
    load: &Workload,
    name: &str,
) -> Result<ExitCode, CliError> {
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
    if session.output.is_json() {
        let mut all = json!({});
        if let Some((role, id)) = role {
            all["role"] = role_value(rules, load, &id, role);
        }
        if let Some(agent) = agent {
            all["agent"] = agent_value(rules, load, agent);
        }
        session.output.data(all);
        return Ok(unreadable_files::tell(session, &load.unreadable));
    }
    if let Some((role, id)) = role {
        session.output.print(&page_of_role(rules, load, &id, role));
    }
    if let Some(agent) = agent {
        session.output.print(&page_of_agent(rules, load, agent));
    }
    Ok(unreadable_files::tell(session, &load.unreadable))
}

fn page_of_role(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> String {
    let known = |agent: &&str| agent.parse().is_ok_and(|agent| rules.org.is_registered(&agent));
    let names = |list: Vec<&str>| {
        let shown = list.iter().map(|agent| {
            if known(agent) {
                (*agent).to_owned()
            } else {
                format!("{agent} (not under `agents:`)")
            }
        });
        shown.collect::<Vec<_>>().join(", ")
    };
    let work = load.of_role(id);
    let facts = [
        ("for", role.description.clone().unwrap_or_default()),
        (
            "agents",
            if role.require_human {
                "people only".to_owned()
            } else {
                names(members(role, |one| !one.is_human()))
            },
        ),
        ("people", names(members(role, AgentId::is_human))),
        ("gates", gates(rules, id).join(", ")),
        ("waiting", tasks(&work.waiting)),
        ("in progress", tasks(&work.in_progress)),
        ("blocked", tasks(&work.blocked)),
    ];
    page(&format!("role {}", styled(CYAN, id)), &facts)
}

fn page_of_agent(rules: &Rules, load: &Workload, id: &AgentId) -> String {
    let known = rules.org.agent(id);
    let roles: Vec<&str> = rules.org.roles_of(id).map(RoleId::as_str).collect();
    let most = match known.and_then(|agent| agent.max_tasks) {
        Some(1) => "1 task".to_owned(),
        Some(most) => format!("{most} tasks"),
        None => String::new(),
    };
    let may: Vec<&str> =
        known.into_iter().flat_map(|agent| &agent.may).map(|act| act.as_str()).collect();
    let registered =
        if rules.org.is_registered(id) { "" } else { "not under `agents:`, so never handed work" };
    let facts = [
        ("name", known.and_then(|agent| agent.name.clone()).unwrap_or_default()),
        ("does", known.and_then(|agent| agent.description.clone()).unwrap_or_default()),
        ("email", known.and_then(|agent| agent.email.clone()).unwrap_or_default()),
        ("roles", if roles.is_empty() { "none".to_owned() } else { roles.join(", ") }),
        ("may", may.join(", ")),
        (
            "signs with",
            rules.org.signing_keys(id).iter().map(called).collect::<Vec<_>>().join(", "),
        ),
        ("at most", most),
        ("unknown", registered.to_owned()),
        ("has", tasks(load.of_agent(id))),
    ];
    let kind = if id.is_human() { "person" } else { "agent" };
    page(&format!("{kind} {}", styled(CYAN, id)), &facts)
}

/// Returns a key as people tell one from another.
fn called(key: &PublicKey) -> String {
    format!("{} {}", key.fingerprint(), key.comment()).trim_end().to_owned()
}

fn page(title: &str, facts: &[(&str, String)]) -> String {
    let mut page = format!("{title}\n");
    for (name, text) in facts.iter().filter(|(_, text)| !text.is_empty()) {
        page.push_str(&format!("  {name:<11}  {}\n", inert(text)));
    }
    page
}

/// Names work, and how much there is where it is more than a few.
fn tasks(all: &[String]) -> String {
    let shown = all[..all.len().min(FEW)].join(", ");
    if all.len() > FEW { format!("{shown} and {} more", all.len() - FEW) } else { shown }
}

/// Says who has what.
fn at_work(load: &Workload) -> Vec<String> {
    let mut lines: Vec<String> =
        load.agents.iter().map(|(agent, has)| format!("  {agent}: {}", tasks(has))).collect();
    if !lines.is_empty() {
        lines.insert(0, "\nat work".to_owned());
    }
    lines
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
    for (id, role) in &rules.org.roles {
        let work = load.of_role(id);
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
            number(&work.waiting),
            number(&work.in_progress),
            number(&work.blocked),
            Cell::styled(DIM, role.description.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

fn number(work: &[String]) -> Cell {
    if work.is_empty() { Cell::from("") } else { Cell::from(work.len()) }
}

fn members(role: &Role, wanted: impl Fn(&AgentId) -> bool) -> Vec<&str> {
    role.agents.iter().filter(|agent| wanted(agent)).map(AgentId::as_str).collect()
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
    [
        ("in several roles", several),
        ("in no role", idle),
        ("not under `agents:`, so never handed work", unknown),
    ]
    .into_iter()
    .filter(|(_, list)| !list.is_empty())
    .enumerate()
    .map(|(index, (what, list))| {
        format!("{}{what}: {}", if index == 0 { "\n" } else { "" }, list.join(", "))
    })
    .collect()
}

fn value(rules: &Rules, load: &Workload, you: Option<&AgentId>) -> Value {
    let org = &rules.org;
    let roles: Vec<Value> =
        org.roles.iter().map(|(id, role)| role_value(rules, load, id, role)).collect();
    let agents: Vec<Value> =
        org.all_agents().into_iter().map(|id| agent_value(rules, load, id)).collect();
    json!({
        "roles": roles,
        "agents": agents,
        "you": you.map(AgentId::as_str),
        "unreadable": unreadable_files::values(&load.unreadable),
    })
}

fn role_value(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> Value {
    json!({
        "role": id.as_str(),
        "description": role.description,
        "agents": members(role, |agent| !agent.is_human()),
        "people": members(role, AgentId::is_human),
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
        "agent": id.as_str(),
        "name": known.and_then(|agent| agent.name.as_deref()),
        "description": known.and_then(|agent| agent.description.as_deref()),
        "email": known.and_then(|agent| agent.email.as_deref()),
        "roles": org.roles_of(id).map(RoleId::as_str).collect::<Vec<_>>(),
        "may": may.unwrap_or_default(),
        "maxTasks": known.and_then(|agent| agent.max_tasks),
        "signingKeys": org.signing_keys(id).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "registered": org.is_registered(id),
        "human": id.is_human(),
        "has": load.of_agent(id),
    })
}
