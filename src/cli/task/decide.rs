//! `aof decide`

use std::collections::VecDeque;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::approval::{PersonAnswer, ask_here, blank};
use super::complete::report;
use crate::cli::render::prompt_keys::PromptKey;
use crate::cli::{
    ActingAgent, CliResult, DryRunOption, Session, SignWith, between, bold, cyan, dim, now,
};
use crate::domain::{Ending, Outcome, Ticket};
use crate::files::printable::one_line;
use crate::operations::arguments::Arguments;
use crate::operations::table::UNDO;
use crate::operations::{Call, CallFault};
use crate::project::issue::left_out_warning;
use crate::project::workspace::acting_agent;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::waiting::{WaitingDecision, waiting_for};
use crate::tasks::plan::Changed;
use crate::tasks::view::task_view::ended_visits;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
At a terminal, it shows one after the other, the most urgent first, and takes one key for each: `?` explains them. \
Elsewhere, and with --json, it lists them.")]
pub(crate) struct DecideArgs {
    #[command(flatten)]
    who: ActingAgent,
    #[command(flatten)]
    signing: SignWith,
    #[command(flatten)]
    dry_run_option: DryRunOption,
}

pub(crate) fn run(session: &Session, args: &DecideArgs) -> CliResult {
    let (workspace, in_force) = session.open("decide")?;
    let org = &in_force.rules.org;
    let person = acting_agent(&workspace, org, args.who.agent.as_ref(), true)?;
    let listing = read_all(&workspace, &in_force, ListScope::Active);
    let waiting = waiting_for(&workspace, &in_force, &listing, &person);
    let output = session.output;
    if output.is_json() || !Session::at_terminal() {
        let value = || json!({"waiting": waiting.iter().map(waiting_value).collect::<Vec<_>>()});
        output.show(value, || lines(&waiting));
        session.warn_all(left_out_warning(&workspace).as_slice());
        return Ok(ExitCode::SUCCESS);
    }
    let mode = args.dry_run_option.mode();
    let all = waiting.len();
    let mut counts = DecisionCounts::default();
    let mut code = ExitCode::SUCCESS;
    let mut last: Option<Ticket> = None;
    let mut open: VecDeque<Ticket> = waiting.into_iter().map(|wait| wait.ticket).collect();
    while let Some(ticket) = open.pop_front() {
        let mut workspace = session.workspace("decide")?;
        let in_force = workspace.rules()?;
        output.say(dim(format!("\n{} of {all}", (all - open.len()).max(1))));
        let completion = blank(ticket.clone(), person.clone())?;
        let signing = args.signing.signing();
        let extras = [PromptKey::Comment, PromptKey::Undo];
        let extras = if last.is_some() { &extras[..] } else { &extras[..1] };
        match ask_here(session, &mut workspace, &completion, signing, mode, extras) {
            Ok(PersonAnswer::Completed(changed)) => {
                report(session, (&workspace, &in_force), &ticket, &changed, mode);
                output.say(dim("z takes it back"));
                counts.count(&changed);
                last = Some(ticket);
            }
            Ok(PersonAnswer::Later) => counts.skipped += 1,
            Ok(PersonAnswer::Undo) => {
                open.push_front(ticket);
                let Some(undone) = last.take() else {
                    output.say("nothing to take back");
                    continue;
                };
                let nothing = Arguments::default();
                let by = Some(&person);
                let call = Call {
                    workspace: &workspace,
                    in_force: &in_force,
                    by,
                    given: &nothing,
                    signing: None,
                    dry_run: mode,
                };
                let task = Ticket { task: undone.task.clone(), visit: None, branch: undone.branch };
                match UNDO.run(&call, Some(&task)).map_err(CallFault::into_error) {
                    Ok(done) => {
                        output.say(format!("{}: {}", undone.task, done.sentence));
                        counts.take_back();
                        // The step is a visit of its own, so the visit that waits now has another number.
                        open.push_front(task.clone());
                    }
                    Err(error) => code = session.fail(&error.into()),
                }
            }
            // Another person was faster.
            Ok(PersonAnswer::NotAsked) => {}
            Ok(PersonAnswer::Ended) => {
                counts.skipped += open.len() + 1;
                break;
            }
            Err(error) => code = session.fail(&error),
        }
    }
    output.say(counts.sentence());
    session.warn_all(left_out_warning(&workspace).as_slice());
    Ok(code)
}

/// The number of decisions of each kind.
#[derive(Default)]
struct DecisionCounts {
    approved: usize,
    sent_back: usize,
    others: usize,
    skipped: usize,
    last: Option<usize>,
}

impl DecisionCounts {
    fn count(&mut self, changed: &Changed) {
        let outcome = ended_visits(changed).first().map(|visit| &visit.outcome);
        let kind = match outcome {
            Some(Ending::Completed(Outcome::Complete)) => 0,
            Some(Ending::Completed(Outcome::NeedsReview)) => 1,
            _ => 2,
        };
        *self.of(kind) += 1;
        self.last = Some(kind);
    }

    fn take_back(&mut self) {
        if let Some(kind) = self.last.take() {
            *self.of(kind) -= 1;
        }
    }

    fn of(&mut self, kind: usize) -> &mut usize {
        match kind {
            0 => &mut self.approved,
            1 => &mut self.sent_back,
            _ => &mut self.others,
        }
    }

    fn sentence(&self) -> String {
        let Self { approved, sent_back, others, skipped, last: _ } = self;
        let counts = [
            (approved, "approved"),
            (sent_back, "sent back"),
            (others, "decided"),
            (skipped, "skipped"),
        ];
        let parts = counts.into_iter().filter(|(count, _)| **count > 0);
        let parts: Vec<String> = parts.map(|(count, word)| format!("{count} {word}")).collect();
        if parts.is_empty() { "nothing waits for you".to_owned() } else { parts.join(", ") }
    }
}

fn waiting_value(wait: &WaitingDecision) -> Value {
    json!({
        "task": wait.ticket.task,
        "ticket": wait.ticket,
        "title": wait.title,
        "gate": wait.gate.to_string(),
        "role": wait.role,
        "since": wait.since.to_string(),
        "outcomes": wait.outcomes.iter().map(Outcome::as_str).collect::<Vec<_>>(),
        "points": wait.points,
    })
}

fn lines(waiting: &[WaitingDecision]) -> String {
    if waiting.is_empty() {
        return "nothing waits for you\n".to_owned();
    }
    let line = |wait: &WaitingDecision| {
        let age = between(wait.since, now());
        let (ticket, title) = (cyan(&wait.ticket), bold(one_line(&wait.title)));
        let outcomes: Vec<&str> = wait.outcomes.iter().map(Outcome::as_str).collect();
        let points = wait.points.iter().map(|point| format!("  - {}\n", one_line(point)));
        let points: String = points.collect();
        format!(
            "{ticket}  {title}\n  at {} for {age}: {}\n{points}",
            wait.gate,
            outcomes.join(", ")
        )
    };
    waiting.iter().map(line).collect()
}
