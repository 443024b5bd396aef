//! `aof sweep`

use std::ops::ControlFlow;
use std::process::ExitCode;

use serde_json::{Value, json};

use super::arguments::Rehearsal;
use super::length::length;
use super::output::{CYAN, YELLOW, inert, styled};
use super::session::{Session, now};
use super::trouble::Trouble;
use super::{ran_out, unreadable};
use crate::model::Timestamp;
use crate::ops::{Changed, DryRun, Swept, reason_of, sweep};

/// Do once what time has brought: end what took too long, and claims that nobody renewed
#[derive(Debug, clap::Args)]
#[command(after_help = "\
`aof watch` does the same by itself, at the moment it is due. Where no watcher runs, let cron do it:
  * * * * *  aof -C /path/to/project sweep

Any number of sweeps may run at once: everything happens once.")]
pub(super) struct Args {
    #[command(flatten)]
    rehearsal: Rehearsal,
}

pub(super) fn run(session: &Session, args: &Args) -> Result<ExitCode, Trouble> {
    let mut workspace = session.workspace("sweep")?;
    let mode = args.rehearsal.mode();
    session.rules(&workspace)?;
    let swept = sweep(&mut workspace, session.wait, mode, &mut |_| ControlFlow::Continue(()))?;
    if session.output.is_json() {
        session.output.data(value(&swept, mode));
    } else {
        show(session, &swept, mode);
    }
    for (task, error) in &swept.troubled {
        session.output.say(format!("{} {}: {}", styled(YELLOW, "warning:"), task, inert(&error.to_string())));
    }
    let code = unreadable::tell(session, &swept.unreadable);
    Ok(if swept.troubled.is_empty() { code } else { ExitCode::FAILURE })
}

fn show(session: &Session, swept: &Swept, mode: DryRun) {
    let would = if mode == DryRun::Yes { " (dry run: nothing was written)" } else { "" };
    let line = |changed: &Changed, text: String| {
        session.output.line(format!("{}: {}{would}", styled(CYAN, &changed.after.task.id), inert(&text)));
    };
    swept.timed_out.iter().for_each(|changed| line(changed, ran_out::timed_out(changed)));
    swept.lapsed.iter().for_each(|changed| line(changed, ran_out::lapsed(changed)));
    if swept.timed_out.is_empty() && swept.lapsed.is_empty() {
        session.output.line("nothing is due");
    }
    if let Some(next) = swept.next {
        session.output.line(format!("the next is due in {}, at {next}", ahead(next)));
    }
}

fn ahead(next: Timestamp) -> String {
    length(u64::try_from(next.as_second() - now().as_second()).unwrap_or(0))
}

fn value(swept: &Swept, mode: DryRun) -> Value {
    let timed_out = swept.timed_out.iter().map(|changed| ran_out::value("timeout", changed));
    let lapsed = swept.lapsed.iter().map(|changed| ran_out::value("lapsed", changed));
    let troubled =
        swept.troubled.iter().map(|(task, error)| json!({"task": task.as_str(), "reason": reason_of(error)}));
    let mut value = json!({
        "ranOut": timed_out.chain(lapsed).collect::<Vec<_>>(),
        "next": swept.next.map(|next| next.to_string()),
        "troubled": troubled.collect::<Vec<_>>(),
        "unreadable": unreadable::values(&swept.unreadable),
    });
    if mode == DryRun::Yes {
        value["dryRun"] = json!(true);
    }
    value
}
