//! `aof run`, and what it shares with `aof workflow run`

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::runner::{HOW_TO_START, project};
use super::view::RunView;
use super::{preview, result};
use crate::agents::runner::{Pace, RunTarget, RunnerSetup, work};
use crate::cli::{AGENT, Away, CliError, CliResult, Session};
use crate::domain::{AgentId, RoleId, TaskId, listed};
use crate::project::active_rules::InForce;
use crate::project::workspace::Workspace;
use crate::system::signals;
use crate::tasks::headers::list::known_worker;
use crate::tasks::view::task_view::show;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof run --agent coder                 everything that there is for `coder`, one task after the other
  aof run --agent coder --agent tester --jobs 2
  aof run --task AOF-7qk                go on with one task, with the agents that its gates need
  aof run --agent coder --dry-run       see the command and the prompt

org.yaml says how an agent is started: `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md.")]
pub(crate) struct RunArgs {
    /// The agent to start, in place of `$AOF_AGENT`; several take turns
    #[arg(long = "agent", value_name = "ID", conflicts_with_all = ["all", "task"])]
    agents: Vec<AgentId>,
    /// Every agent with `run` in org.yaml
    #[arg(long, conflicts_with = "task")]
    all: bool,
    /// Only work of this role
    #[arg(long, value_name = "ROLE", conflicts_with = "task")]
    role: Option<RoleId>,
    /// One task, to its end, with whichever agents its gates need
    #[arg(long, value_name = "ID")]
    task: Option<TaskId>,
    /// Stop after one visit
    #[arg(long, visible_alias = "step")]
    once: bool,
    #[command(flatten)]
    how: RunOptions,
}

// How agents are run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunOptions {
    /// How many agents work at the same time
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Never ask at the terminal: work for people waits
    #[arg(long)]
    no_ask: bool,
    #[command(flatten)]
    away: Away,
    /// Show the commands and the prompts, and start nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub(crate) fn run(session: &Session, args: &RunArgs) -> CliResult {
    ended(session, &args.how, start(session, args))
}

/// Ends a stream of JSON with a line that says how it ended, on errors too.
pub(crate) fn ended(session: &Session, how: &RunOptions, outcome: CliResult) -> CliResult {
    match outcome {
        Err(error) if session.output.is_json() && !how.dry_run => Ok(session.fail_stream(&error)),
        outcome => outcome,
    }
}

fn start(session: &Session, args: &RunArgs) -> CliResult {
    let workspace = session.workspace_in_background("run")?;
    let in_force = session.rules(&workspace)?;
    let wish = match &args.task {
        Some(task) => {
            show(&workspace, task)?;
            RunTarget::Task(task.clone())
        }
        None => RunTarget::Agents {
            agents: agents(session, &workspace, &in_force, args)?,
            role: args.role.clone(),
        },
    };
    if args.how.dry_run {
        return preview::show_next(session, &workspace, &wish);
    }
    let pace = if args.once { Pace::OneVisit } else { Pace::Through };
    go(session, &workspace, &wish, pace, &args.how)
}

/// Returns the agents to start. Fails where one of them cannot be.
fn agents(
    session: &Session,
    workspace: &Workspace,
    in_force: &InForce,
    args: &RunArgs,
) -> CliResult<Vec<AgentId>> {
    let org = &in_force.rules.org;
    let is_startable = |agent: &AgentId| org.agent(agent).is_some_and(|known| known.run.is_some());
    let startable: Vec<AgentId> =
        org.all_agents().into_iter().filter(|agent| is_startable(agent)).cloned().collect();
    let wanted = match args.agents.as_slice() {
        [] if args.all => startable.clone(),
        [] => vec![session.agent(workspace, in_force, agent_of_shell()?.as_ref())?],
        named => named.to_vec(),
    };
    if wanted.is_empty() {
        let problem = "org.yaml does not say of any agent how it is started";
        return Err(CliError::refused("not_startable", problem, HOW_TO_START));
    }
    for agent in &wanted {
        known_worker(&in_force.rules, agent, args.role.as_ref())?;
        if is_startable(agent) {
            continue;
        }
        let (problem, fix) = if agent.is_human() {
            let problem = format!("`{agent}` is a person: no program is started for it");
            (problem, "name an agent that is a program")
        } else {
            (format!("org.yaml does not say how `{agent}` is started"), HOW_TO_START)
        };
        let others = match startable.as_slice() {
            [] => String::new(),
            others => format!("; there is `run` of {}", listed(others)),
        };
        return Err(CliError::refused("not_startable", problem, format!("{fix}{others}")));
    }
    Ok(wanted)
}

/// Returns the agent that the shell names for all commands. Unlike `--agent` it conflicts with no other option.
fn agent_of_shell() -> CliResult<Option<AgentId>> {
    let name = std::env::var(AGENT).ok().filter(|name| !name.is_empty());
    name.map(|name| name.parse()).transpose().map_err(|error| {
        let problem = format!("`{AGENT}` names no agent: {error}");
        CliError::refused("invalid_agent", problem, "name one with `--agent`")
    })
}

/// Runs agents, shows them at work, and shows the result.
pub(crate) fn go(
    session: &Session,
    workspace: &Workspace,
    wish: &RunTarget,
    pace: Pace,
    how: &RunOptions,
) -> CliResult {
    let project = RunnerSetup { network: how.away.network(), ..project(session, workspace)? };
    let stop = Arc::new(AtomicBool::new(false));
    signals::set_on_stop(&stop).map_err(|cause| {
        CliError::refused("signals", format!("cannot listen for signals: {cause}"), "try again")
    })?;
    let mut view = RunView::new(session, workspace, !how.no_ask, &stop)?;
    let account = work(&project, wish, usize::from(how.jobs), pace, &stop, &mut view);
    drop(view);
    result::show(session, workspace, wish, &account?)
}
