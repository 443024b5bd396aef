//! `aof org ...` and `aof gate ...`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::process::ExitCode;

use anstyle::Style;
use clap::Subcommand;
use serde_json::{Value, json};

use crate::cli::render::changes::{self, INVALID, rule_change_text};
use crate::cli::render::table::{Cell, Table};
use crate::cli::{
    CYAN, CliResult, DIM, DryRunOption, RED, Session, YELLOW, counted, cyan, first_of, green,
    length, local_time, merged, red, short, width,
};
use crate::dispatch::workplaces::{Workload, workload};
use crate::domain::{AgentId, PublicKey, Role, RoleId, Severity, nearest};
use crate::files::config::configuration::ORG_FILE;
use crate::files::printable::inert;
use crate::observability::stats::gates::{GateReport, gate_report_value, gate_status};
use crate::project::active_rules::{RulesReport, Since, rules_report};
use crate::project::error::{Named, ProjectError, reason_of};
use crate::project::issue::left_out_warning;
use crate::project::rule_files::check_worktree;
use crate::project::workspace::acting_agent;
use crate::rules::Rules;
use crate::tasks::automatic::{RuleChanges, follow_rules};
use crate::tasks::plan::DryRun;

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum OrgCommand {
    /// Show the roles, who is in them, what they have to do, and who you are
    Show(OrgShowArgs),
    /// Check org.yaml as it is in the worktree
    Validate,
    /// Check the committed rules, and let every task follow them now
    Reload(ReloadArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
No daemon needs to be told: every command reads the committed rules. This one says which are in force and since when. It does at \
once what `aof watch`, and the next command that changes a task, do anyway when the rules have changed:
  a task whose gate is gone goes to the nearest earlier one (an entry `moved`, a commit of its own)
  a task whose gate has another role is given to that role
  a task whose role has lost everybody is blocked, and goes on when there is somebody again
What an agent has claimed stays with it, unless it may no longer complete it.

Examples:
  aof org reload --dry-run      what would be done
  git commit -m 'qa is gone' -- org.yaml && aof org reload")]
pub(crate) struct ReloadArgs {
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_org(session: &Session, command: &OrgCommand) -> CliResult {
    match command {
        OrgCommand::Show(args) => show_org(session, args),
        OrgCommand::Validate => validate(session),
        OrgCommand::Reload(args) => reload(session, args.dry_run_option.mode()),
    }
}

fn validate(session: &Session) -> CliResult {
    let workspace = session.workspace("org validate")?;
    let (rules, mut diagnostics) = check_worktree(&workspace.repository)?;
    // The check whether there are enough agents needs the gates.
    let is_about_org = |code| matches!(code, "nobody_is_separate" | "staffing_not_checked");
    diagnostics.retain(|found| found.file == ORG_FILE || is_about_org(found.code));
    let valid = match &rules {
        Some(rules) => {
            format!("{} roles, {} agents", rules.org.roles.len(), rules.org.all_agents().len())
        }
        None => format!("{ORG_FILE}; other rules are not, see `aof workflow validate`"),
    };
    Ok(changes::show_diagnostics(session, &diagnostics, &valid))
}

fn reload(session: &Session, mode: DryRun) -> CliResult {
    let mut workspace = session.workspace("org reload")?;
    let report = rules_report(&workspace)?;
    let followed =
        follow_rules(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.change_data(value(&report, &followed), mode);
    } else {
        show(session, &report, &followed, mode);
    }
    for (task, error) in &followed.failures {
        let problem = session.runnable(error.problem());
        session.warn(&inert(&format!("`{task}` cannot follow the rules: {problem}")));
    }
    let code = changes::tell_unreadable(session, &followed.unreadable);
    Ok(match (report.valid, followed.failures.is_empty()) {
        (false, _) => ExitCode::from(INVALID),
        (true, false) => ExitCode::FAILURE,
        (true, true) => code,
    })
}

fn show(session: &Session, report: &RulesReport, followed: &RuleChanges, mode: DryRun) {
    let output = session.output;
    // Notes are printed by `validate`.
    let mut diagnostics = report.diagnostics.clone();
    diagnostics.retain(|one| one.severity != Severity::Note);
    output.say_diagnostics(&diagnostics);
    let since = report.since.as_ref();
    let since = since.map_or_else(|| "no rules are committed".to_owned(), rules_of);
    if report.valid {
        output.line(format!("{}: {since}", green("in force")));
    } else {
        let error = red("error:");
        output.line(format!("{error} the committed rules are invalid, and not in force"));
        output.line(format!("still in force: {since}"));
    }
    if !report.uncommitted.is_empty() {
        output.line(format!(
            "not in force until committed: {}; see what it would change with `aof workflow diff`",
            inert(&report.uncommitted.join(", "))
        ));
    }
    for changed in &followed.changed {
        output.line(format!(
            "{}: {}",
            cyan(&changed.after.task.id),
            inert(&rule_change_text(changed))
        ));
    }
    let count = followed.changed.len();
    let tasks = if count == 1 { "1 task" } else { &format!("{count} tasks") };
    let follow = if count == 1 { "follows" } else { "follow" };
    output.line(match (mode, count) {
        (_, 0) => "every task already follows them".to_owned(),
        (DryRun::No, _) => format!("{tasks} {follow} them now"),
        (DryRun::Yes, _) => format!("{tasks} would follow them (dry run: nothing was written)"),
    });
}

fn rules_of(since: &Since) -> String {
    let at = local_time(since.at);
    let (commit, author) = (short(since.commit), inert(&since.author));
    format!("the rules of commit {commit}, {at} by {author} ({})", inert(&since.subject))
}

fn value(report: &RulesReport, followed: &RuleChanges) -> Value {
    let changed = followed.changed.iter().map(|changed| {
        let task = &changed.after.task;
        json!({
            "task": task.id,
            "what": rule_change_text(changed),
            "gate": task.gate.as_ref().map(|open| &open.current),
            "role": task.routing.role,
            "agent": task.routing.agent,
            "status": task.status,
            "commit": changed.commit,
        })
    });
    let failures = followed.failures.iter();
    let failures = failures.map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    let more = json!({
        "changed": changed.collect::<Vec<_>>(),
        "troubled": failures.collect::<Vec<_>>(),
        "unreadable": changes::unreadable_values(&followed.unreadable),
    });
    merged(report.to_value(), more)
}

/// The number of ids that are named.
const FEW_TASKS: usize = 5;

#[derive(Debug, clap::Args)]
pub(crate) struct GateArgs {
    #[command(subcommand)]
    command: Option<GateCommand>,
}

#[derive(Debug, Subcommand)]
enum GateCommand {
    /// Show what waits at each gate, and how long tasks stay there; the same without it
    Status,
}

pub(crate) fn run_gate(session: &Session, args: &GateArgs) -> CliResult {
    let GateCommand::Status = args.command.as_ref().unwrap_or(&GateCommand::Status);
    let (workspace, in_force) = session.open("gate status")?;
    let report = gate_status(&workspace, &in_force);
    session.output.show(|| gate_report_value(&report), || drawn(&report));
    session.warn_all(left_out_warning(&workspace).as_slice());
    let what = match &report.elsewhere[..] {
        [] => None,
        [_] => Some("task is at none of these gates"),
        _ => Some("tasks are at none of these gates"),
    };
    if let Some(what) = what.filter(|_| !session.output.is_json()) {
        let (count, names) = (report.elsewhere.len(), first_of(&report.elsewhere, FEW_TASKS));
        let first = &report.elsewhere[0];
        session.output.say(inert(&format!("{count} {what}: {names}; see `aof why {first}`")));
    }
    Ok(changes::tell_unreadable(session, &report.unreadable))
}

fn drawn(report: &GateReport) -> String {
    let several = report.rows.iter().any(|row| row.workflow != report.rows[0].workflow);
    let time = |seconds: Option<u64>| Cell::from(seconds.map_or("-".to_owned(), length));
    let late = |count| if count > 0 { Cell::styled(YELLOW, count) } else { Cell::from("") };
    let table = Table::new(&report.rows)
        .left("WORKFLOW", |row| if several { Cell::from(&row.workflow) } else { Cell::from("") })
        .left("GATE", |row| Cell::styled(CYAN, &row.gate))
        .left("ROLE", |row| Cell::styled(DIM, row.role.as_deref().unwrap_or_default()))
        .extra(0)
        .right("READY", |row| row.ready.into())
        .right("WAITING", |row| row.waiting.into())
        .extra(3)
        .right("IN PROGRESS", |row| row.in_progress.into())
        .right("BLOCKED", |row| match row.blocked {
            0 => Cell::from(0),
            count => Cell::styled(YELLOW, count),
        })
        .right("OVERDUE", |row| late(row.overdue))
        .right("ESCALATED", |row| late(row.escalated))
        .right("OLDEST", |row| time(row.oldest))
        .extra(4)
        .right("MEDIAN", |row| time(row.median))
        .extra(1)
        .right("REJECTED", |row| match row.rejection_rate {
            None => Cell::from("-"),
            Some(rate) => {
                let style = if rate > 0.5 { RED } else { Style::new() };
                Cell::styled(style, format!("{:.0}%", rate * 100.0))
            }
        })
        .extra(2);
    table.render(width())
}

/// The number of tasks that are named.
const FEW: usize = 8;
/// The remark on an agent that org.yaml does not register.
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

pub(crate) fn show_org(session: &Session, args: &OrgShowArgs) -> CliResult {
    let (workspace, in_force) = session.open("org show")?;
    let rules = &in_force.rules;
    let load = workload(&workspace, &in_force);
    if let Some(name) = &args.name {
        let (value, text) = one(rules, &load, name)?;
        session.output.show(|| value, || text);
    } else {
        // Reading needs no proof of identity, so git's user counts even without a terminal.
        let you = match acting_agent(&workspace, &rules.org, None, true) {
            Ok(agent) => Ok(agent),
            Err(ProjectError::NoAgent { email, .. }) => Err(email),
            Err(error) => return Err(error.into()),
        };
        session
            .output
            .show(|| all_value(rules, &load, you.as_ref().ok()), || all(rules, &load, &you));
    }
    Ok(changes::tell_unreadable(session, &load.unreadable))
}

fn all_value(rules: &Rules, load: &Workload, you: Option<&AgentId>) -> Value {
    let roles = rules.org.roles.iter().map(|(id, role)| role_value(rules, load, id, role));
    let agents = rules.org.all_agents().into_iter().map(|id| agent_value(rules, load, id));
    json!({
        "roles": roles.collect::<Vec<_>>(),
        "agents": agents.collect::<Vec<_>>(),
        "you": you,
        "unreadable": changes::unreadable_values(&load.unreadable),
    })
}

/// Returns the page of all roles, of the agents at work, and of the reader: an agent, or an unknown person with this email.
fn all(rules: &Rules, load: &Workload, you: &Result<AgentId, Option<String>>) -> String {
    let mut text = if rules.org.roles.is_empty() {
        "no roles: org.yaml defines none\n".to_owned()
    } else {
        roles(rules, load)
    };
    text.push_str(&remarks(rules));
    if !load.agents.is_empty() {
        text.push_str("\nat work\n");
    }
    for (agent, tasks) in &load.agents {
        text.push_str(&format!("  {agent}: {}\n", first_of(tasks, FEW)));
    }
    text + &match you {
        Ok(agent) => format!("\nyou are {}\n", cyan(agent)),
        Err(Some(email)) => {
            format!("\nyou are no agent: org.yaml has none with the email {}\n", inert(email))
        }
        Err(None) => "\nyou are no agent: git does not know your email\n".to_owned(),
    }
}

/// Returns the role or the agent of that name, or both, as JSON and as text. Fails if there is neither.
fn one(rules: &Rules, load: &Workload, name: &str) -> CliResult<(Value, String)> {
    let role = name.parse::<RoleId>().ok().and_then(|id| Some((rules.org.role(&id)?, id)));
    let agents = rules.org.all_agents();
    let agent = agents.iter().find(|agent| agent.as_str() == name);
    if role.is_none() && agent.is_none() {
        let roles = rules.org.roles.iter().map(|(role, _)| role.to_string());
        let known = roles.chain(agents.iter().map(ToString::to_string)).collect();
        let near = nearest(name, agents.iter().map(|agent| agent.as_str()));
        let kind = if near.is_some() { Named::Agent } else { Named::Role };
        return Err(ProjectError::Unknown { kind, given: name.to_owned(), known }.into());
    }
    let (mut value, mut text) = (json!({}), String::new());
    if let Some((role, id)) = role {
        value["role"] = role_value(rules, load, &id, role);
        text.push_str(&role_page(rules, load, &id, role));
    }
    if let Some(agent) = agent {
        value["agent"] = agent_value(rules, load, agent);
        text.push_str(&agent_page(rules, load, agent));
    }
    Ok((value, text))
}

fn role_page(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> String {
    let name = |agent: &AgentId| {
        if rules.org.is_registered(agent) {
            agent.to_string()
        } else {
            format!("{agent} (not under `agents:`)")
        }
    };
    let work = load.of_role(id);
    let agents =
        if role.require_human { "people only".to_owned() } else { joined(agents(role), name) };
    page(
        &format!("role {}", cyan(id)),
        &[
            ("for", role.description.clone().unwrap_or_default()),
            ("agents", agents),
            ("people", joined(people(role), name)),
            ("gates", gates(rules, id).join(", ")),
            ("ready", first_of(&work.ready, FEW)),
            ("waiting", first_of(&work.waiting, FEW)),
            ("in progress", first_of(&work.in_progress, FEW)),
            ("blocked", first_of(&work.blocked, FEW)),
        ],
    )
}

fn agent_page(rules: &Rules, load: &Workload, id: &AgentId) -> String {
    let agent = rules.org.agent(id).cloned().unwrap_or_default();
    let roles = joined(rules.org.roles_of(id), RoleId::to_string);
    let key =
        |key: &PublicKey| format!("{} {}", key.fingerprint(), key.comment()).trim_end().to_owned();
    let kind = if id.is_human() { "person" } else { "agent" };
    let unknown = if rules.org.is_registered(id) { "" } else { UNREGISTERED };
    page(
        &format!("{kind} {}", cyan(id)),
        &[
            ("name", agent.name.unwrap_or_default()),
            ("does", agent.description.unwrap_or_default()),
            ("email", agent.email.unwrap_or_default()),
            ("roles", if roles.is_empty() { "none".to_owned() } else { roles }),
            ("may", joined(&agent.may, ToString::to_string)),
            ("signs with", joined(rules.org.signing_keys(id), key)),
            ("at most", agent.max_tasks.map(|most| counted(most, "task")).unwrap_or_default()),
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

fn joined<'a, T: 'a>(
    list: impl IntoIterator<Item = &'a T>,
    name: impl Fn(&'a T) -> String,
) -> String {
    list.into_iter().map(name).collect::<Vec<_>>().join(", ")
}

fn roles(rules: &Rules, load: &Workload) -> String {
    let number = |work: &[String]| match work.len() {
        0 => Cell::from(""),
        count => Cell::from(count),
    };
    let table = Table::new(&rules.org.roles)
        .left("ROLE", |(id, _)| Cell::styled(CYAN, id))
        .long("AGENTS", |(_, role)| match agents(role).next() {
            _ if role.require_human => Cell::styled(DIM, "people only"),
            None if role.agents.is_empty() => Cell::styled(YELLOW, "nobody"),
            _ => joined(agents(role), AgentId::to_string).into(),
        })
        .long("PEOPLE", |(_, role)| joined(people(role), AgentId::to_string).into())
        .long("GATES", |(id, _)| gates(rules, id).join(", ").into())
        .right("READY", |(id, _)| number(&load.of_role(id).ready))
        .right("WAITING", |(id, _)| number(&load.of_role(id).waiting))
        .right("IN PROGRESS", |(id, _)| number(&load.of_role(id).in_progress))
        .right("BLOCKED", |(id, _)| number(&load.of_role(id).blocked))
        .long("DESCRIPTION", |(_, role)| {
            Cell::styled(DIM, role.description.as_deref().unwrap_or_default())
        });
    table.render(width())
}

fn agents(role: &Role) -> impl Iterator<Item = &AgentId> {
    role.agents.iter().filter(|agent| !agent.is_human())
}

fn people(role: &Role) -> impl Iterator<Item = &AgentId> {
    role.agents.iter().filter(|agent| agent.is_human())
}

/// Returns the gates of the role.
fn gates<'r>(rules: &'r Rules, role: &RoleId) -> Vec<&'r str> {
    let all = rules.project.workflows.iter().flat_map(|workflow| &workflow.gates);
    let of_role = all.filter(|gate| gate.roles().contains(&role));
    of_role.map(|gate| gate.id.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Returns remarks that a reader could otherwise find only by comparing rows.
fn remarks(rules: &Rules) -> String {
    let (mut several, mut idle, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for agent in rules.org.all_agents() {
        match rules.org.roles_of(agent).count() {
            0 => idle.push(agent.to_string()),
            1 => {}
            _ => {
                let roles = joined(rules.org.roles_of(agent), RoleId::to_string);
                several.push(format!("{agent} ({roles})"));
            }
        }
        if !rules.org.is_registered(agent) {
            unknown.push(agent.to_string());
        }
    }
    let mut text = String::new();
    for (what, list) in
        [("in several roles", several), ("in no role", idle), (UNREGISTERED, unknown)]
    {
        if !list.is_empty() {
            let gap = if text.is_empty() { "\n" } else { "" };
            text.push_str(&format!("{gap}{what}: {}\n", list.join(", ")));
        }
    }
    text
}

fn role_value(rules: &Rules, load: &Workload, id: &RoleId, role: &Role) -> Value {
    json!({
        "role": id,
        "description": role.description,
        "agents": agents(role).collect::<Vec<_>>(),
        "people": people(role).collect::<Vec<_>>(),
        "requireHuman": role.require_human,
        "handOut": rules.project.hand_out_policy(role),
        "gates": gates(rules, id),
        "work": load.of_role(id),
    })
}

fn agent_value(rules: &Rules, load: &Workload, id: &AgentId) -> Value {
    let org = &rules.org;
    let agent = org.agent(id).cloned().unwrap_or_default();
    json!({
        "agent": id,
        "name": agent.name,
        "description": agent.description,
        "email": agent.email,
        "roles": org.roles_of(id).collect::<Vec<_>>(),
        "may": agent.may,
        "maxTasks": agent.max_tasks,
        "signingKeys": org.signing_keys(id).iter().map(ToString::to_string).collect::<Vec<_>>(),
        "registered": org.is_registered(id),
        "human": id.is_human(),
        "has": load.of_agent(id),
    })
}
