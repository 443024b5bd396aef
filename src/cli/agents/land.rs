//! `aof land`: brings the work at a task onto a branch, and completes the visit.

use std::process::ExitCode;
use std::sync::Arc;

use crate::cli::task::approval::{blank, outcomes_here};
use crate::cli::task::complete::report;
use crate::cli::{
    ActingAgent, CliError, CliResult, DryRunOption, Session, SignWith, counted, current_run,
    current_session,
};
use crate::dispatch::landing::{LandingEnd, LandingOrder, land, settle};
use crate::dispatch::workspaces::tidy;
use crate::domain::{BranchName, Completion, Outcome, Ticket, TypedTask, approving, rejecting};
use crate::files::printable::inert;
use crate::git::JoinStyle;
use crate::project::workspace::Workspace;
use crate::system::terminal::{is_stopped, set_on_stop};
use crate::tasks::complete::{complete, complete_signed, note_run, note_session};
use crate::tasks::plan::DryRun;
use crate::tasks::view::task_view::show;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The work is the task's branch, as in `aof-work/AOF-7qk`. It is joined with the target in a worktree of its own, the checks run on \
that very tree, and only then the target moves: at its remote first, if it has one. The visit is completed by that.

A conflict or a failed check sends the visit back, with the files or the end of the output; nothing has moved then, and the exit \
status is 1, but 0 where `aof run` started it. If the remote's rules refuse the push, nothing has moved either, and the exit status is 4.

Examples:
  aof land AOF-7qk --check 'cargo test'
  aof land AOF-7qk --squash --onto main
  aof land AOF-7qk --check 'cargo test' --dry-run     join and check, and move nothing

As the agent of a gate:
  run: {command: [aof, land, \"{ticket}\", --check, make test]}")]
pub(crate) struct LandArgs {
    /// The task, or one visit of it
    #[arg(value_name = "ID")]
    task: TypedTask,
    /// The branch that it lands on; by default the one that the work began at
    #[arg(long, value_name = "BRANCH")]
    onto: Option<BranchName>,
    /// A command that must succeed on the joined tree; once for each
    #[arg(long = "check", value_name = "COMMAND", allow_hyphen_values = true)]
    checks: Vec<String>,
    /// Join with a merge commit; this is the default
    #[arg(long, group = "style")]
    merge: bool,
    /// Join with one commit that has all changes
    #[arg(long, group = "style")]
    squash: bool,
    /// Put each commit of the work on the target again
    #[arg(long, group = "style")]
    rebase: bool,
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    signing: SignWith,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

impl LandArgs {
    fn style(&self) -> JoinStyle {
        match (self.squash, self.rebase) {
            (true, _) => JoinStyle::Squash,
            (_, true) => JoinStyle::Rebase,
            _ => JoinStyle::Merge,
        }
    }
}

pub(crate) fn run_land(session: &Session, args: &LandArgs) -> CliResult {
    let (workspace, in_force) = session.open("land")?;
    let given = session.ticket(&workspace, &args.task)?;
    let agent = session.agent(&workspace, &in_force, args.who.agent.as_ref())?;
    let ticket = open_visit(&workspace, &given)?;
    let mut completion = blank(ticket.clone(), agent.clone())?;
    note_session(&mut completion, current_session().as_deref());
    if let Some((_, run)) = current_run().filter(|(at, _)| at.task == ticket.task) {
        note_run(&workspace.paths, &mut completion, &run);
    }
    let mode = args.dry_run_option.mode();
    let outcomes = outcomes_here(&workspace, &in_force.rules, &completion);
    let done = approving(&outcomes).unwrap_or(&Outcome::Complete);
    say(&mut completion, done, "to be landed".to_owned(), Vec::new());
    // Whoever may not complete the visit must not land its work.
    complete(&workspace, &completion, DryRun::Yes)?;
    set_on_stop(&Arc::default()).map_err(|cause| CliError::input("signals", &cause))?;
    let order = LandingOrder {
        ticket: &ticket,
        agent: &agent,
        onto: args.onto.as_ref(),
        checks: &args.checks,
        style: args.style(),
        is_dry: mode == DryRun::Yes,
        printed: &mut |bytes| session.output.say(inert(String::from_utf8_lossy(bytes).trim_end())),
        is_stopped: &is_stopped,
    };
    let end = land(&workspace, order)?;
    let mut code = ExitCode::SUCCESS;
    match end {
        LandingEnd::Landed { landing, work } => {
            let checks = match landing.checks.len() {
                0 => String::new(),
                count => format!(", after {}", counted(count, "check")),
            };
            let short = &landing.commit.as_str()[..7];
            let onto = &landing.onto;
            let summary = match mode {
                DryRun::No => format!("Landed on `{onto}` as {short}{checks}"),
                DryRun::Yes => format!("Can land on `{onto}`{checks}"),
            };
            say(&mut completion, done, summary, Vec::new());
            (completion.facts.landed, completion.facts.work) =
                (Some(Box::new(landing)), Some(Box::new(work)));
        }
        LandingEnd::Nothing { onto } => {
            let summary = format!("`{onto}` has all of the work, so nothing was landed");
            say(&mut completion, done, summary, Vec::new());
        }
        LandingEnd::SentBack { summary, blockers } => {
            let back = rejecting(&outcomes).unwrap_or(&Outcome::Blocked);
            say(&mut completion, back, summary, blockers);
            // For a runner, a visit that was completed is done, however it ends.
            code = if current_run().is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        }
    }
    let workspace = workspace.reopened_with_full_wait()?;
    let changed = complete_signed(&workspace, &completion, args.signing.signing(), mode);
    if changed.is_err() && completion.facts.landed.is_some() && mode == DryRun::No {
        let summary = completion.content.summary.as_deref().unwrap_or_default();
        session.output.say(format!("{summary}; but the visit is not completed: run this again"));
    }
    let changed = changed?;
    if mode == DryRun::No {
        settle(&workspace, &ticket)?;
    }
    if !session.output.is_json() {
        session.output.line(inert(completion.content.summary.as_deref().unwrap_or_default()));
        for blocker in completion.content.blockers.iter().flatten() {
            session.output.line(format!("- {}", inert(blocker)));
        }
    }
    let value = report(session, (&workspace, &in_force), &given, &changed, mode);
    if session.output.is_json() {
        session.output.data(value);
    }
    // A program that works in the worktree still has it; its runner removes it then.
    if mode == DryRun::No {
        tidy(&workspace, &ticket.task)?;
    }
    Ok(code)
}

/// Returns the ticket of the visit that is open now, unless another one is named.
fn open_visit(workspace: &Workspace, given: &Ticket) -> CliResult<Ticket> {
    if given.visit.is_some() {
        return Ok(given.clone());
    }
    let (view, _) = show(workspace, &given.task)?;
    Ok(view.file.task.ticket_of(given.branch.as_ref()))
}

fn say(completion: &mut Completion, outcome: &Outcome, summary: String, blockers: Vec<String>) {
    completion.content.outcome = Some(outcome.to_string());
    completion.content.summary = Some(summary);
    completion.content.blockers = (!blockers.is_empty()).then_some(blockers);
}
