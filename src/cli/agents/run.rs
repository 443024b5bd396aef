//! `aof run`, its `--dry-run`, and `aof runner doctor`.

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::Subcommand;
use serde_json::{Value, json};

use super::report;
use super::report::{RunView, WAITS, waits_line, waits_value};
use super::trust::require_trust;
use crate::agents::runner::{
    Checkup, Depth, Pace, Preview, RunTarget, RunnerSetup, WaitingWork, checkups, preview, work,
};
use crate::cli::observability::deliver_due_notices;
use crate::cli::{
    AGENT, CliError, CliResult, OfflineOption, Session, bold, cyan, dim, green, now, red,
};
use crate::domain::{AgentId, RoleId, TypedTask, listed};
use crate::files::printable::{inert, one_line};
use crate::observability::notices::compose::write_notices;
use crate::project::active_rules::InForce;
use crate::project::error::ProjectError;
use crate::project::rule_lookup::check_agent;
use crate::project::workspace::Workspace;
use crate::storage::Hint;
use crate::storage::header_cache::Pauses;
use crate::storage::lock::{Presence, Service};
use crate::system::terminal;
use crate::system::terminal::all_quoted;
use crate::tasks::view::task_view;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof run --agent coder                 everything that there is for `coder`, one task after the other
  aof run --agent coder --agent tester --jobs 2
  aof run --task AOF-7qk                go on with one task, with the agents that its gates need
  aof run --agent coder --dry-run       see the command and the prompt
  aof run --all --follow                go on with what comes, for all agents of this machine

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
    task: Option<TypedTask>,
    /// Stop after one visit
    #[arg(long, visible_alias = "step")]
    once: bool,
    /// Go on until it is stopped: with work that comes later, and with gates whose programs look again
    #[arg(long, conflicts_with_all = ["once", "task", "dry_run"])]
    follow: bool,
    #[command(flatten)]
    how: RunOptions,
}

// The options for running agents.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RunOptions {
    /// How many agents work at the same time
    #[arg(short, long, value_name = "N", default_value = "1", value_parser = clap::value_parser!(u16).range(1..=64))]
    jobs: u16,
    /// End the pauses of programs at their usage limits
    #[arg(long)]
    now: bool,
    /// Never ask at the terminal: work for people waits
    #[arg(long)]
    pub no_ask: bool,
    #[command(flatten)]
    offline_option: OfflineOption,
    /// Show the commands and the prompts, and start nothing
    #[arg(long)]
    pub dry_run: bool,
}

pub(crate) fn run(session: &Session, args: &RunArgs) -> CliResult {
    ended(session, &args.how, start(session, args))
}

/// Ends a stream of JSON with a line that reports its end, even after an error.
pub(crate) fn ended(session: &Session, how: &RunOptions, outcome: CliResult) -> CliResult {
    match outcome.map_err(waiting_for_trust) {
        Err(error) if session.output.is_json() && !how.dry_run => Ok(session.fail_stream(&error)),
        outcome => outcome,
    }
}

/// Returns an error, for an untrusted program with the exit code of work that waits.
fn waiting_for_trust(error: CliError) -> CliError {
    match error.operation_error().map(ProjectError::code) {
        Some(code @ "program_untrusted") => {
            let (problem, fix) = (error.problem(), error.fix());
            CliError::Command { code, problem, fix, exit_code: WAITS }
        }
        _ => error,
    }
}

fn start(session: &Session, args: &RunArgs) -> CliResult {
    let workspace = session.workspace_in_background("run")?;
    let in_force = session.rules(&workspace)?;
    session.warn_of_code(&workspace, &in_force)?;
    let target = match &args.task {
        Some(task) => {
            let task = session.ticket(&workspace, task)?.task;
            task_view::show(&workspace, &task)?;
            RunTarget::Task(task)
        }
        None => RunTarget::Agents {
            agents: agents(session, &workspace, &in_force, args)?,
            role: args.role.clone(),
        },
    };
    if args.how.dry_run {
        return show_next(session, &workspace, &target);
    }
    let wanted = match &target {
        RunTarget::Agents { agents, .. } => Some(agents.as_slice()),
        RunTarget::Task(_) => None,
    };
    require_trust(session, &workspace, &in_force, wanted, args.how.no_ask)?;
    if args.follow && in_force.rules.has_worktrees() {
        require_base(&in_force)?;
    }
    let pace = match (args.once, args.follow) {
        (true, _) => Pace::OneVisit,
        (false, true) => Pace::Following,
        (false, false) => Pace::Through,
    };
    // Another runner that follows may work for other agents.
    let _presence =
        if args.follow { Presence::attempt(&workspace.paths, Service::Runner)? } else { None };
    run_and_report(session, &workspace, &target, pace, &args.how)
}

