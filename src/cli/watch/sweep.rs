//! `aof sweep`

use std::fmt::Display;
use std::ops::ControlFlow;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::input::arguments::{Away, Rehearsal};
use crate::cli::input::length::length;
use crate::cli::render::output::{CYAN, YELLOW, styled};
use crate::cli::render::{assignments, expired, unreadable_files};
use crate::cli::session::{Session, now};
use crate::cli::task::shown::followed;
use crate::dispatch::sweep::{Swept, sweep};
use crate::domain::Timestamp;
use crate::files::printable::inert;
use crate::history::sync::outcome::Loss;
use crate::observability::events::catch_up::catch_up_events;
use crate::observability::notices::delivery::{Tried, deliver_notices};
use crate::project::error::error::OpsError;
use crate::project::error::reason::reason_of;
use crate::project::workspace::Workspace;
use crate::tasks::apply::change::{Changed, DryRun};

/// How long notices may take.
const NOTICES: Duration = Duration::from_mins(1);

/// Do one round of what nobody has to ask for: new rules, time limits, handing out, notices
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Tasks follow the rules in force, visits that took too long go to whoever steps in, claims that
nobody renewed end, tasks are stopped and set going by those that they depend on, work is handed
out where project.yaml has `handOut`, notices are delivered, and the event stream is kept.

`aof watch` does the same by itself, at the moment it is due. Where no watcher runs, let cron do it:
  * * * * *  aof -C /path/to/project sweep

Any number of sweeps may run at once: everything happens once. In a synced project (`git.sync`)
what is handed out counts once the remote has it; without a network nothing is.")]
pub(crate) struct Args {
    #[command(flatten)]
    away: Away,
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let mut workspace = session.workspace("sweep")?;
    workspace.network = args.away.network();
    let mode = args.rehearsal.mode();
    session.rules(&workspace)?;
    let swept = sweep(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data(value(&swept, mode));
    } else {
        show(session, &swept, mode);
    }
    for (task, error) in swept.troubled() {
        session.output.say(format!(
            "{} {}: {}",
            styled(YELLOW, "warning:"),
            task,
            inert(&error.to_string())
        ));
    }
    if let Some(error) = &swept.handed_out.unconfirmed {
        unconfirmed(session, error);
    }
    if mode == DryRun::No {
        notify(session, &workspace)?;
        if let Err(error) = catch_up_events(&workspace) {
            session.warn(&format!(
                "the event stream is not up to date: {}",
                inert(&error.to_string())
            ));
        }
    }
    let code = unreadable_files::tell(session, &swept.ran_out.unreadable);
    Ok(if swept.troubled().next().is_none() && swept.is_confirmed() {
        code
    } else {
        ExitCode::FAILURE
    })
}

/// Says why nothing more was handed out.
fn unconfirmed(session: &Session, error: &OpsError) {
    session.warn(&inert(&error.to_string()));
    if let Some(fix) = error.fix() {
        session.output.say(format!("  {}", inert(&session.git_said(fix))));
    }
}

/// Tells whoever is to be told. Who cannot be reached stops nothing.
fn notify(session: &Session, workspace: &Workspace) -> Result<(), CliError> {
    for trouble in deliver_notices(workspace, Tried::Due, NOTICES)?
        .into_iter()
        .filter_map(|round| round.trouble)
    {
        session.warn(&format!("a notice could not be delivered: {}", inert(&trouble)));
    }
    Ok(())
}

fn show(session: &Session, swept: &Swept, mode: DryRun) {
    let would = if mode == DryRun::Yes { " (dry run: nothing was written)" } else { "" };
    let told = |id: &dyn Display, text: String| {
        session.output.line(format!("{}: {}{would}", styled(CYAN, id), inert(&text)));
    };
    let of_change = |changed: &Changed, text: String| told(&changed.after.task.id, text);
    let Swept { settled, ran_out, handed_out: handed, superseded } = swept;
    settled.changed.iter().for_each(|changed| of_change(changed, followed(changed)));
    ran_out.timed_out.iter().for_each(|changed| of_change(changed, expired::timed_out(changed)));
    ran_out.lapsed.iter().for_each(|changed| of_change(changed, expired::lapsed(changed)));
    handed.dependents.iter().for_each(|own| told(&own.task, assignments::dependent(own)));
    for loss in superseded {
        told(
            &loss.task,
            format!("superseded, because the remote had another one first: {}", loss.what),
        );
    }
    handed.given.iter().for_each(|given| told(&given.ticket, assignments::given(given)));
    if swept.is_idle() && swept.is_confirmed() {
        session.output.line("nothing is due");
    }
    if handed.left > 0 {
        let places = if handed.left == 1 {
            "1 place of work waits".to_owned()
        } else {
            format!("{} places of work wait", handed.left)
        };
        session.output.line(format!("{places}: nobody has room there, or may take it"));
    }
    if let Some(next) = ran_out.next {
        session.output.line(format!("the next is due in {}, at {next}", ahead(next)));
    }
}

fn ahead(next: Timestamp) -> String {
    length(u64::try_from(next.as_second() - now().as_second()).unwrap_or(0))
}

fn value(swept: &Swept, mode: DryRun) -> Value {
    let Swept { settled, ran_out, handed_out: handed, superseded: losses } = swept;
    let superseded = |loss: &Loss| json!({"task": loss.task.as_str(), "what": loss.what});
    let timed_out = ran_out.timed_out.iter().map(|changed| expired::value("timeout", changed));
    let lapsed = ran_out.lapsed.iter().map(|changed| expired::value("lapsed", changed));
    let task = |changed: &Changed| json!({"task": changed.after.task.id.as_str(), "change": followed(changed)});
    let troubled = swept
        .troubled()
        .map(|(task, error)| json!({"task": task.as_str(), "reason": reason_of(error)}));
    let mut value = json!({
        "followed": settled.changed.iter().map(task).collect::<Vec<_>>(),
        "ranOut": timed_out.chain(lapsed).collect::<Vec<_>>(),
        "next": ran_out.next.map(|next| next.to_string()),
        "dependents": handed.dependents.iter().map(assignments::dependent_value).collect::<Vec<_>>(),
        "given": handed.given.iter().map(assignments::given_value).collect::<Vec<_>>(),
        "superseded": losses.iter().map(superseded).collect::<Vec<_>>(),
        "handsOut": handed.hands_out,
        "left": handed.left,
        "unconfirmed": handed.unconfirmed.as_ref().map(reason_of),
        "troubled": troubled.collect::<Vec<_>>(),
        "unreadable": unreadable_files::values(&ran_out.unreadable),
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
