//! `aof notices`

use std::process::ExitCode;
use std::time::Duration;

use serde_json::{Value, json};

use crate::cli::error::CliError;
use crate::cli::render::output::{GREEN, RED, YELLOW, styled};
use crate::cli::session::Session;
use crate::files::printable::inert;
use crate::observability::notices::delivery::{Round, Tried, deliver_notices};
use crate::observability::notices::list::{
    OutgoingStanding, forget_dropped, outgoing, outgoing_value,
};

/// How long one round takes at most.
const ROUND: Duration = Duration::from_mins(2);

/// List messages that wait to be delivered or were given up, or deliver them now
///
/// Who is told of what is in `notify` of project.yaml and org.yaml. `aof watch` delivers by itself.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Deliver what waits, whenever it would be tried again
    #[arg(long, conflicts_with = "forget")]
    deliver: bool,
    /// Forget the messages that were given up
    #[arg(long)]
    forget: bool,
}

pub(crate) fn run(session: &Session, args: &Args) -> Result<ExitCode, CliError> {
    let workspace = session.workspace("notices")?;
    if args.forget {
        let count = forget_dropped(&workspace)?;
        if session.output.is_json() {
            session.output.data(json!({"forgotten": count}));
        } else {
            session.output.line(format!(
                "forgot {count} that {} given up",
                if count == 1 { "was" } else { "were" }
            ));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let rounds =
        if args.deliver { deliver_notices(&workspace, Tried::All, ROUND)? } else { Vec::new() };
    let outgoing = outgoing(&workspace)?;
    if session.output.is_json() {
        let mut value = outgoing_value(&outgoing);
        if let (true, Value::Object(map)) = (args.deliver, &mut value) {
            map.insert("delivered".to_owned(), json!(delivered(&rounds)));
        }
        session.output.data(value);
    } else {
        if args.deliver {
            session.output.line(format!("delivered {}", delivered(&rounds)));
        }
        for message in &outgoing.messages {
            let state = match message.standing {
                OutgoingStanding::Due => styled(GREEN, "due"),
                OutgoingStanding::Later(next) => styled(YELLOW, format!("waits until {next:.0}")),
                OutgoingStanding::Dropped => styled(RED, "given up"),
            };
            let about = message.task.as_ref().map(|task| format!("{task} ")).unwrap_or_default();
            session.output.line(format!(
                "{about}{} to `{}`: {state}",
                inert(&message.event),
                inert(&message.channel)
            ));
            if let Some(error) = &message.error {
                let tried = match message.attempts {
                    0 => "not tried".to_owned(),
                    1 => "tried once".to_owned(),
                    attempts => format!("tried {attempts} times"),
                };
                session.output.line(format!("  {tried}: {}", inert(error)));
            }
        }
        if outgoing.messages.is_empty() && !args.deliver {
            session.output.line("nothing waits to be delivered");
        }
    }
    let failed = rounds.iter().any(|round| round.trouble.is_some());
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn delivered(rounds: &[Round]) -> usize {
    rounds.iter().map(|round| round.delivered).sum()
}
