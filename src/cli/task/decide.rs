//! `aof decide`

use std::process::ExitCode;

use serde_json::{Value, json};

use super::approval::{PersonAnswer, ask_here, blank};
use super::complete::report;
use crate::cli::{
    ActingAgent, CliResult, DryRunOption, Session, SignWith, between, bold, cyan, now,
};
use crate::domain::Outcome;
use crate::files::printable::one_line;
use crate::project::issue::left_out_warning;
use crate::project::workspace::acting_agent;
use crate::tasks::headers::listing::{ListScope, read_all};
use crate::tasks::headers::waiting::{WaitingDecision, waiting_for};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
At a terminal, it shows one after the other, the oldest first, and asks: yes, no with what to fix, show the diff, or later. \
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
    let (mut left, mut code) = (0, ExitCode::SUCCESS);
    for (at, wait) in waiting.iter().enumerate() {
        let mut workspace = session.workspace("decide")?;
        let in_force = workspace.rules()?;
        let completion = blank(wait.ticket.clone(), person.clone())?;
        let mode = args.dry_run_option.mode();
        match ask_here(session, &mut workspace, &completion, args.signing.signing(), mode) {
            Ok(PersonAnswer::Completed(changed)) => {
                report(session, (&workspace, &in_force), &wait.ticket, &changed, mode);
            }
            Ok(PersonAnswer::Later) => left += 1,
            // Another person was faster.
            Ok(PersonAnswer::NotAsked) => {}
            Ok(PersonAnswer::Ended) => {
                left += waiting.len() - at;
                break;
            }
            Err(error) => code = session.fail(&error),
        }
    }
    output.say(match left {
        0 => "nothing more waits for you".to_owned(),
        1 => "1 decision is left for later".to_owned(),
        left => format!("{left} decisions are left for later"),
    });
    session.warn_all(left_out_warning(&workspace).as_slice());
    Ok(code)
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