/// Fails if the rules name no branch that work begins at: while a runner follows, others may be checked out.
fn require_base(in_force: &InForce) -> CliResult<()> {
    if in_force.rules.project.workspaces.base.is_some() {
        return Ok(());
    }
    let problem = "with `--follow`, the branch that work begins at must be named: another may be checked out later";
    let fix = "name it in project.yaml: `workspaces: {base: main}`";
    Err(CliError::refused("workspace_base_missing", problem, fix))
}

/// Returns the agents to start. Fails if one of them cannot be started.
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
        let problem = "org.yaml says for no agent how to start it";
        return Err(CliError::refused("not_startable", problem, HOW_TO_START));
    }
    for agent in &wanted {
        check_agent(&in_force.rules, agent, args.role.as_ref())?;
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

/// Returns the agent of `AOF_AGENT`. Unlike `--agent`, it conflicts with no other option.
fn agent_of_shell() -> CliResult<Option<AgentId>> {
    let name = std::env::var(AGENT).ok().filter(|name| !name.is_empty());
    name.map(|name| name.parse()).transpose().map_err(|error| {
        let problem = format!("`{AGENT}` names no agent: {error}");
        CliError::refused("invalid_agent", problem, "name one with `--agent`")
    })
}

/// Runs agents, shows them at work, and shows the result.
pub(crate) fn run_and_report(
    session: &Session,
    workspace: &Workspace,
    target: &RunTarget,
    pace: Pace,
    how: &RunOptions,
) -> CliResult {
    let setup =
        RunnerSetup { network: how.offline_option.network(), ..runner_setup(session, workspace)? };
    if how.now {
        Pauses::default().save(&workspace.paths)?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    terminal::set_on_stop(&stop).map_err(|cause| {
        CliError::refused("signals", format!("cannot listen for signals: {cause}"), "try again")
    })?;
    // Notices are about all later events, even if none were ever written before.
    write_notices(workspace)?;
    let mut view = RunView::new(session, workspace, !how.no_ask, &stop)?;
    let result = work(&setup, target, usize::from(how.jobs), pace, &stop, &mut view);
    drop(view);
    deliver_due_notices(session, workspace)?;
    report::show(session, workspace, target, &result?)
}

/// Shows the programs that a runner would start next.
pub(crate) fn show_next(session: &Session, workspace: &Workspace, target: &RunTarget) -> CliResult {
    let (previews, waits) = preview(&runner_setup(session, workspace)?, target)?;
    show_previews(session, &previews, &waits);
    if !session.output.is_json() && previews.is_empty() && waits.is_empty() {
        session.output.line("nothing would be started");
    }
    Ok(ExitCode::SUCCESS)
}

/// Shows each command with its prompt, and the work that waits.
pub(crate) fn show_previews(session: &Session, previews: &[Preview], waits: &[WaitingWork]) {
    let output = session.output;
    if output.is_json() {
        let runs: Vec<Value> = previews.iter().map(preview_value).collect();
        let waits: Vec<Value> = waits.iter().map(waits_value).collect();
        output.data(json!({"dryRun": true, "runs": runs, "waits": waits}));
        return;
    }
    for preview in previews {
        let Preview { ticket, station, agent, bounds, prompt_by, .. } = preview;
        output.line(bold(format!("{} {station} by {agent}", cyan(ticket))));
        let words: Vec<String> = preview.words.iter().map(|word| inert(word)).collect();
        output.line(format!("  {}", all_quoted(words.iter().map(String::as_str))));
        output.line(dim(format!("  environment: {}", preview.environment.join(" "))));
        let (seconds, attempts) = (bounds.timeout.seconds(), bounds.attempts);
        output.line(dim(format!(
            "  at most {seconds} s an attempt, {attempts} attempts; the prompt comes {prompt_by}"
        )));
        output.line("");
        for line in inert(&preview.prompt).lines() {
            output.line(format!("  {} {line}", dim("|")));
        }
        output.line("");
    }
    for waits in waits {
        output.line(waits_line(waits));
    }
}

fn preview_value(preview: &Preview) -> Value {
    json!({
        "ticket": preview.ticket,
        "gate": preview.station,
        "agent": preview.agent,
        "command": preview.words,
        "environment": preview.environment,
        "prompt": preview.prompt,
        "promptBy": preview.prompt_by,
        "timeoutSeconds": preview.bounds.timeout.seconds(),
        "idleSeconds": preview.bounds.idle.seconds(),
        "attempts": preview.bounds.attempts,
        "model": preview.bounds.model,
    })
}

/// The hint how to configure the start of an agent.
pub(crate) const HOW_TO_START: &str = "say it in org.yaml, as in `agents: {coder: {run: {preset: claude}}}`; see docs/guides/running.md";

#[derive(Debug, Subcommand)]
#[command(defer = true)]
pub(crate) enum RunnerCommand {
    /// Check that the agents with `run` in org.yaml can be started, and answer
    Doctor(RunnerDoctorArgs),
}

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof runner doctor               check that each program is there, and what it needs
  aof runner doctor --ask coder   start `coder` and wait for an answer

`--ask` starts the programs for real: a model may cost something, and a `command` of your own does whatever it does.")]
pub(crate) struct RunnerDoctorArgs {
    /// Only these
    #[arg(value_name = "AGENT")]
    agents: Vec<AgentId>,
    /// Start each, and wait for an answer
    #[arg(long)]
    ask: bool,
}

pub(crate) fn run_runner(session: &Session, command: &RunnerCommand) -> CliResult {
    let RunnerCommand::Doctor(args) = command;
    let workspace = session.workspace_in_background("runner doctor")?;
    let in_force = session.rules(&workspace)?;
    if args.ask {
        let wanted = Some(args.agents.as_slice()).filter(|named| !named.is_empty());
        require_trust(session, &workspace, &in_force, wanted, false)?;
    }
    let depth = if args.ask { Depth::Answer } else { Depth::Start };
    let found = checkups(&runner_setup(session, &workspace)?, &args.agents, depth)?;
    let is_unknown = |agent: &&AgentId| found.iter().all(|checkup| checkup.agent != **agent);
    let unknown: Vec<&AgentId> = args.agents.iter().filter(is_unknown).collect();
    if !unknown.is_empty() || found.is_empty() {
        let problem = match unknown.as_slice() {
            [] => "org.yaml says for no agent how to start it".to_owned(),
            unknown => format!("org.yaml does not say how {} is started", listed(unknown)),
        };
        return Err(CliError::refused("not_startable", problem, HOW_TO_START));
    }
    let well = found.iter().all(Checkup::is_well);
    if session.output.is_json() {
        let agents: Vec<Value> = found.iter().map(runner_value).collect();
        session.output.data(json!({"ok": well, "agents": agents}));
    } else {
        for checkup in &found {
            session.output.line(runner_text(checkup));
        }
    }
    Ok(if well { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns the setup of a runner for this project.
pub(crate) fn runner_setup(session: &Session, workspace: &Workspace) -> CliResult<RunnerSetup> {
    Ok(RunnerSetup {
        root: workspace.paths.root().to_owned(),
        checkout: workspace.checkout.clone(),
        network: workspace.network,
        command: workspace.command.clone(),
        clock: now,
        wait: session.wait,
        aof: std::env::current_exe()
            .map_err(|cause| CliError::input("the program itself", &cause))?,
    })
}

fn runner_text(checkup: &Checkup) -> String {
    let sign = if checkup.is_well() { green("ok") } else { red("no") };
    let roles = match &checkup.roles[..] {
        [] => "in no role".to_owned(),
        roles => listed(roles),
    };
    let mut lines = vec![format!("{sign}  {} ({}), {roles}", cyan(&checkup.agent), checkup.preset)];
    lines.push(match &checkup.program {
        Ok(path) => {
            let version = checkup.version.as_ref().map(|text| format!(", {}", one_line(text)));
            let path = one_line(&path.to_string_lossy());
            dim(format!("    {path}{}", version.unwrap_or_default()))
        }
        Err(why) => format!("    {}", one_line(why)),
    });
    for name in &checkup.missing {
        lines.push(format!("    `{name}` is not set: set it where `aof run` is started"));
    }
    match &checkup.answer {
        Some(Ok(answer)) => lines.push(format!("    it answers: {}", one_line(answer))),
        Some(Err(why)) => lines.push(format!("    {}", one_line(why))),
        None => {}
    }
    lines.join("\n")
}

fn runner_value(checkup: &Checkup) -> Value {
    let answer = checkup.answer.as_ref();
    json!({
        "agent": checkup.agent,
        "ok": checkup.is_well(),
        "preset": checkup.preset.as_str(),
        "roles": checkup.roles,
        "program": checkup.program.as_ref().ok().map(|path| path.to_string_lossy()),
        "problem": checkup.program.as_ref().err(),
        "version": checkup.version,
        "missing": checkup.missing,
        "answer": answer.and_then(|answer| answer.as_ref().ok()),
        "answerProblem": answer.and_then(|answer| answer.as_ref().err()),
    })
}
