//! `aof run`, and what it shares with `aof workflow run`: agents at work, shown while they are, and people asked.

use super::preview;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::result::Outcome;
use super::view::{Asking, View};
use crate::agents::runner::{Account, Pace, RunnerSetup, Wish, work};
use crate::cli::error::CliError;
use crate::cli::input::arguments::Away;
use crate::cli::session::{Session, now};
use crate::domain::{AgentId, RoleId, TaskId};
use crate::project::author::acting_agent;
use crate::project::workspace::Workspace;
use crate::system::signals;
use crate::tasks::lookup::known_worker;
use crate::tasks::view::task_view::show;

/// Work for an agent until nothing is left: start its program, and take its verdict
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof run --agent coder                 everything that there is for `coder`, one task after the other
  aof run --agent coder --agent tester --jobs 2
  aof run --task AOF-7qk                go on with one task, whoever's turn it is
  aof run --agent coder --dry-run       see the command and the prompt

org.yaml says how an agent is started: `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md.")]
pub(crate) struct Args {
    /// The agent that is started, in place of `$AOF_AGENT`; several are served in turn
    #[arg(long = "agent", value_name = "ID", conflicts_with_all = ["all", "task"])]
    agents: Vec<AgentId>,
    /// Every agent that org.yaml says how to start
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
    how: How,
}

/// How agents are run.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct How {
    /// How many agents work at the same time
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// Never ask at the terminal: what is for people waits
    #[arg(long)]
    no_ask: bool,
    #[command(flatten)]
    away: Away,
    /// Show the commands and the prompts, and start nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    ended(session, &args.how, start(session, args))
}

/// What tells line by line ends with a line that says how it ended, whatever ended it.
pub(crate) fn ended(
    session: &Session,
    how: &How,
    outcome: Result<ExitCode, CliError>,
) -> Result<ExitCode, CliError> {
    match outcome {
        Err(trouble) if session.output.is_json() && !how.dry_run => Ok(trouble.end(session)),
        outcome => outcome,
    }
}

fn start(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace_in_background("run")?;
    let in_force = session.rules(&workspace)?;
    let rules = &in_force.rules;
    let wish = match &args.task {
        Some(task) => {
            show(&workspace, task)?;
            Wish::Task(task.clone())
        }
        None => Wish::Agents { agents: agents(&workspace, rules, args)?, role: args.role.clone() },
    };
    if args.how.dry_run {
        return preview::of_wish(session, &workspace, &wish);
    }
    let pace = if args.once { Pace::OneVisit } else { Pace::Through };
    go(session, &workspace, &wish, pace, &args.how)
}

fn agents(
    workspace: &Workspace,
    rules: &crate::rules::Rules,
    args: &Args,
) -> Result<Vec<AgentId>, CliError> {
    let startable =
        |agent: &AgentId| rules.org.agent(agent).is_some_and(|known| known.run.is_some());
    let all = || {
        rules
            .org
            .all_agents()
            .into_iter()
            .filter(|agent| startable(agent))
            .cloned()
            .collect::<Vec<_>>()
    };
    let wanted = match args.agents.as_slice() {
        [] if args.all => all(),
        [] => vec![acting_agent(
            workspace,
            &rules.org,
            said_by_shell()?.as_ref(),
            Session::at_terminal(),
        )?],
        named => named.to_vec(),
    };
    let fix = "say it in org.yaml, as in `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md";
    if wanted.is_empty() {
        let problem = "org.yaml does not say of any agent how it is started".to_owned();
        return Err(CliError::Unfit { code: "not_startable", problem, fix: fix.to_owned() });
    }
    for agent in &wanted {
        known_worker(rules, agent, args.role.as_ref())?;
        if !startable(agent) {
            let others = all();
            let (problem, fix) = if agent.is_human() {
                let fix = "name an agent that is a program".to_owned();
                (format!("`{agent}` is a person: no program is started for it"), fix)
            } else {
                (format!("org.yaml does not say how `{agent}` is started"), fix.to_owned())
            };
            let fix = match others.as_slice() {
                [] => fix,
                others => format!("{fix}; there is `run` of {}", crate::domain::listed(others)),
            };
            return Err(CliError::Unfit { code: "not_startable", problem, fix });
        }
    }
    Ok(wanted)
}

/// Returns the agent that the shell names. It may do so for all commands: unlike `--agent` it bars no other choice.
fn said_by_shell() -> Result<Option<AgentId>, CliError> {
    let name = std::env::var("AOF_AGENT").ok().filter(|name| !name.is_empty());
    name.map(|name| name.parse()).transpose().map_err(|error| CliError::Unfit {
        code: "invalid_agent",
        problem: format!("`AOF_AGENT` names no agent: {error}"),
        fix: "name one with `--agent`".to_owned(),
    })
}

/// Works, shows it, and tells what came of it.
pub(crate) fn go(
    session: &Session,
    workspace: &Workspace,
    wish: &Wish,
    pace: Pace,
    how: &How,
) -> Result<ExitCode, CliError> {
    let project = RunnerSetup { network: how.away.network(), ..project(session, workspace)? };
    let stop = Arc::new(AtomicBool::new(false));
    signals::set_on_stop(&stop).map_err(|cause| CliError::Unfit {
        code: "signals",
        problem: format!("cannot listen for signals: {cause}"),
        fix: "try again".to_owned(),
    })?;
    let asking = if how.no_ask { Asking::Never } else { Asking::AtTerminal };
    let mut view = View::of(session, workspace, wish, asking, &stop)?;
    let account: Result<Account, _> =
        work(&project, wish, usize::from(how.jobs), pace, &stop, &mut view);
    view.close();
    let account = account?;
    Ok(Outcome::of(workspace, wish, &account)?.show(session))
}

pub(crate) fn project(session: &Session, workspace: &Workspace) -> Result<RunnerSetup, CliError> {
    let aof: PathBuf = std::env::current_exe()
        .map_err(|cause| CliError::Input { name: "the program itself".to_owned(), cause })?;
    Ok(RunnerSetup {
        root: workspace.paths.root().to_owned(),
        checkout: workspace.checkout.clone(),
        network: workspace.network,
        command: workspace.command.clone(),
        clock: now,
        wait: session.wait,
        aof,
    })
}
