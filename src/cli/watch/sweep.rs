//! `aof sweep`

use std::fmt::Display;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::render::changes::{
    dependent, dependent_value, followed, given_value, lapsed, time_limit_value, timed_out,
};
use crate::cli::render::findings;
use crate::cli::{Away, CliResult, Rehearsal, Session, between, cyan, now};
use crate::dispatch::sweep::{Swept, sweep};
use crate::files::printable::inert;
use crate::history::sync::outcome::Loss;
use crate::observability::events::catch_up::catch_up_events;
use crate::observability::notices::delivery::{Tried, deliver_notices};
use crate::project::error::reason_of;
use crate::tasks::plan::{Changed, DryRun};

/// How long the delivery of notices may take.
const NOTICES: Duration = Duration::from_mins(1);

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks follow the rules in force. Visits that took too long are escalated, claims that nobody
renewed end, and tasks are blocked or go on with their dependencies. Work is handed out where
project.yaml has `handOut`, notices are delivered, and the event stream is kept up to date.

`aof watch` does the same by itself, when it is due. Where no watcher runs, use cron:
  * * * * *  aof -C /path/to/project sweep

Any number of sweeps may run at once: everything happens once. In a synced project (`git.sync`)
what is handed out counts once the remote has it; without a network nothing is.")]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    away: Away,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &SweepArgs) -> CliResult {
    let mut workspace = session.workspace("sweep")?;
    workspace.network = args.away.network();
    let mode = args.rehearsal.mode();
    session.rules(&workspace)?;
    let swept = sweep(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data_of_act(value(&swept), mode);
    } else {
        show(session, &swept, mode);
    }
    for (task, error) in swept.troubled() {
        session.warn(&format!("{task}: {}", inert(&error.to_string())));
    }
    if let Some(error) = &swept.handed_out.unconfirmed {
        session.warn(&inert(&error.to_string()));
        if let Some(fix) = error.fix() {
            session.output.say(format!("  {}", inert(&session.git_said(fix))));
        }
    }
    if mode == DryRun::No {
        let rounds = deliver_notices(&workspace, Tried::Due, NOTICES)?;
        for trouble in rounds.into_iter().filter_map(|round| round.trouble) {
            session.warn(&format!("a notice could not be delivered: {}", inert(&trouble)));
        }
        if let Err(error) = catch_up_events(&workspace) {
            let error = inert(&error.to_string());
            session.warn(&format!("the event stream is not up to date: {error}"));
        }
    }
    let code = findings::tell_unreadable(session, &swept.ran_out.unreadable);
    let is_done = swept.troubled().next().is_none() && swept.is_confirmed();
    Ok(if is_done { code } else { ExitCode::FAILURE })
}

fn show(session: &Session, swept: &Swept, mode: DryRun) {
    let output = session.output;
    let remark = if mode == DryRun::Yes { " (dry run: nothing was written)" } else { "" };
    let line = |id: &dyn Display, text: &str| {
        output.line(format!("{}: {}{remark}", cyan(id), inert(text)));
    };
    let of = |changed: &Changed, text: String| line(&changed.after.task.id, &text);
    let Swept { settled, ran_out, handed_out, superseded } = swept;
    settled.changed.iter().for_each(|changed| of(changed, followed(changed)));
    ran_out.timed_out.iter().for_each(|changed| of(changed, timed_out(changed)));
    ran_out.lapsed.iter().for_each(|changed| of(changed, lapsed(changed)));
    handed_out.dependents.iter().for_each(|own| line(&own.task, &dependent(own)));
    for loss in superseded {
        let why = "superseded, because the remote had another one first";
        line(&loss.task, &format!("{why}: {}", loss.what));
    }
    for given in &handed_out.given {
        line(&given.ticket, &format!("given to {}", given.agent));
    }
    if swept.is_idle() && swept.is_confirmed() {
        output.line("nothing is due");
    }
    if handed_out.left > 0 {
        let places = match handed_out.left {
            1 => "1 place of work waits".to_owned(),
            left => format!("{left} places of work wait"),
        };
        output.line(format!("{places}: nobody has room there, or may claim it"));
    }
    if let Some(next) = ran_out.next {
        output.line(format!("the next is due in {}, at {next}", between(now(), next)));
    }
}

fn value(swept: &Swept) -> Value {
    let Swept { settled, ran_out, handed_out, superseded } = swept;
    let loss = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
    let timed_out = ran_out.timed_out.iter().map(|changed| time_limit_value("timeout", changed));
    let lapsed = ran_out.lapsed.iter().map(|changed| time_limit_value("lapsed", changed));
    let task =
        |changed: &Changed| json!({"task": changed.after.task.id, "change": followed(changed)});
    let troubled =
        swept.troubled().map(|(task, error)| json!({"task": task, "reason": reason_of(error)}));
    json!({
        "followed": settled.changed.iter().map(task).collect::<Vec<_>>(),
        "ranOut": timed_out.chain(lapsed).collect::<Vec<_>>(),
        "next": ran_out.next.map(|next| next.to_string()),
        "dependents": handed_out.dependents.iter().map(dependent_value).collect::<Vec<_>>(),
        "given": handed_out.given.iter().map(given_value).collect::<Vec<_>>(),
        "superseded": superseded.iter().map(loss).collect::<Vec<_>>(),
        "handsOut": handed_out.hands_out,
        "left": handed_out.left,
        "unconfirmed": handed_out.unconfirmed.as_ref().map(reason_of),
        "troubled": troubled.collect::<Vec<_>>(),
        "unreadable": findings::unreadable_values(&ran_out.unreadable),
    })
}
