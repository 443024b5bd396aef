//! `aof trust`: without trust in it, no program of the rules is started.

use std::process::ExitCode;

use serde_json::{Value, json};

use crate::cli::{CliError, CliResult, DryRunOption, Session, counted, green, red, yellow};
use crate::domain::{AgentId, Task, TypedTask};
use crate::files::printable::inert;
use crate::project::active_rules::InForce;
use crate::project::task_worktrees::TaskWorktrees;
use crate::project::trust::{ProgramKind, RuleProgram, RulePrograms, TrustState, agent_place};
use crate::project::workspace::Workspace;
use crate::system::terminal::all_quoted;
use crate::tasks::plan::DryRun;
use crate::tasks::state::acceptance::test_programs;
use crate::tasks::view::task_view;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  aof trust             show what is new or changed, and ask
  aof trust AOF-7qk     the same for the commands in the tests of a task
  aof trust --dry-run   only show it
  aof trust --revoke    no longer trust anything here

Whoever can push can change what the rules run. So an agent's `run` and a `notify: {command: ...}` start nothing before you have \
seen and trusted them on this machine; what that covers is in docs/guarantees.md. Without a terminal, set AOF_TRUST to the hash \
that the refusal prints.")]
pub(crate) struct TrustArgs {
    /// The task whose tests run commands, in place of the rules
    #[arg(value_name = "ID")]
    task: Option<TypedTask>,
    /// No longer trust anything in this repository
    #[arg(long)]
    revoke: bool,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run_trust(session: &Session, args: &TrustArgs) -> CliResult {
    let workspace = session.workspace_in_background("trust")?;
    let in_force = session.rules(&workspace)?;
    let programs = match &args.task {
        Some(id) => {
            let (view, _) = task_view::show(&workspace, &session.ticket(&workspace, id)?.task)?;
            if in_force.rules.has_worktrees() && !args.revoke {
                let mode = args.dry_run_option.mode();
                trust_changes(session, &workspace, &in_force, &view.file.task, mode)?;
            }
            test_programs(&workspace, &in_force, &view.path, &view.file)?
        }
        None => RulePrograms::read(&workspace, &in_force.rules),
    };
    let state = programs.state()?;
    let is_dry = args.dry_run_option.mode() == DryRun::Yes;
    let (output, new) = (session.output, state.untrusted());
    if args.revoke {
        if !is_dry {
            programs.revoke()?;
        }
        let count = state.recorded.len();
        output.show(
            || json!({"revoked": count}),
            || format!("trusts {} less\n", counted(count, "program")),
        );
        return Ok(ExitCode::SUCCESS);
    }
    if !output.is_json() {
        output.print(&trust_page(&state));
    }
    let mut trusted = new.is_empty();
    if !is_dry && !trusted && !output.is_json() && Session::at_terminal() {
        trusted = session.confirm("Trust these programs? [y/N] ")?;
        if !trusted {
            output.say("nothing is trusted that was not before");
            return Ok(ExitCode::FAILURE);
        }
    }
    if !is_dry && trusted && state.recorded != state.programs {
        programs.record(state.programs.clone())?;
    }
    let refusal = new.first().filter(|_| !is_dry && !trusted).map(|program| state.refusal(program));
    if !output.is_json() {
        return refusal.map_or(Ok(ExitCode::SUCCESS), |refusal| Err(refusal.into()));
    }
    let mut value = trust_value(&state);
    let error = refusal.map(CliError::from);
    if let Some(error) = &error {
        value["error"] = json!("program_untrusted");
        value["message"] = json!(error.problem());
    }
    output.data(value);
    Ok(error.map_or(ExitCode::SUCCESS, |error| ExitCode::from(error.exit_code())))
}

/// Shows the changes that the work at a task made to files of programs, and asks whether these may run.
fn trust_changes(
    session: &Session,
    workspace: &Workspace,
    in_force: &InForce,
    task: &Task,
    mode: DryRun,
) -> CliResult<()> {
    let worktrees = TaskWorktrees::of(workspace, &in_force.rules)?;
    let programs = RulePrograms::read(workspace, &in_force.rules);
    let Some(changed) = worktrees.unseen_changes(task, &programs)? else { return Ok(()) };
    if !session.output.is_json() {
        session.output.print(&inert(&changed.diff));
    }
    let is_asked = !session.output.is_json() && Session::at_terminal();
    if mode == DryRun::Yes {
        return Ok(());
    }
    let is_trusted = changed.is_named_by_variable()
        || is_asked && session.confirm("Programs run these files as changed. Let them? [y/N] ")?;
    if !is_trusted {
        return Err(changed.refusal(&task.id).into());
    }
    Ok(worktrees.note_seen(task, changed)?)
}

/// Asks at a terminal for trust in the programs that these agents need, or all agents; fails elsewhere.
pub(crate) fn require_trust(
    session: &Session,
    workspace: &Workspace,
    in_force: &InForce,
    agents: Option<&[AgentId]>,
    no_ask: bool,
) -> CliResult<()> {
    let programs = RulePrograms::read(workspace, &in_force.rules);
    let state = programs.state()?;
    let is_wanted = |program: &&&RuleProgram| {
        let of = |agent: &AgentId| program.place == agent_place(agent);
        program.kind == ProgramKind::Agent && agents.is_none_or(|agents| agents.iter().any(of))
    };
    let untrusted = state.untrusted();
    let Some(first) = untrusted.iter().find(is_wanted) else { return Ok(()) };
    if no_ask || session.output.is_json() || !Session::at_terminal() {
        return Err(state.refusal(first).into());
    }
    session.output.say(trust_page(&state).trim_end());
    if !session.confirm("The rules run these programs. Trust them? [y/N] ")? {
        return Err(state.refusal(first).into());
    }
    Ok(programs.record(state.programs.clone())?)
}

/// Shows each program, and what changed since it was trusted.
fn trust_page(state: &TrustState) -> String {
    if state.programs.is_empty() {
        let whose = state.task.as_ref().map(|task| format!("the tests of {task}"));
        return format!("{} run no programs\n", whose.as_deref().unwrap_or("the rules"));
    }
    let untrusted = state.untrusted();
    let mut text = String::new();
    for program in &state.programs {
        let before = state.trusted_before(program).filter(|_| untrusted.contains(&program));
        let label = match (untrusted.contains(&program), before) {
            (false, _) => green("trusted"),
            (true, Some(_)) => yellow("changed"),
            (true, None) => yellow("new"),
        };
        text += &format!("{label}  {}\n", inert(&program.place));
        let lines = |program: &RuleProgram| -> Vec<String> {
            let words = program.command.iter().map(|word| inert(word)).collect::<Vec<_>>();
            let set = program.environment.iter().map(|(name, value)| format!("{name}={value}"));
            let files = program.files.iter().map(|(name, blob)| format!("file {name} ({blob})"));
            let line = all_quoted(words.iter().map(String::as_str));
            std::iter::once(line).chain(set.chain(files).map(|line| inert(&line))).collect()
        };
        let now = lines(program);
        let old = before.map_or_else(|| now.clone(), lines);
        for line in old.iter().filter(|line| !now.contains(line)) {
            text.push_str(&red(format!("  - {line}\n")));
        }
        for line in &now {
            let sign = if old.contains(line) { ' ' } else { '+' };
            text += &format!("  {sign} {line}\n");
        }
    }
    text
}

fn trust_value(state: &TrustState) -> Value {
    let untrusted = state.untrusted();
    let programs = state.programs.iter().map(|program| {
        let mut value = json!(program);
        value["trusted"] = json!(!untrusted.contains(&program));
        value["trustedBefore"] = json!(state.trusted_before(program));
        value
    });
    json!({"trusted": untrusted.is_empty(), "hash": state.hash(), "programs": programs.collect::<Vec<_>>()})
}
